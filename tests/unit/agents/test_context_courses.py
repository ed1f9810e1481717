"""Random courses of a thread: large results, broken calls, failing models and summarizers, switches
of the model, rollbacks, a history that somebody cuts."""

from __future__ import annotations

import pytest

from .conftest import Folders
from .courses import Course


@pytest.mark.parametrize("seed", range(8))
def test_a_random_course(folders: Folders, seed: int) -> None:
    """Every request keeps its pairs, its task and its latest request, and fits the window, or does
    so once the provider has said that it was too long."""
    assert Course(seed, folders.group()).run(60) == []
