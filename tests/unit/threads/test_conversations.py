"""The readable transcripts in `conversations/`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pannier import safefs
from pannier.clients.transcript import After, Entry, Message, Reading, TurnBegins
from pannier.errors import UnsafePath
from pannier.paths import Home
from pannier.settings import Conversations
from pannier.threads import conversations, shelf
from pannier.threads.conversations import Extended
from pannier.threads.store import WritableStore, open_store
from pannier_hook.events import Event

NOON = 1_795_953_600_000_000_000  # 2026-11-29 12:00 UTC
NOW = NOON / 1e9
FOR_EVER = Conversations(keep_days=None, keep=None)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "groups" / "scout").mkdir(parents=True)
    return Home(tmp_path)


@pytest.fixture
def store(home: Home) -> Iterator[WritableStore]:
    with open_store(home.state / "threads.db", write=True) as opened:
        yield opened


def put(store: WritableStore, *entries: Entry, thread: str = "main", session: str = "") -> None:
    event = Event(
        "stop", id="0" * 16, at=NOON, client="claude", session=session or thread, thread=thread
    )
    store.apply("scout", event, Reading(entries))


def said(key: str, text: str = "", **more: object) -> Message:
    return Message(key, "person", "text", text or key, **more)  # type: ignore[arg-type]


def extend(home: Home, store: WritableStore, keep: Conversations = FOR_EVER) -> tuple[str, ...]:
    done = conversations.extend(home, "scout", store, keep, now=NOW)
    while done.more:
        done = conversations.extend(home, "scout", store, keep, now=NOW)
    return done.written


def folder(home: Home) -> Path:
    return home.group("scout").conversations


def pages(home: Home) -> dict[str, str]:
    return {p.name: p.read_text() for p in sorted(folder(home).iterdir())}


def numbers(home: Home) -> list[int]:
    """The messages on all pages, page by page."""
    files = sorted(pages(home), key=lambda n: int((re.findall(r"-(\d{1,5})\.md", n) or [1])[0]))
    return [int(n) for f in files for n in re.findall(r"^## .* m(\d+)", pages(home)[f], re.M)]


def test_a_thread_has_a_page_that_is_extended(home: Home, store: WritableStore) -> None:
    """Named by date, thread and key; what stood there stays as it was."""
    put(store, TurnBegins("1"), said("a"))
    [name] = extend(home, store)
    key = store.find_thread("scout").key
    assert name == f"2026-11-29-main-{key}.md"
    before = pages(home)[name]
    assert before.startswith("# scout/main, part 1\n")
    put(store, TurnBegins("2"), said("b"))
    assert extend(home, store) == (name,)
    assert pages(home)[name].startswith(before.rpartition("<!--")[0])
    assert numbers(home) == [1, 2]
    assert extend(home, store) == ()


def test_each_thread_has_pages_of_its_own(home: Home, store: WritableStore) -> None:
    """Whatever a thread is called, its page lies in the folder and its name holds no surprise."""
    put(store, said("a"), thread="../../etc/x <b>")
    put(store, said("b"), thread="世界")
    extend(home, store)
    assert sorted(re.sub(r"[0-9a-f]{8}\.md", "KEY.md", name) for name in pages(home)) == [
        "2026-11-29-etc-x-b-KEY.md",
        "2026-11-29-thread-KEY.md",
    ]
    assert "# scout/../../etc/x__b_, part 1" in "".join(pages(home).values())


def test_a_long_thread_has_parts(
    home: Home, store: WritableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page is much longer than the limit; each message is on one of them, in order."""
    monkeypatch.setattr(conversations, "LARGEST", 2_000)
    for n in range(40):
        put(store, TurnBegins(f"{n}"), said(f"k{n}", "x" * 300))
        if n % 3 == 0:
            extend(home, store)
    extend(home, store)
    assert numbers(home) == list(range(1, 41))
    assert max(map(len, pages(home).values())) < 2_500
    assert len(pages(home)) > 5
    assert re.search(r"-12\.md|-8\.md", " ".join(pages(home)))


def test_more_than_one_call_may_look_at(
    home: Home, store: WritableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that was just taken over is written in several calls, and nothing twice."""
    monkeypatch.setattr(conversations, "AT_ONCE", 7)
    put(store, *(said(f"k{n}") for n in range(30)))
    assert conversations.extend(home, "scout", store, FOR_EVER, now=NOW).more
    extend(home, store)
    assert numbers(home) == list(range(1, 31))


def test_a_rewind_is_noted_over_calls(home: Home, store: WritableStore) -> None:
    """Also when the page was written before, what follows says after which message it goes on."""
    put(store, TurnBegins("1"), said("a"), TurnBegins("2"), said("b"))
    extend(home, store)
    put(store, TurnBegins("3"), said("c", parent=After("a")))
    extend(home, store)
    [text] = pages(home).values()
    assert text.count("*Back to m1: what follows goes on from there, not from m2.*") == 1


# ------------------------------------------------------------------------------------------- faults


class Killed(BaseException):
    """SIGKILL, as far as the code can tell."""


@given(
    cuts=st.lists(st.integers(0, 30), min_size=1, max_size=12), large=st.sampled_from([400, 9_999])
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_killed_anywhere_the_next_call_makes_it_whole(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], large: int
) -> None:
    """Each message stands on the pages once, whatever was written when it ended."""
    home = Home(tmp_path_factory.mktemp("home"))
    (home.groups / "scout").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversations, "LARGEST", large)
        with open_store(home.state / "threads.db", write=True) as store:
            for number, cut in enumerate(cuts):
                put(store, TurnBegins(f"{number}"), said(f"k{number}", "x" * 150))
                _killed_after(home, store, cut)
            extend(home, store)
            assert numbers(home) == list(range(1, len(cuts) + 1))


def _killed_after(home: Home, store: WritableStore, steps: int) -> None:
    """Run, and end at the given one of the system calls that change something."""
    left = steps
    real = {name: getattr(os, name) for name in ("write", "replace", "link", "fsync")}

    def step(name: str):  # type: ignore[no-untyped-def]
        def call(*args: object, **more: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return real[name](*args, **more)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in real:
            patch.setattr(os, name, step(name))
        with suppress(Killed):
            conversations.extend(home, "scout", store, FOR_EVER, now=NOW)


def test_what_a_kill_left_is_cleared_away(home: Home, store: WritableStore) -> None:
    """A half-written page under its temporary name, once nobody can be writing it any more."""
    put(store, said("a"))
    extend(home, store)
    left = folder(home) / ".0123456789abcdef.pannier-new"
    left.write_text("half")
    os.utime(left, (NOW - 60, NOW - 60))
    conversations.extend(home, "scout", store, FOR_EVER, now=NOW)
    assert left.exists()
    conversations.extend(home, "scout", store, FOR_EVER, now=NOW + 7_200)
    assert not left.exists()
    assert numbers(home) == [1]


def test_without_its_memory_it_goes_by_the_pages(home: Home, store: WritableStore) -> None:
    """The state beside them is lost: nothing is written twice."""
    put(store, TurnBegins("1"), said("a"))
    extend(home, store)
    (home.state / "conversations" / "scout.json").write_text("no json")
    put(store, TurnBegins("2"), said("b"))
    extend(home, store)
    assert numbers(home) == [1, 2]


def test_what_a_person_wrote_there_stays(home: Home, store: WritableStore) -> None:
    """A note at the end is not overwritten: the thread goes on in a new part."""
    put(store, TurnBegins("1"), said("a"))
    [name] = extend(home, store)
    with (folder(home) / name).open("a") as file:
        file.write("my note\n")
    put(store, TurnBegins("2"), said("b"))
    [second] = extend(home, store)
    assert second == name.replace(".md", "-2.md")
    assert pages(home)[name].endswith("my note\n")
    assert numbers(home) == [1, 2]


def test_a_change_in_the_middle_stays_too(home: Home, store: WritableStore) -> None:
    """Somebody blacked something out: the page is extended, and it stays blacked out."""
    put(store, TurnBegins("1"), said("a", "the name of Dana"))
    [name] = extend(home, store)
    page = folder(home) / name
    page.write_text(page.read_text().replace("Dana", "####"))
    put(store, TurnBegins("2"), said("b"))
    extend(home, store)
    assert "> the name of ####" in pages(home)[name]
    assert numbers(home) == [1, 2]


def test_no_words_stand_for_the_last_line(home: Home, store: WritableStore) -> None:
    """Somebody removed it, and what was said last looks like it: nothing is passed over."""
    put(store, TurnBegins("1"), said("a", "<!-- up to m99, m99 -->"))
    [name] = extend(home, store)
    page = folder(home) / name
    page.write_text(page.read_text().rpartition("\n<!--")[0])
    (home.state / "conversations" / "scout.json").unlink()
    put(store, TurnBegins("2"), said("b"))
    extend(home, store)
    assert 2 in numbers(home)


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_odd_things_in_place_of_a_page(home: Home, store: WritableStore, kind: str) -> None:
    """A link is not written through, a pipe not waited for: the thread goes on in a new part."""
    put(store, said("a"))
    [name] = extend(home, store)
    page = folder(home) / name
    page.unlink()
    target = home.root / "target"
    target.write_text("mine")
    {
        "link": lambda: page.symlink_to(target),
        "folder": page.mkdir,
        "pipe": lambda: os.mkfifo(page),
    }[kind]()
    put(store, said("b"))
    assert extend(home, store) == (name.replace(".md", "-2.md"),)
    assert target.read_text() == "mine"
    conversations.forget(home, "scout", store.find_thread("scout").key)
    assert target.read_text() == "mine"


def test_a_link_in_place_of_the_folder_is_refused(home: Home, store: WritableStore) -> None:
    """Nothing is written where it leads."""
    elsewhere = home.root / "elsewhere"
    elsewhere.mkdir()
    folder(home).symlink_to(elsewhere)
    put(store, said("a"))
    with pytest.raises(UnsafePath):
        extend(home, store)
    assert list(elsewhere.iterdir()) == []


def test_a_full_disk_loses_nothing(
    home: Home, store: WritableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as it is, and the next call writes what is missing."""
    put(store, said("a"))
    with monkeypatch.context() as patch:

        def full(*args: object, **more: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(safefs, "write", full)
        with pytest.raises(OSError, match="No space"):
            extend(home, store)
    extend(home, store)
    assert numbers(home) == [1]


# --------------------------------------------------------------------------------- kept for a time


def test_old_pages_go_and_do_not_come_back(home: Home, store: WritableStore) -> None:
    """A page that was not changed for so many days is removed; what is new begins the next part."""
    put(store, TurnBegins("1"), said("a"))
    [name] = extend(home, store)
    old = NOW - 31 * 86_400
    os.utime(folder(home) / name, (old, old))
    done = conversations.extend(home, "scout", store, Conversations(keep_days=30), now=NOW)
    assert done.removed == (name,)
    assert extend(home, store) == ()
    put(store, TurnBegins("2"), said("b"))
    [second] = extend(home, store)
    assert second == name.replace(".md", "-2.md")
    assert numbers(home) == [2]


def test_only_so_many_pages_are_kept(home: Home, store: WritableStore) -> None:
    """The newest; what is no page of ours is neither counted nor removed."""
    for n in range(5):
        put(store, said(f"k{n}"), thread=f"t{n}")
    extend(home, store)
    for n, name in enumerate(sorted(pages(home))):
        os.utime(folder(home) / name, (NOW - 9 + n, NOW - 9 + n))
    (folder(home) / "notes.md").write_text("mine")
    done = conversations.extend(home, "scout", store, Conversations(keep=2), now=NOW)
    assert len(done.removed) == 3
    left = [name.split("-")[3] for name in sorted(pages(home)) if name != "notes.md"]
    assert left == ["t3", "t4"]
    assert "notes.md" in pages(home)


def test_threads_that_would_not_be_kept_get_no_page(home: Home, store: WritableStore) -> None:
    """Of many, those that spoke last; one of the others gets its page once it speaks again."""
    for n in range(5):
        put(store, said(f"k{n}"), thread=f"t{n}")
    keep = Conversations(keep=2)
    assert [name.split("-")[3] for name in extend(home, store, keep)] == ["t3", "t4"]
    put(store, said("k5"), thread="t0")
    [name] = extend(home, store, keep)
    assert (name.split("-")[3], "> k0" in pages(home)[name]) == ("t0", True)
    assert extend(home, store, keep) == ()


def test_many_threads_hold_nobody_up(
    home: Home, store: WritableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group writes some pages at a time; another has its turn in the same call."""
    for n in range(9):
        put(store, said(f"k{n}"), thread=f"t{n}")
    store.apply(
        "other",
        Event("stop", id="0" * 16, at=NOON, client="claude", session="o"),
        Reading((said("o"),)),
    )
    store.close()
    for group in ("scout", "other"):
        (home.root / "groups" / group).mkdir(exist_ok=True)
        (home.root / "groups" / group / "group.yaml").write_text("client: custom\n")
    turns: list[str] = []
    real = conversations.extend

    def one_page(home: Home, group: str, *args: Any, **more: Any) -> Extended:
        turns.append(group)
        return real(home, group, *args, **more | {"seconds": 0})

    monkeypatch.setattr(conversations, "extend", one_page)
    kept = conversations.keep_up(home, {}, seconds=60)
    assert (kept.behind, kept.problems) == (set(), {})
    assert (len(pages(home)), len(list(home.group("other").conversations.iterdir()))) == (9, 1)
    assert "other" in turns[:2]
    assert len(turns) == 10


@given(
    st.lists(st.floats(0, 1e6), max_size=20),
    st.none() | st.integers(1, 10),
    st.none() | st.integers(1, 10),
)
def test_which_are_kept(ages: list[float], keep: int | None, days: int | None) -> None:
    """None older than the days, no more than the number, and never an older one before a newer."""
    files = [shelf.File(f"{n}", NOW - age) for n, age in enumerate(ages)]
    gone = set(shelf.superfluous(files, Conversations(keep=keep, keep_days=days), NOW))
    left = [f for f in files if f.name not in gone]
    assert keep is None or len(left) <= keep
    assert days is None or all(NOW - f.changed <= days * 86_400 for f in left)
    for f in files:
        if f.name in gone:
            assert all(other.changed >= f.changed for other in left)
    if keep is None and days is None:
        assert not gone


def test_a_forgotten_thread_leaves_nothing(home: Home, store: WritableStore) -> None:
    """Its pages go, those of others stay."""
    put(store, said("a"))
    put(store, said("b"), thread="other")
    extend(home, store)
    key = store.find_thread("scout").key
    assert any(key in name for name in pages(home))
    assert conversations.forget(home, "scout", key) == ()
    assert list(pages(home)) == [n for n in pages(home) if "other" in n]
    assert key not in (home.state / "conversations" / "scout.json").read_text()
