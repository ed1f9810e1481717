"""How far learning is in each group, and what it waits for. Reads only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pannier import groups
from pannier.errors import PannierError
from pannier.groups import Group
from pannier.learned.data import timestamp
from pannier.learning.rows import Report, Spent, Try
from pannier.learning.schedule import Due, Standing, Trouble, in_words
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.paths import Home
from pannier.settings import HomeLearning, LearningSettings
from pannier.threads.learnable import Activity, activities, count_after
from pannier.threads.store import Store, open_store, threads_file

_COUNTED = 10_000
"""Turns that are counted at most."""


@dataclass(frozen=True)
class Overview:
    """A group."""

    group: str
    settings: LearningSettings
    """With what the home says."""
    standing: Standing
    extraction: Due
    consolidation: Due
    held: int
    lessons: int
    changed: float
    """When the newest lesson was written or left; 0: there was none."""
    today: Spent
    proposal: int = 0
    """The number of one that waits for a person; 0: none does."""
    tries: tuple[Try, ...] = ()
    reports: tuple[Report, ...] = ()

    @property
    def next(self) -> Due:
        """What comes first, or what is waited for."""
        if self.settings.enabled and self.settings.model is None:
            return Due(waits="no model is set: learning.model")
        both = (self.extraction, self.consolidation)
        working = next((one for one in both if one.work), None)
        return working or next((one for one in both if one.waits), Due())

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        budget = self.settings.budget
        return {
            "group": self.group,
            "enabled": self.settings.enabled,
            "model": self.settings.model,
            "turns": self.standing.turns,
            "extract_after": self.settings.extract_after,
            "waiting": self.standing.waiting,
            "held": self.held,
            "lessons": self.lessons,
            "changed": timestamp(self.changed),
            "proposal": f"p{self.proposal}" if self.proposal else None,
            "extraction": _due(self.extraction),
            "consolidation": _due(self.consolidation),
            "today": {
                "calls": self.today.calls,
                "tokens": self.today.tokens,
                "most_calls": budget.calls,
                "most_tokens": budget.tokens,
            },
            "failures": [
                {**asdict(one), "at": timestamp(one.at), "not_before": timestamp(one.not_before)}
                for one in self.tries
            ],
            "reports": [
                {"work": one.work, "at": timestamp(one.at), "report": json.loads(one.body)}
                for one in self.reports
            ],
        }


def _due(due: Due) -> dict[str, Any]:
    at = timestamp(due.at) if due.at else None
    return {"due": due.work is not None, "waits": due.waits or None, "at": at}


def overviews(
    home: Home, environ: Mapping[str, str], folder: str | None, now: float
) -> Iterator[Overview]:
    """The group of this folder, else all groups. Raises PannierError."""
    wanted = home.all_groups() if folder is None else [groups.get(home, folder).paths]
    defaults = groups.home_settings(home).learning
    with ExitStack() as opened:
        learning = opened.enter_context(open_learning(learning_file(home, environ)))
        store = opened.enter_context(open_store(threads_file(home, environ)))
        active = activities(store)
        for paths in wanted:
            group = groups.get(home, paths.folder)
            yield _overview(group, defaults, store, learning, active, now)


def _overview(
    group: Group,
    defaults: HomeLearning,
    store: Store,
    learning: Learning,
    active: Mapping[str, Activity],
    now: float,
) -> Overview:
    settings = group.settings.learning.with_defaults(defaults)
    tries = learning.books.tries(group.folder)
    standing = _standing(group.folder, settings, store, learning, active, tries)
    extraction, consolidation = in_words(standing, now)
    lessons = learning.lessons(group.folder)
    proposal = learning.proposal(group.folder)
    day = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
    return Overview(
        group=group.folder,
        settings=settings,
        standing=standing,
        extraction=extraction,
        consolidation=consolidation,
        held=learning.counts().get(group.folder, {}).get("held", 0),
        lessons=len(lessons),
        changed=max((one.changed for one in lessons), default=0.0),
        today=learning.books.spent(day).get(group.folder, Spent()),
        proposal=proposal.id if proposal and proposal.state == "waiting" else 0,
        tries=tries,
        reports=learning.books.reports(group.folder, 5),
    )


def _standing(
    folder: str,
    settings: LearningSettings,
    store: Store,
    learning: Learning,
    active: Mapping[str, Activity],
    tries: tuple[Try, ...],
) -> Standing:
    mark = learning.group_mark(folder)
    activity = active.get(folder, Activity())
    proposal = learning.proposal(folder)
    wanted = {work for grp, work in learning.books.wanted() if grp == folder}
    return Standing(
        settings,
        turns=count_after(store, folder, mark.counted, _COUNTED),
        last=activity.last_at / 1e9,
        compacted=activity.last_compaction > mark.compacted,
        waiting=learning.counts().get(folder, {}).get("waiting", 0),
        staged=proposal.state if proposal else "",
        troubles={one.work: Trouble(one.kind, one.not_before, one.why) for one in tries},
        wanted=frozenset(wanted),
    )


def problem(home: Home, environ: Mapping[str, str]) -> str:
    """Why what was learned cannot be read; "" if it can."""
    try:
        with open_learning(learning_file(home, environ)):
            return ""
    except PannierError as error:
        return error.message
