"""A group's memory on the host. The scaffold is the hook's, so that there is one."""

from __future__ import annotations

from pannier_hook.scaffold import ScaffoldReport, scaffold

__all__ = ["ScaffoldReport", "scaffold"]
