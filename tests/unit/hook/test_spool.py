"""Events that the hook hands to the sidecar."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier_hook.events import ERROR, LONGEST_TEXT, Event, UnknownFormat, decode
from pannier_hook.spool import put

from .conftest import World

words = st.text(max_size=50)


@given(words, words, words, words, st.booleans(), st.integers(0, 1 << 62))
def test_events_survive_their_file(
    event: str, text: str, client: str, session: str, task: bool, at: int
) -> None:
    """What is written is what is read, whatever the words."""
    made = Event(ERROR, at=at, event=event, text=text, client=client, session=session, task=task)
    read = decode(made.encode())
    for name in Event.__slots__:
        assert getattr(read, name) == getattr(made, name)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"{", b'{"v": 1, "kind": "error"}', b"\xff", b"[" * 100_000],
)
def test_what_is_no_event(data: bytes) -> None:
    """Anything may lie in a spool: it is a ValueError, never more."""
    with pytest.raises(ValueError):  # noqa: PT011
        decode(data)


def test_newer_formats_are_told_apart() -> None:
    """An event of a newer version or kind is known as such."""
    made = json.loads(Event(ERROR, at=1, event="boot", text="x").encode())
    for change in ({"v": 2}, {"kind": "turn"}):
        with pytest.raises(UnknownFormat):
            decode(json.dumps({**made, **change}).encode())
    for wrong in ({"at": -1}, {"at": True}, {"at": "1"}, {"task": 1}, {"text": None}):
        with pytest.raises(ValueError, match="event"):
            decode(json.dumps({**made, **wrong}).encode())


def test_names_sort_by_time(tmp_path: Path) -> None:
    """Events are read in the order in which they happened; equal times do not collide."""
    times = [5, 10**18, 7, 7, 10**19]
    for at in times:
        put(str(tmp_path), Event(ERROR, at=at, event="boot", text=str(at)))
    read = [decode(file.read_bytes()).at for file in sorted((tmp_path / "new").iterdir())]
    assert read == sorted(times)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_event_tells_where_it_comes_from(world: World) -> None:
    """Client, event, thread and task stand in the event; a long text is bounded."""
    command = world.command("session-start", "--client", "claude")
    env = world.environment(PANNIER_THREAD="side\n\u202e", PANNIER_TASK="1")
    subprocess.run(
        command, input=b'{"source": "' + b"x" * 10_000 + b'"}', capture_output=True, env=env
    )
    (file,) = (world.spool / "new").iterdir()
    event = decode(file.read_bytes())
    assert (event.kind, event.client, event.event) == (ERROR, "claude", "session-start")
    assert (event.thread, event.task) == ("side ", True)
    assert len(event.text) <= LONGEST_TEXT
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def missing(spool: Path) -> None:
    spool.rmdir()


def a_file(spool: Path) -> None:
    spool.rmdir()
    spool.write_text("")


def linked_inside(spool: Path) -> None:
    target = spool.parent / "elsewhere"
    target.mkdir()
    (spool / "new").symlink_to(target)
    (spool / "tmp").symlink_to(target)


def blocked(spool: Path) -> None:
    (spool / "new").write_text("")


@pytest.mark.parametrize("spoil", [missing, a_file, linked_inside, blocked])
def test_a_broken_spool_disturbs_nothing(world: World, spoil: object) -> None:
    """Without a usable spool the hook does its work as ever, and follows no link."""
    assert callable(spoil)
    spoil(world.spool)
    assert world.start("claude").context
    answer = world.run("session-start", "--client", "claude", stdin=b"?")
    assert (answer.status, answer.out) == (0, b"")
    elsewhere = world.spool.parent / "elsewhere"
    assert not elsewhere.exists() or list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("call", ["open", "mkdir", "write", "fsync", "rename"])
def test_a_failing_disk_leaves_no_half_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Whichever call fails, `new` holds no event that was not finished."""
    event = Event(ERROR, at=1, event="boot", text="x")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(OSError, match="No space"):
            put(str(tmp_path), event)
    left = [file for part in ("tmp", "new") for file in (tmp_path / part).glob("*")]
    assert left == []
    put(str(tmp_path), event)
    assert len(list((tmp_path / "new").iterdir())) == 1
