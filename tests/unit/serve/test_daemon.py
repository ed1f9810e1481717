"""The rounds of the daemon, over a world of plain data and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.serve.seen import CALM, SCOUT
from tests.unit.serve.world import MovedClock, World, serve

from pannier.serve.decide import Start
from pannier.serve.memory import LONGEST_PAUSE


def a_world(rounds: int) -> World:
    world = World(MovedClock(rounds))
    world.groups = {"scout": SCOUT, "calm": CALM}
    return world


def test_a_daemon_brings_its_groups_up_and_tells_so() -> None:
    """After a round in which it acted it looks again soon, then at its usual pace."""
    world = a_world(4)
    said = serve(world)
    assert [e.event for e in said] == ["container.started"]
    assert world.clock.waits == [1.0, 5.0, 5.0, 5.0]
    states = {g.folder: g.state for g in world.reports[1].groups}
    assert states == {"scout": "up", "calm": "idle"}


def test_the_last_word_of_the_state_is_that_it_ended() -> None:
    """And the agents run on."""
    world = a_world(2)
    serve(world)
    assert world.reports[-1].ended == "2027-01-15T08:16:46Z"
    assert world.up("scout")


def test_no_action_is_begun_once_it_is_asked_to_end() -> None:
    """What was decided before is left to the next daemon."""
    world = a_world(1)
    act = world.act

    def end_then_act(action: object) -> object:
        world.clock.rounds = 0
        return act(action)  # type: ignore[arg-type]

    world.act = end_then_act  # type: ignore[assignment, method-assign]
    serve(world)
    assert len(world.acted) == 1
    assert not world.up("scout")


def test_without_an_engine_it_waits_longer_and_longer_and_goes_on_when_there_is_one() -> None:
    """5 s, 10 s, 20 s, then every 30 s; said once at each end."""
    world = a_world(8)
    world.engine = False

    def back() -> None:
        world.engine = len(world.clock.waits) >= 6

    world.clock.meanwhile = back
    said = serve(world)
    # The first round makes folders ready, for which no engine is needed.
    assert world.clock.waits[:6] == [5.0, 10.0, 20.0, 30.0, 30.0, 30.0]
    assert [e.event for e in said] == ["engine.gone", "engine.back", "container.started"]


def test_a_full_disk_is_said_once_and_the_work_goes_on() -> None:
    """The state file waits; the containers do not."""
    world = a_world(4)
    world.disk_full = True
    said = serve(world)
    assert [e.event for e in said] == ["state.failed", "container.started"]
    assert "No space left" in said[0].message


def test_a_due_time_is_told_for_people() -> None:
    """`pannier status` says when the next try is."""
    world = a_world(3)
    world.starts_fail = True
    serve(world)
    (scout,) = (g for g in world.reports[1].groups if g.folder == "scout")
    assert (scout.state, scout.waits) == ("waiting", "refused")
    assert scout.not_before == "2027-01-15T08:16:45Z"


DISTURBANCES: dict[str, Callable[[World], None]] = {
    "nothing": lambda w: None,
    "the container ends": lambda w: w.kill("scout"),
    "the container is removed": lambda w: w.containers.clear(),
    "the engine goes": lambda w: setattr(w, "engine", False),
    "the engine comes": lambda w: setattr(w, "engine", True),
    "starts fail": lambda w: setattr(w, "starts_fail", True),
    "starts work": lambda w: setattr(w, "starts_fail", False),
    "the settings break": lambda w: w.groups.update(
        scout=replace(SCOUT, error="broken", stamp="b")
    ),
    "the settings are mended": lambda w: w.groups.update(scout=SCOUT),
    "the image goes": lambda w: w.groups.update(scout=replace(SCOUT, missing_image="t")),
    "the group goes": lambda w: w.groups.pop("scout", None) and None,
    "the disk is full": lambda w: setattr(w, "disk_full", True),
    "a mount drifts": lambda w: w.containers.update(
        {k: replace(c, drift=("x",), look=c.look + 1) for k, c in w.containers.items()}
    ),
    "the mounts are as planned": lambda w: w.containers.update(
        {k: replace(c, drift=(), look=c.look + 1) for k, c in w.containers.items()}
    ),
}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(sorted(DISTURBANCES)), max_size=40))
def test_whatever_happens_the_group_is_up_in_the_end(happens: list[str]) -> None:
    """Any order of faults: nothing is started twice, nothing is said twice in a row, and ten
    minutes after the last fault the group runs again."""
    world = a_world(10**9)
    todo = iter(happens)
    calm_since = float("inf")

    def live() -> None:
        nonlocal calm_since
        happening = next(todo, None)
        if happening is not None:
            DISTURBANCES[happening](world)
        elif calm_since == float("inf"):
            calm_since = world.clock.at
            world.engine, world.starts_fail, world.disk_full = True, False, False
            world.groups["scout"] = SCOUT
        elif world.clock.at - calm_since > 2 * LONGEST_PAUSE:
            world.clock.rounds = 0

    world.clock.meanwhile = live
    said = serve(world)
    assert world.up("scout")
    for kind in ("engine.gone", "state.failed", "settings.broken"):
        ends = {"engine.gone": "engine.back", "settings.broken": "settings.mended"}
        mine = [e.event for e in said if e.event in (kind, ends.get(kind))]
        assert all(a != b for a, b in pairwise(mine)), mine


def test_a_start_that_always_fails_is_tried_ever_more_rarely() -> None:
    """In an hour a dozen tries, and one line in the log."""
    world = a_world(720)
    world.starts_fail = True
    said = serve(world)
    assert [e.event for e in said] == ["start.failed"]
    tries = [a for a in world.acted if isinstance(a, Start)]
    assert 10 <= len(tries) <= 20
