"""The scripted model behind HTTP, on a unix socket or on loopback."""

from __future__ import annotations

import gzip
import json
import os
import socket
import socketserver
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pannier.endpoint.answers import Answer, Cut, Fail, Fill, Garbled, Late, Moved
from pannier.endpoint.dialect import Asked, Json, Reply, plain
from pannier.endpoint.model import Request, ScriptedModel, dialect_of
from pannier.errors import PannierError

BODY_LIMIT = 64 << 20
"""Bytes of one request's body."""

IDLE_SECONDS = 120.0
"""A connection on which nothing comes for so long is closed."""

_GARBLE = Reply("application/json", (b'{"this is": not the protocol',))


@contextmanager
def on_socket(model: ScriptedModel, path: Path) -> Iterator[None]:
    """Serve on a unix socket that any user may connect to; its folder is what keeps others out.

    Raises PannierError if the socket cannot be made.
    """
    closing = threading.Event()
    try:
        server = _bind(path, _handler_for(model, closing))
    except OSError as error:
        raise PannierError(f"no socket can be made at {path}: {error.strerror}") from error
    with _serving(server, closing):
        path.chmod(0o666)
        yield


def _bind(path: Path, handler: type[BaseHTTPRequestHandler]) -> _UnixServer:
    """By way of the folder's descriptor: a socket's path may have 107 bytes (unix(7))."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _UnixServer(f"/proc/self/fd/{folder}/{path.name}", handler)
    finally:
        os.close(folder)


@contextmanager
def on_loopback(model: ScriptedModel) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1. Gives the base URL."""
    closing = threading.Event()
    server = _TcpServer(("127.0.0.1", 0), _handler_for(model, closing))
    with _serving(server, closing):
        yield f"http://127.0.0.1:{server.server_address[1]}"


class _Connections:
    """Knows what is open, so that closing the server leaves no thread behind."""

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)  # type: ignore[misc]

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)  # type: ignore[misc]

    def hang_up(self) -> None:
        with self._guard:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle of an answer is no news."""


class _UnixServer(_Connections, socketserver.ThreadingUnixStreamServer):
    daemon_threads = False


class _TcpServer(_Connections, socketserver.ThreadingTCPServer):
    daemon_threads = False


@contextmanager
def _serving(server: _UnixServer | _TcpServer, closing: threading.Event) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        closing.set()
        server.shutdown()
        server.hang_up()
        server.server_close()
        thread.join()


def _handler_for(model: ScriptedModel, closing: threading.Event) -> type[BaseHTTPRequestHandler]:
    return type("Handler", (_Handler,), {"model": model, "closing": closing})


class _Handler(BaseHTTPRequestHandler):
    model: ScriptedModel
    closing: threading.Event
    protocol_version = "HTTP/1.1"
    server_version = "pannier"
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        """Claude Code looks in this way whether anybody is there."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """The record of requests is the log."""

    def _serve(self) -> None:
        url = urlsplit(self.path)
        try:
            body = self._body()
        except ValueError as error:
            self.close_connection = True
            self._send(plain({"error": {"message": str(error)}}), 400)
            return
        request = self.model.take(self.command, url.path, dict(self.headers.items()), body)
        try:
            self._reply(request, url.query)
        finally:
            self.model.answered(request)

    def _reply(self, request: Request, query: str) -> None:
        dialect = dialect_of(request.method, request.path)
        if dialect is None:
            self._send(plain({"error": {"message": f"nothing at {request.path}"}}), 404)
            return
        if not request.generates:
            self._send(dialect.lookup(Asked(request.path, query, request.body, request.tokens)))
            return
        answer: Answer = self.model.next_answer(request)
        if isinstance(answer, Fail):
            retry = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
            self._send(dialect.failure(answer.status, answer.message), answer.status, retry)
            return
        if isinstance(answer, Moved):
            self._send(plain({}), 307, {"Location": answer.to})
            return
        if isinstance(answer, Garbled):
            self._send(_GARBLE)
            return
        cut = isinstance(answer, Cut)
        if isinstance(answer, Late):
            self.closing.wait(answer.seconds)
        if isinstance(answer, Late | Cut):
            answer = answer.answer
        if isinstance(answer, Fill):
            answer = request.filled(answer)
        tokens = request.tokens if answer.input_tokens is None else answer.input_tokens
        reply = dialect.answer(Asked(request.path, query, request.body, tokens), answer)
        self._send(reply, cut=cut)

    def _send(
        self,
        reply: Reply,
        status: int = 200,
        headers: dict[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", reply.content_type)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        frames = reply.frames
        if cut:
            half = b"".join(frames)
            frames = (half[: len(half) // 2],)
        for frame in frames:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))
            self.wfile.flush()
        if cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _body(self) -> Json:
        data = self._chunks() if self._is_chunked() else self._counted()
        data = _inflate(data, self.headers.get("Content-Encoding", "identity"))
        if not data:
            return {}
        value = json.loads(data)
        return value if isinstance(value, dict) else {"": value}

    def _is_chunked(self) -> bool:
        return "chunked" in self.headers.get("Transfer-Encoding", "").lower()

    def _counted(self) -> bytes:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= BODY_LIMIT:
            raise ValueError("the body is too large")
        return self.rfile.read(length)

    def _chunks(self) -> bytes:
        data = b""
        while True:
            size = int(self.rfile.readline(100).split(b";")[0], 16)
            if not 0 <= size <= BODY_LIMIT - len(data):
                raise ValueError("the body is too large")
            chunk = self.rfile.read(size)
            self.rfile.readline(100)
            if not chunk:
                return data
            data += chunk


def _inflate(data: bytes, encoding: str) -> bytes:
    try:
        if encoding == "gzip":
            return gzip.decompress(data)
        if encoding == "deflate":
            return zlib.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"the body is not {encoding}: {error}") from error
    if encoding != "identity":
        raise ValueError(f"the body is encoded as {encoding}, which is not read here")
    return data
