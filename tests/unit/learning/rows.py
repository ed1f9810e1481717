"""Messages as the store gives them, as tests need them."""

from __future__ import annotations

from typing import Any

from pannier.threads.rows import MessageRow, ThreadRow

MINUTE = 60 * 10**9
BEGAN = 1_796_032_800 * 10**9
"""2026-11-30 10:00."""


def row(id: int, role: str, kind: str, text: str, **more: Any) -> MessageRow:
    values: dict[str, Any] = {
        "thread": 1,
        "session": 1,
        "turn": 1,
        "parent": id - 1 or None,
        "key": f"k{id}",
        "position": id,
        "at": BEGAN + id * MINUTE,
        "tool": "",
        "call": "",
        "model": "",
        "failed": False,
        "inner": "",
    }
    return MessageRow(id=id, role=role, kind=kind, text=text, **{**values, **more})


def thread(name: str = "main", id: int = 1, grp: str = "scout") -> ThreadRow:
    return ThreadRow(id, grp, name, f"{id:08x}", BEGAN, None, 0, 0, 0)
