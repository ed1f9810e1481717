"""A pseudo-terminal, as a person has one."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class PseudoTerminal:
    """A command in a terminal of 50 lines and 160 columns."""

    def __init__(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(argv[0], list(argv), dict(environ))
        self.resize(50, 160)
        self.seen = b""

    def resize(self, rows: int, columns: int) -> None:
        size = ["stty", "rows", str(rows), "cols", str(columns)]
        subprocess.run(size, stdin=self.terminal, check=True)

    def send(self, keys: bytes) -> None:
        os.write(self.terminal, keys)

    def wait_for(self, text: bytes, seconds: float = 60) -> None:
        """Until the program has written `text`."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.terminal], [], [], deadline - time.monotonic())
            assert ready, f"{text!r} did not come in {self.seen!r}"
            self.seen += os.read(self.terminal, 4096)

    def status(self) -> int:
        """Wait for the end; the exit status."""
        while True:
            try:
                chunk = os.read(self.terminal, 4096)
            except OSError:  # EIO: the other side is closed.
                break
            if not chunk:
                break
            self.seen += chunk
        _, status = os.waitpid(self.pid, 0)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status)
