"""Threads in which nothing is said: since when, and how much was since the last summary."""

from __future__ import annotations

from dataclasses import dataclass

from pannier.database import in_words
from pannier.threads.queries import Store

_SAID = (
    "inner = '' AND turn IS NOT NULL AND kind IN ('text', 'call', 'result', 'message')"
    " AND (role != 'client' OR kind = 'message')"
)
"""What people, the agent and its tools say in turns of the main conversation. What a client says
about its own work, such as a compaction that failed, ends no pause."""

# Of each thread what was said last, and the session that said it.
_PAUSES = f"""
SELECT thread.grp, thread.name, thread.key, last.id, max(last.at, coalesce(turns.ended, 0)),
    scopes.client, sessions.id, sessions.session, sessions.thread = thread.id
FROM threads AS thread
JOIN messages AS last ON last.id = (
    SELECT id FROM messages WHERE thread = thread.id AND {_SAID} ORDER BY id DESC LIMIT 1)
LEFT JOIN turns ON turns.id = last.turn
JOIN sessions ON sessions.id = last.session
JOIN scopes ON scopes.id = sessions.scope
WHERE thread.grp = ? AND thread.deleted = 0 ORDER BY thread.name
"""
# From where the session stands through what was said before, to its last summary; no further than
# it takes: without a join outside, SQLite goes on only as rows are asked for.
_CONTEXT = f"""
WITH RECURSIVE context (next, what, counts) AS (
    SELECT parent, kind, {_SAID} FROM messages
        WHERE id = (SELECT message FROM tips WHERE session = ? AND inner = '')
    UNION ALL
    SELECT parent, kind, {_SAID} FROM context JOIN messages ON id = next
        WHERE what != 'compaction'
)
SELECT 1 FROM context WHERE counts LIMIT ?
"""


@dataclass(frozen=True)
class Pause:
    """A thread since something was said last."""

    group: str
    thread: str
    key: str
    """Of the thread: it names it for ever."""
    said: int
    """The last message: another one ends the pause."""
    since: float
    """Seconds since 1970. A claim of the container."""
    client: str
    """Of the session that spoke last,"""
    session: int
    """which has this number,"""
    session_id: str
    """and which the client calls so."""
    here: bool
    """That session spoke in no other thread since."""


def pauses(store: Store, grp: str) -> tuple[Pause, ...]:
    """Those of the threads of a group in which something was said, also where a turn goes on."""
    with in_words(store.path):
        rows = store.db.execute(_PAUSES, (grp,)).fetchall()
    return tuple(
        Pause(group, thread, key, said, at / 10**9, client, session, id, bool(here))
        for group, thread, key, said, at, client, session, id, here in rows
    )


def is_worth_it(store: Store, session: int, least: int) -> bool:
    """Whether at least so many messages were said in turns of the session since its last summary,
    or since its beginning."""
    with in_words(store.path):
        return len(store.db.execute(_CONTEXT, (session, least)).fetchall()) >= least


def last_summary(store: Store, session: int) -> int:
    """The number of the session's last summary; 0 if there is none."""
    query = (
        "SELECT coalesce(max(id), 0) FROM messages"
        " WHERE session = ? AND inner = '' AND kind = 'compaction'"
    )
    with in_words(store.path):
        return int(store.db.execute(query, (session,)).fetchone()[0])
