"""The format of event files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier_hook import events
from pannier_hook.events import Event, Log, UnknownFormat, decode

ID = "0123456789abcdef"

# Names as clients give them, and whatever else a text can hold.
words = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=50)
anything = st.text(st.characters(), max_size=50)
said = st.dictionaries(st.sampled_from(["prompt", "input", "output", "last", "summary"]), anything)
bodies = st.binary(max_size=200)
logs = st.builds(Log, words.filter(bool), st.integers(0, (1 << 63) - 1), more=st.booleans())


@st.composite
def made(draw: st.DrawFn) -> Event:
    count = draw(st.integers(1, 999))
    log = draw(st.none() | logs)
    return Event(
        draw(st.sampled_from(sorted(events.KINDS))),
        id=draw(st.text("0123456789abcdef", min_size=16, max_size=16)),
        part=(draw(st.integers(1, count)), count),
        at=draw(st.integers(0, (1 << 63) - 1)),
        client=draw(words),
        session=draw(words),
        thread=draw(words),
        task=draw(st.booleans()),
        turn=draw(words),
        agent=draw(words),
        details=draw(said),
        log=log,
        body=draw(bodies) if log else b"",
    )


@given(made())
def test_events_survive_their_file(event: Event) -> None:
    """What is written is what is read, whatever the words, and the body byte for byte."""
    assert decode(event.encode()) == event


@given(anything, anything)
def test_everything_that_is_read_can_be_stored(session: str, text: str) -> None:
    """No text that a reader gets holds what UTF-8 cannot say; names are one clean line."""
    event = Event("stop", id=ID, at=1, session=session, details={"last": text, "active": text})
    for each in (event.session, *event.details.values()):
        each.encode("utf-8")
    assert "\n" not in event.session + event.details["active"]
    assert decode(event.encode()) == event


def header(**changes: Any) -> bytes:
    """A good header with members changed; one that is `...` is left out."""
    log = {"name": ".claude/x.jsonl", "offset": 0, "more": False}
    good = Event("stop", id=ID, at=1, details={"last": "x"}).encode()
    value = {**json.loads(good), "log": log, **changes}
    return json.dumps({k: v for k, v in value.items() if v is not ...}).encode() + b"\n"


def test_a_file_of_another_program_is_read() -> None:
    """Members may stand in any order, with spaces, and with members that are not known."""
    event = decode(header(later=[1, {"x": None}], details={"last": "é", "later": "x"}) + b"{}\n")
    assert (event.details["last"], event.body, event.log) == (
        "é",
        b"{}\n",
        Log(".claude/x.jsonl", 0, more=False),
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"null\n",
        b"[]\n",
        b"{\n",
        b"{}",
        b"\xff\n",
        b"\xef\xbb\xbf{}\n",
        b"[" * 100_000 + b"\n",
        b'{"v":' * 100_000 + b"\n",
        b'{"v":' + b"9" * 1_000_000 + b"}\n",
        b" " * (events.HEADER_LIMIT + 1) + b"{}\n",
        header() + b"x" * events.FILE_LIMIT,
        header(log=...) + b"{}\n",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_what_is_no_event(data: bytes) -> None:
    """Anything may lie in a spool: it is a ValueError, never more."""
    with pytest.raises(ValueError):  # noqa: PT011
        decode(data)


HUGE = 10**19
WRONG: list[dict[str, Any]] = [
    *({"at": at} for at in (-1, True, "1", 1.0, None, HUGE, 1e400, ...)),
    *({"id": text} for text in ("", ID[1:], ID.upper(), "x" * 16, 1, ...)),
    *({"part": part} for part in ([0, 1], [2, 1], [1], [1, 1, 1], [1, 1000], [True, 1], "11", ...)),
    *({"task": task} for task in (1, "true", None, ...)),
    *({"session": text} for text in ("a\nb", "\x1b[0m", "\u202e", "\ud800", "s" * 1001, 1, ...)),
    *({"thread": text} for text in ("\0", None)),
    *({"details": details} for details in ([], "x", {"a": 1}, {"A b": "x"}, {"": "x"}, ...)),
    {"details": {"active": "x" * 2001}},
    {"details": {f"d{number}": "" for number in range(33)}},
    *({"log": log} for log in ({}, [], {"name": "", "offset": 0, "more": False})),
    *({"log": {"name": "x", "offset": at, "more": False}} for at in (-1, True, "0", HUGE)),
    {"log": {"name": "a\nb", "offset": 0, "more": False}},
    {"log": {"name": "x", "offset": 0, "more": 0}},
]


@pytest.mark.parametrize("change", WRONG, ids=lambda change: json.dumps(str(change))[:60])
def test_wrong_members(change: dict[str, Any]) -> None:
    """Each member is of its type and within its bounds, or the file is no event."""
    with pytest.raises(ValueError, match="event") as caught:
        decode(header(**change))
    assert not isinstance(caught.value, UnknownFormat)


@pytest.mark.parametrize("change", [{"v": 3}, {"v": True}, {"v": 2.0}, {"kind": "turn"}])
def test_newer_formats_are_told_apart(change: dict[str, Any]) -> None:
    """An event of a newer version or kind is known as such."""
    with pytest.raises(UnknownFormat):
        decode(header(**change))


EARLIER: dict[str, Any] = {
    "v": 1,
    "kind": "error",
    "at": 7,
    "hook": "0.1.0",
    "event": "session-start",
    "client": "claude",
    "session": "",
    "thread": "main",
    "task": False,
    "text": "its input is not valid JSON",
}


def earlier(**change: Any) -> bytes:
    return json.dumps(EARLIER | change).encode() + b"\n"


def test_what_an_earlier_hook_reported_is_still_told() -> None:
    """A file of the format in which hooks told only errors is the report that it is."""
    event = decode(earlier())
    assert (event.kind, event.at, event.client) == ("error", 7, "claude")
    assert event.details == {"event": "session-start", "text": EARLIER["text"]}
    assert event == decode(earlier())
    assert event.id != decode(earlier(text="another")).id
    assert decode(event.encode()) == event


@pytest.mark.parametrize(
    "change", [{"text": 1}, {"text": "x" * 2001}, {"event": None}, {"client": "a\nb"}, {"at": -1}]
)
def test_a_wrong_report_of_an_earlier_hook(change: dict[str, Any]) -> None:
    """Such a file is held to the same bounds."""
    with pytest.raises(ValueError, match="event"):
        decode(earlier(**change))


def test_an_earlier_hook_told_nothing_else() -> None:
    """Another kind in the earlier format is a format that nobody knows."""
    with pytest.raises(UnknownFormat, match="of format 1"):
        decode(header(v=1))


def test_a_long_text_is_cut_and_can_be_read() -> None:
    """However much a header's text grows when written, the file stays within its bounds; what was
    cut says so."""
    event = Event(
        "post-tool", id=ID, at=1, details={"input": "é" * (2 << 20), "output": "\x01" * (2 << 20)}
    )
    data = event.encode()
    assert len(data) <= events.HEADER_LIMIT
    read = decode(data)
    assert len(read.details["input"]) > 100_000
    for name in ("input", "output"):
        assert read.details[name].endswith("…")
        assert event.details[name].startswith(read.details[name][:-1])


def test_frozen() -> None:
    """What was read is not changed."""
    event = Event("stop", id=ID, at=1)
    with pytest.raises(AttributeError, match="frozen"):
        event.session = "other"


def test_names_sort_by_time_and_part() -> None:
    """The order of names is the order of what happened."""
    names = [
        Event("stop", id=ID, at=at, part=(part, 12)).name
        for at in (7, 80, 10**18)
        for part in (1, 2, 10)
    ]
    assert names == sorted(names)
    assert names[0] == f"00000000000000000007-{ID}-001.jsonl"
