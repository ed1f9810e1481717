"""What went wrong when a model was asked, whichever library says it. Pure.

The libraries of the providers have their own exceptions. What they share is looked at: a status of
HTTP, headers, and the names of their classes.
"""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from pydantic import ValidationError

from pannier.learning.models.asking import AskError
from pannier.redaction import mask
from pannier.shown import brief

_TOO_LONG = (
    "context length",
    "context size",
    "context window",
    "context_length",
    "maximum context",
    "prompt is too long",
    "too many tokens",
    "exceeds the available context",
    "input is too long",
)
_LOGGED_OUT = ("api key", "auth", "credential", "log in", "login", "logged in", "sign in")
_TOO_OFTEN = ("limit reached", "quota", "rate limit", "too many requests", "usage limit")
_KEY = ("api key", "api_key", "credential")
_STATUS = re.compile(r"\b(40[0-58]|413|422|429|5[0-3]\d)\b")
_NOT_PAID = frozenset(("ConnectError", "ConnectTimeout", "ConnectionRefusedError"))
_TIMEOUT = frozenset(
    ("APITimeoutError", "ModelTimeoutError", "TimeoutException", "TimeoutError", "Timeout")
)
_NO_CONNECTION = frozenset(
    ("APIConnectionError", "ModelConnectionError", "TransportError", "ConnectionError", "OSError")
)
_GARBLED = frozenset(("APIResponseValidationError", "JSONDecodeError"))
_NO_KEY = frozenset(("DefaultCredentialsError", "AuthenticationError"))
_TO_PAY = ("billing", "credit balance", "insufficient credit", "payment required")
_BUSY = (408, 409, 425)
_NOT_THERE = (404, 405, 410)
_OF_ITS_OWN = ("key", "setting")
"""What of a program's trouble lies in its own settings or its own login."""


def ask_error(
    error: BaseException, model: str, *, key: str = "", about_key: str = "", paid: int = 0
) -> AskError:
    """The trouble behind an exception of a library.

    `model` is its name for people, `key` what no message may hold, `about_key` where that comes
    from, `paid` what the tokens of a question come to of which it is not known whether it was
    answered.
    """
    names = _names(error)
    status = _status(error)
    said = _said(error, key)
    if "ContextOverflowError" in names or (
        status in (400, 413, 422) and _holds(str(error).lower(), _TOO_LONG)
    ):
        return _too_long(model, said)
    if "LengthFinishReasonError" in names:
        return AskError("answer", f"{model} had no room to end its answer", tokens=paid)
    if status is not None:
        return _of_status(status, model, said, _after(error), about_key)
    if "ModelRefusalError" in names:
        return AskError("refused", f"{model} refused to answer", said, tokens=paid)
    if _TIMEOUT & names:
        return AskError("down", f"{model} did not answer in time", tokens=_paid(error, paid))
    if _GARBLED & names:
        hint = "Look whether `base_url` names the API of a model server."
        return AskError("down", f"what answers for {model} is no model server", hint)
    if _NO_CONNECTION & names:
        begun = _paid(error, paid)
        what = "the connection broke" if begun else "nobody answers"
        return AskError("down", f"{model}: {what}", said, tokens=begun)
    if _NO_KEY & names or ("ValidationError" in names and _holds(said.lower(), _KEY)):
        return AskError("key", f"{model} has no key", f"{about_key} It says: {said}".strip())
    return AskError("answer", f"{model}: {type(error).__name__}", said, tokens=paid)


def told(text: str, model: str, status: int | None = None) -> AskError:
    """The trouble that a program tells in words, and perhaps with a status of HTTP."""
    said, words = brief(mask(text[:4_000]), 300), text.lower()
    if _holds(words, _TOO_LONG):
        return _too_long(model, said)
    if status is None and (found := _STATUS.search(text)):
        status = int(found[0])
    if status is not None and status >= 300:
        error = _of_status(status, model, said)
        if error.kind in _OF_ITS_OWN:
            error.kind = "login"
        return error
    if _holds(words, _LOGGED_OUT):
        return AskError("login", f"{model} has no login", said)
    if _holds(words, _TOO_OFTEN):
        return AskError("rate", f"{model} was asked too often", said)
    return AskError("down", f"{model} failed", said)


def _too_long(model: str, said: str) -> AskError:
    hint = f"Set learning.window to the tokens that it takes. It says: {said}"
    return AskError("too_long", f"{model}: the question is longer than its window", hint)


def _of_status(
    status: int, model: str, said: str, after: float = 0.0, about_key: str = ""
) -> AskError:
    if status == 402 or (status in (400, 403) and _holds(said.lower(), _TO_PAY)):
        return AskError("rate", f"{model} wants to be paid first (HTTP {status})", said)
    if status in (401, 403):
        hint = f"{about_key} It says: {said}" if about_key else said
        return AskError("key", f"{model} does not take the key (HTTP {status})", hint)
    if status == 429:
        return AskError("rate", f"{model} was asked too often (HTTP 429)", said, after=after)
    if status >= 500 or status in _BUSY:
        return AskError("down", f"{model} fails (HTTP {status})", said, after=after)
    if 300 <= status < 400:
        hint = "Set `base_url` to where it leads: a redirect is not followed."
        return AskError("setting", f"{model} is somewhere else (HTTP {status})", hint)
    if status in _NOT_THERE:
        hint = "Look at the name in learning.model"
        hint += f", and at learning.base_url, which often ends in /v1. It says: {said}"
        return AskError("setting", f"{model} is not there (HTTP {status})", hint)
    return AskError("refused", f"{model} does not take the request (HTTP {status})", said)


def chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, and what it came from."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or at.__context__


def _names(error: BaseException) -> frozenset[str]:
    return frozenset(kind.__name__ for kind in type(error).__mro__)


def _status(error: BaseException) -> int | None:
    for one in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "status"):
            value = getattr(one, name, None)
            if isinstance(value, int) and 300 <= value < 600:
                return int(value)
    return None


def _paid(error: BaseException, paid: int) -> int:
    return 0 if any(_NOT_PAID & _names(one) for one in chain(error)) else paid


def _holds(text: str, words: Iterable[str]) -> bool:
    return any(one in text for one in words)


def _said(error: BaseException, key: str) -> str:
    text = str(error)
    if isinstance(error, ValidationError):
        # Its own text shows the beginning of what a model was made with.
        text = "; ".join(one["msg"] for one in error.errors(include_input=False))
    if key:
        text = text.replace(key, "[key]")
    return brief(mask(text[:4_000]), 300)


def _after(error: BaseException) -> float:
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if isinstance(headers, Mapping) else None
    if not isinstance(value, str):
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value, str(headers.get("date", "")) if headers else "")
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _seconds_until(when: str, now: str) -> float:
    """Between two dates of one answer, by the clock of the server that wrote both."""
    try:
        until = email.utils.parsedate_to_datetime(when)
        return (until - email.utils.parsedate_to_datetime(now)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
