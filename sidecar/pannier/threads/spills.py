"""The large results that a thread's hook put into files of the group: found, and removed.

They lie where the agent writes: no link is followed, and it may have removed or replaced them.
"""

from __future__ import annotations

import os

from pannier import safefs
from pannier.errors import PannierError, reason
from pannier.paths import GroupPaths
from pannier_hook.spill import FOLDER, SPILL, folder_of


def find(paths: GroupPaths, thread: str) -> str:
    """The thread's folder, below that of the group; "" when there is none."""
    name = folder_of(thread)
    try:
        with safefs.open_directory(paths.files, FOLDER, SPILL) as folder:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (OSError, PannierError):
        return ""
    return "/".join((paths.files.name, FOLDER, SPILL, name))


def remove(paths: GroupPaths, thread: str) -> tuple[str, ...]:
    """Remove the thread's folder. Returns what stays, below that of the group, with the reason."""
    found = find(paths, thread)
    if not found:
        return ()
    try:
        with safefs.open_directory(paths.files, FOLDER, SPILL) as folder:
            kept = safefs.remove_tree(folder, folder_of(thread))
    except PannierError as error:
        return (f"{found}: {error.message}",)
    except OSError as error:
        return (f"{found}: {reason(error)}",)
    return tuple(f"{found}/{why}" for why in kept)
