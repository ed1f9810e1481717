"""Messages and threads as lines for a terminal, which obeys nothing of what was said. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pannier.shown import shown
from pannier.threads.excerpt import arguments, excerpt
from pannier.threads.look import Hit, Overview, Said
from pannier.threads.page import SHORT, WHOLE, Lengths
from pannier.threads.rows import MessageRow, ThreadRow, TurnRow
from pannier.threads.snippet import Snippet, snippet
from pannier.threads.times import moment

_INDENT = "    "
_LONGEST_NAME = 80


def lines(
    said: Sequence[Said], turns: Mapping[int, TurnRow], *, full: bool = False
) -> Iterator[str]:
    """A line where another turn begins, a line of title for each message, and its text below.

    Without `full` long texts are shortened.
    """
    turn = None
    for one in said:
        if one.message.turn != turn:
            turn = one.message.turn
            yield from _turn(turns.get(turn or 0))
        yield from _message(one, WHOLE if full else SHORT)


def _turn(turn: TurnRow | None) -> Iterator[str]:
    """What `rollback --to` calls it, and how it ended unless it succeeded."""
    if turn is not None:
        ended = turn.outcome or "goes on"
        yield f"t{turn.id}" + (f"  {shown(ended)}" if ended != "succeeded" else "")


def _message(said: Said, lengths: Lengths) -> Iterator[str]:
    message = said.message
    text, left = _text(message, lengths)
    cut = f"{left:,} characters left out" if left else ""
    aside = f"inner, {shown(message.inner)}" if message.inner else ""
    other = "" if said.current else "other branch"
    notes = ", ".join(filter(None, (aside, other, cut)))
    title = f"m{message.id}  {moment(message.at)}  {title_of(message)}"
    yield title + (f"  ({notes})" if notes else "")
    for line in text.split("\n") if text else ():
        yield f"{_INDENT}{shown(line.expandtabs(4))}".rstrip()


def title_of_hit(hit: Hit) -> str:
    """A line that says where a search found something."""
    message = hit.said.message
    other = "" if hit.said.current else "  (other branch)"
    where = f"{name_of(hit.thread)}  m{message.id}  {moment(message.at)}"
    return f"{where}  {title_of(message)}{other}"


def snippet_of(hit: Hit, query: str) -> Snippet:
    """Where in the message the query's words stand."""
    return snippet(_readable(hit.said.message), query)


def title_of(message: MessageRow) -> str:
    """Who speaks, and what it is unless it is plain text."""
    tool = f" of {shown(message.tool)[:80]}" if message.tool else ""
    kinds = {
        "call": f"call{tool}",
        "result": f"result{tool}" + (", failed" if message.failed else ""),
        "message": "message from the queue",
        "compaction": "compaction",
    }
    return kinds.get(message.kind) or _plain_title(message)


def _plain_title(message: MessageRow) -> str:
    who = shown(message.role)
    return who if message.kind == "text" else f"{who}, {shown(message.kind)}"


def _text(message: MessageRow, lengths: Lengths) -> tuple[str, int]:
    limits = {"call": (lengths.call, None), "result": (lengths.result, lengths.result_lines)}
    limit, most = limits.get(message.kind, (lengths.said, None))
    found = excerpt(_readable(message), limit, most)
    return found.text, found.left


def _readable(message: MessageRow) -> str:
    return arguments(message.text) if message.kind == "call" else message.text


def name_of(thread: ThreadRow) -> str:
    """How it is called, cut where an agent called it by a whole page: the key names it as well."""
    name = shown(thread.ref)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def table(found: Sequence[Overview]) -> list[tuple[str, ...]]:
    """Threads in rows, the first of which is the heading."""
    return [
        ("THREAD", "KEY", "TURNS", "MESSAGES", "SESSIONS", "LAST (UTC)"),
        *(
            (
                name_of(one.thread),
                one.thread.key,
                f"{one.succeeded + one.failed}" + (f" ({one.failed} failed)" if one.failed else ""),
                str(one.thread.messages),
                str(one.sessions),
                moment(one.thread.last) if one.thread.last else "never",
            )
            for one in found
        ),
    ]
