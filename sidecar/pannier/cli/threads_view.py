"""How `pannier threads` says what it found, did, or would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pannier.cli.context import Context
from pannier.shown import shown

if TYPE_CHECKING:
    from pannier.threads.delete import Plan
    from pannier.threads.rollback import RolledBack
    from pannier.threads.snippet import Snippet


def say_rolled_back(context: Context, done: RolledBack, dry_run: bool) -> None:
    """Where the thread goes on, and whether its client knows."""
    place = f"m{done.to.id}" if done.to else "its beginning"
    said = "would go on" if dry_run else "goes on"
    context.say(f"{shown(done.thread.ref)} {said} from {place}" + _words_of(done))
    if not done.client:
        return
    if done.goes_back:
        context.tell("The agent goes back as well, before its next turn.")
    else:
        context.tell(
            f"The session of {shown(done.client)} itself is not touched: resumed, it goes on where "
            "it was. Go back in it, too, or begin a new one."
        )


def _words_of(done: RolledBack) -> str:
    from pannier.threads.excerpt import one_line

    return f": {shown(one_line(done.to.text, 80))}" if done.to and done.to.text else ""


def tell_plan(context: Context, plan: Plan) -> None:
    """What belongs to a thread that is to be erased."""
    numbers = f"{_count(plan.thread.messages, 'message')} in {_count(plan.turns, 'turn')}"
    context.tell(f"{shown(plan.thread.ref)} ({plan.thread.key}): {numbers}")
    for file in plan.files:
        context.tell(f"  {shown(file)}")
    for one in plan.shared:
        session = f"{one.session.client}'s session {one.session.session}"
        others = ", ".join(one.threads)
        context.tell(f"  {shown(session)} also spoke in {shown(others)}: its own files stay")
    for file in plan.untouched:
        context.tell(f"  not touched, may hold more of it: {shown(file)}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def marked(found: Snippet) -> str:
    """Bold where it was looked for; click takes that away where it is no terminal's."""
    pieces, at = [], 0
    for begin, end in found.marks:
        pieces += [
            shown(found.text[at:begin]),
            click.style(shown(found.text[begin:end]), bold=True),
        ]
        at = end
    return "".join((*pieces, shown(found.text[at:])))
