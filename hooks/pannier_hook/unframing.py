"""Finding injected memory in any text, and telling whether all of it arrived. Pure.

The counterpart of `framing`. It runs where a delivery is checked, not in the hook.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable, Iterator

from .framing import MARKER_LENGTH, digest

_BEGIN = re.compile(f"-----BEGIN PANNIER MEMORY ([0-9a-f]{{{MARKER_LENGTH}}})-----\n")
_PART = re.compile(r"part (\d{1,2}) of (\d{1,2}), digest ([0-9a-f]{32})")
_FILE = re.compile(r"file (\S+) \([^)]*\), characters (\d+)-(\d+) of (\d+)")
_CUT = re.compile(r"cut (\S+): ")
_UNAVAILABLE = re.compile(r"unavailable (\S+): (.+)")
_ABOUT = re.compile(r"(?:file|unavailable) ([^\s:]+)")
_MISSING = "missing, because "


@dataclass(frozen=True)
class Segment:
    """Characters `start` to `end` (from 0, end excluded) of a file's `total`, as they came."""

    path: str
    start: int
    end: int
    total: int
    text: str


@dataclass(frozen=True)
class Part:
    """One part: where it lies in the text that was searched, and what it carries."""

    marker: str
    number: int
    count: int
    digest: str
    start: int
    end: int
    paths: tuple[str, ...]
    """The files it names, in order."""
    segments: tuple[Segment, ...]
    cut: frozenset[str]
    unavailable: tuple[tuple[str, str], ...]
    short: bool
    """It says itself that something is missing, because there were too few parts."""


@dataclass(frozen=True)
class FileBack:
    """One file as it was delivered.

    `text` is as it came: with angle brackets escaped when the client does that. `characters` is
    how many of the file's `total` delivered code points came, counted before such escaping.
    """

    path: str
    text: str
    characters: int
    total: int
    cut: bool
    unavailable: str | None


@dataclass(frozen=True)
class Injection:
    """The parts that bear one digest: one delivery of the memory, or several equal ones."""

    digest: str
    parts: tuple[Part, ...]
    files: tuple[FileBack, ...]
    complete: bool
    """Every part is there and what they carry has the digest that they bear."""

    @property
    def copies(self) -> int:
        """How many times the part that came most often is there."""
        numbers = [part.number for part in self.parts]
        return max((numbers.count(number) for number in numbers), default=0)


@dataclass(frozen=True)
class ReadBack:
    """All that was found, in the order of the text; one injection for each digest."""

    parts: tuple[Part, ...]
    injections: tuple[Injection, ...]

    @property
    def files(self) -> tuple[FileBack, ...]:
        """The files of the last injection."""
        return self.injections[-1].files if self.injections else ()

    @property
    def complete(self) -> bool:
        """There is an injection, and each is complete."""
        return bool(self.injections) and all(one.complete for one in self.injections)


def read_back(text: str) -> ReadBack:
    """Find all parts in `text`, in any order and among anything else, and join them.

    A part reaches from its first line to the first last line with the same marker, so a file that
    imitates either inside of a part is text like any other.
    """
    parts = tuple(_parts(text))
    digests = dict.fromkeys(part.digest for part in parts)
    return ReadBack(
        parts, tuple(_join(of, [part for part in parts if part.digest == of]) for of in digests)
    )


def _parts(text: str) -> Iterator[Part]:
    at = 0
    while begin := _BEGIN.search(text, at):
        marker = begin[1]
        end = text.find(f"\n-----END PANNIER MEMORY {marker}-----", begin.end() - 1)
        part = None
        if end >= 0:
            part = _part(marker, text[begin.end() : end + 1], begin.start(), end)
        if part is None:
            at = begin.end()
            continue
        yield part
        at = part.end


def _part(marker: str, body: str, start: int, end: int) -> Part | None:
    lines = re.compile(rf"^\[{marker}\] (.*)\n", re.MULTILINE)
    found = list(lines.finditer(body))
    label = _PART.fullmatch(found[0][1]) if found else None
    if label is None or found[0].start() != 0:
        return None
    segments = []
    ends = [*(line.start() for line in found[1:]), len(body)]
    for index, line in enumerate(found):
        if named := _FILE.fullmatch(line[1]):
            segments.append(
                Segment(
                    named[1],
                    int(named[2]) - 1,
                    int(named[3]),
                    int(named[4]),
                    body[line.end() : ends[index] - 1],
                )
            )
    said = [line[1] for line in found]
    return Part(
        marker,
        int(label[1]),
        int(label[2]),
        label[3],
        start,
        end + len(f"\n-----END PANNIER MEMORY {marker}-----"),
        tuple(dict.fromkeys(one[1] for line in said if (one := _ABOUT.match(line)))),
        tuple(segments),
        frozenset(one[1] for line in said if (one := _CUT.match(line))),
        tuple((one[1], one[2]) for line in said if (one := _UNAVAILABLE.fullmatch(line))),
        any(line.startswith(_MISSING) for line in said),
    )


def _join(of: str, parts: list[Part]) -> Injection:
    by_number = {part.number: part for part in parts}
    ordered = [by_number[number] for number in sorted(by_number)]
    files = tuple(_files(ordered))
    numbers = [part.number for part in ordered]
    whole = (
        numbers == list(range(1, ordered[0].count + 1))
        and not any(part.short for part in ordered)
        and all(file.characters == file.total for file in files)
        and digest([(one.path, _state(one), one.text) for one in files]) == of
    )
    return Injection(of, tuple(parts), files, whole)


def _files(parts: Iterable[Part]) -> Iterator[FileBack]:
    """The files in the order in which the parts name them."""
    segments: dict[str, list[Segment]] = {}
    reasons: dict[str, str] = {}
    cut: set[str] = set()
    for part in parts:
        for path in part.paths:
            segments.setdefault(path, [])
        for segment in part.segments:
            segments[segment.path].append(segment)
        reasons.update(part.unavailable)
        cut |= part.cut
    for path, pieces in segments.items():
        text, characters = "", 0
        for piece in pieces:
            # A part that did not come leaves a gap; what follows it is no continuation.
            if piece.start == characters:
                text += piece.text
                characters = piece.end
        total = pieces[0].total if pieces else 0
        yield FileBack(path, text, characters, total, path in cut, reasons.get(path))


def _state(file: FileBack) -> str:
    return file.unavailable or ("cut" if file.cut else "whole")
