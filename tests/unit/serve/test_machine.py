"""How long the daemon waits for an engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from pannier.engine import Engine
from pannier.serve.machine import ACT_SECONDS, _patience
from pannier.serve.observe import LOOK_SECONDS


def test_an_action_may_take_longer_than_a_look() -> None:
    """Also after one that failed, looks are short again."""
    api = SimpleNamespace(timeout=LOOK_SECONDS)
    engine = cast(Engine, SimpleNamespace(sdk=SimpleNamespace(api=api)))
    seen = []

    def act() -> None:
        with _patience(engine):
            seen.append(api.timeout)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        act()
    assert seen == [ACT_SECONDS]
    assert api.timeout == LOOK_SECONDS
    with _patience(None):
        pass
