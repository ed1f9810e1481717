"""How groups stand, as the databases say. Cheap: it is asked every few seconds."""

from __future__ import annotations

from collections.abc import Mapping

from pannier.learning.store import Learning
from pannier.learning.store.rows import ASIDE, GroupMark, Try
from pannier.learning.work.edits import Edits
from pannier.learning.work.schedule import Standing, compaction_is_over, wish_is_over
from pannier.settings.learning import LearningSettings
from pannier.threads.learnable import Activity, activities, count_after
from pannier.threads.queries import Store


def standings(
    store: Store,
    learning: Learning,
    groups: Mapping[str, LearningSettings],
    edits: Edits | None = None,
) -> dict[str, Standing]:
    """Of these groups, with their settings. Raises PannierError.

    `edits`: to look, too, whether a person edited a memory.
    """
    active, marks, counts = activities(store), learning.group_marks(), learning.counts()
    staged = {proposal.grp: proposal.state for proposal in learning.staged()}
    tries = _by_group(learning.books.tries())
    edited = frozenset[str]() if edits is None else edits.found(marks, groups)
    wanted: dict[str, set[str]] = {}
    for grp, work in learning.books.wanted():
        wanted.setdefault(grp, set()).add(work)
    found = {}
    for grp, settings in groups.items():
        activity, mark = active.get(grp, Activity()), marks.get(grp, GroupMark())
        new = activity.last_success_id > mark.counted
        found[grp] = Standing(
            settings,
            turns=count_after(store, grp, mark.counted, settings.extract_after) if new else 0,
            last=activity.last_at / 1e9,
            compacted=_newer(activity.last_compaction, mark.compacted),
            waiting=counts.get(grp, {}).get("waiting", 0),
            staged=staged.get(grp, ""),
            edited=grp in edited,
            again=any(
                tried.work.startswith(ASIDE) and tried.model != settings.who
                for tried in tries.get(grp, ())
            ),
            tries={tried.work: tried for tried in tries.get(grp, ())},
            wanted=frozenset(wanted.get(grp, ())),
        )
    return found


def pass_over(learning: Learning, found: Mapping[str, Standing], now: float) -> None:
    """Note what there is nothing to do about: compactions, and wishes. Raises PannierError."""
    for grp, standing in found.items():
        if compaction_is_over(standing):
            learning.note_compaction(grp, standing.compacted)
        for wish in wish_is_over(standing, now):
            learning.books.unwant(grp, wish, now)


def _newer(last: int, answered: int) -> int:
    return last if last > answered else 0


def _by_group(tries: tuple[Try, ...]) -> dict[str, list[Try]]:
    found: dict[str, list[Try]] = {}
    for tried in tries:
        found.setdefault(tried.grp, []).append(tried)
    return found
