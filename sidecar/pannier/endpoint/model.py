"""The scripted model: what it was asked, and what it answers next."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pannier.endpoint.answers import OK, Answer, Call, Fill, Say, tool_of
from pannier.endpoint.anthropic import Anthropic
from pannier.endpoint.dialect import Dialect, Form, Json, Text
from pannier.endpoint.gemini import Gemini
from pannier.endpoint.openai import OpenAIResponses
from pannier.endpoint.openai_chat import OpenAIChat

DIALECTS: tuple[Dialect, ...] = (Anthropic(), OpenAIResponses(), OpenAIChat(), Gemini())

_SECRET = frozenset(
    ("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
)


@dataclass(frozen=True)
class Request:
    """One request as it came, without what authorises it."""

    number: int
    """Counts up from 1, in the order of arrival."""
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Json
    dialect: str
    """Empty when the path belongs to no protocol that the endpoint speaks."""
    generates: bool
    texts: tuple[Text, ...]
    tools: frozenset[str]
    form: Form | None = None
    """What the answer has to look like, if the request says so."""

    @property
    def tokens(self) -> int:
        """A quarter of its characters: near enough for a client's budget."""
        return max(1, sum(len(t.text) for t in self.texts) // 4)

    def filled(self, answer: Fill) -> Say | Call:
        """The answer in the form that this request demands."""
        data, rest = answer.data, (answer.input_tokens, answer.cut_short)
        if self.form and self.form.tool:
            return Call(self.form.tool, data, *rest)
        text = data if isinstance(data, str) else json.dumps(dict(data), ensure_ascii=False)
        return Say(text, *rest)

    def holds(self, text: str) -> bool:
        return any(text in t.text for t in self.texts)


class ScriptedModel:
    """Keeps each request, and hands out the answers of its script one after the other.

    Safe to use from several threads.
    """

    def __init__(self, otherwise: Callable[[Request], Answer] = lambda _: OK) -> None:
        """`otherwise` answers when the script has nothing for a request."""
        self._otherwise = otherwise
        self._changed = threading.Condition()
        self._script: deque[Answer] = deque()
        self._requests: list[Request] = []
        self._answered: set[int] = set()

    def script(self, *answers: Answer) -> None:
        """Answer so next. What an earlier script has left comes first."""
        with self._changed:
            self._script.extend(answers)

    def forget_script(self) -> None:
        """Drop what was not asked for."""
        with self._changed:
            self._script.clear()

    @property
    def requests(self) -> tuple[Request, ...]:
        with self._changed:
            return tuple(self._requests)

    def since(self, number: int) -> tuple[Request, ...]:
        """The requests to the model itself that came after the request of this number."""
        return tuple(r for r in self.requests if r.number > number and r.generates)

    def wait_for(
        self, wanted: Callable[[Request], bool], *, after: int = 0, seconds: float
    ) -> Request | None:
        """The first model request after number `after` that is `wanted`, once it was answered
        in full; None when `seconds` are over."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                found = self._first_answered(wanted, self._requests[after:])
                left = deadline - time.monotonic()
                if found or left <= 0:
                    return found
                self._changed.wait(left)

    def _first_answered(
        self, wanted: Callable[[Request], bool], requests: Iterable[Request]
    ) -> Request | None:
        done = (r for r in requests if r.generates and r.number in self._answered)
        return next((r for r in done if wanted(r)), None)

    def take(self, method: str, path: str, headers: Mapping[str, str], body: Json) -> Request:
        """Keep a request. For the server."""
        dialect = dialect_of(method, path)
        lower = {name.lower(): value for name, value in headers.items()}
        with self._changed:
            request = Request(
                number=len(self._requests) + 1,
                method=method,
                path=path,
                headers={n: v for n, v in lower.items() if n not in _SECRET},
                body=body,
                dialect=dialect.name if dialect else "",
                generates=dialect.generates(path) if dialect else False,
                texts=dialect.texts(body) if dialect else (),
                tools=dialect.tools(body) if dialect else frozenset(),
                form=dialect.form(body) if dialect else None,
            )
            self._requests.append(request)
            self._changed.notify_all()
        return request

    def next_answer(self, request: Request) -> Answer:
        """What this request gets. For the server."""
        with self._changed:
            if self._script and tool_of(self._script[0]) in (None, *request.tools):
                return self._script.popleft()
            has_script = bool(self._script)
        return OK if has_script else self._otherwise(request)

    def answered(self, request: Request) -> None:
        """The answer to this request went out, or its connection broke. For the server."""
        with self._changed:
            self._answered.add(request.number)
            self._changed.notify_all()


def dialect_of(method: str, path: str) -> Dialect | None:
    """The protocol that a request belongs to."""
    return next((d for d in DIALECTS if d.handles(method, path)), None)
