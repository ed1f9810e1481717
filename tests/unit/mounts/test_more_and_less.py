"""Who gets more by `pannier mounts allow`, and what is left after `deny`."""

from __future__ import annotations

import shlex

import pytest
from tests.unit.mounts.conftest import Person, entries, typed

from pannier.errors import ClientNotKnown, UsageError
from pannier.mounts.edit import as_yaml

WIDER = (("--rw",), ("--git",), ("--no-scan",), ("--except", ".env"))


@pytest.mark.parametrize("wider", WIDER)
@pytest.mark.parametrize("groups", [None, ["scout"], ["scout", "writer"]])
def test_groups_that_are_not_named_get_no_more(
    person: Person, groups: list[str] | None, wider: tuple[str, ...]
) -> None:
    """An `allow` for one group that would give others more is refused, and says what to write."""
    person.allow({"path": "~/code", **({"groups": groups} if groups else {})})
    before = person.allowlist.read_text()
    error = typed(person, "allow", "~/code", *wider, "--group", "writer").exception
    assert isinstance(error, UsageError)
    assert "would get more" in error.message
    assert (f"--group {groups[0]}" if groups else "groups: [writer]") in error.hint
    assert person.allowlist.read_text() == before


@pytest.mark.parametrize("wider", WIDER)
def test_groups_that_are_all_named_get_more(person: Person, wider: tuple[str, ...]) -> None:
    """What the refusal says to write is done."""
    person.allow({"path": "~/code", "groups": ["scout"]})
    named = ("--group", "scout", "--group", "writer")
    assert typed(person, "allow", "~/code", *wider, *named).exit_code == 0
    (entry,) = entries(person)
    assert entry.groups == ("scout", "writer")
    assert wider[0] != "--rw" or entry.mode == "rw"


def test_what_is_added_for_nobody_in_particular_says_for_whom(person: Person) -> None:
    """Without `--group` it is for those the entry is for: every group, or the named ones."""
    person.allow({"path": "~/code"})
    assert (
        "allowed for every group, and so is what" in typed(person, "allow", "~/code", "--rw").stderr
    )
    person.allow({"path": "~/code", "groups": ["scout"]})
    assert "only for scout, as before" in typed(person, "allow", "~/code", "--rw").stderr


def test_a_new_entry_below_another_says_that_it_decides(person: Person) -> None:
    """A narrower entry can take something away from other groups."""
    person.make("code/site/")
    person.allow({"path": "~/code"})
    done = typed(person, "allow", "~/code/site", "--rw", "--group", "scout")
    assert "it decides from now on, and no longer ~/code" in done.stderr
    assert typed(person, "allow", "~/agents/..").stderr.count("decides") == 0


def test_the_line_of_a_refusal_names_the_group(person: Person) -> None:
    """So whoever copies it gives nothing to groups that did not ask."""
    person.make("code/site/")
    person.asks(("~/code/site", "s", "rw"))
    person.asks(("~/code/site", "s", "rw"), group="writer")
    for wider in ([], [{"path": "~/code"}]):
        person.allow(*wider)
        line = person.refused().grant
        assert line.endswith("/code/site --rw --group scout")
        assert typed(person, *shlex.split(line)[2:]).exit_code == 0
        assert person.granted().mode == "rw"
        assert person.refused("writer")


def test_the_line_names_nobody_where_the_entry_is_for_all(person: Person) -> None:
    """More cannot be given to one group of an entry that is for every group."""
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "rw"))
    assert person.refused().grant.endswith("/code --rw")


@pytest.mark.parametrize("name", ["BAD", "", "a/b", "scout\n"])
def test_an_impossible_group_is_never_dropped_silently(person: Person, name: str) -> None:
    """Also where the entry is for every group already."""
    person.allow({"path": "~/code"})
    assert isinstance(typed(person, "allow", "~/code", "--group", name).exception, UsageError)


def test_deny_removes_every_entry_that_leads_there(person: Person) -> None:
    """However it is written: by a link, with two slashes, and the folder itself."""
    (person.root / "link").symlink_to("code")
    person.make("code/site/")
    person.allow(
        {"path": "~/link"},
        {"path": "~/code", "mode": "rw"},
        {"path": f"/{person.root}/code/../code"},
        {"path": "~/docs"},
    )
    done = typed(person, "deny", "~/code")
    assert done.exit_code == 0
    assert [e.path for e in entries(person)] == ["~/docs"]
    assert done.stdout.count("- path:") == 3
    assert done.stderr == ""
    person.asks(("~/code", "w", "ro"))
    assert person.refused().reason == "no entry of the allowlist holds it"


def test_deny_says_what_is_still_allowed(person: Person) -> None:
    """By a wider entry, and of what lies in the folder; also where it has no entry itself."""
    person.make("code/site/")
    person.allow({"path": "~"}, {"path": "~/code"}, {"path": "~/code/site"})
    told = typed(person, "deny", "~/code").stderr
    assert "it lies in ~, which is still allowed" in told
    assert "these are still allowed: ~/code/site" in told
    error = typed(person, "deny", "~/code").exception
    assert isinstance(error, UsageError)
    assert "it lies in ~, which is still allowed" in error.hint


def test_two_slashes_are_one(person: Person) -> None:
    """A path that differs only in its slashes is listed twice."""
    person.allow({"path": f"{person.root}/code"}, {"path": f"/{person.root}//code/"})
    person.asks(("~/code", "w", "ro"))
    assert "is listed twice" in person.refused().reason


@pytest.mark.parametrize("verb", ["allow", "deny"])
def test_an_empty_path_is_not_the_working_directory(person: Person, verb: str) -> None:
    """It is what an unset variable in a script gives."""
    assert isinstance(typed(person, verb, "").exception, UsageError)
    assert not person.allowlist.exists()


@pytest.mark.parametrize("name", ["nosuch", ""])
def test_show_knows_the_clients(person: Person, name: str) -> None:
    """No mount is invented for a client that there is not."""
    assert isinstance(typed(person, "show", "scout", "--client", name).exception, ClientNotKnown)
    assert "client/codex" in typed(person, "show", "scout", "--client", "codex").stdout


def test_a_file_with_the_line_ends_of_windows_keeps_them(person: Person) -> None:
    """Each line that is added ends like the others; what was there stays as it was."""
    person.allow({"path": "~/docs"})
    before = "# mine\r\nallow:\r\n  - path: ~/docs  # too\r\n"
    person.allowlist.write_bytes(before.encode())
    assert typed(person, "allow", "~/code", "--rw").exit_code == 0
    added = as_yaml(entries(person)[1]).replace("\n", "\r\n")
    assert person.allowlist.read_bytes().decode() == before + added
    assert typed(person, "deny", "~/code").exit_code == 0
    assert person.allowlist.read_bytes().decode() == before
    person.allowlist.write_bytes(b"# mixed\r\nallow:\n")
    assert typed(person, "allow", "~/code").exit_code == 0
    assert person.allowlist.read_bytes().startswith(b"# mixed\r\nallow:\n  - path: ")
