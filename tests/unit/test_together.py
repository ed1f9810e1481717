"""Which tests one process runs when there are several."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import together


@pytest.mark.parametrize(
    ("test", "with_"),
    [
        ("tests/unit/hook/test_spool.py::test_full[write]", "tests/unit/hook/test_spool.py"),
        ("tests/engine/test_run.py::test_status", "engine"),
        ("tests/compose/test_compose.py::test_one_command", "engine"),
        ("tests/clients/test_delivery.py::test_fresh_context[gemini-clear]", "gemini"),
        ("tests/clients/test_codex.py::test_a_login", "codex"),
        ("tests/clients/test_command.py::test_delivered", "command"),
    ],
)
def test_what_shares_something_costly_stays_together(test: str, with_: str) -> None:
    """The tests of a client are one group, those of the engine another; others go by file."""
    assert together(test) == with_
    assert (Path(__file__).parents[2] / test.partition("::")[0]).is_file()
