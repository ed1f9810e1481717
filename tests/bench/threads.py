"""What it costs to keep what was said: storing, searching, and the bytes of it."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pannier import clients
from pannier.clients.transcript import Reading, State
from pannier.paths import Home
from pannier.threads import fulltext
from pannier.threads.intake import take_in
from pannier.threads.parts import lines
from pannier.threads.store import WritableStore, open_store, threads_file
from pannier_hook.events import Event, Log, decode
from pannier_hook.spool import put

FOLDER = "scout"
_LENGTHS = (5, 20, 60, 150, 300)
"""Words of a message."""
_TURN = 4
"""Messages of a turn: a prompt, a call, its result, an answer."""
_TURNS = 5
"""Of one hand-over."""
_HAND_OVERS = 50
"""Of one transaction: what the intake does in one turn of a group."""
_TABLES = ("scopes", "threads", "sessions", "turns", "usage", "messages")


class Words:
    """Text whose words are as unevenly used as those of a language (Zipf's law)."""

    def __init__(self) -> None:
        self.chance = random.Random(4)
        letters = "etaoinshrdlucmfw"
        often = range(len(letters), 0, -1)
        self.words = [
            "".join(self.chance.choices(letters, weights=often, k=self.chance.randint(2, 10)))
            for _ in range(20_000)
        ]
        weights = [1 / (rank + 10) for rank in range(len(self.words))]
        self.stream = self.chance.choices(self.words, weights=weights, k=500_000)

    def text(self) -> str:
        count = self.chance.choice(_LENGTHS)
        begin = self.chance.randrange(len(self.stream) - count)
        return " ".join(self.stream[begin : begin + count])


def transcript(words: Words, session: str, turns: int) -> Iterator[bytes]:
    """Records as Claude Code writes them."""
    last = None
    for turn in range(turns):
        for step in range(_TURN):
            uuid = f"{words.chance.getrandbits(128):032x}"
            call = f"toolu_{session}{turn:06d}"
            yield json.dumps(
                _record(words, session, f"{session}-{turn}", step, uuid, last, call)
            ).encode()
            last = uuid


def _record(
    words: Words, session: str, prompt: str, step: int, uuid: str, last: str | None, call: str
) -> dict[str, object]:
    text = words.text()
    content: list[dict[str, object]] = [
        [{"type": "text", "text": text}],
        [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text}}],
        [{"type": "tool_result", "tool_use_id": call, "content": text}],
        [{"type": "text", "text": text}],
    ][step]
    agent = step % 2 == 1 or step == 3
    message: dict[str, object] = {"role": "assistant" if agent else "user", "content": content}
    if agent:
        message |= {
            "id": f"msg_{uuid}",
            "model": "claude-scripted",
            "stop_reason": "tool_use" if step == 1 else "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 20},
        }
    return {
        "type": message["role"],
        "uuid": uuid,
        "parentUuid": last,
        "sessionId": session,
        "promptId": prompt,
        "timestamp": "2026-11-29T20:00:00.000Z",
        "message": message,
    }


def hand_over(home: Home, messages: int) -> None:
    """So many messages wait in the spool, each hand-over with those of some turns."""
    words = Words()
    spool = home.group(FOLDER).spool
    step = _TURN * _TURNS
    lines = list(transcript(words, "s1", messages // _TURN))
    at = 0
    for number, begin in enumerate(range(0, len(lines), step)):
        body = b"".join(line + b"\n" for line in lines[begin : begin + step])
        event = Event(
            "stop",
            id=f"{number:016x}",
            at=1_700_000_000_000_000_000 + number,
            client="claude",
            session="s1",
            log=Log(".claude/projects/-w/s1.jsonl", at),
            body=body,
        )
        put(str(spool), event)
        at += len(body)


@dataclass(frozen=True)
class TakingIn:
    """From event files in a spool to rows that can be searched, and the files removed."""

    filled: Path
    """A home in whose spool something waits; it stays as it is."""

    def seconds(self) -> float:
        root = self.filled.with_name("taken")
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.filled, root)
        begin = time.perf_counter()
        while take_in(Home(root), {}).more:
            pass
        return time.perf_counter() - begin


@dataclass(frozen=True)
class Storing:
    """The store's part of it: what readers made of the records, in transactions of a hand-over."""

    filled: Path

    def seconds(self) -> float:
        read = list(readings(Home(self.filled)))
        with _fresh(self.filled.with_name("stored.db")) as store:
            begin = time.perf_counter()
            for some in range(0, len(read), _HAND_OVERS):
                with store.transaction():
                    for event, reading in read[some : some + _HAND_OVERS]:
                        store.apply(FOLDER, event, reading)
            return time.perf_counter() - begin


def readings(home: Home) -> Iterator[tuple[Event, Reading]]:
    """What Claude Code's reader makes of all that waits."""
    state: State = {}
    for file in sorted((home.group(FOLDER).spool / "new").iterdir()):
        event = decode(file.read_bytes())
        reading = clients.get("claude").read(event, tuple(lines([event])), state)
        state = reading.state
        yield event, reading


def _fresh(path: Path) -> WritableStore:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    return open_store(path, write=True)


@dataclass(frozen=True)
class Bare:
    """The same rows of the same tables, the index among them, by nothing but `executemany`."""

    source: Path
    """A database that holds them."""

    def seconds(self) -> float:
        with open_store(self.source) as store:
            rows = {
                table: store.db.execute(f"SELECT * FROM {table}").fetchall() for table in _TABLES
            }
            said = store.messages(1, branch=False)
        rows["search (rowid, text, place)"] = [
            (m.id, fulltext.indexed(m.tool, m.text), fulltext.place(FOLDER, m.thread)) for m in said
        ]
        with _fresh(self.source.with_name("bare.db")) as store:
            begin = time.perf_counter()
            with store.transaction():
                for table, values in rows.items():
                    marks = ",".join("?" * len(values[0]))
                    store.db.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
            return time.perf_counter() - begin


@dataclass(frozen=True)
class Searching:
    """A person looks for something."""

    database: Path
    queries: tuple[str, ...]
    times: int = 5

    def seconds(self) -> float:
        with open_store(self.database) as store:
            begin = time.perf_counter()
            for _ in range(self.times):
                for query in self.queries:
                    store.search(query, FOLDER)
            return (time.perf_counter() - begin) / self.times


def usual_queries() -> tuple[str, ...]:
    """Common words and rare ones, several, a phrase, and what is not there."""
    words = Words().words
    return (
        words[0],
        words[300],
        words[10_000],
        f"{words[3]} {words[700]}",
        f'"{words[0]} {words[1]}"',
        "nothing that was ever said",
    )


def home_at(root: Path) -> Home:
    """A home with one group of Claude Code's."""
    group = root / "groups" / FOLDER
    (group / "spool").mkdir(parents=True)
    (group / "group.yaml").write_text("client: claude\n")
    (root / "pannier.yaml").write_text("")
    return Home(root)


def filled(root: Path, messages: int) -> Home:
    """A home in whose spool so many messages wait."""
    home = home_at(root)
    hand_over(home, messages)
    return home


def stored(root: Path, messages: int) -> Path:
    """The database of a home that has taken in so many messages."""
    home = filled(root, messages)
    while take_in(home, {}).more:
        pass
    return threads_file(home, {})


def bytes_and_text(database: Path) -> tuple[int, int]:
    """Those of the file, and those of all that was said, in UTF-8."""
    with open_store(database) as store:
        query = "SELECT sum(length(CAST(text AS BLOB))) FROM messages"
        (text,) = store.db.execute(query).fetchone()
    return sum(f.stat().st_size for f in database.parent.glob(f"{database.name}*")), text
