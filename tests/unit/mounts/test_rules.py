"""Each rule of the allowlist, in words, on real folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.mounts.conftest import OWN, Person

from pannier import safefs
from pannier.errors import UnsafePath
from pannier.mounts import facts
from pannier.mounts.plan import Mount


def test_a_source_must_lie_under_an_allowed_root(person: Person) -> None:
    """Without an entry that holds it a source is refused, with the line that would grant it."""
    person.make("other/")
    person.allow({"path": "~/other"})
    person.asks(("~/work", "w", "ro"))
    refusal = person.refused()
    assert refusal.reason == "no entry of the allowlist holds it"
    assert refusal.grant == f"pannier mounts allow {person.root}/work"
    assert (refusal.source, refusal.target) == ("~/work", "w")


def test_a_granted_source_is_mounted_as_the_folder_that_was_looked_at(person: Person) -> None:
    """The mount has the real path, the target below /workspace/extra, and device and inode."""
    person.make("work/site/")
    (person.root / "link").symlink_to("work/site")
    person.allow({"path": "~/work"})
    person.asks(("~/link", "a/b", "ro"))
    mount = person.granted()
    status = (person.root / "work/site").stat()
    assert mount.source == person.root / "work/site"
    assert str(mount.target) == "/workspace/extra/a/b"
    assert (mount.mode, mount.device, mount.inode) == ("ro", status.st_dev, status.st_ino)


def test_only_whole_parts_of_a_path_count(person: Person) -> None:
    """`~/work` does not hold `~/workshop`."""
    person.make("workshop/")
    person.allow({"path": "~/work"})
    person.asks(("~/workshop", "w", "ro"))
    assert "no entry" in person.refused().reason


def test_the_real_path_counts_not_the_written_one(person: Person) -> None:
    """A link under an allowed root that leads elsewhere grants nothing."""
    person.make("private/")
    (person.root / "work/link").symlink_to(person.root / "private")
    person.allow({"path": "~/work"})
    for source in ("~/work/link", "~/work/../private"):
        person.asks((source, "w", "ro"))
        assert person.refused().grant == f"pannier mounts allow {person.root}/private"


def test_an_allowed_root_may_be_a_link(person: Person) -> None:
    """What counts is where the root really lies."""
    (person.root / "link").symlink_to("work")
    person.allow({"path": "~/link"})
    person.asks(("~/work", "w", "ro"))
    assert person.granted().source == person.root / "work"


@pytest.mark.parametrize(
    ("allowed", "asked", "granted"),
    [("ro", "ro", True), ("ro", "rw", False), ("rw", "ro", True), ("rw", "rw", True)],
)
def test_writing_needs_the_request_and_the_grant(
    person: Person, allowed: str, asked: str, granted: bool
) -> None:
    """A mount is writable only when the group asks for it and the root grants it."""
    person.allow({"path": "~/work", "mode": allowed})
    person.asks(("~/work", "w", asked))
    if granted:
        assert person.granted().mode == asked
        return
    refusal = person.refused()
    assert refusal.reason == "~/work is allowed for reading only"
    assert refusal.grant == f"pannier mounts allow {person.root}/work --rw"


def test_reading_is_the_default_on_both_sides(person: Person) -> None:
    """An entry without a mode is for reading."""
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "rw"))
    assert "for reading only" in person.refused().reason


def test_the_longest_root_decides(person: Person) -> None:
    """A narrower entry goes before a wider one, whether it gives more or less."""
    person.make("work/site/deep/", "work/docs/")
    person.allow({"path": "~/work", "mode": "rw"}, {"path": "~/work/site"})
    person.asks(("~/work/site/deep", "w", "rw"))
    assert person.refused().reason == "~/work/site is allowed for reading only"
    person.allow({"path": "~/work/site", "mode": "rw"}, {"path": "~/work"})
    assert person.granted().mode == "rw"


def test_an_entry_may_be_for_some_groups_only(person: Person) -> None:
    """Another group is refused; the line adds it to those that are allowed."""
    person.allow({"path": "~/work", "groups": ["writer"]})
    for group in ("scout", "writer"):
        person.asks(("~/work", "w", "ro"), group=group)
    assert person.granted("writer").source == person.root / "work"
    refusal = person.refused()
    assert refusal.reason == "~/work is allowed for other groups only"
    assert refusal.grant.endswith("--group writer --group scout")


def test_a_missing_allowlist_grants_nothing_and_is_named(person: Person) -> None:
    """The reason names the file, and the line makes it."""
    person.asks(("~/work", "w", "ro"))
    refusal = person.refused()
    assert refusal.reason == f"there is no allowlist {person.allowlist}"
    assert refusal.grant == f"pannier mounts allow {person.root}/work"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("allow:\n  - path: ~/work\n   mode: rw\n", "line 3"),
        ("allow:\n  - path: ~/work\n    mod: rw\n", "mod is not a setting (Did you mean mode?)"),
        ("allow:\n  - path: work\n", "allow.0.path: write an absolute path"),
        ("allow:\n  - path: ~/work\n  - path: ~/work/\n", "~/work/ is listed twice"),
        ("allow:\n  - path: ~/work\n    except: [a/b]\n", "allow.0.except.0: write a name"),
        ("allow:\n  - path: ~/work\n    groups: [A]\n", "'A' cannot be a group's folder"),
        ("allow: ~/work\n", "allow: Input should be"),
        ("- path: ~/work\n", "should hold `name: value` lines"),
        ("block: ['']\n", "block.0: write a name"),
        ("\x00", "mounts.yaml"),
    ],
)
def test_a_broken_allowlist_grants_nothing_until_it_is_mended(
    person: Person, text: str, named: str
) -> None:
    """The reason names the error; no line can grant anything; mended, it counts at once."""
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    assert person.granted()
    person.allowlist.write_text(text)
    refusal = person.refused()
    assert str(person.allowlist) in refusal.reason
    assert named in refusal.reason
    assert refusal.grant == ""
    person.allow({"path": "~/work"})
    assert person.granted()


def test_an_allowlist_that_cannot_be_read_grants_nothing(person: Person) -> None:
    """A folder in its place, or bytes that are no text, are an error with its name."""
    person.asks(("~/work", "w", "ro"))
    person.allowlist.mkdir(parents=True)
    assert "cannot be read" in person.refused().reason
    person.allowlist.rmdir()
    person.allowlist.write_bytes(b"\xff\xfe\xff")
    assert "cannot be read" in person.refused().reason


def test_an_empty_list_is_no_error(person: Person) -> None:
    """`allow:` with nothing below it grants nothing and breaks nothing."""
    person.allow()
    person.allowlist.write_text("allow:\nblock:\n")
    person.asks(("~/work", "w", "ro"))
    assert person.refused().reason == "no entry of the allowlist holds it"


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
    person.allow({"path": "~/work"})
    person.asks(("~/work", target, "ro"))
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
    person.allow({"path": "~/work"}, {"path": "~/docs"})
    person.asks(("~/work", one, "ro"), ("~/docs", other, "ro"))
    refused = person.plan().refused
    assert len(refused) == (2 if clash else 0)
    if clash:
        assert f"{other}, asked for ~/docs" in refused[0].reason
        assert f"{one}, asked for ~/work" in refused[1].reason


NEVER = (
    *("/", "/proc", "/proc/1", "/sys", "/dev", "/dev/shm", "/etc", "/etc/ssl", "/run", "/var/run"),
    *("/usr/bin", "/usr", "/var", "/boot"),
    *("~", "~/agents", "~/agents/groups", "~/agents/groups/writer", "~/agents/groups/scout/files"),
    *("~/agents/state", "~/.config", "~/.config/pannier", "~/.local", "~/.local/bin", "~/bin"),
    *("~/bin/sub", "~/.config/autostart", "~/.config/systemd/user", "~/.ssh", "~/.config/git"),
    *("~/.local/share", "~/.config/fish", "~/.vscode", "~/.claude", "~/.docker", "~/.cargo/bin"),
    *("~/Library/LaunchAgents", "~/.SSH", "~/go/bin", "~/go"),
)


@pytest.mark.parametrize("source", NEVER)
def test_some_places_are_never_a_source(person: Person, source: str) -> None:
    """Whatever the allowlist says: the system, the home, the configuration, what the host runs."""
    if source.startswith("~/"):
        (person.root / source[2:]).mkdir(parents=True, exist_ok=True)
    elif source != "~" and not Path(source).exists():
        pytest.skip(f"this machine has no {source}")
    excepted = {"except": ["*"], "git": True, "scan": False}
    person.allow({"path": source, "mode": "rw", **excepted}, {"path": "/tmp", **excepted})
    for mode in ("ro", "rw"):
        person.asks((source, "w", mode))
        assert "never a source" in person.refused().reason
        assert person.refused().grant == ""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("/", "/ is the root of the file system and never a source"),
        ("/etc/ssl", "/etc/ssl lies in /etc, which is a part of the system and never a source"),
        ("~/agents", "{root}/agents is the pannier home and never a source"),
        ("~/.config", "{root}/.config holds {root}/.config/pannier, which is pannier's"),
    ],
)
def test_the_reason_names_the_place(person: Person, source: str, reason: str) -> None:
    """What is never a source is named, and how the source lies to it."""
    person.make(".config/pannier/")
    person.asks((source, "w", "ro"))
    assert person.refused().reason.startswith(reason.format(root=person.root))


@pytest.mark.parametrize("source", ["~/.config/other", "~/work/bin", "~/.local/share/notes"])
def test_what_lies_beside_such_a_place_can_be_a_source(person: Person, source: str) -> None:
    """The rule is about the place, its folders and what it holds, and about nothing else."""
    (person.root / source[2:]).mkdir(parents=True)
    person.allow({"path": source})
    person.asks((source, "w", "ro"))
    assert person.granted()


def test_where_a_place_really_lies_is_never_a_source(person: Person) -> None:
    """Start-up files and the allowlist are often links into a folder of a person's own."""
    person.make("dotfiles/bashrc", "lists/mounts.yaml", "tools/")
    (person.root / ".bashrc").symlink_to("dotfiles/bashrc")
    (person.root / "bin").symlink_to("tools")
    for source in ("~/dotfiles", "~/tools"):
        person.allow({"path": source})
        person.asks((source, "w", "ro"))
        assert "never a source" in person.refused().reason
    person.allowlist.rename(person.root / "lists/mounts.yaml")
    person.allowlist.symlink_to(person.root / "lists/mounts.yaml")
    person.asks(("~/lists", "w", "ro"))
    assert "pannier's configuration" in person.refused().reason


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOCKER_HOST", "unix://{root}/work/engine/docker.sock"),
        ("XDG_RUNTIME_DIR", "{root}/work/engine"),
        ("PATH", "/usr/bin:{root}/work/tools"),
        ("XDG_CONFIG_HOME", "{root}/work/config"),
    ],
)
def test_the_environment_names_further_places(person: Person, name: str, value: str) -> None:
    """The engine's socket, the session's sockets, the PATH, and the configuration, wherever."""
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    assert person.granted()
    person.environ[name] = value.format(root=person.root)
    assert "never a source" in person.refused().reason


def test_the_tools_of_a_project_in_the_path_do_not_count(person: Person) -> None:
    """An active virtual environment does not make its project a forbidden place."""
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    work = f"{person.root}/work"
    person.environ["VIRTUAL_ENV"] = f"{work}/.venv"
    person.environ["PATH"] = f"{work}/.venv/bin:{work}/node_modules/.bin:/usr/bin"
    assert person.granted()


def test_the_socket_of_a_docker_context_is_never_a_source(person: Person) -> None:
    """Also an engine that no variable names is out of reach."""
    person.make("work/engine/")
    meta = person.root / ".docker/contexts/meta/abc/meta.json"
    meta.parent.mkdir(parents=True)
    socket = f"unix://{person.root}/work/engine/docker.sock"
    meta.write_text('{"Endpoints": {"docker": {"Host": "%s"}}}' % socket)  # noqa: UP031
    (meta.parent.parent / "odd").mkdir()
    (meta.parent.parent / "odd/meta.json").write_text("[]")
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    assert "the engine's socket" in person.refused().reason


def test_a_source_below_a_folder_that_a_group_writes_is_refused(person: Person) -> None:
    """It could be swapped between check and start; whose folder it is does not matter."""
    person.make("work/shared/x/")
    person.allow({"path": "~/work", "mode": "rw"})
    person.asks(("~/work/shared", "s", "rw"), group="writer")
    for source in ("~/work/shared", "~/work"):
        person.asks((source, "w", "ro"))
        assert person.granted().source.name == source.rpartition("/")[2]
    person.asks(("~/work/shared/x", "w", "ro"))
    assert "where group writer can write" in person.refused().reason
    assert person.refused().grant == ""
    person.asks(("~/work/shared", "s", "ro"), group="writer")
    assert person.granted().source.name == "x"


def test_a_way_that_leads_through_a_writable_folder_is_refused(person: Person) -> None:
    """A link that a group can replace leads wherever that group likes, today or tomorrow."""
    person.make("work/shared/", "data/")
    (person.root / "work/shared/link").symlink_to(person.root / "data")
    person.allow({"path": "~/work", "mode": "rw"}, {"path": "~/data"})
    person.asks(("~/work/shared", "s", "rw"), group="writer")
    person.asks(("~/work/shared/link", "w", "ro"))
    assert "the way to it leads through" in person.refused().reason
    person.allow({"path": "~/work", "mode": "rw"}, {"path": "~/work/shared/link"})
    person.asks(("~/data", "w", "ro"))
    assert "the way to its allowed root leads through" in person.refused().reason


def test_a_way_through_what_the_request_itself_makes_writable_is_refused(person: Person) -> None:
    """Asked for writing, a link in a folder to that folder is the agent's to replace tomorrow."""
    person.make("work/site/")
    (person.root / "work/site/up").symlink_to("..")
    person.allow({"path": "~/work", "mode": "rw"})
    person.asks(("~/work/site/up", "w", "ro"))
    assert person.granted().source == person.root / "work"
    person.asks(("~/work/site/up", "w", "rw"))
    assert "the way to it leads through" in person.refused().reason
    person.allow({"path": "~/work"})
    assert person.refused().grant == ""


def test_a_group_that_asks_and_is_refused_writes_nowhere(person: Person) -> None:
    """Only what is granted makes a folder writable; nobody can lock others out by asking."""
    person.make("work/x/")
    person.allow({"path": "~/work"})
    person.asks(("~/work", "s", "rw"), ("/", "r", "rw"), group="writer")
    person.asks(("~/work/x", "w", "ro"))
    assert person.granted()
    person.allow({"path": "~/work", "mode": "rw", "groups": ["scout"]})
    assert person.granted()
    person.allow({"path": "~", "mode": "rw"})
    person.asks(("~", "h", "rw"), group="writer")
    assert person.granted()


def test_the_broken_settings_of_another_group_stop_nobody(person: Person) -> None:
    """A group whose group.yaml cannot be read cannot start, and so cannot write."""
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    person.asks(group="writer")
    person.home.group("writer").settings.write_text("mounts: [")
    assert person.granted()


@pytest.mark.parametrize(
    "name",
    [
        *(".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker", ".netrc", ".npmrc"),
        *(".pypirc", ".env", ".env.local", ".ENV", ".env.production", "id_rsa", "id_ed25519"),
        *("vault.kdbx", "private_key", ".git-credentials", ".password-store"),
    ],
)
@pytest.mark.parametrize("where", ["work/{}", "work/a/b/{}"])
def test_a_blocked_name_below_a_source_refuses_it(person: Person, name: str, where: str) -> None:
    """At whatever depth, as a file or a folder; the reason lists where, the line excepts it."""
    person.make(where.format(name))
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    refusal = person.refused()
    found = where.format(name).removeprefix("work/")
    assert refusal.reason == f"it holds blocked names: {found}"
    assert refusal.grant == f"pannier mounts allow {person.root}/work --except {name}"
    person.allow({"path": "~/work", "except": [name]})
    assert person.granted()


@pytest.mark.parametrize(
    "name",
    [
        *(".envrc", ".env.example", ".env.sample", ".env.template", ".env.dist", ".ENV.Example"),
        *("env", "environment", ".sshd", "my.ssh", "id_rsa.pub", "not_id_rsa", ".npmrc.md"),
    ],
)
def test_a_name_that_only_resembles_a_blocked_one_passes(person: Person, name: str) -> None:
    """Whole parts of a path are compared, and published examples are no secret."""
    person.make(f"work/{name}")
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    assert person.granted()


def test_a_blocked_name_in_the_path_of_a_source_refuses_it(person: Person) -> None:
    """Also the folders above it count."""
    person.make("work/.aws/sub/")
    person.allow({"path": "~/work"})
    person.asks(("~/work/.aws/sub", "w", "ro"))
    assert f"blocked names: {person.root}/work/.aws" in person.refused().reason
    person.allow({"path": "~/work/.aws", "except": [".aws"]})
    assert person.granted()


def test_many_blocked_names_are_counted_and_the_line_stays_short(person: Person) -> None:
    """The reason shows the first and says how many more; the line excepts the pattern."""
    person.make(*(f"work/{n}/.env.{n}" for n in range(10, 22)), "work/z/.netrc")
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    refusal = person.refused()
    assert refusal.reason.endswith(
        "10/.env.10, 11/.env.11, 12/.env.12, 13/.env.13, 14/.env.14 and 8 more"
    )
    assert refusal.grant.endswith("/work --except '.env.*' --except .netrc")


def test_a_person_can_block_and_except_by_pattern(person: Person) -> None:
    """Patterns of the person's own block further names, also those that pass otherwise."""
    person.make("work/customers.csv", "work/.env.example")
    person.asks(("~/work", "w", "ro"))
    person.allow({"path": "~/work"}, block=("*.csv", ".env.example"))
    assert person.refused().reason == "it holds blocked names: .env.example, customers.csv"
    person.allow({"path": "~/work", "except": ["*.csv", ".env.example"]}, block=("*.CSV",))
    assert person.granted()


def test_a_name_that_a_terminal_would_obey_is_shown_as_text(person: Person) -> None:
    """File names may come from an agent; none reaches the terminal raw."""
    person.make("work/.env.\x1b[2Jx")
    (person.root / "work" / os.fsdecode(b".env.\xff")).touch()
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    refusal = person.refused()
    assert refusal.reason.isprintable()
    assert refusal.grant.isprintable()
    assert r".env.\x1b[2Jx" in refusal.reason
    person.allow({"path": "~/work", "except": [".env.?[[]2Jx", ".env.?"]})
    assert person.granted()


def test_links_below_a_source_are_no_way_out(person: Person) -> None:
    """A link resolves inside the container, so it is not followed and refuses nothing."""
    person.make("private/.env")
    (person.root / "work/link").symlink_to(person.root / "private")
    (person.root / "work/loop").symlink_to(".")
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    assert person.granted()


def _limit(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(facts, "ENTRY_LIMIT", limit)


def test_a_tree_with_too_many_entries_is_refused(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless its entry says `scan: false`; then only the folder's own names are looked at."""
    person.make(*(f"work/a/{n}" for n in range(5)), "work/a/.env")
    person.allow({"path": "~/work", "except": [".env"]})
    person.asks(("~/work", "w", "ro"))
    _limit(monkeypatch, 7)
    assert person.granted()
    _limit(monkeypatch, 6)
    assert "it holds more than 200,000 entries" in person.refused().reason
    assert person.refused().grant.endswith("--no-scan")
    person.allow({"path": "~/work", "scan": False})
    assert person.granted()
    person.make("work/.netrc")
    assert person.refused().reason == "it holds blocked names: .netrc"


def test_a_narrower_entry_says_again_what_the_wider_one_said(person: Person) -> None:
    """The line of a refusal keeps `scan: false` and the groups of the root that decides now."""
    person.make("work/site/deep/.env")
    person.allow({"path": "~/work", "scan": False, "groups": ["scout", "writer"]})
    person.asks(("~/work/site", "w", "rw"))
    assert person.refused().grant == (
        f"pannier mounts allow {person.root}/work/site --rw --group scout --group writer --no-scan"
    )


def test_a_tree_of_two_hundred_thousand_entries_is_still_looked_at() -> None:
    """The limit is the one that the documentation names."""
    assert facts.ENTRY_LIMIT == 200_000


def test_a_folder_that_cannot_be_looked_into_refuses_its_source(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we cannot see an agent might; an entry can except it by name."""
    person.make("work/lost+found/", "work/x")
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    real = os.open

    def refuse(path: Any, *args: Any, **more: Any) -> int:
        if path == "lost+found":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    refusal = person.refused()
    assert refusal.reason == "it holds folders that cannot be looked into: lost+found"
    assert refusal.grant.endswith("--except lost+found")
    person.allow({"path": "~/work", "except": ["lost+found"]})
    assert person.granted()


def test_a_tree_that_is_too_deep_cannot_be_looked_into(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing hides below a chain of folders."""
    person.make("work/" + "d/" * (safefs.DEPTH_LIMIT + 1) + ".env")
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    assert "cannot be looked into: d/d/" in person.refused().reason


REPOSITORIES = {
    "at the top": ("work/.git/", "work/.git/config"),
    "below": ("work/a/b/.git/",),
    "a worktree or submodule": ("work/sub/.git",),
    "bare": ("work/x.git/HEAD", "work/x.git/objects/", "work/x.git/refs/"),
    "bare, the source itself": ("work/HEAD", "work/objects/", "work/refs/"),
}


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_a_writable_source_that_holds_a_repository_is_refused(person: Person, kind: str) -> None:
    """Whoever writes there can make the host run code; reading it does no harm."""
    person.make(*REPOSITORIES[kind])
    person.allow({"path": "~/work", "mode": "rw"})
    person.asks(("~/work", "w", "ro"))
    assert person.granted()
    person.asks(("~/work", "w", "rw"))
    refusal = person.refused()
    assert refusal.reason.startswith("it holds a git repository (")
    assert refusal.grant == f"pannier mounts allow {person.root}/work --rw --git"
    person.allow({"path": "~/work", "mode": "rw", "git": True})
    assert person.granted()


@pytest.mark.parametrize(
    ("made", "source"),
    [
        (("work/.git/hooks/",), "~/work/.git/hooks"),
        (
            ("work/x.git/HEAD", "work/x.git/objects/", "work/x.git/refs/", "work/x.git/hooks/"),
            "~/work/x.git/hooks",
        ),
    ],
)
def test_the_inside_of_a_repository_counts_as_one(
    person: Person, made: tuple[str, ...], source: str
) -> None:
    """A hooks folder alone is as good as the repository."""
    person.make(*made)
    person.allow({"path": "~/work", "mode": "rw"})
    person.asks((source, "w", "rw"))
    assert "a git repository (around it)" in person.refused().reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("~/nothing", "does not exist; make the folder first"),
        ("~/work/file", "is not a folder, and only folders are mounted"),
        ("~/work/fifo", "is not a folder"),
        ("~/dangling", "does not exist"),
        ("~/loop", "cannot be followed"),
        ("work", "must be an absolute path"),
        ("~other/x", "must be an absolute path"),
        ("~/wo\x07rk", "cannot be shown"),
    ],
)
def test_a_source_is_a_folder_that_exists(person: Person, source: str, reason: str) -> None:
    """A missing source would become an empty folder of root's; a single file is refused."""
    person.make("work/file")
    os.mkfifo(person.root / "work/fifo")
    (person.root / "dangling").symlink_to("nowhere")
    (person.root / "loop").symlink_to("loop")
    person.allow({"path": "~"})
    person.asks((source, "w", "ro"))
    assert reason in person.refused().reason
    assert person.refused().grant == ""


def test_all_that_is_missing_is_said_at_once(person: Person) -> None:
    """One line grants it all, so nobody goes from refusal to refusal."""
    person.make("work/.env", "work/.git/", "work/my key/id_rsa")
    person.asks(("~/work", "w", "rw"))
    assert person.refused().grant == (
        f"pannier mounts allow {person.root}/work --rw --except .env --except id_rsa --git"
    )


def test_refusals_do_not_touch_the_other_mounts(person: Person) -> None:
    """What is granted stays in the plan, after the group's own mounts."""
    person.make("docs/")
    person.allow({"path": "~/docs"})
    person.asks(("~/work", "w", "ro"), ("~/docs", "d", "ro"))
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
    place.symlink_to(person.root / "work")
    with pytest.raises(UnsafePath, match="a link or a file stands in"):
        person.plan()


def test_a_folder_that_is_swapped_later_is_another_folder(person: Person) -> None:
    """Device and inode in the plan tell the folder that was looked at from its replacement."""
    person.allow({"path": "~/work"})
    person.asks(("~/work", "w", "ro"))
    before = person.granted()
    (person.root / "work").rename(person.root / "old")
    person.make("work/")
    assert person.granted() != before
