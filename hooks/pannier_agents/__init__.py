"""Pannier for an agent in Python: memory in every fresh context, a context that fits the model's
window, a record of what was said, and threads that can be resumed and rolled back.

For agents of LangChain's `create_agent` in a container of pannier's. Needs the extra `langchain`.

    async with open_checkpointer() as checkpointer:
        agent = create_agent(
            model,
            tools,
            middleware=memory_middleware(),
            state_schema=ThreadState,
            checkpointer=checkpointer,
        )
"""

from __future__ import annotations

try:
    import langchain  # noqa: F401
except ModuleNotFoundError as missing:
    raise ImportError(
        "pannier_agents needs LangChain: pip install 'pannier[langchain]'"
    ) from missing

from pannier_agents.compacting import compact
from pannier_agents.context import Context
from pannier_agents.errors import ThreadError, UnknownCheckpoint, UnknownThread
from pannier_agents.middleware import memory_middleware
from pannier_agents.recall import Recall
from pannier_agents.record import Record
from pannier_agents.saver import open_checkpointer
from pannier_agents.settings import ContextSettings
from pannier_agents.spill import Spill
from pannier_agents.state import ThreadState
from pannier_agents.threads import CheckpointRow, Ready, checkpoints, ready, rollback

__all__ = [
    "CheckpointRow",
    "Context",
    "ContextSettings",
    "Ready",
    "Recall",
    "Record",
    "Spill",
    "ThreadError",
    "ThreadState",
    "UnknownCheckpoint",
    "UnknownThread",
    "checkpoints",
    "compact",
    "memory_middleware",
    "open_checkpointer",
    "ready",
    "rollback",
]
