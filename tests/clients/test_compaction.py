"""When a real client compacts: at the point that the group's settings say, with what they say must
survive.

The model reports how full the window is, and the client believes it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pannier import clients
from pannier.endpoint.answers import Answer, Call, Fail, Say
from pannier.endpoint.model import Request
from pannier.engine import Engine
from pannier.errors import VerifyError
from pannier.verify.shell import EventShell

from .habits import HABITS
from .living import Living, living

SUMMARY = "<summary>They worked on kettles.</summary>"
TASK = "Please count the kettles, all of them."
SLACK = 2_000
"""Tokens by which the client may differ, for what it counts besides."""
LONG = pytest.mark.long
"""Of what is the same with each client, Codex's is for every day: it is quick."""


def _asks_claude(request: Request) -> bool:
    return request.holds("create a detailed summary")


def _asks_codex(request: Request) -> bool:
    return bool(request.body["input"]) and request.body["input"][-1]["type"] == "compaction_trigger"


def _asks(words: str) -> Callable[[Request], bool]:
    return lambda request: request.holds(words)


ASKS: dict[str, Callable[[Request], bool]] = {
    "claude": _asks_claude,
    "codex": _asks_codex,
    "gemini": _asks("generate the updated <state_snapshot>"),
    "copilot": lambda request: "create a detailed summary" in request.texts[-1].text,
    "opencode": _asks("You are a context summarization agent"),
    "qwen": _asks("You are the component that summarizes a conversation"),
}
"""Whether a request asks for a summary."""


@dataclass(frozen=True)
class Group:
    """A group of a client that works while its window fills."""

    living: Living

    def wish(self, settings: str) -> None:
        with self.living.home.group("scout").settings.open("a") as file:
            file.write(f"context: {settings}\n")

    def work(self, tokens: int, last: int = 0) -> list[Request]:
        """A turn with two calls, in a new container, in which the model says at each that it was
        sent so many tokens, and `last` at the turn's end; its requests."""
        name, model = self.living.client.name, self.living.model
        before = len(model.requests)
        call = HABITS[name].run("echo on")
        assert isinstance(call, Call)
        full = replace(call, input_tokens=tokens)
        model.on = {"create a detailed summary": Say(SUMMARY)}
        model.script(full, full, *([Say("Done.", input_tokens=last)] if last else []))
        with self.living.container() as shell:
            shell.run(*HABITS[name].unasked, *self.living.client.headless(TASK))
        model.forget_script()
        return list(model.since(before))

    def summaries(self, tokens: int) -> list[Request]:
        """Of those, the ones that asked for a summary."""
        return [r for r in self.work(tokens) if ASKS[self.living.client.name](r)]


@pytest.fixture
def group(engine: Engine, folder: Path, request: pytest.FixtureRequest) -> Group:
    return Group(living(engine, folder / request.node.name, clients.CLIENTS[request.param]))


@pytest.mark.parametrize(
    ("group", "settings", "fires"),
    [
        ("codex", "{window: 200000}", 140_000),
        *(
            pytest.param(*point, marks=LONG)
            for point in (
                ("codex", "{window: 200000, compaction: {trigger_percent: 40}}", 80_000),
                ("codex", "{window: 60000, compaction: {reserve_tokens: 30000}}", 30_000),
                ("claude", "{window: 200000}", 140_000),
                ("claude", "{window: 200000, compaction: {trigger_percent: 40}}", 80_000),
                ("claude", "{window: 60000}", 42_000),
                ("claude", "{compaction: {trigger_percent: 50}}", 500_000),
                ("copilot", "{window: 100000}", 70_000),
                ("copilot", "{window: 100000, compaction: {reserve_tokens: 60000}}", 40_000),
                ("opencode", "{}", 700_000),
                ("opencode", "{window: 100000, compaction: {trigger_percent: 40}}", 40_000),
                ("qwen", "{window: 100000, compaction: {trigger_percent: 40}}", 40_000),
            )
        ),
    ],
    indirect=["group"],
)
def test_it_begins_where_the_settings_say(group: Group, settings: str, fires: int) -> None:
    """Just below the point nothing happens; just above it the client asks for a summary, in the
    middle of a turn."""
    group.wish(settings)
    assert group.summaries(fires - SLACK) == []
    assert group.summaries(fires + SLACK)


@LONG
@pytest.mark.parametrize("group", ["codex"], indirect=True)
def test_codex_begins_at_the_end_of_a_turn(group: Group) -> None:
    """Where the window is not said, Codex takes the percentage of its model's own."""
    group.wish("{compaction: {trigger_percent: 40}}")
    fires = 500_000 * 40 // 100
    below, above = fires - 15_000, fires + SLACK
    assert not any(map(ASKS["codex"], group.work(below, below)))
    requests = group.work(above, above)
    assert [ASKS["codex"](request) for request in requests] == [False, False, False, True]


@LONG
@pytest.mark.parametrize("group", ["gemini"], indirect=True)
def test_gemini_begins_at_the_next_prompt(group: Group) -> None:
    """A new process counts the tokens of its history itself: a quarter of the characters."""
    group.wish("{window: 400000, compaction: {trigger_percent: 25}}")
    asked = {}
    for tokens in (90_000, 110_000):
        model, client = group.living.model, group.living.client
        model.on = {"<state_snapshot>": Say("<state_snapshot>kettles</state_snapshot>")}
        before = len(model.requests)
        model.script(*(Say(_words(f"{tokens} {part}", tokens * 2)) for part in "ab"))
        with group.living.container() as shell:
            shell.run(*client.headless(TASK))
            for prompt in ("And the cups?", "And now?"):
                shell.run("gemini", "--resume", "latest", "-p", prompt)
        asked[tokens] = any(map(ASKS["gemini"], model.since(before)))
    assert asked == {90_000: False, 110_000: True}


def _words(seed: str, characters: int) -> str:
    """Some that do not look like a loop."""
    numbers = random.Random(seed)
    return " ".join(f"{numbers.getrandbits(36):09x}" for _ in range(characters // 10))


@LONG
@pytest.mark.parametrize("group", ["claude", "codex"], indirect=True)
def test_switched_off_the_client_does_as_it_likes(group: Group) -> None:
    """It compacts when it wants to, which is later."""
    group.wish("{window: 200000, compaction: {enabled: false}}")
    assert group.summaries(150_000) == []
    assert group.summaries(199_000)


@pytest.mark.parametrize("group", ["claude"], indirect=True)
def test_what_must_survive_reaches_the_summarizer(group: Group) -> None:
    """It is told to keep the first and the latest request word for word, and where long results
    lie; afterwards the memory is there anew, beside the summary."""
    group.wish("{window: 200000}")
    [file] = [group.living.home.group("scout").memory / "index.md"]
    requests = group.work(150_000)
    asked = next(n for n, request in enumerate(requests) if _asks_claude(request))
    assert requests[asked].holds("The first request of a person and the latest one, word for word")
    after = requests[-1]
    assert after.holds("They worked on kettles.")
    assert after.holds(file.read_text().strip())


@LONG
@pytest.mark.parametrize("group", ["opencode", "qwen"], indirect=True)
def test_others_are_told_what_must_survive(group: Group) -> None:
    """OpenCode by our plugin, and Qwen Code by the hook's answer."""
    group.wish("{window: 100000}")
    [asked, *_] = group.summaries(75_000)
    assert asked.holds("The first request of a person and the latest one, word for word")


@pytest.mark.parametrize("group", ["claude"], indirect=True)
def test_kept_results_are_named_to_the_summarizer(group: Group) -> None:
    """By the paths of their files."""
    group.wish("{window: 200000}")
    model, run = group.living.model, HABITS["claude"].run
    model.on = {"create a detailed summary": Say(SUMMARY)}
    full = run("seq 1 150000")
    assert isinstance(full, Call)
    other = run("seq 200001 350000")
    assert isinstance(other, Call)
    answers: list[Answer] = [full, replace(other, input_tokens=150_000)]
    model.script(*answers)
    with group.living.container() as shell:
        shell.run(*group.living.client.headless(TASK))
    [asked, *_] = [r for r in model.requests if r.generates and _asks_claude(r)]
    kept = group.living.home.group("scout").files / ".pannier" / "spill" / "main"
    first, _ = sorted(file.name for file in kept.iterdir())
    last = asked.texts[-1].text
    assert f"/workspace/agent/files/.pannier/spill/main/{first}" in last


@LONG
@pytest.mark.parametrize("group", ["gemini", "opencode"], indirect=True)
def test_what_cannot_be_compacted(group: Group) -> None:
    """A model that refuses, and a session that is not there: status 1, and the reason."""
    client, model = group.living.client, group.living.model
    missing = {"gemini": "11111111-1111-4111-8111-111111111111", "opencode": "ses_missing"}
    with group.living.container() as shell:
        said = shell.run(*client.headless(TASK), *_FORMAT[client.name]).stdout
        found = re.search(r'"session_?[iI][dD]": ?"([^"]+)"', said)
        assert found is not None
        no = Fail(400, "no summary today")
        model.on = {"<conversation>": no, "scratchpad": no}
        _refused(group, shell, found[1], "no summary today")
        _refused(group, shell, missing[client.name], "ession")


_FORMAT = {"gemini": ("--output-format", "stream-json"), "opencode": ("--format", "json")}


def _refused(group: Group, shell: EventShell, session: str, why: str) -> None:
    client = group.living.client
    assert client.compact is not None
    with pytest.raises(VerifyError) as refused:
        shell.run(*client.compact(session))
    assert f"{client.name}-compact: " in refused.value.hint
    assert why in refused.value.hint
