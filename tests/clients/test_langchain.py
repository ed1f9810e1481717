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
from pannier.engine import Engine
from pannier.errors import VerifyError
from pannier.threads import intake, rollback
from pannier.threads.delete import delete
from pannier.threads.rows import MessageRow
from pannier.threads.store import Store, open_store, threads_file
from pannier.verify.container import PORT

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
