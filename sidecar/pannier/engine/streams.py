"""Both ends of a program that was started in a running container."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import docker

from pannier.engine.connect import translated

_HEADER = struct.Struct(">BxxxL")
_STDERR = 2
_READ = 1 << 16


class ExecStream:
    """Standard input, output and error of one `exec`. One thread reads, others may write."""

    def __init__(
        self,
        sdk: docker.DockerClient,
        container: str,
        argv: Sequence[str],
        *,
        tty: bool,
        environment: Mapping[str, str],
        workdir: str,
    ) -> None:
        """Start it. Raises EngineError."""
        self._api = sdk.api
        self._tty = tty
        with translated():
            self._id = self._api.exec_create(
                container,
                list(argv),
                stdin=True,
                tty=tty,
                environment=dict(environment),
                workdir=workdir,
            )["Id"]
            held: Any = self._api.exec_start(self._id, tty=tty, socket=True)
        self._held = held
        self._socket: socket.socket = held._sock
        self._frames = _early(held, self._socket)
        self._socket.settimeout(None)

    def read(self) -> tuple[bytes, bytes] | None:
        """Wait for output: standard output, standard error. None at the end."""
        while True:
            taken = self._take()
            if taken is not None:
                return taken
            try:
                data = self._socket.recv(_READ)
            except OSError:
                return None
            if not data:
                return None
            self._frames += data

    def _take(self) -> tuple[bytes, bytes] | None:
        """A frame that has arrived whole (Docker Engine API, "Attach to a container")."""
        if self._tty:
            data, self._frames = self._frames, b""
            return (data, b"") if data else None
        if len(self._frames) < _HEADER.size:
            return None
        kind, size = _HEADER.unpack_from(self._frames)
        end = _HEADER.size + size
        if len(self._frames) < end:
            return None
        data, self._frames = self._frames[_HEADER.size : end], self._frames[end:]
        return (b"", data) if kind == _STDERR else (data, b"")

    def write(self, data: bytes) -> None:
        """To its standard input. Does nothing when the program is gone."""
        with suppress(OSError):
            self._socket.sendall(data)

    def close_input(self) -> None:
        """Standard input ends here."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def status(self) -> int | None:
        """The exit status; None while it runs. Raises EngineError."""
        with translated():
            state = self._api.exec_inspect(self._id)
        return None if state["Running"] else int(state["ExitCode"])

    def close(self) -> None:
        """Let go of both ends. The program goes on, if nobody ends it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._held.close()


def _early(held: Any, raw: socket.socket) -> bytes:
    """What came together with the response's headers: the SDK's buffer holds it, and its socket
    gives only what comes later."""
    raw.setblocking(False)
    buffered = held._response.raw._fp.fp
    return bytes(buffered.peek() or b"")
