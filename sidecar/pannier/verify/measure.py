"""What of the memory reached the model. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pannier.endpoint.model import Request
from pannier.verify.report import FileReport
from pannier_hook.unframing import Segment, read_back

Decode = Callable[[str], str]


@dataclass(frozen=True)
class MemoryText:
    """A memory file on the host: what it holds, and what of it should be delivered."""

    path: str
    characters: int
    text: str
    """After the text rules and the cap."""


@dataclass(frozen=True)
class _Found:
    """A segment of a file as it stands in a request."""

    segment: Segment
    where: str
    new: bool


def markers_in(requests: Iterable[Request]) -> frozenset[str]:
    """The random markers of all deliveries in these requests. Each delivery has its own."""
    texts = (text for request in requests for text in request.texts)
    return frozenset(part.marker for text in texts for part in read_back(text.text).parts)


def measure(
    *,
    requests: Sequence[Request],
    memory: Sequence[MemoryText],
    older: frozenset[str],
    fresh: bool,
    decode: Decode,
) -> tuple[FileReport, ...]:
    """What of `memory` was delivered in an event.

    `requests` came during the event; `older` are the markers of deliveries before it. In a fresh
    context the first agent request with a new delivery counts, and all that it holds: a second
    copy, be it new or older, makes more than expected. Where the context is not fresh, any new
    delivery in any request counts, and none is expected.
    """
    counted = list(_counted(requests, older, fresh))
    return tuple(_report(file, counted, fresh, decode) for file in memory)


def _counted(requests: Sequence[Request], older: frozenset[str], fresh: bool) -> Iterator[_Found]:
    # An agent's own requests offer tools; those for titles and topics do not.
    agents = [r for r in requests if r.tools] or requests
    for request in agents if fresh else requests:
        found = list(_found(request, older))
        if any(one.new for one in found):
            yield from (one for one in found if fresh or one.new)
            return


def _found(request: Request, older: frozenset[str]) -> Iterator[_Found]:
    for text in request.texts:
        for part in read_back(text.text).parts:
            for segment in part.segments:
                yield _Found(segment, text.where, part.marker not in older)


def _report(file: MemoryText, counted: Sequence[_Found], fresh: bool, decode: Decode) -> FileReport:
    mine = [one for one in counted if one.segment.path == file.path]
    return FileReport(
        path=file.path,
        characters=file.characters,
        expected=len(file.text) if fresh else 0,
        delivered=sum(_right(one.segment, file, decode) for one in mine),
        where=", ".join(dict.fromkeys(one.where for one in mine)),
    )


def _right(segment: Segment, file: MemoryText, decode: Decode) -> int:
    """How many characters of a segment are as they should be: all of them, or those up to the
    first that is not."""
    wanted = file.text[segment.start : segment.end]
    got, meant = decode(segment.text), decode(wanted)
    if got == meant:
        return len(wanted)
    return next(
        (n for n, (a, b) in enumerate(zip(got, meant, strict=False)) if a != b),
        min(len(got), len(meant)),
    )
