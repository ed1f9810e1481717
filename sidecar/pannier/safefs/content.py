"""The content of single files: bounded reading, whole writing."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from typing import TypeVar, overload

from pannier.errors import ChangedMeanwhile, UnsafePath
from pannier.safefs.beneath import (
    Root,
    like_folder,
    must_be_regular,
    naming,
    open_directory,
    open_file,
    single,
    whole_name,
)

Missing = TypeVar("Missing", bytes, None)

READ_LIMIT = 1 << 20

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@overload
def read(root: Root, *parts: str, limit: int = ...) -> bytes: ...
@overload
def read(root: Root, *parts: str, limit: int = ..., missing: Missing) -> bytes | Missing: ...
def read(
    root: Root, *parts: str, limit: int = READ_LIMIT, missing: object = FileNotFoundError
) -> object:
    """The content of a regular file of at most `limit` bytes.

    `missing` is returned when there is no such file; without it FileNotFoundError is raised.
    Raises UnsafePath for a longer file.
    """
    try:
        with open_file(root, *parts) as file, naming(root, parts):
            data = _read_up_to(file, limit + 1)
    except FileNotFoundError:
        if missing is FileNotFoundError:
            raise
        return missing
    if len(data) > limit:
        raise UnsafePath(f"{whole_name(root, parts)} is longer than {limit:,} bytes")
    return data


def write(
    root: Root,
    name: str,
    data: bytes,
    *,
    replace: bool = True,
    expected: bytes | None = None,
    mode: int = 0o644,
) -> None:
    """Put `data` into the file `name` of the folder `root`: whole or not at all.

    Without `replace` an existing file stays, and FileExistsError is raised. With `expected` the
    file must still hold just that, else ChangedMeanwhile is raised. A file that is replaced keeps
    its mode, a new one gets `mode` less the umask. As root the file is made for the folder's owner.
    """
    with open_directory(root) as folder, naming(root, (name,)):
        single(name)
        old = _regular_or_missing(folder, name, whole_name(root, (name,)))
        temporary = f".{secrets.token_hex(8)}.pannier-new"
        try:
            _write_new(folder, temporary, data, mode, old)
            if expected is not None and not _holds(folder, name, expected):
                raise ChangedMeanwhile(f"{whole_name(root, (name,))} was changed by somebody else")
            if replace:
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                os.link(
                    temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False
                )
        finally:
            # After a rename there is nothing of this name any more.
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
        _sync_folder(folder)


def _write_new(folder: int, name: str, data: bytes, mode: int, old: os.stat_result | None) -> None:
    file = os.open(name, _NEW, mode, dir_fd=folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        if old is not None:
            os.fchmod(file, stat.S_IMODE(old.st_mode))
        like_folder(file, folder)
        os.fsync(file)
    finally:
        os.close(file)


def _sync_folder(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        # Some file systems cannot flush a folder (fsync(2): EINVAL); the rename holds all the same.
        if error.errno != errno.EINVAL:
            raise


def _read_up_to(file: int, count: int) -> bytes:
    pieces = []
    while count > 0:
        piece = os.read(file, min(count, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def _holds(folder: int, name: str, expected: bytes) -> bool:
    try:
        return read(folder, name, limit=len(expected), missing=None) == expected
    except UnsafePath:
        return False


def _regular_or_missing(folder: int, name: str, shown: str) -> os.stat_result | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    must_be_regular(status, shown)
    return status
