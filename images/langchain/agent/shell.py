"""The tool with which the agent runs commands. All that they print is kept, in little memory."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain

from langchain_core.tools import BaseTool, tool

MOST_SECONDS = 600
IN_MEMORY = 4 << 20
"""Bytes of output that become a result as they are; more goes where `Keep` puts it."""
LARGEST = 1 << 30
"""Bytes of output. A command that prints more is ended."""

Keep = Callable[[Iterable[bytes]], str]
"""Takes an output piece by piece; gives the text that stands for it. Raises
OSError."""

_PIECE = 1 << 16
_GRACE = 1.0
"""Seconds for the output of what was ended; somebody else may hold the pipe open."""
_SHOWN = 2_000
"""Bytes of the beginning and of the end, of an output that could not be kept."""


def shell_tool(keep: Keep | None) -> BaseTool:
    """The tool `shell`. Without `keep`, of a very long output only beginning and end are kept."""

    @tool
    async def shell(command: str, seconds: int = 120) -> str:
        """Run a command with bash, and get its output and status. It is ended after `seconds`."""
        running = Running(command, min(seconds, MOST_SECONDS))
        try:
            return await asyncio.to_thread(running.result, keep)
        except asyncio.CancelledError:
            running.end()
            raise

    return shell


class Running:
    """A command of bash's, with all its children, and what it prints."""

    def __init__(self, command: str, seconds: float) -> None:
        self._process = subprocess.Popen(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._ended = False
        self._note = ""

    def result(self, keep: Keep | None) -> str:
        """Wait for its end; its output and status."""
        with self._process:
            try:
                text = self._text(keep)
                self._process.wait(max(0.0, self._deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._end_late()
            except BaseException:
                self.end()
                raise
            status = self._process.wait()
        line = "" if not text or text.endswith("\n") else "\n"
        return f"{text}{line}{self._note}[status {status}]"

    def end(self) -> None:
        """End it, with its children."""
        self._ended = True
        self._deadline = min(self._deadline, time.monotonic()) + _GRACE
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _end_late(self) -> None:
        self._note = f"[ended after {self._seconds:g} s]\n"
        self.end()

    def _text(self, keep: Keep | None) -> str:
        """The output as the agent gets it."""
        pieces, held = self._pieces(), bytearray()
        for piece in pieces:
            held += piece
            if len(held) > IN_MEMORY:
                break
        else:
            return held.decode("utf-8", "replace")
        ends, why = _Ends(), "it is too long"
        watched = ends.watched(chain((bytes(held),), pieces))
        held.clear()
        if keep is not None:
            try:
                return keep(watched)
            except OSError as problem:
                why = f"it could not be kept: {problem.strerror or problem}"
        for _ in watched:
            pass
        return ends.text(why)

    def _pieces(self) -> Iterator[bytes]:
        assert self._process.stdout is not None
        pipe, size = self._process.stdout.fileno(), 0
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while True:
            left = self._deadline - time.monotonic()
            if left <= 0 and self._ended:
                return
            if left <= 0:
                self._end_late()
            # Now and then it looks whether somebody ended it meanwhile.
            elif poll.poll(1_000 * min(left, _GRACE)):
                if not (piece := os.read(pipe, _PIECE)):
                    return
                yield piece
                size += len(piece)
                if size > LARGEST and not self._ended:
                    self._note = f"[ended: it printed more than {LARGEST:,} bytes]\n"
                    self.end()


class _Ends:
    """The beginning and the end of what goes by."""

    def __init__(self) -> None:
        self._size = 0
        self._head = b""
        self._tail: deque[int] = deque(maxlen=_SHOWN)

    def watched(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._size += len(piece)
            self._head += piece[: max(0, _SHOWN - len(self._head))]
            self._tail.extend(piece[-_SHOWN:])
            yield piece

    def text(self, why: str) -> str:
        head, tail = (part.decode("utf-8", "replace") for part in (self._head, bytes(self._tail)))
        return f"{head}\n[of {self._size:,} bytes the middle is lost: {why}]\n{tail}"
