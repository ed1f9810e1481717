"""`pannier doctor` tells how the spools are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pannier import doctor
from pannier.findings import Finding
from pannier.threads.locking import writing

from .handing import Hands, home_with


@pytest.fixture
def hands(tmp_path: Path) -> Hands:
    return home_with(tmp_path, ("scout", "pilot"))


def said(hands: Hands, subject: str = "scout") -> list[Finding]:
    nowhere = {"DOCKER_HOST": f"unix://{hands.home.root}/no.sock", "PATH": "/usr/bin:/bin"}
    found = doctor.examine(hands.home, nowhere)
    return [f for f in found if f.subject == subject and "spool" in f.message + f.advice]


def test_a_quiet_spool_is_not_spoken_of(hands: Hands) -> None:
    """Before an agent ever spoke, and after all was taken in."""
    assert said(hands) == []
    hands.prompt("hello")
    hands.take_in()
    assert said(hands) == []
    (threads,) = (f for f in doctor.examine(hands.home, {}) if f.subject == "threads")
    assert threads.level == "ok"
    assert "holds 1 thread" in threads.message


def test_what_waits_is_told(hands: Hands) -> None:
    """With what takes it in. It is no problem."""
    hands.prompt("hello")
    hands.answer("hi")
    (found,) = said(hands)
    assert found.level == "note"
    assert found.message.startswith("2 files of its spool wait to be taken in")
    assert "pannier serve" in found.advice
    assert said(hands, "pilot") == []


def test_a_flood_is_a_problem(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody should look at that agent."""
    monkeypatch.setattr(doctor, "_FLOOD", 20)
    for number in range(21):
        hands.lay(str(number), b"x")
    (found,) = said(hands)
    assert found.level == "problem"
    assert "goes wild" in found.advice


def test_what_was_put_aside_is_told_with_its_reasons(hands: Hands) -> None:
    """Each reason once, and where the files lie."""
    for number in range(3):
        hands.lay(str(number), b"odd")
    (hands.spool() / "new" / "link").symlink_to("/etc")
    hands.take_in()
    most, other = said(hands)
    assert "3 files" in most.message
    assert "without a header" in most.message
    assert "a file" in other.message
    assert str(hands.spool() / "rejected") in most.advice
    assert {most.level, other.level} == {"problem"}


def test_what_an_earlier_hook_reported_is_told(hands: Hands) -> None:
    """Also when it is found only after pannier was updated: as the report that it is."""
    data = (
        b'{"v":1,"kind":"error","at":7,"hook":"0.1.0","event":"session-start","client":"claude",'
        b'"session":"","thread":"main","task":false,"text":"its input is not valid JSON"}\n'
    )
    hands.lay("00000000000000000007-0123456789abcdef.json", data)
    hands.take_in()
    (found,) = (f for f in doctor.examine(hands.home, {}) if "hook reported" in f.message)
    assert found.message.endswith("session-start (claude): its input is not valid JSON")
    assert not any("could not be read" in f.message for f in said(hands))


def test_what_stands_in_the_way_is_named(hands: Hands) -> None:
    """And nothing else is to be moved away."""
    (hands.spool() / "rejected").symlink_to("/etc")
    hands.prompt("waits")
    found = next(f for f in said(hands) if "cannot be read" in f.message)
    assert "spool/rejected: a link" in found.message
    assert "/new" not in found.advice


def test_reasons_that_an_agent_wrote_are_one_safe_line(hands: Hands) -> None:
    """It can write into that folder, too."""
    rejected = hands.spool() / "rejected"
    rejected.mkdir(parents=True)
    (rejected / "a").write_text("x")
    (rejected / "a.why").write_text("\x1b[2Jfirst\nok  all: good " + "long " * 1_000)
    (rejected / "b").mkdir()
    (rejected / "b.why").symlink_to("/etc/passwd")
    for found in said(hands):
        assert found.message.isprintable()
        assert len(found.message) < 400
        assert "root:" not in found.message


def test_errors_stay_until_they_are_removed(hands: Hands) -> None:
    """Whether they were taken in yet or not."""
    hands.put(hands.event("error", details={"event": "stop", "text": "no room"}))
    hands.take_in()
    (found,) = said(hands)
    assert "the hook reported: stop (custom): no room" in found.message
    assert "spool/reports" in found.advice
    for file in (hands.spool() / "reports").iterdir():
        file.unlink()
    assert said(hands) == []


def test_what_erased_sessions_say_is_told_to_be_lost(hands: Hands) -> None:
    """With the way out."""
    hands.prompt("hello")
    hands.take_in()
    with writing(hands.home, {}) as store:
        store.erase(1)
    hands.prompt("again")
    hands.answer("hi")
    hands.take_in()
    found = [f for f in doctor.examine(hands.home, {}) if "not recorded" in f.message]
    assert [(f.level, f.subject) for f in found] == [("note", "scout")]
    assert "(2 times)" in found[0].message
    assert "begin a new one" in found[0].advice


def test_a_database_that_cannot_be_read_is_a_problem(hands: Hands) -> None:
    """Named, with the way out."""
    hands.home.state.mkdir()
    (hands.home.state / "threads.db").write_text("no database" * 1_000)
    (found,) = (f for f in doctor.examine(hands.home, {}) if f.subject == "threads")
    assert found.level == "problem"
    assert "threads.db: file is not a database" in found.message
    assert found.advice


def test_a_duration_is_in_words() -> None:
    """In the unit that a person would take."""
    said = [doctor._duration(seconds) for seconds in (0.2, 1, 119, 120, 7_300, 200_000)]
    assert said == ["0 seconds", "1 second", "119 seconds", "2 minutes", "2 hours", "2 days"]
