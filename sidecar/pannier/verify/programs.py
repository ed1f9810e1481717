"""Programs that are driven: in a terminal, by lines, or run to the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from pannier.clients.client import Finished
from pannier.errors import VerifyError
from pannier.verify.screen import Screen

KEEP = 1 << 24
"""Bytes of a program's output that are kept."""

SHOWN_LINES = 30
"""Lines of output that an error shows."""


class Stream(Protocol):
    """Both ends of a program that was started."""

    def read(self) -> tuple[bytes, bytes] | None:
        """Wait for output. Gives what came on standard output and on standard error; None at the
        end. A terminal has only the first."""

    def write(self, data: bytes) -> None:
        """To its standard input. Does nothing when nobody reads it any more."""

    def close_input(self) -> None:
        """Standard input ends here."""

    def status(self) -> int | None:
        """The exit status; None while it runs."""

    def close(self) -> None:
        """Let go of both ends; a `read` that waits returns None."""


class Processes(Protocol):
    """Where programs run: the container."""

    def start(self, argv: Sequence[str], *, job: str, tty: bool) -> Stream:
        """Start a program. It and all its children belong to `job`."""

    def end(self, job: str) -> None:
        """Hang up on every process of a job and wait until they are gone."""


class Program:
    """A running program whose output is read as it comes."""

    def __init__(self, processes: Processes, argv: Sequence[str], job: str, *, tty: bool) -> None:
        self._processes = processes
        self._job = job
        self._name = " ".join(argv)
        self._stream = processes.start(argv, job=job, tty=tty)
        self._changed = threading.Condition()
        self._ended = False
        self._closed = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            while (chunk := self._stream.read()) is not None:
                with self._changed:
                    reply = self._take(*chunk)
                    self._changed.notify_all()
                if reply:
                    self._stream.write(reply)
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _take(self, out: bytes, err: bytes) -> bytes:
        """Keep what came. Returns what to write back."""
        raise NotImplementedError

    def _shown(self) -> str:
        """The end of what it wrote, for a person."""
        raise NotImplementedError

    def _wait_until(self, done: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        with self._changed:
            while not done():
                left = deadline - time.monotonic()
                if self._ended:
                    raise VerifyError(f"`{self._name}` ended before {what}", self._shown())
                if left <= 0:
                    raise VerifyError(
                        f"`{self._name}`: after {seconds:g} s still not {what}", self._shown()
                    )
                self._changed.wait(left)

    def close(self) -> None:
        """End it with all its children. Safe to repeat."""
        if self._closed:
            return
        self._closed = True
        self._processes.end(self._job)
        self._stream.close()
        self._reader.join(10)


class TerminalProgram(Program):
    """A program in a terminal. See `pannier.clients.client.Terminal`."""

    def __init__(self, processes: Processes, argv: Sequence[str], job: str) -> None:
        self._screen = Screen()
        super().__init__(processes, argv, job, tty=True)

    def _take(self, out: bytes, err: bytes) -> bytes:
        return self._screen.feed(out)

    def _shown(self) -> str:
        return self._screen.text()

    def wait_for(self, text: str, *, seconds: float = 30) -> None:
        self._wait_until(lambda: self._screen.shows(text), seconds, f"on its screen: {text!r}")

    def send(self, keys: str) -> None:
        self._stream.write(keys.encode())

    def screen(self) -> str:
        with self._changed:
            return self._screen.text()


class DialogueProgram(Program):
    """A program that speaks in lines. See `pannier.clients.client.Dialogue`."""

    def __init__(self, processes: Processes, argv: Sequence[str], job: str) -> None:
        self._out = b""
        self._read_to = 0
        self._all = b""
        super().__init__(processes, argv, job, tty=False)

    def _take(self, out: bytes, err: bytes) -> bytes:
        self._out += out
        self._all = (self._all + out + err)[-KEEP:]
        return b""

    def _shown(self) -> str:
        return last_lines(self._all.decode("utf-8", "replace"))

    def send(self, line: str) -> None:
        self._stream.write(line.encode() + b"\n")

    def wait_for(self, text: str, *, seconds: float = 60) -> str:
        found: list[str] = []

        def look() -> bool:
            while (end := self._out.find(b"\n", self._read_to)) >= 0:
                line = self._out[self._read_to : end].decode("utf-8", "replace")
                self._read_to = end + 1
                if text in line:
                    found.append(line)
                    return True
            return False

        self._wait_until(look, seconds, f"in a line of its output: {text!r}")
        return found[0]

    def close(self) -> None:
        self._stream.close_input()
        with self._changed:
            self._changed.wait_for(lambda: self._ended, 5)
        super().close()


class RunProgram(Program):
    """A program that runs to its end."""

    def __init__(self, processes: Processes, argv: Sequence[str], job: str) -> None:
        self._out = b""
        self._err = b""
        super().__init__(processes, argv, job, tty=False)

    def _take(self, out: bytes, err: bytes) -> bytes:
        self._out = (self._out + out)[-KEEP:]
        self._err = (self._err + err)[-KEEP:]
        return b""

    def _shown(self) -> str:
        finished = self._finished(0)
        return last_lines(finished.output)

    def _finished(self, status: int) -> Finished:
        out, err = (data.decode("utf-8", "replace") for data in (self._out, self._err))
        return Finished(status, out, err)

    def finish(self, stdin: str, seconds: float) -> Finished:
        """Hand it its input and wait for the end.

        Raises VerifyError when it takes longer or ends with another status than 0.
        """
        threading.Thread(target=self._hand_over, args=(stdin.encode(),), daemon=True).start()
        status = self._wait_for_status(seconds)
        if status != 0:
            raise VerifyError(f"`{self._name}` ended with status {status}", self._shown())
        return self._finished(status)

    def _hand_over(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.close_input()

    def _wait_for_status(self, seconds: float) -> int:
        """A child may hold the output open after the program itself has ended."""
        deadline = time.monotonic() + seconds
        while True:
            with self._changed:
                ended = self._changed.wait_for(lambda: self._ended, 1)
            status = self._stream.status()
            if status is not None:
                return status
            if time.monotonic() > deadline:
                raise VerifyError(f"`{self._name}` did not end within {seconds:g} s", self._shown())
            if ended:
                time.sleep(0.02)


def last_lines(text: str) -> str:
    """The end of an output, as much as a person reads."""
    return "\n".join(text.rstrip().splitlines()[-SHOWN_LINES:])
