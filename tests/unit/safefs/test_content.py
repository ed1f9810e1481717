"""Writing whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.safefs.conftest import names

from pannier import safefs
from pannier.errors import ChangedMeanwhile, UnsafePath


def test_a_file_is_made_and_replaced(root: Path) -> None:
    """A new file has its mode less the umask; a replaced one keeps the mode it had."""
    old = os.umask(0o027)
    try:
        safefs.write(root, "new", b"one")
    finally:
        os.umask(old)
    assert (root / "new").stat().st_mode & 0o777 == 0o640
    (root / "new").chmod(0o600)
    safefs.write(root, "new", b"two")
    assert (root / "new").read_bytes() == b"two"
    assert (root / "new").stat().st_mode & 0o777 == 0o600
    assert names(root) == ["a", "new"]


def test_a_file_that_is_there_can_be_left_alone(root: Path) -> None:
    """With `replace=False` whoever was first wins, and nothing of ours is left over."""
    safefs.write(root, "new", b"one", replace=False)
    with pytest.raises(FileExistsError, match=str(root / "new")):
        safefs.write(root, "new", b"two", replace=False)
    assert (root / "new").read_bytes() == b"one"
    assert names(root) == ["a", "new"]


def test_a_link_in_the_place_of_a_file_is_not_written_through(root: Path, outside: Path) -> None:
    """Neither the link nor what it points to is changed."""
    (root / "link").symlink_to(outside / "file")
    for replace in (True, False):
        with pytest.raises(UnsafePath, match="a symbolic link"):
            safefs.write(root, "link", b"new", replace=replace)
    (root / "dangling").symlink_to(outside / "new")
    with pytest.raises(UnsafePath, match="a symbolic link"):
        safefs.write(root, "dangling", b"new")
    assert names(outside) == ["b", "file"]
    assert names(root) == ["a", "dangling", "link"]


def test_an_edit_of_somebody_else_is_not_lost(root: Path) -> None:
    """With `expected` a file that holds something else by now stays as it is."""
    safefs.write(root, "new", b"one")
    safefs.write(root, "new", b"two", expected=b"one")
    for expected in (b"one", b"", b"tw", b"two!"):
        with pytest.raises(ChangedMeanwhile, match=str(root / "new")):
            safefs.write(root, "new", b"three", expected=expected)
    (root / "new").unlink()
    with pytest.raises(ChangedMeanwhile):
        safefs.write(root, "new", b"three", expected=b"two")
    assert names(root) == ["a"]


def _full(*args: Any, **kwargs: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _on(call: int, real: Callable[..., Any], fault: Callable[..., Any]) -> Callable[..., Any]:
    """`real`, but `fault` at the given call of it."""
    calls = iter(range(1, 1_000))
    return lambda *a, **k: fault(*a, **k) if next(calls) == call else real(*a, **k)


def _creating(*args: Any, **kwargs: Any) -> Any:
    return _full() if args[1] & os.O_CREAT else _OPEN(*args, **kwargs)


def _half(file: int, data: memoryview) -> int:
    return _WRITE(file, data[: len(data) // 2])


def _half_then_full() -> Callable[..., int]:
    return _on(2, _half, _full)


def _close_then_full(file: int) -> None:
    _CLOSE(file)
    _full()


_OPEN, _WRITE, _CLOSE, _FSYNC = os.open, os.write, os.close, os.fsync

FAULTS = {
    "open": ("open", lambda: _creating),
    "write": ("write", lambda: _full),
    "write, half way": ("write", _half_then_full),
    "chmod": ("fchmod", lambda: _full),
    "sync": ("fsync", lambda: _full),
    "rename": ("replace", lambda: _full),
    "link": ("link", lambda: _full),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_step_leaves_the_old_content_whole(
    root: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A full disk at open, write, sync, rename or link loses nothing and leaves nothing over."""
    name, make = FAULTS[fault]
    safefs.write(root, "file", b"old content")
    target, replace = ("other", False) if fault == "link" else ("file", True)
    with monkeypatch.context() as patch:
        patch.setattr(os, name, make())
        with pytest.raises(OSError, match="No space left") as caught:
            safefs.write(root, target, b"new content" * 1_000, replace=replace)
    assert caught.value.filename == str(root / target)
    assert (root / "file").read_bytes() == b"old content"
    assert names(root) == ["a", "file"]


def test_a_fault_at_close_leaves_the_old_content_whole(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network file system may tell of a full disk only when the file is closed."""
    safefs.write(root, "file", b"old content")
    with safefs.open_directory(root) as folder, monkeypatch.context() as patch:
        # The first descriptor that is closed is the new file's.
        patch.setattr(os, "close", _on(1, _CLOSE, _close_then_full))
        with pytest.raises(OSError, match="No space left"):
            safefs.write(folder, "file", b"new content")
    assert (root / "file").read_bytes() == b"old content"
    assert names(root) == ["a", "file"]


def test_a_write_that_is_cut_short_goes_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system call may write less than it was given; all of it arrives."""
    monkeypatch.setattr(os, "write", lambda file, data: _WRITE(file, data[:7]))
    safefs.write(root, "file", b"0123456789" * 10)
    assert (root / "file").read_bytes() == b"0123456789" * 10


def test_the_folder_is_flushed_after_the_rename(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is as durable as the content; a folder that cannot be flushed is no error."""
    flushed = []

    def fsync(file: int) -> None:
        flushed.append(os.fstat(file).st_ino)
        if len(flushed) == 2:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        _FSYNC(file)

    monkeypatch.setattr(os, "fsync", fsync)
    safefs.write(root, "file", b"new")
    assert flushed == [(root / "file").stat().st_ino, root.stat().st_ino]


WRITER = """\
import sys
from pathlib import Path
from pannier import safefs
contents = [letter * 300_000 for letter in (b"a", b"b")]
safefs.write(Path(sys.argv[1]), "file", contents[0])
print("ready", flush=True)
while True:
    for content in contents:
        safefs.write(Path(sys.argv[1]), "file", content)
"""


@pytest.mark.parametrize("reads", [1, 20, 60])
def test_a_writer_that_is_killed_leaves_a_whole_file(root: Path, reads: int) -> None:
    """Readers see one content or the other, also after the writer was killed midway."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE, env=environ
    )
    assert writer.stdout is not None
    try:
        assert writer.stdout.readline() == b"ready\n"
        for _ in range(reads):
            assert safefs.read(root, "file") in (b"a" * 300_000, b"b" * 300_000)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    assert safefs.read(root, "file") in (b"a" * 300_000, b"b" * 300_000)


def test_of_many_that_make_a_file_at_once_one_wins(root: Path) -> None:
    """With `replace=False` just one of several writers makes the file, and it is whole."""
    barrier = threading.Barrier(8)
    won: list[int] = []

    def make(number: int) -> None:
        barrier.wait()
        try:
            safefs.write(root, "file", b"%d" % number * 10_000, replace=False)
        except FileExistsError:
            return
        won.append(number)

    writers = [threading.Thread(target=make, args=(n,)) for n in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(won) == 1
    assert (root / "file").read_bytes() == b"%d" % won[0] * 10_000
    assert names(root) == ["a", "file"]
