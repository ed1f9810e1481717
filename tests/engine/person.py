"""Somebody at a terminal, with a pannier home and a real engine."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pannier.paths import Home


@dataclass(frozen=True)
class Person:
    """Somebody at a terminal, in a pannier home of their own."""

    root: Path
    environ: dict[str, str]

    @property
    def home(self) -> Home:
        return Home(self.root)

    def group(self, name: str) -> Path:
        return self.root / "groups" / name

    def argv(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "pannier", *args]

    def pannier(self, *args: str, check: bool = True, **environ: str) -> str:
        """Run a command; what it printed. Fails the test if it fails, unless told otherwise."""
        done = self.run(*args, **environ)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(*args),
            cwd=self.root,
            env=self.environ | environ,
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )

    def shell(self, group: str, script: str, *options: str, **environ: str) -> str:
        """What a script prints in a fresh container of the group."""
        words = ("run", group, *options, "--entrypoint", "sh", "--", "-c", script)
        return self.pannier(*words, check=True, **environ)
