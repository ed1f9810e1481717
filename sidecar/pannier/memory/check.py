"""What is to be said about a memory: errors, warnings and notes. Pure.

The format is a convention, not a gate: only what keeps memory from working is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from pannier import redaction
from pannier.memory.document import READ_LIMIT, Document
from pannier.memory.finding import Finding, counted
from pannier.memory.links import Elsewhere, resolve
from pannier.memory.reach import INDEX, Reach, is_concept
from pannier.memory.tree import CAPS, Node, Tree, hidden
from pannier.shown import shown

_PATH_MAX = 4_096
_FOLDED = 20
"""So many findings of one rule in one file are told apart."""


def check(tree: Tree) -> tuple[Finding, ...]:
    """All findings, by path and line."""
    found = [*_whole(tree), *_delivered(tree)]
    for path, node in tree.nodes.items():
        found += _node(path, node)
        if node.document is not None:
            found += _document(path, node, node.document)
    found += _links(tree)
    found += _indexes(tree)
    return tuple(_fold(sorted(found, key=_order)))


def _order(finding: Finding) -> tuple[list[str], int, str, str]:
    return finding.path.split("/"), finding.line or 0, finding.rule, finding.message


def _fold(findings: list[Finding]) -> Iterator[Finding]:
    of_rule = Counter((f.path, f.rule) for f in findings)
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        key = finding.path, finding.rule
        seen[key] += 1
        if seen[key] < _FOLDED or of_rule[key] == _FOLDED:
            yield finding
        elif seen[key] == _FOLDED:
            more = f"{of_rule[key] - _FOLDED + 1:,} more like these"
            yield Finding(finding.path, finding.line, finding.level, finding.rule, more)


def _whole(tree: Tree) -> Iterator[Finding]:
    if tree.too_many:
        message = f"{tree.too_many}; what is beyond them was not looked at"
        yield Finding("", None, "warning", "too-much", message)
    if tree.skipped:
        message = f"{counted(tree.skipped, 'file')} not looked at: all together they are too much"
        yield Finding("", None, "warning", "too-much", message)


def _delivered(tree: Tree) -> Iterator[Finding]:
    for path, cap in CAPS.items():
        *above, _ = path.split("/")
        folders = ["/".join(above[: n + 1]) for n in range(len(above))]
        wrong = next((f for f in folders if f in tree.nodes and not _is(tree, f, "folder")), "")
        node = tree.nodes.get(path)
        if wrong:
            message = f"is no folder, so {path} is not given to the agent"
            yield Finding(wrong, None, "error", "not-delivered", message)
        elif node is None and not tree.too_many:
            message = "is missing; the next start makes it"
            yield Finding(path, None, "warning", "missing", message)
        elif node is not None and node.kind != "file":
            message = f"is a {node.kind}, so it is not given to the agent"
            yield Finding(path, None, "error", "not-delivered", message)
        elif node is not None and node.document is not None and node.document.characters > cap:
            over = counted(node.document.characters - cap, "character")
            least = "at least " if node.document.cut else ""
            message = f"over the cap by {least}{over}: only the first {cap:,} are given"
            yield Finding(path, None, "error", "over-cap", message)


def _is(tree: Tree, path: str, kind: str) -> bool:
    node = tree.nodes.get(path)
    return node is not None and node.kind == kind


def _node(path: str, node: Node) -> Iterator[Finding]:
    if node.unread:
        yield Finding(path, None, "error", "unreadable", f"cannot be read: {node.unread}")
    elif node.kind not in ("file", "folder") and path not in CAPS:
        yield Finding(path, None, "warning", "odd", f"is a {node.kind}, not a regular file")


def _document(path: str, node: Node, document: Document) -> Iterator[Finding]:
    for line, kind in document.secrets:
        yield Finding(path, line, "warning", "secret", f"likely a secret: {kind}")
    if document.cut:
        message = f"is {node.size:,} bytes; only the first {READ_LIMIT:,} were looked at"
        yield Finding(path, None, "warning", "huge", message)
    if hidden(path):
        return
    if document.binary:
        yield Finding(
            path, None, "warning", "binary", "is binary, not text; what is in it was not looked at"
        )
        return
    if document.undecodable:
        message = "holds bytes that are not UTF-8"
        yield Finding(path, document.undecodable, "warning", "encoding", message)
    yield from _concept(path, document)


def _concept(path: str, document: Document) -> Iterator[Finding]:
    if not is_concept(path):
        return
    if document.frontmatter is None:
        yield Finding(path, 1, "warning", "type", "concept without type: it has no frontmatter")
    elif document.frontmatter.problem:
        message = f"frontmatter cannot be read: {document.frontmatter.problem}"
        yield Finding(path, document.frontmatter.line, "warning", "frontmatter", message)
    elif not document.frontmatter.type:
        yield Finding(path, document.frontmatter.line, "warning", "type", "concept without type")


def _links(tree: Tree) -> Iterator[Finding]:
    for path, node in tree.nodes.items():
        if node.document is None or hidden(path):
            continue
        secret_lines = {line for line, _ in node.document.secrets}
        listed = 0
        for link in node.document.links:
            place = resolve(path, link.target)
            if place is Elsewhere.OUTSIDE:
                said = Finding(path, link.line, "note", "outside", "link leaves memory")
            elif isinstance(place, str) and _is_broken(tree, place):
                said = Finding(path, link.line, "warning", "broken-link", "broken link")
            else:
                continue
            listed += 1
            if listed <= 2 * _FOLDED and link.line not in secret_lines:
                said = replace(said, message=f"{said.message}: {_target(link.target)}")
            yield said


def _target(target: str) -> str:
    return shown(redaction.mask(target[:1_000])[:200])


def _is_broken(tree: Tree, place: str) -> bool:
    """A folder that was not looked into, or is a link, may hold anything."""
    if tree.too_many or place in tree.nodes or f"{place}.md" in tree.nodes:
        return False
    if len(place) > _PATH_MAX:
        return True
    above = place
    while above:
        above = above.rpartition("/")[0]
        if above in tree.nodes:
            node = tree.nodes[above]
            unknown = node.unread or hidden(above) or node.kind == "symbolic link"
            return not unknown
    return True


def _indexes(tree: Tree) -> Iterator[Finding]:
    if tree.too_many:
        return
    reach = Reach(tree)
    for folder in reach.without_index():
        yield Finding(folder, None, "warning", "no-index", "folder without index.md")
    if tree.skipped or not _is(tree, INDEX, "file"):
        return
    for path, covered in reach.unreached():
        more = f", nor to {counted(covered, 'file')} behind it" if covered else ""
        message = f"no link leads here from the root index{more}"
        yield Finding(path, None, "warning", "unreached", message)
