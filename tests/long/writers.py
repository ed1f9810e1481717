"""Agents that talk and talk: each with a transcript of its own, and the real hook."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path

HOOKS = Path(__file__).parents[2] / "hooks"


@dataclass
class Writer:
    """One group's agent, in a thread of its own until it is told to end."""

    group: Path
    client: str
    hooks: Path
    said: list[str] = field(default_factory=list)
    turns: int = 0
    session: int = 1
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def begin(self) -> None:
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def end(self) -> None:
        self.stop.set()
        assert self.thread is not None
        self.thread.join()

    @property
    def home(self) -> Path:
        return self.group / "client" / self.client

    @property
    def transcript(self) -> Path:
        return self.home / f".claude/projects/-work/s{self.session}.jsonl"

    def _run(self) -> None:
        self.transcript.parent.mkdir(parents=True)
        self._begin_session()
        while not self.stop.is_set():
            self.turns += 1
            if self.turns % 40 == 0:
                self._hook("session-end", reason="clear")
                self.session += 1
                self._begin_session()
            self._turn(self.turns)

    def _begin_session(self) -> None:
        self._last: str | None = None
        self._hook("session-start", source="startup")

    def _turn(self, number: int) -> None:
        question, answer = (f"{word} {number} in {self.group.name}" for word in ("ask", "tell"))
        self._hook("user-prompt", prompt=question)
        self._record(number, "user", question)
        self._record(number, "assistant", answer)
        self.said += [question, answer]
        self._hook("stop", last_assistant_message=answer)

    def _record(self, number: int, role: str, text: str) -> None:
        """A line as Claude Code writes it. The other clients' transcripts are not read."""
        uuid = f"{self.group.name}-{number}-{role}"
        record = {
            "type": role,
            "uuid": uuid,
            "parentUuid": self._last,
            "sessionId": f"s{self.session}",
            "promptId": f"{self.group.name}-{number}",
            "timestamp": "2026-11-29T20:00:00.000Z",
            "message": {
                "id": f"msg-{uuid}",
                "role": role,
                "model": "scripted",
                "stop_reason": "end_turn" if role == "assistant" else None,
                "content": [{"type": "text", "text": text}],
                "usage": {"input_tokens": 3, "output_tokens": 5},
            },
        }
        self._last = uuid
        with self.transcript.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def _hook(self, event: str, **members: str) -> None:
        told = {"session_id": f"s{self.session}", "transcript_path": str(self.transcript)}
        subprocess.run(
            [self.hooks / "bin/pannier-hook", event, "--client", self.client],
            input=json.dumps(told | members),
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "PANNIER_ROOT": str(self.group),
                "PANNIER_SPOOL": str(self.group / "spool"),
            },
            stdout=subprocess.DEVNULL,
            text=True,
            check=True,
        )
