"""The agent in Python in its image: what only it does, and that its threads are kept as those of
other clients are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pannier import clients
from pannier.endpoint.answers import Call, Fail, Say
from pannier.endpoint.model import Request
from pannier.engine import Engine
from pannier.errors import VerifyError
from pannier.threads import intake, rollback
from pannier.threads.delete import delete
from pannier.threads.rows import MessageRow
from pannier.threads.store import Store, open_store, threads_file
from pannier.threads.view import view
from pannier.verify.container import PORT
from pannier_hook.events import decode
from pannier_hook.spill import spilled_in
from pannier_hook.unframing import read_back

from .living import Living, living

FILES = "/workspace/agent/files"


@pytest.fixture
def group(engine: Engine, folder: Path, request: pytest.FixtureRequest) -> Living:
    name = str(request.node.name).replace("_", "-")
    return living(engine, folder / f"langchain-{name}", clients.get("langchain"))


@contextmanager
def stored(group: Living) -> Iterator[Store]:
    """What the daemon would have made of the spool by now."""
    taken = intake.take_in(group.home, os.environ, seconds=60)
    assert not taken.problems
    spool = group.home.group("scout").spool
    assert not [*(spool / "new").iterdir(), *(spool / "rejected").glob("*")]
    with open_store(threads_file(group.home, os.environ)) as store:
        yield store


def branch(store: Store, ref: str = "scout") -> list[MessageRow]:
    found = store.messages(store.find_thread(ref).id)
    return [message for message in found if message.kind != "memory"]


def test_a_thread_is_kept(group: Living) -> None:
    """Two turns with tools, a new container, and a third turn: every message, call and result is
    stored once, in order, each call with its result; the model of the third turn saw all of it."""
    with group.container() as shell:
        shell.script(
            Call("shell", {"command": "echo the-kettle-is-on"}),
            Call("read_file", {"path": f"{FILES}/missing.txt"}),
            Say("The first thing is done."),
        )
        shell.run("agent", "word-one")
        shell.script(
            Call("write_file", {"path": f"{FILES}/mug.txt", "content": "blue"}), Say("It is blue.")
        )
        shell.run("agent", "word-two")
    with group.container() as shell:
        shell.run("agent", "word-three")
        [asked] = shell.requests()
    assert (group.home.group("scout").files / "mug.txt").read_text() == "blue"
    for text in ("word-one", "the-kettle-is-on", "It is blue.", "word-three"):
        assert asked.holds(text)
    with stored(group) as store:
        said = branch(store)
        turns = store.turns(store.find_thread("scout").id)
        again = store.messages(store.find_thread("scout").id, branch=False)
    assert [(m.role, m.kind) for m in said] == [
        ("person", "text"),
        *[("agent", "call"), ("tool", "result")] * 2,
        ("agent", "text"),
        ("person", "text"),
        *[("agent", "call"), ("tool", "result")],
        ("agent", "text"),
        ("person", "text"),
        ("agent", "text"),
    ]
    assert len(again) == len(said) + 1
    calls = [m for m in said if m.kind == "call"]
    results = [m for m in said if m.kind == "result"]
    assert [m.call for m in calls] == [m.call for m in results]
    assert [m.failed for m in results] == [False, True, False]
    assert "the-kettle-is-on" in results[0].text
    assert json.loads(calls[2].text) == {"path": f"{FILES}/mug.txt", "content": "blue"}
    assert [turn.outcome for turn in turns] == ["succeeded"] * 3
    assert all(turn.input > 0 and turn.output > 0 for turn in turns)


def test_a_rollback_from_the_host(group: Living) -> None:
    """`pannier threads rollback` reaches the agent: its next turn goes on from there, and does not
    see what was said since; later it is brought back to the other branch."""
    with group.container() as shell:
        shell.run("agent", "word-one")
        shell.run("agent", "word-two")
    with stored(group) as store:
        [first, other] = [m for m in branch(store) if m.text == "ok"]
    rollback.rollback(group.home, os.environ, "scout", f"m{first.id}")
    with group.container() as shell:
        shell.run("agent", "word-three")
        [asked] = shell.requests()
        assert asked.holds("word-one")
        assert not asked.holds("word-two")
    with stored(group) as store:
        assert [m.text for m in branch(store)] == ["word-one", "ok", "word-three", "ok"]
    rollback.rollback(group.home, os.environ, "scout", f"m{other.id}")
    with group.container() as shell:
        shell.run("agent", "word-four")
        [asked] = shell.requests()
        assert asked.holds("word-two")
        assert not asked.holds("word-three")
    with stored(group) as store:
        assert [m.text for m in branch(store)] == [
            "word-one",
            "ok",
            "word-two",
            "ok",
            "word-four",
            "ok",
        ]


def test_a_rollback_beyond_a_new_context(group: Living) -> None:
    """To go back to what was said before /clear goes on with that session."""
    with group.container() as shell:
        shell.run("agent", "word-one")
        shell.run("agent", stdin="/clear\nword-two\n")
    with stored(group) as store:
        [first, _] = [m for m in branch(store) if m.text == "ok"]
    rollback.rollback(group.home, os.environ, "scout", f"m{first.id}")
    with group.container() as shell:
        shell.run("agent", "word-three")
        [asked] = shell.requests()
    assert asked.holds("word-one")
    assert not asked.holds("word-two")


def test_an_erased_thread_begins_anew(group: Living) -> None:
    """The agent does not go on in what was erased, and what it says then is stored again."""
    with group.container() as shell:
        shell.run("agent", "word-one")
    with stored(group):
        pass
    assert delete(group.home, os.environ, "scout").kept == ()
    with group.container() as shell:
        shell.run("agent", "word-two")
        [asked] = shell.requests()
    assert not asked.holds("word-one")
    with stored(group) as store:
        assert [m.text for m in branch(store)] == ["word-two", "ok"]


def test_a_turn_that_fails(group: Living) -> None:
    """The command fails with one line; the turn is stored as failed, and the next one goes on."""
    with group.container() as shell:
        shell.script(Fail(400))
        with pytest.raises(VerifyError) as caught:
            shell.run("agent", "word-one")
        assert caught.value.hint.startswith("agent: ")
        assert len(caught.value.hint.splitlines()) == 1
        shell.run("agent", "word-two")
    with stored(group) as store:
        assert [m.text for m in branch(store)] == ["word-one", "word-two", "ok"]
        turns = store.turns(store.find_thread("scout").id)
    assert [turn.outcome for turn in turns] == ["failed", "succeeded"]


def test_threads_by_name(group: Living) -> None:
    """Each thread of the group has a conversation of its own, and a session that is unknown is an
    error."""
    with group.container() as shell:
        shell.run("agent", "--thread", "tea", "word-one")
        shell.run("agent", "--thread", "coffee/black", "word-two")
        shell.run("agent", "--thread", "tea", "word-three")
        [*_, asked] = shell.requests()
        with pytest.raises(VerifyError, match="ended with status 1") as caught:
            shell.run("agent", "--session", "nobody", "hello")
    assert "there is no thread 'nobody'" in caught.value.hint
    assert asked.holds("word-one")
    assert not asked.holds("word-two")
    with stored(group) as store:
        assert [m.text for m in branch(store, "scout/tea")] == [
            "word-one",
            "ok",
            "word-three",
            "ok",
        ]


def test_a_conversation_in_a_terminal(group: Living) -> None:
    """A person sees answers and calls; Ctrl-C at the prompt ends it."""
    with group.container() as shell:
        terminal = shell.terminal("agent")
        terminal.wait_for("> ")
        shell.script(Call("shell", {"command": "sleep 0"}), Say("All is well."))
        terminal.send("how is it?\r")
        terminal.wait_for("· shell sleep 0")
        terminal.wait_for("All is well.")
        terminal.send("/checkpoints\r")
        terminal.wait_for("lc_run")
        terminal.send("\x03")
        terminal.close()
    with stored(group) as store:
        assert [m.role for m in branch(store)] == ["person", "agent", "tool", "agent"]


def test_standing_instructions_and_no_model(group: Living) -> None:
    """The group's instructions are in the system prompt; without a model the way out is named."""
    (group.home.group("scout").root / "instructions.prepend.md").write_text("Speak of mugs only.\n")
    with group.container() as shell:
        shell.run("agent", "hello")
        [asked] = shell.requests()
        assert any("Speak of mugs only." in t.text and "system" in t.where for t in asked.texts)
        with pytest.raises(VerifyError) as caught:
            shell.run("env", "-u", "PANNIER_MODEL", "agent", "hello")
        assert "PANNIER_MODEL names no model" in caught.value.hint


def test_another_provider(group: Living) -> None:
    """With a model of Anthropic's protocol the memory arrives, too, and the turn is stored."""
    with group.container() as shell:
        shell.script(Call("shell", {"command": "echo the-kettle-is-on"}), Say("It is on."))
        shell.run(
            "env",
            "PANNIER_MODEL=anthropic:scripted",
            f"ANTHROPIC_BASE_URL=http://127.0.0.1:{PORT}",
            "ANTHROPIC_API_KEY=none",
            "agent",
            "Is the kettle on?",
        )
        [asked, later] = shell.requests()
    assert asked.dialect == "anthropic"
    assert asked.holds("BEGIN PANNIER MEMORY")
    assert later.holds("the-kettle-is-on")
    with stored(group) as store:
        assert [(m.role, m.kind) for m in branch(store)] == [
            ("person", "text"),
            ("agent", "call"),
            ("tool", "result"),
            ("agent", "text"),
        ]
        [turn] = store.turns(store.find_thread("scout").id)
    assert (turn.outcome, turn.input > 0) == ("succeeded", True)


def shortened(asked: Request) -> tuple[str, tuple[str, int]]:
    """The text that stands for a large result, and the path and the size that it names."""
    [found] = [(t.text, note) for t in asked.texts if (note := spilled_in(t.text))]
    return found


@pytest.mark.parametrize("last", [200_000, 3_000_000])
def test_a_large_result(group: Living, last: int) -> None:
    """A command prints 1 MB, or 20: the model sees beginning and end with a path, the file holds
    every byte, and a part of it can be read, which makes no second file."""
    printed = "".join(f"{number}\n" for number in range(1, last + 1))
    with group.container() as shell:
        shell.script(Call("shell", {"command": f"seq 1 {last}"}), Say("That was long."))
        shell.run("agent", "word-one")
        [_, told] = shell.requests()
        text, (path, size) = shortened(told)
        file = group.home.group("scout").files / path.removeprefix(f"{FILES}/")
        assert file.read_text().removesuffix("[status 0]") == printed
        assert file.stat().st_size == size
        assert "1\n2\n3\n" in text
        assert text.endswith(f"{last}\n[status 0]")
        assert len(text) < 3_000
        shell.script(
            Call("shell", {"command": f"sed -n '100000,100001p' {path}"}),
            Call("read_file", {"path": path, "first_line": last, "lines": 1}),
            Call("shell", {"command": f"cat {path}"}),
            Say("I have seen it."),
        )
        shell.run("agent", "word-two")
        *_, line, part, again = shell.requests()
        assert line.texts[-1].text == "100000\n100001\n[status 0]"
        assert part.texts[-1].text.startswith(f"{last}\n")
        assert len(again.texts[-1].text) < 3_000
        assert path in again.texts[-1].text
    assert list(file.parent.iterdir()) == [file]
    with stored(group) as store:
        [result, *_] = [m for m in branch(store) if m.kind == "result"]
    assert spilled_in(result.text) == (path, size)


def test_a_result_that_cannot_be_kept(group: Living) -> None:
    """The model gets all of it, and the reason stands among the group's problems."""
    files = group.home.group("scout").files
    with group.container() as shell:
        (files / ".pannier").write_text("in the way")
        shell.script(Call("shell", {"command": "seq 1 30000"}), Say("That was long."))
        shell.run("agent", "word-one")
        [_, told] = shell.requests()
    assert told.holds("14999\n15000\n15001\n")
    with stored(group):
        reports = group.home.group("scout").spool / "reports"
        [problem] = [decode(file.read_bytes()) for file in reports.iterdir()]
    assert problem.details["event"] == "post-tool"


def test_a_compaction(group: Living) -> None:
    """When the window is nearly full the older part gives way to a summary: the task and the latest
    request are there word for word, and the memory, once. It stays so in a new container, to the
    byte, and is stored once."""
    settle(group, window=12_000, keep=1_000, min_messages=4)
    group.model.on = {"the record ends": Say("It was about mugs.")}
    long = "A mug is a mug. " * 500
    with group.container() as shell:
        shell.run("agent", "word-one: count the mugs")
        for number in range(5):
            shell.run("agent", f"{number} {long}")
        shell.run("agent", "word-two")
        before = shell.requests()[-1]
    with group.container() as shell:
        shell.run("agent", "word-three")
        after = shell.requests()[-1]
    for asked in (before, after):
        assert asked.tools
        assert asked.tokens < 12_000
        assert [t.text for t in asked.texts if t.text.startswith("word-one")] == [
            "word-one: count the mugs"
        ]
        assert asked.holds("It was about mugs.")
        assert len([t for t in asked.texts if read_back(t.text).complete]) == 1
        assert not any(t.text == f"0 {long}" for t in asked.texts)
    assert after.holds("word-three")
    sent = before.body["messages"]
    assert after.body["messages"][: len(sent)] == sent
    with stored(group) as store:
        kinds = [m.kind for m in store.messages(store.find_thread("scout").id)]
        said = [m.text for m in branch(store) if m.role == "person"]
        shown = view(store, store.find_thread("scout"))
    assert shown is not None
    assert (shown.reported, shown.report.summary) == (True, "It was about mugs.")
    assert 0 <= shown.report.tokens - after.tokens < 500  # And the answer.
    assert kinds.count("compaction") == len(summaries(group))
    assert said[0] == "word-one: count the mugs"
    assert said[1:6] == [f"{number} {long}" for number in range(5)]


def test_a_compaction_without_a_person(group: Living) -> None:
    """A session that is compacted headless has its summary in the store at once; there is nothing
    to compact the next time, and a summary that fails says why."""
    settle(group, window=12_000, keep=1_000, min_messages=4)
    group.model.on = {"the record ends": Say("It was about mugs.")}
    compact = group.client.compact
    assert compact is not None
    with group.container() as shell:
        shell.run("agent", stdin=f"word-one\n{'A mug. ' * 600}\nword-two\n")
        [current] = (group.state / ".local/state/pannier/sessions").iterdir()
        session = current.read_text().strip()
        group.model.on = {"the record ends": Fail(400)}
        with pytest.raises(VerifyError) as caught:
            shell.run(*compact(session))
        assert caught.value.hint.startswith("agent: no summary: ")
        group.model.on = {"the record ends": Say("It was about mugs.")}
        assert "a summary stands" in shell.run(*compact(session)).stdout
        with stored(group) as store:
            [*_, last] = branch(store)
            shown = view(store, store.find_thread("scout"))
        assert (last.kind, last.text) == ("compaction", "It was about mugs.")
        assert shown is not None
        assert (shown.reported, shown.report.summary) == (False, "It was about mugs.")
        assert "nothing was compacted" in shell.run(*compact(session)).stdout
        shell.run("agent", "word-three")
        assert shell.requests()[-1].holds("It was about mugs.")
    with stored(group) as store:
        assert [m.text for m in branch(store)][-3:] == ["It was about mugs.", "word-three", "ok"]
        shown = view(store, store.find_thread("scout"))
    assert shown is not None
    assert (shown.reported, shown.report.summary) == (True, "It was about mugs.")


def summaries(group: Living) -> list[Request]:
    """The requests for one."""
    return [request for request, _ in group.model.given if request.holds("the record ends")]


def settle(group: Living, *, window: int, keep: int, min_messages: int) -> None:
    """A context that is soon full."""
    compaction = {
        "trigger_percent": 50,
        "reserve_tokens": 1_000,
        "keep_recent_tokens": keep,
        "min_messages": min_messages,
    }
    settings = {"client": "langchain", "context": {"window": window, "compaction": compaction}}
    (group.home.group("scout").root / "group.yaml").write_text(json.dumps(settings))
