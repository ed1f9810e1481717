"""Runs inside the container of `pannier verify`, from a folder that is mounted there.

    inside.py forward PORT SOCKET    loopback to the model endpoint's socket, until stdin ends
    inside.py end JOB SECONDS        end every process of a job: hang up, then kill

Python >= 3.9 with the standard library of `python3-minimal`; nothing else of pannier is there.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

JOB = "PANNIER_VERIFY_JOB"
"""Environment variable by which the processes of a job know each other, children included."""

READY = "ready"


def forward(port: int, path: str) -> None:
    """Accept on loopback, connect each to the socket. Ends with standard input."""
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    threading.Thread(target=_accept, args=(listener, path), daemon=True).start()
    print(READY, flush=True)
    sys.stdin.buffer.read()


def _accept(listener: socket.socket, path: str) -> None:
    while True:
        near, _ = listener.accept()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(path)
        except OSError as error:
            print(f"{path}: {error}", file=sys.stderr, flush=True)
            near.close()
            continue
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def end(job: str, seconds: float) -> None:
    """Hang up on the processes of `job`; kill what is there after `seconds`."""
    deadline = time.monotonic() + seconds
    wanted = f"{JOB}={job}".encode()
    told: set[int] = set()
    while pids := _members(wanted):
        late = time.monotonic() > deadline
        for pid in pids:
            if late or pid not in told:
                _signal(pid, signal.SIGKILL if late else signal.SIGHUP)
                told.add(pid)
        time.sleep(0.02)


def _members(wanted: bytes) -> list[int]:
    """Living processes with this variable. Of one that has ended, the environment is empty."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def _signal(pid: int, number: int) -> None:
    with suppress(OSError):
        os.kill(pid, number)


def main(argv: list[str]) -> None:
    command, first, second = argv
    if command == "forward":
        forward(int(first), second)
    else:
        end(first, float(second))


if __name__ == "__main__":
    main(sys.argv[1:])
