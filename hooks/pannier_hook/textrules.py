"""The text rules: what becomes of a memory file's bytes before a model sees them. Pure."""

from __future__ import annotations

from .reading import READ_LIMIT

_C0 = [chr(code) for code in range(0x20) if chr(code) not in "\t\n"]
_C1 = [chr(code) for code in range(0x7F, 0xA0)]
_BIDI = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]

FORBIDDEN = (*_C0, *_C1, *_BIDI)
"""C0 but tab and newline, DEL, C1, and the bidirectional embeddings, overrides and isolates with
their ends. Everything else passes, joiners and marks included."""


class Delivered:
    """What of a file is delivered. `cut` says whether there was more."""

    __slots__ = ("cut", "text")

    def __init__(self, text: str, cut: bool) -> None:
        self.text = text
        self.cut = cut


def clean(text: str) -> str:
    """CRLF becomes LF, and what is forbidden goes. Cleaning twice changes nothing more."""
    text = text.replace("\r\n", "\n")
    for character in FORBIDDEN:
        if character in text:
            text = text.replace(character, "")
    return text


def one_line(text: str, longest: int) -> str:
    """A path or a message as one clean line of at most `longest` code points."""
    valid = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return clean(valid).replace("\n", " ")[:longest]


def deliverable(raw: bytes, cap: int) -> Delivered:
    """The text that is delivered of a file with these bytes, at most `cap` code points.

    `raw` is the whole file, or at least its first `READ_LIMIT` + 1 bytes: more is not looked at.
    Undecodable bytes become U+FFFD; then the text rules, then the cap.
    """
    more = len(raw) > READ_LIMIT
    text = clean(_decode(raw[:READ_LIMIT], more))
    if len(text) > cap:
        return Delivered(text[:cap], True)
    return Delivered(text, more)


def _decode(raw: bytes, more: bool) -> str:
    if more:
        # A character that the limit splits is no undecodable byte: leave it to the part not read.
        for back in range(1, 4):
            lead = raw[-back]
            if lead >= 0xC0:
                length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
                if length > back:
                    raw = raw[:-back]
                break
            if lead < 0x80:
                break
    return raw.decode("utf-8", "replace")
