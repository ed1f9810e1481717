"""What an engine says of a container, read without one."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pannier.engine import Engine
from pannier.engine.life import changes, inspect, nanoseconds, usage
from pannier.errors import EngineError

AT = "2026-11-30T00:01:39.747601249Z"
AT_NS = 1_795_996_899_747_601_249


class Api:
    """Answers of an engine, as the SDK hands them on."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def inspect_container(self, _container: str) -> Any:
        return self.answer

    def stats(self, _container: str, **_options: object) -> Any:
        return self.answer

    def events(self, **_options: object) -> Any:
        return (one for one in self.answer)


def engine(answer: Any) -> Engine:
    sdk = type("Sdk", (), {"api": Api(answer)})
    return cast(Engine, type("Engine", (), {"sdk": sdk}))


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (AT, AT_NS),
        ("2026-11-30T00:01:39Z", 1_795_996_899 * 10**9),
        ("2026-11-30T00:01:39.5Z", 1_795_996_899_500_000_000),
        ("0001-01-01T00:00:00Z", 0),
        ("", 0),
        ("yesterday", 0),
    ],
)
def test_the_engine_s_times_are_read_to_the_nanosecond(text: str, at: int) -> None:
    """Its word for no time at all is 0."""
    assert nanoseconds(text) == at


@pytest.mark.parametrize("cached", ["inactive_file", "total_inactive_file"])
def test_memory_is_without_the_kernel_s_cache(cached: str) -> None:
    """As `docker stats` has it, under both versions of cgroups."""
    stats = {
        "read": AT,
        "cpu_stats": {"cpu_usage": {"total_usage": 7}},
        "memory_stats": {"usage": 100, "limit": 1_000, "stats": {cached: 30}},
    }
    used = usage(engine(stats), "c1")
    assert used is not None
    assert (used.at, used.cpu, used.memory, used.limit) == (AT_NS, 7, 70, 1_000)


def test_an_engine_without_figures_has_no_usage() -> None:
    """It answers with zeros, which are not shown as if nothing were used."""
    nothing = {"read": "0001-01-01T00:00:00Z", "cpu_stats": {}, "memory_stats": {}}
    assert usage(engine(nothing), "c1") is None


def test_events_of_one_container_are_one_life() -> None:
    """Its start, that its memory ran out, and its end with its status."""

    def event(action: str, at: int, **more: str) -> dict[str, Any]:
        attributes = {"name": "n", "image": "i", "pannier.group": "scout", **more}
        actor = {"ID": "c1", "Attributes": attributes}
        return {"Action": action, "timeNano": at, "Actor": actor}

    found = changes(
        engine([event("start", 10), event("oom", 20), event("die", 30, exitCode="0")]), "/h", 0, 99
    )
    (life,) = found
    assert (life.started, life.ended, life.status, life.oom) == (10, 30, 0, True)
    assert (life.group, life.image) == ("scout", "i")


@pytest.mark.parametrize("answer", [{}, {"State": None}, {"Id": "c1", "State": {}}, [], None])
def test_an_answer_that_is_not_understood_is_an_error_of_the_engine(answer: Any) -> None:
    """Nobody who looks after containers falls over it."""
    with pytest.raises(EngineError):
        inspect(engine(answer), "c1")
    with pytest.raises(EngineError):
        changes(engine([answer]), "/h", 0, 99)
