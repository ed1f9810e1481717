"""The queue's work in the daemon's rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from pannier import groups, sending
from pannier.groups import new_settings
from pannier.paths import Home
from pannier.sending import Letter
from pannier.serve.queue import QueueWork
from pannier.threads.queue import open_queue, queue_file
from pannier_hook import inbox
from pannier_hook.options import Options


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made, _ = groups.init(tmp_path / "home", {"HOME": str(tmp_path)})
    groups.add(made, "scout", new_settings("claude", None, ()))
    return made


def said(work: QueueWork) -> list[tuple[str, str]]:
    return [(event.event, event.group) for event in work.round()]


def test_what_was_delivered_leaves_the_queue(home: Home) -> None:
    """The hook has told the agent; the next round deletes the message, and says nothing of it."""
    sending.send(home, {}, Letter("scout", "hello"))
    options = Options({"PANNIER_SPOOL": str(home.group("scout").spool)})
    inbox.done(inbox.take(options))
    assert said(QueueWork(home, {})) == []
    with open_queue(queue_file(home, {})) as queue:
        assert queue.waiting() == []


def test_a_round_without_a_queue_makes_none(home: Home) -> None:
    """Who never sent anything has no database for it."""
    assert said(QueueWork(home, {})) == []
    assert not queue_file(home, {}).exists()


def test_what_hinders_is_said_once_and_harms_no_other(home: Home) -> None:
    """A link in one inbox: the other group's message arrives; once mended, this one's, too."""
    groups.add(home, "other", new_settings("claude", None, ()))
    (home.group("scout").inbox / "new").symlink_to("/tmp")
    for folder in ("scout", "other"):
        sending.send(home, {}, Letter(folder, "hello"))
    work = QueueWork(home, {})
    assert said(work) == [("queue.stuck", "scout")]
    assert said(work) == []
    assert len(list((home.group("other").inbox / "new").iterdir())) == 1
    (home.group("scout").inbox / "new").unlink()
    assert said(work) == [("queue.goes_on", "scout")]
    assert len(list((home.group("scout").inbox / "new").iterdir())) == 1


def test_a_broken_queue_is_a_warning(home: Home) -> None:
    """The daemon goes on, and says which file it cannot use."""
    queue_file(home, {}).write_bytes(b"no database" * 100)
    work = QueueWork(home, {})
    (event,) = work.round()
    assert (event.level, event.event) == ("warning", "queue.stuck")
    assert "queue.db" in event.message
    assert list(work.round()) == []
