"""An agent in Python, on LangChain."""

from __future__ import annotations

from pannier.clients.client import Client, ContextPlan, Effect, Endpoint, Shell, Traces
from pannier.clients.transcripts import langchain as transcript
from pannier_hook.tuning import VARIABLE

NAME = "langchain"


def _startup(shell: Shell) -> None:
    shell.observe("hello")
    shell.run(*_turn("hello"))


def _resume(shell: Shell) -> None:
    shell.run(*_turn("hello"))
    shell.observe("again")
    shell.run("agent", "again")


def _clear(shell: Shell) -> None:
    shell.run(*_turn("hello"))
    shell.observe("again")
    shell.run("agent", stdin="/clear\nagain\n")


def _compact(shell: Shell) -> None:
    """With as much between the task and the latest request as is worth a summary by default."""
    long = "hello " * 30_000
    shell.run(*_by_default("--new"), stdin=f"hello\n{long}\nmore\n")
    shell.observe("again")
    shell.run(*_by_default(), stdin="/compact\nagain\n")


def _fork(shell: Shell) -> None:
    """Back to the end of the first turn, and on from there."""
    shell.run(*_turn("hello"))
    first = shell.run("agent", stdin="/checkpoints\n").stdout.split()[0]
    shell.run("agent", "more")
    shell.observe("again")
    shell.run("agent", stdin=f"/rollback {first}\nagain\n")


def _turn(prompt: str) -> tuple[str, ...]:
    return ("agent", "--new", prompt)


def _by_default(*options: str) -> tuple[str, ...]:
    return ("env", "-u", VARIABLE, "agent", *options)


def _compacted(session: str) -> tuple[str, ...]:
    return ("agent", "--session", session, "--compact")


def _resumed(prompt: str, session: str) -> tuple[str, ...]:
    return ("agent", "--session", session, prompt)


def _endpoint(url: str) -> Endpoint:
    return Endpoint(
        environment={
            "PANNIER_MODEL": "openai:scripted",
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "none",
        }
    )


EFFECTS = (
    Effect("window", "yes", "the smaller of it and what the model's profile says"),
    Effect("pruning", "yes", "pannier's middleware Context, before each model call"),
    Effect("compaction", "yes", "pannier's middleware Context, before each model call"),
    Effect("spill_buffer", "yes", "pannier's middleware Spill, around each tool call"),
    Effect("compaction.idle_after", "yes", "pannier serve, by: agent --session … --compact"),
)
"""All holds, in pannier's own agent and in one that has `memory_middleware`."""


CLIENT = Client(
    name=NAME,
    title="LangChain",
    program=("agent",),
    keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
    instructions_file="AGENTS.md",
    # Its middleware does in the process what other clients' hooks do.
    baked={},
    skeleton={},
    endpoint=_endpoint,
    headless=_turn,
    events={
        "startup": _startup,
        "resume": _resume,
        "clear": _clear,
        "compact": _compact,
        "fork": _fork,
    },
    fresh=frozenset({"startup", "clear", "compact"}),
    resume=_resumed,
    compact=_compacted,
    too_little="nothing was compacted",
    context=lambda _: ContextPlan(effects=EFFECTS),
    read=transcript.read,
    traces=Traces(
        current=(".local/state/pannier/sessions/*",),
        databases=(".local/state/pannier/checkpoints.db",),
    ),
)
