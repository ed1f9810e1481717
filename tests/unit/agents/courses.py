"""Random courses of a thread, straight through `Context` without an agent around it: hundreds of
calls a second, with all that can go wrong between them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.runtime import Runtime

from pannier_agents.context import Context
from pannier_agents.group import Group
from pannier_agents.messages import injected
from pannier_agents.settings import Compaction, ContextSettings, Pruning

from . import pairing
from .scripted import found, holds, look, text_tokens

KINDS = ("english", "code", "chinese", "japanese", "digits")
SYSTEM = SystemMessage("You work in a harbour's office.")


class Model:
    """What `Context` needs of a chat model: a profile; and for summaries, an answer."""

    def __init__(self, window: int, chance: random.Random) -> None:
        self.profile = {"max_input_tokens": window}
        self.window, self.chance = window, chance
        self.outcomes = ["well"]
        self.written = 0

    def invoke(self, messages: list[AnyMessage], config: Any = None) -> AIMessage:
        outcome = self.chance.choice(self.outcomes)
        if outcome == "fails":
            raise RuntimeError("no answer")
        if outcome == "too long":
            raise ContextOverflowError("prompt is too long")
        if outcome == "empty":
            return AIMessage("")
        self.written += 1
        return AIMessage(f"Noted ({self.written}). " * (5_000 if outcome == "endless" else 20))


@dataclass
class Course:
    """One thread. `run` gives back what was wrong, a line each."""

    seed: int
    group: Group
    chance: random.Random = field(init=False)
    messages: list[AnyMessage] = field(default_factory=list)
    marks: dict[str, Any] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    requests: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        chance = self.chance
        self.factor = chance.choice([0.7, 1.0, 1.0, 1.25, 1.6])
        self.reports = chance.random() < 0.8
        windows = [chance.choice([8_000, 20_000, 60_000]) for _ in range(2)]
        self.models = [Model(window, chance) for window in windows]
        outcomes = ["well", "well", "fails", "too long", "empty", "endless"]
        for model in self.models:
            model.outcomes = chance.choice([["well"], outcomes, ["fails"], ["endless"]])
        self.model = self.models[0]
        self.context = Context(self._settings(), group=self.group)
        self._number = 0
        self._places: list[tuple[list[AnyMessage], dict[str, Any]]] = []
        self.task = ""

    def _settings(self) -> ContextSettings:
        chance = self.chance
        return ContextSettings(
            pruning=Pruning(
                trim_tool_results=chance.random() < 0.9, protect_recent=chance.choice([0, 1, 3, 8])
            ),
            compaction=Compaction(
                reserve_tokens=chance.choice([500, 2_000, 16_384]),
                keep_recent_tokens=chance.choice([500, 2_000, 20_000]),
                min_messages=chance.choice([2, 20]),
            ),
        )

    def run(self, steps: int) -> list[str]:
        """Raises nothing: what is raised is wrong, too."""
        self._memory_and_task()
        acts: list[tuple[Callable[[], None], int]] = [
            (self._step, 30),
            (self._say, 2),
            (self._switch, 1),
            (self._back, 1),
            (self._fail, 1),
            (self._forget, 1),
        ]
        for _ in range(steps):
            [act] = self.chance.choices([one for one, _ in acts], [weight for _, weight in acts])
            try:
                act()
            except Exception as problem:
                self.wrong.append(f"{act.__name__}: {problem!r}")
        return self.wrong

    # ---- what happens ----

    def _memory_and_task(self) -> None:
        self.task = "Find every crate.  " + "词" * self.chance.choice([5, 200])
        memory = injected("memory", "The mug is blue. " * 20).model_copy(update={"id": "memory"})
        self.messages = [memory, HumanMessage(self.task, id="task")]

    def _step(self) -> None:
        """A model call, and the results of what it calls."""
        answer = self._ask(self._calls())
        if answer is None:
            return
        self.messages.append(answer)
        for call in (*answer.tool_calls, *answer.invalid_tool_calls):
            self.messages.append(self._result(str(call["id"])))
        if self.chance.random() < 0.1:
            self._places.append((list(self.messages), dict(self.marks)))

    def _say(self) -> None:
        """The turn ends, and the next one begins."""
        answer = self._ask([])
        if answer is None:
            return
        self._number += 1
        text = "Go on. " * self.chance.choice([1, 1, 1, 300])
        self.messages += [answer, HumanMessage(f"{text}{self._number}", id=f"h{self._number}")]
        if self.chance.random() < 0.2:
            beside = injected("message", "By the way: the ferry is late.")
            self.messages.append(beside.model_copy(update={"id": f"q{self._number}"}))

    def _switch(self) -> None:
        """To the other model."""
        self.model = self.models[self.model is self.models[0]]

    def _back(self) -> None:
        """To an earlier checkpoint."""
        if self._places:
            messages, marks = self.chance.choice(self._places)
            self.messages, self.marks = list(messages), dict(marks)

    def _fail(self) -> None:
        """The provider is down: nothing is kept of the call."""
        before = len(self.messages), self.marks
        try:
            self._ask([], down=True)
        except ConnectionError:
            pass
        else:
            self.wrong.append("the model's failure did not go on")
        assert before == (len(self.messages), self.marks)

    def _forget(self) -> None:
        """Somebody takes a part of the history away, in whole pairs."""
        places = [n for n, one in enumerate(self.messages) if isinstance(one, AIMessage)]
        if len(places) > 4 and self.chance.random() < 0.3:
            begin, end = sorted(self.chance.sample(places, 2))
            gone = self.messages[begin:end]
            # A person's words stay; two of them in a row are allowed.
            said = [one for one in gone if isinstance(one, HumanMessage)]
            self.messages[begin:end] = said

    # ---- the model call ----

    def _ask(self, calls: list[dict[str, Any]], *, down: bool = False) -> AIMessage | None:
        request: ModelRequest[Any] = ModelRequest(
            model=self.model,  # type: ignore[arg-type]
            messages=list(self.messages),
            system_message=SYSTEM,
            tools=[look],
            state={"messages": list(self.messages), "pannier_context": self.marks},  # type: ignore[arg-type]
            runtime=Runtime(),
        )
        self.requests += 1
        tries = 0

        def handler(asked: ModelRequest[Any]) -> ModelResponse[Any]:
            nonlocal tries
            tries += 1
            if down:
                raise ConnectionError("the provider is down")
            tokens = self._check(asked.messages, tries)
            return ModelResponse(result=[self._answer(calls, tokens)])

        response = self.context.wrap_model_call(request, handler)
        if isinstance(response, ExtendedModelResponse):
            if response.command:
                self.marks = (response.command.update or {}).get("pannier_context", self.marks)
            response = response.model_response
        [answer] = response.result
        assert isinstance(answer, AIMessage)
        return answer

    def _check(self, messages: list[AnyMessage], tries: int) -> int:
        where = f"request {self.requests}"
        self.wrong += [f"{where}: {one}" for one in pairing.in_messages(messages)]
        last = next(one.text for one in reversed(self.messages) if _is_request(one))
        tokens = self._count([SYSTEM, *messages])
        if tokens > self.model.window:
            self.refused += 1
            if tries > 3:
                self.wrong.append(f"{where}: {tokens} in {self.model.window}, try {tries}")
            raise ContextOverflowError(f"prompt is too long: {tokens} tokens")
        # A task that alone is a third of the window may have to give way.
        for text in (self.task, last):
            if text_tokens(text) * 3 < self.model.window and not holds(messages, text):
                self.wrong.append(f"{where}: {text[:20]!r} is not there word for word")
        return tokens

    def _count(self, messages: list[Any]) -> int:
        return round(sum(map(_tokens, messages)) * self.factor + 100)

    def _answer(self, calls: list[dict[str, Any]], tokens: int) -> AIMessage:
        self._number += 1
        broken = [
            {"name": "look", "args": '{"kind": ', "id": f"b{self._number}", "error": "cut off"}
            for _ in range(self.chance.random() < 0.03 and bool(calls))
        ]
        reported = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
        return AIMessage(
            "I look." if self.chance.random() < 0.5 or not calls else "",
            id=f"a{self._number}",
            tool_calls=calls,
            invalid_tool_calls=broken,
            usage_metadata=reported if self.reports else None,
        )

    def _calls(self) -> list[dict[str, Any]]:
        chance = self.chance
        made = []
        for k in range(chance.choice([1, 1, 2, 3, 4, 12])):
            long = chance.choice([1] * 20 + [8_000])
            made.append(
                {"name": "look", "args": {"note": "n " * long}, "id": f"c{self.requests}_{k}"}
            )
        return made

    def _result(self, call: str) -> ToolMessage:
        chance = self.chance
        size = chance.choice([0, 50, 500, 2_500, 9_000, 30_000])
        kind = chance.choice(KINDS)
        self._number += 1
        if kind == "digits":
            content: Any = "".join(chance.choices("0123456789", k=size))
        else:
            content = found(kind, size, self._number, chance.choice(["text", "text", "list"]))
        status = "error" if chance.random() < 0.1 else "success"
        id = f"r{self._number}"
        return ToolMessage(content, id=id, tool_call_id=call, name="look", status=status)


def _is_request(one: AnyMessage) -> bool:
    return isinstance(one, HumanMessage) and "pannier" not in one.additional_kwargs


def _tokens(message: AnyMessage) -> float:
    count = 6 + text_tokens(message.text) * (2 if message.text[:200].isdigit() else 1)
    if isinstance(message, AIMessage):
        count += sum(text_tokens(str(one["args"])) + 12 for one in message.tool_calls)
    return count
