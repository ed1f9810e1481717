"""A real engine, and homes in which real containers run. `make test` brings the engine."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pannier import clients, groups
from pannier.engine import Engine, images
from pannier.settings import GroupSettings, HomeSettings
from tests.engine.person import Person


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine, as docker's own tools find it. Without one: make engine, or make test-unit."""
    return Engine.find(dict(os.environ))


@pytest.fixture(scope="session")
def image(engine: Engine) -> str:
    """Claude Code's image, built if it is missing."""
    return images.ensure(engine, clients.get("claude"), HomeSettings())


@pytest.fixture
def person(engine: Engine, image: str) -> Iterator[Person]:
    """A home with the groups scout and other; its containers are removed afterwards."""
    # Not below pytest's own folder, which only its owner may enter.
    root = Path(tempfile.mkdtemp(prefix="pannier-test-")).resolve()
    root.chmod(0o755)
    environ = {**os.environ, "HOME": str(root / "person")}
    (root / "person").mkdir()
    someone = Person(root / "agents", environ)
    someone.root.mkdir()
    try:
        home, _ = groups.init(someone.root, environ)
        for name in ("scout", "other"):
            groups.add(home, name, GroupSettings())
        yield someone
    finally:
        for container in engine.containers(str(someone.root)):
            engine.remove(container.id)
        shutil.rmtree(root)
