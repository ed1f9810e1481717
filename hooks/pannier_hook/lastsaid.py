"""What Copilot CLI's agent said last: its stop does not tell, its log of events does."""

from __future__ import annotations

import posix

from .handover import open_log
from .jsontext import loads

LIMIT = 1 << 22
"""The most that is read of a log's end, in bytes."""

_SAID = b'{"type":"assistant.message",'
_ASKED = b'{"type":"user.message",'


def last_said(path: str) -> str:
    """The last message since the last prompt in the log at `path`, but a sub-agent's; else ""."""
    log = open_log(path)
    if log is None:
        return ""
    try:
        size = posix.fstat(log).st_size
        start = max(0, size - LIMIT)
        lines = posix.pread(log, size - start, start).split(b"\n")
    except OSError:
        return ""
    finally:
        posix.close(log)
    for line in reversed(lines):
        if line.startswith(_ASKED):
            break
        if line.startswith(_SAID) and (text := _main_text(line)):
            return text
    return ""


def _main_text(line: bytes) -> str:
    try:
        event = loads(line.decode("utf-8"))
    except ValueError:
        return ""
    data = event.get("data") if isinstance(event, dict) else None
    if not isinstance(data, dict) or data.get("parentToolCallId"):
        return ""
    content = data.get("content")
    return content if isinstance(content, str) else ""
