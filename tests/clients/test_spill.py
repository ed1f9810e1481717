"""A real client's tool prints more than a context should hold: its model gets the ends and a path,
the file has every byte, and a part of it is read back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pannier import clients
from pannier.endpoint.answers import OK, Answer, Call, Say
from pannier.endpoint.model import Request
from pannier.engine import Engine
from pannier.threads import intake
from pannier.threads.store import open_store, threads_file
from pannier.threads.view import view
from pannier_hook.spill import spilled_in

from .habits import HABITS
from .living import Listening, Living, living

SPILLING = ("claude", "codex", "gemini", "copilot", "opencode")
"""Clients whose model can be given another text in the place of a command's output."""

MEGABYTE = 150_000
"""Lines of numbers that are a megabyte, nearly."""
TWENTY = 2_600_000
"""The same for twenty."""
MOST_SHOWN = 4_000
"""Characters of a result that went into a file, as its model gets it."""
PART = "777\n778\n779"
READ = "Now I know."


def numbers(count: int) -> str:
    """What `seq` prints."""
    return "".join(f"{number}\n" for number in range(1, count + 1))


class Reader(Listening):
    """A model that reads three lines of each kept result that it is told of, and is done then."""

    def __init__(self, run: Callable[[str], Answer]) -> None:
        super().__init__()
        self._run = run

    def _by_text(self, request: Request) -> Answer:
        if PART in _result(request):
            return Say(READ)
        told = spilled_in(_result(request))
        return self._run(f"sed -n 777,779p {told[0]}") if told else OK


@dataclass(frozen=True)
class Group:
    """A group of a client whose model reads back what was kept."""

    living: Living
    run: Callable[[str], Answer]

    @property
    def kept(self) -> list[Path]:
        """Files with results, on the host."""
        folder = self.living.home.group("scout").files / ".pannier" / "spill" / "main"
        return sorted(folder.glob("*")) if folder.is_dir() else []

    @property
    def shown(self) -> list[tuple[str, int]]:
        """What `pannier threads show --context` says lies in files."""
        home = self.living.home
        intake.take_in(home, os.environ, seconds=60)
        with open_store(threads_file(home, os.environ)) as store:
            found = view(store, store.find_thread("scout"))
        return [(one.path, one.bytes) for one in found.report.spilled] if found else []

    def turn(self, command: str) -> list[Request]:
        """A turn in which the agent runs this command, in a new container; the model's requests
        that hold a result of a tool."""
        model = self.living.model
        before = len(model.requests)
        model.script(self.run(command))
        with self.living.container() as shell:
            client = self.living.client
            words = client.headless("Please run what you want.")
            shell.run(*HABITS[client.name].unasked, *words)
        return [r for r in model.since(before) if _result(r)]


def _result(request: Request) -> str:
    """The latest results of tools, as the model gets them."""
    texts = request.texts[_last_call(request) + 1 :]
    return "\n".join(text.text for text in texts if "tool result" in text.where)


def _last_call(request: Request) -> int:
    calls = [n for n, text in enumerate(request.texts) if "tool call" in text.where]
    return calls[-1] if calls else len(request.texts)


@pytest.fixture
def group(engine: Engine, folder: Path, request: pytest.FixtureRequest) -> Group:
    name = request.param
    found = living(engine, folder / request.node.name, clients.CLIENTS[name])
    return Group(replace(found, model=Reader(HABITS[name].run)), HABITS[name].run)


def wish(group: Group, settings: str) -> None:
    """Settings of the group's own."""
    with group.living.home.group("scout").settings.open("a") as file:
        file.write(f"context: {settings}\n")


@pytest.mark.parametrize("group", SPILLING, indirect=True)
def test_a_megabyte_goes_into_a_file(group: Group) -> None:
    """A tool prints 1 MB: the model gets its ends and a path, and the file has every byte. Reading
    a part of it back works, and makes no other file."""
    told, read = group.turn(f"seq 1 {MEGABYTE}")[:2]
    note = spilled_in(_result(told))
    assert note is not None
    assert len(_result(told)) < MOST_SHOWN
    assert "\n3\n4\n5\n" in _result(told)
    assert f"{MEGABYTE - 1}\n{MEGABYTE}" in _result(told)
    [file] = group.kept
    assert note[0] == f"/workspace/agent/files/.pannier/spill/main/{file.name}"
    assert numbers(MEGABYTE).strip() in file.read_text()
    assert PART in _result(read)
    assert spilled_in(_result(read)) is None
    assert any(said == Say(READ) for _, said in group.living.model.given)
    assert group.shown == [note]


@pytest.mark.parametrize("group", ["claude", "codex"], indirect=True)
def test_all_of_twenty_megabytes_is_kept(group: Group) -> None:
    """Of a command that prints 20 MB, too, nothing is missing in the file."""
    told, read = group.turn(f"seq 1 {TWENTY}")[:2]
    [file] = group.kept
    assert file.read_text() == numbers(TWENTY)
    assert spilled_in(_result(told)) == (
        f"/workspace/agent/files/.pannier/spill/main/{file.name}",
        file.stat().st_size,
    )
    assert PART in _result(read)


@pytest.mark.parametrize("group", SPILLING, indirect=True)
def test_what_fits_stays_as_it_is(group: Group) -> None:
    """A result below the threshold reaches the model word for word, and no file is made."""
    [told] = group.turn("seq 1 1900")
    assert numbers(1900).strip() in _result(told)
    assert group.kept == []


@pytest.mark.parametrize("group", SPILLING, indirect=True)
def test_a_lower_threshold_holds(group: Group) -> None:
    """A person's threshold for commands is that of the client's tool, whatever its name."""
    wish(group, "{spill_buffer: {thresholds: {run_command: 10000}}}")
    told = group.turn("seq 1 3000")[0]
    assert spilled_in(_result(told)) is not None
    [file] = group.kept
    assert numbers(3000).strip() in file.read_text()


@pytest.mark.parametrize("group", ["codex"], indirect=True)
def test_a_command_that_failed_still_looks_so(group: Group) -> None:
    """Its status is its own, in what its model's script prints of it."""
    line = {"cmd": f"seq 1 {MEGABYTE}; exit 3"}
    script = f"text(await tools.exec_command({json.dumps(line)}))"
    group.living.model.script(Call("exec", script))
    with group.living.container() as shell:
        shell.run(*group.living.client.headless("Please run what you want."))
    told = next(r for r in group.living.model.requests if _result(r))
    assert spilled_in(_result(told)) is not None
    assert '"exit_code":3,' in _result(told)


@pytest.mark.parametrize("group", SPILLING, indirect=True)
def test_switched_off_nothing_is_kept(group: Group) -> None:
    """The client does what it does by itself then."""
    wish(group, "{spill_buffer: {enabled: false}}")
    told = group.turn(f"seq 1 {MEGABYTE}")[0]
    assert spilled_in(_result(told)) is None
    assert group.kept == []
