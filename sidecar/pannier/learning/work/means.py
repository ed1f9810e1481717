"""With what lessons are drawn: where everything is, and who is asked. Tests bring their own."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from pannier.errors import PannierError
from pannier.learning.models.asking import Asker, AskError, Question, Reply
from pannier.learning.store import Learning, learning_file, open_learning
from pannier.learning.store.locks import Busy, at_work
from pannier.learning.store.rows import Try
from pannier.learning.work.schedule import LATER, failed
from pannier.paths import Home
from pannier.settings.learning import LearningSettings
from pannier.threads.queries import Store
from pannier.threads.store import open_store, threads_file

Json = dict[str, Any]
Step = Callable[[str, Callable[[], Json]], Json]
"""Take a step of this name, or give what it gave before. What it gives is kept as JSON."""

_PATIENCE = 5.0
"""Seconds for which a person's command is waited for."""


@dataclass(frozen=True)
class Means:
    """Of one worker."""

    home: Home
    environ: Mapping[str, str]
    time: Callable[[], float]
    """Seconds since 1970."""
    groups: Callable[[], Mapping[str, LearningSettings]]
    """All groups whose settings can be read, as they are now."""
    asker_for: Callable[[str], Asker]
    """The model of a group, which keeps to the group's budget. Raises AskError."""
    window_for: Callable[[str], int]
    """Tokens of the context window of a group's agent."""

    @contextmanager
    def threads(self) -> Iterator[Store]:
        """What was said, to be read."""
        with open_store(threads_file(self.home, self.environ)) as store:
            yield store

    @contextmanager
    def learning(self, *, write: bool = False) -> Iterator[Learning]:
        """What was learned."""
        with open_learning(learning_file(self.home, self.environ), write=write) as learning:
            yield learning

    @contextmanager
    def alone(self, grp: str) -> Iterator[None]:
        """Nobody else changes what the group learned. Raises Busy."""
        with at_work(self.home, grp, seconds=_PATIENCE) as taken:
            if not taken:
                raise Busy(f"a command is at work on what {grp} learned")
            yield

    def settings(self, grp: str) -> LearningSettings:
        """Raises AskError of a group whose settings cannot be read now."""
        found = self.groups().get(grp)
        if found is None:
            raise AskError("unset", f"the settings of {grp} cannot be read")
        return found

    def budget(self, grp: str, asker: Asker | None = None) -> int:
        """Tokens of a question: half of the smaller window."""
        window = self.window_for(grp)
        return (min(asker.window, window) if asker else window) // 2

    def asked(self, grp: str, question: Callable[[Asker], tuple[Question, Json] | None]) -> Json:
        """What came of a question: `reply` and what else `question` gave, or `trouble`; {} where
        there was nothing to ask. `at` says when."""
        at = self.time()
        try:
            asker = self.asker_for(grp)
            made = question(asker)
            if made is None:
                return {}
            return {**made[1], "at": at, "reply": _storable(asdict(asker.ask(made[0])))}
        except AskError as error:
            return {"at": at, "trouble": trouble(error)}


def trouble(error: AskError) -> Json:
    """As JSON has it."""
    why = f"{error.message}. {error.hint}" if error.hint else error.message
    return {"kind": error.kind, "why": why.rstrip("."), "after": error.after}


def _storable(data: Json) -> Json:
    """Without halves of characters, which JSON can say and UTF-8 cannot."""
    found: Json = json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "ignore"))
    return found


@contextmanager
def judging() -> Iterator[None]:
    """Where it is judged what a model answered: an answer that cannot be, for whatever reason,
    cannot be the next time, either. Raises AskError."""
    try:
        yield
    except PannierError:
        raise
    except Exception as error:
        name = type(error).__name__
        raise AskError("answer", f"the answer cannot be judged ({name})") from error


def reply(asked: Json) -> Reply:
    """From what `Means.asked` gave."""
    return Reply(**asked["reply"])


def new_key() -> str:
    """By which a report is known to be of a piece of work: to be made in its first step."""
    return secrets.token_hex(8)


def report(learning: Learning, grp: str, work: str, key: str, at: float, result: Json) -> None:
    """Keep what came of a piece of work, once."""
    if reported(learning, grp, key) is None:
        body = json.dumps({**result, "key": key}, ensure_ascii=False)
        learning.books.report(grp, work, at, body)


def reported(learning: Learning, grp: str, key: str) -> Json | None:
    """What was reported of it; None: nothing was yet."""
    for one in learning.books.reports(grp):
        body: Json = json.loads(one.body)
        if body.pop("key", None) == key:
            return body
    return None


def note_trouble(
    learning: Learning, grp: str, work: str, found: Json, at: float, *, part_of: str = ""
) -> Try:
    """One failure more in a row of this work; the same one a second time changes nothing.

    `part_of`: the work that a person may have asked for, if it is another name.
    """
    before = learning.books.tried(grp, work)
    if before is not None and (before.at, before.model) == (at, found.get("model", "")):
        return before
    wished = (grp, part_of or work) in learning.books.wanted()
    new = Try(grp, work, 1, at, at, found["kind"], found["why"], found.get("model", ""))
    tried = failed(before, new, found.get("after", 0.0), wished=wished)
    learning.books.note_try(tried)
    return tried


def waits_until(tried: Try) -> float | None:
    """As JSON has it: in seconds since 1970; None: not for time alone."""
    return tried.not_before if tried.not_before < LATER else None
