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
"""Clients whose model is told where a command's output is, in its place or beside it."""

MEGABYTE = 150_000
"""Lines of numbers that are a megabyte, nearly."""
TWENTY = 2_600_000
"""The same for twenty."""
SEVENTY = 9_000_000
"""For seventy."""
MOST_SHOWN = 4_000
"""Characters of a result that went into a file, as its model gets it."""
PART = "77777\n77778\n77779"
"""Lines in the middle, which no client shows its model of itself."""
READ = "Now I know."
LONG = pytest.mark.long
DIRECT = "gpt-5.1-codex"
"""A model that Codex lets call its tools without a script."""
HOURS = 36_000


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
        told = _note(request)
        return self._run(f"sed -n 77777,77779p {told[0]}") if told else OK


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


def _note(request: Request) -> tuple[str, int] | None:
    """The file that its model is told of: in the place of the latest result, or, by Codex, beside
    what a script of its model's got whole."""
    texts = request.texts[_last_call(request) + 1 :]
    return spilled_in("\n".join(text.text for text in texts))


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


@pytest.mark.parametrize("group", [name for name in SPILLING if name != "codex"], indirect=True)
def test_a_megabyte_goes_into_a_file(group: Group) -> None:
    """A tool prints 1 MB: the model gets its ends and a path, and the file has every byte. Reading
    a part of it back works, and makes no other file."""
    told, read = group.turn(f"seq 1 {MEGABYTE}")[:2]
    note = _note(told)
    assert note is not None
    assert len(_result(told)) < MOST_SHOWN
    assert "\n3\n4\n5\n" in _result(told)
    assert f"{MEGABYTE - 1}\n{MEGABYTE}" in _result(told)
    [file] = group.kept
    assert note[0] == f"/workspace/agent/files/.pannier/spill/main/{file.name}"
    assert numbers(MEGABYTE).strip() in file.read_text()
    assert PART in _result(read)
    assert _note(read) is None
    assert any(said == Say(READ) for _, said in group.living.model.given)
    assert group.shown == [note]


@pytest.mark.parametrize(
    "group",
    ["codex", pytest.param("claude", marks=LONG), pytest.param("opencode", marks=LONG)],
    indirect=True,
)
def test_all_of_twenty_megabytes_is_kept(group: Group) -> None:
    """Of a command that prints 20 MB, too, nothing is missing in the file."""
    told, read = group.turn(f"seq 1 {TWENTY}")[:2]
    [file] = group.kept
    assert file.read_text() == numbers(TWENTY)
    assert _note(told) == (
        f"/workspace/agent/files/.pannier/spill/main/{file.name}",
        file.stat().st_size,
    )
    assert PART in _result(read)


@pytest.mark.parametrize(
    ("group", "lines", "part"),
    [
        pytest.param("claude", SEVENTY, "its beginning", marks=LONG),
        pytest.param("copilot", SEVENTY, "its beginning", marks=LONG),
        ("gemini", TWENTY, "its end"),
    ],
    indirect=["group"],
)
def test_what_is_not_kept_whole_is_said_so(group: Group, lines: int, part: str) -> None:
    """Of more than 64 MiB, and of more than the client has itself, the model is told which part is
    in the group's folder."""
    told = group.turn(f"seq 1 {lines}")[0]
    [file] = group.kept
    assert f"[Pannier: this result is long, and {part} is kept in a file: " in _result(told)
    assert _note(told) == (
        f"/workspace/agent/files/.pannier/spill/main/{file.name}",
        file.stat().st_size,
    )
    whole = numbers(lines)
    if part == "its beginning":
        same = file.read_text() == whole[: 64 << 20]
        assert same
        assert f"[The tool gave {len(whole)} bytes; the first {64 << 20} of them" in _result(told)
    else:
        assert file.stat().st_size < len(whole)
        assert whole[-1_000_000:].strip() in file.read_text()


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
    assert _note(told) is not None
    [file] = group.kept
    assert numbers(3000).strip() in file.read_text()


# Codex: its model writes scripts, which compute with what a command printed.


def codex_turn(group: Group, call: Call, *words: str) -> Request:
    """The model's request with the result of this call."""
    model = group.living.model
    before = len(model.requests)
    model.script(call)
    with group.living.container() as shell:
        shell.run("codex", "exec", *words, "Please run what you want.")
    return next(request for request in model.since(before) if _result(request))


@pytest.mark.parametrize("group", ["codex"], indirect=True)
def test_a_script_computes_with_all_of_it(group: Group) -> None:
    """A command of 500 KB reads in a script as it would without us: byte for byte, and with its
    status; the model is told where it is all the same."""
    items = 'import json; print(json.dumps([{"n": n, "text": "x" * 100} for n in range(4000)]))'
    line = {"cmd": f"python3 -c '{items}'; exit 3"}
    script = f"const done = await tools.exec_command({json.dumps(line)});"
    script += "text(JSON.parse(done.output).length + ' items, status ' + done.exit_code)"
    told = codex_turn(group, Call("exec", script))
    assert "4000 items, status 3" in _result(told)
    [file] = group.kept
    assert len(json.loads(file.read_text())) == 4000
    assert _note(told) == (
        f"/workspace/agent/files/.pannier/spill/main/{file.name}",
        file.stat().st_size,
    )


@pytest.mark.parametrize("group", ["codex"], indirect=True)
def test_what_codex_cuts_is_in_a_file(group: Group) -> None:
    """Of a megabyte that a script prints, Codex shows its model the ends: the rest is in the file,
    of which a part is read back."""
    told, read = group.turn(f"seq 1 {MEGABYTE}")[:2]
    note = _note(told)
    assert note is not None
    assert "truncated" in _result(told)
    assert "\n3\n4\n5\n" in _result(told)
    assert f"{MEGABYTE - 1}\n{MEGABYTE}" in _result(told)
    [file] = group.kept
    assert note[0] == f"/workspace/agent/files/.pannier/spill/main/{file.name}"
    assert file.read_text() == numbers(MEGABYTE)
    assert PART in _result(read)
    assert _note(read) is None
    assert group.shown == [note]


@pytest.mark.parametrize("group", ["codex"], indirect=True)
def test_without_a_script_the_result_is_replaced(group: Group) -> None:
    """A model of Codex's that calls its tools itself gets the ends and the path."""
    call = Call("exec_command", {"cmd": f"seq 1 {MEGABYTE}"})
    told = codex_turn(group, call, "--model", DIRECT)
    assert len(_result(told)) < MOST_SHOWN
    [file] = group.kept
    assert file.read_text() == numbers(MEGABYTE)
    assert spilled_in(_result(told)) == (
        f"/workspace/agent/files/.pannier/spill/main/{file.name}",
        file.stat().st_size,
    )


@pytest.mark.parametrize("group", ["codex"], indirect=True)
def test_a_command_is_heard_at_once(group: Group) -> None:
    """What a command prints is there when the script looks, whatever comes later."""
    line = {"cmd": f"echo hello; seq 1 20000; echo PROMPT; sleep {HOURS}", "yield_time_ms": 1500}
    script = f"const r = await tools.exec_command({json.dumps(line)});"
    script += "text(r.output.slice(0, 6) + r.output.slice(-7) + r.output.length)"
    told = codex_turn(group, Call("exec", script))
    assert f"hello\nPROMPT\n{len(numbers(20000)) + 13}" in _result(told)


@pytest.mark.parametrize("group", SPILLING, indirect=True)
def test_switched_off_nothing_is_kept(group: Group) -> None:
    """The client does what it does by itself then."""
    wish(group, "{spill_buffer: {enabled: false}}")
    told = group.turn(f"seq 1 {MEGABYTE}")[0]
    assert _note(told) is None
    assert group.kept == []
