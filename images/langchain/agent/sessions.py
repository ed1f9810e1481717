"""Which of LangGraph's threads a thread of the group goes on with: the last one, until /clear."""

from __future__ import annotations

import os
import uuid
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

FOLDER = ".local/state/pannier/sessions"
LONGEST = 200
"""Bytes of a file's name; a file system takes 255."""


class Sessions:
    """The sessions of one thread of the group, below HOME."""

    def __init__(self, home: Path, thread: str) -> None:
        name = quote(thread, safe=" ")
        if not name or name.startswith(".") or len(name) > LONGEST:
            name = blake2b(thread.encode("utf-8", "replace"), digest_size=20).hexdigest()
        self._file = home / FOLDER / name

    def current(self) -> str:
        """The session that goes on; "" when there is none yet."""
        try:
            return self._file.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""

    def begin(self) -> str:
        """A new session, which goes on from now."""
        session = str(uuid.uuid4())
        self.go_on(session)
        return session

    def go_on(self, session: str) -> None:
        """This one goes on from now."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._file.with_name(f".{os.getpid()}.tmp")
        beside.write_text(f"{session}\n", encoding="utf-8")
        beside.replace(self._file)
