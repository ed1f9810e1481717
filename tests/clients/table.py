"""The table of what each client was seen to do: `make conformance` writes docs/conformance.md."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pannier import clients

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"

_MARKS = {"passed": "yes", "failed": "**no**", "skipped": "not run"}


@dataclass
class Conformance:
    """A pytest plugin: notes the outcome of each test that ran for a client."""

    seen: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """Behaviour and event → client → outcome."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> object:
        report: pytest.TestReport = yield  # type: ignore[misc]
        params = getattr(getattr(item, "callspec", None), "params", {})
        if "driven" in params and (report.when == "call" or report.outcome != "passed"):
            row = self.seen.setdefault((behaviour(item), event(params)), {})
            row[params["driven"]] = report.outcome
        return report

    def pytest_sessionfinish(self) -> None:
        if self.seen:
            PAGE.write_text(page(self.seen), encoding="utf-8")


def behaviour(item: pytest.Item) -> str:
    """What a test shows: the first sentence of its docstring."""
    assert isinstance(item, pytest.Function)
    text = inspect.getdoc(item.function) or item.name
    return " ".join(text.split())


def event(params: Mapping[str, object]) -> str:
    """The event that a test is about, if it is about one."""
    return str(params.get("fresh_event") or params.get("old_event") or "")


def page(seen: Mapping[tuple[str, str], Mapping[str, str]]) -> str:
    """docs/conformance.md."""
    names = [name for name, client in clients.CLIENTS.items() if client.events]
    titles = [clients.CLIENTS[name].title for name in names]
    lines = [
        "# Conformance",
        "",
        "<!-- Made by make conformance. Do not edit. -->",
        "",
        "What each real client was seen to do, in its image, in a container without network, "
        "against a scripted model. An empty field: the client has no such event.",
        "",
        f"| behaviour | event | {' | '.join(titles)} |",
        f"|---|---|{'---|' * len(titles)}",
    ]
    for (what, when), outcomes in seen.items():
        cells = [_MARKS.get(outcomes.get(name, ""), "") for name in names]
        lines.append(f"| {what} | {when} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
