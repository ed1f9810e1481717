"""JSON as a client wrote it, with its long strings set aside: the rest is small enough to be read,
and of a long one nothing is decoded before it is wanted, and then a piece at a time.

Nothing is parsed to find them: a piece of the text costs a few searches in C, however many strings
it holds.
"""

from __future__ import annotations

import posix
from _json import scanstring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 1 << 16
"""The most that is looked at or decoded at once, in bytes."""
ESCAPE = 6
"""Bytes of the longest escape; what needs two of them is one character."""
_MOST_CONTINUED = 3
"""Bytes of one character of UTF-8 behind its first."""
_HIGH = (b"\\ud8", b"\\ud9", b"\\uda", b"\\udb")


class LongStrings:
    """The long strings of the JSON text `data`: those of more than `least` bytes as they stand.

    `rest` is the text without them. In the place of each stands a string of our own, the mark, of
    which `number_of` knows the number.
    """

    __slots__ = ("_data", "_mark", "_spans", "rest")

    def __init__(self, data: bytes | bytearray, least: int, most: int) -> None:
        """`most`: the most that the rest may be, in bytes. Raises ValueError for more."""
        self._data = data
        self._mark = f"pannier-{posix.urandom(8).hex()}-"
        self._spans = spans(data, least)
        parts: list[bytes] = []
        at = 0
        for number, (begin, end) in enumerate(self._spans):
            parts += (bytes(data[at:begin]), f"{self._mark}{number}".encode("ascii"))
            at = end
        if sum(map(len, parts)) + len(data) - at > most:
            raise ValueError("a tool's result has too many small values to be looked into")
        self.rest = b"".join((*parts, data[at:])).decode("utf-8", "replace")

    def number_of(self, value: object) -> int | None:
        """The number of the long string in whose place `value` stands; None for anything else."""
        if not isinstance(value, str) or not value.startswith(self._mark):
            return None
        number = value[len(self._mark) :]
        return int(number) if number.isascii() and number.isdigit() else None

    def length(self, number: int) -> int:
        """Bytes of the string as it stands: no fewer than it has in UTF-8."""
        begin, end = self._spans[number]
        return end - begin

    def exceeds(self, number: int, size: int) -> bool:
        """Whether the string has more than `size` bytes of UTF-8. Raises ValueError."""
        begin, end = self._spans[number]
        if end - begin <= size:
            return False
        # An escape of six bytes makes at least one.
        if end - begin > ESCAPE * size:
            return True
        return sum(map(len, self.chunks(number))) > size

    def chunks(self, number: int) -> Iterator[bytes]:
        """The string in UTF-8, a piece at a time. Raises ValueError for a wrong escape."""
        at, end = self._spans[number]
        while at < end:
            stop = whole(self._data, at, min(at + PIECE, end), end)
            text = self._data[at:stop].decode("utf-8", "replace")
            yield _utf8(scanstring(f'{text}"', 0, False)[0])
            at = stop

    def restored(self, text: str, new: dict[int, str]) -> str:
        """A part of `rest`, with the JSON strings `new` by their numbers, and all others as they
        were."""
        parts = text.split(f'"{self._mark}')
        for place, part in enumerate(parts[1:], 1):
            digits, _, after = part.partition('"')
            number = int(digits)
            parts[place] = f"{new[number] if number in new else self._raw(number)}{after}"
        return "".join(parts)

    def _raw(self, number: int) -> str:
        begin, end = self._spans[number]
        return f'"{self._data[begin:end].decode("utf-8", "replace")}"'


def spans(data: bytes | bytearray, least: int) -> list[tuple[int, int]]:
    """Where the strings begin and end that have more than `least` bytes, without their quotes; of
    one that does not end, nothing. Names of members count, too."""
    found: list[tuple[int, int]] = []
    size = max(1, min(PIECE, least))
    begin, inside, at = 0, False, 0
    while at < len(data):
        piece = data[at : at + size]
        if (len(piece) - len(piece.rstrip(b"\\"))) & 1:
            piece += data[at + len(piece) : at + len(piece) + 1]
        # Every quote that is left begins or ends a string; lengths stay as they are.
        plain = piece.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        quotes = plain.count(b'"')
        if inside and quotes:
            end = at + plain.find(b'"')
            if end - begin > least:
                found.append((begin, end))
        if quotes:
            inside ^= bool(quotes & 1)
            begin = at + plain.rfind(b'"') + 1
        at += len(piece)
    return found


def whole(data: bytes | bytearray, begin: int, stop: int, end: int) -> int:
    """The last place up to `stop` that splits no escape, no character of two escapes and none of
    UTF-8 in the string from `begin` to `end`; for pieces of more than a few escapes."""
    if stop == end:
        return stop
    for _ in range(_MOST_CONTINUED):
        stop -= data[stop] & 0xC0 == 0x80
    slash = data.rfind(b"\\", max(begin, stop - ESCAPE), stop)
    if slash >= 0 and _escapes(data, begin, slash):
        length = ESCAPE if data[slash + 1] == ord("u") else 2
        stop = slash if slash + length > stop else stop
    high = bytes(data[stop - ESCAPE : stop]).lower()
    if high.startswith(_HIGH) and _escapes(data, begin, stop - ESCAPE):
        stop -= ESCAPE
    return stop


def _escapes(data: bytes | bytearray, begin: int, slash: int) -> bool:
    """Whether the backslash at `slash` begins an escape, rather than ends one."""
    before = bytes(data[begin:slash])
    return not (len(before) - len(before.rstrip(b"\\"))) & 1


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Half of a character, which JavaScript allows in a string.
        halves = text.encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le", "replace").encode("utf-8")
