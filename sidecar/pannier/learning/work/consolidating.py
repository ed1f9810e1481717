"""One consolidation of a group: what was found is merged into its memory, and written.

It may be broken off anywhere and done again: what was paid is recorded by the step, and what was
decided stands in the database until the files are written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pannier.learning.consolidation.adopting import DELETED
from pannier.learning.consolidation.deciding import decide, refresh
from pannier.learning.consolidation.draft import Situation
from pannier.learning.consolidation.question import question, share_of
from pannier.learning.files import folder, publishing
from pannier.learning.files.memoryfile import digest
from pannier.learning.files.publishing import Decided
from pannier.learning.lessons import Candidate
from pannier.learning.merge import Merge
from pannier.learning.models.asking import Asker, AskError, Question
from pannier.learning.store import Learning
from pannier.learning.store.rows import ProposalState
from pannier.learning.work.means import (
    Json,
    Means,
    Step,
    judging,
    new_key,
    note_trouble,
    reply,
    report,
    reported,
    trouble,
    waits_until,
)
from pannier.learning.work.schedule import due
from pannier.learning.work.standing import standings

WORK = "consolidate"
_ROUNDS = 3
"""How often it begins anew because a person edits the memory meanwhile."""


_BUSY_PERSON: Json = {"kind": "edited", "why": "a person edits MEMORY.md just now", "after": 0.0}


def consolidate(means: Means, grp: str, step: Step) -> Json:
    """Do it. What came of it, for the report. Raises PannierError, Busy among them."""
    asked: Json = {}
    with means.alone(grp):
        for number in range(_ROUNDS):
            asked = step(f"ask {number + 1}", lambda: _ask(means, grp))
            result = _use(means, grp, asked)
            if result is not None:
                return result
        with means.learning(write=True) as learning:
            return _wait(learning, grp, asked, _BUSY_PERSON)


def _ask(means: Means, grp: str) -> Json:
    """What the model says; less where there is nothing to merge, or it is decided already."""
    at, key = means.time(), new_key()
    with means.threads() as store, means.learning() as learning:
        proposal = learning.proposal(grp)
        if proposal is not None:
            return {"at": at, "key": key, "staged": proposal.state}
        settings = {name: one for name, one in means.groups().items() if name == grp}
        standing = standings(store, learning, settings).get(grp)
        waiting = learning.candidates(grp, ("waiting",))
        lessons = learning.lessons(grp)
        seen = learning.group_mark(grp).memory
    text, edited = _memory(means, grp)
    start: Json = {"at": at, "key": key, "base": digest(text), "edited": edited, "shown": []}
    if standing is None or due(replace(standing, turns=0, edited=False), at).work != WORK:
        return start if start["base"] != seen else {"at": at, "key": key}
    start["compacted"] = standing.compacted

    def make(asker: Asker) -> tuple[Question, Json]:
        budget = means.budget(grp, asker)
        asking, shown = question(text, lessons, waiting, budget)
        return asking, {**start, "shown": [one.id for one in shown], "budget": budget}

    return {"key": key, **means.asked(grp, make)}


def _use(means: Means, grp: str, asked: Json) -> Json | None:
    """What came of an answer; None: it is to be asked anew."""
    with means.learning(write=True) as learning:
        told = reported(learning, grp, asked["key"])
        if told is not None:
            return told
        if "trouble" in asked:
            return _wait(learning, grp, asked, asked["trouble"])
        if asked.get("staged") == "waiting":
            return _done(learning, grp, asked, {"proposed": True, "changes": []})
        if "base" in asked and learning.proposal(grp) is None:
            try:
                decided = _decided(means, learning, grp, asked)
            except AskError as error:
                return _wait(learning, grp, asked, trouble(error))
            if decided is None:
                return None
            state = _state(means, grp, asked, decided.merge)
            if not publishing.stage(learning, grp, decided, state, asked["at"]):
                return None
        return _write(means, learning, grp, asked)


def _decided(means: Means, learning: Learning, grp: str, asked: Json) -> Decided | None:
    """None: what it was asked about is not there any more as it was."""
    text, _ = _memory(means, grp)
    if digest(text) != asked["base"]:
        return None
    situation = Situation(
        memory=text,
        lessons=learning.lessons(grp),
        past=learning.lessons(grp, gone=True),
        edited=asked["edited"],
        now=asked["at"],
        share=share_of(asked.get("budget") or means.budget(grp)),
        deleted=learning.left(grp, DELETED),
    )
    if "reply" not in asked:
        return Decided(refresh(situation))
    there = {one.id: one for one in learning.candidates(grp, ("waiting",))}
    shown: list[Candidate] = [there[id] for id in asked["shown"] if id in there]
    with judging():
        return Decided(decide(situation, shown, reply(asked)), asked["compacted"])


def _state(means: Means, grp: str, asked: Json, merge: Merge) -> ProposalState:
    """A person is asked about changes that a model made, if they want to be."""
    settings = means.groups().get(grp)
    asks = settings is not None and settings.approve and "reply" in asked
    return "waiting" if asks and any(one.what != "confirm" for one in merge.changes) else "writing"


def _write(means: Means, learning: Learning, grp: str, asked: Json) -> Json | None:
    """Write what is decided, and report it, if a person need not be asked."""
    proposal = learning.proposal(grp)
    if proposal is None:
        return _done(learning, grp, asked, {"changes": []})
    result = _told(publishing.of_body(proposal.body).merge)
    if proposal.state == "waiting":
        return _done(learning, grp, asked, {**result, "proposed": True})
    with learning.transaction():
        if publishing.finish(means.home, learning, grp, asked["at"]) == "changed":
            return None
        return _done(learning, grp, asked, result)


def _done(learning: Learning, grp: str, asked: Json, result: Json) -> Json:
    with learning.transaction():
        learning.books.clear_tries(grp, WORK)
        learning.books.unwant(grp, WORK, asked["at"])
        report(learning, grp, WORK, asked["key"], asked["at"], result)
    return result


def _wait(learning: Learning, grp: str, asked: Json, found: Json) -> Json:
    at = asked["at"]
    with learning.transaction():
        tried = note_trouble(learning, grp, WORK, found, at)
        result: Json = {"changes": [], "trouble": found, "not_before": waits_until(tried)}
        learning.books.unwant(grp, WORK, at)
        report(learning, grp, WORK, asked["key"], at, result)
    return result


def _told(merge: Merge) -> Json:
    """What a consolidation does, for a report."""
    changes: list[dict[str, Any]] = [
        {
            "what": change.what,
            "id": change.lesson.id,
            "section": change.lesson.section,
            "text": change.lesson.text,
            "before": change.before,
            "why": change.why,
        }
        for change in merge.changes
    ]
    left = [[one.candidate, one.why] for one in merge.taken if one.state == "left"]
    held = sum(one.state == "held" for one in merge.taken)
    return {"changes": changes, "left": left, "held": held, "notes": list(merge.notes)}


def _memory(means: Means, grp: str) -> tuple[str, int]:
    """What MEMORY.md says, and when it was changed last, in nanoseconds since 1970."""
    with folder.opened(means.home, grp) as there:
        if there is None:
            return "", 0
        return there.text(folder.MEMORY), there.changed(folder.MEMORY)
