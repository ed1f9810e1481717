"""What a person should know of learning: for `pannier doctor`. Reads only."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec

from pannier.findings import Finding, Level
from pannier.learned import written
from pannier.learned.data import moment
from pannier.learned.overview import Overview, overviews, readable
from pannier.learning.models.asking import AskError
from pannier.learning.models.choosing import chosen
from pannier.learning.store.rows import ASIDE
from pannier.learning.work.schedule import WORKS
from pannier.paths import GroupPaths, Home
from pannier.settings import CLIENT
from pannier.shown import shown

EXTRA = "pip install 'pannier[learning]'"
_SUBJECT = "learning"
_PASSING = ("limit", "rate", "unset", "key")
"""Troubles that end by themselves, or of which more is said elsewhere."""


def of_home(home: Home, environ: Mapping[str, str]) -> Iterator[Finding]:
    """What holds for all groups together. Raises PannierError."""
    found = overviews(home, environ, readable(home)[0], time.time())
    enabled = [one for one in found if one.settings.enabled]
    without = [one.group for one in enabled if one.settings.model is None]
    if without:
        who = "no group learns" if len(without) == len(found) else f"{_named(without)} do not learn"
        yield Finding(
            "note",
            _SUBJECT,
            f"no model is set, so {who}; what could be learned waits",
            f"Set learning.model in {home.settings}, or learning.enabled: false. "
            "See docs/learning.md",
        )
    if len(without) < len(enabled) and find_spec("dbos") is None:
        yield Finding(
            "problem", _SUBJECT, "the packages for learning are not installed", f"Run: {EXTRA}"
        )


def _named(folders: Sequence[str]) -> str:
    return ", ".join(folders[:5]) + (" and others" if len(folders) > 5 else "")


def of_group(home: Home, environ: Mapping[str, str], paths: GroupPaths) -> Iterator[Finding]:
    """What holds for one. Raises PannierError."""
    [one] = overviews(home, environ, [paths.folder], time.time())
    if one.settings.enabled:
        yield from _model(one, environ)
        yield from _failures(one)
    yield from _waiting(one)
    written.lines(home, paths.folder)


def _model(one: Overview, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Whether there is one that could be asked, as far as can be seen from here."""
    if one.settings.model in (None, CLIENT):
        return
    try:
        chosen(one.settings, environ)
    except AskError as error:
        # The daemon may have another environment.
        level: Level = "note" if error.kind == "key" else "problem"
        yield Finding(level, one.group, shown(error.message), error.hint)


def _failures(one: Overview) -> Iterator[Finding]:
    again = f"At once: pannier learned run {one.group}"
    for tried in one.tries:
        if tried.work.startswith(ASIDE):
            message = f"a part of a thread was left out of learning: {shown(tried.why)}"
            yield Finding("problem", one.group, message, again)
        elif tried.work in WORKS:
            times = "once" if tried.count == 1 else f"{tried.count} times"
            yield Finding(
                "note" if tried.kind in _PASSING else "problem",
                one.group,
                f"learning ({tried.work}) waits until {moment(tried.not_before)} UTC, "
                f"tried {times}: {shown(tried.why)}",
                again,
            )


def _waiting(one: Overview) -> Iterator[Finding]:
    what = [
        f"{one.held} lesson{'s' * (one.held != 1)}" if one.held else "",
        "a change of the memory" if one.proposal else "",
    ]
    if told := " and ".join(filter(None, what)):
        verb = "waits" if (one.held == 1) != bool(one.proposal) else "wait"
        yield Finding(
            "note",
            one.group,
            f"{told} {verb} for your approval",
            f"Look: pannier learned approve {one.group}",
        )
