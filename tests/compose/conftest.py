"""compose.yaml as it lies, in a copy of the checkout, with the override file of docs/compose.md."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pannier.engine import Container, Engine

CHECKOUT = Path(__file__).parents[2]
OWNER = 4321
_NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".engine", ".*_cache", "__pycache__", "state")


@dataclass(frozen=True)
class Clone:
    """A copy of the checkout, and the person who runs compose in it."""

    root: Path
    person: Path
    environ: dict[str, str]
    project: str

    @property
    def home(self) -> Path:
        return self.root / "demo/home"

    @property
    def demo(self) -> Path:
        return self.home / "groups/demo"

    def compose(self, *args: str) -> subprocess.CompletedProcess[str]:
        command = ["docker", "compose", "-p", self.project, *args]
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def pannier(self, *args: str) -> subprocess.CompletedProcess[str]:
        """`docker compose exec sidecar pannier …`"""
        return self.compose("exec", "-T", "sidecar", "pannier", *args)

    def told(self, *args: str) -> str:
        """What such a command prints, when it succeeds."""
        done = self.pannier(*args)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def agents(self, engine: Engine) -> list[Container]:
        return engine.containers(str(self.home), "demo")


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine, as docker's own tools find it. Without one: make engine, or make test-unit."""
    return Engine.find(dict(os.environ))


@pytest.fixture(scope="session")
def clone(engine: Engine) -> Iterator[Clone]:
    """Without what a checkout holds beside its files; agents are removed at the end."""
    top = Path(tempfile.mkdtemp(prefix="pannier-compose-")).resolve()
    top.chmod(0o755)
    root, person = top / "checkout", top / "person"
    shutil.copytree(CHECKOUT, root, ignore=_NOT_COPIED, symlinks=True)
    for group in (root / "demo/home/groups/demo").iterdir():
        if group.is_dir():  # of a demo that somebody runs in this checkout
            shutil.rmtree(group)
    for folder in (".config/pannier", "notes"):
        (person / folder).mkdir(parents=True)
    if os.geteuid() == 0:  # most checkouts are somebody's who is not root
        for path in (root, *root.rglob("*"), person, *person.rglob("*")):
            os.chown(path, OWNER, OWNER, follow_symlinks=False)
    page = (root / "docs/compose.md").read_text()
    (override,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)
    (root / "compose.override.yaml").write_text(override)
    environ = {**os.environ, "HOME": str(person), "PWD": str(root)}
    environ.setdefault("DOCKER_CONFIG", str(Path(os.environ["HOME"], ".docker")))
    socket = environ.get("DOCKER_HOST", "").removeprefix("unix://")
    if socket:
        environ["PANNIER_SOCKET"] = socket
    for name in ("PANNIER_HOME", "ANTHROPIC_API_KEY"):
        environ.pop(name, None)
    made = Clone(root, person, environ, f"pannier-test-{os.getpid()}")
    yield made
    for container in engine.containers(str(made.home)):
        engine.remove(container.id)
    shutil.rmtree(top)


@pytest.fixture(scope="session")
def docker_compose_command(clone: Clone) -> str:
    """As a person calls it: in the checkout."""
    names = ("HOME", "DOCKER_CONFIG", "PANNIER_SOCKET")
    said = [f"{name}={clone.environ[name]}" for name in names if name in clone.environ]
    unset = ["-u", "PANNIER_HOME", "-u", "ANTHROPIC_API_KEY"]
    there = shlex.quote(str(clone.root))
    return f"cd {there} && {shlex.join(['env', *unset, *said])} docker compose"


@pytest.fixture(scope="session")
def docker_compose_file(clone: Clone) -> list[str]:
    return [str(clone.root / name) for name in ("compose.yaml", "compose.override.yaml")]


@pytest.fixture(scope="session")
def docker_compose_project_name(clone: Clone) -> str:
    return clone.project


@pytest.fixture(scope="session")
def docker_setup() -> list[str]:
    return ["up --build --detach"]


@pytest.fixture(scope="session")
def docker_cleanup() -> list[str]:
    return ["down --volumes --rmi local --timeout 20"]
