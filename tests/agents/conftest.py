"""Stores for the threads of an agent in Python: SQLite, and a real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
NOBODY = 65534
SECONDS = 60


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a server of our own, on a socket only; it ends with the tests."""
    found = subprocess.run(
        [CHECKOUT / "scripts" / "postgres"], stdout=subprocess.PIPE, text=True, check=True
    )
    programs = Path(found.stdout.strip())
    # Not below pytest's own folder, which only its owner may enter; and a socket's path is short.
    folder = Path(tempfile.mkdtemp(prefix="pannier-pg-"))
    # PostgreSQL refuses to run as root.
    user = NOBODY if os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, user, user)
    try:
        made = [programs / "initdb", "-D", folder / "data", "-U", "pannier", "-A", "trust"]
        made += ["--no-sync", "--no-locale", "-E", "UTF8"]
        subprocess.run(made, user=user, group=user, cwd=folder, check=True, capture_output=True)
        argv = [programs / "postgres", "-D", folder / "data", "-k", folder]
        argv += ["-c", "listen_addresses=", "-c", "fsync=off"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                argv, user=user, group=user, cwd=folder, stdout=log, stderr=log, extra_groups=()
            )
        try:
            _wait_until_ready(programs, folder, server)
            yield f"postgresql://pannier@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(SECONDS)
    finally:
        shutil.rmtree(folder)


def _wait_until_ready(programs: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    asks = [programs / "pg_isready", "-q", "-h", folder, "-t", "1"]
    deadline = time.monotonic() + SECONDS
    while subprocess.run(asks).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"PostgreSQL did not start:\n{(folder / 'log').read_text()}")
        time.sleep(0.05)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the threads are kept, for `open_checkpointer`. PostgreSQL's is shared by all tests."""
    if request.param == "sqlite":
        return str(tmp_path / "state" / "threads.db")
    return str(request.getfixturevalue("postgres"))


@pytest.fixture
def new_thread() -> Callable[[], str]:
    """A name that no other test has."""
    return lambda: uuid.uuid4().hex
