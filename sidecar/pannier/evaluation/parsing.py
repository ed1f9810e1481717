"""What a question shows, as a scripted model reads it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pannier.learning.models.asking import Question

_LINE = re.compile(r"\[(?P<mark>[0-9a-f]{8}) (?P<label>[^\]]*)\](?: (?P<text>.*))?")


@dataclass(frozen=True)
class Message:
    """Of a conversation."""

    number: int
    who: str
    """`person`, `queue`, `agent` or `tool`."""
    text: str


@dataclass(frozen=True)
class Stands:
    """A lesson in the memory, or a candidate."""

    id: str
    text: str
    said: str
    """When; later ones sort behind."""


def messages(question: Question) -> list[Message]:
    """Of a question about a conversation, in order; calls of tools are left out."""
    found: list[tuple[str, list[str]]] = []
    mark = _mark(question)
    for line in question.data.splitlines():
        if (ours := _LINE.fullmatch(line)) and ours["mark"] == mark:
            found.append((ours["label"], []))
        elif found:
            found[-1][1].append(line)
    read = []
    for label, lines in found:
        if (name := re.match(r"m(\d+) (person|queue|agent|tool)(?! calls)\b", label)) is not None:
            read.append(Message(int(name[1]), name[2], "\n".join(lines)))
    return read


def memory(question: Question) -> tuple[list[Stands], list[Stands]]:
    """The lessons and the candidates of a question about the memory."""
    lessons, candidates = [], []
    mark = _mark(question)
    for line in question.data.splitlines():
        ours = _LINE.fullmatch(line)
        if ours is None or ours["mark"] != mark:
            continue
        label = ours["label"]
        if (one := re.match(r"(c[0-9a-f]{8}) ", label)) is not None:
            candidates.append(Stands(one[1], ours["text"] or "", _moment(label)))
        elif (one := re.match(r"([0-9a-f]{7}) ", label)) is not None:
            lessons.append(Stands(one[1], ours["text"] or "", _moment(label)))
    return lessons, candidates


def _mark(question: Question) -> str:
    first = _LINE.match(question.data)
    return first["mark"] if first else ""


def _moment(label: str) -> str:
    found = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", label)
    return found[0] if found else ""
