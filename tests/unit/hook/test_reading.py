"""Reading memory in whose place anything may lie."""

from __future__ import annotations

import os
import posix
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pannier_hook.reading import READ_LIMIT, Missing, Unavailable, read_beneath
from pannier_hook.unframing import FileBack, read_back

from .conftest import World


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root can make a device")


def unix_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def link(path: Path) -> None:
    (path.parent / "elsewhere").write_text("not for this agent\n")
    path.symlink_to("elsewhere")


def link_to_pipe(path: Path) -> None:
    os.mkfifo(path.parent / "elsewhere")
    path.symlink_to("elsewhere")


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def empty(path: Path) -> None:
    path.touch()


def blank(path: Path) -> None:
    path.write_text(" \n\t\n")


def nothing(path: Path) -> None:
    pass


HOSTILE = [
    (folder, "folder"),
    (pipe, "pipe"),
    (device, "special"),
    (unix_socket, "socket"),
    (link, "link"),
    (link_to_pipe, "link"),
    (dangling, "link"),
    (loop, "link"),
    (empty, "empty"),
    (blank, "empty"),
    (nothing, "no such file"),
]


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def file_back(text: str, path: str) -> FileBack:
    return next(one for one in read_back(text).files if one.path == path)


@pytest.mark.parametrize(("make", "reason"), HOSTILE, ids=[one[0].__name__ for one in HOSTILE])
@pytest.mark.parametrize("path", ["memory/index.md", "memory/system/definition.md"])
def test_what_is_no_file_is_named(
    world: World, path: str, make: Callable[[Path], None], reason: str
) -> None:
    """In the place of a file it is named as unavailable, at once, and the rest is delivered."""
    (world.root / path).unlink()
    make(world.root / path)
    started = time.monotonic()
    answer = world.start("claude")
    assert time.monotonic() - started < 1.5
    back = read_back(answer.context)
    assert back.complete
    assert reason in (file_back(answer.context, path).unavailable or "")
    assert "not for this agent" not in answer.context
    others = [one for one in back.files if one.path != path]
    assert others
    assert all(one.unavailable is None for one in others)


@pytest.mark.parametrize("path", ["memory", "memory/system"])
def test_no_link_on_the_way_is_followed(world: World, path: str) -> None:
    """A folder that is a link leads nowhere."""
    (world.root / path).rename(world.root / "real")
    (world.root / path).symlink_to(world.root / "real")
    text = world.start("codex").context
    assert "real folder" in (file_back(text, "memory/system/definition.md").unavailable or "")
    assert "Keep it true" not in text


def test_a_file_of_two_gigabytes_costs_nothing(world: World) -> None:
    """A huge file is read at its beginning only, and cut with a word about its size."""
    path = world.write("memory/index.md", "fact\n" * 20_000)
    os.truncate(path, 2 << 30)
    started = time.monotonic()
    text = world.start("codex").context
    assert time.monotonic() - started < 1.5
    index = file_back(text, "memory/index.md")
    assert (index.characters, index.cut) == (16_000, True)
    assert str(2 << 30) in text


def test_a_file_of_zeros_has_no_text(world: World) -> None:
    """A sparse file holds no text, and is said to."""
    os.truncate(world.write("memory/index.md", ""), 2 << 30)
    text = world.start("codex").context
    assert "no text" in (file_back(text, "memory/index.md").unavailable or "")


@pytest.mark.parametrize(
    ("path", "cap"),
    [
        ("memory/index.md", 16_000),
        ("memory/system/definition.md", 16_000),
        ("agent-memory/summary.md", 4_000),
    ],
)
@pytest.mark.parametrize("character", ["a", "🙂"])
def test_caps(world: World, path: str, cap: int, character: str) -> None:
    """At the cap a file comes whole; one character more, and a notice says what to do."""
    world.write(path, character * cap)
    assert file_back(world.start("codex").context, path).cut is False
    world.write(path, character * (cap + 1))
    text = world.start("codex").context
    assert (file_back(text, path).cut, file_back(text, path).text) == (True, character * cap)
    (line,) = [line for line in text.splitlines() if f"] cut {path}" in line]
    assert str(cap) in line
    assert "on disk" in line


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not be read is unavailable, with the reason."""
    (tmp_path / "index.md").write_text("secret")
    root = os.open(tmp_path, os.O_RDONLY)

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(posix, "open", refuse)
    with pytest.raises(Unavailable, match="Permission denied"):
        read_beneath(root, "index.md")
    monkeypatch.undo()
    os.close(root)


def test_errors_in_a_unit(tmp_path: Path) -> None:
    """Missing, unavailable and found are told apart; descriptors are closed."""
    root = os.open(tmp_path, os.O_RDONLY)
    before = open_descriptors()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * (READ_LIMIT + 9))
    found = read_beneath(root, "a/b")
    assert (len(found.data), found.size) == (READ_LIMIT + 1, READ_LIMIT + 9)
    for path, error in (("a/c", Missing), ("c/b", Missing), ("a", Unavailable), ("a/b/c", OSError)):
        with pytest.raises((error, Unavailable)):
            read_beneath(root, path)
    assert open_descriptors() == before
    os.close(root)
