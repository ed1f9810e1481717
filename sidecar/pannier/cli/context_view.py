"""What a model is sent, as lines for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pannier.cli.columns import columns
from pannier.shown import shown
from pannier.threads.excerpt import excerpt
from pannier.threads.rows import ThreadRow
from pannier.threads.show import name_of
from pannier.threads.times import moment
from pannier.threads.view import View

_SUMMARY = 2_000
"""Characters of the summary that are shown."""
_LONGEST = 80
Rows = list[tuple[str, ...]]


def lines(thread: ThreadRow, view: View, *, full: bool = False) -> Iterator[str]:
    """Whose it is, how much, by which parts; the summary; what was pruned, what was spilled.

    Without `full` a long summary is shortened.
    """
    session = shown(view.session)[:_LONGEST]
    how = "as the agent says" if view.reported else "as its transcript tells"
    yield f"{name_of(thread)}  {shown(view.client)}, session {session}"
    yield f"{how}, {moment(view.at)}"
    yield from _sizes(view)
    yield ""
    yield from columns(_parts(view))
    yield from _summary(view, full)
    if view.report.pruned:
        yield ""
        yield from columns(_pruned(view))
    if view.report.spilled:
        yield ""
        yield from columns(_spilled(view))


def _sizes(view: View) -> Iterator[str]:
    report = view.report
    if report.window is not None:
        begins = f"; compaction begins above {report.limit:,}" if report.limit is not None else ""
        yield f"window     {report.window:,} tokens{begins}"
    whose = "as the provider counted" if report.exact else "estimated"
    last = "last call" if report.exact and not view.reported else "sent"
    yield f"{last:<9}  {report.tokens:,} tokens, {whose}"
    if report.exact and not view.reported:
        yield f"below      {view.estimated:,} tokens, estimated"


def _parts(view: View) -> Rows:
    rows: Rows = [("PART", "MESSAGES", "CHARACTERS", "TOKENS")]
    for part in view.report.parts:
        characters = "-" if part.characters is None else f"{part.characters:,}"
        rows.append((_named(part.part), f"{part.messages:,}", characters, f"{part.tokens:,}"))
    return rows


def _summary(view: View, full: bool) -> Iterator[str]:
    if not view.report.summary:
        return
    found = excerpt(view.report.summary, None if full else _SUMMARY)
    where = f" (m{view.since})" if view.since else ""
    left = f", {found.left:,} characters left out" if found.left else ""
    yield ""
    yield f"Summary{where}{left}:"
    for line in found.text.split("\n"):
        yield f"    {shown(line.expandtabs(4))}".rstrip()


def _pruned(view: View) -> Rows:
    rows: Rows = [("PRUNED", "CALL", "CHARACTERS", "HOW")]
    for one in view.report.pruned:
        sizes = f"{one.before:,} → {one.after:,}"
        rows.append((_named(one.tool), _named(one.call), sizes, _named(one.how)))
    return rows


def _spilled(view: View) -> Rows:
    rows: Rows = [("SPILLED", "BYTES", "FILE")]
    for one in view.report.spilled:
        rows.append((_named(one.tool), f"{one.bytes:,}", shown(one.path)))
    return rows


def _named(name: str) -> str:
    return shown(name)[:_LONGEST] or "-"
