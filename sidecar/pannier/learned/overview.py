"""How far learning is in each group, and what it waits for. Reads only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pannier import groups
from pannier.errors import PannierError
from pannier.learned import hindrances
from pannier.learned.data import timestamp
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.learning.store.books import day_of
from pannier.learning.store.locks import is_at_work
from pannier.learning.store.rows import Report, Spent, Try
from pannier.learning.work.schedule import LATER, Due, Standing, in_words
from pannier.learning.work.standing import standings
from pannier.paths import Home
from pannier.settings import LearningSettings
from pannier.threads.store import open_store, threads_file


@dataclass(frozen=True)
class Overview:
    """A group."""

    group: str
    settings: LearningSettings
    """With what the home says."""
    standing: Standing
    extraction: Due
    consolidation: Due
    under_way: bool
    """Somebody works on what the group learned just now."""
    hindrance: str
    """Why nothing can be learned from here, whatever is due; "": perhaps it can."""
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
            "under_way": self.under_way,
            "hindrance": self.hindrance or None,
            "today": {
                "calls": self.today.calls,
                "tokens": self.today.tokens,
                "most_calls": budget.calls,
                "most_tokens": budget.tokens,
            },
            "failures": [
                {**asdict(one), "at": timestamp(one.at), "not_before": _until(one)}
                for one in self.tries
            ],
            "reports": [
                {"work": one.work, "at": timestamp(one.at), "report": json.loads(one.body)}
                for one in self.reports
            ],
        }


def _until(tried: Try) -> str | None:
    return timestamp(tried.not_before) if tried.not_before < LATER else None


def _due(due: Due) -> dict[str, Any]:
    at = timestamp(due.at) if due.at else None
    return {"due": due.work is not None, "waits": due.waits or None, "at": at}


def overviews(
    home: Home, environ: Mapping[str, str], folders: Sequence[str], now: float
) -> tuple[Overview, ...]:
    """The groups of these folders. Raises PannierError."""
    settings = {folder: settings_of(home, folder) for folder in folders}
    with (
        open_learning(learning_file(home, environ)) as learning,
        open_store(threads_file(home, environ)) as store,
    ):
        found = standings(store, learning, settings)
        general = hindrances.of_home(home, environ)
        return tuple(
            _overview(
                one,
                found[one],
                learning,
                now,
                under_way=is_at_work(home, one),
                hindrance=general or hindrances.of_group(settings[one], environ),
            )
            for one in settings
        )


def readable(home: Home) -> tuple[tuple[str, ...], tuple[PannierError, ...]]:
    """The groups whose settings can be read; what is wrong with those of the others."""
    found, wrong = [], []
    for paths in home.all_groups():
        try:
            found.append(groups.get(home, paths.folder).folder)
        except PannierError as error:
            wrong.append(error)
    return tuple(found), tuple(wrong)


def settings_of(home: Home, folder: str) -> LearningSettings:
    """How the group learns, with what the home says. Raises UsageError, SettingsError."""
    group = groups.get(home, folder)
    return group.settings.learning.with_defaults(groups.home_settings(home).learning)


def _overview(
    folder: str,
    standing: Standing,
    learning: Learning,
    now: float,
    *,
    under_way: bool,
    hindrance: PannierError | None,
) -> Overview:
    extraction, consolidation = in_words(standing, now)
    lessons = learning.lessons(folder)
    proposal = learning.proposal(folder)
    return Overview(
        group=folder,
        settings=standing.settings,
        standing=standing,
        extraction=extraction,
        consolidation=consolidation,
        under_way=under_way,
        hindrance=hindrance.message if hindrance and standing.settings.enabled else "",
        held=len(learning.candidates(folder, ("held",))),
        lessons=len(lessons),
        changed=max((one.changed for one in lessons), default=0.0),
        today=learning.books.spent(day_of(now)).get(folder, Spent()),
        proposal=proposal.id if proposal and proposal.state == "waiting" else 0,
        tries=learning.books.tries(folder),
        reports=learning.books.reports(folder, 5),
    )
