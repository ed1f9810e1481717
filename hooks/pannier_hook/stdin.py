"""What the client says on standard input, read within bounds of size and time."""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 1 << 20
"""The most that is read, in bytes."""
DEADLINE = 1.0
"""The longest that reading takes, in seconds."""
_CHUNK = 1 << 16


class Input:
    """The bytes that came, and whether there may have been more."""

    __slots__ = ("cut", "data")

    def __init__(self, data: bytes, cut: bool) -> None:
        self.data = data
        self.cut = cut


def read(
    fd: int,
    whole: Callable[[bytes], bool],
    *,
    limit: int = LIMIT,
    deadline: float = DEADLINE,
) -> Input:
    """Read `fd` to its end, to `limit` bytes, or until `deadline` seconds have passed.

    A client that leaves its end open is not waited for: when nothing more is there and `whole`
    says that the data is complete, that is all. A terminal counts as empty: nobody is asked to
    type. Raises OSError.
    """
    if os.isatty(fd):
        return Input(b"", False)
    until = time.monotonic() + deadline
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    data = bytearray()
    while len(data) <= limit:
        if not poll.poll(0):
            if data and whole(bytes(data)):
                return Input(bytes(data), False)
            left = until - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return Input(bytes(data), True)
        chunk = os.read(fd, min(_CHUNK, limit + 1 - len(data)))
        if not chunk:
            return Input(bytes(data), False)
        data += chunk
        if time.monotonic() >= until:
            break
    return Input(bytes(data[:limit]), True)
