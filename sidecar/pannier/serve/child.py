"""A command of pannier in a process of its own: it takes minutes, and can be ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress

from pannier.paths import Home
from pannier.serve.words import joined

_REASON = 4096
"""Bytes of the end of its output in which the reason is looked for."""
_AT_ONCE = 1 << 20
"""Bytes."""
_OWN = "pannier: "


class Child:
    """Runs at once. Whoever made it asks for its `status`, or stops it; in the end, closes it."""

    def __init__(self, home: Home, environ: Mapping[str, str], *words: str) -> None:
        self._told = 0
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it ends)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pannier", "--home", str(home.root), *words],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                env=dict(environ),
                start_new_session=True,
            )
        except BaseException:
            self._output.close()
            raise

    @property
    def status(self) -> int | None:
        """None while it runs."""
        return self.process.poll()

    def reason(self) -> str:
        """Why it failed, in a line: the command's own word on the error, and its hint."""
        lines = self._last_lines()
        begin = self._own(lines)
        words = lines[-1:] if begin is None else lines[begin:]
        status = self.status
        if status is not None and status < 0 and begin is None:
            return _killed(-status)
        return joined(" ".join(words).removeprefix(_OWN)) or f"it ended with status {status}"

    def last_words(self) -> str:
        """The last line that another program said before that."""
        lines = self._last_lines()
        begin = self._own(lines)
        said = [joined(line) for line in lines[: begin or 0] if line.strip()]
        return said[-1] if said else ""

    def lines(self) -> list[str]:
        """The whole lines that it said since this was asked last; it may still run."""
        # Not by the file's position: that is the child's, too.
        data = os.pread(self._output.fileno(), _AT_ONCE, self._told)
        whole = data[: data.rfind(b"\n") + 1]
        self._told += len(whole) or (len(data) if len(data) == _AT_ONCE else 0)
        return whole.decode("utf-8", "replace").splitlines()

    def end(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def stop(self, grace: float) -> None:
        """End it, within so many seconds, if it still runs."""
        if self.status is None:
            self.end()
            try:
                self.process.wait(grace)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
                self.process.wait()

    def close(self) -> None:
        """Nobody asks any more what it said."""
        self._output.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def _last_lines(self) -> list[str]:
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - _REASON))
        return self._output.read().decode("utf-8", "replace").splitlines()

    @staticmethod
    def _own(lines: list[str]) -> int | None:
        """Where the command's own words begin. They come last."""
        return next((i for i, line in enumerate(lines) if line.startswith(_OWN)), None)


def _killed(number: int) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    why = ": perhaps the machine has too little memory" if number == signal.SIGKILL else ""
    return f"it was killed ({name}){why}"
