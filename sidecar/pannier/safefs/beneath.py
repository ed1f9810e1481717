"""Opening folders and files below a root, one name at a time."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pannier.errors import UnsafePath

Root = Path | int

# O_PATH needs no right to list the folder, as an ordinary path does not; Linux only.
THROUGH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: to open a FIFO without it waits for a writer.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@contextmanager
def open_directory(root: Root, *parts: str, create: bool = False) -> Iterator[int]:
    """A descriptor of the folder `parts` below `root`, closed at the end.

    `create` makes what is missing, for the owner alone (mode 700).
    """
    with naming(root, parts):
        folder = _descend(root, parts, create)
    try:
        yield folder
    finally:
        os.close(folder)


def make_directory(root: Root, *parts: str) -> None:
    """The folder exists afterwards; one that is there already stays as it is."""
    with open_directory(root, *parts, create=True):
        pass


@contextmanager
def open_file(root: Root, *parts: str) -> Iterator[int]:
    """A descriptor for reading a regular file, closed at the end."""
    folders, name = parts[:-1], parts[-1]
    with open_directory(root, *folders) as folder:
        with naming(root, parts):
            single(name)
            # Before opening: to open a device can already do something.
            must_be_regular(
                os.stat(name, dir_fd=folder, follow_symlinks=False), whole_name(root, parts)
            )
            file = os.open(name, READ, dir_fd=folder)
        try:
            with naming(root, parts):
                must_be_regular(os.fstat(file), whole_name(root, parts))
            yield file
        finally:
            os.close(file)


def single(name: str) -> None:
    """Raises UnsafePath for what is not the name of one file."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise UnsafePath(f"{name!r} is not the name of one file")


def must_be_regular(status: os.stat_result, name: str) -> None:
    """Raises UnsafePath, with the kind that it is."""
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise UnsafePath(f"{name} is {kind}, not a regular file")


def like_folder(made: int, folder: int) -> None:
    """What root makes in somebody's folder is theirs."""
    owner = os.fstat(folder)
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(made, owner.st_uid, owner.st_gid)


def whole_name(root: Root, parts: tuple[str, ...]) -> str:
    """How errors name a path. Where a descriptor's folder lies, proc(5) says, if there is one."""
    below = "/".join(parts) or "."
    if isinstance(root, int):
        try:
            root = Path(f"/proc/self/fd/{root}").readlink()
        except OSError:
            return below
    return str(root / below)


@contextmanager
def naming(root: Root, parts: tuple[str, ...]) -> Iterator[None]:
    """Errors name the whole path; what stands in the way of a path is an UnsafePath."""
    try:
        yield
    except OSError as error:
        name = whole_name(root, parts)
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnsafePath(
                f"{name}: a link or a file stands in the place of a folder",
                "Put a real folder there; links are not followed here.",
            ) from error
        raise OSError(error.errno, error.strerror, name) from error


def _descend(root: Root, parts: tuple[str, ...], create: bool) -> int:
    """A new descriptor of a folder; the steps to it are closed again."""
    flags = [THROUGH] * (len(parts) - 1) + [FOLDER] * bool(parts)
    if isinstance(root, Path):
        here = os.open(root, (FOLDER & ~os.O_NOFOLLOW))
    else:
        here = os.open(".", FOLDER, dir_fd=root)
    try:
        for part, flag in zip(parts, flags, strict=True):
            single(part)
            made = create and _make(here, part)
            there = os.open(part, FOLDER if made else flag, dir_fd=here)
            here, above = there, here
            try:
                if made:
                    like_folder(here, above)
            finally:
                os.close(above)
    except BaseException:
        os.close(here)
        raise
    return here


def _make(folder: int, name: str) -> bool:
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        return False
    return True


_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
