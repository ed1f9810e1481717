"""The scripted model behind HTTP, and how it misbehaves on demand."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
import time
from pathlib import Path

import pytest

from pannier.endpoint.answers import Cut, Garbled, Late, Say
from pannier.endpoint.model import ScriptedModel
from pannier.endpoint.server import on_loopback, on_socket
from pannier.errors import PannierError

ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
MESSAGES = "/v1/messages"


def test_authorisation_is_not_kept(post, model: ScriptedModel) -> None:
    """What authorises a request is not recorded; its other headers are."""
    post(MESSAGES, ASKED, X_Api_Key="sk-1", Authorization="Bearer t", Anthropic_Version="1")
    headers = model.requests[0].headers
    assert headers["anthropic-version"] == "1"
    assert not {"x-api-key", "authorization"} & headers.keys()


def test_unknown_path(post, model: ScriptedModel) -> None:
    """A path of no dialect gets 404 and is recorded, but is no model request."""
    assert post("/api/hello", {}, method="GET").status == 404
    assert model.requests[0].path == "/api/hello"
    assert model.since(0) == ()


def test_body_that_is_no_json(post, model: ScriptedModel) -> None:
    """A body that cannot be read gets 400."""
    assert post(MESSAGES, b"{nonsense").status == 400
    assert post(MESSAGES, b"x", Content_Encoding="zstd").status == 400


def test_compressed_body(post, model: ScriptedModel) -> None:
    """A body packed with gzip is read."""
    packed = gzip.compress(json.dumps(ASKED).encode())
    assert post(MESSAGES, packed, Content_Encoding="gzip").status == 200
    assert model.requests[0].texts[0].text == "hi"


def test_chunked_body(url: str, model: ScriptedModel) -> None:
    """A body that comes in chunks is read."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    data = json.dumps(ASKED).encode()
    connection.request("POST", MESSAGES, iter([data[:7], data[7:]]), encode_chunked=True)
    assert connection.getresponse().status == 200
    assert model.requests[0].body == ASKED
    connection.close()


def test_cut(post, model: ScriptedModel) -> None:
    """A cut answer breaks off in the middle, and the next one is whole again."""
    model.script(Cut(Say("hello")))
    with pytest.raises(http.client.IncompleteRead):
        post(MESSAGES, {**ASKED, "stream": True})
    assert post(MESSAGES, ASKED).status == 200


def test_garbled(post, model: ScriptedModel) -> None:
    """A garbled answer is no JSON."""
    model.script(Garbled())
    with pytest.raises(ValueError, match="Expecting"):
        _ = post(MESSAGES, ASKED).json


def test_late(post, model: ScriptedModel) -> None:
    """A late answer is right, but takes its time."""
    model.script(Late(0.2, Say("at last")))
    begun = time.monotonic()
    assert post(MESSAGES, ASKED).json["content"][0]["text"] == "at last"
    assert time.monotonic() - begun >= 0.2


def test_closing_waits_for_nobody() -> None:
    """Closing the server ends open connections and late answers, and leaves no thread."""
    before = threading.active_count()
    model = ScriptedModel()
    model.script(Late(600))
    begun = time.monotonic()
    with on_loopback(model) as url:
        idle = socket.create_connection(tuple(url.removeprefix("http://").split(":")))
        busy = http.client.HTTPConnection(url.removeprefix("http://"))
        busy.request("POST", MESSAGES, json.dumps(ASKED))
        while not model.requests:
            time.sleep(0.01)
    assert time.monotonic() - begun < 10
    assert threading.active_count() == before
    idle.close()
    busy.close()


def test_waiting_for_a_request(post, model: ScriptedModel) -> None:
    """Whoever waits for a request gets it once it was answered, and None when time is over."""
    post(MESSAGES, ASKED)
    found = model.wait_for(lambda r: r.holds("hi"), seconds=10)
    assert found is not None
    assert found.number == 1
    assert model.wait_for(lambda r: r.holds("hi"), after=1, seconds=0.05) is None


def test_unix_socket(model: ScriptedModel, tmp_path: Path) -> None:
    """The model is served on a unix socket that any user may open."""
    path = tmp_path / "model"
    with on_socket(model, path):
        assert path.stat().st_mode & 0o777 == 0o666
        with socket.socket(socket.AF_UNIX) as near:
            near.connect(str(path))
            near.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
            assert near.recv(99).startswith(b"HTTP/1.1 200")


def test_long_socket_path(model: ScriptedModel, tmp_path: Path) -> None:
    """A socket works in a folder whose path is longer than a socket's path may be."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    with on_socket(model, folder / "model"):
        assert (folder / "model").is_socket()


def test_socket_in_a_folder_that_is_not_there(model: ScriptedModel, tmp_path: Path) -> None:
    """A folder that cannot be opened is named."""
    with (
        pytest.raises(PannierError, match="no-such"),
        on_socket(model, tmp_path / "no-such" / "model"),
    ):
        pass
