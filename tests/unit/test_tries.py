"""A failure of idle compaction is told to whoever asks how things are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pannier import doctor, groups
from pannier.cli import pannier
from pannier.groups import new_settings
from pannier.paths import Home
from pannier.tries import MOST_TRIES, Tried, read_tries, write_tries

FAILED = Tried("scout", "planning", 7, MOST_TRIES, 1_000.0, why="no key \x1b[31m")
GOOD = Tried("scout", "main", 9, 1, 1_000.0, done=True)
KILLED = Tried("scout", "other", 9, 1, 1_000.0)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made, _ = groups.init(tmp_path / "home", {"HOME": str(tmp_path)})
    groups.add(made, "scout", new_settings("claude", None, ()))
    made.state.mkdir(exist_ok=True)
    write_tries(made, {"a": FAILED, "b": GOOD, "c": KILLED})
    return made


def test_what_was_written_is_read(home: Home) -> None:
    """And a home without the file has tried nothing."""
    assert read_tries(home) == {"a": FAILED, "b": GOOD, "c": KILLED}
    assert read_tries(Home(home.root / "elsewhere")) == {}


def test_status_says_it(home: Home) -> None:
    """In a line that is safe to show; not what went well, nor what nobody saw end."""
    asked = CliRunner().invoke(pannier, ["--home", str(home.root), "status"])
    [line] = [line for line in asked.output.splitlines() if line.startswith("compact")]
    assert "scout/planning could not be compacted (3 times; left until something" in line
    assert "\x1b" not in line
    asked = CliRunner().invoke(pannier, ["--home", str(home.root), "status", "--json"])
    [found] = json.loads(asked.output)["not_compacted"]
    assert (found["group"], found["thread"], found["count"]) == ("scout", "planning", MOST_TRIES)


def test_doctor_says_it_with_the_way_out(home: Home) -> None:
    """Of the group that it is of."""
    nowhere = {"DOCKER_HOST": f"unix://{home.root}/no.sock", "PATH": "/usr/bin:/bin"}
    found = [f for f in doctor.examine(home, nowhere) if "compacted" in f.message]
    [(finding)] = found
    assert (finding.level, finding.subject) == ("problem", "scout")
    assert finding.advice == "Try it: pannier compact scout --thread planning"
