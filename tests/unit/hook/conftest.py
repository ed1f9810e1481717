"""The hook as a client calls it: a process of its own, from the checkout as it lies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pannier_hook.events import ERROR, Event, decode

CHECKOUT = Path(__file__).resolve().parents[3]
HOOK = CHECKOUT / "hooks" / "bin" / "pannier-hook"


@dataclass(frozen=True)
class Answer:
    """What a run of the hook left: exit status, output, and the texts of its error events."""

    status: int
    out: bytes
    err: str
    errors: list[str] = field(default_factory=list)

    @property
    def context(self) -> str:
        """The text that the client would put before its model; "" when nothing was printed."""
        if not self.out:
            return ""
        answer = json.loads(self.out)
        assert set(answer) == {"hookSpecificOutput"}
        assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
        text = answer["hookSpecificOutput"]["additionalContext"]
        assert isinstance(text, str)
        return text


@dataclass
class World:
    """A root with its memory, a spool and a HOME, and the hook that works with them."""

    root: Path
    spool: Path
    home: Path
    python: Path = Path(sys.executable)

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def errors(self) -> list[str]:
        """The texts of the error events in the spool, oldest first; they are taken out."""
        texts = []
        for file, event in self.events():
            if event.kind == ERROR:
                texts.append(event.details["text"])
                file.unlink()
        return texts

    def events(self) -> list[tuple[Path, Event]]:
        """The event files in the spool, oldest first."""
        return [(file, decode(file.read_bytes())) for file in sorted(self.spool.glob("new/*"))]

    def environment(self, **more: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), **more}

    def command(self, *words: str) -> list[str]:
        at = ["--root", str(self.root), "--spool", str(self.spool)]
        return [str(self.python), "-IS", str(HOOK), *words[:1], *at, *words[1:]]

    def run(
        self, *words: str, stdin: bytes | dict[str, object] = b"", **environment: str
    ) -> Answer:
        data = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
        done = subprocess.run(
            self.command(*words),
            input=data,
            capture_output=True,
            timeout=30,
            env=self.environment(**environment),
        )
        return Answer(done.returncode, done.stdout, done.stderr.decode(), self.errors())

    def start(self, client: str, source: str = "startup", *words: str) -> Answer:
        """A session start as the client would announce it."""
        told: dict[str, object] = {
            "session_id": "s-1",
            "transcript_path": "/nowhere/s-1.jsonl",
            "cwd": "/workspace/agent/files",
            "hook_event_name": "SessionStart",
            "source": source,
        }
        return self.run("session-start", "--client", client, *words, stdin=told)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A root with an index, a definition and no files, an empty spool and an empty HOME."""
    made = World(tmp_path / "agent", tmp_path / "spool", tmp_path / "home")
    for folder in (made.root, made.spool, made.home, made.root / "files"):
        folder.mkdir()
    made.write("memory/index.md", "# Memory\n\n* [Dana](people/dana.md) - leads Atlas\n")
    made.write("memory/system/definition.md", "# How\n\nKeep it true.\n")
    made.write("memory/system/index.md", "# System: never injected\n")
    return made
