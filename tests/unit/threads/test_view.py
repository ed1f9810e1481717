"""What a thread's model is sent, as `pannier threads show --context` has it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from pannier.cli import pannier
from pannier.clients.transcript import Entry, Message, Reading, TurnBegins, TurnEnds, Usage
from pannier.threads.report import parse
from pannier.threads.rows import PlaceRow, ReportRow
from pannier.threads.store import WritableStore, open_store
from pannier.threads.view import View, beginning, turns_since, view
from pannier_hook.events import CONTEXT, Event
from pannier_hook.spill import Kept
from pannier_hook.spill import shown as note

from .handing import Hands, home_with

REPORT: dict[str, Any] = {
    "window": 200_000,
    "limit": 140_000,
    "tokens": 43_210,
    "exact": True,
    "parts": [
        {"part": "system", "messages": 1, "tokens": 900},
        {"part": "results", "messages": 7, "tokens": 30_000, "characters": 100_000},
    ],
    "summary": "They looked for the leak.",
    "pruned": [{"call": "c1", "tool": "shell", "from": 9_000, "to": 700, "how": "trimmed"}],
    "spilled": [
        {"call": "c2", "tool": "shell", "path": "/workspace/agent/files/x", "bytes": 1_048_576}
    ],
}
PATH = "/workspace/agent/files/.pannier/spill/main/20261129T120000Z-bash-0123456789abcdef.txt"


class Threads:
    """Sessions that speak, in a store."""

    def __init__(self, store: WritableStore) -> None:
        self.store = store
        self.now = 1_795_953_600_000_000_000

    def say(
        self,
        *entries: Entry,
        session: str = "s1",
        client: str = "claude",
        kind: str = "stop",
        source: str = "",
        thread: str = "main",
        details: Mapping[str, str] | None = None,
        at: int = 0,
    ) -> None:
        self.now += 1_000_000_000
        event = Event(
            kind,
            id="0" * 16,
            at=at or self.now,
            client=client,
            session=session,
            thread=thread,
            details={**({"source": source} if source else {}), **(details or {})},
        )
        self.store.apply("scout", event, Reading(entries))

    def reports(self, text: str = json.dumps(REPORT), **more: Any) -> None:
        self.say(client="langchain", kind=CONTEXT, details={"report": text}, **more)

    def seen(self) -> View:
        found = view(self.store, self.store.find_thread("scout"))
        assert found is not None
        return found


@pytest.fixture
def threads(tmp_path: Path) -> Iterator[Threads]:
    with open_store(tmp_path / "state" / "threads.db", write=True) as store:
        yield Threads(store)


def person(key: str, text: str = "") -> Message:
    return Message(key, "person", "text", text or key)


def agent(key: str, text: str = "") -> Message:
    return Message(key, "agent", "text", text or key)


def called(key: str, result: str, tool: str = "Bash") -> tuple[Message, Message]:
    return (
        Message(f"{key}c", "agent", "call", '{"command": "ls"}', call=key, tool=tool),
        Message(f"{key}r", "tool", "result", result, call=key, tool=tool),
    )


def summary(key: str, text: str) -> Message:
    return Message(key, "client", "compaction", text)


def turn(key: str, *entries: Entry) -> tuple[Entry, ...]:
    return (TurnBegins(key), *entries, TurnEnds("succeeded"))


def parts(found: View) -> dict[str, tuple[int, int | None]]:
    return {p.part: (p.messages, p.characters) for p in found.report.parts}


# ------------------------------------------------------------------------- what a transcript tells


def test_every_message_counts_once_as_what_it_is(threads: Threads) -> None:
    """By kind, with characters and estimated tokens; a record that nobody knows is not counted."""
    threads.say(
        *turn(
            "1",
            Message("m", "pannier", "memory", "M" * 100),
            person("a", "the task"),
            Message("t", "agent", "thinking", "hm"),
            *called("b", "R" * 1_000),
            agent("d", "done"),
            Message("e", "client", "raw", "{}"),
        ),
        *turn("2", person("f", "and now this"), Message("g", "pannier", "message", "from afar")),
    )
    found = threads.seen()
    assert parts(found) == {
        "memory": (1, 100),
        "task": (1, 8),
        "request": (1, 12),
        "said": (2, 13),
        "thinking": (1, 2),
        "calls": (1, 21),
        "results": (1, 1_000),
    }
    assert all(part.tokens > 0 for part in found.report.parts)
    assert found.report.tokens == found.estimated == sum(p.tokens for p in found.report.parts)
    assert not found.report.exact
    assert any("One record of an unknown kind" in text for text in found.notes)
    assert any("system prompt" in text for text in found.notes)


def test_what_came_before_a_summary_is_not_sent_any_more(threads: Threads) -> None:
    """The summary stands for it, and what the client kept besides is said not to be known."""
    threads.say(*turn("1", person("a", "the task"), *called("b", "R" * 9_000)))
    threads.say(*turn("2", summary("s", "They looked."), person("c", "go on"), agent("d")))
    found = threads.seen()
    assert set(parts(found)) == {"summary", "request", "said"}
    assert (found.report.summary, found.since) == ("They looked.", 4)
    assert any("kept beside the summary" in text for text in found.notes)


@pytest.mark.parametrize(
    ("source", "there"), [("clear", False), ("startup", False), ("fork", True)]
)
def test_a_session_that_begins_anew_has_nothing_of_the_one_before(
    threads: Threads, source: str, there: bool
) -> None:
    """It goes on in the same thread; only a fork has in its context what was said before."""
    threads.say(*turn("1", person("a", "the task"), agent("b")))
    threads.say(kind="session-start", session="s2", source=source)
    threads.say(*turn("2", person("c", "go on")), session="s2")
    assert ("task" in parts(threads.seen()) and parts(threads.seen())["task"][1] == 8) is there
    assert threads.seen().session == "s2"


def test_what_sub_agents_did_is_not_in_the_context(threads: Threads) -> None:
    """They have one of their own."""
    threads.say(*turn("1", person("a"), Message("x", "agent", "text", "inner", inner="sub")))
    assert parts(threads.seen()) == {"task": (1, 1)}


def test_the_providers_own_count_is_that_of_the_last_call(threads: Threads) -> None:
    """With what came from its cache. Before anything was answered after a summary, there is
    none."""
    threads.say(*turn("1", person("a"), agent("b"), Usage("u1", input=5, cache_read=90)))
    threads.say(
        *turn("2", person("c"), agent("d"), Usage("u2", input=10, cache_read=2_000, cache_write=30))
    )
    found = threads.seen()
    assert (found.report.tokens, found.report.exact) == (2_040, True)
    threads.say(summary("s", "They talked."))
    assert not threads.seen().report.exact
    threads.say(*turn("3", person("e"), agent("f")))
    assert not threads.seen().report.exact
    threads.say(TurnBegins("4"), person("g"), agent("h"), Usage("u4", input=7))
    assert threads.seen().report.exact
    threads.say(summary("t", "They talked on."))
    assert not threads.seen().report.exact


def test_what_was_spilled_is_told_with_its_file(threads: Threads) -> None:
    """By the note that the model got in the place of the result."""
    kept = Kept(PATH, 1_048_576, 20_164, "first\n", "last\n")
    threads.say(*turn("1", person("a"), *called("b", note(kept)), *called("c", "short")))
    [spilled] = threads.seen().report.spilled
    assert (spilled.tool, spilled.path, spilled.bytes) == ("Bash", PATH, 1_048_576)
    other = Kept(f"{PATH}.txt", 7, 1, "first\n", "last\n")
    threads.say(*turn("2", person("d"), *called("e", f"{note(kept)}\n{note(other)}")))
    paths = [one.path for one in threads.seen().report.spilled]
    assert paths == [PATH, PATH, f"{PATH}.txt"]


def test_a_thread_at_its_beginning_is_sent_nothing(threads: Threads) -> None:
    """As after a rollback to there."""
    threads.say(person("a"))
    thread = threads.store.find_thread("scout")
    threads.store.move_head(thread.id, None)
    assert view(threads.store, threads.store.find_thread("scout")) is None


sessions = st.sampled_from([1, 2, 3])


@given(
    st.lists(
        st.tuples(sessions, st.sampled_from(["text", "call", "compaction"])),
        min_size=1,
        max_size=30,
    ),
    st.dictionaries(sessions, st.sampled_from(["", "startup", "clear", "resume", "fork"])),
)
def test_where_the_context_begins(path: list[tuple[int, str]], sources: dict[int, str]) -> None:
    """Never before the last summary, never across a session that began anew, and else as far back
    as can be."""
    places = [PlaceRow(i, session, None, kind) for i, (session, kind) in enumerate(path, 1)][::-1]
    begin = beginning(places, sources)
    inside = [place for place in places if place.id >= begin]
    assert not any(place.kind == "compaction" for place in inside[:-1])
    for later, earlier in pairwise(inside):
        assert later.session == earlier.session or sources.get(later.session) in ("resume", "fork")
    first = inside[-1]
    before = next((place for place in places if place.id == begin - 1), None)
    if before is not None and first.kind != "compaction":
        assert before.session != first.session
        assert sources.get(first.session) not in ("resume", "fork")


# -------------------------------------------------------------------------- what an agent reports


def test_what_an_agent_reports_is_shown_as_it_is(threads: Threads) -> None:
    """It knows better than any transcript what it sends."""
    threads.say(*turn("1", person("a"), agent("b")), client="langchain")
    threads.reports()
    found = threads.seen()
    assert found.reported
    assert found.report == parse(json.dumps(REPORT))
    assert found.notes == ()


def test_the_latest_report_is_kept(threads: Threads) -> None:
    """One that comes late, or is none, changes nothing."""
    threads.say(*turn("1", person("a")), client="langchain")
    threads.reports()
    threads.reports(json.dumps({**REPORT, "tokens": 1}), at=5)
    for wrong in ("", "{", "[]", json.dumps({**REPORT, "tokens": -1})):
        threads.reports(wrong)
    assert threads.seen().report.tokens == 43_210
    threads.reports(json.dumps({**REPORT, "tokens": 77}))
    assert threads.seen().report.tokens == 77


def test_turns_after_the_report_are_told(threads: Threads) -> None:
    """So that nobody takes it for one of now."""
    threads.say(*turn("1", person("a")), client="langchain")
    threads.reports()
    threads.say(*turn("2", person("b")), client="langchain")
    assert threads.seen().notes == ("One turn came after the agent said so.",)


@pytest.mark.parametrize("to", ["the turn before", "within the turn"])
def test_after_a_rollback_the_report_is_of_another_branch(threads: Threads, to: str) -> None:
    """Then it is what is stored that is shown, and that is said."""
    threads.say(*turn("1", person("a"), agent("b")), client="langchain")
    threads.say(*turn("2", person("c"), agent("d")), client="langchain")
    threads.reports()
    thread = threads.store.find_thread("scout")
    threads.store.move_head(thread.id, 2 if to == "the turn before" else 3)
    found = threads.seen()
    assert not found.reported
    assert "went back, or was compacted" in found.notes[0]
    threads.store.move_head(thread.id, 4)
    assert threads.seen().reported


def test_a_compaction_without_a_turn_makes_the_report_an_old_one(threads: Threads) -> None:
    """As that of a thread at rest. One within the report's own turn is in the report."""
    said = (person("a"), summary("s", "They talked."), agent("b"))
    threads.say(TurnBegins("1"), *said, client="langchain")
    threads.reports()
    threads.say(TurnEnds("succeeded"), client="langchain")
    threads.say(TurnBegins("2"), person("c"), client="langchain")
    threads.say(summary("t", "In short."), agent("d"), TurnEnds("succeeded"), client="langchain")
    threads.reports()
    assert threads.seen().reported
    threads.say(summary("u", "They talked on."), client="langchain")
    found = threads.seen()
    assert (found.reported, found.report.summary) == (False, "They talked on.")
    assert "was compacted" in found.notes[0]


def test_how_many_turns_came_since() -> None:
    """Counted on the path alone; a report without a turn is never called old."""
    places = [PlaceRow(n, 1, t, "text") for n, t in ((9, 3), (8, None), (7, 3), (5, 2), (4, 1))]
    for turn_, count in ((3, 0), (2, 1), (1, 2), (7, None), (None, 0)):
        assert turns_since(ReportRow(1, turn_, "{}"), places) == count


def test_erasing_a_thread_erases_what_was_reported(threads: Threads) -> None:
    """The summary in it is made of what was said there. Another thread's stays."""
    threads.say(*turn("1", person("a")), client="langchain")
    threads.reports()
    threads.say(*turn("2", person("b")), client="langchain", thread="other")
    threads.reports(thread="other")
    threads.store.erase(threads.store.find_thread("scout").id)
    left = threads.store.db.execute("SELECT count(*) FROM contexts").fetchone()
    assert left == (1,)
    assert view(threads.store, threads.store.find_thread("scout/other")) is not None
    threads.reports()
    assert threads.store.db.execute("SELECT count(*) FROM contexts").fetchone() == (1,)


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": None},
        {"tokens": 1 << 60},
        {"tokens": 1.5},
        {"tokens": True},
        {"exact": []},
        {"parts": [{}]},
        {"parts": [REPORT["parts"][0]] * 51},
        {"summary": 3},
        {"summary": "\ud800"},
        {"pruned": [REPORT["pruned"][0]] * 1_001},
        {"spilled": [{"path": "/x"}]},
        {"spilled": {}},
    ],
    ids=str,
)
def test_a_report_that_is_none_is_passed_over(change: dict[str, Any]) -> None:
    """A container can claim anything."""
    assert parse(json.dumps(REPORT)) is not None
    assert parse(json.dumps({**REPORT, **change})) is None
    assert parse(json.dumps({**REPORT, "later": change})) == parse(json.dumps(REPORT))


def test_a_long_name_is_cut() -> None:
    """A call's id is the model's, and may be a page."""
    found = parse(
        json.dumps({**REPORT, "spilled": [{**REPORT["spilled"][0], "call": "c" * 9_000}]})
    )
    assert found is not None
    assert found.spilled[0].call == "c" * 1_000


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*REPORT, "x"]), inner),
    )
)
def test_whatever_is_reported_is_read_or_passed_over(value: object) -> None:
    """Nothing raises, and what is read once is read again the same."""
    found = parse(json.dumps(value))
    assert found is None or parse(json.dumps(found.as_data())) == found


# --------------------------------------------------------------------------- what a person sees


@pytest.fixture
def hands(tmp_path: Path) -> Hands:
    return home_with(tmp_path)


def show(hands: Hands, *args: str) -> Result:
    home = str(hands.home.root)
    return CliRunner().invoke(pannier, ["--home", home, "threads", "show", "scout", *args])


def test_the_report_comes_through_the_spool(hands: Hands) -> None:
    """Sizes by part, what was pruned, the summary, what was spilled where; secrets are masked."""
    secret = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0LmNbab"
    report = {**REPORT, "summary": f"The token is {secret}.\x1b[2J"}
    hands.prompt("hello")
    hands.put(hands.event(CONTEXT, details={"report": json.dumps(report)}))
    done = show(hands, "--context")
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    for words in (
        "window 200,000 tokens; compaction begins above 140,000",
        "sent 43,210 tokens, as the provider counted",
        "results 7 100,000 30,000",
        "shell c1 9,000 → 700 trimmed",
        "shell 1,048,576 /workspace/agent/files/x",
    ):
        assert words.split() in lines
    assert secret not in done.stdout
    assert "\x1b" not in done.stdout
    assert "Summary" in done.stdout
    data = json.loads(show(hands, "--context", "--json").stdout)["context"]
    assert data["parts"][1] == REPORT["parts"][1]
    assert data["pruned"] == REPORT["pruned"]
    assert (data["source"], data["window"]) == ("agent", 200_000)
    assert secret not in data["summary"]


def test_a_long_summary_is_shortened_unless_all_is_wanted(hands: Hands) -> None:
    """How much is left out is said."""
    hands.prompt("hello")
    hands.put(hands.event("post-compact", details={"summary": "S" * 5_000}))
    short, full = show(hands, "--context").stdout, show(hands, "--context", "--full").stdout
    assert "Summary (m2), 3,000 characters left out:" in short
    assert "S" * 5_000 in full


def test_of_a_cli_it_says_what_nobody_can_know(hands: Hands) -> None:
    """On standard error, so that the numbers can be piped."""
    hands.prompt("hello")
    hands.answer("hello yourself")
    done = show(hands, "--context")
    assert "as its transcript tells" in done.stdout
    assert "stand in no transcript" in done.stderr
    assert show(hands, "--context", "--all").exit_code == 2
