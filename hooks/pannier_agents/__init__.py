"""Pannier for an agent in Python: memory in every fresh context, a record of what was said, and
threads that can be resumed and rolled back.

For agents of LangChain's `create_agent` in a container of pannier's. Needs the extra `langchain`.

    async with open_checkpointer() as checkpointer:
        agent = create_agent(
            model,
            tools,
            middleware=[Record(), …, Recall()],
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

from pannier_agents.errors import ThreadError, UnknownCheckpoint, UnknownThread
from pannier_agents.recall import Recall
from pannier_agents.record import Record
from pannier_agents.saver import open_checkpointer
from pannier_agents.state import ThreadState
from pannier_agents.threads import CheckpointRow, Ready, checkpoints, ready, rollback

__all__ = [
    "CheckpointRow",
    "Ready",
    "Recall",
    "Record",
    "ThreadError",
    "ThreadState",
    "UnknownCheckpoint",
    "UnknownThread",
    "checkpoints",
    "open_checkpointer",
    "ready",
    "rollback",
]
