"""A memory as it was found: names, kinds, and what the files hold."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pannier import safefs
from pannier.errors import TooManyEntries, UnsafePath
from pannier.memory.document import READ_LIMIT, Document, parse
from pannier_hook import framing

Kind = Literal["file", "folder", "symbolic link", "FIFO", "socket", "device"]

CAPS = {
    file.path.removeprefix("memory/"): file.cap
    for file in framing.FILES
    if file.path.startswith("memory/")
}
"""What the hook gives to the agent of a memory, each with its cap in code points."""


@dataclass(frozen=True)
class Node:
    """One name. A file without `document` was not looked at."""

    kind: Kind
    size: int = 0
    unread: str = ""
    """Why it could not be read, or looked into."""
    document: Document | None = None


@dataclass(frozen=True)
class Tree:
    """Nodes by their path below the memory folder, which is itself the empty path."""

    nodes: Mapping[str, Node]
    too_many: str = ""
    """Why not all names are here; empty if they are."""
    skipped: int = 0
    """Files that were not looked at because the whole was too much."""


@dataclass(frozen=True)
class Limits:
    """What one reading may cost. Of each file READ_LIMIT bytes are read."""

    entries: int = 100_000
    total: int = 16 << 20
    """Bytes of all files together."""
    seconds: float = 60.0
    """After them no further file is begun; one takes a few seconds at the very worst."""


def hidden(path: str) -> bool:
    """Whether a name in the path begins with a dot: tools keep their own things there."""
    return path.startswith(".") or "/." in path


def in_hidden_folder(path: str) -> bool:
    return hidden(path.rpartition("/")[0])


def read(
    root: safefs.Root,
    *parts: str,
    limits: Limits | None = None,
    now: Callable[[], float] = time.monotonic,
) -> Tree:
    """Look at the memory in the folder `parts` below `root`, within limits. Changes nothing.

    Hidden folders are named, and what is in them is left out.
    Raises UnsafePath or OSError if there is no such folder.
    """
    reading = _Reading(limits or Limits(), now)
    with safefs.open_directory(root, *parts) as top:
        reading.given(top)
        try:
            for entry in safefs.walk(top, limit=reading.limits.entries, one_device=True):
                if not in_hidden_folder(entry.path):
                    reading.take(entry)
        except TooManyEntries:
            reading.too_many = f"holds more than {reading.limits.entries:,} names"
        except OSError as error:
            reading.nodes[""] = Node("folder", unread=error.strerror or "error")
    return Tree(reading.nodes, reading.too_many, reading.skipped)


class _Reading:
    def __init__(self, limits: Limits, now: Callable[[], float]) -> None:
        self.limits = limits
        self.now = now
        self.end = now() + limits.seconds
        self.left = limits.total
        self.nodes: dict[str, Node] = {"": Node("folder")}
        self.too_many = ""
        self.skipped = 0

    def given(self, top: int) -> None:
        """First what the hook gives, so that it is looked at however much else there is."""
        for path in CAPS:
            *folders, name = path.split("/")
            try:
                with safefs.open_directory(top, *folders) as folder:
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    self.take(safefs.Entry(path, name, status, folder))
            except (OSError, UnsafePath):
                continue  # The walk says what is wrong.

    def take(self, entry: safefs.Entry) -> None:
        if entry.path in self.nodes:
            return
        kind = _KINDS.get(stat.S_IFMT(entry.status.st_mode), "device")
        node = Node(kind, entry.status.st_size, entry.unread)
        if kind == "file":
            try:
                node = self.looked_at(entry, node)
            except FileNotFoundError:
                return
            except UnsafePath:
                node = replace(node, unread="it was replaced meanwhile")
            except OSError as error:
                node = replace(node, unread=error.strerror or "error")
        self.nodes[entry.path] = node

    def looked_at(self, entry: safefs.Entry, node: Node) -> Node:
        if self.left <= 0 or self.now() >= self.end:
            self.skipped += 1
            return node
        with (
            safefs.open_file(entry.folder, entry.name) as descriptor,
            os.fdopen(descriptor, "rb", closefd=False) as file,
        ):
            data = file.read(READ_LIMIT + 1)
        self.left -= len(data)
        return replace(node, document=parse(data, markdown=entry.name.endswith(".md")))


_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
}
