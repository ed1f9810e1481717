"""`session_summaries/`: a page for each of the threads that were active last. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

import yaml

from pannier import redaction
from pannier.learning.guards.widening import widens
from pannier.learning.guards.words import addresses
from pannier.learning.store.rows import ThreadMark
from pannier.shown import brief
from pannier.threads.times import timestamp
from pannier_hook import VERSION
from pannier_hook.textrules import clean, one_line

KEPT = 30
"""Threads that have a page."""
_SLUG = 40
_TITLE = 120
_DESCRIPTION = 160
_MARKUP = re.compile(r"[^\w .,:'/@+-]")


def kept(marks: Iterable[ThreadMark], waiting: Collection[str]) -> tuple[ThreadMark, ...]:
    """The threads that have a page: those with the most recent activity, and older ones of which
    something found still waits to be merged (`waiting`, by key)."""
    told = [mark for mark in marks if mark.name and mark.summary.strip()]
    told.sort(key=lambda mark: (-mark.active, mark.thread))
    return tuple(m for rank, m in enumerate(told) if rank < KEPT or m.thread in waiting)


def page_name(mark: ThreadMark) -> str:
    """The file's: the thread's name as far as it can be one, and its key."""
    slug = re.sub(r"[^a-z0-9]+", "-", _name(mark).lower()).strip("-")[:_SLUG].strip("-") or "thread"
    return f"{slug}-{mark.thread}.md"


def page(mark: ThreadMark) -> str:
    """Its text, in the Open Knowledge Format (v0.2: `generated`, `sources`)."""
    title = _name(mark) or f"Thread {mark.thread}"
    text = redaction.mask(clean(mark.summary)).strip()
    front = {
        "type": "Session summary",
        "title": title,
        "description": brief(_first_sentence(text), _DESCRIPTION),
        "timestamp": timestamp(mark.active) or "",
        "generated": {"by": f"pannier/{VERSION}", "at": _at(mark.summarized)},
        "sources": [f"thread {mark.thread}"],
    }
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1_000)
    return f"---\n{head}---\n\n# {title}\n\n{text}\n"


def _name(mark: ThreadMark) -> str:
    """What the container calls its thread, which it may choose as it likes: without secrets and
    markup; "" where it tells the agent what to do, or where to send something."""
    name = " ".join(_MARKUP.sub(" ", one_line(redaction.mask(mark.name), _TITLE)).split())
    return "" if widens(name) or addresses(name) else name


def _first_sentence(text: str) -> str:
    line = " ".join(text.split())
    end = re.search(r"[.!?](?=\s)|[。！？]", line)
    return line[: end.end()] if end else line


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
