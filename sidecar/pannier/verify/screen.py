"""What a person would see in a terminal, and what the terminal answers. Pure but for its state."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import pyte

LINES = 50
COLUMNS = 160

# Control sequences, and device control, privacy and application strings (ECMA-48, 5.4 and 5.6).
_SEQUENCE = re.compile(
    r"\x1b\[(?P<parameters>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])|\x1b[PX^_].*?\x1b\\",
    re.DOTALL,
)
_PLAIN = re.compile(r"[0-9;]*")
_PRIVATE = re.compile(r"\?[0-9;]*")
_PRIVATE_FINALS = "hlJK"
# The beginning of a sequence whose end has not come yet.
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[PX^_\]][^\x07\x1b]*\x1b?|[ -/]*)?$")
_UNFINISHED_LIMIT = 65_536


class _Pyte(pyte.Screen):
    """Keeps what a terminal would type back."""

    def __init__(self, columns: int, lines: int, replies: list[str]) -> None:
        super().__init__(columns, lines)
        self._replies = replies

    def write_process_input(self, data: str) -> None:
        self._replies.append(data)


class _Tolerant:
    """Hands on to pyte what the stream finds. One with parameters that pyte does not expect is
    passed over, as a terminal would do."""

    def __init__(self, screen: pyte.Screen) -> None:
        self._screen = screen

    def __getattr__(self, name: str) -> Callable[..., None]:
        event = getattr(self._screen, name)

        def tolerant(*args: object, **kwargs: object) -> None:
            with suppress(TypeError, ValueError, LookupError):
                event(*args, **kwargs)

        return tolerant


class Screen:
    """50 lines of 160 columns. Not safe to use from several threads."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._replies: list[str] = []
        self._screen = _Pyte(COLUMNS, LINES, self._replies)
        self._stream = pyte.Stream(cast(pyte.Screen, _Tolerant(self._screen)))

    def feed(self, data: bytes) -> bytes:
        """Show output of the program. Returns what the terminal types back to its queries."""
        text = self._rest + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        if len(text) - cut > _UNFINISHED_LIMIT:
            cut = len(text)
        text, self._rest = text[:cut], text[cut:]
        self._stream.feed(_SEQUENCE.sub(_known, text))
        replies = "".join(self._replies).encode()
        self._replies.clear()
        return replies

    def shows(self, text: str) -> bool:
        """Whether `text` stands in one line."""
        return any(text in line for line in self._screen.display)

    def text(self) -> str:
        """The lines, without what is blank at their ends and at the screen's."""
        return "\n".join(line.rstrip() for line in self._screen.display).strip("\n")


def _known(sequence: re.Match[str]) -> str:
    """A sequence that pyte can take, or nothing: it shows or stumbles over keyboard protocols and
    other private ones, none of which changes what stands on the screen."""
    if sequence["final"] is None or sequence["between"]:
        return ""
    parameters = sequence["parameters"]
    if _PLAIN.fullmatch(parameters):
        return sequence[0]
    known = sequence["final"] in _PRIVATE_FINALS and _PRIVATE.fullmatch(parameters)
    return sequence[0] if known else ""
