"""Which files of a memory can be found from its root index, link by link. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pannier.memory.links import Elsewhere, resolve
from pannier.memory.tree import Tree, hidden

INDEX = "index.md"
RESERVED = (INDEX, "log.md")
"""Names that are no concepts, in every folder (Open Knowledge Format)."""


def is_concept(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".md") and name not in RESERVED and not hidden(path)


class Reach:
    """The links of a tree that lead to its files; one to a folder leads to the folder's index."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.files = {p for p, n in tree.nodes.items() if n.kind == "file" and not hidden(p)}

    def without_index(self) -> list[str]:
        """Folders with a concept somewhere in them and no index of their own, by path."""
        folders: set[str] = set()
        for path in filter(is_concept, self.files):
            above = path.rpartition("/")[0]
            while above and above not in folders:
                folders.add(above)
                above = above.rpartition("/")[0]
        return sorted(f for f in folders if f"{f}/{INDEX}" not in self.tree.nodes)

    def unreached(self) -> list[tuple[str, int]]:
        """Files to which no link leads from the root index, and how many are behind each.

        What an unreached index leads to is counted there, not told itself.
        """
        reached = self._from(INDEX, set())
        missed = sorted(f for f in self.files - reached if f.rpartition("/")[2] != "log.md")
        told: list[tuple[str, int]] = []
        covered: set[str] = set()
        for path in sorted(missed, key=lambda p: (not _is_index(p), p.count("/"), p)):
            if path in covered:
                continue
            behind = self._from(path, reached | covered) if _is_index(path) else {path}
            covered |= behind
            told.append((path, len(behind) - 1))
        return sorted(told)

    def _from(self, start: str, known: set[str]) -> set[str]:
        """The file itself, and what can be reached from it but is not known yet."""
        found, left = {start}, [start]
        while left:
            for path in self._leads_to(left.pop()):
                if path not in found and path not in known:
                    found.add(path)
                    left.append(path)
        return found

    def _leads_to(self, path: str) -> Iterator[str]:
        document = self.tree.nodes[path].document
        for link in document.links if document else ():
            place = resolve(path, link.target)
            if isinstance(place, Elsewhere):
                continue
            index = f"{place}/{INDEX}" if place else INDEX
            for candidate in (place, f"{place}.md", index):
                if candidate in self.files:
                    yield candidate
                    break


def _is_index(path: str) -> bool:
    return path.rpartition("/")[2] == INDEX
