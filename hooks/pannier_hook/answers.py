"""What each dialect prints so that its client puts a text before the model."""

from __future__ import annotations

from .clients import PLAIN
from .jsontext import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clients import Client


def answer(client: Client, text: str) -> str:
    """`text` in the client's own protocol."""
    if client.dialect == PLAIN:
        return f"{text}\n"
    return (
        f'{{"hookSpecificOutput":{{"hookEventName":{quote(client.hook_event_name)},'
        f'"additionalContext":{quote(text)}}}}}\n'
    )
