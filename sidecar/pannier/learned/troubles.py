"""What a person should know of learning: for `pannier doctor`. Reads only."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from pannier.findings import Finding, Level
from pannier.learned import hindrances, written
from pannier.learned.data import moment
from pannier.learned.overview import Overview, overviews, readable
from pannier.learning.store.rows import ASIDE
from pannier.learning.work.schedule import LATER, OF_SETTINGS, WORKS
from pannier.paths import GroupPaths, Home
from pannier.shown import shown

_SUBJECT = "learning"
_PASSING = ("limit", "rate")
"""Troubles that end by themselves."""


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
    if len(without) < len(enabled) and (error := hindrances.of_home(home, environ)):
        # The daemon may have another environment.
        level: Level = "note" if "learning.database_from" in error.message else "problem"
        yield Finding(level, _SUBJECT, shown(error.message), error.hint or "")


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
    error = hindrances.of_group(one.settings, environ)
    if error is not None:
        # The daemon may have another environment.
        level: Level = "note" if error.kind == "key" else "problem"
        yield Finding(level, one.group, shown(error.message), error.hint or "")


def _failures(one: Overview) -> Iterator[Finding]:
    run = f"pannier learned run {one.group}"
    for tried in one.tries:
        if tried.work.startswith(ASIDE):
            message = f"a part of a thread was left out of learning: {shown(tried.why)}"
            hint = f"With another model it is read again; with this one: {run}"
            yield Finding("problem", one.group, message, hint)
        elif tried.work in WORKS:
            times = "once" if tried.count == 1 else f"{tried.count} times"
            until = "settings or environment change"
            if tried.not_before < LATER:
                until = f"{moment(tried.not_before)} UTC"
            again = "" if tried.kind in _PASSING else f"At once: {run}"
            if tried.kind in OF_SETTINGS:
                again = f"When that is mended, if it does not go on: {run}"
            yield Finding(
                "note" if tried.kind in _PASSING else "problem",
                one.group,
                f"learning ({tried.work}) waits until {until}, tried {times}: {shown(tried.why)}",
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
