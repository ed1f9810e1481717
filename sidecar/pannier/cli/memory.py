"""`pannier memory check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pannier.cli.context import Context
from pannier.errors import PannierError, UnsafePath
from pannier.shown import shown

if TYPE_CHECKING:
    from pannier.memory.finding import Finding
    from pannier.memory.tree import Tree


@click.group("memory")
def command() -> None:
    """Look at what a group remembers.

    \b
    Example:
      pannier memory check scout
    """


@command.command()
@click.argument("folder")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def check(context: Context, folder: str, as_json: bool) -> None:
    """Say what is odd in the memory of the group FOLDER. Changes nothing.

    Ends with 1 only for what keeps memory from working: a file that is cut off or not given to the
    agent, or cannot be read. All else is advice. FOLDER can also be the path of a memory folder,
    with a / in it.

    \b
    Example:
      pannier memory check scout
      pannier memory check ./backup/memory --json
    """
    from pannier.memory import check as checking

    tree, root, prefix = _read(context, folder)
    found = checking.check(tree)
    levels = {level: sum(f.level == level for f in found) for level in ("error", "warning", "note")}
    files = sum(node.kind == "file" for node in tree.nodes.values())
    if as_json:
        findings = [{**vars(f), "path": _path(f, tree)} for f in found]
        context.print_json({"memory": str(root), "files": files, **levels, "findings": findings})
    else:
        for finding in found:
            context.say(_line(prefix, finding, tree))
        context.tell(_summary(files, levels))
    if levels["error"]:
        click.get_current_context().exit(1)


def _read(context: Context, folder: str) -> tuple[Tree, Path, str]:
    """The tree, its folder, and what its paths are shown below."""
    from pannier import groups
    from pannier.memory import tree

    named = folder in (".", "..") or "/" in folder
    try:
        if named:
            root = context.cwd / Path(folder).expanduser()
            return tree.read(root), root, f"{folder.rstrip('/')}/"
        root = groups.get(context.home(), folder).paths.memory
        return tree.read(root.parent, root.name), root, f"{root.name}/"
    except UnsafePath as error:
        raise PannierError(error.message, "Memory is a folder; put a real one there.") from error
    except OSError as error:
        message = f"{error.filename or folder} cannot be looked into: {error.strerror}"
        raise PannierError(message, "" if named else "The next start makes it.") from error


def _path(finding: Finding, tree: Tree) -> str:
    """As shown: escaped, without what looks like a secret, a folder with a / at its end."""
    from pannier import redaction

    node = tree.nodes.get(finding.path)
    slash = "/" if finding.path and node is not None and node.kind == "folder" else ""
    return shown(redaction.mask(finding.path)) + slash


def _line(prefix: str, finding: Finding, tree: Tree) -> str:
    place = shown(prefix) + _path(finding, tree)
    if finding.line is not None:
        place += f":{finding.line}"
    level = "" if finding.level == "warning" else f"{finding.level}: "
    return f"{place}: {level}{finding.message}"


def _summary(files: int, levels: dict[str, int]) -> str:
    from pannier.memory.finding import counted

    found = [counted(number, level) for level, number in levels.items() if number]
    return f"{counted(files, 'file')}: {', '.join(found) or 'nothing to mend'}"
