"""What waits for a person, as they see it, and what they decide."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pannier import groups
from pannier.errors import PannierError, UsageError
from pannier.learned import tracing
from pannier.learned.data import timestamp
from pannier.learned.tracing import Origin
from pannier.learning.consolidation import approval
from pannier.learning.files import publishing
from pannier.learning.files.folder import memory_text
from pannier.learning.merge import Merge
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.learning.store.locks import only_one
from pannier.learning.store.rows import Proposal
from pannier.paths import Home

FILE = "agent-memory/MEMORY.md"
Verdict = Literal["approve", "reject"]


@dataclass(frozen=True)
class Change:
    """A change of the memory that waits."""

    id: str
    made: float
    merge: Merge
    before: str
    """MEMORY.md as it is now."""

    @property
    def diff(self) -> tuple[str, ...]:
        """As git shows it, a line each."""
        return tuple(_diff(self.before, self.merge.memory))

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "id": self.id,
            "made": timestamp(self.made),
            "diff": "".join(f"{line}\n" for line in self.diff),
            "changes": [
                {
                    "what": one.what,
                    "lesson": one.lesson.id,
                    "section": one.lesson.section,
                    "text": one.lesson.text,
                    "before": one.before or None,
                    "why": one.why or None,
                    "candidates": list(one.candidates),
                }
                for one in self.merge.changes
            ],
            "notes": list(self.merge.notes),
        }


def _diff(before: str, after: str) -> Iterator[str]:
    if before == after:
        return
    sides = (f"a/{FILE}" if before else "/dev/null", f"b/{FILE}" if after else "/dev/null")
    yield f"diff --git a/{FILE} b/{FILE}"
    yield from difflib.unified_diff(before.splitlines(), after.splitlines(), *sides, lineterm="")


@dataclass(frozen=True)
class Waiting:
    """What waits in a group."""

    change: Change | None
    held: tuple[Origin, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        change = (self.change.id,) if self.change else ()
        return (*change, *(one.candidate.id for one in self.held))

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "proposal": self.change.as_data() if self.change else None,
            "held": [one.as_data() for one in self.held],
        }


@dataclass(frozen=True)
class Decided:
    """What became of one."""

    id: str
    text: str
    became: str
    """Words for a person."""

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


def waiting(home: Home, environ: Mapping[str, str], folder: str) -> Waiting:
    """What there is to decide. Raises PannierError."""
    groups.get(home, folder)
    with open_learning(learning_file(home, environ)) as learning:
        proposal = approval.waiting(learning, folder)
        held = learning.candidates(folder, ("held",))
    change = _change(home, folder, proposal) if proposal else None
    return Waiting(change, tracing.origins(home, environ, folder, held))


def _change(home: Home, folder: str, proposal: Proposal) -> Change:
    merge = publishing.of_proposal(proposal)
    return Change(f"p{proposal.id}", proposal.made, merge, memory_text(home, folder))


def decide(
    home: Home, environ: Mapping[str, str], folder: str, ids: Sequence[str], verdict: Verdict
) -> tuple[Decided, ...]:
    """Approve or reject what has these ids; a change that is approved is written.

    Raises UsageError for what does not wait, before anything is done; Busy, PannierError.
    """
    check(waiting(home, environ, folder), folder, ids)
    file = learning_file(home, environ)
    with only_one(home, folder), open_learning(file, write=True) as learning:
        done = [_decide(home, learning, folder, id, verdict) for id in dict.fromkeys(ids)]
    return tuple(done)


def check(found: Waiting, folder: str, ids: Sequence[str]) -> None:
    """Raises UsageError for an id of which nothing waits."""
    for id in ids:
        if id not in found.ids:
            raise UsageError(
                f"nothing with the id {id!r} waits in {folder}",
                f"See what does: pannier learned approve {folder}",
            )


def _decide(home: Home, learning: Learning, folder: str, id: str, verdict: Verdict) -> Decided:
    if not id.startswith("p"):
        if verdict == "approve":
            text = approval.approve(learning, folder, id).text
            return Decided(id, text, "approved: the next consolidation takes it up")
        text = approval.reject(learning, folder, id, time.time()).text
        return Decided(id, text, "rejected")
    number = int(id[1:])
    if verdict == "reject":
        left = approval.turn_down(learning, folder, number, time.time())
        return Decided(id, "", f"rejected, with {len(left)} candidates")
    approval.accept(learning, folder, number)
    if publishing.finish(home, learning, folder, time.time()) == "changed":
        raise PannierError(
            f"{FILE} was changed since {id} was made, so it was dropped",
            f"Its candidates wait: pannier learned run {folder}",
        )
    return Decided(id, "", f"written into {home.group(folder).learned}")
