"""What was said is stored once, in order, and found again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pannier.clients.transcript import (
    ASKED_ITSELF,
    After,
    Before,
    Entry,
    HeadMoves,
    Message,
    Reading,
    TurnBegins,
    TurnEnds,
    Usage,
)
from pannier.errors import PannierError, UsageError
from pannier.threads.rows import MessageRow
from pannier.threads.store import Store, WritableStore, open_store
from pannier_hook.events import Event, Log

Unwritable = Callable[[Path], AbstractContextManager[None]]
LOG = Log(".claude/projects/x/s1.jsonl", 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    with open_store(tmp_path / "state" / "threads.db", write=True) as opened:
        yield opened


def event(session: str = "s1", *, thread: str = "main", at: int = 5, **more: object) -> Event:
    return Event(
        "stop",
        id="0" * 16,
        at=at,
        client="claude",
        session=session,
        thread=thread,
        log=LOG,
        **more,  # type: ignore[arg-type]
    )


def said(key: str, text: str = "", **more: object) -> Message:
    return Message(key, "person", "text", text or key, **more)  # type: ignore[arg-type]


def put(store: WritableStore, *entries: Entry, of: Event | None = None, grp: str = "scout") -> int:
    return store.apply(grp, of or event(), Reading(entries)).stored


def branch(store: Store, ref: str = "scout") -> list[str]:
    return [m.key for m in store.messages(store.find_thread(ref).id)]


def test_what_was_said_is_kept_in_order(store: WritableStore) -> None:
    """Messages come back whole, each after the one before it, in the turn that they belong to."""
    put(
        store,
        TurnBegins("t"),
        said("a", at=7),
        Message("b", "agent", "call", "{}", call="c", tool="Bash", model="m", position=3),
        Message("c", "tool", "result", "no", call="c", failed=True),
        TurnEnds("succeeded"),
        said("d"),
    )
    a, b, c, d = store.messages(store.find_thread("scout/main").id)
    assert (a.text, a.at, a.parent, a.role, a.kind) == ("a", 7, None, "person", "text")
    assert (b.parent, b.call, b.tool, b.model, b.position, b.at) == (a.id, "c", "Bash", "m", 3, 5)
    assert (c.parent, c.failed, d.parent) == (b.id, True, c.id)
    (turn,) = store.turns(a.thread)
    assert {a.turn, b.turn, c.turn} == {turn.id}
    assert d.turn is None


def test_a_second_time_adds_nothing(store: WritableStore) -> None:
    """A hand-over that is repeated, whole or in part, leaves everything as it was."""
    entries = (TurnBegins("t"), said("a"), Usage("u", input=3), said("b"), TurnEnds("succeeded"))
    assert put(store, *entries) == 2
    before = (store.threads(), store.turns(1), store.messages(1))
    assert put(store, *entries) == 0
    assert put(store, *entries[:3]) == put(store, *entries[3:]) == 0
    assert (store.threads(), store.turns(1), store.messages(1)) == before


def test_a_client_that_goes_back_makes_a_branch(store: WritableStore) -> None:
    """Nothing is deleted by a rewind; the head's path is what the client sees."""
    put(store, said("a"), said("b"), said("c"))
    put(store, said("d", parent=After("a")))
    assert branch(store) == ["a", "d"]
    put(store, HeadMoves(After("b")), said("e"))
    assert branch(store) == ["a", "b", "e"]
    put(store, HeadMoves(None))
    assert branch(store) == []
    put(store, said("f"))
    assert branch(store) == ["f"]
    assert len(store.messages(1, branch=False)) == 6


def test_a_piece_of_a_thread_can_be_asked_for(store: WritableStore) -> None:
    """What comes after a message, or the last few, of the branch or of everything."""
    put(store, said("a"), said("b"), said("c"), said("d", parent=After("b")), said("e"))

    def keys(messages: Sequence[MessageRow]) -> str:
        return "".join(message.key for message in messages)

    assert keys(store.messages(1, after=2)) == "de"
    assert keys(store.messages(1, after=2, branch=False)) == "cde"
    assert keys(store.messages(1, limit=2)) == "ab"
    assert keys(store.latest(1, limit=3)) == "bde"
    assert keys(store.latest(1, limit=3, branch=False)) == "cde"
    assert keys(store.latest(1, limit=-1)) == "abde"
    assert [store.in_branch(1, n) for n in range(1, 7)] == [True, True, False, True, True, False]


def test_the_next_session_goes_on_from_the_head(store: WritableStore) -> None:
    """/clear, a fork or a new container continue the thread with a new session."""
    put(store, said("a", position=10), said("b", position=20))
    put(store, said("c"), of=event("s2"))
    assert branch(store) == ["a", "b", "c"]
    put(store, said("d", parent=Before("s1", 20)), of=event("s3"))
    assert branch(store) == ["a", "d"]
    put(store, said("e", parent=After("nobody knows it")), of=event("s3"))
    assert branch(store) == ["a", "d", "e"]


def test_a_fork_that_copies_records_goes_on_from_them(store: WritableStore) -> None:
    """The copies are the same messages, of the same turn; what follows is a branch."""
    copied = (TurnBegins("t"), said("a"), Usage("u", output=5), TurnEnds("succeeded"))
    put(store, *copied, said("b"))
    put(store, *copied, said("c"), of=event("s2", thread="other"))
    assert branch(store, "scout/other") == ["a", "c"]
    assert branch(store) == ["a", "b"]
    assert [turn.output for turn in store.turns(1)] == [5]
    assert store.turns(2) == ()


def test_a_turn_without_an_end_failed_when_the_next_begins(store: WritableStore) -> None:
    """A client that died in the middle leaves no turn open for ever."""
    put(store, TurnBegins("t1"), said("a"))
    put(store, TurnBegins("t2", at=9), said("b"), TurnEnds("succeeded", at=11))
    first, second = store.turns(1)
    assert (first.outcome, first.reason, first.ended) == ("failed", "no end seen", 9)
    assert (second.outcome, second.began, second.ended) == ("succeeded", 9, 11)


def test_a_repeated_beginning_ends_no_turn(store: WritableStore) -> None:
    """A transcript may be handed over from its beginning while a turn goes on."""
    put(store, TurnBegins("t1"), said("a"), TurnEnds("succeeded"), TurnBegins("t2"), said("b"))
    put(store, TurnBegins("t1"), said("a"), TurnEnds("succeeded"))
    assert [turn.outcome for turn in store.turns(1)] == ["succeeded", ""]
    put(store, TurnBegins("t2"), said("b"), said("c"), TurnEnds("succeeded"))
    assert [turn.outcome for turn in store.turns(1)] == ["succeeded", "succeeded"]
    assert [m.turn for m in store.messages(1)] == [1, 2, 2]


def test_an_outcome_changes_only_from_success(store: WritableStore) -> None:
    """What turned out to be interrupted was; what failed did not succeed after all."""
    put(store, TurnBegins("t"), TurnEnds("succeeded", at=1), TurnEnds("interrupted", at=2))
    put(store, TurnEnds("succeeded", at=3), TurnEnds("failed", at=4))
    (turn,) = store.turns(1)
    assert (turn.outcome, turn.ended) == ("interrupted", 2)


def test_inner_turns_are_kept_apart(store: WritableStore) -> None:
    """What a sub-agent says is recorded, and is neither on the main path nor counted."""
    put(
        store,
        TurnBegins("t"),
        said("a"),
        said("x", inner="agent-1"),
        TurnBegins("i", inner="agent-1"),
        said("y", inner="agent-1"),
        Usage("u1", input=1, inner="agent-1"),
        TurnEnds("failed", inner="agent-1"),
        Usage("u2", input=2, inner="agent-2"),
        said("b"),
    )
    assert branch(store) == ["a", "b"]
    a, x, y, _ = store.messages(1, branch=False)
    assert (x.parent, x.turn, y.parent, y.turn) == (a.id, 1, x.id, 2)
    main, inner = store.turns(1)
    assert (main.outcome, main.counts, main.input) == ("", True, 2)
    assert (inner.outcome, inner.counts, inner.input) == ("failed", False, 1)
    assert store.threads()[0].turns == 1


def test_turns_that_the_client_began_are_not_counted(store: WritableStore) -> None:
    """What is said in them is on the main path, and belongs to them."""
    put(store, TurnBegins("t"), said("a"), TurnEnds("succeeded"))
    put(store, TurnBegins("o", inner=ASKED_ITSELF), said("b"))
    put(store, TurnEnds("succeeded", inner=ASKED_ITSELF), said("c"))
    assert branch(store) == ["a", "b", "c"]
    assert [m.turn for m in store.messages(1)] == [1, 2, None]
    assert [turn.counts for turn in store.turns(1)] == [True, False]


def test_background_turns_are_not_counted(store: WritableStore) -> None:
    """PANNIER_TASK=1 says so."""
    put(store, TurnBegins("t"), of=event(task=True))
    assert [turn.counts for turn in store.turns(1)] == [False]


def test_counts_that_no_model_has_can_be_added_up(store: WritableStore) -> None:
    """A container that claims them does not keep people from looking at threads."""
    put(store, TurnBegins("t"), *(Usage(f"u{n}", output=(1 << 63) - 1) for n in range(3)))
    [turn] = store.turns(store.find_thread("scout").id)
    assert turn.output < 1 << 63


def test_usage_is_replaced_as_an_answer_grows(store: WritableStore) -> None:
    """Each model call counts once, with what was said of it last."""
    put(store, TurnBegins("t"), Usage("u", output=1, cache_read=7), Usage("v", output=10))
    put(store, TurnEnds("succeeded"), Usage("u", output=3, cache_read=7))
    (turn,) = store.turns(1)
    assert (turn.output, turn.cache_read) == (13, 7)


def test_groups_and_clients_do_not_meet(store: WritableStore) -> None:
    """The same key in another group is another message, and a search stays in its group."""
    put(store, said("a", "of scout"))
    put(store, said("a", "of pilot"), grp="pilot")
    assert [m.text for m in store.search("of", "scout")] == ["of scout"]
    assert [m.text for m in store.search("of", None)] == ["of pilot", "of scout"]
    assert [t.ref for t in store.threads("pilot")] == ["pilot/main"]


def test_a_thread_is_found_by_its_names(store: WritableStore) -> None:
    """FOLDER, FOLDER/THREAD, or the key that never changes."""
    put(store, said("a"))
    put(store, said("b"), of=event("s2", thread="plans/2026"))
    main, plans = store.threads()
    assert store.find_thread("scout") == store.find_thread(main.key) == main
    assert store.find_thread("scout/plans/2026") == plans
    with pytest.raises(UsageError, match="no thread scout/nothing"):
        store.find_thread("scout/nothing")
    with pytest.raises(UsageError, match=r"no thread scout/$"):
        store.find_thread("scout/")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("HELLO", True),
        ("world hello", True),
        ('"hello big"', True),
        ('"big hello"', False),
        ("hel*", True),
        ("hel", False),
        ("snake_case", True),
        ("cafe", True),
        ("世界", True),
        ("界世", False),
        ("こん", True),
        ("서울", True),
        ("nothing", False),
        ('" OR text : (', False),
        ("hello NOT world", False),
        ("", False),
        ("…", False),
        ("hello\0", True),
    ],
)
def test_search_finds_words(store: WritableStore, query: str, found: bool) -> None:
    """All words, phrases, beginnings; in scripts without spaces, too; and nothing is an error."""
    put(store, said("a", "Hello big world: snake_case café 你好世界 こんにちは 서울에서"))
    assert bool(store.search(query, "scout")) is found


def test_search_gives_the_newest_first(store: WritableStore) -> None:
    """As many as one asks for; what pannier injected is not found."""
    put(store, *(said(f"m{n}", "word") for n in range(5)))
    put(store, Message("i", "pannier", "memory", "word"), said("o"), of=event("s2", thread="b"))
    assert [m.key for m in store.search("word", "scout", limit=2)] == ["m4", "m3"]
    other = store.find_thread("scout/b").id
    assert store.search("word", "scout", thread=other) == ()


def test_the_head_can_be_moved(store: WritableStore) -> None:
    """Rolled back, the thread goes on from there; nothing is lost, and one can return."""
    put(store, said("a"), said("b"), said("c"))
    store.move_head(1, 1)
    assert branch(store) == ["a"]
    put(store, said("d"), of=event("s2"))
    assert branch(store) == ["a", "d"]
    store.move_head(1, 3)
    assert branch(store) == ["a", "b", "c"]
    put(store, said("z"), of=event("s3", thread="other"))
    for wrong in (5, 99):
        with pytest.raises(UsageError, match=f"m{wrong}"):
            store.move_head(1, wrong)


def test_what_was_erased_does_not_come_back(store: WritableStore) -> None:
    """Neither from the database, nor by an event that comes late; what is dropped is counted."""
    put(store, TurnBegins("t"), said("a", "secretword"), Usage("u", input=1))
    put(store, said("b", "other"), of=event("s2", thread="other"))
    erased = store.erase(1, [("claude", "not seen")])
    assert (erased.messages, erased.turns) == (1, 1)
    assert [s.session for s in erased.sessions] == ["s1"]
    assert erased.logs == (("claude", LOG.name),)
    assert put(store, said("a", "secretword"), said("c")) == 0
    assert put(store, said("c"), of=event("not seen")) == 0
    assert put(store, said("c"), of=event("not seen", at=1 << 62)) == 0
    assert store.dropped() == {"scout": 3}
    assert [t.ref for t in store.threads()] == ["scout/other"]
    assert store.search("secretword", "scout") == ()
    assert [m.text for m in store.search("other", "scout")] == ["other"]
    whole(store)
    for file in store.path.parent.iterdir():
        assert b"secretword" not in file.read_bytes()


def whole(store: WritableStore) -> None:
    """Nothing names what is gone, and the index holds what is there."""
    store.db.execute("INSERT INTO search (search) VALUES ('integrity-check')")
    assert store.db.execute("PRAGMA foreign_key_check").fetchall() == []
    for column in ("messages.parent", "threads.head", "tips.message"):
        table, name = column.split(".")
        query = (
            f"SELECT 1 FROM {table} WHERE {name} != 0 AND {name} NOT IN (SELECT id FROM messages)"
        )
        assert store.db.execute(query).fetchall() == []


@pytest.mark.parametrize("at", [1, 5, 1 << 62])
def test_a_new_session_may_speak_where_one_was_erased(store: WritableStore, at: int) -> None:
    """The name is free again, whatever a container's clock says; no number is used twice."""
    put(store, said("a"), said("b"))
    store.erase(1)
    put(store, said("c"), of=event("s2", at=at))
    put(store, said("d"), of=event("s2", at=6))
    (thread,) = store.threads()
    assert (thread.ref, branch(store)) == ("scout/main", ["c", "d"])
    assert [m.id for m in store.messages(thread.id)] == [3, 4]
    assert store.dropped() == {}


def test_erasing_leaves_what_others_said(store: WritableStore) -> None:
    """A thread that began from the erased one keeps its own messages, and no copy of others."""
    put(store, TurnBegins("t"), said("a"))
    copied = event("s2", thread="other")
    put(store, TurnBegins("t"), said("a"), said("b"), of=copied)
    store.erase(1)
    assert branch(store, "scout/other") == ["b"]
    put(store, TurnBegins("t"), said("a"), said("b"), said("c"), of=copied)
    assert branch(store, "scout/other") == ["b", "c"]
    assert store.turns(2) == ()
    whole(store)


def test_a_session_that_spoke_in_two_threads_goes_on_in_the_other(store: WritableStore) -> None:
    """What it said there follows what came before the erased, and so does what it says next."""
    there = event(thread="other")
    put(store, TurnBegins("1"), said("a"), said("b"))
    put(store, TurnBegins("2"), said("c"), said("d"), of=there)
    put(store, said("x"), of=event("s2", thread="other"))
    put(store, TurnBegins("3"), said("e", parent=After("d")), said("f"))
    put(store, TurnBegins("4"), said("g"), of=there)
    assert store.elsewhere(1, 2) == ("scout/main",)
    assert branch(store) == ["a", "b", "c", "d", "e", "f"]
    store.erase(2)
    assert branch(store) == ["a", "b", "e", "f"]
    whole(store)
    put(store, said("z"), of=there)
    put(store, TurnBegins("4"), said("g"), said("h", parent=After("g")), said("i"))
    assert branch(store) == ["a", "b", "e", "f", "h", "i"]
    assert [t.ref for t in store.threads()] == ["scout/main"]
    assert [turn.key for turn in store.turns(1)] == ["1", "3"]
    assert store.elsewhere(1, 1) == ()
    assert store.erase(1).messages == 6
    assert store.sessions(1) == ()
    whole(store)


def test_a_thread_that_stood_at_an_erased_message_stands_before_it(store: WritableStore) -> None:
    """Somebody went back in it to what came from another thread."""
    put(store, said("a"), said("b"))
    put(store, said("c"), of=event(thread="other"))
    put(store, said("d"))
    store.move_head(1, 3)
    store.erase(2)
    assert branch(store) == ["a", "b"]
    whole(store)


def test_odd_values_are_stored_all_the_same(store: WritableStore) -> None:
    """A transcript is a claim: numbers without bounds, keys without end, broken Unicode."""
    put(
        store,
        TurnBegins("t" * 5_000, inner="\ud800"),
        Message("k" * 5_000, "agent", "text", "a\ud800b", position=1 << 80, at=-5, inner="\ud800"),
        Usage("\udfff", input=1 << 70, output=-1),
        said("next", parent=After("k" * 5_000)),
    )
    odd, after = store.messages(1, branch=False)
    assert (odd.text, odd.at, after.parent) == ("a\ufffdb", 5, odd.id)


def test_a_database_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """Looking makes no file."""
    with open_store(tmp_path / "threads.db") as store:
        assert store.threads() == ()
    assert list(tmp_path.iterdir()) == []


def test_reading_cannot_write(store: WritableStore) -> None:
    """Who opens it for reading sees what is there, and changes nothing."""
    put(store, said("a"))
    with open_store(store.path) as reader:
        assert len(reader.threads()) == 1
        with pytest.raises(Exception, match="readonly"):
            reader.db.execute("DELETE FROM messages")


def test_the_file_is_for_its_owner_alone(store: WritableStore) -> None:
    """It holds all that was said."""
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    """One line, with the file and the way out."""
    file = tmp_path / "threads.db"
    file.write_text("not a database, but long enough to be looked at" * 100)
    with pytest.raises(PannierError, match=f"{file}: file is not a database"):
        open_store(file, write=True)


@pytest.mark.parametrize("writer", ["none", "alive", "killed"])
def test_a_folder_that_cannot_be_written_can_be_read(
    tmp_path: Path, writer: str, unwritable: Unwritable
) -> None:
    """What SQLite allows is read, and what is missing is said."""
    folder = tmp_path / "state"
    store = open_store(folder / "threads.db", write=True)
    put(store, said("a"))
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    put(store, said("b"))
    left = {name: (folder / name).read_bytes() for name in ("threads.db", "threads.db-wal")}
    if writer != "alive":
        store.close()
    if writer == "killed":  # Without the index that processes share.
        for name, data in left.items():
            (folder / name).write_bytes(data)
    with unwritable(folder), open_store(folder / "threads.db") as reader:
        keys, note = branch(reader), reader.caveat
    assert keys == (["a"] if writer == "killed" else ["a", "b"])
    assert ("is read as it lies there" in note) == (writer != "alive")
    assert ("threads.db-wal" in note) == (writer == "killed")
    store.close()
