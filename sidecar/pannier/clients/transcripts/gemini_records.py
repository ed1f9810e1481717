"""What one record of a Gemini CLI transcript says by itself. Pure.

Measured with Gemini CLI 0.61.0. A record with an `id` is a message, and stands for the one that
had this id before; `$set` and `$rewindTo` change the list of messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pannier.clients.transcript import Kind, Role
from pannier.clients.transcripts.jsonlines import (
    Json,
    digest,
    dump,
    member,
    nanoseconds,
    number,
    objects,
    text,
)
from pannier.clients.transcripts.said import Said, spoken
from pannier_hook.toolresult import NO_ERROR

SILENT_CHANGES = frozenset(
    (
        *("activeExtensionName", "directories", "kind", "lastUpdated", "memoryScratchpad"),
        *("messages", "projectHash", "sessionId", "startTime", "summary"),
    )
)
"""Members of `$set` which keep books. Its messages stand in records of their own, too."""

SHOWN = frozenset(("error", "info", "warning"))
"""Types of messages that the client shows to the person only."""

CANCELLED = "Request cancelled."
_CONTEXT = "<session_context>"
_SNAPSHOT = "<state_snapshot>"
_THANKS = "Got it. Thanks for the additional context!"
_HOOK = re.compile(r"\s*<hook_context>(.*)</hook_context>\s*", re.DOTALL)
_SHELL = re.compile(r"I ran the following shell command:\n```sh\n")
"""So the client tells its model what a person ran in its shell mode."""
_EXIT = re.compile(r"^Exit Code: (?!0$)-?\d+$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Named(Said):
    """One thing that a message says."""

    name: str
    """Its own among all of the session."""
    at: int = 0


@dataclass(frozen=True)
class Spent:
    """The tokens of one model call."""

    input: int
    output: int
    cached: int


def message(record: Json) -> Sequence[Named] | None:
    """What a message says, in order; None when its type is not known."""
    kind = text(record.get("type"))
    at = nanoseconds(record.get("timestamp"))
    if kind == "user":
        return tuple(_user(record, at))
    if kind == "gemini":
        return (*_thoughts(record, at), *_model(record, at), *_tools(record, at))
    if kind in SHOWN:
        said = "\n".join(_plain(record))
        return (_text(record, "client", "text", said, at),) if said.strip() else ()
    return None


def spent(record: Json) -> Spent | None:
    tokens = member(record, "tokens")
    if not tokens:
        return None

    def count(name: str) -> int:
        return number(tokens.get(name)) or 0

    cached = count("cached")
    return Spent(
        max(0, count("input") - cached) + count("tool"),
        count("output") + count("thoughts"),
        cached,
    )


def is_prolonging(record: Json, said: Sequence[Named]) -> bool:
    """Whether a person's own hook makes the agent go on: its words stand where a prompt's would,
    beside the display of what the person typed before."""
    plain = _plain(record)
    if record.get("type") != "user" or not plain or _SHELL.match(plain[0]):
        return False
    by_client = all(one.role in ("client", "pannier") and not one.asks for one in said)
    return by_client and bool(_plain(record, "displayContent"))


def is_context(record: Json) -> bool:
    """Whether the client wrote it to begin a session with: the date, the folders."""
    plain = _plain(record)
    return record.get("type") == "user" and bool(plain) and plain[0].startswith(_CONTEXT)


def summary(listed: Sequence[Json], index: int) -> str:
    """The summary of a compression, if this message of a list is one; else ""."""
    one = listed[index]
    said = "\n".join(_plain(one)).strip()
    if one.get("type") != "user" or is_context(one):
        return ""
    thanks = index + 1 < len(listed) and "".join(_plain(listed[index + 1])) == _THANKS
    return said if thanks or said.startswith(_SNAPSHOT) else ""


def _parts(record: Json, name: str = "content") -> Sequence[Json]:
    content = record.get(name)
    if isinstance(content, str):
        return ({"text": content},) if content else ()
    if isinstance(content, dict):
        return (content,)
    if not isinstance(content, list):
        return ()
    return [one if isinstance(one, dict) else {"text": text(one)} for one in content]


def _plain(record: Json, name: str = "content") -> list[str]:
    parts = _parts(record, name)
    return [text(part["text"]) for part in parts if "text" in part and not part.get("thought")]


def _text(record: Json, role: Role, kind: Kind, said: str, at: int) -> Named:
    return Named(role, kind, said, name=f"{text(record.get('id'))}:{digest(kind, said)}", at=at)


def _user(record: Json, at: int) -> Iterator[Named]:
    typed = _plain(record, "displayContent")
    if typed and typed[0].startswith("/") and typed[0] not in _plain(record):
        # A command of one's own: what it stands for comes in its place.
        yield from _split(record, "person", typed[0], at)
    beside = ""
    for part in _parts(record):
        said = text(part["text"]) if "text" in part else f"[{', '.join(sorted(part))}]"
        hook = _HOOK.fullmatch(said)
        by_person = (not typed or said in typed) and not _SHELL.match(said)
        if "functionResponse" in part:
            yield _response(member(part, "functionResponse"), at)
        elif hook:
            yield from _split(record, "client", beside, at)
            yield from _split(record, "client", decode(hook[1]), at)
            beside = ""
        elif by_person:
            yield from _split(record, "person", said, at)
        else:
            # A file that the prompt names comes in pieces.
            beside += said
    yield from _split(record, "client", beside, at)


def _split(record: Json, role: Role, said: str, at: int) -> Iterator[Named]:
    if is_context(record):
        role = "client"
    for one in spoken(role, said):
        yield _text(record, one.role, one.kind, one.text, at)


def decode(said: str) -> str:
    """The client escapes these two, and nothing else, in what a hook adds."""
    return said.replace("&lt;", "<").replace("&gt;", ">")


def _thoughts(record: Json, at: int) -> Iterator[Named]:
    for one in objects(record.get("thoughts")):
        lines = (text(one.get("subject")), text(one.get("description")))
        if said := "\n".join(line for line in lines if line):
            yield _text(record, "agent", "thinking", said, nanoseconds(one.get("timestamp")) or at)


def _model(record: Json, at: int) -> Iterator[Named]:
    if (said := "".join(_plain(record))).strip():
        yield _text(record, "agent", "text", said, at)


def _tools(record: Json, at: int) -> Iterator[Named]:
    """All calls, then all results: so the model sees them."""
    calls = objects(record.get("toolCalls"))
    for index, call in enumerate(calls):
        name, given = _id(record, call, index), dump(call.get("args", {}))
        tool = text(call.get("name"))
        yield Named("agent", "call", given, name, tool, name=f"call:{name}", at=at)
    for index, call in enumerate(calls):
        if not call.get("result"):
            continue
        name, tool, said = _id(record, call, index), text(call.get("name")), _result(call)
        when = nanoseconds(call.get("timestamp")) or at
        refused = call.get("status") not in ("success", None)
        failed = _failed(tool, said, refused)
        yield Named("tool", "result", said, name, tool, failed, name=f"result:{name}", at=when)


def _id(record: Json, call: Json, index: int) -> str:
    return text(call.get("id")) or f"{text(record.get('id'))}/{index}"


def _result(call: Json) -> str:
    parts = _parts(call, "result")
    return "\n".join(filter(None, (_answer(part) for part in parts)))


def _answer(part: Json) -> str:
    if "functionResponse" not in part:
        return text(part["text"]) if "text" in part else f"[{', '.join(sorted(part))}]"
    response = member(part, "functionResponse").get("response")
    if isinstance(response, dict):
        for name in ("output", "error"):
            if isinstance(response.get(name), str):
                return str(response[name])
    return dump(response)


def _response(response: Json, at: int) -> Named:
    """A result that stands in a message by itself, besides that of its call."""
    name, tool = text(response.get("id")), text(response.get("name"))
    said = _answer({"functionResponse": response})
    failed = _failed(tool, said, "error" in member(response, "response"))
    return Named("tool", "result", said, name, tool, failed, name=f"result:{name}", at=at)


def _failed(tool: str, said: str, refused: bool) -> bool:
    """`refused`: the client calls it an error, as it does with a text of the hook's for a result
    that went into a file."""
    if refused and not said.startswith(NO_ERROR):
        return True
    return tool == "run_shell_command" and _EXIT.search(said) is not None
