"""Any model of LangChain's `init_chat_model`, asked once and held to a schema.

With Anthropic's and OpenAI's protocols (the latter is spoken by many servers) a redirect is never
followed, and a proxy of the environment is used only for `https`, where it sees no key. What is
asked goes to the model alone: tracing to third parties, which the environment may switch on, is
off.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, TypeVar

from pannier.learning.models.asking import SECONDS, WINDOW, AskError, Question, Reply, asked_tokens
from pannier.learning.models.failures import ask_error
from pannier.learning.models.wire import read_answer, read_text, wire_schema
from pannier.shown import brief
from pannier_hook.estimate import estimate

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

_OWN_SERVER = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
_T = TypeVar("_T")
_PIP = re.compile(r"pip install (?:-U )?[`'\"]?([a-z0-9_-]+)")
_NO_KEY = "none"
"""What a server of one's own is sent: the protocols want some key."""
_NO_ROOM = frozenset(("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "incomplete"))


@dataclass(frozen=True)
class LangChainAsker:
    """A model by its name, such as `anthropic:claude-haiku-4-5`."""

    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    """None: the library looks for the provider's usual one, or none is needed."""
    key_from: str = ""
    """The variable in which the key was."""
    known_window: int | None = None
    seconds: float = SECONDS
    """No call takes longer."""

    @property
    def name(self) -> str:
        return self.model

    @property
    def provider(self) -> str:
        """As far as the name says."""
        return provider_of(self.model)

    @property
    def about_key(self) -> str:
        """Where a key that is not taken comes from."""
        if self.key_from:
            where = f"Look at {self.key_from}"
        elif self.key is None and self.provider in _OWN_SERVER:
            return "It was sent none: name the variable that holds it in learning.key_from."
        else:
            where = f"Look at the key of {self.provider or 'the provider'}"
        return f"{where} in the environment of the daemon, and of `pannier learned run`."

    @cached_property
    def window(self) -> int:
        if self.known_window is not None:
            return self.known_window
        with _own_errors(self):
            most = (self._model(1).profile or {}).get("max_input_tokens")
        return most if isinstance(most, int) and most > 0 else WINDOW

    def ask(self, question: Question) -> Reply:
        """Ask once. Raises AskError."""
        paid = asked_tokens(question)
        with _own_errors(self, paid), self._connections() as http:
            model = self._model(question.most, http)
            said = _within(self.seconds, lambda: _invoke(model, self.provider, question))
        return self._reply(question, said, paid)

    def _model(self, most: int, http: Any = None) -> BaseChatModel:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415

        given: dict[str, Any] = {"num_predict" if self.provider == "ollama" else "max_tokens": most}
        if self.provider in _OWN_SERVER:
            # Nothing of these is left to the environment.
            given["base_url"] = self._server
            given["api_key"] = self.key or _NO_KEY
            given |= {"max_retries": 0, "timeout": self.seconds}
        else:
            optional = {"base_url": self.base_url, "api_key": self.key}
            given |= {name: value for name, value in optional.items() if value}
        if self.provider == "openai":
            given |= {"openai_proxy": None, "http_client": http}
        if self.provider == "ollama" and self.known_window:
            # Else it reads the end of a long question only.
            given["num_ctx"] = self.known_window
        model: BaseChatModel = init_chat_model(self.model, **given)
        if self.provider == "anthropic" and http is not None:
            chat: Any = model
            chat.__dict__["_client"] = chat._client.with_options(http_client=http)
        return model

    @property
    def _server(self) -> str:
        return self.base_url or _OWN_SERVER[self.provider]

    @contextmanager
    def _connections(self) -> Iterator[Any]:
        """Ours, where the library takes them; else None."""
        if self.provider == "anthropic":
            from anthropic import DefaultHttpxClient  # noqa: PLC0415
        elif self.provider == "openai":
            from openai import DefaultHttpxClient  # noqa: PLC0415
        else:
            yield None
            return
        with DefaultHttpxClient(
            follow_redirects=False,
            trust_env=self._server.startswith("https://"),
            timeout=self.seconds,
        ) as http:
            yield http

    def _reply(self, question: Question, raw: AIMessage, paid: int) -> Reply:
        usage: Mapping[str, Any] = raw.usage_metadata or {}
        read = usage.get("input_tokens") or paid
        made = usage.get("output_tokens") or estimate(str(raw.content) + str(raw.tool_calls))
        ending = raw.response_metadata
        if _NO_ROOM & {ending.get(k) for k in ("finish_reason", "stop_reason", "done_reason")}:
            what = f"{self.name} had no room to end its answer ({question.most} tokens)"
            raise AskError("answer", what, tokens=read + made)
        if ending.get("stop_reason") == "refusal":
            raise AskError("refused", f"{self.name} refused to answer", tokens=read + made)
        try:
            # Not what the library made of it: it mends a text that ends too early.
            call = next(iter(raw.tool_calls), None)
            data = (
                read_answer(question.answer, call["args"])
                if call
                else read_text(question.answer, raw.text)
            )
        except ValueError as error:
            what = f"{self.name} answered what does not fit: {error}"
            raise AskError("answer", what, tokens=read + made) from None
        return Reply(data, read, made, str(ending.get("model_name") or self.name))


def provider_of(model: str) -> str:
    """The provider in a model's name, or what its beginning says; "" if neither does."""
    before, colon, _ = model.partition(":")
    if colon:
        return before.replace("-", "_").lower()
    beginnings = {"claude": "anthropic", "gpt-": "openai", "o1": "openai", "o3": "openai"}
    return next((p for begin, p in beginnings.items() if model.lower().startswith(begin)), "")


def _invoke(model: BaseChatModel, provider: str, question: Question) -> AIMessage:
    from langsmith import tracing_context  # noqa: PLC0415

    form: dict[str, Any] = {}
    if provider == "openai":
        form = {"method": "json_schema", "strict": True}
    elif provider == "anthropic" and (model.profile or {}).get("structured_output"):
        # The newest of them refuse that a tool must be called.
        form = {"method": "json_schema"}
    schema = wire_schema(question.answer)
    held = model.with_structured_output(schema, include_raw=True, **form)
    with tracing_context(enabled=False):
        said: Any = held.invoke([("system", question.instructions), ("human", question.data)])
    message: AIMessage = said["raw"]
    return message


def _within(seconds: float, work: Callable[[], _T]) -> _T:
    """What it gives. A server that sends a byte now and then would be waited for for ever, by any
    time-out of a library. Raises TimeoutError, and whatever `work` does."""
    done: Queue[tuple[_T, None] | tuple[None, BaseException]] = Queue(1)

    def run() -> None:
        try:
            done.put((work(), None))
        except BaseException as error:
            done.put((None, error))

    threading.Thread(target=run, name="ask", daemon=True).start()
    try:
        given, error = done.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return given  # type: ignore[return-value]


@contextmanager
def _own_errors(asker: LangChainAsker, paid: int = 0) -> Iterator[None]:
    """Everything as AskError, without what the library's exceptions hold of the request."""
    try:
        yield
    except AskError:
        raise
    except ImportError as error:
        raise _not_installed(asker.model, error) from None
    except ValueError as error:
        if "model_provider" in str(error) or "Unsupported provider" in str(error):
            raise no_provider(asker.model) from None
        raise _trouble(asker, error, paid) from None
    except Exception as error:
        raise _trouble(asker, error, paid) from None


def no_provider(model: str) -> AskError:
    """The name says none that is known."""
    hint = "Write it as provider:model, such as anthropic:claude-haiku-4-5."
    text = f"learning.model: {brief(model, 80)!r} names no provider that is known"
    return AskError("unset", text, hint)


def needs(model: str, package: str) -> AskError:
    """A package is missing."""
    if package in ("langchain", "langchain-anthropic", "langchain-openai", "langsmith"):
        package = "'pannier[learning]'"
    text = f"learning.model: {brief(model, 80)} needs the Python package {package}"
    return AskError("unset", text, f"Install it beside pannier: pip install {package}")


def _trouble(asker: LangChainAsker, error: Exception, paid: int) -> AskError:
    return ask_error(error, asker.name, key=asker.key or "", about_key=asker.about_key, paid=paid)


def _not_installed(model: str, error: ImportError) -> AskError:
    wanted = _PIP.search(str(error))
    package = wanted[1] if wanted else (error.name or "").partition(".")[0].replace("_", "-")
    return needs(model, package)
