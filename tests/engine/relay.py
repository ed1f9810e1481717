"""An engine that goes away and comes back: a socket that leads to the real one while it is open."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path


class Relay:
    """Hands every connection on. `close` cuts them all and takes the socket away."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self.target = target
        self.open()

    def open(self) -> None:
        self._ends: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        self.path.unlink()
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _serve(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self.target)
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(one, other), daemon=True).start()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)
