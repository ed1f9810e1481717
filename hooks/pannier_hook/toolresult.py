"""What a client says of a tool that ran, and the answer by which it gives its model another text.

Clients name and shape the same things differently; what is known of that stands here. Pure.
"""

from __future__ import annotations

from .clients import BLOCK, DENY, MODIFY, TEXT, UPDATE, answer
from .jsontext import quote, raw_members
from .tools import SHELL, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .clients import Client
    from .request import Request

RESPONSE = ("tool_response", "toolResult")

WRITERS = frozenset({"edit", "multiedit", "notebookedit", "write"})
"""Tools of Claude Code's whose responses hold whole files, of which its model sees nothing."""

_PERSISTED = ("persistedOutputPath", "persistedOutputSize")
"""Where Claude Code keeps a command's output of which it gives only the beginning. Of OpenCode, our
plugin says so."""
_SAVED = ("Output too large to read at once (", "Saved to: /tmp/", "copilot-tool-output")
"""How Copilot CLI's text begins that says the same."""
NO_ERROR = "This is no error of the tool's: its result is too long to be shown here."
"""Gemini CLI takes a text in the place of a result for an error; Codex calls it a block."""
_NESTED = "exec-"
"""How Codex's ids of calls begin that a script of its model made. Such a script computes with a
result, and a text in its place would be an exception there."""
UNTRUSTED = ("<untrusted_context>", "</untrusted_context>")
"""What Gemini CLI puts around a result that comes from outside, each on a line of its own."""
_OUTPUT = "Output: "
"""What it puts before a command's output."""
_ONLY_END = "[GEMINI_CLI_WARNING: Output truncated. The buffer is limited to "
_BUFFER = 16_000_000
"""Of a longer output Gemini CLI keeps the end, and says so behind it."""
_UNSEEN = frozenset({"base64", "blob", "data", "originalFile", "prompt", "structuredPatch"})
"""Members of a response of Claude Code's that are no text for the model."""


class Elsewhere:
    """A client kept a result of `size` bytes (0: it does not say) in the file `path` itself. `last`
    is a line of the client's that does not stand there; `lasts`: the file is still there when the
    container is gone. Frozen by custom."""

    __slots__ = ("last", "lasts", "path", "size")

    def __init__(self, path: str, size: int = 0, last: str = "", *, lasts: bool = True) -> None:
        self.path = path
        self.size = size
        self.last = last
        self.lasts = lasts

    def said_of(self, kept: int, there: int) -> str:
        """What has to be said behind the end of what is kept: the first `kept` bytes of the file,
        which has `there` bytes."""
        whole = max(self.size, there)
        if whole <= kept:
            return self.last
        said = f"[The tool gave {whole} bytes; the first {kept} of them are kept."
        if there > kept:
            said += f" Until this container ends, more is in {self.path}."
        return f"{said}]\n{self.last}".rstrip("\n")


def elsewhere(request: Request) -> Elsewhere | None:
    """Where the client kept the result of which it tells; None if it did not, or does not say."""
    for said in (request.inner("tool_response"), request):
        path, size = said.text("persistedOutputPath"), said.value("persistedOutputSize")
        if path:
            return Elsewhere(path, size if isinstance(size, int) else 0)
    text = request.inner("toolResult").text("textResultForLlm")
    first, _, _ = text.partition("\n")
    if not (first.startswith(_SAVED[0]) and _SAVED[1] in first and _SAVED[2] in first):
        return None
    last = text.rpartition("\n")[2]
    path = first.partition("Saved to: ")[2].strip()
    last = last if last.startswith("<shellId:") else ""
    return Elsewhere(path, last=last, lasts=False)


def texts_of(response: object) -> list[str] | None:
    """The texts that the model gets of a response, in order; None if it gets something else, too,
    which another text in the place of all of it would lose."""
    if isinstance(response, dict):
        if "llmContent" in response and response.get("error"):
            return None  # Gemini CLI gives its model the error's message alone.
        for name in ("llmContent", "textResultForLlm", "content"):
            if name in response:
                response = response[name]
                break
    texts = []
    for part in response if isinstance(response, list) else [response]:
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            return None
        texts.append(text)
    return texts


def strings_in(response: object) -> Iterator[str]:
    """The strings of a response, at any depth, that can be texts for the model."""
    waiting = [response]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, dict) and value.get("isImage") is not True:
            waiting += (inner for name, inner in value.items() if name not in _UNSEEN)


def call_of(request: Request) -> str:
    """The id of the call, "" when the client does not say."""
    return request.text("tool_use_id")


def note_of(request: Request) -> str:
    """The name of the note in which a reader says where it kept the output."""
    return request.text("output_note") or call_of(request)


def is_command(client: Client, request: Request) -> bool:
    """Whether this is a command, at whose output a reader may have been."""
    return bool(client.commands) and request.tool == client.commands


def is_computed_with(client: Client, request: Request) -> bool:
    """Whether a script of the model's gets the result, so that it has to stay as it is."""
    return client.replaces == BLOCK and call_of(request).startswith(_NESTED)


def updated(response: str) -> str:
    """Claude Code's answer: the tool's response, as JSON, in its own shape."""
    return (
        '{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":'
        + response
        + "}}\n"
    )


def replaced(client: Client, request: Request, text: str) -> str:
    """The answer by which the model gets `text` in the place of all that the tool gave; beside it
    where that has to stay."""
    if client.replaces == UPDATE:
        return updated(_reshaped(request, text))
    if is_computed_with(client, request):
        return answer(client, text, "PostToolUse")
    if client.replaces == BLOCK:
        return f'{{"decision":"block","reason":{quote(text)}}}\n'
    if client.replaces == DENY:
        return f'{{"decision":"deny","reason":{quote(text)}}}\n'
    if client.replaces == MODIFY:
        kind = request.inner("toolResult").text("resultType") or "success"
        return (
            f'{{"modifiedResult":{{"resultType":{quote(kind)},'
            f'"textResultForLlm":{quote(text)}}}}}\n'
        )
    return text if client.replaces == TEXT else ""


def is_only_the_end(size: int, tail: str) -> bool:
    """Whether Gemini CLI had `size` bytes of an output that ends so, and no more."""
    return size >= _BUFFER and _ONLY_END in tail


def before(client: Client) -> str:
    """What has to be said before a text in the place of a result."""
    return NO_ERROR if client.replaces in (BLOCK, DENY) else ""


class Unframed:
    """The bytes of a result without what a client of `DENY` puts around it: so lines in the file
    have the numbers that they have in a command's output. What it says behind an output stays."""

    __slots__ = ("_begin", "_chunks", "_end", "found")

    def __init__(self, tool: str, chunks: Iterable[bytes]) -> None:
        self._begin = f"{UNTRUSTED[0]}\n{_OUTPUT if kind_of(tool) == SHELL else ''}".encode()
        self._end = f"\n{UNTRUSTED[1]}".encode()
        self._chunks = chunks
        self.found = False
        """Whether it was there, once all was taken."""

    def __iter__(self) -> Iterator[bytes]:
        chunks = iter(self._chunks)
        held = b""
        for chunk in chunks:
            held += chunk
            if len(held) >= len(self._begin):
                break
        self.found = held.startswith(self._begin)
        if not self.found:
            yield held
            yield from chunks
            return
        held = held[len(self._begin) :]
        for chunk in chunks:
            held += chunk
            yield held[: -len(self._end)]
            held = held[-len(self._end) :]
        yield held.removesuffix(self._end)


def _reshaped(request: Request, text: str) -> str:
    """A response of a command of Claude Code's without the members that say where it is kept: with
    them, the model would be told of that file as well."""
    raw = request.raw("tool_response")
    if not isinstance(request.value("tool_response"), dict):
        return quote(text)
    members = {name: part for name, (_, part) in raw_members(raw)[0].items()}
    members = {name: part for name, part in members.items() if name not in _PERSISTED}
    members["stdout"] = quote(text)
    return "{" + ",".join(f"{quote(name)}:{part}" for name, part in members.items()) + "}"
