"""Which tools are alike, and how large a result of one may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier import settings
from pannier_hook import tuning
from pannier_hook.settings import Spill, compaction_enabled, size_in_bytes, spill_of
from pannier_hook.tools import kind_of, least_threshold, threshold

SEARCHES = ["Grep", "grep", "Glob", "grep_search", "search_file_content", "rg", "glob_search"]
SHELLS = ["Bash", "bash", "run_shell_command", "run_command", "exec_command", "shell", "execute"]
OTHERS = ["Read", "WebFetch", "mcp__files__grep", "", "Grep ", "search", "apply_patch"]


@pytest.mark.parametrize(
    ("tools", "kind", "size"),
    [(SEARCHES, "search", 20_000), (SHELLS, "shell", 100_000), (OTHERS, "", 50_000)],
)
def test_built_in(tools: list[str], kind: str, size: int) -> None:
    """Each client's name of a tool stands for its kind, and has the threshold of that."""
    for tool in tools:
        assert kind_of(tool) == kind
        assert threshold(Spill(), tool) == size


@pytest.mark.parametrize(
    ("own", "tool", "size"),
    [
        ({"Grep": 9_000, "search": 8_000}, "Grep", 9_000),
        ({"Grep": 9_000, "search": 8_000}, "rg", 8_000),
        # As Mycel writes them: one tool stands for those of other clients.
        ({"Grep": 9_000, "run_command": 200_000}, "grep_search", 9_000),
        ({"Grep": 9_000, "run_command": 200_000}, "Bash", 200_000),
        ({"Grep": 9_000}, "Bash", 100_000),
        ({"shell": 5_000}, "Read", 50_000),
        ({"mcp__x__y": 5_000}, "mcp__x__y", 5_000),
    ],
)
def test_a_persons_own(own: dict[str, int], tool: str, size: int) -> None:
    """A word on the tool goes before one on its kind, and that before what is built in."""
    assert threshold(Spill(thresholds=own), tool) == size


NAMES = st.sampled_from([*SEARCHES, *SHELLS, *OTHERS, "search", "shell"])
SIZES = st.integers(tuning.LEAST_THRESHOLD, 1 << 40)


@given(SIZES, st.dictionaries(NAMES, SIZES, max_size=4), NAMES)
def test_the_least(default: int, own: dict[str, int], tool: str) -> None:
    """No tool has a threshold below the one below which nothing is looked at."""
    spill = Spill(default_threshold=default, thresholds=own)
    assert least_threshold(spill) <= threshold(spill, tool)


def test_the_least_without_settings() -> None:
    """What the hook takes without reading any setting is what the settings say."""
    assert least_threshold(Spill()) == tuning.LEAST_BUILT_IN == 20_000


def test_settings_of_a_container() -> None:
    """The container's variable says what differs from the defaults, in Mycel's form, too."""
    said = '{"spill_buffer": {"thresholds": {"Grep": 9000}, "keep_days": 3, "enabled": false}}'
    for variable in (said, f'{{"tools": {said}}}'):
        spill = spill_of(variable)
        assert (dict(spill.thresholds), spill.keep_days) == ({"Grep": 9_000}, 3)
        assert not spill.enabled
        assert spill.default_threshold == tuning.DEFAULT_THRESHOLD
    assert spill_of("").enabled
    assert compaction_enabled("")
    assert not compaction_enabled('{"memory": {"compaction": {"enabled": false}}}')


@pytest.mark.parametrize(
    "variable",
    [
        "no JSON",
        "[]",
        '{"spill_buffer": []}',
        '{"spill_buffer": {"enabled": 1}}',
        '{"spill_buffer": {"default_threshold": true}}',
        '{"spill_buffer": {"default_threshold": "5"}}',
        '{"spill_buffer": {"thresholds": {"x": "5"}}}',
        '{"spill_buffer": {"nonsense": 1}}',
        '{"spill_buffer": {"keep_size": 5}}',
        '{"spill_buffer": ' + "[" * 100_000,
    ],
)
def test_settings_that_are_not_understood(variable: str) -> None:
    """They are refused, whatever they are."""
    with pytest.raises(ValueError, match=r"PANNIER_CONTEXT|JSON"):
        spill_of(variable)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64m", 64 << 20),
        ("1g", 1 << 30),
        ("1.5GiB", 3 << 29),
        ("2 TB", 2 << 40),
        ("70000000", 7 * 10**7),
    ],
)
def test_sizes(text: str, size: int) -> None:
    """Sizes are read as the sidecar reads them."""
    assert size_in_bytes(text) == settings.size_in_bytes(text) == size
