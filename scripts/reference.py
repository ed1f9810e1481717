#!/usr/bin/env python3
"""Writes docs/settings.md and docs/commands.md from the code: reference.py [--check]"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pannier.cli import COMMANDS, pannier
from pannier.database import VARIABLES
from pannier.mounts.allowlist import Allowlist
from pannier.settings import GroupSettings, HomeSettings

DOCS = Path(__file__).parents[1] / "docs"
MADE = "<!-- Made by scripts/reference.py from the code. Do not edit. -->"

FILES: dict[str, tuple[type[BaseModel], str]] = {
    "`groups/<folder>/group.yaml`": (GroupSettings, "What a group is and may use."),
    "`pannier.yaml`": (HomeSettings, "What holds for a whole home."),
    "`~/.config/pannier/mounts.yaml`": (Allowlist, "What groups may see of the host."),
}

_DATABASES = {
    "threads.db": "What was said: [threads](threads-store.md).",
    "queue.db": "The queue of [messages to agents](send.md).",
    "sandbox.db": "[What became of containers](sandbox.md).",
    "learning.db": "What was learned, and how far each thread was read.",
}
_ABOUT_VARIABLES = (
    "The last four name another file for a database, each its own, where no agent can write: not "
    "in `groups/`; and a folder that holds one is never mounted. A relative path counts from the "
    "home. All who use a home need the same values: the daemon, each command, and a sidecar "
    "[in a container](compose.md). Whoever has another one sees another, empty database, and "
    "takes in there what agents say from then on."
)


def main() -> int:
    """0, or with --check 1 when a page is not what the code says."""
    pages = {"settings.md": settings_page(), "commands.md": commands_page()}
    stale = [n for n, text in pages.items() if _read(DOCS / n) != text]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/{name} is not what the code says: run scripts/reference.py")
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(pages[name], encoding="utf-8")
        print(f"docs/{name}")
    return 0


def settings_page() -> str:
    """Every setting of every file, with its default."""
    parts = ["# Settings", MADE, "Unknown keys are refused. All keys are optional."]
    for name, (model, about) in FILES.items():
        parts += [f"## {name}", about, _table(model)]
    parts += ["## Environment variables", _ABOUT_VARIABLES, _variables()]
    return "\n\n".join(parts) + "\n"


def _variables() -> str:
    rows = ["| variable | what it says | default |", "|---|---|---|"]
    rows.append(
        "| `PANNIER_HOME` | The home, where `--home` names none. | "
        "the nearest folder above with `pannier.yaml` |"
    )
    rows += [f"| `{v}` | {_DATABASES[name]} | `state/{name}` |" for name, v in VARIABLES.items()]
    return "\n".join(rows)


def _table(model: type[BaseModel]) -> str:
    rows = ["| setting | what it says | default |", "|---|---|---|"]
    for name, field in _fields(model):
        description = (field.description or "").replace("|", "\\|")
        rows.append(f"| `{name}` | {description} | {_default(field)} |")
    return "\n".join(rows)


def _fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for key, field in model.model_fields.items():
        name = prefix + (field.alias or key)
        inner = _model_in(field.annotation)
        listed = inner is not None and field.annotation is not inner
        yield name, field
        if inner is not None:
            yield from _fields(inner, f"{name}{'[]' if listed else ''}.")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a))), None)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "as below"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "none" if value in (None, (), "") else f"`{value}`"


def commands_page() -> str:
    """What each command's --help says."""
    parts = ["# Commands", MADE]
    context = click.Context(pannier, info_name="pannier")
    parts += _help("pannier", pannier, context)
    for name in COMMANDS:
        command = pannier.get_command(context, name)
        assert command is not None
        parts += _command(f"pannier {name}", command)
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: click.Command) -> list[str]:
    context = click.Context(command, info_name=name)
    parts = _help(name, command, context)
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            inner = command.get_command(context, sub)
            assert inner is not None
            parts += _command(f"{name} {sub}", inner)
    return parts


def _help(name: str, command: click.Command, context: click.Context) -> list[str]:
    formatter = click.HelpFormatter(width=100)
    command.format_help(context, formatter)
    lines = (line.rstrip() for line in formatter.getvalue().strip().splitlines())
    text = "\n".join(lines)
    return [f"## {name}", f"```text\n{text}\n```"]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
