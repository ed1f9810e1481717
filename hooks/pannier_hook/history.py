"""What a client's transcript says of the context that the next prompt is added to.

Gemini CLI: a log of messages; a line `{"$set":{"messages":[…]}}` replaces all of them. The client
writes such a line when a turn failed or was cancelled (its prompt is gone, with what a hook added
to it), at a compression, and at a resume. Only of the last a hook is told.

Copilot CLI: a log of events, `session-state/SESSION/events.jsonl` in its state folder. A turn that
failed or was cancelled stays. A compaction keeps what came after its start. The file is not there
before the first prompt was submitted.
"""

from __future__ import annotations

import posix
from _stat import S_ISREG

from .clients import EVENTS
from .jsontext import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .clients import Client
    from .request import Request

LIMIT = 1 << 24
"""The most that is read of a transcript's end, in bytes."""

_BEGIN = "-----BEGIN PANNIER MEMORY "
_END = "-----END PANNIER MEMORY "
_REPLACED = b'{"$set":{"messages":'
_ANSWER = b'"type":"gemini"'
_OPENS = "<hook_context>"
_CLOSES = "</hook_context>"

_EVENT = b'\n{"type":"'
_PROMPT = b'{"type":"user.message",'
_REMINDER = "<system_reminder>\n"


class Past:
    """`holds`: the memory is in the context; `answered`: the model has said something in it;
    `dropped`: something of the session is no longer in it. `size` is the transcript's, in bytes."""

    __slots__ = ("answered", "dropped", "holds", "size")

    def __init__(self, *, holds: bool, answered: bool, dropped: bool, size: int) -> None:
        self.holds = holds
        self.answered = answered
        self.dropped = dropped
        self.size = size


def read_past(client: Client, request: Request, home: str) -> Past | None:
    """The past of the session that `request` names; None when it cannot be known."""
    if client.log != EVENTS:
        return _read(request.text("transcript_path"), judge)
    state = posix.environ.get(b"COPILOT_HOME", b"").decode("utf-8", "surrogateescape")
    session = request.session
    if "/" in session or session in ("", ".", ".."):
        return None
    path = f"{state or f'{home}/{client.state}'}/session-state/{session}/events.jsonl"
    try:
        posix.stat(path)
    except FileNotFoundError:
        return Past(holds=False, answered=False, dropped=False, size=0)
    except (OSError, ValueError):
        return None
    return _read(path, judge_events)


def _read(path: str, judged: Callable[..., Past | None]) -> Past | None:
    flags = posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC | posix.O_NOCTTY
    try:
        log = posix.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        status = posix.fstat(log)
        if not S_ISREG(status.st_mode):
            return None
        start = max(0, status.st_size - LIMIT)
        return judged(_from(log, start), whole=start == 0, size=status.st_size)
    except OSError:
        return None
    finally:
        posix.close(log)


def judge(log: bytes, *, whole: bool, size: int) -> Past | None:
    """The past by the end of a log of messages of `size` bytes, which may be the whole."""
    replaced = log.rfind(b"\n" + _REPLACED) + 1
    reaches_back = whole or replaced > 0
    counted = log[replaced:]
    holds = any(_has_block(text) for text in _added_to_messages(counted))
    if not (holds or reaches_back):
        return None
    return Past(holds=holds, answered=_ANSWER in counted, dropped=replaced > 0, size=size)


def judge_events(log: bytes, *, whole: bool, size: int) -> Past | None:
    """The past by the end of a log of events of `size` bytes, which may be the whole."""
    compacted = _last_compaction(log)
    counted = log[max(0, compacted) :]
    holds = any(_has_block(text) for text in _added_to_prompts(counted))
    if not (holds or whole or compacted >= 0):
        return None
    answered = counted.find(_EVENT + b'assistant.message"') >= 0
    return Past(holds=holds, answered=answered, dropped=compacted >= 0, size=size)


def _last_compaction(log: bytes) -> int:
    """Where the last compaction that succeeded began; -1 without one."""
    end = len(log)
    while (done := log.rfind(_EVENT + b'session.compaction_complete"', 0, end)) >= 0:
        if b'"success":true' in log[done + 1 : _end_of_line(log, done + 1)]:
            return max(0, log.rfind(_EVENT + b'session.compaction_start"', 0, done))
        end = done
    return -1


# Anybody can write or quote the block: in a prompt, an answer, a file, a tool's arguments. So it
# counts only in what hooks added, which the client puts behind a person's words.


def _added_to_messages(log: bytes) -> Iterator[str]:
    """What hooks added to prompts: all of it is the last part of a message, and never the first."""
    for line in _lines_about_block(log, b'{"text":"' + _OPENS.encode()):
        changed = line.get("$set")
        listed = changed.get("messages") if isinstance(changed, dict) else [line]
        for message in listed if isinstance(listed, list) else ():
            said = message.get("content") if isinstance(message, dict) else None
            if not isinstance(said, list) or len(said) < 2 or message.get("type") != "user":
                continue
            text = said[-1].get("text") if isinstance(said[-1], dict) else None
            if isinstance(text, str) and text.startswith(_OPENS) and text.endswith(_CLOSES):
                yield text[len(_OPENS) : -len(_CLOSES)]


def _added_to_prompts(log: bytes) -> Iterator[str]:
    """What hooks added to prompts. Other events quote prompts, too."""
    for line in _lines_about_block(log, _PROMPT):
        data = line.get("data")
        if line.get("type") != "user.message" or not isinstance(data, dict):
            continue
        typed, seen = data.get("content"), data.get("transformedContent")
        if isinstance(typed, str) and isinstance(seen, str):
            behind = seen.partition(typed)[2] if typed and typed in seen else seen
            yield behind.partition(_REMINDER)[2]


def _lines_about_block(log: bytes, sign: bytes) -> Iterator[dict[str, object]]:
    """The objects on lines that name the block and hold `sign`, the last one first."""
    end = len(log)
    while (found := log.rfind(_BEGIN.encode(), 0, end)) >= 0:
        begin = log.rfind(b"\n", 0, found) + 1
        line, end = log[begin : _end_of_line(log, found)], begin
        if sign not in line:
            continue
        try:
            value = loads(line.decode("utf-8", "replace"))
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _has_block(added: str) -> bool:
    """Whether the block stands in it whole, among what other hooks added."""
    lines = added.split("\n")
    for number, line in enumerate(lines):
        if line.startswith(_BEGIN) and _END + line[len(_BEGIN) :] in lines[number:]:
            return True
    return False


def _end_of_line(log: bytes, start: int) -> int:
    end = log.find(b"\n", start)
    return len(log) if end < 0 else end


def _from(log: int, start: int) -> bytes:
    posix.lseek(log, start, 0)
    data = bytearray()
    while len(data) <= LIMIT:
        chunk = posix.read(log, 1 << 20)
        if not chunk:
            break
        data += chunk
    return bytes(data)
