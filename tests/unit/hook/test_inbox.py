"""The inbox: taken once, in order, never lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pannier_hook import inbox
from pannier_hook.inbox import Message, Taken, file_name, split_messages
from pannier_hook.options import Options

AT = 1_796_000_000 * 10**9


@pytest.fixture
def group(tmp_path: Path) -> Path:
    (tmp_path / "inbox/new").mkdir(parents=True)
    (tmp_path / "spool").mkdir()
    return tmp_path


def put(group: Path, number: int, text: str = "hello", **more: object) -> Message:
    values: dict[str, object] = {"at": AT, "sender": "bot", "source": "ci"} | more
    message = Message(f"{number:016x}", text, **values)  # type: ignore[arg-type]
    (group / "inbox/new" / file_name(number, message)).write_bytes(message.encode())
    return message


def options(group: Path, event: str = "user-prompt", **environ: str) -> Options:
    made = Options({"PANNIER_SPOOL": str(group / "spool"), **environ})
    made.event = event
    return made


def take(group: Path, event: str = "user-prompt", **more: object) -> Taken:
    return inbox.take(options(group, event), **more)  # type: ignore[arg-type]


def ids(taken: Taken) -> list[int]:
    """The numbers of what was taken, as its text says."""
    return [int(piece.id, 16) for piece in split_messages(taken.text) if piece.id]


def age_claims(group: Path) -> None:
    """As if the claims had been made a minute ago."""
    for file in (group / "inbox/new").glob("*.claimed"):
        stem, at, end = file.name.split(".")
        file.rename(file.with_name(f"{stem}.{int(at) - 60 * 10**9:020d}.{end}"))


def test_messages_come_in_order_and_once(group: Path) -> None:
    """First in, first out; what was done does not come again."""
    for number in (3, 1, 2):
        put(group, number, f"text {number}")
    taken = take(group)
    assert ids(taken) == [1, 2, 3]
    assert taken.ids == (f"{1:016x}", f"{2:016x}", f"{3:016x}")
    inbox.done(taken)
    assert not take(group)
    assert not take(group, "stop")
    assert sorted(f.name[:12] for f in (group / "inbox/done").iterdir()) == [
        f"{number:012d}" for number in (1, 2, 3)
    ]


def test_an_empty_or_missing_inbox_is_nothing(group: Path, tmp_path: Path) -> None:
    """Nothing waits, nothing is made, nothing is raised."""
    assert take(group).text == ""
    (group / "inbox/new").rmdir()
    assert not take(group)
    assert not list((group / "inbox").iterdir())


def test_other_threads_keep_theirs(group: Path) -> None:
    """A session takes the messages of its thread, and leaves the others as they are."""
    put(group, 1, thread="planning")
    put(group, 2)
    theirs = min((group / "inbox/new").iterdir())
    assert ids(take(group)) == [2]
    assert theirs.is_file()
    assert ids(inbox.take(options(group, PANNIER_THREAD="planning"))) == [1]


def test_a_background_task_takes_nothing(group: Path) -> None:
    """Messages are for the conversation, not for work on the side."""
    put(group, 1)
    assert not inbox.take(options(group, PANNIER_TASK="1"))
    assert ids(take(group)) == [1]


def test_what_was_claimed_and_not_done_comes_again(group: Path) -> None:
    """A hook that died before it printed loses nothing: a later prompt has it, under its id."""
    put(group, 1)
    assert ids(take(group)) == [1]
    assert not take(group), "the other one may still be at work"
    age_claims(group)
    assert ids(take(group)) == [1]


def test_at_a_turns_end_a_message_comes_once_at_most(group: Path) -> None:
    """No fault makes an agent go on for ever: what was claimed once waits for a prompt."""
    put(group, 1)
    assert ids(take(group, "stop")) == [1]
    age_claims(group)
    assert not take(group, "stop")
    assert ids(take(group)) == [1]


def test_of_many_takers_one_has_each_message(group: Path) -> None:
    """Two containers of one thread do not both tell the agent the same thing."""
    for number in range(20):
        put(group, number)
    got: list[int] = []
    start = threading.Barrier(4)

    def one() -> None:
        start.wait()
        got.extend(ids(take(group)))

    takers = [threading.Thread(target=one) for _ in range(4)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert sorted(got) == list(range(20))


def test_a_delivery_is_bounded_and_the_rest_waits(group: Path) -> None:
    """So many messages and so much text at once; the next delivery goes on where this one ended."""
    for number in range(50):
        put(group, number)
    assert ids(take(group)) == list(range(32))
    assert ids(take(group)) == list(range(32, 50))
    for number in range(60, 63):
        put(group, number, "x" * 60_000)
    assert ids(take(group)) == [60]
    assert ids(take(group)) == [61]


def test_a_delivery_fits_the_clients_limit(group: Path) -> None:
    """What the client would cut is not sent; the message waits, whole."""
    for number in range(3):
        put(group, number, "x" * 4_000)
    taken = take(group, limit=10_000, unit="utf-16")
    assert ids(taken) == [0, 1]
    assert len(taken.text) <= 10_000
    assert ids(take(group)) == [2]


def test_a_message_beyond_the_limit_is_cut_and_lies_in_a_file(group: Path) -> None:
    """The agent sees the beginning and where the whole is; no character is lost."""
    message = put(group, 1, "😀" * 9_000)
    taken = take(group, limit=10_000, unit="utf-16")
    assert len(taken.text.encode("utf-16-le")) // 2 <= 10_000
    (piece,) = split_messages(taken.text)
    assert piece.body == "😀" * len(piece.body)
    assert len(piece.body) > 4_000
    file = group / f"inbox/long/{message.id}.txt"
    assert str(file) in taken.text
    assert file.read_text() == message.text


@pytest.fixture
def hostile(group: Path) -> Path:
    new = group / "inbox/new"
    name = f"{1:012d}-{1:016x}-{inbox.thread_mark('main')}.json"
    (new / name).symlink_to("/etc/passwd")
    os.mkfifo(new / name.replace("1-", "2-", 1))
    (new / name.replace("1-", "3-", 1)).mkdir()
    (new / name.replace("1-", "4-", 1)).write_bytes(b"{")
    (new / "other").write_bytes(b"")
    (new / os.fsdecode(b"\xff\xfe")).write_bytes(b"")
    return group


def test_what_is_no_message_hinders_none(hostile: Path) -> None:
    """Links, pipes, folders and rubbish in the inbox are passed over, and not looked at again."""
    put(hostile, 5)
    assert ids(take(hostile)) == [5]
    put(hostile, 6)
    assert ids(take(hostile)) == [6]


def test_an_inbox_that_cannot_be_written_gives_nothing() -> None:
    """What cannot be claimed would be delivered at every turn's end; so it is not delivered."""
    with TemporaryDirectory() as made, another_user(Path(made)) as group:
        put(group, 1)
        (group / "inbox/new").chmod(0o555)
        assert not take(group, "stop")
        (group / "inbox/new").chmod(0o755)
        assert ids(take(group, "stop")) == [1]


@contextmanager
def another_user(folder: Path) -> Iterator[Path]:
    """A group's folder, for a user whom modes hold back: root is not."""
    (folder / "inbox/new").mkdir(parents=True)
    if os.geteuid():
        yield folder
        return
    for path in (folder, folder / "inbox", folder / "inbox/new"):
        os.chown(path, 65534, 65534)
    os.seteuid(65534)
    try:
        yield folder
    finally:
        os.seteuid(0)
