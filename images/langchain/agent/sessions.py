"""Which of LangGraph's threads a thread of the group goes on with: the last one, until /clear."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from urllib.parse import quote

FOLDER = ".local/state/pannier/sessions"


class Sessions:
    """The sessions of one thread of the group, below HOME."""

    def __init__(self, home: Path, thread: str) -> None:
        # A name has at most 200 characters, each at most 12 when quoted.
        self._file = home / FOLDER / quote(thread, safe="")[:200]

    def current(self) -> str:
        """The session that goes on; "" when there is none yet."""
        try:
            return self._file.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""

    def begin(self) -> str:
        """A new session, which goes on from now."""
        session = str(uuid.uuid4())
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._file.with_name(f".{os.getpid()}.tmp")
        beside.write_text(f"{session}\n", encoding="utf-8")
        beside.replace(self._file)
        return session
