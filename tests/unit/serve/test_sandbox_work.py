"""The daemon's look at what becomes of containers, where something hinders it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from pannier.engine import Engine
from pannier.errors import EngineError, EngineNotFound
from pannier.paths import Home
from pannier.sandbox.records import sandbox_file
from pannier.serve import sandbox
from pannier.serve.sandbox import SandboxWork


class Silent:
    """An engine that lists nothing, or fails."""

    def __init__(self, error: EngineError | None = None) -> None:
        self.error = error
        self.looks = 0
        self.sdk = self
        self.api = self

    def containers(self, _home: str) -> list[object]:
        self.looks += 1
        if self.error is not None:
            raise self.error
        return []

    def events(self, **_options: object) -> Generator[object, None, None]:
        yield from ()


def work(tmp_path: Path, engine: Silent, now: list[float]) -> list[str]:
    made = SandboxWork(Home(tmp_path), {}, lambda: now[0])
    return [event.event for event in made.round(cast(Engine, engine))]


def test_an_engine_that_is_gone_is_said_elsewhere(tmp_path: Path) -> None:
    """The rounds themselves tell of it; one that answers strangely is said here."""
    assert work(tmp_path, Silent(EngineNotFound("no engine answers")), [0.0]) == []
    assert work(tmp_path, Silent(EngineError("not understood")), [0.0]) == ["sandbox.stuck"]


def test_it_looks_no_more_often_than_it_says(tmp_path: Path) -> None:
    """Quick rounds do not ask the engine each time."""
    engine, now = Silent(), [100.0]
    made = SandboxWork(Home(tmp_path), {}, lambda: now[0])
    for _ in range(5):
        assert list(made.round(cast(Engine, engine))) == []
    assert engine.looks == 1
    now[0] += sandbox.EVERY
    assert list(made.round(cast(Engine, engine))) == []
    assert engine.looks == 2


def test_records_that_cannot_be_written_are_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once more when they can be again."""
    monkeypatch.setattr(sandbox, "EVERY", 0.0)
    path = sandbox_file(Home(tmp_path), {})
    path.parent.mkdir()
    path.write_bytes(b"no database" * 100)
    made = SandboxWork(Home(tmp_path), {}, lambda: 0.0)
    said = [[e.event for e in made.round(cast(Engine, Silent()))] for _ in range(3)]
    assert said == [["sandbox.stuck"], [], []]
    path.unlink()
    assert [e.event for e in made.round(cast(Engine, Silent()))] == ["sandbox.goes_on"]
