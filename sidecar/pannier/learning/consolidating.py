"""One consolidation of a group: what was found is merged into its memory."""

from __future__ import annotations

from pannier.learning.means import Json, Means, Step

WORK = "consolidate"


def consolidate(means: Means, grp: str, step: Step) -> Json:
    raise NotImplementedError
