"""Reading a memory that somebody made to do harm."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.memory.trees import CONCEPT

from pannier import safefs
from pannier.errors import UnsafePath
from pannier.memory import scaffold
from pannier.memory.check import check
from pannier.memory.tree import Limits, Tree, read


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """A memory with the scaffold in it."""
    folder = tmp_path / "memory"
    folder.mkdir()
    with safefs.open_directory(folder) as descriptor:
        scaffold(descriptor)
    return folder


@pytest.fixture(autouse=True)
def _no_descriptor_stays_open() -> Iterator[None]:
    """As many descriptors are open after a test as before."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    yield
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def rules(tree: Tree) -> dict[str, str]:
    """The rule that is told of each path; the last, if there are several."""
    return {finding.path: finding.rule for finding in check(tree)}


def test_the_scaffold_on_disk_is_clean_and_stays_as_it_is(memory: Path) -> None:
    """Reading changes nothing, not even a date."""
    before = {path: path.stat().st_mtime_ns for path in memory.rglob("*")}
    assert check(read(memory.parent, "memory")) == ()
    assert {path: path.stat().st_mtime_ns for path in memory.rglob("*")} == before


def test_links_are_not_followed(memory: Path, tmp_path: Path) -> None:
    """Neither a loop nor one to a file of the host, whose secrets are not told."""
    (tmp_path / "outside.md").write_text("password: hunter2x9")
    (memory / "loop").symlink_to(".")
    (memory / "away.md").symlink_to(tmp_path / "outside.md")
    (memory / "self").symlink_to("self")
    assert rules(read(memory)) == {"away.md": "odd", "loop": "odd", "self": "odd"}


def test_what_is_no_file_is_not_opened(memory: Path) -> None:
    """A FIFO without a writer would hang, a socket fail."""
    os.mkfifo(memory / "fifo.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(memory / "s"))
        assert rules(read(memory)) == {"fifo.md": "odd", "s": "odd"}


def test_of_a_huge_file_only_the_start_is_read(memory: Path) -> None:
    """Two gigabytes take no longer than a page."""
    with (memory / "huge.md").open("wb") as file:
        file.write(CONCEPT.encode() + b"x" * 70_000)
        file.truncate(2 << 30)
    found = [f.message for f in check(read(memory)) if f.rule == "huge"]
    assert found == ["is 2,147,483,648 bytes; only the first 65,536 were looked at"]


def test_folders_too_deep_are_named(memory: Path) -> None:
    """And what is above them is still looked at."""
    top = os.open(memory, os.O_RDONLY)
    here = top
    for _ in range(200):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (finding,) = check(read(memory))
    assert (finding.path.count("/"), finding.rule) == (127, "unreadable")


def test_names_can_be_anything_that_the_disk_allows(memory: Path) -> None:
    """Newlines, escapes, bytes that are no text."""
    for name in (b"a\nb.md", b"\x1b[31m.md", b"\xff.md", b"-rf", b" "):
        Path(os.fsdecode(bytes(memory) + b"/" + name)).write_text(CONCEPT)
    found = rules(read(memory))
    assert set(found) == {"a\nb.md", "\x1b[31m.md", "\udcff.md", "-rf", " "}
    (memory / "index.md").write_text("[a](a%0Ab.md) [b](%1b[31m.md) [c](%ff.md) [d](-rf) [e](%20)")
    assert rules(read(memory)) == {"system/index.md": "unreached"}


def test_a_tree_with_too_many_names_is_read_as_far_as_allowed(memory: Path) -> None:
    """A full folder is not looked into; the reading ends, and says so."""
    (memory / "z").mkdir()
    for n in range(50):
        (memory / "z" / f"{n}.md").write_text(CONCEPT)
    tree = read(memory, limits=Limits(entries=20))
    assert "index.md" in tree.nodes
    assert rules(tree) == {"": "too-much"}


def test_what_is_given_to_the_agent_is_looked_at_before_all_else(memory: Path) -> None:
    """However much lies before it: what is an error is never missed."""
    (memory / "a").mkdir()
    for n in range(50):
        (memory / "a" / f"{n}.md").write_text(CONCEPT * 10)
    for path in ("index.md", "system/definition.md"):
        (memory / path).write_text("x" * 16_001)
    for limits in (Limits(entries=20), Limits(total=33_000)):
        errors = [f.path for f in check(read(memory, limits=limits)) if f.rule == "over-cap"]
        assert errors == ["index.md", "system/definition.md"]


def test_the_whole_is_bounded_in_bytes_and_in_time(memory: Path) -> None:
    """Files beyond are counted, and nothing is said about what they could link to."""
    (memory / "a.md").write_text(CONCEPT * 100)
    assert read(memory, limits=Limits(total=500)).skipped == 2
    times = iter([0.0, 1.0, 2.0, 61.0, 62.0])
    slow = read(memory, now=lambda: next(times))
    assert slow.skipped == 2
    assert [f.rule for f in check(slow)] == ["too-much"]


def test_a_file_that_is_swapped_while_it_is_read_is_told(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a link; one that is gone was never there."""
    for name in ("a.md", "b.md", "c.md"):
        (memory / name).write_text(CONCEPT)
    real = safefs.open_file

    def swap(root: safefs.Root, *parts: str) -> object:
        if parts == ("a.md",):
            (memory / "a.md").unlink()
            (memory / "a.md").symlink_to("/etc/passwd")
        elif parts == ("b.md",):
            (memory / "b.md").unlink()
        return real(root, *parts)

    monkeypatch.setattr(safefs, "open_file", swap)
    assert rules(read(memory)) == {"a.md": "unreadable", "c.md": "unreached"}


@pytest.mark.parametrize("call", ["open", "scandir", "stat"])
def test_a_failing_disk_is_a_finding_not_a_crash(
    memory: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Wherever it fails below the top."""
    (memory / "people").mkdir()
    (memory / "people" / "dana.md").write_text(CONCEPT)
    real = getattr(os, call)
    calls = 0

    def fail(*args: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise OSError(5, "Input/output error")
        return real(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        try:
            tree = read(memory)
        except OSError:
            assert call == "open"  # the top itself, by its own name
            return
    if calls > 4:
        assert "unreadable" in rules(tree).values()


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_without_a_folder_there_is_nothing_to_read(tmp_path: Path, kind: str) -> None:
    """That is an error for the caller."""
    if kind == "file":
        (tmp_path / "memory").write_text("x")
    with pytest.raises((UnsafePath, FileNotFoundError)):
        read(tmp_path, "memory")
