"""One file of a memory, from its bytes: frontmatter, links, likely secrets. Pure.

The conventions are those of the Open Knowledge Format (docs/memory.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import yaml
from frontmatter.default_handlers import YAMLHandler
from markdown_it import MarkdownIt

from pannier import redaction
from pannier_hook.reading import READ_LIMIT
from pannier_hook.textrules import deliverable

__all__ = ["READ_LIMIT", "Document", "Frontmatter", "Link", "parse"]

_FRONTMATTER = 16_384
"""Characters; what is longer is not given to the YAML parser."""
_LINKS = 1_000
"""Different targets of one file that are looked at."""


@dataclass(frozen=True)
class Link:
    """A link or an image, as it is written; `line` is that of its text, from 1."""

    line: int
    target: str


@dataclass(frozen=True)
class Frontmatter:
    """What matters of the YAML at a file's start.

    `type` is empty when it is missing, empty or no text. `problem` says why it could not be read;
    `line` is where the problem is, or the type, from 1.
    """

    type: str = ""
    line: int = 1
    problem: str = ""


@dataclass(frozen=True)
class Document:
    """What was found in a file, of which at most READ_LIMIT bytes were looked at."""

    characters: int = 0
    """After the text rules, as the hook counts them."""
    cut: bool = False
    """The file goes on."""
    binary: bool = False
    """Then nothing more is known of it."""
    undecodable: int = 0
    """The first line with a byte that is not UTF-8; 0 if there is none."""
    frontmatter: Frontmatter | None = None
    links: tuple[Link, ...] = ()
    """Each target once."""
    secrets: tuple[tuple[int, str], ...] = ()
    """Line and kind; never the secret."""


def parse(data: bytes, *, markdown: bool) -> Document:
    """`data` is the whole file, or at least its first READ_LIMIT + 1 bytes."""
    cut = len(data) > READ_LIMIT
    delivered = deliverable(data, READ_LIMIT)
    if b"\0" in data:
        return Document(len(delivered.text), cut, binary=True)
    text = delivered.text.removeprefix("\ufeff")
    frontmatter, body, line = _split(text) if markdown else (None, "", 0)
    return Document(
        characters=len(delivered.text),
        cut=cut,
        undecodable=_undecodable(data[:READ_LIMIT], cut),
        frontmatter=frontmatter,
        links=_links(body, line),
        secrets=tuple(_secrets(text)),
    )


def _undecodable(data: bytes, cut: bool) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        # The limit may split a character.
        if not (cut and error.start > len(data) - 4 and error.reason == "unexpected end of data"):
            return data.count(b"\n", 0, error.start) + 1
    return 0


def _secrets(text: str) -> Iterator[tuple[int, str]]:
    line, at = 1, 0
    for secret in redaction.find(text):
        line += text.count("\n", at, secret.start)
        at = secret.start
        yield line, secret.kind


# ------------------------------------------------------------------------------------ frontmatter


def _split(text: str) -> tuple[Frontmatter | None, str, int]:
    """Frontmatter, body, and the lines before the body."""
    handler = YAMLHandler()
    start = len(text) - len(text.lstrip())
    rest = text[start:]
    opening = handler.FM_BOUNDARY.match(rest)
    if opening is None:
        return None, text, 0
    try:
        source, body = handler.split(rest)
    except ValueError:
        unclosed = Frontmatter(problem="it is not closed by a line ---")
        return unclosed, rest, text.count("\n", 0, start)
    before = text.count("\n", 0, start + opening.end())
    return _frontmatter(source, before), body, text.count("\n", 0, len(text) - len(body))


def _frontmatter(source: str, before: int) -> Frontmatter:
    """Only composed, not constructed: aliases and merges stay references, and no value is made."""
    if len(source) > _FRONTMATTER:
        return Frontmatter(problem=f"it is longer than {_FRONTMATTER:,} characters")
    try:
        node = yaml.compose(source, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = before + mark.line + 1 if mark else 1
        return Frontmatter(line=line, problem=_without_quotes(error.problem or "it is not YAML"))
    except yaml.YAMLError:
        return Frontmatter(problem="it holds a character that YAML does not allow")
    except RecursionError:
        return Frontmatter(problem="it is nested too deeply")
    if node is None:
        return Frontmatter()
    if not isinstance(node, yaml.MappingNode):
        return Frontmatter(problem="it is not made of lines `name: value`")
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value == "type":
            text = isinstance(value, yaml.ScalarNode) and value.tag == "tag:yaml.org,2002:str"
            return Frontmatter(
                value.value.strip() if text else "", before + key.start_mark.line + 1
            )
    return Frontmatter()


def _without_quotes(problem: str) -> str:
    """The parser's words without what it quotes of the file."""
    return problem if "'" not in problem and '"' not in problem else "it is not YAML"


# ------------------------------------------------------------------------------------------ links


class _Parser(MarkdownIt):
    """Gives every target as it is written, of whatever scheme."""

    def validateLink(self, url: str) -> bool:
        return True

    def normalizeLink(self, url: str) -> str:
        return url

    def normalizeLinkText(self, link: str) -> str:
        return link


@lru_cache(maxsize=1)
def _parser() -> _Parser:
    return _Parser("commonmark")


def _links(body: str, before: int) -> tuple[Link, ...]:
    found: dict[str, Link] = {}
    for token in _parser().parse(body):
        if token.type != "inline" or not token.map:
            continue
        line = before + token.map[0] + 1
        for child in token.children or ():
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type in ("link_open", "image"):
                target = str(child.attrs["href" if child.type == "link_open" else "src"])
                found.setdefault(target, Link(line, target))
                if len(found) == _LINKS:
                    return tuple(found.values())
    return tuple(found.values())
