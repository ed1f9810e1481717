"""Both ends of a program that is started in a running container."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from pannier.engine import Engine
from pannier.engine.streams import ExecStream


@pytest.fixture(scope="module")
def container(engine: Engine, image: str) -> Iterator[str]:
    found = engine.sdk.containers.create(
        image, ["sleep", "infinity"], entrypoint=[], network_mode="none", init=True
    )
    found.start()
    yield found.id
    found.remove(force=True)


def _start(engine: Engine, container: str, *argv: str, tty: bool = False) -> ExecStream:
    return ExecStream(engine.sdk, container, argv, tty=tty, environment={"N": "v"}, workdir="/tmp")


def _all(stream: ExecStream) -> tuple[bytes, bytes]:
    out = err = b""
    while (chunk := stream.read()) is not None:
        out, err = out + chunk[0], err + chunk[1]
    return out, err


def test_output_and_status(engine: Engine, container: str) -> None:
    """Output, errors and status come apart; environment and working directory are as asked."""
    stream = _start(engine, container, "sh", "-c", 'echo "$N"; pwd >&2; exit 3')
    assert _all(stream) == (b"v\n", b"/tmp\n")
    assert stream.status() == 3
    stream.close()


def test_what_comes_at_once_is_not_lost(engine: Engine, container: str) -> None:
    """A program that writes as soon as it starts loses nothing."""
    for _ in range(10):
        stream = _start(engine, container, "echo", "at once")
        assert _all(stream) == (b"at once\n", b"")
        stream.close()


def test_input(engine: Engine, container: str) -> None:
    """A program reads all that is written, up to the end of its input."""
    stream = _start(engine, container, "sha256sum")
    for _ in range(100):
        stream.write(b"x" * 10_000)
    stream.close_input()
    digest = hashlib.sha256(b"x" * 1_000_000).hexdigest().encode()
    assert _all(stream)[0].split()[0] == digest
    stream.close()


def test_terminal(engine: Engine, container: str) -> None:
    """With a terminal, output and errors come as one, and the program sees a terminal."""
    stream = _start(engine, container, "sh", "-c", "tty -s && echo yes; echo no >&2", tty=True)
    assert _all(stream) == (b"yes\r\nno\r\n", b"")
    stream.close()
