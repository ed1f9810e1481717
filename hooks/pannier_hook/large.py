"""A tool's result that may be too large: what of it goes into files, and what its model gets."""

from __future__ import annotations

import posix
import time

from . import toolresult
from .clients import BLOCK, DENY, UPDATE
from .commandcalls import take
from .increment import open_log
from .jsontext import quote
from .longstrings import ESCAPE, LongStrings
from .request import STREAM_LIMIT, members_of
from .settings import spill_of
from .spill import keep, shown
from .spillnote import BEGINNING, END, ENDS, Kept, beside, ends_of
from .tools import threshold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .clients import Client
    from .options import Options
    from .request import Request

MOST_REST = 4 << 20
"""The most that a client's JSON may be beside its long strings, in bytes."""
_FEWER_REST = 1 << 20
"""The same when it is very long: memory is bounded."""
_VERY_LONG = 16 << 20
MOST_TEXTS = 16
"""Texts of one result that go into files of their own."""
_CHUNK = 1 << 20


def shorten(
    options: Options,
    client: Client,
    data: bytes | bytearray,
    least: int,
    show: Callable[[str], None],
    until: float,
) -> str:
    """Answer by `show`, if the result that `data` tells of is too large; with which text, else "".

    Raises OSError where it cannot be kept, or not `until` that time on the monotonic clock, in
    seconds, and ValueError for JSON that is not understood.
    """
    most = MOST_REST if len(data) <= _VERY_LONG else _FEWER_REST
    strings = LongStrings(data, least, most)
    result = _Result(options, client, members_of(strings.rest), strings, until)
    answer, text = result.answer()
    if answer:
        show(answer)
    return text


class _Result:
    """One result of a tool."""

    __slots__ = (
        "_client",
        "_limit",
        "_options",
        "_request",
        "_response",
        "_spill",
        "_strings",
        "_tool",
        "_until",
    )

    def __init__(
        self,
        options: Options,
        client: Client,
        request: Request,
        strings: LongStrings,
        until: float,
    ) -> None:
        self._options = options
        self._client = client
        self._request = request
        self._strings = strings
        self._until = until
        self._spill = spill_of(options.context)
        self._tool = request.tool
        self._response = request.value(*toolresult.RESPONSE)
        self._limit = threshold(self._spill, self._tool)

    def answer(self) -> tuple[str, str]:
        """The client's answer, and the text that its model gets by that; "" if all stays."""
        if self._client.replaces == UPDATE and self._tool.lower() in toolresult.WRITERS:
            return "", ""
        place = toolresult.elsewhere(self._request)
        command = toolresult.is_command(self._client, self._request)
        text = self._of_command() if command else ""
        if text or (command and self._client.replaces == BLOCK):
            pass  # Codex gives its hooks only a part: without a reader it stays.
        elif place:
            text = self._from_file(place)
        elif self._client.replaces == UPDATE:
            return self._each()
        else:
            text = self._all()
        return (toolresult.replaced(self._client, self._request, text), text) if text else ("", "")

    def _of_command(self) -> str:
        """What a reader kept when the command ran; "" if there was none."""
        found = take(self._options, toolresult.note_of(self._request))
        if found is None:
            return ""
        kept, size = found
        after = ""
        if size > kept.size:
            after = f"[The command printed {size} bytes; the first {kept.size} are kept.]"
        return self._said_of(_of(kept, size), after)

    def _each(self) -> tuple[str, str]:
        """Each text that is too large for itself, where the response keeps its own shape."""
        strings = self._strings
        found = map(strings.number_of, toolresult.strings_in(self._response))
        large = [one for one in found if one is not None and strings.exceeds(one, self._limit)]
        large = sorted(large, key=strings.length)[-MOST_TEXTS:]
        if not large:
            return "", ""
        texts = {number: self._shown(strings.chunks(number)) for number in large}
        raw = self._request.raw(*toolresult.RESPONSE)
        if isinstance(self._response, str):
            raw = quote(raw)
        new = {number: quote(text) for number, text in texts.items()}
        return toolresult.updated(strings.restored(raw, new)), "\n".join(texts.values())

    def _all(self) -> str:
        """All texts together, where one takes the place of all."""
        texts = toolresult.texts_of(self._response)
        return self._shown(self._joined(texts)) if texts and self._exceed(texts) else ""

    def _exceed(self, texts: list[str]) -> bool:
        most = sum(map(self._at_most, texts))
        if most <= self._limit or most > ESCAPE * self._limit:
            return most > self._limit
        return sum(map(len, self._joined(texts))) > self._limit

    def _at_most(self, text: str) -> int:
        """No fewer bytes than the text has, and at most `ESCAPE` times as many."""
        number = self._strings.number_of(text)
        return 4 * len(text) if number is None else self._strings.length(number)

    def _joined(self, texts: Iterable[str]) -> Iterator[bytes]:
        for place, text in enumerate(texts):
            if place:
                yield b"\n"
            number = self._strings.number_of(text)
            if number is None:
                yield text.encode("utf-8", "replace")
            else:
                yield from self._strings.chunks(number)

    def _from_file(self, place: toolresult.Elsewhere) -> str:
        """What the client kept in a file itself, if that is too large."""
        file = open_log(place.path)
        if file is None:
            return ""
        try:
            size = posix.fstat(file).st_size
            if size <= self._limit:
                return ""
            if size <= STREAM_LIMIT or not place.lasts:
                after = place.said_of(min(size, STREAM_LIMIT), size)
                return self._shown(_chunks(file, STREAM_LIMIT), after, max(size, place.size))
            # Too long to be copied while the agent waits.
            ends = posix.pread(file, ENDS, 0), posix.pread(file, ENDS, size - ENDS)
            kept = _of(Kept(place.path, size, 0, *ends_of(*ends, size)), place.size)
            after = place.said_of(size, size)
            return shown(kept, before=toolresult.before(self._client), after=after)
        finally:
            posix.close(file)

    def _shown(self, chunks: Iterable[bytes], after: str = "", whole: int = 0) -> str:
        """`whole`: how many bytes the tool gave, where that may be more than all of `chunks`."""
        if self._client.replaces == DENY:
            unframed = toolresult.Unframed(self._tool, chunks)
            kept = self._kept(unframed)
            if toolresult.is_only_the_end(kept.size, kept.tail):
                kept = kept.only(END)
            around = toolresult.UNTRUSTED if unframed.found else ("", "")
        else:
            kept = _of(self._kept(chunks), whole)
            around = ("", "")
        return self._said_of(kept, after, around)

    def _said_of(self, kept: Kept, after: str, around: tuple[str, str] = ("", "")) -> str:
        if toolresult.is_computed_with(self._client, self._request):
            return beside(kept, self._request.inner("tool_input").text("command"), after)
        before = toolresult.before(self._client)
        return shown(kept, before=before, after=after, around=around)

    def _kept(self, chunks: Iterable[bytes]) -> Kept:
        return keep(self._options, self._spill, self._tool, self._in_time(chunks))

    def _in_time(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """All of `chunks`, as long as there is time."""
        for chunk in chunks:
            yield chunk
            if time.monotonic() > self._until:
                raise TimeoutError("keeping a tool's result takes too long: it stays as it is")


def _of(kept: Kept, whole: int) -> Kept:
    """What is kept of a result of so many bytes."""
    return kept.only(BEGINNING) if kept.size < whole else kept


def _chunks(file: int, most: int) -> Iterator[bytes]:
    while most > 0 and (chunk := posix.read(file, min(_CHUNK, most))):
        most -= len(chunk)
        yield chunk
