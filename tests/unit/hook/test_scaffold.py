"""The first files of a memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pannier_hook.scaffold import FILES, TEMPLATES, ScaffoldReport, scaffold

from .conftest import CHECKOUT, World


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


def run(memory: Path) -> ScaffoldReport:
    descriptor = os.open(memory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return scaffold(descriptor)
    finally:
        os.close(descriptor)


def template(path: str) -> bytes:
    return Path(TEMPLATES, path).read_bytes()


def everything(memory: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(memory)): file.read_bytes()
        for file in memory.rglob("*")
        if file.is_file()
    }


def whole() -> dict[str, bytes]:
    return {path: template(path) for path in FILES}


def test_makes_what_is_missing(memory: Path) -> None:
    """In an empty folder all three files appear; a second time nothing changes."""
    assert run(memory).created == FILES
    assert everything(memory) == whole()
    before = {path: (memory / path).stat().st_mtime_ns for path in FILES}
    again = run(memory)
    assert (again.created, again.kept, again.odd) == ((), FILES, ())
    assert {path: (memory / path).stat().st_mtime_ns for path in FILES} == before


@pytest.mark.parametrize("path", FILES)
def test_keeps_what_the_agent_wrote(memory: Path, path: str) -> None:
    """An existing file is left alone, also an empty one."""
    (memory / "system").mkdir()
    (memory / path).write_text("")
    report = run(memory)
    assert report.kept == (path,)
    assert (memory / path).read_bytes() == b""
    assert everything(memory) == {**whole(), path: b""}


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe", "socket"])
@pytest.mark.parametrize("path", FILES)
def test_leaves_alone_what_is_odd(memory: Path, path: str, kind: str) -> None:
    """A link, folder or special file in the place of a file stays, and is reported."""
    (memory / "system").mkdir()
    place = memory / path
    target = memory.parent / "target"
    if kind == "link":
        target.write_text("somebody else's")
        place.symlink_to(target)
    elif kind == "dangling":
        place.symlink_to(target)
    elif kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(place))
    before = place.lstat()
    report = run(memory)
    (odd,) = report.odd
    assert odd.path == path
    assert odd.kind == {"dangling": "link", "pipe": "special", "socket": "special"}.get(kind, kind)
    assert place.lstat().st_ino == before.st_ino
    assert target.exists() is (kind == "link")
    assert set(report.created) == set(FILES) - {path}


def test_a_linked_folder_is_not_entered(memory: Path) -> None:
    """When `system` leads elsewhere, nothing is made there."""
    elsewhere = memory.parent / "elsewhere"
    elsewhere.mkdir()
    (memory / "system").symlink_to(elsewhere)
    report = run(memory)
    assert report.created == ("index.md",)
    assert [(odd.path, odd.kind) for odd in report.odd] == [("system", "link")]
    assert list(elsewhere.iterdir()) == []


def test_a_file_in_the_place_of_the_folder(memory: Path) -> None:
    """A file named `system` is left alone and reported."""
    (memory / "system").write_text("mine")
    report = run(memory)
    assert [(odd.path, odd.kind) for odd in report.odd] == [("system", "file")]
    assert (memory / "system").read_text() == "mine"


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pannier_hook.scaffold import scaffold
left = int(sys.argv[3])
def deadly(call):
    def wrapped(*args, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if call is os_write:
            return call(args[0], bytes(args[1])[:97])
        return call(*args, **options)
    return wrapped
os_write = os.write
for name in ("open", "mkdir", "write", "fsync", "close", "link", "unlink", "stat"):
    setattr(os, name, deadly(getattr(os, name)))
scaffold(os.open(sys.argv[2], os.O_RDONLY))
os._exit(0)
"""


def killed_after(memory: Path, calls: int) -> bool:
    """Scaffold in a process that is killed before its call number `calls`; whether it was."""
    source = str(CHECKOUT / "hooks")
    command = [sys.executable, "-IS", "-c", KILLED, source, str(memory), str(calls)]
    done = subprocess.run(command, timeout=30)
    assert done.returncode in (0, -signal.SIGKILL)
    return done.returncode != 0


def test_killed_anywhere_leaves_no_half_file(tmp_path: Path) -> None:
    """Wherever a scaffold is killed, each file is whole or missing, and the next one mends it."""
    for calls in range(0, 400, 3):
        memory = tmp_path / str(calls)
        memory.mkdir()
        was_killed = killed_after(memory, calls)
        for path in FILES:
            file = memory / path
            assert not file.exists() or file.read_bytes() == template(path), calls
        run(memory)
        assert {path: (memory / path).read_bytes() for path in FILES} == whole()
        if not was_killed:
            break
    else:
        raise AssertionError("the scaffold never came to its end")


def test_leftovers_of_the_killed_go(memory: Path) -> None:
    """What a killed writer left is removed later, what may still have a writer is not."""
    old, young = memory / ".pannier-new-old", memory / ".pannier-new-young"
    for file in (old, young):
        file.write_text("half")
    hour = time.time() - 3_600
    os.utime(old, (hour, hour))
    run(memory)
    assert (old.exists(), young.exists()) == (False, True)


def test_two_at_once(tmp_path: Path) -> None:
    """Of many that scaffold at once, one makes each file, and all end well."""
    for attempt in range(5):
        memory = tmp_path / str(attempt) / "memory"
        memory.mkdir(parents=True)
        code = (
            "import os, sys; sys.path.insert(0, sys.argv[1])\n"
            "from pannier_hook.scaffold import scaffold\n"
            "sys.stdin.read()\n"
            "report = scaffold(os.open(sys.argv[2], os.O_RDONLY))\n"
            "assert not report.odd, report\n"
            "print(*report.created, sep='\\n')\n"
        )
        command = [sys.executable, "-IS", "-c", code, str(CHECKOUT / "hooks"), str(memory)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        racers = [subprocess.Popen(command, text=True, **pipes) for _ in range(6)]  # type: ignore[call-overload]
        for racer in racers:
            racer.stdin.close()
        created = [name for racer in racers for name in racer.stdout.read().split()]
        assert [racer.wait() for racer in racers] == [0] * 6
        assert sorted(created) == sorted(FILES)
        assert everything(memory) == whole()


@pytest.mark.parametrize("call", ["open", "mkdir", "write", "fsync", "link"])
@pytest.mark.parametrize("nth", range(4))
def test_a_full_disk(memory: Path, monkeypatch: pytest.MonkeyPatch, call: str, nth: int) -> None:
    """A disk that is full at any call leaves no half file and no leftover, and is reported."""
    real = getattr(os, call)
    calls: Iterator[int] = iter(range(1_000))

    def fail(*args: object, **options: object) -> object:
        if next(calls) == nth:
            raise OSError(28, "No space left on device")
        return real(*args, **options)

    descriptor = os.open(memory, os.O_RDONLY)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        report = scaffold(descriptor)
    os.close(descriptor)
    assert all(odd.kind == "error" and "No space" in odd.reason for odd in report.odd)
    assert all(content == template(path) for path, content in everything(memory).items())
    assert run(memory).odd == ()
    assert everything(memory) == whole()


def test_content_is_on_disk_before_its_name(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file gets its name after its content was flushed, so that a power cut leaves no half."""
    calls: list[str] = []

    def noted(name: str) -> None:
        real = getattr(os, name)

        def call(*args: object, **options: object) -> object:
            calls.append(name)
            return real(*args, **options)

        monkeypatch.setattr(os, name, call)

    descriptor = os.open(memory, os.O_RDONLY)
    for name in ("write", "fsync", "link"):
        noted(name)
    scaffold(descriptor)
    monkeypatch.undo()
    os.close(descriptor)
    assert calls == ["write", "fsync", "link", "fsync"] * len(FILES)


def test_made_for_the_owner_of_the_folder(memory: Path) -> None:
    """What root makes belongs to the owner of the memory folder."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(memory, 4_321, 4_322)
    run(memory)
    for path in (*FILES, "system"):
        status = (memory / path).stat()
        assert (status.st_uid, status.st_gid) == (4_321, 4_322), path


def test_the_event_reports_each_file(world: World) -> None:
    """`scaffold` says what it made, kept and left alone."""
    (world.root / "memory/system/definition.md").unlink()
    os.mkfifo(world.root / "memory/system/definition.md")
    (world.root / "memory/index.md").unlink()
    answer = world.run("scaffold")
    assert answer.status == 0
    assert answer.out.decode().splitlines() == [
        "created memory/index.md",
        "kept memory/system/index.md",
        "left alone memory/system/definition.md: a special file is in its place",
    ]


def test_templates_are_what_they_teach() -> None:
    """The root index has only its version, the definition begins with its type, links lead on."""
    index = template("index.md").decode()
    assert index.startswith('---\nokf_version: "0.1"\n---\n')
    assert "## Core Memory" in index
    assert "(system/index.md)" in index
    assert not template("system/index.md").startswith(b"---")
    definition = template("system/definition.md").decode()
    assert definition.startswith("---\ntype: ")
    assert len(definition) < 6_000
