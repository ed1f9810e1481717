"""The queue and the inbox, from both sides."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pannier.errors import PannierError, UsageError
from pannier.paths import GroupPaths, Home
from pannier.threads import inbox as host
from pannier.threads import queue as queues
from pannier.threads.queue import Queue, open_queue
from pannier_hook import inbox as hook
from pannier_hook.inbox import split_messages
from pannier_hook.options import Options


@pytest.fixture
def group(tmp_path: Path) -> GroupPaths:
    paths = GroupPaths(tmp_path / "groups/scout")
    (paths.root / "inbox").mkdir(parents=True)
    return paths


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    with open_queue(tmp_path / "queue.db") as opened:
        yield opened


def agent(group: GroupPaths, event: str = "user-prompt", thread: str = "main") -> hook.Taken:
    """What the hook of a container of this group takes."""
    options = Options({"PANNIER_SPOOL": str(group.spool), "PANNIER_THREAD": thread})
    options.event = event
    return hook.take(options)


def bodies(taken: hook.Taken) -> list[str]:
    return [piece.body for piece in split_messages(taken.text) if piece.id]


def send(queue: Queue, group: GroupPaths, *texts: str, **more: str) -> None:
    for text in texts:
        queue.put(group.folder, text, **more)
    host.settle(queue, group)


def left(queue: Queue) -> list[str]:
    return [row.message.text for row in queue.waiting()]


def test_what_is_sent_arrives_once_and_leaves_the_queue(queue: Queue, group: GroupPaths) -> None:
    """Placed, taken, done, then deleted; nothing stays behind in the inbox."""
    send(queue, group, "one", "two", sender="bot", source="ci")
    taken = agent(group)
    assert bodies(taken) == ["one", "two"]
    assert left(queue) == ["one", "two"]
    hook.done(taken)
    assert host.settle(queue, group) == host.Settled(delivered=2)
    assert left(queue) == []
    assert not any(file.is_file() for file in group.inbox.rglob("*"))
    assert all(queue.was_delivered("scout", id) for id in taken.ids)


def test_sender_source_and_time_survive(queue: Queue, group: GroupPaths) -> None:
    """The agent sees who sent it, whence and when."""
    before = time.time_ns() // 10**9
    send(queue, group, "hello", sender="Ada", source="mail")
    (piece,) = split_messages(agent(group).text)
    assert (piece.sender, piece.source) == ("Ada", "mail")
    assert before <= piece.at // 10**9 <= before + 60


def test_it_is_first_in_first_out_by_thread(queue: Queue, group: GroupPaths) -> None:
    """Each thread has its own order; the other's messages wait for it."""
    for number in range(6):
        queue.put("scout", str(number), thread="even" if number % 2 == 0 else "odd")
    host.settle(queue, group)
    assert bodies(agent(group, thread="odd")) == ["1", "3", "5"]
    assert bodies(agent(group, thread="even")) == ["0", "2", "4"]


def test_who_places_places_what_was_sent_before_first(queue: Queue, group: GroupPaths) -> None:
    """A sender that died between its row and its file does not lose its place."""
    queue.put("scout", "first")
    send(queue, group, "second")
    assert bodies(agent(group)) == ["first", "second"]


def test_settling_twice_changes_nothing(queue: Queue, group: GroupPaths) -> None:
    """Anybody may do it at any time."""
    send(queue, group, "one")
    assert host.settle(queue, group) == host.Settled()
    taken = agent(group)
    assert host.settle(queue, group) == host.Settled()
    hook.done(taken)
    assert host.settle(queue, group).delivered == 1
    assert host.settle(queue, group) == host.Settled()


def test_a_file_that_went_away_is_laid_again(
    queue: Queue, group: GroupPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody emptied the inbox: after a grace the message is there again."""
    send(queue, group, "one")
    for file in (group.inbox / "new").iterdir():
        file.unlink()
    assert host.settle(queue, group) == host.Settled()
    assert host.settle(queue, group) == host.Settled()
    monkeypatch.setattr(host, "GRACE", 0.0)
    assert host.settle(queue, group).again == 1
    assert bodies(agent(group)) == ["one"]


def test_a_message_that_was_done_is_never_laid_again(
    queue: Queue, group: GroupPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even when the host crashed before it noted that, or a copy lies in the inbox again."""
    monkeypatch.setattr(host, "GRACE", 0.0)
    send(queue, group, "one")
    (file,) = (group.inbox / "new").iterdir()
    data = file.read_bytes()
    hook.done(agent(group))
    file.write_bytes(data)
    for _ in range(3):
        host.settle(queue, group)
    assert not agent(group)
    assert left(queue) == []


def test_a_withdrawn_message_leaves_the_inbox(queue: Queue, group: GroupPaths) -> None:
    """Who takes it back before the agent had it, has it back."""
    row = queue.put("scout", "one")
    host.settle(queue, group)
    assert queue.withdraw("scout", row.message.id)
    host.settle(queue, group)
    assert not agent(group)
    assert not queue.withdraw("scout", row.message.id)


def test_taken_out_for_a_start_no_hook_has_it(queue: Queue, group: GroupPaths) -> None:
    """A client that is started with the messages is not told them again by the hook."""
    send(queue, group, "one", "two")
    send(queue, group, "other", thread="other")
    taken = host.take_out(queue, group, "main") or []
    assert [piece.body for piece in split_messages(host.prompt_of(taken)) if piece.id] == [
        "one",
        "two",
    ]
    host.settle(queue, group)
    assert not agent(group)
    host.put_back(queue, group, taken)
    assert bodies(agent(group)) == ["one", "two"]
    assert bodies(agent(group, thread="other")) == ["other"]


def test_a_start_leaves_alone_what_a_hook_has_claimed(queue: Queue, group: GroupPaths) -> None:
    """Of an agent at work and a start, one has the message."""
    send(queue, group, "one")
    taken = agent(group)
    assert bodies(taken) == ["one"]
    assert host.take_out(queue, group, "main") == []


def test_what_a_killed_start_had_waits_again(queue: Queue, group: GroupPaths) -> None:
    """The process that started the client is gone: the next look lays its messages back."""
    send(queue, group, "one")
    (row,) = host.take_out(queue, group, "main") or []
    send(queue, group, "two")
    assert host.take_out(queue, group, "main") is None, "a client is at work on this thread"
    assert host.take_out(queue, group, "other") == []
    host.settle(queue, group)
    queue.mark(row.number, "started", owner=f"{os.uname().nodename}:1:gone")
    assert host.settle(queue, group).placed == 1
    assert bodies(agent(group)) == ["one", "two"]


def test_a_prompt_holds_no_more_than_an_argument_may(queue: Queue, group: GroupPaths) -> None:
    """What is too much for one prompt waits in the inbox, for the end of the turn."""
    send(queue, group, *("漢" * 12_000 for _ in range(5)))
    taken = host.take_out(queue, group, "main") or []
    assert 1 <= len(taken) < 5
    assert len(host.prompt_of(taken).encode()) < 131_072
    assert len(bodies(agent(group))) == 5 - len(taken)


@pytest.mark.parametrize("text", ["", " \n", "\x00", "x" * 65_537, "\ud800"])
def test_what_cannot_be_sent_is_refused(queue: Queue, text: str) -> None:
    """Empty, too long, or no text: the sender is told, and nothing is queued."""
    with pytest.raises(UsageError):
        queue.put("scout", text)
    assert left(queue) == []


def test_a_full_queue_says_so(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is dropped in silence; other groups are not touched by it."""
    monkeypatch.setattr(queues, "MOST_WAITING", 3)
    for _ in range(3):
        queue.put("scout", "x")
    with pytest.raises(PannierError, match="full: 3 messages"):
        queue.put("scout", "x")
    queue.put("other", "x")
    monkeypatch.setattr(queues, "MOST_BYTES", 10)
    with pytest.raises(PannierError, match="full"):
        queue.put("third", "x" * 11)


def test_the_word_of_another_group_counts_for_nothing(queue: Queue) -> None:
    """One group cannot take another's messages out of the queue."""
    row = queue.put("scout", "one")
    assert queue.delivered("spy", [row.message.id, "0" * 16, "x'; --"]) == 0
    assert left(queue) == ["one"]
    assert not queue.was_delivered("scout", row.message.id)


def test_the_word_of_the_spool_counts_too(
    tmp_path: Path, group: GroupPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook that died between its event and its tick has told the agent: it is not told again."""
    monkeypatch.setattr(hook, "STALE", 0.0)
    home, environ = Home(tmp_path), {"PANNIER_QUEUE_DB_PATH": str(tmp_path / "queue.db")}
    queues.tell_queue(home, environ)("scout", ["0" * 16])
    assert not (tmp_path / "queue.db").exists()
    with open_queue(tmp_path / "queue.db") as queue:
        send(queue, group, "one")
        taken = agent(group)
        queues.tell_queue(home, environ)("scout", taken.ids)
        assert left(queue) == []
        host.settle(queue, group)
    assert not agent(group)


def test_of_a_started_client_only_its_end_counts(tmp_path: Path, group: GroupPaths) -> None:
    """Its prompt stands in its record before it has failed: what it was told waits again."""
    home = Home(tmp_path)
    tell = queues.tell_queue(home, {})
    with open_queue(home.state / "queue.db") as queue:
        send(queue, group, "one")
        for _ in range(2):
            (row,) = host.take_out(queue, group, "main") or []
            tell("scout", [row.message.id])
            assert left(queue) == ["one"]
            host.put_back(queue, group, [row])
            tell("scout", [row.message.id])
            assert left(queue) == ["one"]
        taken = agent(group)
        assert bodies(taken) == ["one"]
        hook.done(taken)
        assert host.settle(queue, group).delivered == 1
        assert left(queue) == []


@pytest.mark.parametrize("name", ["new", "done"])
def test_a_link_in_the_inbox_leads_nowhere(
    queue: Queue, group: GroupPaths, tmp_path: Path, name: str
) -> None:
    """Where an agent puts a link in the place of a folder, nothing is written, and it is said."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (group.inbox / name).symlink_to(outside)
    queue.put("scout", "one")
    with pytest.raises(PannierError, match="link"):
        host.settle(queue, group)
    assert not list(outside.iterdir())
    assert left(queue) == ["one"]


def test_litter_in_the_inbox_costs_bounded_work(
    queue: Queue, group: GroupPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other names, folders and pipes stay; more names than are looked at lose no message."""
    new = group.inbox / "new"
    new.mkdir()
    monkeypatch.setattr(host, "MOST_NAMES", 50)
    for number in range(100):
        (new / f"rubbish {number}").touch()
    os.mkfifo(new / "pipe")
    (new / f"{1:012d}-{'0' * 16}-{'0' * 8}.json").mkdir()
    send(queue, group, "one", "two")
    host.settle(queue, group)
    assert left(queue) == ["one", "two"]
    assert bodies(agent(group)) == ["one", "two"]


def test_many_senders_at_once_lose_nothing(tmp_path: Path, group: GroupPaths) -> None:
    """They open the queue together, before it exists, and each message has its place."""
    start = threading.Barrier(6)
    problems: list[Exception] = []

    def one(name: int) -> None:
        start.wait()
        try:
            for number in range(5):
                with open_queue(tmp_path / "queue.db") as queue:
                    send(queue, group, f"{name} {number}")
        except PannierError as error:
            problems.append(error)

    senders = [threading.Thread(target=one, args=(name,)) for name in range(6)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert problems == []
    got = bodies(agent(group))
    assert sorted(got) == sorted(f"{name} {number}" for name in range(6) for number in range(5))
    for name in range(6):
        assert [text for text in got if text[0] == str(name)] == [f"{name} {n}" for n in range(5)]


def test_killed_anywhere_a_message_is_delivered_again_rather_than_lost(
    tmp_path: Path, group: GroupPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sender, daemon and hook are killed at random; every id arrives, doubles have the same id."""
    monkeypatch.setattr(host, "GRACE", 0.05)
    monkeypatch.setattr(hook, "STALE", 0.05)
    path, sent, told = tmp_path / "queue.db", tmp_path / "sent", tmp_path / "told"

    def sender() -> None:
        for _ in range(1_000):
            with open_queue(path) as queue:
                note(sent, queue.put("scout", "x").message.id)
                host.settle(queue, group)

    def daemon() -> None:
        for _ in range(1_000):
            with open_queue(path) as queue:
                host.settle(queue, group)

    def hooks() -> None:
        for _ in range(10_000):
            taken = agent(group)
            for id in taken.ids:
                note(told, id)
            hook.done(taken)

    chance = random.Random(4)
    for _ in range(25):
        with forked(sender), forked(daemon), forked(hooks):
            time.sleep(chance.uniform(0.01, 0.12))  # the moment of the kill, not a wait
    deadline = time.monotonic() + 20
    with open_queue(path) as queue:
        while queue.waiting() and time.monotonic() < deadline:
            host.settle(queue, group)
            taken = agent(group)
            for id in taken.ids:
                note(told, id)
            hook.done(taken)
        assert queue.waiting() == []
    assert set(told.read_text().split()) >= set(sent.read_text().split())
    assert len(set(sent.read_text().split())) > 20


def note(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"{line}\n")


@contextmanager
def forked(work: Callable[[], None]) -> Iterator[None]:
    """A process that works until it is killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
