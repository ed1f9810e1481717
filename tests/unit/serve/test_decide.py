"""What the daemon does about what it sees; no engine, and a clock that the test moves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.serve.seen import CALM, NO_ENGINE, SCOUT, Story, ended, facts, up

from pannier.serve.decide import Build, MakeReady, Remove, Start, decide
from pannier.serve.facts import ContainerFacts, Facts
from pannier.serve.log import Event
from pannier.serve.memory import LONGEST_PAUSE, STEADY, Memory, Outcome, Up, pause


@pytest.fixture
def story() -> Story:
    return Story()


def started(id_: str, at: float) -> Outcome:
    event = Event("info", "scout", "container.started", f"started {id_}")
    return Outcome(event, up=Up(id_, f"pannier-scout-{id_}", at))


def failed(message: str, kind: str = "start.failed") -> Outcome:
    return Outcome(Event("error", "scout", kind, message), failed=True)


def test_a_group_marked_autostart_is_started(story: Story) -> None:
    """Of two groups the one that says `autostart: true`."""
    assert story.round(facts(groups=(SCOUT, CALM))) == [Start("scout")]
    assert story.state("calm") == ("idle", "")
    assert story.state("scout") == ("waiting", "its turn")


def test_every_group_is_made_ready_once(story: Story) -> None:
    """Folders and scaffold of all groups, at first and after an edit of the settings."""
    seen = facts(groups=(CALM, SCOUT))
    first = decide(seen, Memory(), 0.0)
    assert [a for a in first.actions if isinstance(a, MakeReady)] == [
        MakeReady("calm", "c1"),
        MakeReady("scout", "s1"),
    ]
    done = Outcome(Event("info", "calm", "group.ready", ""), stamp="c1")
    assert story.told(done) == []
    again = decide(seen, story.memory, 1.0)
    assert [a for a in again.actions if isinstance(a, MakeReady)] == [MakeReady("scout", "s1")]
    edited = decide(facts(groups=(replace(CALM, stamp="c2"),)), story.memory, 2.0)
    assert edited.actions == (MakeReady("calm", "c2"),)


def test_a_missing_image_is_built_first(story: Story) -> None:
    """The group waits for it, others do not; only one build goes on at a time."""
    waiting = replace(SCOUT, missing_image="pannier-claude:1")
    other = replace(CALM, autostart=True, missing_image="pannier-codex:1")
    third = replace(CALM, folder="third", autostart=True)
    seen = facts(groups=(waiting, other, third))
    assert story.round(seen) == [Build("scout", "claude", "pannier-claude:1"), Start("third")]
    assert story.round(replace(seen, building="pannier-claude:1")) == [Start("third")]
    assert story.state() == ("waiting", "image pannier-claude:1 is being built")
    assert story.round(facts(groups=(SCOUT,))) == [Start("scout")]


def test_a_container_that_is_up_is_kept_and_named(story: Story) -> None:
    """One that the daemon did not start, after a crash or by hand, is said once and counts."""
    assert story.round(facts(up())) == []
    assert story.said == ["container.found"]
    assert story.state() == ("up", "")
    assert story.round(facts(up())) == []
    assert story.said == []


def test_a_container_that_the_daemon_started_is_not_found_again(story: Story) -> None:
    """Its own start was said already."""
    story.round(facts())
    assert story.told(started("c1", 0.0)) == ["container.started"]
    story.round(facts(up()), 1.0)
    assert story.said == []


def test_a_container_that_ended_is_started_again_at_once_when_it_had_run_long(story: Story) -> None:
    """The old one is removed; the engine's words say how it ended."""
    story.round(facts(up()))
    actions = story.round(facts(ended()), STEADY)
    assert [type(a) for a in actions] == [Remove, Start]
    assert story.said == ["container.ended"]
    assert "Exited (137)" in story.words


def test_a_container_that_somebody_removed_is_no_warning(story: Story) -> None:
    """As `pannier stop` does; one that ends by itself stays where it was."""
    story.round(facts(up()))
    removed = decide(facts(), story.memory, 1.0).events
    assert removed == (Event("info", "scout", "container.ended", "pannier-scout-c1 was removed"),)
    [crashed] = decide(facts(ended()), story.memory, 1.0).events
    assert (crashed.level, crashed.event) == ("warning", "container.ended")


def test_the_pauses_grow_while_starts_do_not_last(story: Story) -> None:
    """5 s, 10 s, 20 s … up to five minutes, and from the beginning after a steady run."""
    at, pauses = 0.0, []
    for number in range(9):
        story.round(facts(up(f"c{number}")), at)
        begun = at + 1
        story.round(facts(), begun)
        at = begun
        while not story.round(facts(), at):
            at += 0.5
        pauses.append(at - begun)
        story.told(started(f"c{number + 1}", at), at)
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert story.round(facts(), at + STEADY) == [Start("scout")]


def test_pauses_are_bounded() -> None:
    """However often it failed."""
    assert pause(0) < pause(1) < pause(2)
    assert pause(10_000) == LONGEST_PAUSE


def test_a_failed_start_is_said_once_and_tried_again(story: Story) -> None:
    """The same reason is not said a second time, another one is; status tells what it waits for."""
    story.round(facts())
    assert story.told(failed("refused: no entry holds /srv"), 0.0) == ["start.failed"]
    assert story.round(facts(), 4.0) == []
    assert story.said == []
    assert story.state() == ("waiting", "refused: no entry holds /srv")
    assert story.round(facts(), 5.0) == [Start("scout")]
    assert story.told(failed("refused: no entry holds /srv"), 5.0) == []
    assert story.round(facts(), 14.0) == []
    assert story.round(facts(), 15.0) == [Start("scout")]
    assert story.told(failed("no such image"), 15.0) == ["start.failed"]


def test_an_edit_of_the_settings_gives_a_new_try_at_once(story: Story) -> None:
    """Who has just granted a mount does not wait five minutes."""
    story.round(facts())
    for _ in range(8):
        story.told(failed("refused"), 0.0)
    assert story.round(facts(), 1.0) == []
    assert story.round(facts(groups=(replace(SCOUT, stamp="s2"),)), 2.0) == [Start("scout")]


def test_a_failed_build_is_tried_again_after_a_pause(story: Story) -> None:
    """And its reason is what the group waits for."""
    seen = facts(groups=(replace(SCOUT, missing_image="t"),))
    assert story.round(seen) == [Build("scout", "claude", "t")]
    assert story.told(failed("t could not be built: no disk", "image.failed")) == ["image.failed"]
    assert story.round(seen, 1.0) == []
    assert story.state() == ("waiting", "t could not be built: no disk")
    assert story.round(seen, 5.0) == [Build("scout", "claude", "t")]


def test_a_start_of_somebody_else_is_waited_for(story: Story) -> None:
    """`pannier up` in another terminal creates its container; that is no leftover."""
    assert story.round(facts(up(state="created"))) == []
    assert story.said == []


def test_what_a_crash_left_half_made_is_removed(story: Story) -> None:
    """A container of `up` that was never started, and one of `run` that is not running."""
    half = up("h", state="created", abandoned=True)
    run = ContainerFacts("r", "pannier-scout-r", "scout", "run", "created", abandoned=True)
    actions = story.round(facts(half, run))
    assert [(type(a), getattr(a, "container", "")) for a in actions] == [
        (Remove, "r"),
        (Remove, "h"),
        (Start, ""),
    ]


def test_a_container_at_the_gate_whose_starter_is_gone_is_removed(story: Story) -> None:
    """Its mounts were never compared; it does not count as up, and a new one takes its place."""
    actions = story.round(facts(up(abandoned=True, at_gate=True)))
    assert [type(a) for a in actions] == [Remove, Start]
    assert story.said == []
    assert "before its mounts were compared" in actions[0].why  # type: ignore[union-attr]


def test_a_client_whose_terminal_is_gone_is_reported_and_left_alone(story: Story) -> None:
    """It may be at work; the words say how to remove it."""
    run = ContainerFacts("r", "pannier-scout-r", "scout", "run", "running", abandoned=True)
    seen = facts(up(), run)
    assert story.round(seen) == []
    assert "container.left" in story.said
    assert "pannier stop scout" in story.words
    assert story.round(seen) == []
    assert story.said == []


def test_a_person_s_own_container_that_ended_stays(story: Story) -> None:
    """Without `autostart` it is said and not removed: its log may be wanted."""
    seen = facts(ended(group="calm"), groups=(CALM,))
    assert story.round(seen) == []
    assert story.said == ["container.left"]


def test_drift_is_said_once_and_again_when_it_is_over(story: Story) -> None:
    """With `enforce: report` nothing is stopped, however long it lasts."""
    drifted = up(drift=("/srv was replaced",), look=2)
    story.round(facts(up(look=1)))
    assert story.round(facts(drifted)) == []
    assert story.said == ["container.drifted"]
    assert story.state() == ("up", "does not keep to its plan: /srv was replaced")
    assert story.round(facts(replace(drifted, look=3))) == []
    assert story.said == []
    assert story.round(facts(up(look=4))) == []
    assert story.said == ["container.keeps"]


def test_an_earlier_image_is_said_once_and_stops_nothing(story: Story) -> None:
    """Whoever knows what the agent is at decides when it starts anew."""
    words = "pannier-scout-c1 is up on an earlier image"
    old = up(outdated=words, stops=True)
    for _ in range(3):
        assert story.round(facts(old)) == []
        assert story.state() == ("up", words)
    story = Story()
    story.round(facts(old))
    assert "container.outdated" in story.said
    assert words in story.words
    story.round(facts(old))
    assert story.said == []
    story.round(facts(up()))
    assert story.said == ["container.current"]


def test_with_enforce_stop_a_second_look_stops_the_container(story: Story) -> None:
    """One look may fall between the two steps of somebody's edit; a cached look is no second."""
    drifted = up(drift=("/srv is withdrawn",), look=5, stops=True)
    assert story.round(facts(drifted)) == []
    assert story.round(facts(drifted)) == []
    (action,) = story.round(facts(replace(drifted, look=6)))
    assert isinstance(action, Remove)
    assert action.level == "warning"
    assert "/srv is withdrawn" in action.why


def test_a_drift_that_passes_between_two_looks_stops_nothing(story: Story) -> None:
    """The count begins again."""
    drift = ("/srv is withdrawn",)
    story.round(facts(up(drift=drift, look=1, stops=True)))
    story.round(facts(up(look=2, stops=True)))
    assert story.round(facts(up(drift=drift, look=3, stops=True))) == []


def test_a_container_that_was_stopped_by_the_daemon_did_not_end_by_itself(story: Story) -> None:
    """No pause, no second word on it."""
    story.round(facts(up()))
    gone = Outcome(Event("warning", "scout", "container.removed", "removed"), container="c1")
    story.told(gone)
    assert story.round(facts(), 1.0) == [Start("scout")]
    assert story.said == []


def test_an_engine_that_is_gone_is_said_once(story: Story) -> None:
    """Nothing is concluded about containers meanwhile; when it is back the round goes on."""
    story.round(facts(up()))
    assert story.round(NO_ENGINE) == []
    assert story.said == ["engine.gone"]
    assert story.round(NO_ENGINE) == []
    assert story.said == []
    assert story.memory.silent == 2
    assert story.round(facts(up())) == []
    assert story.said == ["engine.back"]
    assert story.memory.silent == 0


def test_containers_that_ended_with_their_engine_are_started_again(story: Story) -> None:
    """At once, if they had run long."""
    story.round(facts(up()))
    story.round(NO_ENGINE, 100.0)
    assert story.state() == ("up", "")
    actions = story.round(facts(ended()), 200.0)
    assert Start("scout") in actions


def test_troubles_of_containers_outlive_an_engine_that_is_away(story: Story) -> None:
    """They are not said a second time when it is back."""
    drifted = up(drift=("/srv was replaced",), look=1)
    story.round(facts(drifted))
    story.round(NO_ENGINE)
    assert story.said == ["engine.gone"]
    story.round(facts(drifted))
    assert story.said == ["engine.back"]


def test_a_broken_group_is_reported_and_the_others_go_on(story: Story) -> None:
    """It is neither started nor made ready; when it can be read again that is said."""
    broken = replace(SCOUT, error="group.yaml, line 3: not YAML")
    other = replace(CALM, autostart=True)
    assert story.round(facts(groups=(broken, other))) == [Start("calm")]
    assert story.said == ["settings.broken"]
    assert story.state() == ("broken", "group.yaml, line 3: not YAML")
    story.round(facts(groups=(SCOUT, other)))
    assert story.said == ["settings.mended"]


def test_a_group_that_cannot_be_read_is_not_made_ready() -> None:
    """Nobody knows what its client is."""
    assert decide(facts(groups=(replace(SCOUT, error="x"),)), Memory(), 0.0).actions == ()


def test_a_container_in_the_place_of_another_is_told(story: Story) -> None:
    """Somebody stopped one and started the next between two rounds."""
    story.round(facts(up("c1")))
    assert story.round(facts(up("c2")), 1.0) == []
    assert story.said == ["container.found", "container.ended"]
    assert story.round(facts(), 100.0) == [Start("scout")]
    assert "pannier-scout-c2" in story.words


def test_of_two_containers_that_are_up_one_may_end(story: Story) -> None:
    """The group is up as long as one is; the first by name stands for it."""
    both = facts(up("c1"), up("c2"))
    story.round(both)
    assert "pannier-scout-c1" in story.words
    assert story.round(both) == []
    assert story.round(facts(up("c2")), 1.0) == []


def test_what_became_of_a_container_that_is_gone_is_not_praised(story: Story) -> None:
    """It does not keep to its plan again: it is not there."""
    story.round(facts(up(drift=("x",), look=1)))
    story.round(facts(up("c2")), 1.0)
    assert "container.keeps" not in story.said


def test_a_container_that_ended_has_no_drift(story: Story) -> None:
    """Whatever was seen while it ran."""
    story.round(facts(ended(group="calm", drift=("x",), look=1), groups=(CALM,)))
    assert story.said == ["container.left"]


def test_what_is_removed_is_not_also_reported_as_left(story: Story) -> None:
    """One word a matter."""
    run = ContainerFacts("r", "pannier-calm-r", "calm", "run", "created", abandoned=True)
    gate = ContainerFacts("g", "pannier-calm-g", "calm", "run", "running", "", True, True)
    actions = story.round(facts(run, gate, groups=(CALM,)))
    assert [type(a) for a in actions] == [Remove, Remove]
    assert story.said == []


def test_a_failure_is_said_again_after_it_was_over(story: Story) -> None:
    """Somebody brought the group up by hand in between."""
    story.round(facts())
    story.told(failed("refused"))
    story.round(facts(up()), 1.0)
    assert not story.memory.troubles
    story.round(facts(), 100.0)
    assert story.told(failed("refused"), 100.0) == ["start.failed"]


def test_only_the_last_failure_of_a_group_holds(story: Story) -> None:
    """After its image is there it is the start that fails."""
    story.round(facts())
    story.told(failed("no disk", "image.failed"))
    story.told(failed("refused"))
    story.round(facts(), 1.0)
    assert [kind for _, kind, _ in story.memory.troubles] == ["start.failed"]


def test_a_broken_home_starts_nothing_and_says_so(story: Story) -> None:
    """What to build on is not known then."""
    seen = replace(facts(), home_error="pannier.yaml: bse_image is not a setting")
    assert story.round(seen) == []
    assert story.said == ["settings.broken"]
    assert story.state() == ("waiting", "pannier.yaml: bse_image is not a setting")


def test_a_broken_allowlist_is_said_once(story: Story) -> None:
    """And that running containers keep what they have."""
    seen = replace(facts(up()), allowlist_error="mounts.yaml, line 2: not YAML")
    story.round(seen)
    assert "allowlist.broken" in story.said
    assert "keep their mounts" in story.words
    story.round(seen)
    assert story.said == []
    story.round(facts(up()))
    assert story.said == ["allowlist.mended"]


def test_a_group_that_is_no_longer_autostart_keeps_its_container(story: Story) -> None:
    """The daemon stops nobody's agent; when it ends it is not started again."""
    story.round(facts(up()))
    quiet = (replace(SCOUT, autostart=False, stamp="s2"),)
    assert story.round(facts(up(), groups=quiet)) == []
    assert story.round(facts(groups=quiet), 1.0) == []
    assert story.said == ["container.ended"]


def test_a_removal_that_fails_is_said_once(story: Story) -> None:
    """And is over when the container is gone."""
    seen = facts(up(abandoned=True, at_gate=True))
    story.round(seen)
    event = Event("error", "scout", "remove.failed", "a container could not be removed: busy")
    assert story.told(Outcome(event, failed=True, container="c1")) == ["remove.failed"]
    story.round(seen)
    assert story.told(Outcome(event, failed=True, container="c1")) == []
    story.round(facts())
    assert not story.memory.troubles


def test_only_one_container_is_started_a_round(story: Story) -> None:
    """In between the daemon tells how it is, and hears who wants it to end."""
    both = (SCOUT, replace(CALM, autostart=True))
    assert story.round(facts(groups=both)) == [Start("scout")]
    story.told(started("c1", 0.0))
    assert story.round(facts(up(), groups=both)) == [Start("calm")]


def test_nothing_at_all_is_nothing_to_do(story: Story) -> None:
    """A home without groups."""
    assert story.round(Facts("20.10")) == []
    assert story.said == []


def test_a_container_that_was_left_is_said_once_however_old_it_gets(story: Story) -> None:
    """The engine counts its seconds; that is no news."""
    for second in range(3):
        story.round(facts(up(role="run", abandoned=True, status=f"Up {second} seconds")))
        assert story.said == (["container.left"] if second == 0 else [])
    story.round(facts(up(role="run", abandoned=True, state="paused", status="Up (Paused)")))
    assert story.said == ["container.left"]


def test_a_container_whose_group_is_not_there_is_said_once(story: Story) -> None:
    """Status lists it too; that the group is back is said as well."""
    story.round(facts(up()))
    for expected in (["group.gone"], []):
        assert story.round(facts(up(no_group=True), groups=())) == []
        assert story.said == expected
        assert story.state()[0] == "gone"
    story.round(facts(up()))
    assert story.said == ["group.back"]


def test_the_settings_of_before_stop_a_container_of_a_broken_group(story: Story) -> None:
    """Who breaks a file does not keep what was withdrawn."""
    broken = (replace(SCOUT, error="group.yaml: not YAML", autostart=False),)
    drifted = up(drift=("/srv is withdrawn",), stops=True)
    story.round(facts(replace(drifted, look=1), groups=broken))
    (action,) = story.round(facts(replace(drifted, look=2), groups=broken))
    assert isinstance(action, Remove)
