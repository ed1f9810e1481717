"""What pannier has to know of an agent program. One module a client fills it in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pannier.clients.transcript import Reader
from pannier.clients.transcripts import fields
from pannier.endpoint.answers import Answer
from pannier.settings import ContextSettings
from pannier_hook import VERSION

HOOK_PROGRAM = "/usr/local/bin/pannier-hook"

TELLS_LITTLE = (
    "{} tells the hook prompts, tool calls and the last message of each turn: what the agent says "
    "between two calls is not in the group's threads."
)
"""A note for clients whose transcript is not read; with the client's title."""


def hook_command(event: str, client: str, *options: str) -> str:
    """The command that a client's settings register for an event of the hook's.

    By its program and `--entry`, `pannier bake` finds it again among a person's own hooks.
    """
    return " ".join((HOOK_PROGRAM, event, "--client", client, *options, "--entry", VERSION))


@dataclass(frozen=True)
class Link:
    """A symbolic link in the skeleton of HOME."""

    target: str


@dataclass(frozen=True)
class Endpoint:
    """How a client is pointed at a model endpoint: for `pannier verify`, never for real work."""

    environment: Mapping[str, str] = field(default_factory=dict)
    home: Mapping[str, str] = field(default_factory=dict)
    """Files below HOME, by relative path."""


@dataclass(frozen=True)
class Finished:
    """A command that ran in the container."""

    status: int
    stdout: str
    stderr: str = ""

    @property
    def output(self) -> str:
        """Its standard output, then its standard error."""
        return self.stdout + self.stderr


class Terminal(Protocol):
    """A program in a pseudo-terminal of 50 lines and 160 columns.

    Terminal queries (cursor position, device attributes) are answered for it.
    """

    def wait_for(self, text: str, *, seconds: float = 30) -> None:
        """Until `text` stands on the screen, in one line. Raises VerifyError otherwise."""

    def send(self, keys: str) -> None:
        """Type these characters; `\\r` is the return key."""

    def screen(self) -> str:
        """What a person would see now."""

    def close(self) -> None:
        """Hang up, and wait until the program is gone."""


class Dialogue(Protocol):
    """A program that reads lines from a pipe and answers in lines (JSON-RPC, stream-json)."""

    def send(self, line: str) -> None:
        """Write a line; the newline is added."""

    def wait_for(self, text: str, *, seconds: float = 60) -> str:
        """The next line of its standard output that holds `text`; earlier ones are passed over.

        Raises VerifyError, with the end of what it wrote, when none comes.
        """

    def close(self) -> None:
        """Close its standard input, and wait until the program is gone."""


class Shell(Protocol):
    """The idling container in which `pannier verify` drives a client.

    Programs run as the group's user, in its working directory, with the environment of
    `Client.endpoint`. `env NAME=value program …` adds to it. Nothing of an earlier event is taken
    away, except that terminals and dialogues which are still open are closed.
    """

    def run(self, *argv: str, stdin: str = "", seconds: float = 120) -> Finished:
        """Run to the end. Raises VerifyError when it takes longer or ends with another status
        than 0."""

    def terminal(self, *argv: str) -> Terminal:
        """Start in a pseudo-terminal."""

    def dialogue(self, *argv: str) -> Dialogue:
        """Start with pipes."""

    def observe(self, prompt: str = "") -> None:
        """Only what reaches the model from here on belongs to the event. Call it once in an event,
        after what has to go before (a first turn, say) and before what begins the new context: a
        test edits the memory files here.

        With `prompt`, only requests in which this stands as a text of its own count: a client may
        have a session of its own at work on the side, for titles and the like.
        """

    def wait_for_request(self, text: str, *, seconds: float = 60) -> None:
        """Until a model request since the start of this event that holds `text` was answered; after
        `observe` with a prompt, one that counts."""

    def script(self, *answers: Answer) -> None:
        """What the model answers next, one after the other; afterwards, `ok` again."""


Drive = Callable[[Shell], None]


@dataclass(frozen=True)
class Traces:
    """What a client itself keeps of a session, for who erases one. Paths are below HOME, with the
    wildcards of fnmatch(3) within a name."""

    files: Callable[[str], tuple[str, ...]] = lambda _: ()
    """Files and whole folders of the session with this id."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """Files that name many sessions, as JSON Lines or as one JSON list, each with the member of an
    entry that holds the session's id."""
    current: tuple[str, ...] = ()
    """Files that hold nothing but the id of the session that goes on."""
    databases: tuple[str, ...] = ()
    """What pannier cannot take a session out of: it opens no database of a container."""


@dataclass(frozen=True)
class Effect:
    """What becomes of one of the settings in `context:` with a client."""

    setting: str
    """Its name below `context:`, such as `compaction.trigger_percent`."""
    holds: Literal["yes", "partly", "no"]
    how: str
    """By which means, or why not; words for a person."""


@dataclass(frozen=True)
class ContextPlan:
    """How a client is held to the settings in `context:`."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """For its containers."""
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True)
class Client:
    """An agent program: its image, its settings, and how it is driven without a person."""

    name: str
    title: str
    program: tuple[str, ...]
    """What the image starts."""
    keys: tuple[str, ...]
    """Environment names by which a person hands it a key; for messages and docs."""
    instructions_file: str
    """Name of the standing instructions below `/run/pannier/instructions`."""
    baked: Mapping[str, str | Link]
    """Files and links of the image by absolute path: managed settings, our hook in them."""
    skeleton: Mapping[str, str | Link]
    """Files and links below HOME that `pannier-hook boot` makes when they are missing."""
    endpoint: Callable[[str], Endpoint]
    """The settings for the base URL of a model endpoint, such as `http://127.0.0.1:8080`."""
    headless: Callable[[str], tuple[str, ...]]
    """The command that does one turn with this prompt, in a new session, without a person."""
    events: Mapping[str, Drive]
    """How to bring about each event that `pannier verify` looks at, in order. Each begins with a
    client that has no session open, and calls `observe` once."""
    fresh: frozenset[str]
    """Those of `events` that begin a fresh context, so that memory must arrive."""
    decode: Callable[[str], str] = lambda text: text
    """Undoes what this client does to injected text before the model gets it. What was expected
    goes through it as well before the two are compared, so an escape that leaves `&lt;` in a file
    and an escaped `<` alike may simply make `<` of both."""
    resume: Callable[[str, str], tuple[str, ...]] | None = None
    """The same as `headless`, for a prompt and the id of a session that goes on."""
    own_settings: tuple[str, ...] = ()
    """Files below HOME in which a person registers hooks of their own, for `pannier doctor`."""
    notes: tuple[str, ...] = ()
    """What this client cannot do, for `pannier doctor`."""
    read: Reader = fields.read
    """What a hand-over of its hook says was said and done."""
    traces: Traces = Traces()
    """What it keeps of a session itself."""
    context: Callable[[ContextSettings], ContextPlan] = lambda _: ContextPlan()
    """How it is held to the group's settings for its context. Pure."""
    compact: Callable[[str], tuple[str, ...]] | None = None
    """The command that compacts the session with this id without a person; None where there is
    none."""
    too_little: str = ""
    """Words of its last line where there was nothing to compact."""
