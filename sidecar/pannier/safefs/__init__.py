"""Reading, writing, walking and removing trees that an agent can write, from the host.

Every path is given as a root and names below it. The root is the caller's: a folder (or a
descriptor of one) that no agent can replace. Below it each name is opened from the descriptor of
the folder before it, and a symbolic link is followed at no step (open(2): O_NOFOLLOW), so nothing
that an agent swaps at any moment leads out of the root.

All functions raise UnsafePath for a link, for a name that is no single name, and for a file of
another kind than was expected. Other failures stay an OSError that names the whole path.
"""

from __future__ import annotations

from pannier.safefs.beneath import Root, make_directory, open_directory, open_file
from pannier.safefs.content import READ_LIMIT, read, write
from pannier.safefs.removal import remove_tree
from pannier.safefs.tree import DEPTH_LIMIT, Entry, Given, give, walk

__all__ = [
    "DEPTH_LIMIT",
    "READ_LIMIT",
    "Entry",
    "Given",
    "Root",
    "give",
    "make_directory",
    "open_directory",
    "open_file",
    "read",
    "remove_tree",
    "walk",
    "write",
]
