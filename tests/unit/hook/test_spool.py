"""Events that the hook hands to the sidecar."""

from __future__ import annotations

import posix
import stat
import subprocess
from pathlib import Path

import pytest

from pannier_hook.events import ERROR, LONGEST_TEXT, Event, decode
from pannier_hook.spool import put

from .conftest import World


def test_names_sort_by_time(tmp_path: Path) -> None:
    """Events are read in the order in which they happened; equal times do not collide."""
    times = [5, 10**18, 7, 7, 10**17]
    for number, at in enumerate(times):
        put(str(tmp_path), Event(ERROR, id=f"{number:016x}", at=at))
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
    ((file, event),) = [found for found in world.events() if found[1].kind == ERROR]
    assert (event.kind, event.client) == (ERROR, "claude")
    assert event.details["event"] == "session-start"
    assert (event.thread, event.task) == ("side ", True)
    assert len(event.details["text"]) <= LONGEST_TEXT
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
    event = Event(ERROR, id="0" * 16, at=1)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(posix, call, fail)
        with pytest.raises(OSError, match="No space"):
            put(str(tmp_path), event)
    left = [file for part in ("tmp", "new") for file in (tmp_path / part).glob("*")]
    assert left == []
    put(str(tmp_path), event)
    assert len(list((tmp_path / "new").iterdir())) == 1
