"""No test touches a person's own home or configuration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pannier_hook.clients import CLIENTS

_CLIENTS = tuple(CLIENTS)
_TESTS = Path(__file__).parent
_REAL_HOME = os.environ.get("HOME", "")
_NAMED = (
    "PANNIER_HOME",
    "PANNIER_INBOX",
    "PANNIER_QUEUE_DB_PATH",
    "PANNIER_ROOT",
    "PANNIER_SANDBOX_DB_PATH",
    "PANNIER_SPOOL",
    "PANNIER_TASK",
    "PANNIER_THREAD",
    "PANNIER_THREADS_DB_PATH",
    "XDG_CONFIG_HOME",
)
"""What a test would find elsewhere by."""


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """HOME is a fresh folder, and no pannier home is named."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in _NAMED:
        monkeypatch.delenv(name, raising=False)
    # What docker's own tools would have found with the real HOME stays found.
    if "DOCKER_CONFIG" not in os.environ:
        monkeypatch.setenv("DOCKER_CONFIG", str(Path(_REAL_HOME, ".docker")))


@pytest.fixture
def real_home() -> Path:
    """The HOME that the guard took away, to check that it did."""
    return Path(_REAL_HOME)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n`, what shares something costly is run by one process: the tests of a client's
    container, and those of the engine. The others are anybody's."""
    for item in items:
        group = _group(item)
        if group:
            item.add_marker(pytest.mark.xdist_group(group))


def _group(item: pytest.Item) -> str:
    kind = item.path.relative_to(_TESTS).parts[0]
    if kind != "clients":
        return "" if kind in ("unit", "long") else "engine"
    params = getattr(getattr(item, "callspec", None), "params", {})
    named = [value for value in params.values() if value in _CLIENTS]
    return named[0] if named else item.path.stem.removeprefix("test_")
