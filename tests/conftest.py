"""No test touches a person's own home or configuration."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from pannier_hook.clients import CLIENTS

_REAL_HOME = os.environ.get("HOME", "")
_NAMED = (
    "PANNIER_HOME",
    "PANNIER_INBOX",
    "PANNIER_LEARNING_DB_PATH",
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


def pytest_configure() -> None:
    """Started in a shell's background, pytest and all of its children would ignore the keyboard."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """With `-n`, one process runs all that shares something costly: the tests of a client, and
    those of the engine; of the others, those of a file."""
    from xdist.scheduler.loadscope import LoadScopeScheduling  # noqa: PLC0415

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

    return Together(config, log)


def together(test: str) -> str:
    """What a test shares with others, by its name."""
    file, _, name = test.partition("::")
    folder = file.split("/")[1]
    if folder in ("unit", "long"):
        return file
    if folder != "clients":
        return "engine"
    words = re.split(r"[^a-z]+", name.partition("[")[2])
    return next((word for word in words if word in CLIENTS), Path(file).stem.removeprefix("test_"))
