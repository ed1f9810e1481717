"""Each event of a client is driven, and what reached the model is measured.

The client is a small program that calls the real hook and speaks real HTTP.
"""

from __future__ import annotations

import pytest

from pannier.clients.client import Shell
from pannier.endpoint.answers import Call
from pannier.endpoint.model import ScriptedModel
from pannier.errors import VerifyError
from pannier.paths import GroupPaths
from pannier.verify.events import watch
from pannier.verify.memory import read_memory
from pannier.verify.report import EventReport, Report

from .conftest import AGENT, clear, client_of, resume, startup


@pytest.fixture
def watch_events(model: ScriptedModel, group: GroupPaths, processes_with):
    def run(fault: str = "", begins=lambda _: None, **events) -> list[EventReport]:
        client = client_of(**events)
        processes = processes_with(fault)
        return list(watch(client, processes, model, lambda: read_memory(group), begins=begins))

    return run


def test_whole_on_startup(watch_events, group: GroupPaths) -> None:
    """On startup every character of both files arrives, and the places are named."""
    (event,) = watch_events(startup=startup)
    assert event.ok
    sizes = [(f.path, f.characters, f.expected, f.delivered) for f in event.files]
    length = len((group.memory / "index.md").read_text())
    assert sizes == [
        ("memory/index.md", length, length, length),
        ("memory/system/definition.md", 15_600, 15_600, 15_600),
    ]
    assert "messages[1] (system)" in event.files[0].where


def test_nothing_on_resume(watch_events) -> None:
    """On resume nothing is expected, although the context still holds the earlier delivery."""
    (event,) = watch_events(resume=resume)
    assert event.ok
    assert [(f.expected, f.delivered, f.where) for f in event.files] == [(0, 0, "")] * 2


def test_new_text_after_clear(watch_events, group: GroupPaths) -> None:
    """After clear the text counts that the files hold when the new context begins."""

    def edit(event: str) -> None:
        (group.memory / "index.md").write_text("changed\n")

    (event,) = watch_events(begins=edit, clear=clear)
    assert event.ok
    assert event.files[0].expected == event.files[0].delivered == len("changed\n")


@pytest.mark.parametrize("fault", ["lost", "cut", "changed"])
def test_missing_memory(watch_events, fault: str) -> None:
    """A part that is lost, cut short or altered is a failure, in numbers."""
    (event,) = watch_events(fault, startup=startup)
    assert not event.ok
    assert sum(f.delivered for f in event.files) < sum(f.expected for f in event.files)


def test_twice(watch_events) -> None:
    """Memory that comes twice in a fresh context is a failure: twice the characters."""
    (event,) = watch_events("twice", startup=startup)
    assert not event.ok
    assert [f.delivered for f in event.files] == [2 * f.expected for f in event.files]


def test_delivery_on_resume(watch_events) -> None:
    """Memory that is injected again on resume is a failure."""
    (event,) = watch_events("again", resume=resume)
    assert not event.ok
    assert all(f.expected == 0 < f.delivered for f in event.files)


def test_stale_context(watch_events) -> None:
    """A context that should be fresh and still holds the older delivery is a failure."""
    (event,) = watch_events("stale", clear=clear)
    assert not event.ok


def test_other_requests_do_not_count(watch_events) -> None:
    """A request that offers no tools (a title, say) is not taken for the agent's first."""
    (event,) = watch_events("title", startup=startup)
    assert event.ok


def test_sessions_on_the_side_do_not_count(watch_events) -> None:
    """Where the prompt is known, a session that the client has on the side is not measured."""

    def observed(shell: Shell) -> None:
        shell.observe("hello")
        shell.run(*AGENT, "start", "startup", "hello")

    assert not watch_events("aside", startup=startup)[0].ok
    assert watch_events("aside", startup=observed)[0].ok


def test_failing_drive(watch_events) -> None:
    """An event that cannot be driven says why, shows the output, and the next is still tried."""

    def fail(shell: Shell) -> None:
        shell.observe()
        shell.run(*AGENT, "fail")

    broken, whole = watch_events(clear=fail, startup=startup)
    assert "status 3" in broken.problem
    assert "no idea" in broken.shown
    assert not broken.ok
    assert whole.ok


def test_drive_that_never_begins(watch_events) -> None:
    """A drive that fails before the event begins has delivered nothing."""

    def fail(shell: Shell) -> None:
        startup_only = shell.run(*AGENT, "start", "startup", "hello")
        raise VerifyError("lost", startup_only.output)

    (event,) = watch_events(startup=fail)
    assert not event.ok
    assert [f.delivered for f in event.files] == [0, 0]
    assert all(f.expected for f in event.files)


def test_unreadable_output(watch_events) -> None:
    """Output of a client that its drive cannot make sense of is a problem of that event."""

    def fail(shell: Shell) -> None:
        shell.observe()
        raise ValueError("no JSON")

    (event,) = watch_events(startup=fail)
    assert "no JSON" in event.problem


def test_scripts_do_not_leak(watch_events, model: ScriptedModel) -> None:
    """What an event scripted and did not use is forgotten before the next."""

    def scripted(shell: Shell) -> None:
        shell.script(Call("NoSuchTool", {}))
        startup(shell)

    watch_events(startup=scripted, clear=clear)
    assert model.requests[-1].number == len(model.requests)


def test_json_shape(watch_events) -> None:
    """A report has just the keys that are promised."""
    events = watch_events(startup=startup)
    report = Report("fake", tuple(events)).to_json()
    assert list(report) == ["client", "events", "ok"]
    (event,) = report["events"]
    assert list(event) == ["event", "files"]
    assert list(event["files"][0]) == ["path", "characters", "expected", "delivered", "where"]
    assert report["ok"] is True
    assert not Report("fake", ()).ok
