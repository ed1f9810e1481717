"""The tables of `threads.db`, as they came to be.

A migration that was ever released is never edited: another one is appended.
"""

from __future__ import annotations

from pannier.database import Migration

_FIRST = """
CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    grp TEXT NOT NULL,
    client TEXT NOT NULL,
    UNIQUE (grp, client)
) STRICT;

CREATE TABLE threads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    grp TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    head INTEGER,                        -- a message
    deleted INTEGER NOT NULL DEFAULT 0   -- when; 0: it is not
) STRICT;
CREATE UNIQUE INDEX threads_by_name ON threads (grp, name) WHERE deleted = 0;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL REFERENCES scopes,
    session TEXT NOT NULL,
    thread INTEGER NOT NULL REFERENCES threads,   -- the one that it spoke in last
    source TEXT NOT NULL,
    began INTEGER NOT NULL,
    state TEXT NOT NULL,                          -- what the reader remembers, JSON
    UNIQUE (scope, session)
) STRICT;
CREATE INDEX sessions_by_thread ON sessions (thread);

-- Events that were stored a short while ago: their files may still lie in the spool.
CREATE TABLE taken (
    grp TEXT NOT NULL,
    event TEXT NOT NULL,                 -- its id, and which of its parts there were
    at INTEGER NOT NULL,
    records INTEGER NOT NULL,            -- how many of its records are stored
    done INTEGER NOT NULL,               -- whether that is all
    PRIMARY KEY (grp, event)
) STRICT, WITHOUT ROWID;

-- The transcripts that a session's records came from.
CREATE TABLE logs (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    name TEXT NOT NULL,
    PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;

-- Sessions that somebody erased: what comes late brings them not back.
CREATE TABLE erased (
    scope INTEGER NOT NULL REFERENCES scopes,
    session TEXT NOT NULL,
    PRIMARY KEY (scope, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL REFERENCES scopes,
    thread INTEGER NOT NULL REFERENCES threads,
    session INTEGER NOT NULL REFERENCES sessions,
    key TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL DEFAULT '',    -- '': it goes on
    reason TEXT NOT NULL DEFAULT '',
    inner TEXT NOT NULL,
    task INTEGER NOT NULL,
    UNIQUE (scope, inner, key)
) STRICT;
CREATE INDEX turns_by_thread ON turns (thread);
CREATE INDEX turns_that_go_on ON turns (session, inner) WHERE outcome = '';

CREATE TABLE usage (
    id INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes,
    thread INTEGER NOT NULL REFERENCES threads,
    turn INTEGER,
    key TEXT NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    UNIQUE (scope, key)
) STRICT;
CREATE INDEX usage_by_turn ON usage (turn);
CREATE INDEX usage_by_thread ON usage (thread);

-- Numbers are never used again, so that what a person noted down never means something else.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    thread INTEGER NOT NULL REFERENCES threads,
    session INTEGER NOT NULL REFERENCES sessions,
    turn INTEGER,
    parent INTEGER,
    scope INTEGER NOT NULL REFERENCES scopes,
    key TEXT NOT NULL,
    position INTEGER NOT NULL,
    at INTEGER NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    tool TEXT NOT NULL,
    call TEXT NOT NULL,
    model TEXT NOT NULL,
    failed INTEGER NOT NULL,
    inner TEXT NOT NULL,
    UNIQUE (scope, key)
) STRICT;
CREATE INDEX messages_by_thread ON messages (thread);
CREATE INDEX messages_by_session ON messages (session, inner, position);

-- Where each conversation of a session stands: the main one, and those of its sub-agents.
CREATE TABLE tips (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    inner TEXT NOT NULL,
    message INTEGER,                     -- NULL: it has said nothing; 0: went back to before that
    turn INTEGER,
    open INTEGER NOT NULL,               -- whether what follows belongs to the turn
    PRIMARY KEY (session, inner)
) STRICT, WITHOUT ROWID;

-- What is in here is made by fulltext.py; `place` holds the group and the thread as words.
CREATE VIRTUAL TABLE search USING fts5(
    text, place, content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2'
);
"""

# Of those that were erased before, it is not known in which of the deleted threads they spoke.
_ERASED_BY_THREAD = """
CREATE TABLE erased_by_thread (
    scope INTEGER NOT NULL REFERENCES scopes,
    session TEXT NOT NULL,
    thread TEXT NOT NULL,                -- what the thread was called: there it speaks no more
    dropped INTEGER NOT NULL DEFAULT 0,  -- how often it did all the same
    PRIMARY KEY (scope, session, thread)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO erased_by_thread (scope, session, thread)
    SELECT scope, session, name FROM erased JOIN scopes ON scopes.id = scope
    JOIN threads ON threads.grp = scopes.grp AND deleted != 0;
DROP TABLE erased;
ALTER TABLE erased_by_thread RENAME TO erased;

-- Digests of the keys of messages that were erased: forks have copies of them.
CREATE TABLE erased_keys (
    scope INTEGER NOT NULL REFERENCES scopes,
    key BLOB NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
"""

_CONTEXTS = """
-- What an agent said last that its model would be sent.
CREATE TABLE contexts (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    thread INTEGER NOT NULL REFERENCES threads,
    at INTEGER NOT NULL,
    turn INTEGER,                        -- that of the session then
    report TEXT NOT NULL,                -- JSON
    PRIMARY KEY (session, thread)
) STRICT, WITHOUT ROWID;
"""

_SUCCESSES = """
-- Counted turns that succeeded, in the order in which that was heard of. Numbers are never used
-- again: whoever has counted up to one goes on behind it.
CREATE TABLE successes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    grp TEXT NOT NULL,
    turn INTEGER NOT NULL UNIQUE REFERENCES turns ON DELETE CASCADE,
    at INTEGER NOT NULL                  -- when it ended, but not later than it was heard of
) STRICT;
CREATE INDEX successes_by_group ON successes (grp);
CREATE INDEX successes_by_time ON successes (grp, at);
INSERT INTO successes (grp, turn, at)
    SELECT grp, turns.id, min(ended, CAST(strftime('%s', 'now') AS INTEGER) * 1000000000)
    FROM turns JOIN threads ON threads.id = turns.thread
    WHERE outcome = 'succeeded' AND inner = '' AND NOT task ORDER BY ended, turns.id;

CREATE INDEX messages_by_compaction ON messages (scope) WHERE kind = 'compaction' AND inner = '';

-- The newest message that there was when a person moved the head.
ALTER TABLE threads ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
"""

MIGRATIONS = (
    Migration("threads, sessions, turns, messages, search", _FIRST),
    Migration("sessions are erased in a thread, messages everywhere", _ERASED_BY_THREAD),
    Migration("what a model would be sent", _CONTEXTS),
    Migration("successful turns in the order in which they ended", _SUCCESSES),
)
