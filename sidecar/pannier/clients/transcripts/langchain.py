"""Agents in Python: messages as LangChain writes them (`langchain_core.messages.message_to_dict`).

Each line is `{"type": "human"|"ai"|"tool"|…, "data": {…}, "parent": ID}`, with the id of the
message that it follows; `pannier_agents.record` writes it. Lines of type `pannier` say what no
message says: that the turn ended in an error, or that the thread went back to a message. A line may
come twice.

Summaries are told at once, by the event of the compaction, and again in the log, when its turn goes
on: what follows there follows the summary.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pannier.clients.transcript import (
    After,
    Entry,
    HeadMoves,
    Line,
    Message,
    Outcome,
    Reading,
    State,
    TurnBegins,
    TurnEnds,
    Usage,
)
from pannier.clients.transcripts.jsonlines import Json
from pannier.clients.transcripts.raw import raw
from pannier.clients.transcripts.said import Said, spoken
from pannier_hook.events import POST_COMPACT, SESSION_END, STOP, Event

NO_STOP = "the next prompt came, but the turn had not ended"
SESSION_ENDED = "the session ended before the turn"
_REMEMBERED = 50
_ENDS: Mapping[str, Outcome] = {"failed": "failed", "interrupted": "interrupted"}


@dataclass
class _Turns:
    """The keys of the last turns, and whether the last one is open."""

    keys: list[str] = field(default_factory=list)
    open: bool = False

    @classmethod
    def of(cls, state: State) -> _Turns:
        keys, is_open = state.get("turns"), state.get("open")
        found = [str(key) for key in keys] if isinstance(keys, list) else []
        return cls(found, is_open is True)

    def state(self) -> State:
        return {"turns": self.keys[-_REMEMBERED:], "open": self.open}


def read(event: Event, lines: Sequence[Line], state: State) -> Reading:
    """See `pannier.clients.transcript.Reader`. Keys are the messages' own ids, in their session."""
    turns = _Turns.of(state)
    entries = tuple(_entries(event, lines, turns))
    return Reading(entries, turns.state())


def _entries(event: Event, lines: Sequence[Line], turns: _Turns) -> Iterator[Entry]:
    for line in lines:
        # After a rollback the log goes on at an earlier place, at a later time.
        position = event.at + line.offset - (event.log.offset if event.log else 0)
        try:
            value = _object(line.data)
            entries = list(_line(event, value, position, turns))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            entries = [raw(event, line, position)]
        yield from entries
    if event.kind == POST_COMPACT:
        yield from _compacted(event)
    if turns.open and event.kind in (STOP, SESSION_END):
        turns.open = False
        stopped = event.kind == STOP
        yield TurnEnds(
            "succeeded" if stopped else "interrupted", event.at, "" if stopped else SESSION_ENDED
        )


def _compacted(event: Event) -> Iterator[Entry]:
    id, summary = event.details.get("message"), event.details.get("summary")
    if id and summary:
        key = _key(event, id)
        yield Message(key, "client", "compaction", summary, position=event.at)


def _object(data: bytes) -> Json:
    value = json.loads(data)
    if not isinstance(value, dict) or not isinstance(value["data"], dict):
        raise ValueError("not a message")
    return value


def _line(event: Event, value: Json, position: int, turns: _Turns) -> Iterator[Entry]:
    data: Json = value["data"]
    if value["type"] == "pannier":
        yield from _told(event, data, turns)
        return
    key, said = _key(event, data["id"]), list(_said(value["type"], data))
    if not event.agent:  # A sub-agent works in the turn of the agent.
        yield from _begin(event, value, key, turns)
    before = _key(event, value["parent"]) if value["parent"] else ""
    model = str(_inner(data, "response_metadata").get("model_name", ""))
    for number, one in enumerate(said):
        # The last one has the key of the message: what follows, follows that.
        own = key if number == len(said) - 1 else f"{key}/{number}"
        yield Message(
            own,
            one.role,
            one.kind,
            one.text,
            parent=After(before) if before else None,
            position=position,
            call=one.call,
            tool=one.tool,
            model=model if one.role == "agent" else "",
            failed=one.failed,
            inner=event.agent,
        )
        before = own
    if isinstance(usage := data.get("usage_metadata"), dict):
        yield _usage(event, key, model, usage)


def _told(event: Event, data: Json, turns: _Turns) -> Iterator[Entry]:
    if "head" in data:
        yield HeadMoves(After(_key(event, data["head"])))
    elif turns.open:
        turns.open = False
        yield TurnEnds(_ENDS[data["end"]], event.at, str(data["reason"])[:2_000])


def _begin(event: Event, value: Json, key: str, turns: _Turns) -> Iterator[Entry]:
    """The turn that begins with this message, unless it began before."""
    kind = _mark(value["data"])
    if value["type"] != "human" or kind in ("memory", "message", "summary") or key in turns.keys:
        return
    if turns.open:
        yield TurnEnds("interrupted", event.at, NO_STOP)
    turns.keys.append(key)
    turns.open = True
    yield TurnBegins(key, event.at)


def _said(kind: str, data: Json) -> Iterator[Said]:
    text, mark = _text(data["content"]), _mark(data)
    match kind:
        case "human" if mark == "summary":
            yield Said("client", "compaction", text)
        case "human":
            # Messages of the queue may also be the prompt with which an agent is started.
            yield from tuple(spoken("person", text)) or (Said("person", "text", text),)
        case "ai" | "AIMessageChunk":
            yield from _by_agent(data, text)
        case "tool":
            failed = data.get("status") == "error"
            call, tool = str(data["tool_call_id"]), str(data.get("name") or "")
            yield Said("tool", "result", text, call, tool, failed)
        case "system":
            yield Said("client", "text", text)
        case _:
            raise ValueError("a message of an unknown kind")


def _by_agent(data: Json, text: str) -> Iterator[Said]:
    if thought := _thought(data["content"]):
        yield Said("agent", "thinking", thought)
    calls = [(call, json.dumps(call["args"], ensure_ascii=False)) for call in data["tool_calls"]]
    calls += [(call, str(call["args"])) for call in data.get("invalid_tool_calls", ())]
    if text or not (thought or calls):
        yield Said("agent", "text", text)
    for call, arguments in calls:
        yield Said("agent", "call", arguments, str(call["id"] or ""), str(call["name"]))


def _text(content: object) -> str:
    """The text of a content; blocks that are none (pictures) are named."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            parts.append(block)
        elif block["type"] == "text":
            parts.append(str(block["text"]))
        elif block["type"] not in _BESIDE:
            parts.append(f"[{block['type']}]")
    return "".join(parts)


_BESIDE = frozenset(
    (
        "function_call",
        "input_json_delta",
        "invalid_tool_call",
        "reasoning",
        "redacted_thinking",
        "thinking",
        "tool_call",
        "tool_call_chunk",
        "tool_use",
    )
)
"""Blocks that say nothing beside what `tool_calls` says, or are thoughts."""


def _thought(content: object) -> str:
    blocks = content if isinstance(content, list) else []
    return "\n".join(
        str(block.get(block["type"]))
        for block in blocks
        if isinstance(block, dict)
        and isinstance(block.get(block["type"]), str)
        and block["type"] in ("thinking", "reasoning")
    )


def _mark(data: Json) -> str:
    """What was put there, and not said by a person: "" for what was said."""
    more = _inner(data, "additional_kwargs")
    if more.get("lc_source") == "summarization":
        return "summary"
    mark = more.get("pannier", "")
    return mark if mark in ("memory", "message", "follow-up") else ""


def _usage(event: Event, key: str, model: str, usage: Json) -> Usage:
    cached = _inner(usage, "input_token_details")
    read, written = _count(cached, "cache_read"), _count(cached, "cache_creation")
    return Usage(
        key,
        model,
        input=max(0, _count(usage, "input_tokens") - read - written),
        output=_count(usage, "output_tokens"),
        cache_read=read,
        cache_write=written,
        inner=event.agent,
    )


def _count(usage: Json, name: str) -> int:
    count = usage.get(name)
    return count if type(count) is int and 0 <= count < 1 << 53 else 0


def _inner(data: Json, name: str) -> Json:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _key(event: Event, id: object) -> str:
    if not isinstance(id, str) or not id:
        raise ValueError("a message without an id")
    return f"{event.session}/{id}"
