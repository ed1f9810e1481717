"""Clients whose transcript cannot be read: what the hook's events say by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pannier.clients.transcript import (
    Entry,
    Kind,
    Line,
    Message,
    Outcome,
    Reading,
    Role,
    State,
    TurnBegins,
    TurnEnds,
)
from pannier.clients.transcripts.injected import pieces
from pannier_hook.events import Event

NO_STOP = "the next prompt came, but no stop before it"
FAILED = "the session ended with an error"
SESSION_ENDED = "the session ended without a stop"


def read(event: Event, _lines: Sequence[Line], state: State) -> Reading:
    """Entries with keys from the event's id. Records, if there are any, say nothing here.

    The state knows the last turn of each speaker ("" or a sub-agent's id), and whether it is open.
    """
    turns = _turns(state)
    entries = tuple(_entries(event, turns))
    return Reading(entries, {"turns": {who: list(turn) for who, turn in turns.items()}})


def _turns(state: State) -> dict[str, tuple[str, bool]]:
    turns = state.get("turns")
    if not isinstance(turns, Mapping):
        return {}
    return {str(who): (str(turn[0]), bool(turn[1])) for who, turn in turns.items()}


def _entries(event: Event, turns: dict[str, tuple[str, bool]]) -> Iterator[Entry]:
    inner = event.agent
    last, is_open = turns.get(inner, ("", False))

    def begin(key: str) -> TurnBegins:
        turns[inner] = (key, True)
        return TurnBegins(key, event.at, inner)

    def end() -> None:
        turns[inner] = (turns[inner][0], False)

    match event.kind:
        case "user-prompt":
            if is_open:
                yield TurnEnds("interrupted", event.at, NO_STOP, inner)
            yield begin(f"{event.id}/turn")
            for number, piece in enumerate(pieces(event.details.get("prompt", ""))):
                role: Role = "person" if piece.kind == "text" else "pannier"
                yield _message(event, number, role=role, kind=piece.kind, text=piece.text)
        case "delivered":
            # At a stop, the queue's message begins the next turn; within one it is part of it.
            if not is_open:
                yield begin(f"{event.id}/turn")
            for number, piece in enumerate(pieces(event.details.get("prompt", ""))):
                if piece.kind == "message":
                    yield _message(event, number, role="pannier", kind="message", text=piece.text)
        case "post-tool":
            yield from _tool(event)
        case "stop":
            if not is_open:
                yield begin(last or f"{event.id}/turn")
            if said := event.details.get("last", ""):
                yield _message(event, 0, role="agent", kind="text", text=said)
            error = event.details.get("error", "")
            yield TurnEnds("failed" if error else "succeeded", event.at, error, inner)
            end()
        case "post-compact":
            if summary := event.details.get("summary", ""):
                yield _message(event, 0, role="client", kind="compaction", text=summary)
        case "session-end" if is_open:
            # Copilot CLI says so in the place of a stop.
            failed = event.details.get("reason") == "error"
            outcome: Outcome = "failed" if failed else "interrupted"
            yield TurnEnds(outcome, event.at, FAILED if failed else SESSION_ENDED, inner)
            end()


def _tool(event: Event) -> Iterator[Message]:
    details = event.details
    tool, call = details.get("tool", ""), details.get("call", "") or event.id
    done, got = details.get("input", ""), details.get("output", "")
    yield _message(event, 0, role="agent", kind="call", text=done, tool=tool, call=call)
    failed = details.get("failed") == "true"
    result = _message(event, 1, role="tool", kind="result", text=got, tool=tool, call=call)
    yield replace(result, failed=failed)


def _message(
    event: Event,
    number: int,
    *,
    role: Role,
    kind: Kind,
    text: str,
    tool: str = "",
    call: str = "",
) -> Message:
    return Message(
        f"{event.id}/{number}",
        role,
        kind,
        text,
        event.at,
        position=event.at + number,
        tool=tool,
        call=call,
        inner=event.agent,
    )
