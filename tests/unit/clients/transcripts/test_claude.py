"""Claude Code's transcripts, as the program itself wrote them."""

from __future__ import annotations

import re

import pytest
from tests.unit.clients.transcripts.claude_stories import (
    NAMES,
    STORIES,
    HandOver,
    branch,
    hand_overs,
    read,
    told,
)

from pannier.clients.transcript import (
    ASKED_ITSELF,
    After,
    Message,
    TurnBegins,
    TurnEnds,
    Usage,
)

MEMORY = "pannier memory: -----BEGIN PANNIER MEMORY "


IN_CONTAINER = {"bin", "etc", "home", "tmp", "workspace"}
"""Where absolute paths in a container begin."""


def shape(lines: list[str]) -> list[str]:
    """Without the marker of the memory block, which is another one each time."""
    return ["memory" if line.startswith(MEMORY) else line for line in lines]


def test_tools() -> None:
    """Thinking, texts, calls and their results are told in order, failures as such."""
    assert shape(told(read(hand_overs("tools")))) == [
        "memory",
        "turn begins",
        "person text: do the tools",
        "agent thinking: I should look.",
        "agent text: Looking.",
        'agent call: {"command": "echo hello; echo oops >&2",',
        "tool result: hello",
        'agent call: {"command": "exit 3", "description": "fa',
        "tool result: failed: This command requires approval",
        'agent call: {"file_path": "/workspace/agent/files/no',
        "tool result: failed: File does not exist. Note: your current ",
        'agent call: {"command": "seq 1 20000", "description"',
        "tool result: <persisted-output>",
        "agent text: All done.",
        "turn succeeded",
        "turn begins",
        "person text: and again",
        "agent text: Second answer.",
        "turn succeeded",
    ]


def test_long_result_names_its_file() -> None:
    """A result that Claude Code kept in a file of its own says where it is."""
    results = [e for e in read(hand_overs("tools")) if isinstance(e, Message) and e.tool == "Bash"]
    assert "/tool-results/" in results[-1].text
    assert results[-1].model == ""
    assert results[-1].kind == "result"


def test_model_and_time() -> None:
    """What the model said bears its name, and everything the time at which it was said."""
    messages = [e for e in read(hand_overs("parallel")) if isinstance(e, Message)]
    by_model = {m.role for m in messages if m.model}
    assert by_model == {"agent"}
    assert {m.model for m in messages if m.model} == {"claude-opus-5-5"}
    times = [m.at for m in messages]
    assert all(1_795_990_000 < at / 1e9 < 1_796_000_000 for at in times)


def test_usage_is_counted_once() -> None:
    """A model's message comes in several records with the same usage; it has one key."""
    usage = [e for e in read(hand_overs("parallel")) if isinstance(e, Usage)]
    assert len(usage) == 6
    assert {u.key: (u.input, u.output) for u in usage} == {
        usage[0].key: (3973, 96),
        usage[-1].key: (4013, 2),
    }


@pytest.mark.parametrize("story", NAMES)
def test_pairs(story: str) -> None:
    """Each call has its one result, which names the same tool."""
    messages = {e.key: e for e in read(hand_overs(story)) if isinstance(e, Message)}.values()
    calls = {m.call: m.tool for m in messages if m.kind == "call"}
    results = {m.call: m.tool for m in messages if m.kind == "result"}
    assert calls == results
    assert all(calls.values())


@pytest.mark.parametrize("story", NAMES)
def test_places(story: str) -> None:
    """Each parent was told before its child, only a beginning has none, and positions grow."""
    seen: set[str] = set()
    for parts in by_session(story):
        positions: dict[str, int] = {}
        for message in (e for e in read(parts) if isinstance(e, Message)):
            if message.parent is None:
                assert message.inner or message.kind == "memory"
            elif message.key not in seen:
                assert isinstance(message.parent, After)
                assert message.parent.key in seen
            assert message.position > positions.get(message.inner, -1)
            positions[message.inner] = message.position
            seen.add(message.key)


def by_session(story: str) -> list[list[HandOver]]:
    sessions: dict[str, list[HandOver]] = {}
    for part in hand_overs(story):
        sessions.setdefault(part.event.session, []).append(part)
    return list(sessions.values())


def test_results_of_parallel_calls_are_on_one_branch() -> None:
    """Calls made together lie before all of their results, and nothing is beside the branch."""
    entries = read(hand_overs("parallel"))
    assert branch(entries) == [line for line in told(entries) if not line.startswith("turn")]
    assert [line.partition(":")[0] for line in branch(entries)[-7:]] == [
        *3 * ["agent call"],
        *3 * ["tool result"],
        "agent text",
    ]


def test_sub_agent() -> None:
    """What a sub-agent says is inner, its task no person's word, and its turn no person's."""
    entries = read(hand_overs("agent"))
    agent = "ac5a006b7086c9528"
    assert told(entries, inner=agent) == [
        "turn begins",
        "client text: Look around, please.",
        "agent text: The agent saw it.",
        "turn succeeded",
    ]
    assert [e.output for e in entries if isinstance(e, Usage) and e.inner == agent] == [4]
    [records] = [part for part in hand_overs("agent") if part.event.kind == "records"]
    assert told(read([records]), inner=agent)[-1] == "turn succeeded"
    main = told(entries)
    assert "person text: Look around, please." not in main
    assert "tool result: Async agent launched successfully. (This" in main


def test_sub_agents_at_once() -> None:
    """Each of several sub-agents has a story of its own, tools and all."""
    entries = read(hand_overs("agents"))
    agents = dict.fromkeys(e.inner for e in entries if isinstance(e, Message) and e.inner)
    assert sorted(told(entries, inner=agent) for agent in agents) == [
        [
            "turn begins",
            "client text: look in A",
            "agent text: Going to A.",
            'agent call: {"command": "echo inside A", "descriptio',
            "tool result: inside A",
            "agent text: A holds cups.",
            "turn succeeded",
        ],
        [
            "turn begins",
            "client text: look in B",
            "agent text: B is empty.",
            "turn succeeded",
        ],
    ]


@pytest.mark.parametrize("story", ["agent", "agents", "background"])
def test_turn_of_its_own(story: str) -> None:
    """When a background task is done, Claude Code asks itself: nobody's prompt, nobody's turn."""
    entries = read(hand_overs(story))
    assert [line for line in told(entries) if line.startswith("turn")][:4] == [
        "turn begins",
        "turn succeeded",
        "turn of its own begins",
        "turn succeeded",
    ]
    assert told(entries)[-3] == "client text: <task-notification>"
    assert [e.inner for e in entries if isinstance(e, Usage)][-1] == ASKED_ITSELF
    assert sum(isinstance(e, TurnBegins) and not e.inner for e in entries) == 1


def test_compaction() -> None:
    """A compaction's summary stands on the branch, after what it sums up; the command that asked
    for it is for the client, so no word of a person's."""
    entries = read(hand_overs("compact"))
    assert shape(branch(entries)) == [
        "memory",
        "person text: first question",
        "agent text: ok",
        "client compaction: This session is being continued from a p",
        "client text: /compact",
        "client text: Compacted PreCompact [python3 -IS /home/",
        "memory",
        "person text: after it",
        "agent text: ok",
    ]
    assert [line for line in told(entries) if line.startswith("turn")] == [
        *2 * ["turn begins", "turn succeeded"]
    ]


def test_compaction_within_a_turn() -> None:
    """When the context is full in the middle of a turn, the turn goes on."""
    entries = read(hand_overs("auto-compaction"))
    assert shape(told(entries))[1:11] == [
        "turn begins",
        "person text: count",
        'agent call: {"command": "seq 1 4000", "description":',
        "tool result: 1",
        'agent call: {"command": "echo small", "description":',
        "tool result: small",
        "client compaction: This session is being continued from a p",
        "memory",
        "agent text: Went on.",
        "turn succeeded",
    ]


def test_clear() -> None:
    """After /clear a new session begins with the command, which is no turn."""
    before, after = (shape(told(read(parts))) for parts in by_session("clear"))
    assert before[1:] == [
        "turn begins",
        "person text: before clear",
        "agent text: ok",
        "turn succeeded",
    ]
    assert after[1:] == [
        "client text: /clear",
        "turn begins",
        "person text: after clear",
        "agent text: ok",
        "turn succeeded",
    ]


def test_rewind() -> None:
    """After a rewind the answer that was left is beside the branch, and not lost."""
    entries = read(hand_overs("rewind"))
    assert branch(entries)[1:] == [
        "person text: question one",
        "agent text: one",
        "person text: question two, other",
        "agent text: two again",
        "person text: question three",
        "agent text: three",
    ]
    assert "agent text: two" in told(entries)


def test_fork() -> None:
    """A fork repeats what it copied, goes on from there, and disturbs nothing of the other."""
    entries = read(hand_overs("fork"))
    keys = [e.key for e in entries if isinstance(e, Message)]
    turns = [e.key for e in entries if isinstance(e, TurnBegins)]
    assert len(keys) - len(set(keys)) == 3
    assert len(turns) - len(set(turns)) == 1
    said = {e.text: e.key for e in entries if isinstance(e, Message)}
    one = ["person text: question one", "agent text: one"]
    forked = ["person text: in the fork", "agent text: forked"]
    assert branch(entries, said["forked"])[1:] == [*one, *forked]
    assert branch(entries)[1:] == [*one, "person text: question two", "agent text: two"]


def test_fork_after_a_compaction() -> None:
    """A fork copies only what came after the compaction; before that lies what was compacted."""
    before, fork, *_ = by_session("fork-compacted")
    said = {e.key for e in read(before) if isinstance(e, Message)}
    new = [e for e in read(fork) if isinstance(e, Message) and e.key not in said]
    assert [(e.role, e.text) for e in new] == [("person", "in the fork"), ("agent", "forked")]
    entries = read([*before, *fork])
    forked = next(e.key for e in entries if isinstance(e, Message) and e.text == "forked")
    assert branch(entries, forked)[1:3] == ["person text: question one", "agent text: one"]


def test_summary_from_a_place_on() -> None:
    """What a person had summed up from some prompt on is beside the branch."""
    assert shape(branch(read(hand_overs("summarize")))) == [
        "memory",
        "person text: question alpha",
        "agent text: Answer alpha.",
        "client compaction: This session is being continued from a p",
        "memory",
        "person text: question beta",
        "agent text: ok",
        "person text: question delta",
        "agent text: Answer delta.",
    ]


def test_fork_that_begins_in_the_middle() -> None:
    """What a fork copies from the middle of a turn begins no turn of its own."""
    parts = hand_overs("auto-compaction")
    at = next(i for i, part in enumerate(parts) if part.event.kind == "stop")
    assert not any(line.startswith("turn") for line in told(read([parts[at]])))


def test_in_a_terminal() -> None:
    """Shell lines, commands of one's own, a prompt taken back, and going back by the menu."""
    entries = read(hand_overs("terminal"))
    assert branch(entries)[1:] == [
        "person text: question alpha",
        "agent text: Answer alpha.",
        "person text: question gamma",
        "agent text: Answer gamma.",
        "person text: ! question delta",
        "client text: /bin/bash: line 1: question: command not",
        "agent text: Answer delta.",
    ]
    said = {e.text: e.key for e in entries if isinstance(e, Message)}
    assert branch(entries, said["Dear Bob."])[5:] == [
        "person text: ! echo shelly",
        "client text: shelly",
        "agent text: ok",
        "person text: /greet Bob",
        "client text: Greet Bob warmly.",
        "agent text: Dear Bob.",
    ]
    outcomes = {t.key: "" for t in entries if isinstance(t, TurnBegins)}
    assert len(outcomes) == 6


def test_prompt_taken_back() -> None:
    """A prompt that was interrupted before an answer is a turn that was interrupted."""
    entries = read(hand_overs("terminal"))
    at = told(entries).index("person text: question beta")
    assert told(entries)[at + 1 : at + 3] == ["turn interrupted", "turn begins"]


def test_answer_that_comes_late() -> None:
    """In a terminal, the answer may be written after the stop: it belongs to that turn yet."""
    entries = read(hand_overs("terminal"))
    begins = [e for e in entries if isinstance(e, TurnBegins)]
    gamma = next(e for e in entries if isinstance(e, Message) and e.text == "question gamma")
    assert [b.key for b in begins].count(gamma.key) == 2
    at = entries.index(begins[[b.key for b in begins].index(gamma.key)])
    ends = [e for e in entries[at:] if isinstance(e, TurnEnds)][:2]
    assert [e.outcome for e in ends] == ["succeeded", "succeeded"]


def test_interrupts() -> None:
    """An interrupt ends the turn at once, in the middle of an answer or of a tool."""
    early = told(read(hand_overs("interrupted")))
    assert early[1:5] == [
        "turn begins",
        "person text: slow please",
        "client text: [Request interrupted by user]",
        "turn interrupted",
    ]
    tool = told(read(hand_overs("interrupted-tool")))
    assert tool[6:10] == [
        "tool result: one",
        "tool result: failed: The user doesn't want to proceed with th",
        "client text: [Request interrupted by user for tool us",
        "turn interrupted",
    ]
    assert early[-1] == tool[-1] == "turn succeeded"


def test_api_failure() -> None:
    """A turn whose model could not be asked has failed; no stop comes, only the session's end."""
    entries = read(hand_overs("api-failure"))
    ends = [e for e in entries if isinstance(e, TurnEnds)]
    assert [(e.outcome, e.reason) for e in ends] == [("failed", "API Error: 400 no such thing")]
    assert told(entries)[-2] == "client text: API Error: 400 no such thing"


def test_prompts_while_it_works() -> None:
    """Prompts that come while Claude Code works belong to the turn that they join."""
    entries = read(hand_overs("queued-prompts"))
    assert told(entries)[1:] == [
        "turn begins",
        "person text: start",
        'agent call: {"command": "sleep 3", "description": "s',
        "tool result: (Bash completed with no output)",
        "person text: also this",
        "person text: and that",
        "agent text: I saw it.",
        "turn succeeded",
    ]


def test_prompts_typed_ahead() -> None:
    """One that joins the turn belongs to it; one that has to wait begins the next."""
    assert told(read(hand_overs("typed-ahead")))[1:17] == [
        "turn begins",
        "person text: question alpha",
        "agent text: Working.",
        'agent call: {"command": "sleep 4; echo done", "descr',
        "tool result: done",
        "person text: also beta",
        "person text: also gamma",
        "agent text: All seen.",
        "turn succeeded",
        "turn begins",
        "person text: question delta",
        "turn succeeded",
        "turn begins",
        "agent text: Slow answer.",
        "turn succeeded",
        "turn begins",
    ]


def test_hook_that_goes_on() -> None:
    """A person's own hook that makes Claude Code go on prolongs the turn."""
    entries = read(hand_overs("stop-hook"))
    assert told(entries)[1:9] == [
        "turn begins",
        "person text: a task",
        "agent text: Finished.",
        "turn succeeded",
        "turn begins",
        "client text: Stop hook feedback:",
        "agent text: The door is shut.",
        "turn succeeded",
    ]
    first, second, *_ = (e.key for e in entries if isinstance(e, TurnBegins))
    assert first == second


def test_queue_at_a_stop() -> None:
    """A message of the queue that comes at a stop begins a turn, however the hook puts it."""
    entries = read(hand_overs("stop-hook"))
    assert told(entries)[9:17] == [
        "turn begins",
        "person text: another task",
        "agent text: Finished again.",
        "turn succeeded",
        "turn begins",
        "pannier message: -----BEGIN PANNIER MESSAGE 0123456789abc",
        "agent text: Noted: six.",
        "turn succeeded",
    ]
    assert told(entries)[22:] == [
        "turn begins",
        "person text: fourth task",
        "agent text: Finished at last.",
        "turn succeeded",
        "turn begins",
        "pannier message: -----BEGIN PANNIER MESSAGE 0011223344556",
        "agent text: Noted: open.",
        "turn succeeded",
    ]


def test_queue_with_a_prompt() -> None:
    """A message of the queue that comes with a prompt is no word of the person's."""
    assert told(read(hand_overs("stop-hook")))[17:22] == [
        "turn begins",
        "person text: third task",
        "pannier message: -----BEGIN PANNIER MESSAGE fedcba9876543",
        "agent text: Noted: closed.",
        "turn succeeded",
    ]


def test_picture() -> None:
    """Of a picture it says what it is."""
    assert told(read(hand_overs("image")))[2:4] == [
        "person text: what is this?",
        "person text: [image/png]",
    ]
    assert branch(read(hand_overs("image")))[1:3] == told(read(hand_overs("image")))[2:4]


def test_recordings_are_clean() -> None:
    """The recordings say nothing of the machine that made them."""
    for file in STORIES.rglob("*.jsonl"):
        text = file.read_text()
        assert "osVersion" not in text
        # Where its absolute paths begin: each is one of the container's.
        assert set(re.findall(r"(?<![\w./~<-])/(\w+)(?=/)", text)) <= IN_CONTAINER
