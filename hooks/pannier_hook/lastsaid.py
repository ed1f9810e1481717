"""What Copilot CLI's agent said last: its stop does not tell, its log of events does.

The log is written a moment behind (0.1 s was measured), its beginning, too. When it says that the
hook for this very stop was started, it holds what came before that.
"""

from __future__ import annotations

import time

from .increment import last_lines
from .jsontext import loads

LIMIT = 1 << 21
"""The most that is read of a log's end, in bytes."""

_SAID = b'{"type":"assistant.message",'
_ASKED = b'{"type":"user.message",'
_HOOK = b'{"type":"hook.'
_STARTED = b'{"type":"hook.start",'
_THIS = b'"hookType":"agentStop"'
PATIENCE = 0.5
"""Seconds that the log is waited for."""
_PAUSE = 0.02


def last_said(path: str) -> str:
    """The last message since the last prompt in the log at `path`, but a sub-agent's; else ""."""
    until = time.monotonic() + PATIENCE
    lines = last_lines(path, LIMIT)
    while not _has_stopped(lines) and time.monotonic() < until:
        time.sleep(_PAUSE)
        lines = last_lines(path, LIMIT)
    for line in reversed(lines):
        if line.startswith(_ASKED):
            break
        if line.startswith(_SAID) and (text := _main_text(line)):
            return text
    return ""


def _has_stopped(lines: list[bytes]) -> bool:
    """Whether the last that is said of a hook for a stop is that it was started."""
    of_stop = (line for line in reversed(lines) if line.startswith(_HOOK) and _THIS in line)
    return next(of_stop, b"").startswith(_STARTED)


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
