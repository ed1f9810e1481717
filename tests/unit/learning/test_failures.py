"""What libraries and programs say of their trouble, by kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError, model_validator

from pannier.learning.models.failures import ask_error, told

KEY = "a-key-of-no-known-form"


@dataclass
class Response:
    """Of HTTP, as the libraries have it."""

    status_code: int
    headers: dict[str, str] = field(default_factory=dict)


class Failed(Exception):
    """As of a library that nobody here knows."""

    def __init__(self, text: str, response: Response | None = None, code: object = None) -> None:
        super().__init__(text)
        self.response = response
        self.code = code


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Failed("x", Response(401)), "key"),
        (Failed("x", code=403), "key"),
        (Failed("x", Response(429)), "rate"),
        (Failed("x", Response(503)), "down"),
        (Failed("x", Response(408)), "down"),
        (Failed("x", Response(302)), "setting"),
        (Failed("x", Response(404)), "setting"),
        (Failed("x", Response(405)), "setting"),
        (Failed("x", Response(402)), "rate"),
        (Failed("Your credit balance is too low", Response(400)), "rate"),
        (Failed("x", Response(400)), "refused"),
        (Failed("x", Response(422)), "refused"),
        (Failed("maximum context length is 4", Response(400)), "too_long"),
        (Failed("x", Response(200)), "answer"),
        (Failed("x", code="429"), "answer"),
        (TimeoutError(), "down"),
        (ConnectionRefusedError("refused"), "down"),
        (ConnectionResetError("reset"), "down"),
        (KeyError("choices"), "answer"),
    ],
    ids=repr,
)
def test_kinds(error: Exception, kind: str) -> None:
    """The kind follows from a status of HTTP, or from the class, whichever library raises it."""
    assert ask_error(error, "model").kind == kind


def test_what_was_paid() -> None:
    """A question that never went out cost nothing; of one that was cut off it is not known."""
    assert ask_error(ConnectionRefusedError(), "model", paid=9).tokens == 0
    assert ask_error(ConnectionResetError(), "model", paid=9).tokens == 9
    assert ask_error(TimeoutError(), "model", paid=9).tokens == 9
    assert ask_error(Failed("x", Response(429)), "model", paid=9).tokens == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "70"}, 70.0),
        ({"retry-after": "1.5"}, 1.5),
        (
            {
                "date": "Mon, 30 Nov 2026 10:00:00 GMT",
                "retry-after": "Mon, 30 Nov 2026 10:02:00 GMT",
            },
            120.0,
        ),
        ({"retry-after": "Mon, 30 Nov 2026 10:02:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "inf"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({}, 0.0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float) -> None:
    """How long a server wants to be left alone, in seconds or as a date by its own clock."""
    error = ask_error(Failed("x", Response(429, headers)), "model")
    assert error.after == seconds


def test_settings_that_a_library_does_not_take() -> None:
    """What it was given, a key among it, is not shown."""

    class Model(BaseModel):
        api_key: str

        @model_validator(mode="after")
        def _refuse(self) -> Model:
            raise ValueError("API key required")

    with pytest.raises(ValidationError) as caught:
        Model(api_key=KEY)
    error = ask_error(caught.value, "model")
    assert error.kind == "key"
    assert KEY not in error.message + error.hint
    assert "API key required" in error.hint


@given(st.text(), st.text(max_size=20), st.text(max_size=20))
def test_no_message_holds_the_key(before: str, after: str, model: str) -> None:
    """Wherever it stands in what a library says, and in one line."""
    text = f"{before}{KEY}{after}"
    for error in (Failed(text, Response(401)), Failed(text, Response(500)), ValueError(text)):
        found = ask_error(error, "model", key=KEY)
        assert KEY not in found.message + found.hint
        assert len(f"{found.message}{found.hint}".splitlines()) == 1


@given(st.text())
def test_any_words_are_understood(text: str) -> None:
    """Whatever a program says, there is a kind, and one line."""
    found = told(text, "model")
    assert found.kind in ("down", "login", "rate", "refused", "too_long")
    assert len(found.hint.splitlines()) <= 1


def test_a_client_without_a_login_is_asked_again() -> None:
    """Nobody is told when a person logs in there, or names another model in it."""
    assert told("Please run /login", "the client").kind == "login"
    assert told("API Error: 401 authentication failed", "the client").kind == "login"
    assert told("API Error: 404 model: no-such", "the client", 404).kind == "login"


def test_a_key_that_is_not_taken_is_named() -> None:
    """By the variable it came from; where none was sent, by the setting."""
    about = "Look at MY_KEY in the environment."
    error = ask_error(Failed("no", Response(401)), "model", key=KEY, about_key=about)
    assert error.hint == "Look at MY_KEY in the environment. It says: no"
