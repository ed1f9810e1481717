"""The pages under docs/ say what the code does."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pannier.clients import CLIENTS

CHECKOUT = Path(__file__).parents[3]
PAGES = [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md")]


def test_the_reference_is_what_the_code_says() -> None:
    """docs/settings.md and docs/commands.md are made from the code, and are up to date."""
    script = CHECKOUT / "scripts" / "reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_where_the_databases_lie_is_documented_and_reaches_the_sidecar() -> None:
    """Each variable has a row among the settings, and compose.yaml hands it on."""
    variables = {
        name
        for module in (CHECKOUT / "sidecar").rglob("*.py")
        for name in re.findall(r"PANNIER_[A-Z]+_DB_PATH", module.read_text())
    }
    assert len(variables) == 4
    handed_on = yaml.safe_load((CHECKOUT / "compose.yaml").read_text())["services"]["sidecar"]
    for name in variables:
        assert f"| `{name}` |" in (CHECKOUT / "docs" / "settings.md").read_text()
        assert f"`{name}`" in (CHECKOUT / "docs" / "compose.md").read_text()
        assert handed_on["environment"].get(name, "") is None  # As it is in the environment.


def test_the_conformance_table_is_complete() -> None:
    """docs/conformance.md has a column for each client that can be driven, and no failure."""
    page = (CHECKOUT / "docs" / "conformance.md").read_text()
    header = next(line for line in page.splitlines() if line.startswith("| behaviour"))
    titles = [client.title for client in CLIENTS.values() if client.events]
    assert header == f"| behaviour | event | {' | '.join(titles)} |"
    assert "**no**" not in page
    for suite in ("test_delivery.py", "test_memory.py"):
        tests = ast.parse((CHECKOUT / "tests" / "clients" / suite).read_text())
        for test in tests.body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                assert " ".join((ast.get_docstring(test) or "").split()) in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """A link to a file of the project names one that is there."""
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"
