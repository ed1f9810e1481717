"""The allowlist as a file: missing, broken, mended."""

from __future__ import annotations

import pytest
from tests.unit.mounts.conftest import Person


def test_a_missing_allowlist_grants_nothing_and_is_named(person: Person) -> None:
    """The reason names the file, and the line makes it."""
    person.asks(("~/code", "w", "ro"))
    refusal = person.refused()
    assert refusal.reason == f"there is no allowlist {person.allowlist}"
    assert refusal.grant == f"pannier mounts allow {person.root}/code --group scout"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("allow:\n  - path: ~/code\n   mode: rw\n", "line 3"),
        ("allow:\n  - path: ~/code\n    mod: rw\n", "mod is not a setting (Did you mean mode?)"),
        ("allow:\n  - path: work\n", "allow.0.path: write an absolute path"),
        ("allow:\n  - path: ~/code\n  - path: ~/code/\n", "~/code/ is listed twice"),
        ("allow:\n  - path: ~/code\n    except: [a/b]\n", "allow.0.except.0: write a name"),
        ("allow:\n  - path: ~/code\n    groups: [A]\n", "'A' cannot be a group's folder"),
        ("allow: ~/code\n", "allow: should be a list"),
        ("- path: ~/code\n", "should hold `name: value` lines"),
        ("block: ['']\n", "block.0: write a name"),
        ("\x00", "mounts.yaml"),
    ],
)
def test_a_broken_allowlist_grants_nothing_until_it_is_mended(
    person: Person, text: str, named: str
) -> None:
    """The reason names the error; no line can grant anything; mended, it counts at once."""
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    assert person.granted()
    person.allowlist.write_text(text)
    refusal = person.refused()
    assert str(person.allowlist) in refusal.reason
    assert named in refusal.reason
    assert refusal.grant == ""
    person.allow({"path": "~/code"})
    assert person.granted()


def test_an_allowlist_that_cannot_be_read_grants_nothing(person: Person) -> None:
    """A folder in its place, or bytes that are no text, are an error with its name."""
    person.asks(("~/code", "w", "ro"))
    person.allowlist.mkdir(parents=True)
    assert "cannot be read" in person.refused().reason
    person.allowlist.rmdir()
    person.allowlist.write_bytes(b"\xff\xfe\xff")
    assert "cannot be read" in person.refused().reason


def test_an_empty_list_is_no_error(person: Person) -> None:
    """`allow:` with nothing below it grants nothing and breaks nothing."""
    person.allow()
    person.allowlist.write_text("allow:\nblock:\n")
    person.asks(("~/code", "w", "ro"))
    assert person.refused().reason == "no entry of the allowlist holds it"
