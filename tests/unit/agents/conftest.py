"""A group's folders as an agent in its container sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pannier_agents.group import Group
from pannier_hook.events import Event, decode


class Folders:
    """The root with its memory, the spool and the inbox."""

    def __init__(self, base: Path) -> None:
        self.root, self.spool, self.inbox = base / "agent", base / "spool", base / "inbox"
        (self.root / "memory" / "system").mkdir(parents=True)
        self.spool.mkdir()
        (self.inbox / "new").mkdir(parents=True)
        self.write("The mug is blue.")
        (self.root / "memory/system/definition.md").write_text("Keep it short.\n")

    def write(self, text: str) -> None:
        (self.root / "memory/index.md").write_text(f"{text}\n")

    def group(self, **more: str) -> Group:
        environ = {
            "PANNIER_ROOT": str(self.root),
            "PANNIER_SPOOL": str(self.spool),
            "HOME": str(self.root),
        }
        return Group({**environ, **more})

    def events(self) -> list[Event]:
        files = sorted((self.spool / "new").glob("*")) if (self.spool / "new").exists() else []
        return [decode(file.read_bytes()) for file in files]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)
