"""What lessons can be learned from: which turns succeeded, and what was said that is new.

All that a container said about who spoke is a claim.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pannier.database import in_words
from pannier.threads.queries import ALL, Store
from pannier.threads.rows import MessageRow, ThreadRow

_DAY = 86_400 * 10**9
# A step or two for each group, however many rows it has.
_ACTIVITIES = """
WITH compacted AS MATERIALIZED (
    SELECT grp, (SELECT max(id) FROM messages INDEXED BY messages_by_compaction
        WHERE scope = scopes.id AND kind = 'compaction' AND inner = '') AS last
    FROM scopes
)
SELECT grp, coalesce((SELECT max(id) FROM successes WHERE grp = compacted.grp), 0),
    coalesce((SELECT max(at) FROM successes WHERE grp = compacted.grp), 0),
    coalesce(max(last), 0)
FROM compacted GROUP BY grp
"""
# What belongs to the thread, and was not undone: the way back from where it stands, and from where
# each session stands that has said something since a person last moved the head.
_STANDING = """
WITH RECURSIVE standing (id, next) AS (
    SELECT id, parent FROM messages WHERE id > :after
        AND (id = (SELECT head FROM threads WHERE id = :thread) OR id IN (
            SELECT message FROM tips WHERE tips.inner = ''
                AND message > (SELECT moved FROM threads WHERE id = :thread)
                AND session IN (SELECT session FROM messages WHERE thread = :thread
                    AND id > :after)
        ))
    UNION
    SELECT messages.id, messages.parent FROM standing JOIN messages ON messages.id = standing.next
        WHERE standing.next > :after
)
"""
# A turn that goes on is read when it is over. One that nobody heard of for a day holds up nothing.
_OVER = """
SELECT coalesce(min(messages.id), 0) FROM turns JOIN messages ON messages.turn = turns.id
WHERE turns.thread = :thread AND outcome = '' AND turns.inner = '' AND NOT task
    AND messages.thread = :thread AND messages.id > :after
    AND began > (SELECT max(began) FROM turns WHERE thread = :thread) - :day
"""
_COLUMNS = """messages.id, messages.thread, messages.session, turn, parent, messages.key, position,
    at, role, kind, {text}, tool, call, model, failed, messages.inner"""
_REPORT = """(role, kind) = ('client', 'text') AND (text GLOB '<task-notification>*<result>*'
    OR text GLOB 'Message Type: FINAL_ANSWER*')"""
_LEARNABLE = f"""
{_STANDING}
SELECT {_COLUMNS.format(text="text")}
FROM messages LEFT JOIN turns ON turns.id = messages.turn
WHERE messages.thread = :thread AND messages.id IN (SELECT id FROM standing)
    AND messages.inner = '' AND coalesce(task, 0) = 0
    AND ((role, kind) IN (VALUES ('person', 'text'), ('pannier', 'message'), ('agent', 'text'),
        ('agent', 'call'), ('tool', 'result'))
        OR {_REPORT})
    AND (:before = 0 OR messages.id < :before)
ORDER BY messages.id LIMIT :limit
"""

_RESULTS = f"""
SELECT {_COLUMNS.format(text="substr(text, 1, :most)")} FROM messages
WHERE thread = :thread AND id <= :upto AND ((role, kind) = ('tool', 'result') OR {_REPORT})
ORDER BY id DESC LIMIT :limit
"""


@dataclass(frozen=True)
class Activity:
    """How a group goes, as far as learning is concerned."""

    last_success_id: int = 0
    """The number under which its last successful turn is counted; 0: it has none."""
    last_at: int = 0
    """When its newest successful turn ended, in nanoseconds since 1970."""
    last_compaction: int = 0
    """The message of its newest compaction; 0: there was none."""


def activities(store: Store) -> dict[str, Activity]:
    """All groups of which something was heard. Raises PannierError."""
    with in_words(store.path):
        found = store.db.execute(_ACTIVITIES)
        return {grp: Activity(*values) for grp, *values in found}


def count_after(store: Store, grp: str, success_id: int, most: int) -> int:
    """How many successful turns of the group are counted behind that one; at most `most`."""
    query = "SELECT count(*) FROM (SELECT 1 FROM successes WHERE grp = ? AND id > ? LIMIT ?)"
    with in_words(store.path):
        return int(store.db.execute(query, (grp, success_id, most)).fetchone()[0])


def new_messages(
    store: Store, thread_id: int, after: int, limit: int = ALL
) -> tuple[MessageRow, ...]:
    """What was said in the thread behind the message `after`, and may be learned from, in order.

    That is what a person, the queue, the agent and its tools said in the main conversation: not
    what was injected, what the client added, thoughts, or steps of background tasks. What was
    undone by going back is left out. It ends before the first turn that still goes on.
    """
    values = {"thread": thread_id, "after": after, "limit": limit, "day": _DAY}
    with in_words(store.path):
        before = store.db.execute(_OVER, values).fetchone()[0]
        found = store.db.execute(_LEARNABLE, {**values, "before": before})
        return tuple(MessageRow.of(row) for row in found)


def latest_results(
    store: Store, thread_id: int, upto: int, limit: int, most: int
) -> tuple[MessageRow, ...]:
    """What tools put out last in the thread, up to the message `upto`, in order: at most `most`
    characters of each. Also what sub-agents' tools did, and what was undone since."""
    values = {"thread": thread_id, "upto": upto, "limit": limit, "most": most}
    with in_words(store.path):
        found = store.db.execute(_RESULTS, values).fetchall()
    return tuple(MessageRow.of(row) for row in reversed(found))


def threads_with_new(store: Store, grp: str, upto: Mapping[str, int]) -> tuple[ThreadRow, ...]:
    """The threads of the group with something to learn from; who spoke last comes last.

    `upto`: by a thread's key, the last message that was read; one that is not named was not.
    """
    query = (
        "SELECT threads.id, max(messages.id) AS last, coalesce(value, 0) FROM threads"
        " LEFT JOIN json_each(?) ON json_each.key = threads.key"
        " JOIN messages ON messages.thread = threads.id AND messages.id > coalesce(value, 0)"
        " WHERE grp = ? AND NOT deleted GROUP BY threads.id ORDER BY last"
    )
    with in_words(store.path):
        found = store.db.execute(query, (json.dumps(dict(upto)), grp)).fetchall()
    return tuple(
        thread
        for id, _, after in found
        if new_messages(store, id, after, 1) and (thread := store.thread(id)) is not None
    )


def deleted_threads(store: Store, grp: str) -> frozenset[str]:
    """The keys of threads of the group that were deleted."""
    query = "SELECT key FROM threads WHERE grp = ? AND deleted"
    with in_words(store.path):
        return frozenset(key for (key,) in store.db.execute(query, (grp,)))
