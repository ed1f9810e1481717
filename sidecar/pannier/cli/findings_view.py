"""How findings are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import click

from pannier.cli.context import Context
from pannier.findings import Finding
from pannier.shown import shown

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "problem": ("problem", "red")}


def show(context: Context, findings: Iterable[Finding], as_json: bool) -> bool:
    """Show each as it comes. Returns whether one of them is a problem."""
    found = []
    for finding in findings:
        found.append(finding)
        if not as_json:
            word, colour = _MARKS[finding.level]
            mark = click.style(f"{word:<8}", fg=colour)
            context.say(f"{mark}{finding.subject}: {shown(finding.message)}")
            if finding.advice:
                context.say(f"{'':<8}→ {shown(finding.advice)}")
    if as_json:
        context.print_json([asdict(finding) for finding in found])
    return any(finding.level == "problem" for finding in found)
