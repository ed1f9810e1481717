"""Messages and threads as lines for a terminal, which obeys nothing of what was said. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pannier.shown import shown
from pannier.threads.excerpt import arguments, excerpt
from pannier.threads.look import Hit, Overview, Said
from pannier.threads.page import LEFT_OUT, SHORT, WHOLE, Lengths, moment
from pannier.threads.rows import MessageRow
from pannier.threads.snippet import Snippet, snippet

_INDENT = "    "


def lines(said: Sequence[Said], *, full: bool = False) -> Iterator[str]:
    """A line of title for each message, and its text below.

    Without `full` long texts are shortened, and what only the client needs is left out.
    """
    lengths = WHOLE if full else SHORT
    for one in said:
        if full or one.message.kind not in LEFT_OUT:
            yield from _message(one, lengths)


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
    where = f"{shown(hit.thread.ref)}  m{message.id}  {moment(message.at)}"
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


def table(found: Sequence[Overview]) -> Iterator[str]:
    """Threads as docker prints containers: never cut, so that it can be copied and piped."""
    rows = [("THREAD", "KEY", "TURNS", "MESSAGES", "SESSIONS", "LAST")]
    for one in found:
        failed = f" ({one.failed} failed)" if one.failed else ""
        rows.append(
            (
                shown(one.thread.ref),
                one.thread.key,
                f"{one.succeeded}{failed}",
                str(one.thread.messages),
                str(one.sessions),
                moment(one.thread.last) if one.thread.last else "never",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()
