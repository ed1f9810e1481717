"""Which of the settings in `context:` hold with a client, and what its containers are told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pannier import clients, doctor, groups, holding, launch
from pannier.cli import pannier
from pannier.clients.client import Client, ContextPlan, Effect
from pannier.errors import ClientNotKnown
from pannier.findings import Finding
from pannier.groups import new_settings
from pannier.launch import Wish
from pannier.paths import Home
from pannier.settings import ContextSettings
from pannier_hook.settings import Spill
from pannier_hook.tools import threshold


def plan(settings: ContextSettings) -> ContextPlan:
    """A client with a knob of its own for one setting, and nothing for pruning."""
    return ContextPlan(
        {"ITS_PERCENT": str(settings.compaction.trigger_percent)},
        (
            Effect("compaction", "partly", "by the client alone"),
            Effect("compaction.trigger_percent", "yes", "by ITS_PERCENT"),
            Effect("pruning", "no", "nobody can change what its model was sent"),
            Effect("spill_buffer", "no", "it lets nobody replace a result"),
            Effect("spill_buffer.keep_days", "yes", "by the hook"),
        ),
    )


CLIENT = replace(clients.get("qwen"), context=plan)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setitem(clients.CLIENTS, "qwen", CLIENT)
    made, _ = groups.init(tmp_path / "home", {"HOME": str(tmp_path)})
    groups.add(made, "scout", new_settings("qwen", None, ()))
    return made


def say(home: Home, text: str) -> None:
    home.group("scout").settings.write_text(f"client: qwen\n{text}\n")


def held(client: Client = CLIENT, **said: Any) -> dict[str, holding.Row]:
    settings = ContextSettings.model_validate(said)
    return {row.setting: row for row in holding.rows(settings, client)}


def test_every_setting_is_told_of_in_the_order_of_the_page() -> None:
    """None is left out, also of a client that says nothing of it."""
    page = (Path(__file__).parents[3] / "docs" / "settings.md").read_text()
    there = [
        line.split("`")[1].removeprefix("context.")
        for line in page.splitlines()
        if line.startswith("| `context.") and "as below" not in line
    ]
    assert list(held()) == there
    silent = held(replace(CLIENT, context=lambda _: ContextPlan()))
    assert {row.holds for name, row in silent.items() if name != "compaction.idle_after"} == {
        "unknown"
    }


def test_what_is_said_of_a_setting_goes_before_what_is_said_of_its_part() -> None:
    """A part of the settings can be told of in one word."""
    rows = held(pruning={"protect_recent": 9})
    assert (rows["compaction.trigger_percent"].holds, rows["compaction.min_messages"].holds) == (
        "yes",
        "partly",
    )
    recent, trim = rows["pruning.protect_recent"], rows["pruning.trim_tool_results"]
    assert (recent.value, recent.said, recent.holds) == (9, True, "no")
    assert (trim.said, trim.how) == (False, "nobody can change what its model was sent")


@pytest.mark.parametrize(
    ("part", "switch"),
    [("pruning", "trim_tool_results"), ("compaction", "enabled"), ("spill_buffer", "enabled")],
)
def test_what_is_switched_off_is_said_to_be(part: str, switch: str) -> None:
    """With all that belongs to it, and nothing else."""
    said: dict[str, Any] = {part: {switch: False}}
    rows = held(**said)
    assert {name.partition(".")[0] for name, row in rows.items() if row.holds == "off"} == {part}
    assert all(row.holds == "off" for name, row in rows.items() if name.startswith(f"{part}."))


def test_a_thread_at_rest_is_compacted_where_the_client_can_be_told_to() -> None:
    """Without a person."""
    assert held(replace(CLIENT, compact=None))["compaction.idle_after"].holds == "no"
    able = replace(CLIENT, compact=lambda session: ("qwen", session))
    assert held(able)["compaction.idle_after"].holds == "yes"


@pytest.mark.parametrize("client", clients.CLIENTS.values(), ids=lambda client: client.name)
def test_a_client_tells_only_of_settings_that_there_are(client: Client) -> None:
    """A name that is none would never be shown."""
    names = set(held())
    for effect in client.context(ContextSettings()).effects:
        assert effect.setting in names | {name.partition(".")[0] for name in names}
        assert effect.how
    unknown = [
        row.setting for row in holding.rows(ContextSettings(), client) if row.holds == "unknown"
    ]
    assert bool(unknown) is (client.name == "custom")


def test_qwen_code_alone_cannot_spill() -> None:
    """Its hooks can only add to a result; doctor tells of it in each of its groups."""
    silent = [
        client.name
        for client in clients.CLIENTS.values()
        if any(
            r.setting == "spill_buffer.enabled" for r in holding.unheld(ContextSettings(), client)
        )
    ]
    assert silent == ["qwen"]


@given(
    st.dictionaries(
        st.sampled_from(["search", "shell", "Grep", "Bash", "run_command", "fetch"]),
        st.integers(4_000, 10**6),
    )
)
def test_thresholds_are_shown_as_they_are_in_effect(said: dict[str, int]) -> None:
    """With those of each kind of tools, as the hook takes them."""
    shown = held(spill_buffer={"thresholds": said})["spill_buffer.thresholds"]
    assert shown.said is bool(said)
    spill = Spill(thresholds=said)
    for name, size in said.items():
        assert shown.value[name] == threshold(spill, name) == size
    assert shown.value["search"] == threshold(spill, "grep_search")
    assert shown.value["shell"] == threshold(spill, "shell_command")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *[
            ("shel", "shell"),
            ("Search", "search"),
            ("serch", "search"),
            ("run_comand", "run_command"),
        ],
        *[("shell", ""), ("SHELL", ""), ("search", ""), ("Grep", "")],
        *[("Read", ""), ("web_search", ""), ("mcp__kettle__boil", ""), ("file_search", "")],
    ],
)
def test_a_misspelt_threshold_is_noticed(home: Home, name: str, meant: str) -> None:
    """By `context show` and by `doctor`. It is not refused, as some client may have such a tool."""
    say(home, f"context: {{spill_buffer: {{thresholds: {{{name}: 5000}}}}}}")
    done = show(home, "scout")
    assert done.exit_code == 0
    assert (f"Did you mean {meant}?" in done.stderr) is bool(meant)
    data = json.loads(show(home, "scout", "--json").stdout)
    assert data["misspelt"] == ({name: meant} if meant else {})
    found = notes(home, "no tool is known")
    assert [one.advice for one in found] == ([f"Did you mean {meant}?"] if meant else [])


# ---------------------------------------------------------------------------------- its containers


def started(home: Home, environ: dict[str, str] | None = None) -> dict[str, str]:
    environ = {"HOME": str(home.root), **(environ or {})}
    decided = launch.decide(home, Wish("scout"), environ)
    return dict(launch.specify(home, decided, environ, "run", gate=True).environment)


def test_a_container_is_told_the_settings_and_the_client_its_own(home: Home) -> None:
    """Of those that are as by default there is nothing to tell."""
    assert "PANNIER_CONTEXT" not in started(home)
    say(home, "context: {compaction: {trigger_percent: 50}}")
    told = started(home)
    assert json.loads(told["PANNIER_CONTEXT"]) == {"compaction": {"trigger_percent": 50}}
    assert (told["ITS_PERCENT"], told["PANNIER_THREAD"]) == ("50", "main")


def test_what_a_person_hands_on_goes_before_what_the_client_would_be_told(home: Home) -> None:
    """They named the variable themselves; where it is not set, the settings hold."""
    say(home, "env_from: [ITS_PERCENT]\ncontext: {compaction: {trigger_percent: 50}}")
    assert started(home, {"ITS_PERCENT": "33"})["ITS_PERCENT"] == "33"
    assert started(home)["ITS_PERCENT"] == "50"


def test_the_verification_of_a_client_has_its_settings(home: Home) -> None:
    """What `verify` shows is what the group's containers do."""
    say(home, "context: {spill_buffer: {enabled: false}}")
    environ = {"HOME": str(home.root)}
    decided = launch.decide(home, Wish("scout"), environ)
    spec = launch.specify(home, decided, {}, "verify", gate=True)
    assert json.loads(spec.environment["PANNIER_CONTEXT"]) == {"spill_buffer": {"enabled": False}}


# ------------------------------------------------------------------------------- what a person sees


def show(home: Home, *args: str) -> Any:
    return CliRunner().invoke(pannier, ["--home", str(home.root), "context", "show", *args])


def test_context_show_says_what_holds_and_how(home: Home) -> None:
    """A line for each setting; a star where group.yaml sets it."""
    say(
        home,
        "context: {compaction: {trigger_percent: 50}, spill_buffer: {thresholds: {Grep: 9999}}}",
    )
    done = show(home, "scout")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["SETTING", "VALUE", "HOLDS", "HOW"]
    [percent] = [line.split() for line in lines if line.startswith("compaction.trigger_percent")]
    assert percent[1:] == ["50", "*", "yes", "by", "ITS_PERCENT"]
    [greps] = [line for line in lines if line.startswith("spill_buffer.thresholds")]
    assert "Grep 9,999 *" in greps
    assert done.stderr == ""


def test_context_show_for_programs(home: Home) -> None:
    """The same as JSON, with what containers are told."""
    say(home, "env_from: [ITS_PERCENT]")
    data = json.loads(show(home, "scout", "--json").stdout)
    assert (data["group"], data["client"]) == ("scout", "qwen")
    assert data["settings"][0] == {
        "setting": "window",
        "value": None,
        "default": True,
        "holds": "unknown",
        "how": "pannier does not know what it makes of it",
    }
    assert data["environment"] == {"ITS_PERCENT": "70"}
    assert data["passed_over"] == ["ITS_PERCENT"]
    assert "goes before" in show(home, "scout").stderr


def test_context_show_of_another_client(home: Home) -> None:
    """By its name; a wrong one is refused."""
    data = json.loads(show(home, "scout", "--client", "custom", "--json").stdout)
    assert data["client"] == "custom"
    assert isinstance(show(home, "scout", "--client", "nobody").exception, ClientNotKnown)


def notes(home: Home, words: str = "does not hold") -> list[Finding]:
    found = doctor.examine(home, {"HOME": str(home.root), "PATH": ""})
    return [one for one in found if words in one.message]


def test_doctor_tells_of_a_client_that_cannot_spill(home: Home) -> None:
    """Whatever group.yaml says, unless it wants none; of other settings only those that it sets."""
    [note] = notes(home)
    assert note.message == (
        f"{CLIENT.title}: context.spill_buffer.enabled does not hold: "
        "it lets nobody replace a result"
    )
    assert note.advice == "What holds: pannier context show scout"
    say(home, "context: {pruning: {protect_recent: 9}, spill_buffer: {enabled: false}}")
    [note] = notes(home)
    assert "context.pruning.protect_recent does not hold" in note.message
