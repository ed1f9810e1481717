"""Folders beneath another one that somebody else may have replaced by anything."""

from __future__ import annotations

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FOLDER = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC


def open_below(base: str, names: Sequence[str], *, make: bool) -> int:
    """A descriptor of the folder to which `names` lead from `base`, through no link; what is
    missing is made if `make`, for its owner alone. Raises OSError."""
    folder = posix.open(base, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    for name in names:
        try:
            if make:
                try:
                    posix.mkdir(name, 0o700, dir_fd=folder)
                except FileExistsError:
                    pass
            below = posix.open(name, _FOLDER, dir_fd=folder)
        finally:
            posix.close(folder)
        folder = below
    return folder
