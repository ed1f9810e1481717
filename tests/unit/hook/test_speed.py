"""How long the hook takes, measured against a bare start of the same Python."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles

import pytest

from .conftest import HOOK

PYTHON = "/usr/bin/python3"
PAIRS = 100
ROUNDS = 5
"""A round that was disturbed is measured again."""

Run = Callable[[], None]


@pytest.fixture(scope="module")
def full_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two full files in other scripts than ASCII, and 10,000 other memory files around them."""
    root = tmp_path_factory.mktemp("agent")
    for number in range(10_000):
        folder = root / "memory" / ("system", "things")[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"concept-{number}.md").write_text("---\ntype: note\n---\n")
    line = "* [Größe und 大きさ](dinge/größe.md) - was wir über sie wissen\n"
    for path in ("memory/index.md", "memory/system/definition.md"):
        (root / path).write_text((line * 400)[:16_000])
    return root


def process(words: list[str], stdin: Path, expected: bool) -> Run:
    """A run of `words` with the file `stdin`, in the cheapest way there is to start one."""
    environment = {"PATH": os.environ["PATH"]}

    def run() -> None:
        with stdin.open("rb") as told:
            done = subprocess.run(words, stdin=told, capture_output=True, env=environment)
        assert done.returncode == 0
        assert bool(done.stdout) is expected

    return run


def ratio(bare: Run, hook: Run) -> float:
    """The hook's time by that of a bare start, at the lowest decile of many interleaved pairs.

    Whatever else the machine does only adds time, and the lowest tenth has the least of it.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for pair in range(PAIRS):
        order = ((bare, times[0]), (hook, times[1]))
        for run, into in order if pair % 2 else order[::-1]:
            started = time.perf_counter()
            run()
            into.append(time.perf_counter() - started)
    low, middle = ([quantiles(one, n=10)[at] for one in times] for at in (0, 4))
    print(
        f"bare {1e3 * low[0]:.2f} ms, hook {1e3 * low[1]:.2f} ms: {low[1] / low[0]:.3f} "
        f"(medians: {middle[1] / middle[0]:.3f})"
    )
    return low[1] / low[0]


@pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"there is no {PYTHON}")
@pytest.mark.parametrize(
    ("client", "source", "most"),
    [
        ("claude", "startup", 1.4),
        ("claude", "resume", 1.2),
        # This one tells, too. Alone it keeps to 1.4 (docs/bench.md); here others are at work.
        ("codex", "startup", 1.5),
        ("codex", "resume", 1.2),
    ],
)
def test_speed(
    full_root: Path,
    tmp_path: Path,
    client: str,
    source: str,
    most: float,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A full session start takes 1.4 times a bare start of Python, a resume 1.2 times.

    Also where one process gives all of the memory, and tells the sidecar of it.
    """
    told = tmp_path / "told.json"
    told.write_text(f'{{"session_id": "s", "cwd": "/w", "source": "{source}"}}')
    at = ["--root", str(full_root), "--spool", str(tmp_path)]
    part = ["--part", "1/8"] if client == "claude" else []
    words = [str(HOOK), "session-start", "--client", client, *part, *at]
    hook = process(words, told, source == "startup")
    hook()  # Compiles the modules, as an image's build does.
    bare = process([PYTHON, "-IS", "-c", "pass"], told, False)
    with capsys.disabled():
        print(f"\n{client} {source}, at most {most}:")
        assert any(ratio(bare, hook) <= most for _ in range(ROUNDS))


@pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"there is no {PYTHON}")
@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_a_small_result(tmp_path: Path, client: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A tool's result below the threshold takes 1.2 times a bare start of Python."""
    told = tmp_path / "told.json"
    told.write_text(f'{{"session_id": "s", "tool_name": "x", "tool_response": "{"y" * 15_000}"}}')
    hook = process(
        [str(HOOK), "post-tool", "--client", client, "--root", str(tmp_path)], told, False
    )
    hook()
    bare = process([PYTHON, "-IS", "-c", "pass"], told, False)
    with capsys.disabled():
        print(f"\n{client} post-tool, at most 1.2:")
        assert any(ratio(bare, hook) <= 1.2 for _ in range(ROUNDS))
