"""What one record of a Claude Code transcript says by itself. Pure.

Measured with Claude Code 2.1.332. A record of the conversation has a `uuid` and names the one
before it as `parentUuid`; all others keep books.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pannier.clients.transcript import Role, Usage
from pannier.clients.transcripts.claude_kinds import (
    SILENT_ATTACHMENTS,
    SILENT_SYSTEM,
    SILENT_TYPES,
)
from pannier.clients.transcripts.jsonlines import Json, nanoseconds
from pannier.clients.transcripts.said import Said, spoken

_INTERRUPTED = "[Request interrupted by user"
_SYNTHETIC = ("<task-notification>", "<bash-std", "<local-command-")
_CAVEAT = "<local-command-caveat>"
_REMINDER = "<system-reminder>"
_STOP_FEEDBACK = "Stop hook feedback:"
_STOPS = ("Stop", "SubagentStop")
_OUTPUT = re.compile(r"</?(?:bash-std(?:out|err)|local-command-std(?:out|err))>")
_SHELL = re.compile(r"<bash-input>(.*)</bash-input>", re.DOTALL)
_COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_HOOK_LEAD = re.compile(r"\w+ hook feedback:\n(?=-----BEGIN PANNIER )")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_FINAL = frozenset(("end_turn", "max_tokens", "refusal", "stop_sequence"))
_LONGEST_NAME = 1_000

Opens = Literal["", "turn", "own", "again"]
"""Whether a turn begins: a person's or the queue's, one that the client began of its own accord,
or the last one once more."""


class NotRead(ValueError):
    """No record of the conversation, nor one that is known to say nothing."""


@dataclass(frozen=True)
class Content:
    """What a record says, and what it means for the turn."""

    said: tuple[Said, ...] = ()
    """In order; nothing for a record that only links others."""
    opens: Opens = ""
    interrupts: bool = False
    answers: bool = False
    """The model spoke,"""
    final: bool = False
    """and that was its last word."""
    error: str = ""
    """Why the model could not be asked."""
    model: str = ""
    usage: Usage | None = None

    @property
    def is_result(self) -> bool:
        """It answers a call, and so follows what was said last, whatever it names as parent."""
        return bool(self.said) and self.said[0].kind == "result"


@dataclass(frozen=True)
class Record:
    """A record of the conversation."""

    uuid: str
    parent: str
    """The uuid of the one before it; "" when there is none."""
    at: int
    inner: str
    content: Content


def read_record(data: bytes, agent: str) -> Record | None:
    """The record in a line; None if it is known to say nothing. Raises NotRead.

    `agent` is the sub-agent whose transcript this is, or "".
    """
    value = _object(data)
    uuid, parent = value.get("uuid"), value.get("parentUuid") or value.get("logicalParentUuid")
    if not (isinstance(uuid, str) and 0 < len(uuid) <= _LONGEST_NAME):
        if isinstance(value.get("type"), str) and value["type"] in SILENT_TYPES:
            return None
        raise NotRead("a record without a uuid")
    inner = agent or _sidechain(value)
    try:
        content = _content(value, inner)
    except (AttributeError, KeyError, TypeError, RecursionError):
        content = Content((Said("client", "raw", data.decode("utf-8", "replace")),))
    before = parent if isinstance(parent, str) else ""
    return Record(uuid, before, nanoseconds(value.get("timestamp")), inner, content)


def _object(data: bytes) -> Json:
    try:
        text = data.decode("utf-8")
        value = json.loads(text)
        if "\\u" in text:
            # Half a character is no text that could be stored.
            whole = json.dumps(value, ensure_ascii=False)
            if _LONE_SURROGATE.search(whole):
                value = json.loads(_LONE_SURROGATE.sub("\ufffd", whole))
    except (ValueError, RecursionError) as error:
        raise NotRead(str(error)) from None
    if not isinstance(value, dict):
        raise NotRead("no object")
    return value


def _sidechain(value: Json) -> str:
    if value.get("isSidechain") is not True:
        return ""
    agent = value.get("agentId")
    return agent[:_LONGEST_NAME] if isinstance(agent, str) and agent else "sidechain"


def _content(value: Json, inner: str) -> Content:
    match value.get("type"):
        case "user":
            return _user(value, inner)
        case "assistant":
            return _assistant(value, inner)
        case "attachment":
            return _attachment(value["attachment"], value.get("rendered"))
        case "system" if value["subtype"] in SILENT_SYSTEM:
            return Content()
        case "system" if value["subtype"] == "local_command":
            return _by_client(value, _blocks(value["content"]))
        case kind if kind in SILENT_TYPES:
            return Content()
    raise KeyError("a record of an unknown kind")


def _blocks(content: object) -> Sequence[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return content
    raise TypeError("neither text nor blocks")


def _user(value: Json, inner: str) -> Content:
    blocks = _blocks(value["message"]["content"])
    if any(block["type"] == "tool_result" for block in blocks):
        return Content(tuple(_result(b, value) if _is_result(b) else _block(b) for b in blocks))
    text = _flat(blocks)
    if value.get("isCompactSummary") is True:
        return Content((Said("client", "compaction", text),))
    if text.startswith(_INTERRUPTED):
        return Content((Said("client", "text", text),), interrupts=True)
    if _is_synthetic(value, text):
        return _by_client(value, blocks)
    if inner:
        # Whoever called the sub-agent says this, and that is no person.
        return Content(tuple(_texts(blocks, "client")), opens="turn")
    if text.lstrip().startswith("<command-") and (command := _COMMAND.search(text)):
        arguments = _ARGUMENTS.search(text)
        typed = f"{command[1]} {arguments[1].strip() if arguments else ''}".strip()
        if not _begins(value):
            # Claude Code runs it by itself: no model is asked, whoever typed it.
            return Content((Said("client", "text", typed),))
        return Content((Said("person", "text", typed),), opens="turn")
    if shell := _SHELL.fullmatch(text.strip()):
        return Content((Said("person", "text", f"! {shell[1]}"),), opens="turn")
    return Content(tuple(_texts(blocks, "person")), opens="turn")


def _is_synthetic(value: Json, text: str) -> bool:
    origin = value.get("origin")
    return (
        value.get("isMeta") is True
        or text.startswith(_SYNTHETIC)
        or value.get("promptSource") == "system"
        or (isinstance(origin, dict) and origin.get("kind") not in (None, "human"))
    )


def _begins(value: Json) -> bool:
    return "turnOrigin" in value or "promptSource" in value


def _by_client(value: Json, blocks: Sequence[Json]) -> Content:
    """What no person typed: of the program itself, of a hook, of the queue."""
    text = _flat(blocks)
    if text.startswith(_CAVEAT):
        return Content()
    if text.startswith(_SYNTHETIC[1:]):
        output = _OUTPUT.sub("", text).strip()
        return Content((Said("client", "text", output),) if output else ())
    said = tuple(_texts(blocks, "client"))
    if text.startswith(_STOP_FEEDBACK):
        return Content(said, opens=_goes_on(said))
    return Content(said, opens="own" if _begins(value) else "")


def _goes_on(said: Sequence[Said]) -> Opens:
    """What a hook said at a stop prolongs the turn; a message of the queue begins one."""
    return "turn" if any(one.kind == "message" for one in said) else "again"


def _texts(blocks: Sequence[Json], role: Role) -> Iterator[Said]:
    for block in blocks:
        if block["type"] != "text":
            yield _block(block, role)
            continue
        text = _HOOK_LEAD.sub("", block["text"])
        by: Role = "client" if text.startswith(_REMINDER) else role
        yield from spoken(by, text)


def _is_result(block: Json) -> bool:
    return bool(block["type"] == "tool_result")


def _result(block: Json, value: Json) -> Said:
    text = _flat(block.get("content") or "")
    whole = value.get("toolUseResult")
    path = whole.get("persistedOutputPath") if isinstance(whole, dict) else None
    if isinstance(path, str) and path not in text:
        text += f"\n[the whole output: {path}]"
    failed = block.get("is_error") is True
    return Said("tool", "result", text, call=_name(block["tool_use_id"]), failed=failed)


def _name(value: object) -> str:
    return str(value)[:_LONGEST_NAME]


def _flat(content: object) -> str:
    """What the model is told, as text; of a picture only what it is."""
    return "\n".join(_block(block).text for block in _blocks(content))


def _block(block: Json, role: Role = "client") -> Said:
    kind = block["type"]
    if kind == "text":
        return Said(role, "text", _text(block["text"]))
    if kind in ("image", "document"):
        source = block.get("source")
        what = source.get("media_type", kind) if isinstance(source, dict) else kind
        return Said(role, "text", f"[{_name(what)}]")
    if kind == "tool_reference":
        return Said(role, "text", f"[tool {_name(block['tool_name'])}]")
    return Said(role, "raw", json.dumps(block, ensure_ascii=False))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _assistant(value: Json, inner: str) -> Content:
    message = value["message"]
    if value.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        text = _flat(message["content"])
        said = (Said("client", "text", text),) if text else ()
        return Content(said, error=text if value.get("isApiErrorMessage") is True else "")
    return Content(
        tuple(one for block in _blocks(message["content"]) if (one := _spoken(block)).text.strip()),
        answers=True,
        final=message.get("stop_reason") in _FINAL,
        model=_name(message.get("model") or ""),
        usage=_usage(message, inner),
    )


def _spoken(block: Json) -> Said:
    kind = _text(block["type"])
    if kind == "text":
        return Said("agent", "text", _text(block["text"]))
    if kind == "thinking":
        return Said("agent", "thinking", _text(block["thinking"]))
    if kind == "redacted_thinking":
        return Said("agent", "thinking", "")
    if kind.endswith("tool_use"):
        given = json.dumps(block["input"], ensure_ascii=False)
        return Said("agent", "call", given, call=_name(block["id"]), tool=_name(block["name"]))
    if kind.endswith("tool_result"):
        got = json.dumps(block["content"], ensure_ascii=False)
        return Said("tool", "result", got, call=_name(block["tool_use_id"]))
    return Said("agent", "raw", json.dumps(block, ensure_ascii=False))


def _usage(message: Json, inner: str) -> Usage | None:
    usage, key = message.get("usage"), message.get("id")
    if not isinstance(usage, dict) or not isinstance(key, str) or not key:
        return None

    def tokens(name: str) -> int:
        count = usage.get(name)
        return count if isinstance(count, int) and 0 <= count < 1 << 40 else 0

    return Usage(
        _name(key),
        _name(message.get("model") or ""),
        tokens("input_tokens"),
        tokens("output_tokens"),
        tokens("cache_read_input_tokens"),
        tokens("cache_creation_input_tokens"),
        inner,
    )


def _attachment(attachment: Json, rendered: object) -> Content:
    kind = _text(attachment["type"])
    if kind in SILENT_ATTACHMENTS:
        return Content()
    if kind == "hook_additional_context":
        texts = [{"type": "text", "text": _text(text)} for text in attachment["content"]]
        said = tuple(_texts(texts, "client"))
        return Content(said, opens=_goes_on(said) if attachment["hookEvent"] in _STOPS else "")
    if kind == "queued_command":
        typed = attachment.get("commandMode", "prompt") == "prompt" and not attachment.get("isMeta")
        role: Role = "person" if typed else "client"
        return Content(tuple(_texts(_blocks(attachment["prompt"]), role)))
    if isinstance(rendered, list):
        shown = "\n".join(_flat(one["content"]) for one in rendered)
        return Content((Said("client", "text", shown),) if shown else ())
    raise KeyError("an attachment of an unknown kind")
