"""The table of clients, one row each, and their dialects: all that the hook knows of them.

A new client is one new row. Facts come from measurements of the real programs; the client tests
are the authority.
"""

from __future__ import annotations

# A context is fresh on these sources; `new` is what Copilot calls a start. On `resume` and `fork`
# the context already holds what was injected earlier, unless a client's row says otherwise.
FRESH = frozenset({"startup", "clear", "compact", "new"})

SESSION_START = "session-start"
USER_PROMPT = "user-prompt"

UTF16 = "utf-16"
"""UTF-16 code units, as JavaScript counts a string's length."""

NESTED = "nested"
"""JSON: `{"hookSpecificOutput": {"hookEventName": …, "additionalContext": …}}`, no other key."""
FLAT = "flat"
"""JSON: `{"additionalContext": …}`."""
PLAIN = "plain"
"""The text itself."""

MESSAGES = "messages"
"""A log of messages, which the client replaces as a whole now and then (Gemini CLI)."""
EVENTS = "events"
"""A log of events, compactions among them (Copilot CLI)."""


UPDATE = "update"
"""A tool's result is replaced by the tool's response in its own shape (`updatedToolOutput`)."""
BLOCK = "block"
"""JSON: `{"decision": "block", "reason": …}`."""
DENY = "deny"
"""JSON: `{"decision": "deny", "reason": …}`."""
MODIFY = "modify"
"""JSON: `{"modifiedResult": {…, "textResultForLlm": …}}`."""
TEXT = "text"
"""The text itself; nothing where the result stays."""


class Client:
    """One agent program as the hook sees it. Frozen."""

    __slots__ = (
        "angles_escaped",
        "begins_late",
        "commands",
        "dialect",
        "fresh",
        "goes_on",
        "guides_summary",
        "hook_event_name",
        "injects_on",
        "inner_logs",
        "lags",
        "limit",
        "log",
        "name",
        "parts",
        "prompt_event",
        "replaces",
        "shows",
        "state",
        "stop_event",
        "transcript",
        "unit",
    )

    name: str
    dialect: str
    hook_event_name: str
    """The client's own name of the event whose answer injects, where the answer has to say it."""
    injects_on: str
    """Our event whose answer injects: `session-start`, or `user-prompt` after a fresh start."""
    limit: int | None
    """The longest text of one hook that reaches the model whole, in `unit`; None: any."""
    unit: str
    parts: int
    """How many hook entries the baked-in settings have, so that the longest memory fits."""
    fresh: frozenset[str]
    state: str
    """The client's state folder below HOME; "" when the hook keeps nothing there."""
    angles_escaped: bool
    """Whether the client shows the model `&lt;` and `&gt;` for angle brackets."""
    begins_late: bool
    """Whether the start of the context after a compaction is told only with the next prompt: a
    session that ends before is resumed without one."""
    log: str
    """The kind of transcript that says whether the context holds the memory; "" where the session's
    starts say it."""
    transcript: bool
    """Whether its transcript is a log of lines that the sidecar reads: the hook hands over what is
    new in it. Else what the events say by themselves is all that is kept."""
    inner_logs: str
    """The path of its sub-agents' transcripts from the session's folder, as far as their ids:
    `{log}` is the name of the session's without its suffix, `{session}` the session's id; "" when
    there are none beside it."""
    lags: bool
    """Whether its transcript may lack the last answer yet when a stop is told."""
    goes_on: bool
    """Whether an answer to its stop makes the agent go on."""
    guides_summary: str
    """The form in which what is printed before a compaction reaches the model that writes the
    summary; "" when nothing does."""
    commands: str
    """Its tool for commands, where a reader keeps their output, of which the client gives its hooks
    not all; "" where there is no reader."""
    shows: int
    """With a reader: the bytes of a command's output beyond which its model is not shown all."""
    prompt_event: str
    """The client's own name of the event of a prompt."""
    replaces: str
    """The form of the answer by which its model gets another text in the place of a tool's result;
    "" when there is none."""
    stop_event: str
    """The client's own name of the event of a stop, where its answer may add context and the agent
    goes on with that; "" where the stop has to be blocked for it."""

    def __init__(
        self,
        name: str,
        *,
        dialect: str = NESTED,
        hook_event_name: str = "SessionStart",
        injects_on: str = SESSION_START,
        limit: int | None = None,
        unit: str = UTF16,
        parts: int = 1,
        fresh: frozenset[str] = FRESH,
        state: str = "",
        angles_escaped: bool = False,
        begins_late: bool = False,
        log: str = "",
        transcript: bool = False,
        inner_logs: str = "",
        lags: bool = False,
        goes_on: bool = False,
        guides_summary: str = "",
        commands: str = "",
        shows: int = 0,
        prompt_event: str = "UserPromptSubmit",
        stop_event: str = "",
        replaces: str = "",
    ) -> None:
        put = object.__setattr__
        put(self, "name", name)
        put(self, "dialect", dialect)
        put(self, "hook_event_name", hook_event_name)
        put(self, "injects_on", injects_on)
        put(self, "limit", limit)
        put(self, "unit", unit)
        put(self, "parts", parts)
        put(self, "fresh", fresh)
        put(self, "state", state)
        put(self, "angles_escaped", angles_escaped)
        put(self, "begins_late", begins_late)
        put(self, "log", log)
        put(self, "transcript", transcript)
        put(self, "inner_logs", inner_logs)
        put(self, "lags", lags)
        put(self, "goes_on", goes_on)
        put(self, "guides_summary", guides_summary)
        put(self, "commands", commands)
        put(self, "shows", shows)
        put(self, "prompt_event", prompt_event)
        put(self, "stop_event", stop_event)
        put(self, "replaces", replaces)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a client's row is frozen: {name}")


def answer(client: Client, text: str, event_name: str = "") -> str:
    """What to print so that the client puts `text` before its model, at the event that it calls
    `event_name`; at the one that injects when there is none."""
    if client.dialect == PLAIN:
        return f"{text}\n"
    from .jsontext import quote

    if client.dialect == FLAT:
        return f'{{"additionalContext":{quote(text)}}}\n'
    return (
        f'{{"hookSpecificOutput":{{"hookEventName":{quote(event_name or client.hook_event_name)},'
        f'"additionalContext":{quote(text)}}}}}\n'
    )


def guidance(client: Client, text: str) -> str:
    """What to print before a compaction so that whoever writes the summary keeps to `text`."""
    if client.guides_summary == NESTED:
        return answer(client, text, "PreCompact")
    return f"{text}\n"


def continuation(client: Client, text: str) -> str:
    """What to print at a stop so that the agent goes on with `text`."""
    if client.stop_event:
        return answer(client, text, client.stop_event)
    from .jsontext import quote

    return f'{{"decision":"block","reason":{quote(text)}}}\n'


_ROWS = (
    # Several entries of one event run at once and arrive in the order in which they end.
    Client(
        "claude",
        limit=10_000,
        parts=8,
        state=".claude",
        transcript=True,
        inner_logs="{log}/subagents/agent-",
        # In a terminal, by some 0.1 s.
        lags=True,
        goes_on=True,
        guides_summary=PLAIN,
        # A stop that is blocked shows its model the reason twice, as an error.
        stop_event="Stop",
        replaces=UPDATE,
    ),
    # `additionalContextLimit = 0` in its settings lifts the limit of 10,000 bytes.
    Client(
        "codex",
        state=".codex",
        begins_late=True,
        transcript=True,
        goes_on=True,
        commands="Bash",
        # 10,000 tokens, which it counts as four bytes each.
        shows=40_000,
        replaces=BLOCK,
    ),
    # What its session start injects is lost on the next resume, so the first prompt carries it.
    Client(
        "gemini",
        hook_event_name="BeforeAgent",
        injects_on=USER_PROMPT,
        state=".gemini",
        angles_escaped=True,
        log=MESSAGES,
        transcript=True,
        inner_logs="{session}/",
        goes_on=True,
        prompt_event="BeforeAgent",
        replaces=DENY,
    ),
    # It keeps what a session start says in the system prompt, which belongs to no history: each
    # session start makes it anew, so a resumed session has nothing of it, and it never piles up.
    Client(
        "qwen",
        fresh=FRESH | {"resume", "branch"},
        angles_escaped=True,
        goes_on=True,
        guides_summary=NESTED,
    ),
    # What its session start injects is in no history: a resume and a compaction lose it. So the
    # prompt carries it.
    Client(
        "copilot",
        dialect=FLAT,
        injects_on=USER_PROMPT,
        state=".copilot",
        log=EVENTS,
        replaces=MODIFY,
    ),
    # A plugin of ours calls the hook, and passes on what it prints. It stops reading when a command
    # ends, and loses what it has not read until then.
    Client(
        "opencode",
        dialect=PLAIN,
        guides_summary=PLAIN,
        commands="bash",
        shows=50 << 10,
        replaces=TEXT,
    ),
    # Middleware of ours (`pannier_agents`) puts the text before its model.
    Client("langchain", dialect=PLAIN),
    Client("custom", dialect=PLAIN, guides_summary=PLAIN, replaces=TEXT),
)

CLIENTS = {row.name: row for row in _ROWS}
