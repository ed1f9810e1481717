"""Which session goes on when a client is started with a message."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pannier import clients, groups, running
from pannier.clients.transcript import Message, Reading
from pannier.delivering import Delivery
from pannier.engine import Engine
from pannier.groups import new_settings
from pannier.paths import Home
from pannier.starting import Starter
from pannier.threads.store import open_store, threads_file
from pannier_hook.events import Event

CLAUDE = clients.CLIENTS["claude"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made, _ = groups.init(tmp_path / "home", {"HOME": str(tmp_path)})
    groups.add(made, "scout", new_settings("claude", None, ()))
    return made


def speak(home: Home, session: str, *, client: str = "claude", thread: str = "main") -> None:
    """Something was said in this session."""
    event = Event("stop", id="0" * 16, at=5, client=client, session=session, thread=thread)
    with open_store(threads_file(home, {}), write=True) as store:
        store.apply("scout", event, Reading((Message(f"{session} 1", "person", "text", "hello"),)))


def latest(home: Home, thread: str = "main") -> str:
    starter = Starter(cast(Engine, None), home, {}, "scout", thread)
    return Delivery(starter).latest_session(CLAUDE)


def test_the_thread_s_latest_session_of_the_client_goes_on(home: Home) -> None:
    """Neither another thread's, nor another client's, nor an older one."""
    assert latest(home) == ""
    speak(home, "a-1")
    speak(home, "a-2")
    speak(home, "b-1", thread="planning")
    speak(home, "c-1", client="codex")
    assert latest(home) == "a-2"
    assert latest(home, "planning") == "b-1"
    assert latest(home, "unknown") == ""


@pytest.mark.parametrize("session", ["--settings=/tmp/x", "../x", "a b", "", "x" * 200])
def test_a_session_that_is_no_plain_id_is_not_handed_on(home: Home, session: str) -> None:
    """Its id is a claim of the container, and no client takes it for an option."""
    if session:
        speak(home, session)
    assert latest(home) == ""


def container(id: str, **fields: str) -> SimpleNamespace:
    usual = {"client": "claude", "state": "running", "role": "up", "thread": "main"}
    return SimpleNamespace(id=id, name=id, **{**usual, **fields})


@pytest.mark.parametrize(
    ("found", "where", "alone"),
    [
        ([], "own", "own"),
        ([container("c1")], "c1", "c1"),
        ([container("c1", state="exited")], "own", "own"),
        ([container("gate")], "own", "own"),
        ([container("busy")], "", ""),
        ([container("c1", role="run")], "", ""),
        ([container("c1", role="run", thread="other")], "own", "own"),
        ([container("c1", role="run", client="codex")], "own", ""),
        ([container("busy", client="codex"), container("c2")], "c2", ""),
        ([container("c1", client="codex")], "own", "own"),
    ],
)
def test_where_a_client_is_started(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    found: list[SimpleNamespace],
    where: str,
    alone: str,
) -> None:
    """In a container that idles, else in one of its own; nowhere while somebody is at work on the
    thread: this client, or any where it should be alone."""
    monkeypatch.setattr(running, "is_at_work", lambda _engine, c, _thread: c.id == "busy")
    engine = SimpleNamespace(containers=lambda *_: found, at_gate=lambda id: id == "gate")
    starter = Starter(cast(Engine, engine), home, {}, "scout")
    for wanted, given in ((where, False), (alone, True)):
        start = starter.place(CLAUDE, "s", alone=given)
        inside = start.inside if start else None
        assert ("" if start is None else inside.name if inside else "own") == wanted


@pytest.mark.parametrize("name", [n for n, c in clients.CLIENTS.items() if c.resume])
def test_session_and_prompt_are_words_of_the_command(name: str) -> None:
    """Whatever stands in them, each is one argument."""
    client = clients.CLIENTS[name]
    assert client.resume is not None
    command = client.resume("-p\n; rm", "an-id")
    assert [word for word in command if word in ("-p\n; rm", "an-id")] != []
    assert command[0] == client.headless("x")[0]
