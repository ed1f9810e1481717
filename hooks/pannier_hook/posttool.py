"""A tool ran: a result that is too large goes into a file, and the client's model gets its ends.

Most results are not, and of those nothing is parsed or imported where the client's transcript has
them: a client waits for the hook at each of its tools.
"""

from __future__ import annotations

import time

from . import tuning
from .clients import BLOCK
from .request import STREAM_LIMIT, more, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .clients import Client
    from .options import Options
    from .request import Request

INPUT = 1.0
"""Seconds that the client's input may take."""
KEEP = 1.65
"""Seconds after the beginning when nothing more is kept."""
KEEP_AND_TELL = 1.35
"""The same where the sidecar is told afterwards."""
HAND_OVER = 0.7
"""Seconds after which nothing more is handed over."""

_ELSEWHERE = b"persistedOutputPath"
"""A client that kept a result itself may tell little of it."""


def post_tool(
    options: Options,
    client: Client,
    show: Callable[[str], None],
    complain: Callable[[Options, Exception], None],
) -> None:
    """Answer by `show`, then tell the sidecar, if no transcript does.

    What goes wrong with the answer is given to `complain`, and the client's own text stays. Raises
    OSError.
    """
    begin = time.monotonic()
    least = _least(options, client, complain)
    if not least:
        _only_tell(options, client)
        return
    first, ended = read(0, limit=least, deadline=INPUT)
    small = ended and len(first) <= least and _ELSEWHERE not in first
    if small and client.transcript and not _kept_before(options, client):
        return
    from .toolrequest import read_rest, tool_request

    data = bytearray(first)
    ended = ended or read_rest(0, data, begin + INPUT)
    text = ""
    try:
        if not ended:
            raise ValueError("a tool's result is too long, or did not come in time: it stays")
        from .large import shorten

        until = begin + (KEEP if client.transcript else KEEP_AND_TELL)
        text = shorten(options, client, data, least, show, until)
    except Exception as problem:
        complain(options, problem)
    if not client.transcript:
        request = tool_request(data)
        data.clear()  # What is told can be as large in memory.
        _tell(options, client, request.with_output(text) if text else request)


def _least(options: Options, client: Client, complain: Callable[[Options, Exception], None]) -> int:
    """Bytes below which no result of this client's is too large; 0: none ever is."""
    if not client.replaces:
        return 0
    if options.context:
        from .settings import spill_of
        from .tools import least_threshold

        try:
            spill = spill_of(options.context)
            return least_threshold(spill) if spill.enabled else 0
        except ValueError as problem:
            complain(options, problem)
            options.context = ""  # The defaults hold.
    return tuning.LEAST_BUILT_IN


def _kept_before(options: Options, client: Client) -> bool:
    """Whether there may be more of the result than the client gives."""
    if client.replaces != BLOCK:
        return False
    from .commandcalls import waits

    return waits(options)


def _only_tell(options: Options, client: Client) -> None:
    if not client.transcript:
        from .toolrequest import read_tool_request

        _tell(options, client, read_tool_request())
        return
    # A client that writes must not find its end closed.
    for _ in more(0, STREAM_LIMIT):
        pass


def _tell(options: Options, client: Client, request: Request) -> None:
    from .telling import tell

    tell(options, client, request, time.monotonic() + HAND_OVER)
