"""What lessons can be learned from is counted once, and read once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.clients.transcript import (
    ASKED_ITSELF,
    After,
    Entry,
    HeadMoves,
    Message,
    Reading,
    TurnBegins,
    TurnEnds,
)
from pannier.database import migrate
from pannier.threads.learnable import (
    Activity,
    activities,
    count_after,
    deleted_threads,
    latest_results,
    new_messages,
    threads_with_new,
)
from pannier.threads.schema import MIGRATIONS
from pannier.threads.store import WritableStore, open_store
from pannier_hook.events import Event

DAY = 86_400 * 10**9


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    with open_store(tmp_path / "threads.db", write=True) as opened:
        yield opened


def put(
    store: WritableStore,
    *entries: Entry,
    thread: str = "main",
    session: str = "s1",
    grp: str = "scout",
    task: bool = False,
) -> None:
    event = Event(
        "stop", id="0" * 16, at=5, client="claude", session=session, thread=thread, task=task
    )
    store.apply(grp, event, Reading(entries))


def said(key: str, **more: object) -> Message:
    return Message(key, "person", "text", key, **more)  # type: ignore[arg-type]


def turn(key: str, outcome: str = "succeeded", *, at: int = 5, inner: str = "") -> list[Entry]:
    return [
        TurnBegins(f"t{key}", at, inner=inner),
        said(key, inner=inner),
        TurnEnds(outcome, at, inner=inner),  # type: ignore[arg-type]
    ]


def keys(store: WritableStore, thread: int = 1, after: int = 0) -> str:
    return "".join(message.key for message in new_messages(store, thread, after))


# ------------------------------------------------------------------------------------- what counts


def test_turns_of_all_threads_count_together(store: WritableStore) -> None:
    """Each group for itself, in the order in which it was heard of."""
    put(store, *turn("a", at=100))
    put(store, *turn("b", at=300), thread="other", session="s2")
    put(store, *turn("c", at=200), grp="pilot")
    put(store, *turn("d", at=200))
    found = activities(store)
    assert found == {"scout": Activity(4, 300, 0), "pilot": Activity(3, 200, 0)}
    assert count_after(store, "scout", 0, 9) == 3
    assert count_after(store, "scout", 0, 2) == 2
    assert count_after(store, "scout", 1, 9) == 2
    assert count_after(store, "pilot", 3, 9) == count_after(store, "nobody", 0, 9) == 0


def test_neither_failed_nor_inner_turns_count(store: WritableStore) -> None:
    """Nor those of background tasks, nor what the client asked itself."""
    put(store, *turn("a", "failed"), *turn("b", "interrupted"), *turn("c", inner="sub"))
    put(store, *turn("d", inner=ASKED_ITSELF), TurnBegins("goes on"))
    put(store, *turn("e"), task=True, thread="task", session="s2")
    assert count_after(store, "scout", 0, 9) == 0


def test_a_turn_that_turns_out_to_have_failed_counts_no_more(store: WritableStore) -> None:
    """What had counted it already stays behind its number."""
    put(store, *turn("a"), *turn("b"))
    put(store, TurnBegins("tb"), TurnEnds("failed"))
    assert count_after(store, "scout", 0, 9) == 1
    put(store, *turn("c"))
    assert activities(store)["scout"].last_success_id == 3


def test_a_turn_that_was_taken_for_broken_off_counts_once_it_succeeds(
    store: WritableStore,
) -> None:
    """And when it is heard of again it counts no second time."""
    put(store, TurnBegins("t"), said("a"))
    left = Event(
        "session-end", id="1" * 16, at=5, client="claude", session="s1", details={"left": "1"}
    )
    store.apply("scout", left, Reading(()))
    assert count_after(store, "scout", 0, 9) == 0
    for _ in range(2):
        put(store, TurnBegins("t"), said("b"), TurnEnds("succeeded"))
        assert count_after(store, "scout", 0, 9) == 1


def test_an_end_in_the_future_is_not_believed(store: WritableStore) -> None:
    """A container cannot keep a group from ever being idle."""
    put(store, *turn("a", at=2**62))
    assert activities(store)["scout"].last_at <= time.time_ns()


def test_a_deleted_thread_counts_no_more(store: WritableStore) -> None:
    """Its numbers are not used again."""
    put(store, *turn("a"), *turn("b"))
    put(store, *turn("c"), thread="other", session="s2")
    store.erase(1)
    assert count_after(store, "scout", 0, 9) == 1
    put(store, *turn("d"), session="s3")
    assert activities(store)["scout"].last_success_id == 4


def test_what_succeeded_before_there_was_a_count_counts(tmp_path: Path) -> None:
    """The first start of a pannier that learns finds what was said before."""
    file = tmp_path / "old.db"
    db = sqlite3.connect(file, isolation_level=None)
    migrate(db, MIGRATIONS[:3])
    db.execute("INSERT INTO scopes VALUES (1, 'scout', 'claude')")
    db.execute("INSERT INTO threads (id, grp, name, key, created) VALUES (1, 'scout', 'm', 'k', 0)")
    db.execute("INSERT INTO sessions VALUES (1, 1, 's', 1, '', 0, '{}')")
    rows = [(8, "succeeded", "", 0), (5, "succeeded", "", 0), (2**62, "succeeded", "", 0)]
    rows += [(6, "failed", "", 0), (7, "succeeded", "sub", 0), (7, "succeeded", "", 1)]
    for number, (ended, outcome, inner, task) in enumerate(rows):
        db.execute(
            "INSERT INTO turns (scope, thread, session, key, began, ended, outcome, inner, task)"
            " VALUES (1, 1, 1, ?, 0, ?, ?, ?, ?)",
            (f"t{number}", ended, outcome, inner, task),
        )
    db.close()
    with open_store(file) as store:
        found = store.db.execute("SELECT turn FROM successes ORDER BY id").fetchall()
        assert found == [(2,), (1,), (3,)]
        assert activities(store)["scout"].last_at <= time.time_ns()


def test_the_newest_compaction_is_known(store: WritableStore) -> None:
    """That of a sub-agent is none of the thread's."""
    summary = Message("sum", "client", "compaction", "what was before")
    put(store, said("a"), summary)
    put(store, Message("inner", "client", "compaction", "its own", inner="sub"))
    put(store, said("b"), grp="pilot")
    assert activities(store) == {"scout": Activity(0, 0, 2), "pilot": Activity()}


# -------------------------------------------------------------------------------------- what is new


def test_only_what_was_said_in_the_conversation_is_learned_from(store: WritableStore) -> None:
    """Not what was injected, thoughts, what the client added, or a sub-agent's steps."""
    put(
        store,
        Message("memory", "pannier", "memory", "remembered"),
        said("P"),
        Message("Q", "pannier", "message", "of the queue"),
        Message("notice", "client", "text", "notice"),
        Message("summary", "client", "compaction", "before"),
        Message("thought", "agent", "thinking", "hm"),
        Message("C", "agent", "call", "{}", tool="Task", call="c"),
        Message("step", "agent", "text", "inner", inner="sub"),
        Message("R", "tool", "result", "report of the sub-agent", call="c"),
        Message("raw", "client", "raw", "{}"),
        Message("A", "agent", "text", "done"),
    )
    put(store, *turn("background"), task=True, session="s2")
    assert keys(store) == "PQCRA"
    assert keys(store, after=9) == "A"
    assert [m.key for m in new_messages(store, 1, 0, 2)] == ["P", "Q"]


def test_reports_of_sub_agents_are_learned_from(store: WritableStore) -> None:
    """Also where the client puts them into the conversation, as Claude Code and Codex do."""
    told = "<task-notification>\n<task-id>1</task-id>\n<result>done</result>\n</task-notification>"
    put(
        store,
        Message("N", "client", "text", told),
        Message("M", "client", "text", "Message Type: FINAL_ANSWER\nSender: /root\nPayload:\ndone"),
        Message("shell", "client", "text", "<task-notification>\n<status>completed</status>"),
        Message("inner", "client", "text", told, inner="sub"),
    )
    assert keys(store) == "NM"


def test_a_turn_is_read_when_it_is_over(store: WritableStore) -> None:
    """However it ended. What comes after one that goes on waits with it."""
    put(store, *turn("a"), *turn("b", "failed"), TurnBegins("tc"), said("c"))
    put(store, *turn("d"), session="s2")
    assert keys(store) == "ab"
    put(store, said("e"), TurnEnds("interrupted"))
    assert keys(store) == "abcde"


def test_a_turn_that_nobody_ends_does_not_hold_up_a_thread_for_ever(store: WritableStore) -> None:
    """A day later it is read as it stands."""
    put(store, TurnBegins("ta", DAY), said("a"))
    put(store, *turn("b", at=DAY + 5), session="s2")
    assert keys(store) == ""
    put(store, *turn("c", at=3 * DAY), session="s2")
    assert keys(store) == "abc"


def test_what_was_undone_is_not_learned_from(store: WritableStore) -> None:
    """Neither when the client went back, nor when a person moved the head."""
    put(store, *turn("a"), *turn("b"), HeadMoves(After("a")), *turn("c"), *turn("d"))
    assert keys(store) == "acd"
    store.move_head(1, 3)
    assert keys(store) == "ac"
    put(store, *turn("e"), session="s2")
    assert keys(store) == "ace"


def test_two_sessions_at_once_are_both_read(store: WritableStore) -> None:
    """The thread stands where one of them spoke last; what the other said was not undone."""
    put(store, *turn("a"))
    put(store, said("b"), session="s2")
    put(store, said("c"))
    put(store, said("d"), session="s2")
    assert keys(store) == "abcd"


def test_each_thread_reads_its_own(store: WritableStore) -> None:
    """A fork into another thread reads not again what it began from."""
    put(store, *turn("a"), *turn("b"))
    put(store, *turn("c"), *turn("d"), thread="fork", session="s2")
    put(store, said("x", parent=After("a")), thread="fork", session="s3")
    assert (keys(store, 1), keys(store, 2)) == ("ab", "cdx")


def test_threads_with_something_new_are_found(store: WritableStore) -> None:
    """By their marks; who spoke last comes last."""
    put(store, *turn("a"))
    put(store, *turn("b"), thread="two", session="s2")
    put(store, Message("m", "pannier", "memory", "x"), thread="silent", session="s3")
    put(store, *turn("c"), grp="pilot")
    put(store, *turn("d"), thread="open", session="s4")
    put(store, TurnBegins("te"), said("e"), thread="open", session="s4")
    threads = {t.name: t for t in store.threads("scout")}

    def fresh(**upto: int) -> list[str]:
        marks = {threads[name].key: number for name, number in upto.items()}
        return [thread.name for thread in threads_with_new(store, "scout", marks)]

    assert fresh() == ["main", "two", "open"]
    assert fresh(main=1, open=5) == ["two"]
    store.erase(threads["two"].id)
    assert fresh(main=1, open=5) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["say", "start", "end", "back", "other", "read"]), max_size=40))
def test_everything_is_read_once(steps: list[str]) -> None:
    """Whenever it is read in between: nothing twice, and in the end all of the head's branch."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db, MIGRATIONS)
    with WritableStore(Path("threads.db"), db) as store:
        session, open_, upto = "s1", False, 0
        read: list[int] = []
        put(store, said("first"))
        for number, step in enumerate([*steps, "end", "read"]):
            if step == "say":
                put(store, said(f"m{number}"), session=session)
            elif step == "start":
                put(store, TurnBegins(f"t{number}"), said(f"m{number}"), session=session)
                open_ = True
            elif step == "end" and open_:
                put(store, TurnEnds("succeeded"), session=session)
                open_ = False
            elif step == "back" and not open_:
                branch = store.messages(1)
                if len(branch) > 1:
                    put(store, HeadMoves(After(branch[-2].key)), session=session)
            elif step == "other" and not open_:
                session = f"s{number}"
            elif step == "read":
                found = new_messages(store, 1, upto)
                read += (message.id for message in found)
                upto = max(read, default=0)
        assert len(read) == len(set(read))
        assert {message.id for message in store.messages(1)} <= set(read)


def test_deleted_threads_are_known_by_their_keys(store: WritableStore) -> None:
    """Those of the group; one that is not there at all is none."""
    put(store, *turn("a"))
    put(store, *turn("b"), grp="pilot")
    keys_ = {thread.grp: thread.key for thread in store.threads()}
    assert deleted_threads(store, "scout") == frozenset()
    store.erase(1)
    store.erase(2)
    assert deleted_threads(store, "scout") == {keys_["scout"]}


# ------------------------------------------------------------------------------ what tools put out


def put_out(key: str, text: str = "", **more: object) -> Message:
    return Message(key, "tool", "result", text or key, **more)  # type: ignore[arg-type]


def test_what_tools_put_out_last(store: WritableStore) -> None:
    """Of one thread, up to a message, the newest ones, in order, each cut; also what was undone,
    and what sub-agents saw and reported; nothing that others said."""
    put(
        store,
        said("a"),
        put_out("b"),
        put_out("c", inner="sub"),
        HeadMoves(After("a")),
        Message("d", "client", "text", "<task-notification>d<result>x</result>"),
        put_out("e", "e" * 90),
        put_out("f"),
    )
    put(store, put_out("g"), thread="other", session="s2")
    found = latest_results(store, 1, 5, 9, 40)
    assert [one.key for one in found] == ["b", "c", "d", "e"]
    assert found[-1].text == "e" * 40
    assert [one.key for one in latest_results(store, 1, 9, 2, 40)] == ["e", "f"]
    assert latest_results(store, 3, 9, 9, 40) == ()
