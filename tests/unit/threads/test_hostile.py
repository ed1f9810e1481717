"""What an agent can do to its spool costs bounded time, and harms no other group."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pannier.reports import read_reports
from pannier.threads import backlog, spool
from pannier.threads.intake import sweep, take_in
from pannier_hook.events import FILE_LIMIT

from .handing import Hands, home_with


@pytest.fixture
def hands(tmp_path: Path) -> Hands:
    return home_with(tmp_path, ("scout", "pilot"))


def header(**members: object) -> bytes:
    values: dict[str, object] = {
        "v": 2,
        "kind": "user-prompt",
        "id": "0" * 16,
        "part": [1, 1],
        "at": 5,
        "hook": "0.1.0",
        "client": "custom",
        "session": "s1",
        "thread": "main",
        "task": False,
        "turn": "",
        "agent": "",
        "details": {"prompt": "x"},
    }
    return json.dumps(values | members).encode() + b"\n"


def link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 30)


def folder(path: Path) -> None:
    (path / "in" / "it").mkdir(parents=True)
    (path / "in" / "file").write_text("x")


def content(data: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(data)

    return make


ODD: dict[str, tuple[Callable[[Path], None], str]] = {
    "link": (link, "symbolic link"),
    "fifo": (os.mkfifo, "FIFO"),
    "sparse": (sparse, "longer than"),
    "folder": (folder, "folder"),
    "empty": (content(b""), "without a header"),
    "binary": (content(b"\xff\xfe\n"), "not text in UTF-8"),
    "no event": (content(b"{}\n"), "without the number of its format"),
    "no kind": (content(header(kind=None)), "without its kind"),
    "deep": (content(b"[" * 200_000 + b"\n"), ""),
    "deep member": (content(header()[:-2] + b', "x": ' + b"[" * 100_000 + b"\n"), ""),
    "number": (content(b"9" * 100_000 + b"\n"), ""),
    "later": (content(header(v=3)), "later hook"),
    "later kind": (content(header(kind="dream")), "later hook"),
    "client": (content(header(client="nobody")), "client 'nobody'"),
    "id": (content(header(id="../../etc")), "id"),
    "name": (content(header(thread="a\nb")), "thread"),
    "at": (content(header(at=1 << 80)), "at"),
    "part": (content(header(part=[2, 1])), "part"),
    "body": (content(header() + b"{}\n"), "log"),
    "long": (content(header() + b"x" * FILE_LIMIT), "longer than"),
}


@pytest.mark.parametrize("what", ODD)
def test_what_cannot_be_read_is_put_aside_with_its_reason(hands: Hands, what: str) -> None:
    """And what comes before and after it is stored."""
    make, reason = ODD[what]
    hands.prompt("before")
    hands.lay("x", b"")
    new = hands.spool() / "new"
    (new / "x").unlink()
    make(new / f"{hands.now + 1:020d}-odd")
    hands.answer("after")
    begin = time.monotonic()
    taken = hands.take_in()
    assert time.monotonic() - begin < 3
    assert hands.said() == ["before", "after"]
    assert taken.rejected == {"scout": 1}
    assert hands.waiting() == []
    file, why = hands.waiting(of="rejected")
    assert why == f"{file}{spool.WHY}"
    assert reason in (hands.spool() / "rejected" / why).read_text()
    ((told, count),) = read_reports(hands.spool()).rejected
    assert reason in told
    assert count == 1
    assert "Error" not in told
    assert "UnknownFormat" not in told
    assert "new" not in told


def test_names_say_nothing(hands: Hands) -> None:
    """Names in other encodings, with newlines, or that look like something else, give the order."""
    new = hands.lay("first", hands.event(details={"prompt": "1"}).encode()).parent
    names = [b"\xff\xfe", b"a\nb", b"-rf", b"..x", "ü".encode("latin-1"), b"n" * 255, b"x.why"]
    for number, name in enumerate(names, 2):
        data = hands.event(details={"prompt": str(number)}, session=f"s{number}").encode()
        (Path(os.fsdecode(os.fsencode(new) + b"/" + name))).write_bytes(data)
    hands.take_in()
    assert sorted(hands.said()) == ["1", "2", "3", "4", "5", "6", "7", "8"]
    assert hands.waiting() == []


@pytest.mark.parametrize("name", ["spool/new", "spool/rejected"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_folders_in_whose_place_something_lies_harm_nobody_else(
    hands: Hands, tmp_path: Path, name: str, kind: str
) -> None:
    """No link is followed; what can be stored is; somebody is told."""
    outside = tmp_path / "outside"
    outside.mkdir()
    place = hands.home.group("scout").root / name
    place.symlink_to(outside) if kind == "link" else place.touch()
    if name == "spool/rejected":
        hands.lay("0", b"odd")
        hands.prompt("hello")
    hands.prompt("hi", "pilot")
    taken = hands.take_in()
    assert "scout" in taken.problems
    assert hands.said("pilot") == ["hi"]
    assert list(outside.iterdir()) == []
    if name == "spool/rejected":
        assert hands.said() == ["hello"]
        assert hands.waiting() == ["0"]


def test_what_was_put_aside_is_bounded(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a flood the rest is removed, and of what was put aside earlier the oldest."""
    monkeypatch.setattr(spool, "MOST_REJECTED", 10)
    monkeypatch.setattr(backlog, "MOST_REJECTED", 10)
    monkeypatch.setattr(spool, "MOST_REPORTS", 5)
    for number in range(30):
        hands.lay(f"{number:03d}", b"%d" % number)
        hands.put(hands.event("error", details={"event": "stop", "text": str(number)}))
    hands.take_in()
    kept = [name for name in hands.waiting(of="rejected") if not name.endswith(spool.WHY)]
    texts = [(hands.spool() / "rejected" / name).read_bytes() for name in kept]
    assert texts == [b"%d" % number for number in range(10)]
    for number in range(30, 33):
        hands.lay(f"{number:03d}", b"%d" % number)
    hands.take_in()
    kept = [name for name in hands.waiting(of="rejected") if not name.endswith(spool.WHY)]
    texts = [(hands.spool() / "rejected" / name).read_bytes() for name in kept]
    assert texts == [b"%d" % number for number in (*range(3, 10), *range(30, 33))]
    assert len(hands.waiting(of="reports")) == 5
    errors = [text for text, _ in read_reports(hands.spool()).errors]
    assert sorted(text[-2:] for text in errors) == ["25", "26", "27", "28", "29"]


def test_large_things_that_were_put_aside_go_first(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is not filled by what nobody can read."""
    monkeypatch.setattr(spool, "MOST_REJECTED_BYTES", 1 << 20)
    for number in range(4):
        hands.lay(str(number), b"x" * 600_000)
    hands.take_in()
    assert len(hands.waiting(of="rejected")) <= 4


def test_a_flood_starves_nobody(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group has its turn; what there was no time for is said to wait."""
    monkeypatch.setattr(backlog, "SLICE", 0.01)
    for number in range(3_000):
        hands.lay(f"{number:05d}", b"odd")
    hands.prompt("hello", "pilot")
    taken = take_in(hands.home, {}, seconds=0.1)
    assert taken.more
    assert hands.said("pilot") == ["hello"]
    while hands.take_in().more:
        pass
    assert hands.waiting() == []
    assert len(hands.waiting(of="rejected")) == 2 * spool.MOST_REJECTED


def test_more_names_than_are_looked_at_are_taken_in_all_the_same(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some at a time."""
    monkeypatch.setattr(spool, "MOST_NAMES", 10)
    for number in range(25):
        hands.prompt(str(number), session=f"s{number}")
    rounds = 1
    while hands.take_in().more:
        rounds += 1
    assert rounds == 3
    assert len(hands.said()) == 25


def test_what_killed_hooks_left_is_removed_after_a_day(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not before: a hook may be writing it."""
    tmp = hands.spool() / "tmp"
    tmp.mkdir()
    (tmp / "left").write_text("half")
    (tmp / "folder").mkdir()
    (tmp / "folder" / "x").write_text("x")
    os.mkfifo(tmp / "pipe")
    (tmp / "link").symlink_to("/etc/passwd")
    sweep(hands.home)
    assert len(list(tmp.iterdir())) == 4
    later = time.time() + 90_000
    monkeypatch.setattr(time, "time", lambda: later)
    sweep(hands.home)
    assert list(tmp.iterdir()) == []
    assert Path("/etc/passwd").exists()


def test_descriptors_do_not_leak(hands: Hands) -> None:
    """However often, and whatever goes wrong."""
    (hands.home.group("pilot").spool / "new").symlink_to("/etc")

    def once() -> int:
        hands.prompt("x")
        hands.lay("odd", b"odd")
        hands.take_in()
        sweep(hands.home)
        return len(list(Path("/proc/self/fd").iterdir()))

    first = once()
    assert [once() for _ in range(5)] == [first] * 5
