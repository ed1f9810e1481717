"""What a person wants forgotten, as they say it, and having it forgotten."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pannier import groups
from pannier.errors import UsageError
from pannier.learned import data, finding
from pannier.learning.forgetting import removal
from pannier.learning.forgetting.removal import Place
from pannier.learning.forgetting.wishes import Plan, Wish
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.learning.store.rows import EVERYTHING
from pannier.learning.store.steps import database_url
from pannier.paths import Home
from pannier.settings import seconds_of
from pannier.shown import brief
from pannier.threads.store import Store, open_store, threads_file

_SECOND = 10**9


@dataclass(frozen=True)
class Asked:
    """What was said on the command line; one of these."""

    lessons: tuple[str, ...] = ()
    text: str | None = None
    thread: str | None = None
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True)
class Forgetting:
    """What goes, or went."""

    place: Place
    wishes: tuple[Wish, ...]
    plans: tuple[Plan, ...]

    @property
    def is_empty(self) -> bool:
        return all(plan.is_empty for plan in self.plans)

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        plans = self.plans
        lessons = {one.id: one for plan in plans for one in plan.lessons}
        candidates = {one.id: one for plan in plans for one in plan.candidates}
        return {
            "lessons": [data.of_lesson(one) for one in lessons.values()],
            "candidates": [data.of_candidate(one) for one in candidates.values()],
            "released": sorted({id for plan in plans for id in plan.released}),
            "summaries": sorted({one.name for plan in plans for one in plan.summaries}),
            "sections": sorted({name for plan in plans for name in plan.sections}),
            "lingers": any(plan.lingers for plan in plans),
            "reports": len({id for plan in plans for id in plan.reports}),
            "stays": {
                "own": list(dict.fromkeys(text for plan in plans for text in plan.own)),
                "lessons": sorted({one.id for plan in plans for one in plan.alike}),
            },
        }


def planned(home: Home, environ: Mapping[str, str], folder: str, asked: Asked) -> Forgetting:
    """What would go. Raises UsageError for what is not known or cannot be meant, PannierError."""
    groups.get(home, folder)
    url = database_url(groups.home_settings(home).learning, environ)
    place = Place(home, environ, folder, url)
    now = time.time()
    with (
        open_learning(learning_file(home, environ)) as learning,
        open_store(threads_file(home, environ)) as store,
    ):
        wishes = tuple(_wishes(learning, store, folder, asked, now))
    return Forgetting(place, wishes, tuple(removal.planned(place, one, now) for one in wishes))


def forget(plan: Forgetting) -> Forgetting:
    """Do it. Raises Busy while lessons of the group are being drawn, PannierError."""
    done: list[Plan] = []
    for wish in plan.wishes:
        # One that says the same went with another.
        if wish.lesson not in {lesson.id for before in done for lesson in before.lessons}:
            done.append(removal.forget(plan.place, wish, time.time()))
    return Forgetting(plan.place, plan.wishes, tuple(done))


def _wishes(learning: Learning, store: Store, folder: str, asked: Asked, now: float) -> list[Wish]:
    by_time = asked.since is not None or asked.until is not None
    if bool(asked.lessons) + (asked.text is not None) + (asked.thread is not None) + by_time != 1:
        raise UsageError(
            "say what is to be forgotten in one way",
            "Lessons by their ids, or --text, or --thread, or --since and --until.",
        )
    if asked.lessons:
        found = [finding.lesson(learning, folder, ref).id for ref in asked.lessons]
        return [Wish(lesson=id) for id in dict.fromkeys(found)]
    if asked.text is not None:
        return [Wish(text=asked.text)]
    if asked.thread is not None:
        key, upto = _thread(learning, store, folder, asked.thread)
        return [Wish(thread=key, upto=upto)]
    begin = nanoseconds(asked.since, now, "--since") if asked.since else 0
    end = nanoseconds(asked.until, now, "--until") if asked.until else round(now * _SECOND)
    if begin >= end:
        raise UsageError("--since is not before --until")
    return [Wish(begin=begin, end=end)]


def _thread(learning: Learning, store: Store, folder: str, ref: str) -> tuple[str, int]:
    """Its key and its last message; also of a thread that was deleted."""
    name = ref.removeprefix(f"{folder}/")
    last = {key: upto for _, key, upto in store.last_said(folder)}
    known = {thread.key: thread.name for thread in store.threads(folder)}
    marks = learning.thread_marks(folder)
    known = {mark.thread: mark.name for mark in marks.values()} | known
    keys = [key for key, called in known.items() if name in (key, called)]
    if len(keys) != 1:
        raise UsageError(
            f"{folder} has no thread {brief(ref, 80)!r}"
            if not keys
            else f"several threads of {folder} were called {brief(ref, 80)!r}: {', '.join(keys)}",
            f"See which there are: pannier threads list {folder}",
        )
    [key] = keys
    read = marks[key].upto if key in marks and marks[key].upto != EVERYTHING else 0
    return key, max(last.get(key, 0), read)


def nanoseconds(text: str, now: float, option: str) -> int:
    """A date or time (UTC unless it says otherwise), or how long ago: `6h`, `2d`.

    Raises UsageError.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * _SECOND)
    try:
        return round((now - seconds_of(text)) * _SECOND)
    except (ValueError, KeyError):
        raise UsageError(
            f"{option}: {brief(text, 40)!r} is no time",
            "Write a date (2026-11-30), a time (2026-11-30T14:00), or how long ago (6h, 2d).",
        ) from None
