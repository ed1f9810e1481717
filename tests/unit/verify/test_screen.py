"""What stands on the screen, whatever a program sends."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.verify.screen import Screen


def test_redrawn_line() -> None:
    """Text counts as it stands after cursor movements, not as it was sent."""
    screen = Screen()
    screen.feed(b"hello world\x1b[1;7Hearth")
    assert screen.shows("hello earth")
    assert not screen.shows("world")


def test_unknown_sequences_leave_nothing() -> None:
    """Keyboard protocols, private modes, titles and device strings are not shown."""
    screen = Screen()
    for sequence in (
        b"\x1b[>1u",
        b"\x1b[<u",
        b"\x1b[=5;1u",
        b"\x1b[?u",
        b"\x1b[>4;2m",
        b"\x1b[?4m",
        b"\x1b[>4;?m",
        b"\x1b[4:3m",
        b"\x1b[?1;2c",
        b"\x1b[?2026$p",
        b"\x1b[?2004h",
        b"\x1b]11;?\x07",
        b"\x1b]0;title\x1b\\",
        b"\x1bP+q544e\x1b\\",
        b"\x1b_Gi=1;AAAA\x1b\\",
        b"\x1b[2 q",
        b"\x1b[!p",
    ):
        screen.feed(sequence)
    screen.feed(b"x")
    assert screen.text() == "x"


def test_split_anywhere() -> None:
    """A sequence or a character that comes in two pieces is one."""
    data = "\x1b[2J\x1b[3;4Hgrüße \x1b[>1u\x1bP1$r\x1b\\😀\x1b[6n".encode()
    whole = Screen()
    reply = whole.feed(data)
    for cut in range(len(data)):
        screen = Screen()
        assert screen.feed(data[:cut]) + screen.feed(data[cut:]) == reply
        assert screen.text() == whole.text()


_SEQUENCES = st.from_regex(rb"\A\x1b(\[[0-?]{0,5}[ -/]?[@-~]|[ -/]?[0-Z])\Z")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=40) | st.just(b"\x1b[") | _SEQUENCES, max_size=10))
def test_any_bytes(pieces: list[bytes]) -> None:
    """Nothing that a program sends is an error."""
    screen = Screen()
    for piece in pieces:
        screen.feed(piece)
    screen.text()
