"""Pannier's settings among a person's own."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.bake.merge import CannotMerge, Leaf, is_own, lacking, leaves, merge, own_commands

PROGRAM = "/usr/local/bin/pannier-hook"


def entry(command: str) -> dict[str, Any]:
    return {"type": "command", "command": command}


def ours(version: str = "2") -> dict[str, Any]:
    hooks = [
        entry(f"{PROGRAM} session-start --client claude --part {n}/2 --entry {version}")
        for n in (1, 2)
    ]
    return {
        "hooks": {"SessionStart": [{"hooks": hooks}]},
        "permissions": {"allow": ["Read(memory)"]},
        "ownMemory": False,
    }


_OURS = ours()["hooks"]["SessionStart"]
OWN = {"matcher": "startup", "hooks": [entry("greet")]}


def test_a_person_s_hooks_stay_in_their_place() -> None:
    """Ours come after theirs, of the same event and of others."""
    theirs = {"hooks": {"SessionStart": [OWN], "Stop": [OWN]}, "theme": "dark"}
    done = merge(theirs, ours())
    assert theirs["hooks"] == {
        "SessionStart": [OWN, *ours()["hooks"]["SessionStart"]],
        "Stop": [OWN],
    }
    assert theirs["theme"] == "dark"
    assert lacking(theirs, ours()) == []
    assert (done.kept, done.changed) == ([], [])


@pytest.mark.parametrize(
    "earlier",
    [
        {"hooks": {"SessionStart": [OWN, *ours("1")["hooks"]["SessionStart"]]}},
        {
            "hooks": {
                "SessionStart": [
                    {"hooks": [entry("greet"), entry(f"{PROGRAM} old --client claude")]}
                ]
            }
        },
        {
            "hooks": {
                "UserPromptSubmit": [{"hooks": [entry("pannier-hook user-prompt --client codex")]}]
            }
        },
        {"hooks": {"SessionStart": [*ours()["hooks"]["SessionStart"], *_OURS]}},
        {"hooks": {"Stop": [*ours()["hooks"]["SessionStart"]]}},
    ],
)
def test_an_earlier_entry_of_ours_is_replaced(earlier: dict[str, Any]) -> None:
    """Whatever its version and wherever it was moved to; a person's beside it stays."""
    own_before = [c for c in _commands(earlier) if "pannier-hook" not in c]
    merge(earlier, ours())
    assert own_commands(earlier) == own_commands(ours())
    assert [c for c in _commands(earlier) if "pannier-hook" not in c] == own_before


def _commands(node: Any) -> list[str]:
    if isinstance(node, dict):
        here = [node["command"]] if "command" in node else []
        return here + [c for value in node.values() for c in _commands(value)]
    return [c for value in node for c in _commands(value)] if isinstance(node, list) else []


def test_what_is_like_ours_but_a_person_s_stays() -> None:
    """A command that only has our name in it is not our entry."""
    call = "pannier-hook session-start --client claude"
    for command in (
        f"my-{call}",
        f"wrap {call}",
        "/opt/pannier-hook.sh session-start --client claude",
        "pannier-hook && my-thing",
        f"{call} && my-thing",
        f"{call}; my-thing",
        f"{call}\nmy-thing",
        f"{call} > /tmp/$USER",
        "pannier-hook session-start",
    ):
        assert not is_own(entry(command)), command
    assert not is_own({**entry("echo mine"), "statusMessage": call})
    theirs = {"hooks": {"Stop": [{"hooks": [{**entry("mine"), "statusMessage": call}]}]}}
    theirs["notes"] = {"list": [{"hooks": [entry(call)]}]}  # type: ignore[assignment]
    before = copy.deepcopy(theirs)
    done = merge(theirs, ours())
    assert (theirs["hooks"]["Stop"], theirs["notes"]) == (before["hooks"]["Stop"], before["notes"])
    assert done.removed == []


def test_an_entry_of_ours_that_is_taken_out_is_told() -> None:
    """Unless an earlier merge put it there: then a person never saw it."""
    old = {"hooks": {"Stop": [{"hooks": [entry("pannier-hook stop --client claude")]}]}}
    theirs = copy.deepcopy(old)
    assert merge(theirs, ours()).removed == ["pannier-hook stop --client claude"]
    assert merge(copy.deepcopy(old), ours(), list(leaves(old))).removed == []


def test_a_matcher_that_loses_its_only_hook_goes_and_its_neighbours_stay() -> None:
    """Nothing empty is left, and no value of a person's is lost with it."""
    group = {"matcher": "clear", "hooks": [entry(f"{PROGRAM} old --client claude")]}
    theirs = {"hooks": {"enabled": True, "Clear": [group], "Stop": [OWN]}, "other": {"a": []}}
    merge(theirs, {})
    assert theirs == {"hooks": {"enabled": True, "Stop": [OWN]}, "other": {"a": []}}


def test_a_person_s_value_goes_before_ours() -> None:
    """It stays, and is told; our item joins their list."""
    theirs = {"ownMemory": True, "permissions": {"allow": ["Bash"]}}
    done = merge(theirs, ours())
    assert theirs["ownMemory"] is True
    assert theirs["permissions"] == {"allow": ["Bash", "Read(memory)"]}
    assert [str(leaf) for leaf in done.kept] == ["ownMemory"]


def test_what_switches_hooks_off_gives_way() -> None:
    """Whoever bakes the hook in wants it to run; it is told, too."""
    theirs: dict[str, Any] = {"features": {"hooks": False}}
    done = merge(theirs, {"features": {"hooks": True}})
    assert theirs == {"features": {"hooks": True}}
    assert [str(leaf) for leaf in done.changed] == ["features.hooks"]


@pytest.mark.parametrize("odd", ["yes", 3, None, {"SessionStart": {}}, {"SessionStart": "x"}])
def test_something_else_in_the_place_of_hooks(odd: Any) -> None:
    """No guess is made about what a person meant there."""
    with pytest.raises(CannotMerge, match=r"hooks\.SessionStart"):
        merge({"hooks": odd}, ours())


def test_something_else_in_the_place_of_other_settings() -> None:
    """It stays, and is told."""
    theirs: dict[str, Any] = {"permissions": "none"}
    done = merge(theirs, ours())
    assert theirs["permissions"] == "none"
    assert [str(leaf) for leaf in done.kept] == ["permissions.allow"]


def test_what_pannier_does_not_say_any_more_goes() -> None:
    """A rule of an earlier version is taken out; the same rule of a person's own is not."""
    old = {"permissions": {"allow": ["Bash(rm)", "Read(memory)"]}, "old": {"deep": 1}}
    theirs: dict[str, Any] = {"permissions": {"allow": ["Read(memory)"]}}
    first = merge(theirs, old)
    assert theirs["permissions"]["allow"] == ["Read(memory)", "Bash(rm)"]
    second = merge(theirs, ours(), first.added)
    assert theirs["permissions"] == {"allow": ["Read(memory)"]}
    assert "old" not in theirs
    merge(theirs, {}, second.added)
    assert theirs == {"permissions": {"allow": ["Read(memory)"]}}


def test_a_value_of_an_earlier_version_gives_way_to_the_new_one() -> None:
    """Unless a person has changed it meanwhile."""
    theirs: dict[str, Any] = {}
    first = merge(theirs, {"seconds": 10, "limit": 1})
    theirs["limit"] = 7
    done = merge(theirs, {"seconds": 20, "limit": 2}, first.added)
    assert theirs == {"seconds": 20, "limit": 7}
    assert [str(leaf) for leaf in done.kept] == ["limit"]


def test_true_is_not_one() -> None:
    """`1` in the place of `true` is another value, though Python takes them for equal."""
    done = merge({"on": 1}, {"on": True})
    assert [leaf.value for leaf in done.kept] == [True]


keys = st.sampled_from(["hooks", "SessionStart", "permissions", "allow", "ownMemory", "x"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "Read(memory)"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
        | st.builds(lambda: entry("greet"))
    ),
    max_leaves=8,
)
settings = st.dictionaries(keys, values, max_size=4)


@given(settings)
def test_nothing_of_a_person_s_is_lost(theirs: dict[str, Any]) -> None:
    """Every leaf is there afterwards, but for what hooks need; ours are there, or are told."""
    merged = copy.deepcopy(theirs)
    try:
        done = merge(merged, ours())
    except CannotMerge:
        return
    changed = {leaf.keys for leaf in done.changed}
    held = list(leaves(merged))
    assert all(leaf in held or leaf.keys in changed for leaf in leaves(theirs))
    assert {leaf.keys for leaf in lacking(merged, ours())} <= {leaf.keys for leaf in done.kept}
    assert own_commands(merged) == own_commands(ours())


@given(settings)
def test_a_second_time_changes_nothing(theirs: dict[str, Any]) -> None:
    """A merge is done once; what it added stays known."""
    merged = copy.deepcopy(theirs)
    try:
        first = merge(merged, ours())
    except CannotMerge:
        return
    again = copy.deepcopy(merged)
    second = merge(again, ours(), first.added)
    assert again == merged
    assert second.added == first.added


@given(settings)
def test_what_was_added_can_be_taken_out(theirs: dict[str, Any]) -> None:
    """With nothing of ours any more, a person's settings are what they were."""
    merged = copy.deepcopy(theirs)
    try:
        first = merge(merged, ours())
    except CannotMerge:
        return
    merge(merged, {}, first.added)
    assert _without_empty(merged) == _without_empty(theirs)


def _without_empty(node: Any) -> Any:
    if isinstance(node, dict):
        inner = {key: _without_empty(value) for key, value in node.items()}
        return {key: value for key, value in inner.items() if value not in ({}, [])}
    return node


def test_leaves_name_where_they_are() -> None:
    """Keys, then items of lists."""
    assert list(leaves({"a": {"b": 1, "c": [2]}})) == [
        Leaf(("a", "b"), 1),
        Leaf(("a", "c"), 2, item=True),
    ]
