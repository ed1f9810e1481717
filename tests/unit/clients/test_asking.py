"""How clients are asked by the sidecar, and what they print."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.clients.asking import WAYS, WORKDIR, Said, Sheet
from pannier.learning.models.failures import told

SHEET = Sheet("Read it.", '{"type": "object"}')
DATA = {"summary": "s", "candidates": []}


def _lines(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


USAGE = {"input_tokens": 7, "output_tokens": 3}
TOKENS = {"stats": {"models": {"m": {"tokens": {"prompt": 7, "candidates": 2, "thoughts": 1}}}}}
GEMINI_ERROR = {"error": {"type": "Error", "message": "invalid key", "code": 401}}


@pytest.mark.parametrize(
    ("client", "output", "errors", "said"),
    [
        (
            "claude",
            json.dumps({"structured_output": DATA, "result": "{}", "usage": USAGE}),
            "",
            Said(answer=DATA, text="{}", input=7, output=3),
        ),
        (
            "claude",
            json.dumps(
                {
                    "usage": {**USAGE, "cache_read_input_tokens": 5},
                    "result": "I would rather not.",
                    "is_error": False,
                }
            ),
            "",
            Said(text="I would rather not.", input=12, output=3),
        ),
        (
            "claude",
            json.dumps({"is_error": True, "result": "API Error", "api_error_status": 529}),
            "",
            Said(trouble="API Error", status=529),
        ),
        (
            "codex",
            _lines(
                {"type": "thread.started"},
                {"type": "item.completed", "item": {"type": "error", "message": "some feature"}},
                {"type": "item.completed", "item": {"type": "agent_message", "text": "{}"}},
                {"type": "turn.completed", "usage": USAGE},
            ),
            "",
            Said(text="{}", input=7, output=3),
        ),
        (
            "codex",
            "a warning\n" + _lines({"type": "turn.failed", "error": {"message": "status 401"}}),
            "",
            Said(trouble="status 401"),
        ),
        (
            "gemini",
            json.dumps({"response": "{}", **TOKENS}),
            "a warning",
            Said(text="{}", input=7, output=3),
        ),
        (
            "gemini",
            "",
            f"Error: at x {{\n  status: 401\n}}\n{json.dumps(GEMINI_ERROR, indent=1)}\n",
            Said(trouble="invalid key", status=401),
        ),
        ("gemini", "", "no such option", Said(trouble="no such option")),
        (
            "qwen",
            json.dumps(
                [{"type": "result", "is_error": False, "structured_result": DATA, "usage": USAGE}]
            ),
            "",
            Said(answer=DATA, input=7, output=3),
        ),
        (
            "qwen",
            json.dumps([{"type": "result", "is_error": True, "error": {"message": "401"}}]),
            "",
            Said(text="401", trouble="401"),
        ),
        ("qwen", "[]", "", Said(trouble="it failed")),
    ],
)
def test_what_is_printed(client: str, output: str, errors: str, said: Said) -> None:
    """Answer, trouble and tokens are found in what each client prints at its end."""
    assert WAYS[client].read(output, errors) == said


@pytest.mark.parametrize("client", sorted(WAYS))
@given(
    output=st.text()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(json.dumps),
    errors=st.text(),
)
def test_anything_may_be_printed(client: str, output: str, errors: str) -> None:
    """What is of no form that is known is said to be so."""
    try:
        said = WAYS[client].read(output, errors)
    except ValueError:
        return
    assert isinstance(said, Said)


@pytest.mark.parametrize("client", sorted(WAYS))
def test_the_question(client: str) -> None:
    """Instructions and schema go along, in the command or in a file outside of the empty folder in
    which the client works."""
    way = WAYS[client]
    given = (*way.command(SHEET), *way.files(SHEET).values())
    assert any(SHEET.instructions in text for text in given)
    assert any(SHEET.schema in text for text in given)
    assert not any(file.startswith(WORKDIR) for file in way.files(SHEET))


@pytest.mark.parametrize(
    ("words", "status", "kind"),
    [
        ("Prompt is too long · this conversation", 400, "too_long"),
        ("the input exceeds the context window of this model", None, "too_long"),
        ("unexpected status 401 Unauthorized", None, "login"),
        ("Invalid API key · Please run /login", None, "login"),
        ("Not logged in", None, "login"),
        ("exceeded retry limit, last status: 429 Too Many Requests", None, "rate"),
        ("You have hit your usage limit.", None, "rate"),
        ("[API Error: 529 over]", None, "down"),
        ("stream disconnected", None, "down"),
        ("", None, "down"),
        ("no such model", 404, "login"),
    ],
)
def test_trouble_in_words(words: str, status: int | None, kind: str) -> None:
    """The kind of trouble follows from the status, or else from the words. What lies in the login
    or the settings of the client, in which nobody sees a change, is tried again with pauses."""
    assert told(words, "the client", status).kind == kind


def test_secrets_in_words() -> None:
    """A key that a client repeats is not shown."""
    key = "sk-ant-api03-" + "a1B2" * 20
    error = told(f"401 invalid x-api-key: {key}", "the client")
    assert key not in error.message + error.hint
