"""What a model sees in the place of a result that is kept in a file."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from pannier_hook.spillnote import (
    BEGINNING,
    END,
    ENDS,
    HEAD,
    TAIL,
    WHOLE,
    Kept,
    ends_of,
    head_of,
    shown,
    spilled_in,
    tail_of,
)

TEXTS = st.text(st.sampled_from("ab é大🙂\n\r"), max_size=80)
PATH = "/workspace/agent/files/.pannier/spill/main/20261130T031245Z-bash-0123456789abcdef.txt"


@given(TEXTS, st.integers(1, 60))
@example("abcd\ne\nf", 7)
def test_a_head(text: str, most: int) -> None:
    """It is a beginning, within bounds; whole lines, unless that would waste half of the room."""
    head = head_of(text, most)
    assert text.startswith(head)
    assert len(head) <= most
    if len(text) <= most:
        assert head == text
        return
    assert not (head.endswith("\r") and text[len(head)] == "\n")
    longest = text.rfind("\n", 0, most) + 1
    if 2 * longest >= most:
        assert len(head) == longest
    else:
        assert len(head) >= most - 1


@given(TEXTS, st.integers(1, 60))
@example("ab\nc\nefgh", 6)
def test_a_tail(text: str, most: int) -> None:
    """It is an end, within bounds; whole lines, unless that would waste half of the room."""
    tail = tail_of(text, most)
    assert text.endswith(tail)
    assert len(tail) <= most
    if len(text) <= most:
        assert tail == text
        return
    assert not (tail.startswith("\n") and text[: -len(tail)].endswith("\r"))
    begins = [at + 1 for at in range(len(text) - 1) if text[at] == "\n"]
    longest = max((len(text) - at for at in begins if len(text) - at <= most), default=0)
    assert len(tail) >= most - 1 or (len(tail) == longest and 2 * longest >= most)


BYTES = st.one_of(
    st.text(st.sampled_from("aé大🙂\n"), min_size=1).map(str.encode), st.binary(min_size=1)
)


@given(BYTES, st.integers(1, 4 * ENDS))
@example("🙂".encode(), 2 * ENDS)
@example("🙂".encode(), 2 * ENDS + 4)
@example("x🙂".encode(), 3 * ENDS)
def test_the_ends(unit: bytes, size: int) -> None:
    """Of any bytes, the two ends are within bounds and never meet, and split no character."""
    data = (unit * (size // len(unit) + 1))[: size - size % len(unit)] or unit
    head, tail = ends_of(data[:ENDS], data[-ENDS:], len(data))
    assert len(head) <= HEAD
    assert len(tail) <= TAIL
    whole = data.decode("utf-8", "replace")
    assert len(head) + len(tail) <= len(whole)
    if "\ufffd" not in whole:
        assert "\ufffd" not in head + tail
        assert whole.startswith(head)
        assert whole.endswith(tail)


@given(
    st.text(max_size=3_000),
    st.text(max_size=3_000),
    st.integers(0, 1 << 62),
    st.integers(0, 1 << 40),
    TEXTS,
    st.sampled_from([WHOLE, BEGINNING, END]),
)
def test_the_note_is_found_again(
    head: str, tail: str, size: int, lines: int, before: str, part: str
) -> None:
    """The path and the size can be read off what a model saw, whatever stands around the note, and
    whatever part of a result is kept."""
    kept = Kept(PATH, size, lines, head, tail, part)
    assert spilled_in(shown(kept, before=before)) == (PATH, size)
    assert spilled_in(f"{before}{shown(kept)}") == (PATH, size)


@given(st.text(max_size=200))
def test_no_note(text: str) -> None:
    """Another text has none."""
    assert spilled_in(text) is None


def test_how_long_it_is() -> None:
    """It stays below what pruning trims, with the longest head and tail there can be."""
    line = "x" * 94 + "\n"
    text = shown(Kept(PATH, 1 << 40, 1 << 33, line * 10, line * 10))
    assert len(text) < 2_600
    assert PATH in text
    assert f"{1 << 40} bytes" in text
    assert f"{1 << 33} lines" in text
    for way in ("sed -n", "grep -n", "tail -c"):
        assert way in text


def test_long_lines() -> None:
    """Of a file with very long lines, parts are to be read by bytes."""
    text = shown(Kept(PATH, 1_000_000, 3, "x" * HEAD, "y" * TAIL))
    assert "sed -n" not in text
    assert "tail -c +" in text
    assert len(text) < 2_600


def test_what_is_left_out() -> None:
    """It is said how much is missing between the two ends."""
    assert "\n----- 90 bytes are left out here" in shown(Kept(PATH, 100, 9, "ab\nc\n", "é\nd\n"))


def test_a_note_in_json_is_found() -> None:
    """A client's model may get a result as one text of a JSON object."""
    kept = Kept("/workspace/agent/files/.pannier/spill/main/a.txt", 7, 0, "head\n", "tail\n")
    told = json.dumps({"exit_code": 0, "output": shown(kept)})
    assert spilled_in(told) == (kept.path, 7)
