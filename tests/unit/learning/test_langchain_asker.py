"""Models of LangChain, asked over HTTP in both of the protocols that are tested."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from langchain_core.tracers.langchain import wait_for_all_tracers
from pydantic import BaseModel, Field

from pannier.endpoint.answers import Answer, Cut, Fail, Fill, Garbled, Late, Moved, Say
from pannier.endpoint.model import Request, ScriptedModel
from pannier.endpoint.server import on_loopback
from pannier.learning.models.answers import ConsolidationAnswer, ExtractionAnswer
from pannier.learning.models.asking import AskError, Question, asked_tokens
from pannier.learning.models.langchain_asker import LangChainAsker, provider_of
from pannier.learning.models.wire import wire_schema

KEY = "sk-ant-a-key-that-nobody-may-see-0123456789"
FOUND = {
    "kind": "preference",
    "text": "Ask first.",
    "topic": "Quotes",
    "evidence": [3, 5],
    "widens": False,
}
EXTRACTED = {"summary": "Quotes.", "candidates": [FOUND]}
QUESTION = Question("Read it.", "m3: ask first", ExtractionAnswer, 500)

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(lambda _: Fill(EXTRACTED))


@pytest.fixture
def url(model: ScriptedModel) -> Iterator[str]:
    with on_loopback(model) as url:
        yield url


@pytest.fixture(params=["anthropic", "anthropic-tool", "openai"])
def asker(request: pytest.FixtureRequest, url: str) -> LangChainAsker:
    """Anthropic's newer models are held to a schema, those that are not known by a tool."""
    if request.param == "openai":
        return LangChainAsker("openai:gpt-5", f"{url}/v1", KEY, seconds=20)
    name = "claude-haiku-4-5" if request.param == "anthropic" else "of-a-gateway"
    return LangChainAsker(f"anthropic:{name}", url, KEY, seconds=20)


@contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _refused(asker: LangChainAsker, question: Question = QUESTION) -> AskError:
    with pytest.raises(AskError) as caught:
        asker.ask(question)
    assert KEY not in repr(caught.value) + str(caught.value) + caught.value.hint
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def test_an_answer(asker: LangChainAsker, model: ScriptedModel) -> None:
    """What comes back fits the schema, and says what it cost."""
    model.script(Fill(EXTRACTED, input_tokens=321))
    reply = asker.ask(QUESTION)
    assert reply.data == EXTRACTED
    assert (reply.input, reply.output > 0) == (321, True)
    assert reply.model == asker.model.partition(":")[2]


def test_what_is_asked(asker: LangChainAsker, model: ScriptedModel) -> None:
    """One request goes out: instructions as the system message, data as the only other, the whole
    schema, and how long the answer may be."""
    asker.ask(QUESTION)
    [request] = model.requests
    assert [text.text for text in request.texts] == ["Read it.", "m3: ask first"]
    assert request.form is not None
    assert bool(request.form.tool) == (asker.model == "anthropic:of-a-gateway")
    assert set(request.form.schema["properties"]) == {"summary", "candidates"}
    assert 500 in (request.body.get("max_tokens"), request.body.get("max_completion_tokens"))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Fail(401, f"invalid x-api-key: {KEY}"), "key"),
        (Fail(403), "key"),
        (Fail(429), "rate"),
        (Fail(500), "down"),
        (Fail(529, "Overloaded"), "down"),
        (Fail(404, "model: no-such"), "setting"),
        (Fail(400, "credit balance is too low"), "rate"),
        (Fail(400, "unknown parameter"), "refused"),
        (Fail(400, "prompt is too long: 210000 tokens > 200000 maximum"), "too_long"),
        (Fail(400, "This model's maximum context length is 8192 tokens."), "too_long"),
        (Fail(400, "request (9000 tokens) exceeds the available context size"), "too_long"),
        (Fail(413, "too many tokens"), "too_long"),
        (Cut(Fill(EXTRACTED)), "down"),
        (Garbled(), "down"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value}"[:40],
)
def test_trouble(asker: LangChainAsker, model: ScriptedModel, answer: Answer, kind: str) -> None:
    """Each kind of trouble is told apart, costs one request, and names the model."""
    model.script(answer)
    error = _refused(asker)
    assert error.kind == kind
    assert "\n" not in error.message + error.hint
    assert len(model.requests) == 1
    if not isinstance(answer, Garbled):
        assert asker.name in error.message


def test_asked_too_often(asker: LangChainAsker, model: ScriptedModel) -> None:
    """How long a server wants to be left alone is told."""
    model.script(Fail(429, retry_after=70), Fail(529, retry_after=3))
    assert [_refused(asker).after for _ in range(2)] == [70, 3]


@pytest.mark.parametrize(
    "data",
    [
        {"summary": 5, "candidates": []},
        {"candidates": []},
        {"summary": "", "candidates": [{**FOUND, "kind": "rumour"}]},
        {"summary": "", "candidates": [{**FOUND, "evidence": ["all of it"]}]},
        {"summary": "x" * 20_001, "candidates": []},
        {"summary": "", "candidates": [FOUND] * 201},
    ],
    ids=lambda data: str(data)[:40],
)
def test_not_of_the_schema(
    asker: LangChainAsker, model: ScriptedModel, data: dict[str, object]
) -> None:
    """What does not fit the schema is no answer, and was paid."""
    model.script(Fill(data, input_tokens=100))
    error = _refused(asker)
    assert error.kind == "answer"
    assert error.tokens > 100


@pytest.mark.parametrize("text", ['{"summary": "a', "I would rather not.", "[]", "", "5", "null"])
def test_no_json(asker: LangChainAsker, model: ScriptedModel, text: str) -> None:
    """What is no object of JSON is no answer."""
    model.script(Say(text))
    assert _refused(asker).kind == "answer"


@pytest.mark.parametrize("name", ["anthropic:of-a-gateway", "openai:gpt-5"])
def test_an_answer_without_room(name: str, url: str, model: ScriptedModel) -> None:
    """An answer that was cut short is none, even when it can be read."""
    model.script(Fill(EXTRACTED, cut_short=True))
    base = f"{url}/v1" if name.startswith("openai") else url
    error = _refused(LangChainAsker(name, base, KEY))
    assert error.kind == "answer"
    assert "no room" in error.message


def test_lists_as_texts(asker: LangChainAsker, model: ScriptedModel) -> None:
    """A list that came as a text of JSON is read."""
    model.script(Fill({"summary": "Quotes.", "candidates": json.dumps([FOUND])}))
    assert asker.ask(QUESTION).data == EXTRACTED


def test_a_lone_surrogate(asker: LangChainAsker, model: ScriptedModel) -> None:
    """Half a character, as when a server cuts an emoji: what is answered can be stored, or is no
    answer (a tool's arguments are read by the provider's own library)."""
    model.script(Fill('{"summary": "Quotes \\ud83d", "candidates": []}'))
    if asker.model == "anthropic:of-a-gateway":
        assert _refused(asker).kind == "answer"
    else:
        assert asker.ask(QUESTION).data["summary"].encode().strip() == b"Quotes"


def test_a_slow_server(asker: LangChainAsker, model: ScriptedModel) -> None:
    """A server that takes too long is left; that it may be paid is told."""
    model.script(Late(30, Fill(EXTRACTED)))
    begun = time.monotonic()
    error = _refused(replace(asker, seconds=0.5))
    assert error.kind == "down"
    assert error.tokens == asked_tokens(QUESTION)
    assert time.monotonic() - begun < 10


def test_a_server_that_drips() -> None:
    """A server that sends a byte now and then is left, too."""
    stop = threading.Event()

    class Dripping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            while not stop.wait(0.05):
                self.wfile.write(b" ")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with _serving(Dripping) as url:
        try:
            error = _refused(LangChainAsker("openai:m", url, seconds=1))
        finally:
            stop.set()
    assert error.kind == "down"


def test_nobody_there(asker: LangChainAsker, model: ScriptedModel) -> None:
    """Where nobody answers, nothing was paid."""
    error = _refused(replace(asker, base_url="http://127.0.0.1:9"))
    assert (error.kind, error.tokens) == ("down", 0)
    assert "nobody answers" in error.message


def test_redirects(asker: LangChainAsker, model: ScriptedModel) -> None:
    """A redirect is not followed: neither question nor key go elsewhere."""
    elsewhere = ScriptedModel()
    with on_loopback(elsewhere) as other:
        model.script(Moved(f"{other}/v1/messages"))
        error = _refused(asker)
    assert elsewhere.requests == ()
    assert error.kind == "setting"
    assert "base_url" in error.hint


def test_where_a_refused_key_comes_from(asker: LangChainAsker, model: ScriptedModel) -> None:
    """The variable is named; where none was sent, the setting that names one."""
    model.script(Fail(401), Fail(401))
    assert "Look at MINE in the environment" in _refused(replace(asker, key_from="MINE")).hint
    assert "learning.key_from" in _refused(replace(asker, key=None)).hint


def test_proxies(
    asker: LangChainAsker, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy of the environment gets nothing that is not encrypted."""
    proxy = ScriptedModel()
    with on_loopback(proxy) as other:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_PROXY", "ANTHROPIC_PROXY"):
            monkeypatch.setenv(name, other)
        assert asker.ask(QUESTION).data == EXTRACTED
    assert proxy.requests == ()


def test_what_the_environment_says(
    asker: LangChainAsker, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is traced, and no other server is asked, whatever the environment says."""
    other_model = ScriptedModel()
    with on_loopback(other_model) as other:
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
            monkeypatch.setenv(name, other)
        monkeypatch.setenv("LANGSMITH_ENDPOINT", other)
        monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2_x")
        for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING_V2"):
            monkeypatch.setenv(name, "true")
        assert asker.ask(QUESTION).data == EXTRACTED
        wait_for_all_tracers()
    assert other_model.requests == ()


def test_the_key(url: str, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key goes to the server as its protocol wants it; a usual one of the environment does not
    go to a server of one's own."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    seen: list[str] = []
    take = model.take

    def spy(method: str, path: str, headers: dict[str, str], body: dict[str, object]) -> Request:
        seen.append(str(headers))
        return take(method, path, headers, body)

    model.take = spy  # type: ignore[assignment, method-assign]
    for name, base in (("openai:m", f"{url}/v1"), ("anthropic:m", url)):
        LangChainAsker(name, base).ask(QUESTION)
        assert KEY not in seen[-1]
        LangChainAsker(name, base, "another-key").ask(QUESTION)
        assert KEY not in seen[-1]
        assert "another-key" in seen[-1]


def test_the_key_is_not_shown() -> None:
    """An asker that is printed shows no key."""
    assert KEY not in repr(LangChainAsker("openai:m", None, KEY))


@pytest.mark.parametrize(
    ("name", "package"),
    [("mistralai:m", "langchain-mistralai"), ("google_genai:m", "langchain-google-genai")],
)
def test_a_package_that_is_missing(name: str, package: str) -> None:
    """Where a provider's package is missing, one line names it."""
    error = _refused(LangChainAsker(name))
    assert error.kind == "unset"
    assert package in error.message
    assert error.hint.endswith(f"pip install {package}")


@pytest.mark.parametrize("name", ["nobody:m", "some-model-of-mine"])
def test_no_such_provider(name: str) -> None:
    """A name with no provider that is known is said to be so."""
    error = _refused(LangChainAsker(name))
    assert error.kind == "unset"
    assert name in error.message


def test_windows() -> None:
    """The window is what the settings say, else what is known of the model, else 128,000."""
    assert LangChainAsker("anthropic:claude-haiku-4-5").window == 200_000
    assert LangChainAsker("anthropic:claude-haiku-4-5", known_window=9_000).window == 9_000
    assert LangChainAsker("openai:some-model", "http://127.0.0.1:9").window == 128_000


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("anthropic:claude-haiku-4-5", "anthropic"),
        ("claude-haiku-4-5", "anthropic"),
        ("gpt-5", "openai"),
        ("google-genai:gemini", "google_genai"),
        ("ollama:llama3:8b", "ollama"),
        ("mine", ""),
    ],
)
def test_providers(model: str, provider: str) -> None:
    """The provider stands before the colon, or follows from the name."""
    assert provider_of(model) == provider


def test_an_error_that_is_recorded() -> None:
    """An error can be written down and raised again, whole."""
    error = AskError("rate", "a", "b", after=3.5, tokens=7)
    again = pickle.loads(pickle.dumps(error))
    fields: Callable[[AskError], object] = lambda e: (e.kind, e.message, e.hint, e.after, e.tokens)  # noqa: E731
    assert fields(again) == fields(error)


@pytest.mark.parametrize("answer", [ExtractionAnswer, ConsolidationAnswer])
def test_the_schema_that_goes_out(answer: type[BaseModel]) -> None:
    """It has no references, limits, defaults or optional keys, and says the limits in words."""
    schema = wire_schema(answer)
    text = json.dumps(schema)
    for word in ("$ref", "$defs", "maxLength", "maxItems", "default"):
        assert f'"{word}"' not in text
    assert "At most 2000 characters." in text

    def closed(value: object) -> None:
        if isinstance(value, dict):
            if value.get("type") == "object":
                assert value["required"] == list(value["properties"])
                assert value["additionalProperties"] is False
            for inner in value.values():
                closed(inner)

    closed(schema)


def test_properties_that_are_named_like_keywords() -> None:
    """A property may have any name."""

    class Odd(BaseModel):
        title: str = Field(default="", max_length=3, description="A title.")
        items: list[int] | None = None

    schema = wire_schema(Odd)
    assert schema["properties"]["title"] == {
        "type": "string",
        "description": "A title. At most 3 characters.",
    }
    assert schema["properties"]["items"]["anyOf"][1] == {"type": "null"}
