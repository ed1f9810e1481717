"""The rules of grants, sources and targets, in words, on real folders."""

from __future__ import annotations

import os

import pytest
from tests.unit.mounts.conftest import OWN, Person

from pannier.errors import UnsafePath
from pannier.mounts.plan import Mount


def test_a_source_must_lie_under_an_allowed_root(person: Person) -> None:
    """Without an entry that holds it a source is refused, with the line that would grant it."""
    person.make("other/")
    person.allow({"path": "~/other"})
    person.asks(("~/code", "w", "ro"))
    refusal = person.refused()
    assert refusal.reason == "no entry of the allowlist holds it"
    assert refusal.grant == f"pannier mounts allow {person.root}/code --group scout"
    assert (refusal.source, refusal.target) == ("~/code", "w")


def test_a_granted_source_is_mounted_as_the_folder_that_was_looked_at(person: Person) -> None:
    """The mount has the real path, the target below /workspace/extra, and device and inode."""
    person.make("code/site/")
    (person.root / "link").symlink_to("code/site")
    person.allow({"path": "~/code"})
    person.asks(("~/link", "a/b", "ro"))
    mount = person.granted()
    status = (person.root / "code/site").stat()
    assert mount.source == person.root / "code/site"
    assert str(mount.target) == "/workspace/extra/a/b"
    assert (mount.mode, mount.device, mount.inode) == ("ro", status.st_dev, status.st_ino)


def test_only_whole_parts_of_a_path_count(person: Person) -> None:
    """`~/code` does not hold `~/codecs`."""
    person.make("codecs/")
    person.allow({"path": "~/code"})
    person.asks(("~/codecs", "w", "ro"))
    assert "no entry" in person.refused().reason


def test_the_real_path_counts_not_the_written_one(person: Person) -> None:
    """A link under an allowed root that leads elsewhere grants nothing."""
    person.make("private/")
    (person.root / "code/link").symlink_to(person.root / "private")
    person.allow({"path": "~/code"})
    for source in ("~/code/link", "~/code/../private"):
        person.asks((source, "w", "ro"))
        line = f"pannier mounts allow {person.root}/private --group scout"
        assert person.refused().grant == line


def test_an_allowed_root_may_be_a_link(person: Person) -> None:
    """What counts is where the root really lies."""
    (person.root / "link").symlink_to("code")
    person.allow({"path": "~/link"})
    person.asks(("~/code", "w", "ro"))
    assert person.granted().source == person.root / "code"


@pytest.mark.parametrize(
    ("allowed", "asked", "granted"),
    [("ro", "ro", True), ("ro", "rw", False), ("rw", "ro", True), ("rw", "rw", True)],
)
def test_writing_needs_the_request_and_the_grant(
    person: Person, allowed: str, asked: str, granted: bool
) -> None:
    """A mount is writable only when the group asks for it and the root grants it."""
    person.allow({"path": "~/code", "mode": allowed})
    person.asks(("~/code", "w", asked))
    if granted:
        assert person.granted().mode == asked
        return
    refusal = person.refused()
    assert refusal.reason == "~/code is allowed for reading only"
    assert refusal.grant == f"pannier mounts allow {person.root}/code --rw"


def test_reading_is_the_default_on_both_sides(person: Person) -> None:
    """An entry without a mode is for reading."""
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "rw"))
    assert "for reading only" in person.refused().reason


def test_the_longest_root_decides(person: Person) -> None:
    """A narrower entry goes before a wider one, whether it gives more or less."""
    person.make("code/site/deep/", "code/docs/")
    person.allow({"path": "~/code", "mode": "rw"}, {"path": "~/code/site"})
    person.asks(("~/code/site/deep", "w", "rw"))
    assert person.refused().reason == "~/code/site is allowed for reading only"
    person.allow({"path": "~/code/site", "mode": "rw"}, {"path": "~/code"})
    assert person.granted().mode == "rw"


def test_an_entry_may_be_for_some_groups_only(person: Person) -> None:
    """Another group is refused; the line adds it to those that are allowed."""
    person.allow({"path": "~/code", "groups": ["writer"]})
    for group in ("scout", "writer"):
        person.asks(("~/code", "w", "ro"), group=group)
    assert person.granted("writer").source == person.root / "code"
    refusal = person.refused()
    assert refusal.reason == "~/code is allowed for other groups only"
    assert refusal.grant.endswith("--group writer --group scout")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/abs", "must be relative"),
        ("a/../b", "must not hold . or .."),
        ("..", "must not hold . or .."),
        ("./a", "must not hold . or .."),
        ("", "empty part"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("a:rw", "colon"),
        ("a\nb", "cannot be shown"),
        ("a\x1b[2J", "cannot be shown"),
    ],
)
def test_a_target_is_a_relative_path_of_plain_parts(
    person: Person, target: str, reason: str
) -> None:
    """Anything else is refused, and no entry can change that."""
    person.allow({"path": "~/code"})
    person.asks(("~/code", target, "ro"))
    assert reason in person.refused().reason
    assert person.refused().grant == ""


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [("a", "a", True), ("a", "a/b", True), ("a/b/c", "a/b", True), ("a", "ab", False)],
)
def test_no_two_targets_are_alike_or_one_inside_the_other(
    person: Person, one: str, other: str, clash: bool
) -> None:
    """Both are refused, each naming the other: which one is meant is not for us to guess."""
    person.make("docs/")
    person.allow({"path": "~/code"}, {"path": "~/docs"})
    person.asks(("~/code", one, "ro"), ("~/docs", other, "ro"))
    refused = person.plan().refused
    assert len(refused) == (2 if clash else 0)
    if clash:
        assert f"{other}, asked for ~/docs" in refused[0].reason
        assert f"{one}, asked for ~/code" in refused[1].reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("~/nothing", "does not exist; make the folder first"),
        ("~/code/file", "is not a folder, and only folders are mounted"),
        ("~/code/fifo", "is not a folder"),
        ("~/dangling", "does not exist"),
        ("~/loop", "cannot be followed"),
        ("code", "must be an absolute path"),
        ("~other/x", "must be an absolute path"),
        ("~/wo\x07rk", "cannot be shown"),
    ],
)
def test_a_source_is_a_folder_that_exists(person: Person, source: str, reason: str) -> None:
    """A missing source would become an empty folder of root's; a single file is refused."""
    person.make("code/file")
    os.mkfifo(person.root / "code/fifo")
    (person.root / "dangling").symlink_to("nowhere")
    (person.root / "loop").symlink_to("loop")
    person.allow({"path": "~"})
    person.asks((source, "w", "ro"))
    assert reason in person.refused().reason
    assert person.refused().grant == ""


def test_all_that_is_missing_is_said_at_once(person: Person) -> None:
    """One line grants it all, so nobody goes from refusal to refusal."""
    person.make("code/.env", "code/.git/", "code/my key/id_rsa")
    person.asks(("~/code", "w", "rw"))
    assert person.refused().grant == (
        f"pannier mounts allow {person.root}/code --rw --group scout "
        "--except .env --except id_rsa --git"
    )


def test_refusals_do_not_touch_the_other_mounts(person: Person) -> None:
    """What is granted stays in the plan, after the group's own mounts."""
    person.make("docs/")
    person.allow({"path": "~/docs"})
    person.asks(("~/code", "w", "ro"), ("~/docs", "d", "ro"))
    plan = person.plan()
    assert [m.source.name for m in plan.mounts[OWN:]] == ["docs"]
    assert [r.target for r in plan.refused] == ["w"]


def test_the_group_has_its_own_mounts(person: Person) -> None:
    """Memory, files, state, spool and inbox can be written; what the sidecar makes is read."""
    root = person.home.group("scout").root
    for name in ("memory", "files", "agent-memory", "conversations", "instructions"):
        (root / name).mkdir()
    plan = person.plan()
    assert [(str(m.source.relative_to(root)), str(m.target), m.mode) for m in plan.mounts] == [
        ("memory", "/workspace/agent/memory", "rw"),
        ("files", "/workspace/agent/files", "rw"),
        ("agent-memory", "/workspace/agent/agent-memory", "ro"),
        ("conversations", "/workspace/agent/conversations", "ro"),
        ("instructions", "/run/pannier/instructions", "ro"),
        ("client/claude", "/home/agent", "rw"),
        ("spool", "/run/pannier/spool", "rw"),
        ("inbox", "/run/pannier/inbox", "rw"),
    ]
    assert plan.missing == (root / "client/claude", root / "spool", root / "inbox")
    status = (root / "memory").stat()
    assert plan.mounts[0] == Mount(
        root / "memory", plan.mounts[0].target, "rw", status.st_dev, status.st_ino
    )


@pytest.mark.parametrize("name", ["memory", "client/claude", "client"])
def test_a_link_in_the_place_of_an_own_folder_is_an_error(person: Person, name: str) -> None:
    """Nothing else is ever mounted in the place of a group's folder."""
    place = person.home.group("scout").root / name
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(person.root / "code")
    with pytest.raises(UnsafePath, match="a link or a file stands in"):
        person.plan()


def test_a_folder_that_is_swapped_later_is_another_folder(person: Person) -> None:
    """Device and inode in the plan tell the folder that was looked at from its replacement."""
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    before = person.granted()
    (person.root / "code").rename(person.root / "old")
    person.make("code/")
    assert person.granted() != before
