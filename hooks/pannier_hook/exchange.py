"""One event of a client, from its JSON to the end: the answer first, then what the sidecar is told.

Nothing that goes wrong with the spool or the queue keeps an answer from the client.
"""

from __future__ import annotations

import posix
import time

from . import context
from .clients import MESSAGES, PLAIN, answer, continuation, guidance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .clients import Client
    from .inbox import Taken
    from .options import Options
    from .request import Request

EVENTS = frozenset(
    {
        "session-start",
        "user-prompt",
        "stop",
        "pre-compact",
        "post-compact",
        "session-end",
    }
)

HAND_OVER = 0.7
"""Seconds after the beginning when no more of a transcript is handed over."""
LAST_HAND_OVER = 0.45
"""The same at a session's end."""
LAST_INPUT = 0.3
"""Seconds that the client's input may take at a session's end."""


def exchange(
    options: Options,
    client: Client,
    show: Callable[[str], None],
    complain: Callable[[Options, Exception], None],
) -> None:
    """Answer the event that `options` name by `show`, then tell the sidecar of it.

    What goes wrong with the answer is given to `complain`, and the rest is still done. Raises
    ValueError for an input that is not understood, and OSError.
    """
    ending = options.event == "session-end"
    until = time.monotonic() + (LAST_HAND_OVER if ending else HAND_OVER)
    request = _request(options)
    taken = None
    try:
        text = _own_words(options, client, request)
        taken = _messages(options, client, request)
        said = _answer(options, client, text, taken.text if taken else "")
        if said:
            show(said)
    except Exception as problem:
        taken = None
        complain(options, problem)
    # Of several entries of one event, the last tells of it: it has the least to print.
    try:
        last = options.part is None or options.part[0] == options.part[1]
        if last and not _is_known(options, client, request):
            from .telling import tell

            tell(options, client, request, until)
    finally:
        if taken:
            _delivered(options, client, request, taken)


def _is_known(options: Options, client: Client, request: Request) -> bool:
    """Whether the sidecar would learn nothing: of a session that goes on the transcript tells, and
    no session was left behind. A resume has to be quick."""
    resumed = options.event == "session-start" and (options.source or request.source) == "resume"
    if not resumed or not client.transcript:
        return False
    try:
        return not posix.listdir(f"{options.spool}/sessions")
    except OSError:
        return True


def _request(options: Options) -> Request:
    from .request import DEADLINE, Request, read_request

    if options.event == "session-start":
        return Request({}) if options.source else read_request()
    last = options.event == "session-end"
    return read_request(tolerate_cut=True, deadline=LAST_INPUT if last else DEADLINE)


def _own_words(options: Options, client: Client, request: Request) -> str:
    """What is to be said beside messages of the queue."""
    if options.event == "session-start":
        return context.session_start(options, client, request)
    if options.event == "user-prompt":
        return context.user_prompt(options, client, request)
    if options.event == "pre-compact" and client.guides_summary:
        return _guidance(options)
    if options.event == "post-compact":
        context.compacted(options, client, request)
    return ""


def _guidance(options: Options) -> str:
    """What the summary has to keep; nothing where compaction is left to the client alone."""
    from .settings import compaction_enabled

    if not compaction_enabled(options.context):
        return ""
    from .surviving import instructions_here

    return instructions_here(options)


def _messages(options: Options, client: Client, request: Request) -> Taken | None:
    """What the queue has for the agent, claimed. Nothing when it goes on by a hook already."""
    if options.event == "stop":
        going_on = request.flag("stop_hook_active", "stopHookActive")
        wanted = client.goes_on and not going_on and not request.failed
    else:
        wanted = options.event == "user-prompt" and not request.empty
    if not wanted or request.agent or not request.kept or not _waits(options):
        return None
    if options.event == "stop" and client.log == MESSAGES:
        from .unanswered import is_unanswered

        if is_unanswered(request.text("transcript_path")):
            return None
    from . import inbox

    return inbox.take(options, limit=client.limit, unit=client.unit) or None


def _waits(options: Options) -> bool:
    """Whether anything lies in the inbox, before a module is imported for it."""
    try:
        return bool(posix.listdir(f"{options.inbox}/new"))
    except OSError:
        return False


def _answer(options: Options, client: Client, own: str, messages: str) -> str:
    text = "\n".join(part for part in (own, messages) if part)
    if not text:
        return ""
    if options.event == "pre-compact":
        return guidance(client, text)
    if options.event == "stop" and client.dialect != PLAIN:
        return continuation(client, text)
    return answer(client, text, client.prompt_event if options.event == "user-prompt" else "")


def _delivered(options: Options, client: Client, request: Request, taken: Taken) -> None:
    from .inbox import done
    from .telling import tell_delivered

    try:
        # At a stop, the client that goes on says it itself: in its transcript, or as a prompt.
        unwritten = options.event == "user-prompt" and not client.transcript
        tell_delivered(options, request, taken.ids, taken.text if unwritten else "")
    finally:
        done(taken)
