"""Whether a container still has what it would get now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from pannier.engine.spec import mounts_label, read_mounts_label
from pannier.mounts import Mount, MountPlan, Refusal
from pannier.serve.drift import drift

MEMORY = Mount(Path("/h/memory"), PurePosixPath("/workspace/agent/memory"), "rw", 8, 11)
EXTRA = Mount(Path("/srv/docs"), PurePosixPath("/workspace/extra/docs"), "rw", 8, 12)
HAS = (MEMORY, EXTRA)


def test_what_is_as_planned_is_no_difference() -> None:
    """Nor is a mount that the container lacks: it has less than it may."""
    assert drift(HAS, MountPlan(HAS, ()), judge_extra=True) == ()
    assert drift((MEMORY,), MountPlan(HAS, ()), judge_extra=True) == ()


def test_a_withdrawn_entry_is_named_with_the_allowlist_s_reason() -> None:
    """The refusal that a start would meet."""
    refusal = Refusal("~/docs", "docs", "no entry of the allowlist holds it", "")
    (sentence,) = drift(HAS, MountPlan((MEMORY,), (refusal,)), judge_extra=True)
    assert "/srv/docs" in sentence
    assert "no entry of the allowlist holds it" in sentence


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (replace(EXTRA, inode=13), "replaced"),
        (replace(EXTRA, device=9), "replaced"),
        (replace(EXTRA, inode=0, device=0), "is gone"),
        (replace(EXTRA, mode="ro"), "only for reading"),
        (replace(EXTRA, source=Path("/srv/other")), "not asked for any more"),
        (None, "not asked for any more"),
    ],
)
def test_each_way_to_differ_has_its_words(now: Mount | None, words: str) -> None:
    """Another folder, none, less right, another source, not asked for."""
    plan = MountPlan(tuple(m for m in (MEMORY, now) if m), ())
    (sentence,) = drift(HAS, plan, judge_extra=True)
    assert words in sentence


def test_more_right_than_it_has_is_no_difference() -> None:
    """The next start gives it."""
    reads = replace(EXTRA, mode="ro")
    assert drift((MEMORY, reads), MountPlan(HAS, ()), judge_extra=True) == ()


def test_a_broken_allowlist_withdraws_nothing() -> None:
    """A typing error must not stop agents; what lies in the home is judged all the same."""
    refusal = Refusal("~/docs", "docs", "the allowlist is broken", "")
    plan = MountPlan((replace(MEMORY, inode=99),), (refusal,))
    (sentence,) = drift(HAS, plan, judge_extra=False)
    assert "/h/memory was replaced" in sentence


def test_a_container_s_label_says_what_it_was_given() -> None:
    """Written and read back; an odd label says nothing."""
    assert read_mounts_label(mounts_label(HAS)) == HAS
    for odd in ("", "{", "3", '[["a"]]', '[["a","b","c","d","e"]]'):
        assert read_mounts_label(odd) == ()
