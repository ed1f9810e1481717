"""Samples of what containers use: exact when new, coarse when old, never wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pannier.engine.life import Life, Usage
from pannier.sandbox import samples
from pannier.sandbox.records import Records, open_records
from pannier.sandbox.samples import Sample, between

NOW = 1_796_000_000


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with open_records(tmp_path / "sandbox.db") as opened:
        opened.see(Life("c1", "one", "scout", "claude", "up", "main", "image", created=1))
        yield opened


def sample(
    at: int, cpu: float = 1.0, memory: int = 100, span: int = 10, container: str = "c1"
) -> Sample:
    return Sample(container, at, span, cpu, cpu, memory, memory)


def add_every_ten_seconds(records: Records, seconds: int) -> None:
    steps = range(NOW - seconds, NOW + 1, 10)
    samples.add(records, [sample(at, cpu=(at // 10) % 4, memory=at % 1000) for at in steps])


def test_a_sample_is_what_was_used_between_two_looks() -> None:
    """Half of a processor for ten seconds is 0.5; the most memory of both looks counts."""
    before = Usage(at=10 * 10**9, cpu=10**9, memory=100, limit=1000)
    now = Usage(at=20 * 10**9, cpu=6 * 10**9, memory=300, limit=1000)
    assert between("c1", before, now) == Sample("c1", 20, 10, 0.5, 0.5, 200, 300)
    assert between("c1", now, before) is None
    assert between("c1", now, now) is None


def test_all_of_the_last_hour_is_kept(records: Records) -> None:
    """What is new is exact."""
    add_every_ten_seconds(records, 3_500)
    before = samples.of_container(records, "c1")
    samples.thin(records, NOW)
    assert samples.of_container(records, "c1") == before


def test_old_samples_become_coarse_and_very_old_ones_go(records: Records) -> None:
    """A minute each for a day, an hour each for a month, and then nothing."""
    add_every_ten_seconds(records, 3 * 3_600)
    samples.add(records, [sample(NOW - 40 * 86_400)])
    samples.add(records, [sample(at) for at in range(NOW - 100_000, NOW - 90_000, 60)])
    samples.thin(records, NOW)
    left = samples.of_container(records, "c1")
    recent = [s for s in left if s.at > NOW - 3_600]
    minutes = [s for s in left if NOW - 86_400 < s.at <= NOW - 3_700]
    hours = [s for s in left if s.at <= NOW - 86_400]
    assert len(recent) == 360
    assert 115 <= len(minutes) <= 125
    assert {s.span for s in minutes[1:-1]} == {60}
    assert 3 <= len(hours) <= 4
    assert all(s.at > NOW - samples.KEPT for s in left)


def test_thinning_twice_is_thinning_once(records: Records) -> None:
    """The daemon does it every minute, and the next daemon, too."""
    add_every_ten_seconds(records, 8_000)
    samples.thin(records, NOW)
    once = samples.of_container(records, "c1")
    samples.thin(records, NOW)
    assert samples.of_container(records, "c1") == once


@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 200_000), st.integers(4_000, 4_300)),
            st.floats(0, 64),
            st.integers(0, 1 << 40),
            st.integers(1, 90),
        ),
        max_size=40,
        unique_by=lambda one: one[0],
    ),
    st.lists(st.integers(0, 100_000), max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_thinning_keeps_means_and_peaks(
    tmp_path_factory: pytest.TempPathFactory,
    taken: list[tuple[int, float, int, int]],
    later: list[int],
) -> None:
    """Whenever it happens: as many seconds, the same mean processor time, the same peaks."""
    path = tmp_path_factory.mktemp("samples") / "sandbox.db"
    with open_records(path) as records:
        samples.add(records, [sample(NOW - age, cpu, mem, span) for age, cpu, mem, span in taken])
        before = samples.of_container(records, "c1")
        for step in sorted(later):
            samples.thin(records, NOW + step)
        after = samples.of_container(records, "c1")
    assert sum(s.span for s in after) == sum(s.span for s in before)
    assert sum(s.cpu * s.span for s in after) == pytest.approx(
        sum(s.cpu * s.span for s in before), rel=1e-6
    )
    assert max((s.cpu_most for s in after), default=0) == max((s.cpu for s in before), default=0)
    assert max((s.memory_most for s in after), default=0) == max(
        (s.memory for s in before), default=0
    )


def test_the_past_of_a_group_is_its_own(records: Records) -> None:
    """Another group's containers, and what was before, do not count."""
    records.see(Life("c2", "two", "other", "claude", "up", "main", "image", created=1))
    samples.add(
        records,
        [
            sample(NOW, 2.0, 500),
            sample(NOW - 10, 1.0, 100),
            sample(NOW - 5_000, 9.0, 9_000),
            sample(NOW, 8.0, 8_000, container="c2"),
        ],
    )
    past = samples.past(records, "scout", NOW - 3_600)
    assert past == samples.Past(20, 1.5, 2.0, 300, 500)
    assert samples.past(records, "nobody", 0) is None
