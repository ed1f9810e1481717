"""What was learned, as lines for a terminal, which obeys nothing of what was said. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import click

from pannier.cli.columns import columns
from pannier.learned.approving import Waiting
from pannier.learned.data import moment
from pannier.learned.forgetting import Forgetting
from pannier.learned.overview import Overview
from pannier.learned.preview import Preview
from pannier.learned.tracing import Origin, Trace
from pannier.learning.files.memoryfile import text_of
from pannier.learning.lessons import Candidate, Lesson
from pannier.learning.store.rows import ASIDE, Try
from pannier.learning.work.schedule import LATER, WORKS, Due
from pannier.learning.work.telling import NAMES, Told
from pannier.shown import brief, shown

_INDENT = "  "
_LONGEST = 80
"""Characters of a cell that says what is next."""
_LATEST = 3
"""Reports that are told."""


def lessons(found: Sequence[Lesson], now: Mapping[str, str] | None) -> Iterator[str]:
    """By section. `now`: what stands in MEMORY.md, by id; None: of what left it."""
    for number, (section, those) in enumerate(_by_section(found)):
        if number:
            yield ""
        yield click.style(shown(section) or "(no section)", bold=True)
        for lesson in those:
            yield f"{_INDENT}{id_of(lesson.id)}  {_line(lesson, now)}"


def _by_section(found: Sequence[Lesson]) -> list[tuple[str, list[Lesson]]]:
    sections: dict[str, list[Lesson]] = {}
    for lesson in found:
        sections.setdefault(lesson.section, []).append(lesson)
    return list(sections.items())


def _line(lesson: Lesson, now: Mapping[str, str] | None) -> str:
    written = text_of(lesson)
    text = written if now is None else now.get(lesson.id, written)
    notes = [
        "your words" if lesson.by == "person" else "",
        "edited in MEMORY.md since" if text != written else "",
        "deleted in MEMORY.md" if now is not None and lesson.id not in now else "",
    ]
    told = ", ".join(filter(None, notes))
    return shown(text) + (f"  ({told})" if told else "")


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
                brief(_next(one, one.next), _LONGEST),
            )
        )
    return rows


def _next(one: Overview, due: Due) -> str:
    if due.work and one.under_way:
        return f"{NAMES[due.work]} is being done"
    if due.work:
        but = f", but {shown(one.hindrance)}" if one.hindrance else ""
        return f"{NAMES[due.work]} is due{but}"
    if due.tried:
        return f"{_waits(due.tried, due.at)}: {shown(due.tried.why)}"
    return (shown(due.waits) or "-") + (f", until {moment(due.at)}" if due.at else "")


def _waits(tried: Try, at: float | None) -> str:
    """Until when, and how often it was tried."""
    until = moment(at) if at else "settings or environment change"
    times = "once" if tried.count == 1 else f"{tried.count} times"
    return f"waits until {until}, tried {times}"


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
    yield _row("extract", _next(one, one.extraction))
    yield _row("consolidate", _next(one, one.consolidation))
    yield from _done(one)
    said = (one.extraction.tried, one.consolidation.tried)
    for tried in one.tries:
        if tried not in said:
            yield from _failure(tried)
    if one.held or one.proposal:
        yield _row("approve", f"pannier learned approve {one.group}")


def _done(one: Overview) -> Iterator[str]:
    """What was done last; what failed, and still waits for that, is said elsewhere."""
    waits = {tried.why for tried in one.tries}
    news = []
    for report in one.reports:
        told = Told(one.group, report.work, json.loads(report.body))
        if told.result.get("trouble", {}).get("why") not in waits:
            news.append((report.at, told))
    for at, told in reversed(news[:_LATEST]):
        name = "failed" if told.level == "warning" else "done"
        yield _row(name, f"{moment(at)}  {shown(str(told))}")


def _row(name: str, text: str) -> str:
    return f"{name:<12}{text}"


def _of(used: int, most: int | None) -> str:
    return f"{used:,}" + (f" of {most:,}" if most is not None else "")


def _failure(tried: Try) -> Iterator[str]:
    if tried.work.startswith(ASIDE):
        yield _row("set aside", shown(tried.why))
    elif tried.work in WORKS:
        waits = _waits(tried, tried.not_before if tried.not_before < LATER else None)
        yield _row("failed", f"{NAMES[tried.work]} {waits}: {shown(tried.why)}")


# --------------------------------------------------------------------------------------------- why


def trace(found: Trace, folder: str) -> Iterator[str]:
    """As git shows a commit: its id, what is known of it, its text; then what it was made from."""
    lesson = found.lesson
    yield click.style(f"lesson {shown(lesson.id)}", fg="yellow")
    yield _field("Section", shown(lesson.section) or "-")
    yield _field("Kind", f"{shown(lesson.kind)}; {source(lesson.source)}")
    yield _field("Learned", moment(lesson.learned))
    number = lesson.confirmations
    times = f" ({'once' if number == 1 else f'{number} times'})" if number else ""
    yield _field("Confirmed", moment(lesson.confirmed) + times)
    yield _field("Changed", moment(lesson.changed))
    if lesson.by == "person":
        yield _field("Words", "yours: the line was edited in MEMORY.md")
    if found.gone is not None:
        yield _field("Gone", f"{moment(found.gone.at)}: {shown(found.gone.why)}")
    elif found.deleted:
        yield _field("Deleted", "its line was removed from MEMORY.md; the next consolidation heeds")
    yield ""
    yield f"{_DEEP}{shown(lesson.text)}"
    if found.edited:
        yield ""
        yield "MEMORY.md says by now:"
        yield f"{_DEEP}{shown(found.edited)}"
    for one in found.origins:
        yield ""
        yield from origin(one, folder)


def origin(found: Origin, folder: str) -> Iterator[str]:
    """A candidate with what proves it, each message as `pannier threads show` has it."""
    one = found.candidate
    yield (
        click.style(f"candidate {shown(one.id)}", fg="yellow") + f"  {one.state}, {shown(one.kind)}"
    )
    if one.why:
        yield _field("Why", shown(one.why))
    if one.approved:
        yield _field("Approved", "by a person")
    yield _field("Found", moment(one.found))
    yield f"{_DEEP}{shown(one.text)}"
    for proof in found.proofs:
        evidence = proof.evidence
        turn = f"  t{evidence.turn}" if evidence.turn else ""
        where = f"{folder}/{proof.thread}" if proof.thread else evidence.thread
        when = moment(evidence.at / 1e9)
        who = _WHO.get(evidence.source, evidence.source)
        yield f"{_INDENT}{shown(where)}{turn}  m{evidence.message}  {when}  {who}"
        yield f"{_DEEP}{shown(proof.quote) if proof.message else '(deleted since)'}"


_DEEP = "    "
_WHO = {"person": "person", "message": "message from the queue", "agent": "agent", "tool": "tool"}


def _field(name: str, text: str) -> str:
    return f"{name + ':':<11}{text}"


# --------------------------------------------------------------------------------------------- run


def preview(found: Preview) -> Iterator[str]:
    """What would be read, by thread, and what it comes to."""
    yield f"model       {shown(found.model) if found.model else f'none: {shown(found.why)}'}"
    if not found.parts and not found.waiting:
        yield "Nothing is new, so no model would be asked."
        return
    rows = [("THREAD", "MESSAGES", "CALLS", "TOKENS")]
    for part in found.parts:
        numbers = (f"{part.messages:,}", f"{part.calls:,}", f"{part.tokens:,}")
        rows.append((shown(part.thread), *numbers))
    if found.waiting:
        waiting = f"({found.waiting} candidates that wait)"
        rows.append((waiting, "-", "1", f"{found.merging:,}"))
    yield from columns(rows)
    least = " at least" if found.parts else ""
    yield f"Would ask {found.calls} times{least}, with some {found.tokens:,} tokens in."


# ----------------------------------------------------------------------------------------- approve


def waiting(found: Waiting, folder: str) -> Iterator[str]:
    """The change as git shows one, and each lesson that is held, with what proves it."""
    if found.change is not None:
        yield click.style(f"proposal {found.change.id}", fg="yellow")
        yield _field("Made", moment(found.change.made))
        yield ""
        for line in found.change.diff:
            yield _coloured(shown(line))
        for note in found.change.merge.notes:
            yield f"# {shown(note)}"
    for number, one in enumerate(found.held):
        if number or found.change:
            yield ""
        yield from origin(one, folder)


def _coloured(line: str) -> str:
    """As git does by default; click takes it away where no terminal is."""
    if line.startswith(("diff ", "--- ", "+++ ")):
        return click.style(line, bold=True)
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return click.style(line, fg=colours[line[0]]) if line[:1] in colours else line


# ------------------------------------------------------------------------------------------ forget


def forgetting(found: Forgetting) -> Iterator[str]:
    """What goes, and what stays although it says the same."""
    if found.is_empty and any(wish.text is not None for wish in found.wishes):
        yield "Nothing of it is known. What says so later is not learned."
    elif found.is_empty:
        yield "Nothing was learned from that."
    texts: dict[str, str] = {}
    for plan in found.plans:
        texts |= {one.id: one.text for one in plan.lessons}
        texts |= {one.id: one.text for one in plan.candidates}
    for id, text in texts.items():
        yield f"{_INDENT}{id_of(id)}  {shown(text)}"
    for plan in found.plans:
        for mark in plan.summaries:
            yield f"{_INDENT}the summary of the thread {shown(mark.name)}"
        for name in plan.sections:
            yield f"{_INDENT}the heading {shown(name)}"
        for text in plan.own:
            yield f"{_INDENT}stays, your own words in MEMORY.md: {brief(text, 200)}"
        for lesson in plan.alike:
            yield f"{_INDENT}stays, as it says more: {id_of(lesson.id)}  {shown(lesson.text)}"
    if any(plan.lingers for plan in found.plans):
        yield "Another process reads learning.db: until it ends, the file may still hold the text."
