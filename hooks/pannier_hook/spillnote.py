"""What the model sees in the place of a result that went into a file. Pure.

First a note in words, then the beginning of the result, how much is left out, and its end:

    [Pannier: this result is long, and all of it is kept in a file: 1048576 bytes, 20164 lines]
    file: /workspace/agent/files/.pannier/spill/main/…-bash-0123456789abcdef.txt
    how to read parts of it …
    ----- the beginning -----
    …
    ----- 1046576 bytes are left out here -----
    …
"""

from __future__ import annotations

HEAD = 950
"""The most that is shown of a result's beginning, in code points."""
TAIL = 950
"""The same of its end."""
ENDS = 4 * (HEAD + 1)
"""Bytes of UTF-8 that hold as many code points, wherever they are cut."""

WHOLE = "all of it"
BEGINNING = "its beginning"
END = "its end"
"""What of a result a file has: some clients keep no more themselves."""

_BEGIN = "[Pannier: this result is long, and "
_KEPT = " is kept in a file: "
_FILE = "]\nfile: "
_HOW = (
    "Read what you need of it in a shell, some 100 lines at a time: sed -n '200,300p' on that "
    "file for lines, grep -n for where something stands, tail -c 4000 for its end."
)
_HOW_LONG_LINES = (
    "Its lines are long. Read what you need of it in a shell, some 4000 bytes at a time: "
    "tail -c +200000 FILE | head -c 4000 from a place on, grep -o for what stands around a word, "
    "tail -c 4000 for its end."
)
_SAID = 60
"""Characters of a command by which its result is told from others."""
_BESIDE = "Your script got that result as it is. Read the file only if what you were shown was cut."
_LONG_LINE = 2_000
"""Bytes of an average line, from which on parts are better read by bytes."""
_LONGEST_NOTE = 8_192
"""Characters in which a note names its file."""
_LEAST_SHARE = 2
"""A cut at a line's end leaves at least one part in so many of what could be shown."""


class Kept:
    """A result that is kept in the file `path`: its size in bytes, its lines (0: not counted), and
    the texts of its beginning and its end, all of them as the file has them. `part`: whether that
    is the `WHOLE` of what the tool gave. Frozen by custom."""

    __slots__ = ("head", "lines", "part", "path", "size", "tail")

    def __init__(
        self, path: str, size: int, lines: int, head: str, tail: str, part: str = WHOLE
    ) -> None:
        self.path = path
        self.size = size
        self.lines = lines
        self.head = head
        self.tail = tail
        self.part = part

    def only(self, part: str) -> Kept:
        """The same, of which it is said that the file has no more than this part of the result."""
        return Kept(self.path, self.size, self.lines, self.head, self.tail, part)


def shown(
    kept: Kept, *, before: str = "", after: str = "", around: tuple[str, str] = ("", "")
) -> str:
    """What the model gets: about 2,500 characters, and what a client wants to be said `before` the
    note, `after` the end, and `around` what is shown of the result."""
    end = "what is kept ends so" if kept.part == BEGINNING else "the end follows"
    left = max(0, kept.size - len(_bytes(kept.head)) - len(_bytes(kept.tail)))
    parts = (
        before,
        note(kept),
        "----- the beginning -----",
        around[0],
        kept.head.removesuffix("\n"),
        f"----- {left} bytes are left out here; {end} -----",
        kept.tail.removesuffix("\n") if after or around[1] else kept.tail,
        after,
        around[1],
    )
    return "\n".join(part for part in parts if part)


def beside(kept: Kept, command: str, after: str = "") -> str:
    """What the model gets beside a result that a script of its own got: about 500 characters.
    `command`: what gave it, "" if it was none; `after`: what else is to be said."""
    line = " ".join(command[:_SAID].split())
    whose = f"What gave it begins so: {line}\n" if line else ""
    return f"{note(kept)}\n{whose}{_BESIDE}{after and f' {after}'}"


def note(kept: Kept) -> str:
    """The words alone: where the result is, and how parts of it are read."""
    long_lines = 0 < kept.lines < kept.size // _LONG_LINE
    lines = f", {kept.lines} lines" if kept.lines else ""
    how = _HOW_LONG_LINES if long_lines else _HOW
    return f"{_BEGIN}{kept.part}{_KEPT}{kept.size} bytes{lines}{_FILE}{kept.path}\n{how}"


def spilled_in(text: str) -> tuple[str, int] | None:
    """The path and the size in bytes that the note in `text` names; None when there is none."""
    at = text.find(_BEGIN)
    if at < 0:
        return None
    # A script of Codex's model may print a result as JSON.
    said = text[at + len(_BEGIN) : at + _LONGEST_NOTE].replace("\\n", "\n")
    part, _, said = said.partition(_KEPT)
    said, mark, rest = said.partition(_FILE)
    size, _, lines = said.partition(" bytes")
    path, end, _ = rest.partition("\n")
    plain = not lines or (lines[:2] == ", " and _is_number(lines[2:].removesuffix(" lines")))
    known = part in (WHOLE, BEGINNING, END)
    if not (known and mark and _is_number(size) and plain and end and path[:1] == "/"):
        return None
    return path, int(size)


def head_of(text: str, most: int) -> str:
    """The beginning of `text`, at most `most` code points: whole lines, if that leaves enough."""
    if len(text) <= most:
        return text
    at = text.rfind("\n", 0, most) + 1
    return text[: at if at * _LEAST_SHARE >= most else _not_in_line_end(text, most)]


def tail_of(text: str, most: int) -> str:
    """The end of `text`, at most `most` code points: whole lines, if that leaves enough."""
    if len(text) <= most:
        return text
    begin = len(text) - most
    at = text.find("\n", begin - 1, len(text) - 1) + 1
    if at and (len(text) - at) * _LEAST_SHARE >= most:
        return text[at:]
    cut = _not_in_line_end(text, begin)
    return text[cut if cut == begin else begin + 1 :]


def ends_of(first: bytes, last: bytes, size: int) -> tuple[str, str]:
    """The head and the tail of `size` bytes that begin with `first` and end with `last`.

    Each of the two holds `ENDS` bytes, or all when there are less; undecodable bytes become U+FFFD.
    """
    if size > 2 * ENDS:
        return head_of(_text(first), HEAD), tail_of(_text(last), TAIL)
    whole = _text(first + last[len(first) + len(last) - size :])
    most = min(HEAD, len(whole) // 3)
    return head_of(whole, most), tail_of(whole, most)


def _not_in_line_end(text: str, at: int) -> int:
    return at - 1 if text[at - 1 : at + 1] == "\r\n" else at


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20
