"""What tests of several rooms need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

Unwritable = Callable[[Path], AbstractContextManager[None]]


@pytest.fixture
def unwritable() -> Unwritable:
    """A folder in which nothing can be changed meanwhile, for tests of what only reads."""
    return _unwritable


@contextmanager
def _unwritable(folder: Path) -> Iterator[None]:
    """Nobody of this process can write there, nor could root's."""
    folder.chmod(0o555)
    for above in folder.parents:
        if not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o111)
    for file in folder.iterdir():
        file.chmod(0o444)
    was = os.geteuid()
    os.seteuid(65534 if was == 0 else was)
    try:
        yield
    finally:
        os.seteuid(was)
        folder.chmod(0o755)
