"""Editing the allowlist as a person's text."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.errors import PannierError
from pannier.mounts.allowlist import Entry, parse_allowlist
from pannier.mounts.edit import as_yaml, with_entry, without_entry

COMMENTED = """\
# What my agents may see.
allow:
  # The site, for reading.
  - path: ~/site  # mine
    mode: ro      # not rw, because of the deploy key
    groups:
      - scout  # the first one
  - path: ~/notes
    description: everything I know   # not all

# Not these.
block: [secret-*]  # never
"""


def entry(path: str, **settings: Any) -> Entry:
    return Entry.model_validate({"path": path, **settings})


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "allow:\n  - path: /a\n"),
        ("# mine\n", "# mine\nallow:\n  - path: /a\n"),
        ("block: [x]", "block: [x]\nallow:\n  - path: /a\n"),
        ("allow:\n", "allow:\n  - path: /a\n"),
        ("allow: # none yet\nblock: [x]\n", "allow: # none yet\n  - path: /a\nblock: [x]\n"),
        ("allow: []  # none yet\n", "allow:   # none yet\n  - path: /a\n"),
        ("allow:\n- path: /b\n", "allow:\n- path: /b\n- path: /a\n"),
        ("allow:\n- path: /b", "allow:\n- path: /b\n- path: /a\n"),
        ("allow: [{path: /b}]  # two\n", "allow: [{path: /b}, {path: /a}]  # two\n"),
        (
            "allow:\n  - path: /b\n    description: |\n      long\n\nblock: []\n",
            "allow:\n  - path: /b\n    description: |\n      long\n\n  - path: /a\nblock: []\n",
        ),
    ],
)
def test_an_entry_is_added_and_the_rest_of_the_file_stays(text: str, expected: str) -> None:
    """An entry is added below the last one; nothing else in the file changes."""
    assert with_entry(text, "mounts.yaml", None, entry("/a")) == expected


def test_a_changed_entry_keeps_the_comments_of_the_person() -> None:
    """Of an entry only what differs is changed; every comment stays where it was."""
    new = entry("~/site", mode="rw", groups=["scout", "writer"], description="both", git=True)
    text = with_entry(COMMENTED, "mounts.yaml", 0, new)
    assert comments(text) == comments(COMMENTED)
    assert "    mode: rw      # not rw, because of the deploy key\n" in text
    assert "      - scout  # the first one\n      - writer\n" in text
    assert parse_allowlist(text, "x").allow == (
        new,
        entry("~/notes", description="everything I know"),
    )


def test_a_removed_entry_takes_only_its_own_lines() -> None:
    """Comments outside of the entry, and the other entries, stay as they are."""
    text = without_entry(COMMENTED, "mounts.yaml", 1)
    kept = [line for line in COMMENTED.splitlines() if "notes" not in line and "know" not in line]
    assert text.splitlines() == kept
    last = without_entry("allow:\n  - path: /a\n", "mounts.yaml", 0)
    assert parse_allowlist(last, "x").allow == ()


def test_a_file_in_brackets_is_edited_in_place() -> None:
    """A file in YAML's flow style stays in it."""
    text = with_entry("{allow: [{path: /b}]}\n", "x", None, entry("/a", mode="rw"))
    assert text == "{allow: [{path: /b}, {path: /a, mode: rw}]}\n"


def test_what_cannot_be_edited_is_left_alone_and_said() -> None:
    """A file written in another way is refused with the lines to write by hand."""
    with pytest.raises(PannierError, match="cannot be edited here") as caught:
        with_entry("{block: [x]}\n", "mounts.yaml", None, entry("/a", mode="rw"))
    assert "- path: /a\n    mode: rw" in caught.value.hint


def test_a_list_in_brackets_is_not_cut_apart() -> None:
    """An entry in a bracketed list is not removed by guesswork."""
    with pytest.raises(PannierError, match="cannot be edited"):
        without_entry("allow: [{path: /a}, {path: /b}]\n", "mounts.yaml", 0)


NAMES = st.sampled_from(["a", "b", ".env", ".env.*", "yes", "1", "#x", "a: b", "- c", "'q'", "ä"])
ENTRIES = st.builds(
    lambda path, mode, groups, excepted, description, git, scan: entry(
        f"/{path}",
        mode=mode,
        groups=groups,
        description=description,
        git=git,
        scan=scan,
        **{"except": excepted},
    ),
    st.sampled_from(["a", "b c", "# d", "e: f", "'g", "ß"]),
    st.sampled_from(["ro", "rw"]),
    st.none() | st.lists(st.sampled_from(["one", "two", "3"]), unique=True, max_size=2),
    st.lists(NAMES, unique=True, max_size=3),
    st.none() | st.text(max_size=12) | st.sampled_from(["two\nlines", "\x85", "...", "a\n..."]),
    st.booleans(),
    st.booleans(),
)


def grown(old: Entry, new: Entry) -> Entry:
    """`new`, as something that only adds to `old`."""
    data = old.model_dump(by_alias=True) | new.model_dump(by_alias=True, exclude_defaults=True)
    for key in ("except", "groups"):
        data[key] = tuple(
            dict.fromkeys(
                (*(getattr(old, "excepted" if key == "except" else key) or ()), *(data[key] or ()))
            )
        )
    return Entry.model_validate(data | {"path": old.path})


@settings(deadline=None)
@given(st.lists(ENTRIES, max_size=4, unique_by=lambda e: e.path), ENTRIES, st.data())
def test_whatever_pyyaml_writes_can_be_edited_and_read_back(
    entries: list[Entry], new: Entry, data: st.DataObject
) -> None:
    """Adding, changing and removing give exactly the entries that were meant."""
    dumped = [e.model_dump(mode="json", by_alias=True, exclude_defaults=True) for e in entries]
    text = "# kept\n" + yaml.safe_dump({"allow": dumped}, sort_keys=False)
    if new.path not in {e.path for e in entries}:
        added = with_entry(text, "x", None, new)
        assert parse_allowlist(added, "x").allow == (*entries, new)
        assert added.startswith("# kept\n")
    if entries:
        number = data.draw(st.integers(0, len(entries) - 1))
        meant = grown(entries[number], new)
        after = parse_allowlist(with_entry(text, "x", number, meant), "x").allow
        assert after == (*entries[:number], meant, *entries[number + 1 :])
        left = parse_allowlist(without_entry(text, "x", number), "x").allow
        assert left == (*entries[:number], *entries[number + 1 :])


@settings(deadline=None)
@given(ENTRIES)
def test_an_entry_that_is_shown_reads_back(shown: Entry) -> None:
    """What `as_yaml` prints is the entry in YAML."""
    assert parse_allowlist("allow:\n" + as_yaml(shown), "x").allow == (shown,)
