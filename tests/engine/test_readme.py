"""Every command of the README does what it says there."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pannier.engine import Engine
from tests.engine.terminal import PseudoTerminal

CHECKOUT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", (CHECKOUT / "README.md").read_text(), re.M | re.S)
TRY, START, LOOK, MORE, STAYS = BLOCKS


@pytest.fixture(scope="module")
def environ() -> Iterator[dict[str, str]]:
    """A person with an empty HOME, and the key that the README has them export."""
    with tempfile.TemporaryDirectory(prefix="pannier-readme-") as home:
        Path(home).chmod(0o755)
        path = f"{CHECKOUT}/.venv/bin:{os.environ['PATH']}"
        yield {**os.environ, "HOME": home, "PATH": path, "TERM": "xterm-256color"}


@pytest.fixture(scope="module")
def agents(environ: dict[str, str], engine: Engine, image: str) -> Iterator[Path]:
    """The home after the five lines of “A real agent”, left as a person would leave it."""
    root = Path(environ["HOME"]) / "agents"
    # The real client must not speak to anybody from a test: its container gets no network.
    start = START.replace(
        "export ANTHROPIC", "echo 'network: none' >> groups/scout/group.yaml\nexport ANTHROPIC"
    )
    terminal = PseudoTerminal(["bash", "-ec", start], CHECKOUT, environ)
    terminal.wait_for(b"Claude Code", seconds=120)
    terminal.send(b"\x03")
    terminal.send(b"\x03")
    terminal.status()
    environ["ANTHROPIC_API_KEY"] = "sk-ant-your-key"
    yield root
    for container in engine.containers(str(root)):
        engine.remove(container.id)


def run(block: str, cwd: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-ec", block],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_two_commands_to_try_it() -> None:
    """`make demo` shows the main job and ends clean; `make test` is what runs this."""
    assert TRY.split("\n")[:2] == ["make demo", "make test"]
    told = run("make demo", CHECKOUT, dict(os.environ))
    assert "After /clear, the model was given: “Atlas releases on Tuesdays.”" in told
    assert "Noor owns the release checklist of Atlas." in told
    assert "Done. Nothing is left running" in told
    assert "pytest" in run("make -n test", CHECKOUT, dict(os.environ))


def test_a_real_agent_starts_in_five_lines(agents: Path, environ: dict[str, str]) -> None:
    """The client greeted the person, and its group is there."""
    assert len([line for line in START.splitlines() if line]) == 5
    assert (agents / "groups/scout/memory/index.md").is_file()
    assert "index.md" in run(LOOK, agents, environ)


def test_what_more_can_be_done_with_a_group(agents: Path, environ: dict[str, str]) -> None:
    """Dry runs, mounts, verify and doctor end with 0."""
    told = run(MORE, agents, environ)
    assert "Would start Codex for group scout" in told
    assert "startup" in told


def test_a_container_that_stays_up(agents: Path, environ: dict[str, str]) -> None:
    """up, exec, ps and stop."""
    told = run(STAYS, agents, environ)
    assert "index.md" in told
    assert "pannier-scout-" in told


def test_no_other_command_hides_in_the_readme() -> None:
    """Each block is one that runs here, and the pages it links to are there."""
    assert len(BLOCKS) == 5
    text = (CHECKOUT / "README.md").read_text()
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (CHECKOUT / link).exists(), link
