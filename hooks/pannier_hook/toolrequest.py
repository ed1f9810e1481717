"""What a client told the hook of a tool: often more than of any other event."""

from __future__ import annotations

import posix
import select
import time

from .request import CHUNK, LIMIT, STREAM_LIMIT, members_of, more, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .request import Request

TEXT_LIMIT = LIMIT - (1 << 14)
"""The most that is kept of one text, as it stands in the JSON: what stands around it has room in
the same detail."""
TOOL_LIMIT = 8 << 20
"""The most that is kept of all, in characters of JSON."""


def read_tool_request(fd: int = 0) -> Request:
    """Read what a tool did from `fd`, with texts that are longer than `TEXT_LIMIT` shortened: of
    the member that is cut nonetheless, the beginning of its JSON. Raises OSError."""
    data, ended = read(fd)
    if ended or len(data) <= LIMIT:
        return members_of(data.decode("utf-8", "replace"))
    return members_of(_shortened(_chunks(fd, data)))


def tool_request(data: bytes | bytearray) -> Request:
    """The same of what was read already."""
    if len(data) <= LIMIT:
        return members_of(data.decode("utf-8", "replace"))
    return members_of(_shortened(data[at : at + CHUNK] for at in range(0, len(data), CHUNK)))


def read_rest(fd: int, data: bytearray, until: float) -> bool:
    """Add to `data` what comes from `fd`; whether that is all. At most `STREAM_LIMIT` are read, and
    `until` on the monotonic clock, in seconds. Raises OSError."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while len(data) <= STREAM_LIMIT and (left := until - time.monotonic()) > 0:
        if poll.poll(left * 1000):
            chunk = posix.read(fd, CHUNK)
            if not chunk:
                return True
            data += chunk
    return False


def _shortened(chunks: Iterable[bytes | bytearray]) -> str:
    """The JSON that comes in `chunks`, with its long texts shortened."""
    from codecs import getincrementaldecoder

    from .shortening import Shortener

    decoder, shortener = getincrementaldecoder("utf-8")("replace"), Shortener(TEXT_LIMIT)
    kept = ""
    for chunk in chunks:
        # A client that writes must not find its end closed: the rest is read and thrown away.
        if len(kept) < TOOL_LIMIT:
            kept += shortener.feed(decoder.decode(chunk))
    return kept


def _chunks(fd: int, data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), CHUNK):
        yield data[at : at + CHUNK]
    yield from more(fd, STREAM_LIMIT - len(data))
