"""Opening and reading beneath a root."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.safefs.conftest import SECRET, names

from pannier import safefs
from pannier.errors import UnsafePath


def test_a_file_is_read_beneath_a_path_or_a_descriptor(root: Path) -> None:
    """The root may be a path or an open folder; names below it lead to the file."""
    assert safefs.read(root, "a", "b", "file") == b"content"
    with safefs.open_directory(root, "a") as folder:
        assert safefs.read(folder, "b", "file") == b"content"
        assert safefs.read(folder, "b", "file") == b"content"


def _link_to_file(root: Path, outside: Path) -> tuple[str, ...]:
    (root / "file").symlink_to(outside / "file")
    return ("file",)


def _link_to_folder(root: Path, outside: Path) -> tuple[str, ...]:
    (root / "link").symlink_to(outside)
    return ("link", "file")


def _link_in_the_middle(root: Path, outside: Path) -> tuple[str, ...]:
    (root / "a" / "link").symlink_to(outside)
    return ("a", "link", "b", "file")


def _link_to_the_inside(root: Path, outside: Path) -> tuple[str, ...]:
    (root / "link").symlink_to("a")
    return ("link", "b", "file")


@pytest.mark.parametrize(
    "make", [_link_to_file, _link_to_folder, _link_in_the_middle, _link_to_the_inside]
)
def test_no_link_is_followed_at_any_step(
    root: Path, outside: Path, make: Callable[[Path, Path], tuple[str, ...]]
) -> None:
    """A link in the place of a file or of any folder is an UnsafePath that names the path."""
    parts = make(root, outside)
    with pytest.raises(UnsafePath, match=f"^{root}/"):
        safefs.read(root, *parts, missing=None)
    with pytest.raises(UnsafePath), safefs.open_directory(root, *parts):
        pass


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "a\0b"])
def test_a_part_is_the_name_of_one_file(root: Path, name: str) -> None:
    """`..`, a slash, and the like are refused wherever a name is expected."""
    for parts in ((name,), (name, "file"), ("a", name, "file")):
        with pytest.raises(UnsafePath, match="not the name of one file"):
            safefs.read(root, *parts)
    with pytest.raises(UnsafePath, match="not the name of one file"):
        safefs.write(root, name, b"")
    with pytest.raises(UnsafePath, match="not the name of one file"):
        safefs.make_directory(root, name)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _device(path: Path) -> None:
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero, without an end


NOT_REGULAR = [
    pytest.param(_fifo, "a FIFO", id="fifo"),
    pytest.param(_socket, "a socket", id="socket"),
    pytest.param(Path.mkdir, "a folder", id="folder"),
    pytest.param(
        _device,
        "a device",
        id="device",
        marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices"),
    ),
]


@pytest.mark.parametrize(("make", "kind"), NOT_REGULAR)
def test_only_regular_files_are_read_or_replaced(
    root: Path, make: Callable[[Path], None], kind: str
) -> None:
    """A FIFO, a socket, a device or a folder is named as what it is, and hangs nothing."""
    make(root / "odd")
    with pytest.raises(UnsafePath, match=f"odd is {kind}, not a regular file"):
        safefs.read(root, "odd", missing=b"")
    with pytest.raises(UnsafePath, match=f"odd is {kind}"):
        safefs.write(root, "odd", b"new")
    assert names(root) == ["a", "odd"]


def test_reading_is_bounded(root: Path) -> None:
    """A file of just the limit is read, a longer one is refused; a huge one costs nothing."""
    (root / "file").write_bytes(b"12345")
    assert safefs.read(root, "file", limit=5) == b"12345"
    with pytest.raises(UnsafePath, match=r"longer than 4 bytes"):
        safefs.read(root, "file", limit=4)
    os.truncate(root / "file", 1 << 40)
    with pytest.raises(UnsafePath, match=r"longer than 1,048,576 bytes"):
        safefs.read(root, "file")


def test_a_missing_file_is_what_the_caller_says(root: Path) -> None:
    """`missing` stands for a file that is not there; without it the error names the whole path."""
    assert safefs.read(root, "nothing", missing=None) is None
    assert safefs.read(root, "no", "thing", missing=b"") == b""
    with pytest.raises(FileNotFoundError, match=str(root / "a" / "nothing")):
        safefs.read(root, "a", "nothing")
    with (
        pytest.raises(FileNotFoundError, match=str(root / "no")),
        safefs.open_directory(root, "no"),
    ):
        pass


def test_folders_are_made_for_the_owner_alone(root: Path) -> None:
    """`make_directory` makes each missing folder with mode 700 and leaves one that is there."""
    (root / "a").chmod(0o755)
    safefs.make_directory(root, "a", "new", "deep")
    assert (root / "a" / "new" / "deep").stat().st_mode & 0o777 == 0o700
    safefs.make_directory(root, "a")
    assert (root / "a").stat().st_mode & 0o777 == 0o755


def test_no_folder_is_made_through_a_link(root: Path, outside: Path) -> None:
    """Where a link stands in the way, nothing is made behind it."""
    (root / "link").symlink_to(outside)
    with pytest.raises(UnsafePath):
        safefs.make_directory(root, "link", "new")
    (root / "dangling").symlink_to(outside / "new")
    with pytest.raises(UnsafePath):
        safefs.make_directory(root, "dangling")
    assert names(outside) == ["b", "file"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for somebody else")
def test_what_root_makes_belongs_to_the_owner_of_the_folder(root: Path) -> None:
    """Files and folders that root makes in an agent's folder are the agent's."""
    os.chown(root / "a", 12345, 23456)
    safefs.make_directory(root, "a", "one", "two")
    with safefs.open_directory(root, "a", "one", "two") as folder:
        safefs.write(folder, "file", b"x")
    for path in ("a/one", "a/one/two", "a/one/two/file"):
        status = (root / path).stat()
        assert (status.st_uid, status.st_gid) == (12345, 23456)
    assert (root / "a/b").stat().st_uid == 0


@pytest.mark.parametrize(
    "use",
    [
        "read",
        pytest.param(
            "give",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away"),
        ),
    ],
)
def test_a_link_that_is_swapped_in_after_the_look_is_not_followed(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    """What was a regular file when it was looked at may be a link when it is opened."""
    real = os.stat

    def look_then_swap(path: object, *args: object, **more: object) -> os.stat_result:
        status = real(path, *args, **more)  # type: ignore[call-overload]
        if path == "file" and not (root / "a/b/file").is_symlink():
            (root / "a/b/file").unlink()
            (root / "a/b/file").symlink_to(outside / "file")
        return status  # type: ignore[no-any-return]

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", look_then_swap)
        if use == "read":
            with pytest.raises(UnsafePath, match="a link"):
                safefs.read(root, "a", "b", "file")
        else:
            given = safefs.give(root, 12345, 12345)
            assert any(kept.startswith("a/b/file: ") for kept in given.kept)
    assert (outside / "file").stat().st_uid == os.geteuid()


def _swap(path: Path, link: Path, spare: Path, stop: threading.Event) -> None:
    """Put a link in the place of a path and back, until told to stop."""
    while not stop.is_set():
        path.rename(spare)
        link.rename(path)
        path.rename(link)
        spare.rename(path)


@pytest.mark.parametrize("swapped", ["a", "a/b", "a/b/file"])
def test_a_link_that_is_swapped_in_while_we_read_leads_nowhere(
    root: Path, outside: Path, swapped: str
) -> None:
    """However the agent times it, a read gives the content, or an error, and never the secret."""
    path = root / swapped
    link, spare = path.with_name("link"), path.with_name("spare")
    inside = Path(swapped).name == "file"
    link.symlink_to(outside / "file" if inside else outside)
    stop = threading.Event()
    agent = threading.Thread(target=_swap, args=(path, link, spare, stop))
    agent.start()
    seen = set()
    try:
        for _ in range(500):
            try:
                seen.add(safefs.read(root, "a", "b", "file"))
            except (UnsafePath, FileNotFoundError) as error:
                seen.add(type(error))
            try:
                with safefs.open_directory(root, "a", "b") as folder:
                    safefs.write(folder, "new", b"written")
            except (UnsafePath, FileNotFoundError):
                pass
            for entry in _walked(root):
                seen.add(entry)
    finally:
        stop.set()
        agent.join()
    assert SECRET not in seen
    assert b"content" in seen
    assert seen & {UnsafePath, FileNotFoundError}, "the swap was never met; the test shows nothing"
    assert names(outside) == ["b", "file"]
    assert names(outside / "b") == ["file"]


def _walked(root: Path) -> set[bytes]:
    """The content of each file that a walk meets, by the descriptors that it gives."""
    found = set()
    for entry in safefs.walk(root, limit=100):
        try:
            found.add(safefs.read(entry.folder, entry.name))
        except (UnsafePath, FileNotFoundError):
            continue
    return found


def test_what_the_system_refuses_is_one_path_and_a_reason(root: Path) -> None:
    """The error of the system names the whole path, once, and nothing else."""
    with pytest.raises(FileNotFoundError) as caught:
        safefs.read(root, "a", "missing")
    told = f"[Errno 2] No such file or directory: '{root}/a/missing'"
    assert str(caught.value) == told
    with safefs.open_directory(root, "a") as folder, pytest.raises(FileNotFoundError) as caught:
        safefs.read(folder, "missing")
    assert str(caught.value) == told
