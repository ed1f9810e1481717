"""What the hook tells the sidecar of a client's event: one event, and what is new in transcripts.

Clients name the same things differently; what is here is all that is known of that. It says nothing
about answers to the client, which are out before any of this begins.
"""

from __future__ import annotations

import posix
import time

from .events import (
    DELIVERED,
    POST_COMPACT,
    POST_TOOL,
    PRE_COMPACT,
    SESSION_END,
    SESSION_START,
    STOP,
    USER_PROMPT,
    Event,
    Log,
)
from .spool import Spool, new_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .clients import Client
    from .options import Options
    from .request import Request

HAND_OVER = frozenset({STOP, PRE_COMPACT, SESSION_END})
"""The events that hand over what is new in transcripts."""

_OUTPUT = ("tool_response", "toolResult", "error")
_CALL = ("tool_call_id", "toolCallId", "tool_use_id", "toolUseId")
"""Qwen Code gives both; the first is the model's own."""


def tell(options: Options, client: Client, request: Request, until: float) -> None:
    """Hand over the event that `options` name, and with it what is new; the time for that ends
    `until`, on the monotonic clock, in seconds. Raises OSError."""
    unsaid = client.transcript if options.event == POST_TOOL else request.empty
    if unsaid or not request.kept:
        return
    teller = Teller(options, request)
    try:
        if client.transcript and options.event in HAND_OVER:
            from .handover import hand_over

            # A sub-agent of Codex has a transcript of its own.
            log = request.text("agent_transcript_path", "transcript_path")
            hand_over(teller, client, log, until)
        elif client.transcript or options.event == SESSION_START:
            # What a transcript holds, too, need not survive a crash of the machine.
            teller.spool.put(teller.event(), durable=False)
            if client.transcript and options.event == USER_PROMPT:
                _note(teller)
            elif client.transcript and options.event == SESSION_START:
                _look_for_leftovers(teller, until)
        else:
            _put_or_keep(teller)
    finally:
        teller.spool.close()


def _note(teller: Teller) -> None:
    """Note that the session goes on. A sub-agent's prompt says nothing of that."""
    from .sessions import Noted, note

    options, request = teller.options, teller.request
    if not request.agent:
        path = request.text("transcript_path")
        thread, task = options.thread, options.task
        note(teller.spool, Noted(options.client, request.session, thread, path, task=task))


def _look_for_leftovers(teller: Teller, until: float) -> None:
    """Of sessions that were killed. Most often there are none, and no module is imported."""
    try:
        noted = posix.listdir(f"{teller.options.spool}/sessions")
    except OSError:
        return
    source = teller.options.source or teller.request.source
    # It was killed if it has to be resumed, and goes on if it was compacted.
    own = "" if source == "resume" else teller.request.session
    if any(name != own for name in noted):
        from .leftovers import look

        look(teller.options, until, own)


def _put_or_keep(teller: Teller) -> None:
    from . import held

    event, home = teller.event(), teller.options.home
    try:
        held.release(home, teller.spool)
        teller.spool.put(event)
    except OSError:
        held.keep(home, event)
        raise


def tell_delivered(options: Options, request: Request, ids: Sequence[str], text: str = "") -> None:
    """Hand over that the queue's messages `ids` were put before the agent; as which `text`, where
    nobody else tells that. Raises OSError."""
    teller = Teller(options, request)
    try:
        teller.spool.put(teller.event(DELIVERED, _of_delivered(ids, text)))
    finally:
        teller.spool.close()


class Teller:
    """Makes events of one call of the hook, and knows the spool that they go to."""

    def __init__(
        self, options: Options, request: Request, spool: Spool | None = None, at: int = 0
    ) -> None:
        """`at`: when all of it happened, in nanoseconds since 1970; 0: now."""
        self.options = options
        self.request = request
        self.spool = spool or Spool(options.spool)
        self._then = at
        self._at = 0

    def now(self) -> int:
        """The time of a next event, in nanoseconds since 1970: later than the one before."""
        self._at = max(self._then or time.time_ns(), self._at + 1)
        return self._at

    def event(
        self,
        kind: str = "",
        details: dict[str, str] | None = None,
        *,
        id: str = "",
        at: int = 0,
        part: tuple[int, int] = (1, 1),
        agent: str = "",
        log: Log | None = None,
    ) -> Event:
        """An event of this call: of its own kind with its own details, unless told otherwise."""
        request, options = self.request, self.options
        return Event(
            kind or options.event,
            id=id or new_id(),
            at=at or self.now(),
            part=part,
            client=options.client,
            session=request.session,
            thread=options.thread,
            task=options.task,
            turn=request.text("turn_id", "turnId", "prompt_id", "promptId"),
            agent=agent or request.agent,
            details=details_of(options, request) if details is None else details,
            log=log,
        )


def details_of(options: Options, request: Request) -> dict[str, str]:
    """The details of the event that `options` name, by what the client said of it."""
    kind, text = options.event, request.text
    if kind == SESSION_START:
        return {"source": options.source or request.source, "model": text("model")}
    if kind == USER_PROMPT:
        return {"prompt": text("prompt")}
    if kind == POST_TOOL:
        return _of_tool(request)
    if kind == STOP:
        return _of_stop(options, request)
    if kind == PRE_COMPACT:
        return {"trigger": text("trigger")}
    if kind == POST_COMPACT:
        return {"summary": text("compact_summary", "summary"), "trigger": text("trigger")}
    return {"reason": text("reason")}


def _of_tool(request: Request) -> dict[str, str]:
    details = {
        "tool": request.tool,
        "call": request.text(*_CALL),
        "input": request.raw("tool_input", "toolInput", "tool_args", "toolArgs"),
        "output": request.inner("toolResult").text("textResultForLlm")
        or request.inner("tool_response").text("llmContent")
        or request.raw(*_OUTPUT),
    }
    if request.raw("error"):
        details["failed"] = "true"
    return details


def _of_delivered(ids: Sequence[str], text: str) -> dict[str, str]:
    details = {"messages": " ".join(ids)}
    return {**details, "prompt": text} if text else details


def _of_stop(options: Options, request: Request) -> dict[str, str]:
    last = request.text("last_assistant_message", "prompt_response", "lastAssistantMessage")
    if options.client == "copilot" and not last:
        from .lastsaid import last_said

        last = last_said(request.text("transcriptPath"))
    active = request.flag("stop_hook_active", "stopHookActive")
    details = {"last": last, "active": "true" if active else ""}
    error = request.text("error_details", "error")
    if error or request.failed:
        details["error"] = error or "the model's API failed"
    return details
