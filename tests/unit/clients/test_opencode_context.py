"""OpenCode's plugin: large results, what is sent of old ones, and when OpenCode compacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pannier.clients.opencode import CLIENT, COMMAND, COMMANDS
from pannier.settings import ContextSettings
from pannier_agents.pruning import pruned_text

from .test_opencode import Place, config, place

__all__ = ["place"]

SESSION = "ses_1"
SHORTENING = "cat >>calls; echo >>calls; ! tail -n 1 calls | grep -q tool_name || printf short"


def said(**parts: object) -> str:
    """`PANNIER_CONTEXT` of a group."""
    return ContextSettings.model_validate(parts).variable()


def prompt() -> dict[str, object]:
    part = {"id": "prt_1", "type": "text", "text": "do it"}
    return {
        "hook": "chat.message",
        "input": {"sessionID": SESSION},
        "output": {"message": {"id": "msg_1"}, "parts": [part]},
    }


def ran(output: str, **metadata: object) -> dict[str, object]:
    call = {"tool": "bash", "sessionID": SESSION, "callID": "c-1", "args": {"command": "make"}}
    return {
        "hook": "tool.execute.after",
        "input": call,
        "output": {"title": "make", "output": output, "metadata": metadata},
    }


def completed(output: str) -> dict[str, object]:
    """What OpenCode says of the same call afterwards."""
    state = {"status": "completed", "input": {"command": "make"}, "output": output}
    part = {"type": "tool", "sessionID": SESSION, "callID": "c-1", "tool": "bash", "state": state}
    event = {"type": "message.part.updated", "properties": {"part": part}}
    return {"hook": "event", "input": {"event": event}, "output": {}}


END = {"hook": "dispose", "input": {}, "output": {}}


def after_tool(place: Place, output: str, *, context: str = "", **metadata: object) -> str:
    """What the model gets of a command's output."""
    steps = (prompt(), ran(output, **metadata), completed("as it was"), END)
    results, logged = place.play(*steps, PANNIER_CONTEXT=context)
    assert logged == []
    return str(results[1]["output"])


def tools_told(place: Place) -> list[dict[str, Any]]:
    return [dict(call) for call in place.calls() if "tool_name" in call]


def test_a_large_result_is_the_hooks(place: Place) -> None:
    """The model gets what the hook prints, and the hook hears of the call once."""
    place.hook(SHORTENING)
    assert after_tool(place, "x" * 20_001) == "short"
    [told] = tools_told(place)
    assert told["tool_response"] == "x" * 20_001
    assert (told["tool_name"], told["tool_use_id"]) == ("bash", "c-1")
    assert (told["session_id"], told["turn_id"]) == (SESSION, "msg_1")


def test_a_small_result_waits_for_nobody(place: Place) -> None:
    """It is told once, afterwards, and stays."""
    assert after_tool(place, "é" * 10_000) == "é" * 10_000
    [told] = tools_told(place)
    assert told["tool_response"] == "as it was"


def test_what_opencode_keeps_itself(place: Place) -> None:
    """Of a result of which OpenCode gives the end the hook is told where all of it lies."""
    file = place.root / "whole"
    file.write_text("x" * 30_000)
    after_tool(place, "the end", truncated=True, outputPath=str(file))
    [told] = tools_told(place)
    assert (told["persistedOutputPath"], told["persistedOutputSize"]) == (str(file), 30_000)
    assert told["tool_response"] == "the end"


CALL = {"tool": "bash", "sessionID": SESSION, "callID": "c-1"}
BEFORE = {"hook": "tool.execute.before", "input": CALL, "output": {"args": {}}}
AFTER = ran("a part")


def environment(**given: object) -> dict[str, object]:
    """OpenCode asks for what a command's environment has besides."""
    return {"hook": "shell.env", "input": {**CALL, **given}, "output": {"env": {}}}


def test_a_reader_keeps_what_a_command_prints(place: Place) -> None:
    """Each command of the agent's gets one, with a note of its own; nobody else's."""
    others = environment(callID="of a person"), environment(sessionID="ses_2")
    another = {**BEFORE, "input": {**CALL, "tool": "webfetch", "callID": "c-2"}}
    steps = (BEFORE, environment(), *others, AFTER, BEFORE, environment(), another)
    results, logged = place.play(*steps, environment(callID="c-2"))
    assert logged == []
    first, person, elsewhere, second, fetch = (one["env"] for one in results if "env" in one)
    assert first["BASH_ENV"] == second["BASH_ENV"] == COMMAND
    assert first["PANNIER_OUTPUT_NOTE"] != second["PANNIER_OUTPUT_NOTE"]
    assert (person, elsewhere, fetch) == ({}, {}, {})


def test_a_file_for_bash_of_ones_own_stays(place: Place) -> None:
    """A person's BASH_ENV goes before ours."""
    results, _ = place.play(BEFORE, environment(), BASH_ENV="/etc/mine")
    assert results[1]["env"] == {}


def test_what_the_reader_kept_is_told(place: Place) -> None:
    """OpenCode may have lost the end of an output, and say little: the hook hears of the reader's
    note all the same, once."""
    calls = place.root / "agent/files/.pannier/calls"
    calls.mkdir(parents=True)
    place.hook(SHORTENING)
    plugin = place.root / Path(COMMANDS).name
    plugin.write_text(plugin.read_text().replace("randomUUID()", '"note-1"'))
    (calls / "note-1").write_text("1 1 1 /kept\n")
    root = str(place.root / "agent")
    steps = prompt(), BEFORE, environment(), AFTER, completed("a part"), AFTER, END
    results, logged = place.play(*steps, PANNIER_ROOT=root)
    assert logged == []
    assert [results[3]["output"], results[5]["output"]] == ["short", "a part"]
    [told] = tools_told(place)
    assert (told["output_note"], told["tool_use_id"]) == ("note-1", "c-1")


def test_a_hook_that_fails_leaves_a_result(place: Place) -> None:
    """The result stays as it is, and the sidecar is told of it all the same."""
    place.hook("cat >>calls; echo >>calls; [ $(wc -l <calls) != 2 ]")
    results, logged = place.play(prompt(), ran("x" * 20_001), completed("as it was"), END)
    assert results[1]["output"] == "x" * 20_001
    assert len(logged) == 1
    assert [call["tool_response"] for call in tools_told(place)] == ["x" * 20_001, "as it was"]


@pytest.mark.parametrize(
    ("context", "least"),
    [
        (said(spill_buffer={"thresholds": {"webfetch": 5_000}}), 5_000),
        (said(spill_buffer={"default_threshold": 8_000}), 8_000),
        (said(spill_buffer={"enabled": False}), None),
        ("not JSON", 20_000),
    ],
)
def test_thresholds_of_the_group(place: Place, context: str, least: int | None) -> None:
    """The hook decides on each tool; it is not asked about what is small for any."""
    place.hook(SHORTENING)
    size = least or 1_000_000
    steps = (prompt(), ran("x" * size), prompt(), ran("x" * (size + 1)), END)
    results, _ = place.play(*steps, PANNIER_CONTEXT=context)
    assert len(results[1]["output"]) == size
    assert (results[3]["output"] == "short") is (least is not None)


def test_what_must_survive(place: Place) -> None:
    """Before a compaction the hook's instructions reach the summarizer."""
    place.hook("cat >/dev/null; printf keep-it")
    step = {"hook": "experimental.session.compacting", "input": {"sessionID": SESSION}}
    results, _ = place.play({**step, "output": {"context": []}})
    assert results[0]["context"] == ["keep-it"]


def limits(place: Place, limit: dict[str, int], own: object = None, **parts: object) -> int:
    """At how many tokens OpenCode compacts, by its own rule, after two requests."""
    ask = {"hook": "chat.params", "input": {"model": {"id": "m", "limit": limit}}, "times": 2}
    given = {"compaction": own} if own else {}
    steps = ({"hook": "config", "output": given}, ask)
    (settled, asked), logged = place.play(*steps, PANNIER_CONTEXT=said(**parts))
    assert logged == []
    found = asked["model"]["limit"]
    if "input" not in found:
        return int(found["context"] - min(found["output"], 32_000))
    return int(found["input"] - settled["compaction"]["reserved"])


@pytest.mark.parametrize(
    ("limit", "settings", "tokens"),
    [
        ({"context": 1_000_000, "output": 64_000}, {}, 700_000),
        ({"context": 200_000, "output": 8_000}, {"compaction": {"trigger_percent": 40}}, 80_000),
        ({"context": 200_000, "output": 8_000}, {"window": 100_000}, 70_000),
        (
            {"context": 100_000, "output": 8_000},
            {"compaction": {"trigger_percent": 90, "reserve_tokens": 50_000}},
            50_000,
        ),
        # Never later than by itself.
        ({"context": 100_000, "output": 64_000}, {"compaction": {"trigger_percent": 90}}, 68_000),
        ({"context": 400_000, "input": 272_000, "output": 128_000}, {"window": 390_000}, 252_000),
        ({"context": 200_000, "output": 8_000}, {"compaction": {"enabled": False}}, 192_000),
    ],
)
def test_when_it_compacts(
    place: Place, limit: dict[str, int], settings: dict[str, object], tokens: int
) -> None:
    """As full as the settings say, and with as much in reserve, however often it is asked."""
    assert limits(place, limit, **settings) == tokens


def test_own_settings_of_compaction(place: Place) -> None:
    """A person's go before; the point stays where the group has it."""
    found = config(place, {"compaction": {"reserved": 1, "auto": False}})["compaction"]
    assert found == {"preserve_recent_tokens": 20_000, "reserved": 1, "auto": False}
    assert limits(place, {"context": 100_000, "output": 8_000}, {"reserved": 1}) == 70_000


def tool_part(output: str, **time: int) -> dict[str, object]:
    state = {"status": "completed", "input": {}, "output": output, "time": time}
    return {"type": "tool", "tool": "bash", "callID": "c", "state": state}


def sent(place: Place, outputs: list[str], **parts: object) -> list[str]:
    """What a request has of a turn's results, which came two a step."""
    steps = [outputs[at : at + 2] for at in range(0, len(outputs), 2)]
    messages: list[dict[str, object]] = [
        {"info": {"sessionID": SESSION, "time": {"created": 1}}, "parts": [{"type": "text"}]}
    ]
    messages += [{"info": {}, "parts": [tool_part(output) for output in step]} for step in steps]
    step = {"hook": "experimental.chat.messages.transform", "input": {}}
    [result], logged = place.play(
        {**step, "output": {"messages": messages}}, PANNIER_CONTEXT=said(**parts)
    )
    assert logged == []
    found = [part for message in result["messages"][1:] for part in message["parts"]]
    return [part["state"]["output"] for part in found]


def test_old_results_are_shortened_for_good(place: Place) -> None:
    """Once enough can be saved, all but the latest are shortened, and they look the same in each
    later request, in whichever process; in between nothing changes."""
    outputs = [f"{number} " + f"{number}y" * 2_400 for number in range(40)]
    before: list[str] = []
    changes = 0
    for count in range(1, 41):
        now = sent(place, outputs[:count])
        assert now[-3:] == outputs[max(0, count - 3) : count]
        changed = now[: len(before)] != before
        assert all(
            new == old or old == whole
            for new, old, whole in zip(now, before, outputs, strict=False)
        )
        changes += changed
        before = now
    assert 1 <= changes <= 5
    assert sum(map(len, before)) < sum(map(len, outputs)) / 1.2


def test_they_look_as_an_agent_in_pythons(place: Place) -> None:
    """Trimmed above the soft limit and cleared above the hard one, by the same words."""
    note = "[Pannier: this result is long, and all of it is kept in a file: 9 bytes, 1 lines]\n"
    name = "20261130T045816Z-bash-88c11ce5d0edaa54.txt"
    outputs = [
        "short",
        "a" * 3_001,
        "🙂" * 4_000,
        "b" * 100_000,
        f"{note}file: /workspace/agent/files/.pannier/spill/main/{name}\n" + "c" * 60_000,
        "1",
        "2",
        "3",
    ]
    found = sent(place, outputs)
    assert [found[n] for n in (0, 1, 3, 4)] == [
        pruned_text(outputs[n], 3_000, 10_000) for n in (0, 1, 3, 4)
    ]
    assert len(found[2]) < 4_000
    assert found[2].startswith("🙂" * 900)
    assert found[2].endswith("🙂" * 400)
    assert found[5:] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "parts",
    [
        {"pruning": {"trim_tool_results": False}},
        {"pruning": {"protect_recent": 8}},
        {"window": 4_000_000},
    ],
)
def test_what_is_not_shortened(place: Place, parts: dict[str, object]) -> None:
    """Nothing where it is switched off or all are recent, nor for little in a large window."""
    outputs = ["d" * 60_000] * 8
    assert sent(place, outputs, **parts) == outputs


def test_every_setting_is_spoken_of() -> None:
    """`pannier context show` has a word on each."""
    effects = CLIENT.context(ContextSettings()).effects
    named = {effect.setting.partition(".")[0] for effect in effects}
    assert named == set(ContextSettings.model_fields)
