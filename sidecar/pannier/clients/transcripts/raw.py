"""A record that nobody knows, kept as it is. Pure."""

from __future__ import annotations

from hashlib import blake2b

from pannier.clients.transcript import Line, Message
from pannier_hook.events import Event


def raw(event: Event, line: Line, position: int, inner: str = "") -> Message:
    """Its key is a digest of what it is and where: the same line again is the same message."""
    where = f"{event.session}\0{line.log}\0{line.offset}\0".encode("utf-8", "replace")
    key = blake2b(where + line.data, digest_size=16).hexdigest()
    text = line.data.decode("utf-8", "replace")
    return Message(key, "client", "raw", text, position=position, inner=inner)
