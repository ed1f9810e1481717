"""One thing that a record says, before it is known where in the session it stands. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pannier.clients.transcript import Kind, Role
from pannier.clients.transcripts.injected import pieces


@dataclass(frozen=True)
class Said:
    """See `Message`, which is made of it."""

    role: Role
    kind: Kind
    text: str
    call: str = ""
    tool: str = ""
    failed: bool = False
    inner: bool = False
    """A script of the agent's did it, not the model itself."""

    @property
    def asks(self) -> bool:
        """Whether a turn may begin with it: a person's word, or the queue's."""
        return self.role == "person" or self.kind == "message"


def spoken(role: Role, text: str) -> Iterator[Said]:
    """What `role` says in a text; what pannier put into it is pannier's."""
    for piece in pieces(text):
        yield Said(role if piece.kind == "text" else "pannier", piece.kind, piece.text)
