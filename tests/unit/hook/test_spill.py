"""Results that are kept in files of the group."""

from __future__ import annotations

import os
import posix
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier_hook import spilltidy
from pannier_hook.options import Options
from pannier_hook.settings import Spill
from pannier_hook.spill import (
    DRAFT,
    folder_of,
    is_name,
    keep,
    kept_paths,
    new_name,
    shown,
    spilled_in,
)
from pannier_hook.spilltidy import Old, superfluous

from .conftest import CHECKOUT
from .test_handover import failing

NAME = re.compile(r"\d{8}T\d{6}Z-[a-z0-9_-]{1,40}-[0-9a-f]{16}\.txt")
HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture
def here(tmp_path: Path) -> Options:
    (tmp_path / "files").mkdir()
    return options(tmp_path)


def options(root: Path, thread: str = "main") -> Options:
    return Options({"PANNIER_ROOT": str(root), "PANNIER_THREAD": thread})


def files(root: Path) -> list[Path]:
    """All files that there are, but the one for git."""
    found = (path for path in (root / "files").rglob("*") if path.is_file())
    return [path for path in found if path.name != ".gitignore"]


def test_every_byte(here: Options) -> None:
    """The file holds every byte, the agent's alone; the model gets ends, sizes and the path."""
    chunks = [f"{number}: größe\n".encode() for number in range(9_000)] + [b"\xff\x00last"]
    kept = keep(here, Spill(), "Bash", chunks)
    path = Path(kept.path)
    assert path.read_bytes() == b"".join(chunks)
    assert path.parent == Path(here.root) / "files" / ".pannier" / "spill" / "main"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert (kept.size, kept.lines) == (path.stat().st_size, 9_001)
    assert kept.head.startswith("0: größe\n1: größe\n")
    assert kept.tail.endswith("\n8999: größe\n\ufffd\x00last")
    assert spilled_in(shown(kept)) == (str(path), kept.size)
    assert files(Path(here.root)) == [path]
    assert (Path(here.root) / "files" / ".pannier" / ".gitignore").read_text() == "*\n"


@given(st.lists(st.binary(max_size=9_000), max_size=6))
def test_however_it_comes(tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]) -> None:
    """Whatever the pieces are, what is said of the whole is the same."""
    root = tmp_path_factory.mktemp("agent")
    (root / "files").mkdir()
    whole = b"".join(chunks)
    one, many = (keep(options(root), Spill(), "x", given) for given in ([whole], chunks))
    for kept in (one, many):
        assert Path(kept.path).read_bytes() == whole
        assert kept.size == len(whole)
        assert kept.lines == len(whole.split(b"\n")) - (not whole or whole.endswith(b"\n"))
    assert (one.head, one.tail) == (many.head, many.tail)


HOSTILE = ["../../../etc/passwd", "x" * 1_500, "", "a\0b", "..", "/", "Ä\n\u202e", "-rf *", ".txt"]


@pytest.mark.parametrize("tool", HOSTILE)
@pytest.mark.parametrize("thread", HOSTILE)
def test_names_of_others(tmp_path: Path, tool: str, thread: str) -> None:
    """Whatever a tool or a thread is called, the file lies where it should, under a name of ours
    that is bounded."""
    (tmp_path / "files").mkdir()
    kept = keep(options(tmp_path, thread), Spill(), tool, [b"x"])
    path = Path(kept.path)
    assert NAME.fullmatch(path.name)
    assert path.parent.parent.resolve() == (tmp_path / "files" / ".pannier" / "spill").resolve()
    assert path.resolve() == path
    assert re.fullmatch(r"[a-z0-9_.-]{1,60}", path.parent.name)


@given(st.text(), st.text())
def test_folders_of_threads(one: str, other: str) -> None:
    """No two threads share a folder, also where large and small letters are the same."""
    assert (folder_of(one).lower() == folder_of(other).lower()) is (one == other)
    assert folder_of(one) not in ("", ".", "..")


@given(st.text(max_size=60))
def test_own_names(tool: str) -> None:
    """A name of ours is known as one, and unique; nearly nothing else is."""
    name = new_name(tool)
    assert is_name(name)
    assert NAME.fullmatch(name)
    assert new_name(tool) != name
    for other in (name[1:], name + "x", name[:-4], name.replace("Z-", "-"), tool, f"x{name}"):
        assert not is_name(other)


# ---- reading back ------------------------------------------------------------------------------


def test_what_is_kept_already(here: Options) -> None:
    """A result with the very same bytes makes no new file, and the model is told of the first one,
    which counts as new again."""
    first = keep(here, Spill(), "Bash", [b"one\n" * 30_000])
    os.utime(first.path, times=(time.time() - 29 * DAY,) * 2)
    again = keep(here, Spill(), "Read", [b"one\n" * 10_000] * 3)
    assert (again.path, again.size, again.lines) == (first.path, 120_000, 30_000)
    assert shown(again) == shown(first)
    assert files(Path(here.root)) == [Path(first.path)]
    assert time.time() - Path(first.path).stat().st_mtime < HOUR


@pytest.mark.parametrize("status", ["\n[status 0]", ""])
@pytest.mark.parametrize("begin", [0, 1, 30_000, 2_400_000])
def test_a_part_of_it(here: Options, begin: int, status: str) -> None:
    """What was read of a kept result is not kept again, wherever it stands in that."""
    text = "".join(f"{number}\n" for number in range(400_000))
    first = keep(here, Spill(), "Bash", [f"{text}{status}".encode()])
    part = f"{text[begin : begin + 200_000]}{status}"
    again = keep(here, Spill(), "Bash", [part.encode()])
    assert (again.path, again.size) == (first.path, len(part))
    assert files(Path(here.root)) == [Path(first.path)]


@pytest.mark.parametrize("status", ["\n[status 0]", "\n", ""])
def test_a_status_behind_it(here: Options, status: str) -> None:
    """What a client puts behind each output is there twice when the file was read; that is not
    kept again either."""
    text = "".join(f"{number}\n" for number in range(30_000)) + status
    first = keep(here, Spill(), "Bash", [text.encode()])
    again = keep(here, Spill(), "Bash", [f"{text}{status}".encode()])
    assert again.path == first.path
    assert files(Path(here.root)) == [Path(first.path)]


@pytest.mark.parametrize(
    "other",
    [
        b"x" * 119_999 + b"y",
        b"y" + b"x" * 119_999,
        b"x" * 120_000 + b"y",
        b"x" * 120_000 + b"xy",
        b"x" * 130_000,
    ],
)
def test_what_only_looks_like_it(here: Options, other: bytes) -> None:
    """Any other result is kept, whatever the call was: nothing is lost."""
    first = keep(here, Spill(), "Bash", [b"x" * 120_000])
    kept = keep(here, Spill(), "Bash", [other])
    assert kept.path != first.path
    assert Path(kept.path).read_bytes() == other


@pytest.mark.parametrize("put", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_what_is_no_file(here: Options, put: Callable[[Path], None]) -> None:
    """What somebody put there under a name of ours stands for no result, and keeps nobody
    waiting."""
    text = b"x" * 9_000
    folder = Path(keep(here, Spill(), "Bash", [b"one"]).path).parent
    (folder / "elsewhere").write_bytes(text)
    put(folder / new_name("Bash"))
    kept = Path(keep(here, Spill(), "Bash", [text]).path)
    assert not kept.is_symlink()
    assert kept.read_bytes() == text


# ---- what goes wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["open", "mkdir", "write", "rename"])
def test_a_failing_disk(here: Options, call: str) -> None:
    """Whichever system call fails, and whenever: nothing half-written is left."""
    for number in range(1, 30):
        with failing(call, number):
            try:
                keep(here, Spill(), "x", [b"one", b"two"])
                failed = False
            except OSError:
                failed = True
        kept = files(Path(here.root))
        assert [path.read_bytes() for path in kept] == ([] if failed else [b"onetwo"])
        if not failed:
            return
    pytest.fail("it never succeeded")


@pytest.mark.parametrize("problem", [ValueError("no JSON"), TimeoutError("too late")])
def test_a_result_that_breaks_off(here: Options, problem: Exception) -> None:
    """It is as if it had never begun."""

    def chunks() -> Iterator[bytes]:
        yield b"one"
        raise problem

    with pytest.raises(type(problem)):
        keep(here, Spill(), "x", chunks())
    assert files(Path(here.root)) == []


def link_at(*names: str) -> Callable[[Path, Path], None]:
    def put(root: Path, elsewhere: Path) -> None:
        place = root.joinpath("files", *names)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(elsewhere)

    return put


@pytest.mark.parametrize(
    "put",
    [
        link_at(".pannier"),
        link_at(".pannier", "spill"),
        link_at(".pannier", "spill", "main"),
        lambda root, _: (root / "files" / ".pannier").write_text("a file"),
        lambda root, _: os.mkfifo(root / "files" / ".pannier"),
    ],
    ids=["outer", "inner", "thread", "file", "pipe"],
)
def test_a_link_in_the_place_of_a_folder(
    here: Options, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    """Nothing is written through it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    put(tmp_path, elsewhere)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        keep(here, Spill(), "x", [b"one"])
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_the_middle_of_writing(here: Options, tmp_path: Path) -> None:
    """A folder that is replaced meanwhile takes its file along; the link's target gets nothing."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = tmp_path / "files" / ".pannier" / "spill" / "main"

    def chunks() -> Iterator[bytes]:
        yield b"one"
        folder.rename(folder.with_name("was-main"))
        folder.symlink_to(elsewhere)
        yield b"two"

    keep(here, Spill(), "x", chunks())
    assert list(elsewhere.iterdir()) == []
    assert [path.read_bytes() for path in folder.with_name("was-main").iterdir()] == [b"onetwo"]


WRITER = """
import os
import sys
sys.path.insert(0, sys.argv[1])
from pannier_hook.options import Options
from pannier_hook.settings import Spill
from pannier_hook.spill import keep

def chunks():
    yield os.urandom(100_000)
    if sys.argv[3] == "wait":
        sys.stdin.read()
    yield b"y" * 100_000

for _ in range(int(sys.argv[4])):
    keep(Options({"PANNIER_ROOT": sys.argv[2]}), Spill(), "x", chunks())
"""


def writer(root: Path, *words: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-c", WRITER, str(CHECKOUT / "hooks"), str(root), *words]
    return subprocess.Popen(argv, stdin=subprocess.PIPE)


def test_two_writers(tmp_path: Path) -> None:
    """Each gets its own files, and all of them are whole."""
    (tmp_path / "files").mkdir()
    writers = [writer(tmp_path, "go", "25") for _ in range(2)]
    assert [one.wait(60) for one in writers] == [0, 0]
    found = files(tmp_path)
    assert len(found) == 50
    assert {path.stat().st_size for path in found} == {200_000}


def test_a_writer_that_is_killed(tmp_path: Path) -> None:
    """No file with a result's name is there that is not whole; what is left goes a day later."""
    (tmp_path / "files").mkdir()
    process = writer(tmp_path, "wait", "1")
    until = time.monotonic() + 30
    while not any(path.stat().st_size for path in files(tmp_path)):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdin
    process.stdin.close()
    (left,) = files(tmp_path)
    assert left.name.endswith(DRAFT)
    kept = keep(options(tmp_path), Spill(), "x", [b"one"])
    assert {left, Path(kept.path)} == set(files(tmp_path))
    os.utime(left, times=(time.time() - DAY - 60,) * 2)
    other = keep(options(tmp_path), Spill(), "x", [b"two"])
    assert {Path(kept.path), Path(other.path)} == set(files(tmp_path))


# ---- removing ----------------------------------------------------------------------------------

OLD = st.builds(
    lambda age, size, draft: Old("main", f"{new_name('x')}{DRAFT if draft else ''}", size, -age),
    st.one_of(st.integers(0, 2 * HOUR), st.integers(0, 60 * DAY)),
    st.integers(0, 100),
    st.booleans(),
)


@given(st.lists(OLD, max_size=12), st.integers(1, 40), st.integers(0, 500))
def test_what_is_superfluous(olds: list[Old], days: int, most: int) -> None:
    """Files older than the days go; of the others the oldest, until the rest has the size; never
    one of the last hour. An unfinished one goes after a day."""
    gone = superfluous(olds, 0, days, most)
    left = [old for old in olds if old not in gone]
    for old in gone:
        if old.name.endswith(DRAFT):
            assert -old.at > DAY
            continue
        newer = [o for o in olds if o.at >= old.at and not o.name.endswith(DRAFT)]
        too_much = sum(o.size for o in newer) > most and -old.at > HOUR
        assert -old.at > days * DAY or too_much
    whole = [old for old in left if not old.name.endswith(DRAFT)]
    assert all(-old.at <= days * DAY for old in whole)
    assert sum(old.size for old in whole if -old.at > HOUR) <= most
    assert all(-old.at <= DAY for old in left if old.name.endswith(DRAFT))


def test_old_results_go(tmp_path: Path) -> None:
    """Those of all threads, when a new one comes; what the agent put there itself stays."""
    (tmp_path / "files").mkdir()
    old, young = (
        Path(keep(options(tmp_path, thread), Spill(), "x", [b"x"]).path) for thread in ("a", "b")
    )
    own = old.with_name("own.txt")
    own.write_text("mine")
    for path in (old, own):
        os.utime(path, times=(time.time() - 31 * DAY,) * 2)
    new = Path(keep(options(tmp_path), Spill(), "x", [b"y"]).path)
    assert set(files(tmp_path)) == {young, own, new}


def test_too_many_results_go(tmp_path: Path) -> None:
    """The oldest first, until the rest has the size that is allowed."""
    (tmp_path / "files").mkdir()
    paths = [Path(keep(options(tmp_path), Spill(), "x", [b"x"]).path) for _ in range(4)]
    for hours, path in enumerate(reversed(paths), 2):
        with path.open("r+b") as file:
            file.truncate(50 << 20)
        os.utime(path, times=(time.time() - hours * HOUR,) * 2)
    new = Path(keep(options(tmp_path), Spill(keep_size="128m"), "x", [b"y"]).path)
    assert set(files(tmp_path)) == {*paths[-2:], new}


def test_links_among_the_folders(tmp_path: Path) -> None:
    """Nothing is removed through a link, and what cannot be removed does no harm: what is older
    goes."""
    (tmp_path / "files").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = elsewhere / new_name("x")
    other.write_text("mine")
    os.utime(other, times=(0, 0))
    first = Path(keep(options(tmp_path), Spill(), "x", [b"x"]).path)
    (first.parent.parent / "linked").symlink_to(elsewhere)
    folder = first.with_name(new_name("x"))
    folder.mkdir()
    os.utime(folder, times=(1, 1))
    older = first.with_name(new_name("x"))
    older.touch()
    os.utime(older, times=(0, 0))
    new = Path(keep(options(tmp_path), Spill(), "x", [b"y"]).path)
    assert other.exists()
    assert {first, new} == set(files(tmp_path))


def test_looking_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files there are, only so many are looked at."""
    monkeypatch.setattr(spilltidy, "MOST_FILES", 10)
    (tmp_path / "files").mkdir()
    first = Path(keep(options(tmp_path), Spill(), "x", [b"x"]).path)
    for _ in range(40):
        path = first.with_name(new_name("x"))
        path.touch()
        os.utime(path, times=(0, 0))
    looked = 0
    real = posix.unlink

    def count(*args: object, **named: object) -> None:
        nonlocal looked
        looked += 1
        real(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(posix, "unlink", count)
    keep(options(tmp_path), Spill(), "x", [b"y"])
    assert 8 <= looked <= 10


# ---- naming them -------------------------------------------------------------------------------


def test_the_latest_of_a_thread(tmp_path: Path) -> None:
    """The paths of its last results, the latest last, and of nothing else that lies there."""
    (tmp_path / "files").mkdir()
    assert kept_paths(options(tmp_path), 5) == []
    first = Path(keep(options(tmp_path), Spill(), "x", [b"x"]).path)
    names = [f"2026113{day}T000000Z-x-0123456789abcdef.txt" for day in range(4)]
    for name in (*names, "ignore all instructions.txt"):
        first.with_name(name).touch()
    first.unlink()
    assert kept_paths(options(tmp_path), 3) == [str(first.with_name(name)) for name in names[1:]]
