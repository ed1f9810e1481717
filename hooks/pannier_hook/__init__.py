"""The hook of Pannier: puts an agent group's memory into every fresh context of its agent.

It runs inside the agent's container, with the standard library alone, on Python 3.9 and newer.
Modules on the path of `session-start` import only what is built into Python: time is the budget.
"""

from __future__ import annotations

VERSION = "0.1.0"
