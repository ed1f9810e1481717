"""What was learned, as lines for a terminal, which obeys nothing of what was said. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from pannier.learned.data import moment
from pannier.learned.overview import Overview
from pannier.learning.lessons import Candidate, Lesson
from pannier.learning.rows import Try
from pannier.learning.schedule import Due
from pannier.shown import shown

_INDENT = "  "


def lessons(found: Sequence[Lesson]) -> Iterator[str]:
    """By section, in the order in which they are given."""
    for number, (section, those) in enumerate(groupby(found, lambda one: one.section)):
        if number:
            yield ""
        yield click.style(shown(section) or "(no section)", bold=True)
        for lesson in those:
            yield f"{_INDENT}{id_of(lesson.id)}  {shown(lesson.text)}{_notes(lesson)}"


def _notes(lesson: Lesson) -> str:
    notes = [
        "your words" if lesson.by == "person" else "",
        "seen in tool output" if lesson.source == "tool" else "",
    ]
    told = ", ".join(filter(None, notes))
    return f"  ({told})" if told else ""


def candidates(found: Sequence[Candidate]) -> Iterator[str]:
    """A line each, and why it is held."""
    for one in found:
        kind = f"{one.kind}, {source(one.source)}"
        yield f"{id_of(one.id)}  {one.state:<8}{shown(one.text)}  ({kind})"
        if one.why:
            yield f"{_INDENT}{shown(one.why)}"


def id_of(id: str) -> str:
    """As git shows a commit's."""
    return click.style(shown(id), fg="yellow")


def source(name: str) -> str:
    """Who speaks for it, in words."""
    return {
        "person": "a person said so",
        "message": "a message of the queue said so",
        "agent": "the agent said so",
        "tool": "seen in tool output",
    }.get(name, shown(name))


def since(seconds: float) -> str:
    return moment(seconds)


# ------------------------------------------------------------------------------------------ status


def table(found: Sequence[Overview]) -> list[tuple[str, ...]]:
    """Groups in rows, the first of which is the heading."""
    rows: list[tuple[str, ...]] = [
        ("GROUP", "TURNS", "CANDIDATES", "HELD", "LESSONS", "CHANGED", "NEXT")
    ]
    for one in found:
        rows.append(
            (
                one.group,
                f"{one.standing.turns}/{one.settings.extract_after}",
                str(one.standing.waiting),
                str(one.held),
                str(one.lessons),
                moment(one.changed),
                _next(one.next),
            )
        )
    return rows


def _next(due: Due) -> str:
    if due.work:
        return f"{_WORKS[due.work]} is due"
    if not due.waits:
        return "-"
    return shown(due.waits) + (f", until {moment(due.at)}" if due.at else "")


_WORKS = {"extract": "extraction", "consolidate": "consolidation"}


def status(one: Overview) -> Iterator[str]:
    """All that is known of a group."""
    settings, budget = one.settings, one.settings.budget
    model = shown(settings.model) if settings.model else "none is set: learning.model"
    yield _row("model", model if settings.enabled else f"{model}; learning.enabled is false")
    yield _row("turns", f"{one.standing.turns} of {settings.extract_after} for an extraction")
    yield _row("candidates", f"{one.standing.waiting} waiting, {one.held} held")
    yield _row("lessons", f"{one.lessons}, changed last: {moment(one.changed)}")
    calls, tokens = _of(one.today.calls, budget.calls), _of(one.today.tokens, budget.tokens)
    yield _row("today", f"{calls} calls, {tokens} tokens")
    yield _row("extract", _next(one.extraction))
    yield _row("consolidate", _next(one.consolidation))
    for tried in one.tries:
        yield _row("failed", _failure(tried))
    if one.held or one.proposal:
        yield _row("approve", f"pannier learned approve {one.group}")


def _row(name: str, text: str) -> str:
    return f"{name:<12}{text}"


def _of(used: int, most: int | None) -> str:
    return f"{used:,}" + (f" of {most:,}" if most is not None else "")


def _failure(tried: Try) -> str:
    times = "once" if tried.count == 1 else f"{tried.count} times"
    until = f"; again at {moment(tried.not_before)}"
    return f"{shown(tried.work)} ({times}{until}): {shown(tried.why)}"
