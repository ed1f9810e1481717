"""The tables of `learning.db`, as they came to be.

A migration that was ever released is never edited: another one is appended. Times are seconds
since 1970, but `said` and `at` of what was said: nanoseconds.
"""

from __future__ import annotations

from pannier.database import Migration

_FIRST = """
-- How far each group is.
CREATE TABLE groups (
    grp TEXT PRIMARY KEY,
    counted INTEGER NOT NULL DEFAULT 0,      -- the last successful turn that was counted
    compacted INTEGER NOT NULL DEFAULT 0,    -- the last compaction that was answered
    memory TEXT NOT NULL DEFAULT ''          -- digest of MEMORY.md as it was last written or read
) STRICT, WITHOUT ROWID;

-- How far each thread was read, and its summary.
CREATE TABLE threads (
    grp TEXT NOT NULL,
    thread TEXT NOT NULL,                    -- its key
    name TEXT NOT NULL,
    upto INTEGER NOT NULL,                   -- the last message that was read
    active INTEGER NOT NULL,                 -- when something was said last
    summary TEXT NOT NULL,                   -- '': none
    summarized REAL NOT NULL,
    PRIMARY KEY (grp, thread)
) STRICT, WITHOUT ROWID;

CREATE TABLE candidates (
    id TEXT PRIMARY KEY,
    grp TEXT NOT NULL,
    piece TEXT NOT NULL,                     -- which piece of a thread it was found in
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    topic TEXT NOT NULL,
    source TEXT NOT NULL,
    found REAL NOT NULL,
    state TEXT NOT NULL,
    why TEXT NOT NULL DEFAULT '',
    lesson TEXT NOT NULL DEFAULT '',
    approved INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX candidates_by_state ON candidates (grp, state);
CREATE INDEX candidates_that_are_open ON candidates (grp, state)
    WHERE state IN ('waiting', 'held');
CREATE INDEX candidates_by_lesson ON candidates (grp, lesson);

CREATE TABLE evidence (
    candidate TEXT NOT NULL REFERENCES candidates ON DELETE CASCADE,
    thread TEXT NOT NULL,
    turn INTEGER,
    message INTEGER NOT NULL,
    source TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (candidate, message)
) STRICT, WITHOUT ROWID;

CREATE TABLE lessons (
    grp TEXT NOT NULL,
    id TEXT NOT NULL,
    section TEXT NOT NULL,
    text TEXT NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    learned REAL NOT NULL,
    confirmed REAL NOT NULL,
    changed REAL NOT NULL,
    said INTEGER NOT NULL,
    confirmations INTEGER NOT NULL,
    by TEXT NOT NULL,
    gone REAL NOT NULL DEFAULT 0,            -- when it left the memory; 0: it stands there
    why_gone TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (grp, id)
) STRICT, WITHOUT ROWID;

-- A consolidation that was decided: being written, or waiting for a person. One a group.
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    grp TEXT NOT NULL UNIQUE,
    made REAL NOT NULL,
    state TEXT NOT NULL,                     -- writing, waiting
    body TEXT NOT NULL                       -- JSON
) STRICT;

-- What failed or waits, by group and work (extract, consolidate).
CREATE TABLE tries (
    grp TEXT NOT NULL,
    work TEXT NOT NULL,
    count INTEGER NOT NULL,
    at REAL NOT NULL,
    not_before REAL NOT NULL,
    kind TEXT NOT NULL,
    why TEXT NOT NULL,
    -- Of what was set aside: which model did not manage it.
    model TEXT NOT NULL,
    PRIMARY KEY (grp, work)
) STRICT, WITHOUT ROWID;

-- What a person asked for.
CREATE TABLE wanted (
    grp TEXT NOT NULL,
    work TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (grp, work)
) STRICT, WITHOUT ROWID;

-- What was used, by day of UTC (YYYY-MM-DD).
CREATE TABLE spent (
    day TEXT NOT NULL,
    grp TEXT NOT NULL,
    calls INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    PRIMARY KEY (day, grp)
) STRICT, WITHOUT ROWID;

-- What each piece of work came to, for people; the latest few of a group.
CREATE TABLE reports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    grp TEXT NOT NULL,
    work TEXT NOT NULL,
    at REAL NOT NULL,
    body TEXT NOT NULL                       -- JSON
) STRICT;
CREATE INDEX reports_by_group ON reports (grp, id);

-- What a person had forgotten, told without its words: it does not come back by itself.
CREATE TABLE forgotten (
    grp TEXT NOT NULL,
    what TEXT NOT NULL,                      -- text, words, phrase, message, thread, time
    digest BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (grp, what, digest)
) STRICT, WITHOUT ROWID;
"""

MIGRATIONS = (Migration("what is learned", _FIRST),)
