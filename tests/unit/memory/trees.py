"""Memories as data, for the tests."""

from __future__ import annotations

from collections.abc import Mapping

from pannier.memory.check import check
from pannier.memory.document import parse
from pannier.memory.tree import Node, Tree
from pannier_hook.scaffold import TEMPLATES

CONCEPT = "---\ntype: person\n---\n\n# Dana\n"
SECRET = "hunter2" + "x9"


def scaffold() -> dict[str, str]:
    """What the hook makes, by path."""
    files = {}
    for path in ("index.md", "system/index.md", "system/definition.md"):
        with open(f"{TEMPLATES}/{path}", encoding="utf-8") as file:  # noqa: PTH123
            files[path] = file.read()
    return files


def tree_of(files: Mapping[str, str | bytes], **others: Node) -> Tree:
    """A tree with these files, the folders that they need, and other nodes."""
    nodes = {"": Node("folder")}
    for path, content in files.items():
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
        for n, character in enumerate(path):
            if character == "/":
                nodes.setdefault(path[:n], Node("folder"))
        nodes[path] = Node(
            "file", len(data), document=parse(data[:65_537], markdown=path.endswith(".md"))
        )
    return Tree({**nodes, **others})


def said(files: Mapping[str, str | bytes], **others: Node) -> list[str]:
    """What is found in the scaffold with these files: `path:line level rule message`."""
    found = check(tree_of({**scaffold(), **files}, **others))
    return [f"{f.path}:{f.line or ''} {f.level} {f.rule} {f.message}" for f in found]


def with_map(*lines: str) -> str:
    """The root index of the scaffold with lines added to its map."""
    return scaffold()["index.md"] + "".join(f"* {line}\n" for line in lines)
