"""Writing what was decided into `agent-memory/`.

What is to be written stands in the database before the first file changes, and is gone from there
after the last: whoever is killed in between, it is found and finished. Each file is replaced as a
whole, and `MEMORY.md` only if it is still what the decision was made from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from pannier.errors import ChangedMeanwhile
from pannier.learning.files import summaryfile
from pannier.learning.files.folder import MEMORY, SUMMARY, Folder, opened
from pannier.learning.files.memoryfile import Memory, digest, parse, text_of
from pannier.learning.files.sessionpages import kept, page, page_name
from pannier.learning.lessons import Lesson
from pannier.learning.merge import Change, Merge, Taken
from pannier.learning.store import Learning
from pannier.learning.store.rows import Proposal, ProposalState
from pannier.paths import Home

Outcome = Literal["nothing", "written", "changed"]
"""`nothing`: nothing was to be written; `changed`: a person changed MEMORY.md since it was decided,
so the decision is dropped and its candidates wait to be merged into the new text."""


@dataclass(frozen=True)
class Decided:
    """What stands in a proposal."""

    merge: Merge
    compacted: int = 0
    """The compaction that it answers."""


def stage(learning: Learning, grp: str, decided: Decided, state: ProposalState, at: float) -> bool:
    """Keep what was decided, to be written or to wait for a person.

    False: a candidate was decided on otherwise meanwhile, and nothing is kept.
    """
    return learning.stage(grp, as_body(decided), state, at, decided.merge)


def finish(home: Home, learning: Learning, grp: str, at: float) -> Outcome:
    """Write what is to be written of the group; safe to repeat and to be killed anywhere.

    To be called with the group's lock. Raises PannierError where a file cannot be read or written:
    then it stands there to be finished another time.
    """
    proposal = learning.proposal(grp)
    if proposal is None or proposal.state != "writing":
        return "nothing"
    decided = of_body(proposal.body)
    merge = decided.merge
    with opened(home, grp, create=True) as folder:
        assert folder is not None
        folder.sweep()
        before = folder.read(MEMORY)
        text = folder.text(MEMORY)
        memory = parse(text)
        is_new = digest(text) == digest(merge.memory) or _was_written(memory, merge)
        if not is_new and digest(text) != merge.base:
            learning.unstage(grp)
            return "changed"
        publish_sessions(folder, learning, grp, merge)
        if not is_new:
            try:
                folder.replace(MEMORY, merge.memory, before)
            except ChangedMeanwhile:
                learning.unstage(grp)
                return "changed"
        summary = merge.summary
        if is_new and text != merge.memory:
            # A person was faster than whoever was killed here before the index.
            summary = summaryfile.summary(memory, _lessons(learning, grp, merge))
        folder.replace(SUMMARY, summary, folder.read(SUMMARY))
    learning.settle(grp, merge, at, memory=digest(merge.memory), compacted=decided.compacted)
    return "written"


def _was_written(memory: Memory, merge: Merge) -> bool:
    """Whether a text is what we wrote, with a person's edits: a lesson of ours tells."""
    return any(
        change.lesson.by == "pannier"
        and change.lesson.id in memory.lessons
        and (
            change.what == "add"
            or (
                change.what == "revise"
                and memory.lessons[change.lesson.id].text == text_of(change.lesson)
                and change.before != change.lesson.text
            )
        )
        for change in merge.changes
    )


def _lessons(learning: Learning, grp: str, merge: Merge) -> dict[str, Lesson]:
    known = {lesson.id: lesson for lesson in learning.lessons(grp)}
    return known | {change.lesson.id: change.lesson for change in merge.changes}


def publish_sessions(
    folder: Folder, learning: Learning, grp: str, merge: Merge | None = None
) -> None:
    """Write the summaries of threads anew where they changed, and remove those that are not kept.

    `merge`: candidates that it takes wait no more; without a memory there are no summaries, either.
    Raises PannierError.
    """
    taken = {t.candidate for t in merge.taken if t.state != "waiting"} if merge else set[str]()
    waiting = {
        proof.thread
        for candidate in learning.candidates(grp, ("waiting",))
        if candidate.id not in taken
        for proof in candidate.evidence
    }
    known = learning.thread_marks(grp)
    marks = kept(known.values(), waiting)
    if merge is not None and not merge.memory:
        marks = ()
    pages = {mark.thread: (page_name(mark), page(mark)) for mark in marks}
    for key, names in folder.sessions().items():
        # Not a person's file whose name ends like ours; a thread may have been renamed.
        if key in known and (key not in pages or names != (pages[key][0],)):
            folder.remove_session(key)
    for name, text in pages.values():
        folder.put_session(name, text)


# ------------------------------------------------------------------------------- as it is kept


def as_body(decided: Decided) -> str:
    """As JSON."""
    return json.dumps(asdict(decided), ensure_ascii=False)


def of_body(body: str) -> Decided:
    """From what `as_body` gave."""
    data = json.loads(body)
    merge = data["merge"]
    changes = tuple(_change(change) for change in merge["changes"])
    taken = tuple(Taken(**taken) for taken in merge["taken"])
    merge |= {"changes": changes, "taken": taken, "notes": tuple(merge["notes"])}
    return Decided(Merge(**merge), data["compacted"])


def of_proposal(proposal: Proposal) -> Merge:
    """What a proposal would do."""
    return of_body(proposal.body).merge


def _change(data: Mapping[str, Any]) -> Change:
    lesson = Lesson(**data["lesson"])
    lesson = replace(lesson, candidates=tuple(lesson.candidates))
    return Change(**{**data, "lesson": lesson, "candidates": tuple(data["candidates"])})
