"""The first files of a memory: only what is missing is made, and each whole or not at all.

Called inside the container by `boot` and on the host by the sidecar, beneath a descriptor of the
memory folder; whatever an agent may have put there, no link is followed and nothing replaced.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPLATES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "templates")
FILES = ("index.md", "system/index.md", "system/definition.md")
"""What a memory begins with, as paths below the memory folder."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_PREFIX = ".pannier-new-"
"""Begins the name of a file that is still being written, or was when its writer was killed."""
_ABANDONED = 600.0
"""Seconds after which such a file has no writer any more."""


class Odd:
    """Something that is not as the scaffold would have it, and was left alone.

    `kind` is what is in its place, "link", "folder", "file" or "special", or "error" when it could
    not be made; `reason` says it in words.
    """

    __slots__ = ("kind", "path", "reason")

    def __init__(self, path: str, kind: str, reason: str) -> None:
        self.path = path
        self.kind = kind
        self.reason = reason

    def __repr__(self) -> str:
        return f"Odd({self.path!r}, {self.kind!r}, {self.reason!r})"


class ScaffoldReport:
    """What was made, what was there already, and what is odd; paths below the memory folder."""

    __slots__ = ("created", "kept", "odd")

    def __init__(
        self, created: tuple[str, ...], kept: tuple[str, ...], odd: tuple[Odd, ...]
    ) -> None:
        self.created = created
        self.kept = kept
        self.odd = odd

    def __repr__(self) -> str:
        return f"ScaffoldReport(created={self.created}, kept={self.kept}, odd={self.odd})"


def scaffold(memory_fd: int) -> ScaffoldReport:
    """Make what is missing of the scaffold beneath a readable descriptor of a `memory` folder.

    What is made belongs to the owner of that folder. Never raises for what lies there or for a
    full or read-only disk: that is in the report.
    """
    created: list[str] = []
    kept: list[str] = []
    odd: dict[str, Odd] = {}
    for path in FILES:
        try:
            (created if _ensure(memory_fd, path) else kept).append(path)
        except _InTheWay as problem:
            odd.setdefault(problem.odd.path, problem.odd)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            odd[path] = Odd(path, "error", f"it cannot be made: {reason}")
    return ScaffoldReport(tuple(created), tuple(kept), tuple(odd.values()))


class _InTheWay(Exception):
    def __init__(self, path: str, mode: int) -> None:
        super().__init__(path)
        if stat.S_ISLNK(mode):
            self.odd = Odd(path, "link", "a symbolic link is in its place")
        elif stat.S_ISDIR(mode):
            self.odd = Odd(path, "folder", "a folder is in its place")
        elif stat.S_ISREG(mode):
            self.odd = Odd(path, "file", "a file is in the place of a folder")
        else:
            self.odd = Odd(path, "special", "a special file is in its place")


def _ensure(memory_fd: int, path: str) -> bool:
    """Whether the file `path` was missing and has been made."""
    *folders, name = path.split("/")
    at, opened = memory_fd, []
    try:
        for folder in folders:
            at = _ensure_folder(folder, at)
            opened.append(at)
        mode = _mode(name, at)
        if mode is None and create(name, _template(path), at, owner=_owner(memory_fd)):
            return True
        mode = mode or _mode(name, at)
        if mode is not None and not stat.S_ISREG(mode):
            raise _InTheWay(path, mode)
        return False
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _ensure_folder(name: str, at: int) -> int:
    """A descriptor of the folder `name`, which is made when it is missing."""
    mode = _mode(name, at)
    if mode is None:
        try:
            os.mkdir(name, 0o777, dir_fd=at)
        except FileExistsError:
            pass
        mode = _mode(name, at) or 0
    if not stat.S_ISDIR(mode):
        raise _InTheWay(name, mode)
    descriptor = os.open(name, _FOLDER, dir_fd=at)
    _give(descriptor, _owner(at))
    return descriptor


def create(
    name: str,
    content: bytes,
    folder: int,
    *,
    owner: tuple[int, int] | None = None,
    mode: int = 0o666,
) -> bool:
    """Make the file `name` in `folder` at once and whole; False when the name is taken.

    Raises OSError, and then leaves nothing.
    """
    _sweep(folder)
    temporary = f"{_PREFIX}{os.urandom(8).hex()}"
    descriptor = os.open(temporary, _NEW, mode, dir_fd=folder)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            if owner is not None:
                _give(descriptor, owner)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            return False
    finally:
        os.unlink(temporary, dir_fd=folder)
    os.fsync(folder)
    return True


def _sweep(folder: int) -> None:
    """Remove what killed writers left; what is younger may have its writer still."""
    for name in _leftovers(folder):
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _ABANDONED:
                os.unlink(name, dir_fd=folder)
        except OSError:
            continue


def _leftovers(folder: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                yield entry.name


def _mode(name: str, folder: int) -> int | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _owner(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_uid, status.st_gid


def _give(descriptor: int, owner: tuple[int, int]) -> None:
    """Give what root has made to `owner`; what somebody else owns stays theirs."""
    if os.geteuid() == 0 and os.fstat(descriptor).st_uid == 0 and owner[0] != 0:
        os.fchown(descriptor, *owner)


def _template(path: str) -> bytes:
    with open(os.path.join(TEMPLATES, path), "rb") as file:
        return file.read()
