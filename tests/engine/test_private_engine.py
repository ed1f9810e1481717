"""The private engine stands beside any other, and leaves nothing behind even when killed."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASE = "debian:bookworm-slim"

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("dockerd") is None,
    reason="a private engine is started by root, where dockerd is installed",
)


class Checkout:
    """A second checkout on this machine, with an engine of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.engine_folder = root / ".engine"
        self.bridge = "pannier" + hashlib.sha256(os.fsencode(root)).hexdigest()[:8]
        names = ("DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT")
        self._outside = {name: value for name, value in os.environ.items() if name not in names}

    def engine(self, verb: str) -> None:
        script = self.root / "scripts" / "engine"
        subprocess.run([script, verb], env=self._outside, check=True, capture_output=True)

    def docker(self, *arguments: str, stdin: int | None = None) -> str:
        host = {"DOCKER_HOST": f"unix://{self.engine_folder}/docker.sock"}
        command = ["docker", *arguments]
        done = subprocess.run(
            command, env={**self._outside, **host}, stdin=stdin, stdout=subprocess.PIPE, check=True
        )
        return done.stdout.decode()

    def load_base(self) -> None:
        """Hands over the base image of the engine under test."""
        with subprocess.Popen(["docker", "save", BASE], stdout=subprocess.PIPE) as save:
            assert save.stdout is not None
            self.docker("load", stdin=save.stdout.fileno())

    def remains(self) -> list[str]:
        """What of this checkout's engine is on the machine: processes, mounts, its bridge."""
        places = (f"{self.engine_folder}/", f"/run/{self.bridge}/")
        found = [str(link) for link in Path("/sys/class/net").glob(self.bridge)]
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = process.joinpath("cmdline").read_bytes().decode(errors="replace")
                mounts = process.joinpath("mountinfo").read_text()
            except OSError:
                continue
            if words.startswith(("dockerd", "containerd", "/usr/bin/containerd")):
                found += [words for place in places if place in words]
            found += [line for line in mounts.splitlines() for place in places if place in line]
        return found


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    second = Checkout(tmp_path)
    try:
        yield second
    finally:
        second.engine("stop")


def test_a_killed_engine_hinders_no_later_one_and_leaves_nothing(checkout: Checkout) -> None:
    """After a kill a start works, and a stop ends what the dead engine ran, and only that."""
    checkout.engine("start")
    checkout.load_base()
    checkout.docker("run", "-d", "--name", "orphan", BASE, "sleep", "600")

    os.kill(int((checkout.engine_folder / "dockerd.pid").read_text()), signal.SIGKILL)
    assert checkout.remains()
    checkout.engine("start")
    assert "Exited" in checkout.docker("ps", "-a", "--format", "{{.Status}}")
    assert checkout.docker("run", "--rm", BASE, "echo", "works") == "works\n"

    checkout.docker("start", "orphan")
    os.kill(int((checkout.engine_folder / "dockerd.pid").read_text()), signal.SIGKILL)
    checkout.engine("stop")
    assert checkout.remains() == []
    subprocess.run(["docker", "run", "--rm", BASE, "true"], check=True)
