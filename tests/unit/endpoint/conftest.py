"""A scripted model on loopback, and a plain HTTP client."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from pannier.endpoint.model import ScriptedModel
from pannier.endpoint.server import on_loopback


@dataclass(frozen=True)
class Answered:
    """An answer, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The data of each server-sent event; a named one must carry its name as its type. OpenAI's
        mark of the end, which is no JSON, is left out."""
        found = []
        for block in self.body.decode().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines())
            if lines and lines["data"] != "[DONE]":
                data = json.loads(lines["data"])
                assert lines.get("event") in (None, data.get("type"))
                found.append(data)
        return found


Post = Callable[..., Answered]


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def url(model: ScriptedModel) -> Iterator[str]:
    with on_loopback(model) as url:
        yield url


@pytest.fixture
def post(url: str) -> Post:
    def send(path: str, body: object, method: str = "POST", **headers: str) -> Answered:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, {n.replace("_", "-"): v for n, v in headers.items()})
        response = connection.getresponse()
        read = Answered(response.status, dict(response.headers), response.read())
        connection.close()
        return read

    return send
