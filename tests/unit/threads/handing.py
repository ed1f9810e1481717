"""A home whose hooks hand over: what tests of the intake share."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pannier.paths import Home
from pannier.threads.intake import TakenIn, take_in
from pannier.threads.rows import MessageRow
from pannier.threads.store import Store, open_store, threads_file
from pannier_hook.events import Event, Log
from pannier_hook.spool import put

LOG = ".claude/projects/-workspace/s1.jsonl"


@dataclass
class Hands:
    """A home, and what happens in it."""

    home: Home
    now: int = 1_700_000_000_000_000_000

    def spool(self, folder: str = "scout") -> Path:
        return self.home.group(folder).spool

    def waiting(self, folder: str = "scout", of: str = "new") -> list[str]:
        there = self.spool(folder) / of
        return sorted(p.name for p in there.iterdir()) if there.is_dir() else []

    def event(self, kind: str = "user-prompt", **more: object) -> Event:
        self.now += 1_000_000_000
        values: dict[str, object] = {
            "id": secrets.token_hex(8),
            "at": self.now,
            "client": "custom",
            "session": "s1",
        }
        return Event(kind, **(values | more))  # type: ignore[arg-type]

    def prompt(self, text: str, folder: str = "scout", **more: object) -> Event:
        """A person says something to an agent without a transcript."""
        return self.put(self.event(details={"prompt": text}, **more), folder)

    def answer(self, text: str, folder: str = "scout", **more: object) -> Event:
        """It answers."""
        return self.put(self.event("stop", details={"last": text}, **more), folder)

    def put(self, event: Event, folder: str = "scout") -> Event:
        put(str(self.spool(folder)), event)
        return event

    def lay(self, name: str, data: bytes, folder: str = "scout") -> Path:
        """Any file in `new`."""
        new = self.spool(folder) / "new"
        new.mkdir(parents=True, exist_ok=True)
        (new / name).write_bytes(data)
        return new / name

    def take_in(self, **more: float) -> TakenIn:
        return take_in(self.home, {}, **more)  # type: ignore[arg-type]

    def store(self) -> Store:
        return open_store(threads_file(self.home, {}))

    def said(self, ref: str = "scout") -> list[str]:
        return [message.text for message in self.messages(ref)]

    def messages(self, ref: str = "scout") -> tuple[MessageRow, ...]:
        with self.store() as store:
            return store.messages(store.find_thread(ref).id)


def home_with(root: Path, folders: Iterable[str] = ("scout",)) -> Hands:
    """A home with these groups."""
    (root / "pannier.yaml").write_text("")
    for folder in folders:
        group = root / "groups" / folder
        (group / "spool").mkdir(parents=True)
        (group / "group.yaml").write_text("client: custom\n")
    return Hands(Home(root))


def transcript(texts: Iterable[str], session: str = "s1", start: int = 0) -> bytes:
    """Records of Claude Code's, a person's and the agent's in turn."""
    lines = []
    for number, text in enumerate(texts, start):
        role = ("user", "assistant")[number % 2]
        record = {
            "type": role,
            "uuid": f"{session}-{number}",
            "parentUuid": f"{session}-{number - 1}" if number else None,
            "sessionId": session,
            "timestamp": "2026-11-29T20:00:00.000Z",
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        lines.append(json.dumps(record).encode() + b"\n")
    return b"".join(lines)


def log(offset: int = 0) -> Log:
    return Log(LOG, offset)
