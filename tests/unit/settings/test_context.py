"""`context:` in `group.yaml`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pannier.errors import SettingsError
from pannier.settings import ContextSettings, GroupSettings, load, parse, seconds_of
from pannier_agents.settings import ContextSettings as InPython

CHECKOUT = Path(__file__).parents[3]
PAGE = (CHECKOUT / "docs" / "context.md").read_text()
MYCEL: dict[str, dict[str, Any]] = {
    "memory": {
        "pruning": {"soft_trim_chars": 5000, "hard_clear_threshold": 20000, "protect_recent": 5},
        "compaction": {
            "enabled": True,
            "reserve_tokens": 32768,
            "keep_recent_tokens": 40000,
            "min_messages": 30,
        },
    },
    "tools": {
        "spill_buffer": {
            "default_threshold": 50000,
            "thresholds": {"Grep": 20000, "run_command": 100000},
        }
    },
}


def read(text: str) -> ContextSettings:
    return parse(text, GroupSettings, "group.yaml").context


def refused(text: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        read(text)
    return caught.value


def examples() -> list[str]:
    found = [block.partition("```")[0] for block in PAGE.split("```yaml\n")[1:]]
    return [text for text in found if text.startswith("context:")]


def test_left_out_it_is_as_people_know_it_from_mycel() -> None:
    """The defaults of its memory page, and of its spill buffer."""
    settings = read("")
    assert settings.pruning.model_dump() == {
        "trim_tool_results": True,
        "soft_trim_chars": 3_000,
        "hard_clear_threshold": 10_000,
        "protect_recent": 3,
    }
    assert settings.compaction.model_dump() == {
        "enabled": True,
        "trigger_percent": 70,
        "reserve_tokens": 16_384,
        "keep_recent_tokens": 20_000,
        "min_messages": 20,
        "idle_after": None,
    }
    assert settings.spill_buffer.default_threshold == 50_000
    assert settings.variable() == ""


def test_the_defaults_are_the_same_for_an_agent_in_python() -> None:
    """Whoever uses the middleware by itself gets what a group without settings gets."""
    assert vars_of(InPython()) == ContextSettings().model_dump()


def vars_of(settings: object) -> Any:
    """The fields of a dataclass and of those in it."""
    if not hasattr(settings, "__dataclass_fields__"):
        return settings
    return {name: vars_of(getattr(settings, name)) for name in settings.__dataclass_fields__}


def test_the_examples_of_the_page_are_accepted() -> None:
    """What somebody pastes works as it stands."""
    full, off, mycel, *_ = map(read, examples())
    assert (full.window, full.compaction.idle_after) == (200_000, "12h")
    assert full.spill_buffer.thresholds["Grep"] == 30_000
    assert not off.pruning.trim_tool_results
    assert not off.compaction.enabled
    assert not off.spill_buffer.enabled
    assert mycel == read("context: " + json.dumps(MYCEL))


def test_mycels_json_is_read_as_it_is() -> None:
    """Its three examples, under its own outer names."""
    settings = read(f"context: {json.dumps(MYCEL, indent=2)}")
    for part, values in (MYCEL["memory"] | MYCEL["tools"]).items():
        found = getattr(settings, part).model_dump()
        assert {name: found[name] for name in values} == values
    assert not read('context: {"memory": {"compaction": {"enabled": false}}}').compaction.enabled
    trims = read('context: {"memory": {"pruning": {"trim_tool_results": false}}}').pruning
    assert not trims.trim_tool_results


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("context: {prunning: {}}", "context.prunning is not a setting"),
        ("context: {pruning: {soft_trim: 1}}", "context.pruning.soft_trim is not a setting"),
        (
            'context: {"memory": {"pruning": {"soft": 1}}}',
            "context.memory.pruning.soft is not a setting",
        ),
        ('context: {"memory": {"storage": {}}}', "context.memory.storage is not a setting"),
        (
            "context: {tools: {spill_buffer: {keep_days: 0}}}",
            "context.tools.spill_buffer.keep_days: should be greater than or equal to 1",
        ),
        (
            "context: {memory: {pruning: {}, compaction: {}}, pruning: {}}",
            "context: memory.pruning and pruning are the same setting: keep one of them",
        ),
        ("context: {memory: 3}", "context.memory is not a setting"),
        ("context: [1]", "context: should hold `name: value` lines"),
        (
            "context: {compaction: {trigger_percent: many}}",
            "context.compaction.trigger_percent: should be a whole number",
        ),
        (
            "context: {compaction: {idle_after: soon}}",
            "context.compaction.idle_after: write a time like 30m, 12h or 2d",
        ),
        (
            "context: {compaction: {idle_after: 12}}",
            "context.compaction.idle_after: write a time like 30m, 12h or 2d",
        ),
        (
            "context: {compaction: {idle_after: 0h}}",
            "context.compaction.idle_after: write a time like 30m, 12h or 2d",
        ),
    ],
)
def test_what_is_not_a_setting_is_named(text: str, message: str) -> None:
    """A typo never passes silently, also below Mycel's outer names, and is said to stand where it
    does."""
    assert refused(text).message == f"group.yaml: {message}"


@pytest.mark.parametrize(
    "text",
    [
        "pruning: {soft_trim_chars: 0}",
        "pruning: {protect_recent: -1}",
        "compaction: {trigger_percent: 100}",
        "compaction: {trigger_percent: 0}",
        "compaction: {min_messages: 0}",
        "compaction: {reserve_tokens: -1}",
        "spill_buffer: {default_threshold: 100}",
        "spill_buffer: {thresholds: {Grep: 10}}",
        "spill_buffer: {thresholds: {Grep: many}}",
        "spill_buffer: {keep_days: 0}",
        "spill_buffer: {keep_size: much}",
        "window: 100",
    ],
)
def test_values_that_cannot_be_meant_are_refused(text: str) -> None:
    """The error names the file and the setting."""
    name = text.partition(":")[0]
    assert refused(f"context: {{{text}}}").message.startswith(f"group.yaml: context.{name}")


numbers = st.integers(500, 300_000)


@given(
    soft=numbers,
    hard=numbers,
    window=st.none() | st.integers(4_000, 300_000),
    percent=st.integers(10, 95),
    reserve=st.integers(0, 300_000),
    keep=st.integers(0, 300_000),
)
def test_values_that_contradict_each_other_are_refused(
    soft: int, hard: int, window: int | None, percent: int, reserve: int, keep: int
) -> None:
    """Just those: a soft limit above the hard one, and a window in which compaction would begin
    before there is more than what it keeps. In Python the same ones."""
    data = {
        "window": window,
        "pruning": {"soft_trim_chars": soft, "hard_clear_threshold": hard},
        "compaction": {
            "trigger_percent": percent,
            "reserve_tokens": reserve,
            "keep_recent_tokens": keep,
        },
    }
    wrong: tuple[int, ...] = ()
    if soft > hard:
        wrong = (soft, hard)
    elif window is not None and reserve >= window:
        wrong = (reserve, window)
    elif window is not None and (keep >= window - reserve or 100 * (keep + 1) > window * percent):
        wrong = (keep, window)
    text = f"context: {json.dumps(data)}"
    if not wrong:
        assert InPython.of(json.loads(read(text).variable() or "{}")) == InPython.of(data)
        return
    message = refused(text).message
    assert message.startswith("group.yaml: context: ")
    assert all(str(value) in message for value in wrong)
    with pytest.raises(ValueError, match=re.escape(message.removeprefix("group.yaml: context: "))):
        InPython.of(data)
    if window is not None and soft <= hard:
        way_out = yaml.safe_load(re.search(r"\{.*\}", message)[0])  # type: ignore[index]
        read(f"context: {json.dumps({**data, 'compaction': data['compaction'] | way_out})}")


@pytest.mark.parametrize(
    "text",
    [
        "context:",
        "context: {pruning: , compaction: , spill_buffer: }",
        "context: {memory: {pruning: , compaction: }, tools: }",
        "context: {spill_buffer: {thresholds: }}",
    ],
)
def test_a_section_in_which_nothing_stands_has_its_defaults(text: str) -> None:
    """As where all of its lines were commented out. In Python the same."""
    assert read(text) == ContextSettings()
    assert InPython.of(yaml.safe_load(text)["context"] or {}) == InPython()
    assert parse("limits:\nmounts:\nenv_from:", GroupSettings, "group.yaml") == GroupSettings()
    assert refused("context: {prunning: }").hint == "Did you mean pruning?"


def test_a_small_window_alone_says_the_way_out() -> None:
    """The values that do not fit it are built in, and nobody wrote them."""
    message = refused("context: {window: 30000}").message
    assert message.endswith("compaction: {reserve_tokens: 3750, keep_recent_tokens: 10500}")
    read("context: {window: 30000, compaction: {reserve_tokens: 3750, keep_recent_tokens: 10500}}")


def test_a_contradiction_names_the_file_and_the_reason(tmp_path: Path) -> None:
    """In one line, with both values."""
    file = tmp_path / "group.yaml"
    file.write_text("context: {pruning: {soft_trim_chars: 9000, hard_clear_threshold: 5000}}")
    with pytest.raises(SettingsError) as caught:
        load(file, GroupSettings)
    assert caught.value.message == (
        f"{file}: context: pruning.soft_trim_chars (9000) is above pruning.hard_clear_threshold "
        "(5000): what is cleared cannot be trimmed as well, so lower the one or raise the other"
    )


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "pruning": st.fixed_dictionaries({}, optional={"trim_tool_results": st.booleans()}),
            "compaction": st.fixed_dictionaries({}, optional={"enabled": st.booleans()}),
            "spill_buffer": st.fixed_dictionaries(
                {},
                optional={
                    "enabled": st.booleans(),
                    "thresholds": st.dictionaries(
                        st.text(min_size=1, max_size=20), st.integers(4_000, 10**7), max_size=3
                    ),
                },
            ),
        },
    )
)
def test_what_a_container_is_told_is_what_was_set(said: dict[str, Any]) -> None:
    """Any of the switches alone, in the variable that the hook and the middleware read."""
    settings = ContextSettings.model_validate(said)
    there = InPython.of(json.loads(settings.variable() or "{}"))
    assert vars_of(there) == settings.model_dump()


def test_the_daemons_own_setting_is_not_told_to_containers() -> None:
    """So that a change of it asks for no new container."""
    assert read("context: {compaction: {idle_after: 2d}}").variable() == ""
    both = read("context: {compaction: {idle_after: 2d, min_messages: 30}}").variable()
    assert json.loads(both) == {"compaction": {"min_messages": 30}}
    assert [seconds_of(text) for text in ("30m", "12h", "2d")] == [1_800, 43_200, 172_800]
