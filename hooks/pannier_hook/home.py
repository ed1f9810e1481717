"""What a container's user needs before the client starts: a name, and the HOME's first files."""

from __future__ import annotations

import os
import stat

from .scaffold import create

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ACCOUNTS = "/var/lib/extrausers"
"""Where libnss-extrausers looks for accounts beside /etc."""
SKELETON = "/usr/share/pannier/skel"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def register_user(home: str, accounts: str = ACCOUNTS) -> None:
    """Give the running user and group a name when they have none. Raises OSError.

    Does nothing in an image without the folder `accounts`.
    """
    import grp
    import pwd

    uid, gid = os.getuid(), os.getgid()
    if not os.path.isdir(accounts):
        return
    try:
        grp.getgrgid(gid)
    except KeyError:
        _append(f"{accounts}/group", f"agent{gid}:x:{gid}:\n")
    try:
        pwd.getpwuid(uid)
    except KeyError:
        place = home.replace(":", "").replace("\n", "") or "/"
        # libnss-extrausers passes over accounts whose group is below 500, but for 100.
        group = gid if gid >= 500 or gid == 100 else uid
        _append(f"{accounts}/passwd", f"agent{uid}:x:{uid}:{group}:agent:{place}:/bin/bash\n")


def copy_skeleton(home: str, skeleton: str = SKELETON) -> list[str]:
    """Copy what is missing of the folder `skeleton` into `home`; nothing is overwritten.

    Files, links and folders; a link in the place of a folder is not followed. Gives back a line
    for each thing that could not be copied. Raises OSError when `home` cannot be opened.
    """
    if not os.path.isdir(skeleton):
        return []
    target = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return list(_copy_folder(skeleton, target, ""))
    finally:
        os.close(target)


def _copy_folder(source: str, target: int, below: str) -> Iterator[str]:
    for entry in sorted(os.scandir(source), key=lambda one: one.name):
        path = f"{below}{entry.name}"
        try:
            if entry.is_symlink():
                _copy_link(entry, target)
            elif entry.is_dir():
                inner = _folder(entry, target)
                try:
                    yield from _copy_folder(entry.path, inner, f"{path}/")
                finally:
                    os.close(inner)
            elif not _exists(entry.name, target):
                _copy_file(entry, target)
        except OSError as problem:
            yield f"{path} is missing in HOME and cannot be made there: {problem.strerror}"


def _copy_link(entry: os.DirEntry[str], target: int) -> None:
    try:
        os.symlink(os.readlink(entry.path), entry.name, dir_fd=target)
    except FileExistsError:
        pass


def _copy_file(entry: os.DirEntry[str], target: int) -> None:
    mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) | stat.S_IWUSR
    with open(entry.path, "rb") as file:
        create(entry.name, file.read(), target, mode=mode)


def _folder(entry: os.DirEntry[str], target: int) -> int:
    try:
        os.mkdir(entry.name, 0o755, dir_fd=target)
    except FileExistsError:
        pass
    return os.open(entry.name, _FOLDER, dir_fd=target)


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _append(path: str, line: str) -> None:
    descriptor = os.open(path, _APPEND, 0o644)
    try:
        os.write(descriptor, line.encode("utf-8"))
    finally:
        os.close(descriptor)
