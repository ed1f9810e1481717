"""What of a session the sidecar was told already, for agents whose own state begins anew."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from langchain_core.messages import AnyMessage

from pannier_agents.state import Handed

NOTHING = Handed(first="", last="", size=0)


class Known:
    """In this process, by the nodes of one graph together."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._handed = NOTHING

    def add(self, messages: Sequence[AnyMessage], handed: Handed) -> None:
        """All of the messages were handed over; that is how far it is now."""
        self._ids.update(str(one.id) for one in messages)
        self._handed = handed

    def of(self, messages: Sequence[AnyMessage]) -> Handed:
        """How far it is in the history with which a node begins: up to the first message that is
        new. What only the node before saw is none of it."""
        told = list(takewhile(self._ids.__contains__, (str(one.id) for one in messages)))
        if not told:
            return {**NOTHING, "size": self._handed["size"]}
        return {**self._handed, "first": told[0], "last": told[-1]}
