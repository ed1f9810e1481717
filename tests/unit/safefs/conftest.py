"""A tree that an agent writes, and what lies outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

SECRET = b"a secret of the host"


def names(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a tree that an agent can write."""
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_bytes(b"content")
    return root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that no agent may reach, with a file `file` in it."""
    outside = tmp_path / "outside"
    (outside / "b").mkdir(parents=True)
    (outside / "file").write_bytes(SECRET)
    (outside / "b" / "file").write_bytes(SECRET)
    return outside


@pytest.fixture(autouse=True)
def _no_descriptor_stays_open() -> Iterator[None]:
    """Whatever happens in a test, no more descriptors are open after it than before."""
    fds = Path("/proc/self/fd")
    before = names(fds) if fds.exists() else []
    yield
    assert not fds.exists() or len(names(fds)) <= len(before)
