"""The agent programs that pannier knows. A new one is a module here and a row in `CLIENTS`."""

from __future__ import annotations

from pannier.clients import claude, codex, copilot, custom, gemini, langchain, opencode, qwen
from pannier.clients.client import Client
from pannier.errors import ClientNotKnown

__all__ = ["CLIENTS", "Client", "get"]

CLIENTS: dict[str, Client] = {
    c.name: c
    for c in (
        claude.CLIENT,
        codex.CLIENT,
        gemini.CLIENT,
        qwen.CLIENT,
        copilot.CLIENT,
        opencode.CLIENT,
        langchain.CLIENT,
        custom.CLIENT,
    )
}


def get(name: str) -> Client:
    """The client of this name.

    Raises ClientNotKnown, with the names there are.
    """
    try:
        return CLIENTS[name]
    except KeyError:
        raise ClientNotKnown(
            f"no client is called {name!r}", f"There are: {', '.join(CLIENTS)}."
        ) from None
