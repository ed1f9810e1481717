"""Whether an image or a folder holds the current hook, and a client's settings that call it."""

from __future__ import annotations

import posixpath
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pannier.bake import formats
from pannier.bake.base import python_version
from pannier.bake.files import Files, record_of
from pannier.bake.layout import (
    HOOK_FOLDER,
    PACKAGE,
    PROGRAM,
    STARTERS,
    Content,
    Tree,
    hook_digest,
    is_hook,
)
from pannier.bake.merge import HOOK_NAME, lacking, own_commands
from pannier.clients.client import Link
from pannier.engine.containers import LABEL_HOOK
from pannier.engine.contents import ImageConfig
from pannier.engine.recipes import SKELETON
from pannier.engine.spec import LABEL_CLIENT
from pannier.findings import Finding
from pannier.paths import CONTAINER_HOME
from pannier_hook import VERSION

_AGAIN = "Bake again, and build the image again."
_ENTRYPOINT = ("pannier-hook", "boot", "--")


def check(
    subject: str, tree: Tree, files: Files, config: ImageConfig | None = None
) -> Iterator[Finding]:
    """Look at everything; any problem means that memory would not be delivered as it should be.

    `config` is that of an image; a folder has none, and is not compiled yet.
    """
    if files.read(PROGRAM) is None:
        message = f"there is no hook: /{PROGRAM} is missing"
        yield Finding("problem", subject, message, "Bake it in: pannier bake.")
        return
    for level, message, advice in (
        *_hook(tree, files),
        *(_interpreter(files) if config else ()),
        *_settings(tree, files),
        *_elsewhere(tree, files),
        *_rest(tree, files),
        *(_config(tree, config) if config else ()),
    ):
        yield Finding(level, subject, message, advice)


_Row = tuple[Any, str, str]


def _hook(tree: Tree, files: Files) -> Iterator[_Row]:
    there = {p: c for p, c in files.below(HOOK_FOLDER).items() if is_hook(p)}
    digest = hook_digest(there)
    version = _version(there)
    if digest == tree.digest:
        yield "ok", f"hook {version}, {digest[:12]}: the current one", ""
    elif version == VERSION:
        what = f"hook {version}, {digest[:12]}: of this version, but not the same files"
        yield "problem", f"{what} as here ({tree.digest[:12]})", _AGAIN
    else:
        yield "problem", f"the hook is of pannier {version}, and this is {VERSION}", _AGAIN


def _version(hook: Mapping[str, Content]) -> str:
    """As the hook's own source says it; it is not run."""
    source = hook.get(f"{PACKAGE}/__init__.py", b"")
    text = source.decode("utf-8", "replace") if isinstance(source, bytes) else ""
    return text.partition('VERSION = "')[2].partition('"')[0] or "unknown"


def _interpreter(files: Files) -> Iterator[_Row]:
    program = files.read(PROGRAM)
    if not isinstance(program, bytes):
        return
    first = program.partition(b"\n")[0].decode("utf-8", "replace")
    python = first.removeprefix("#!").partition(" ")[0]
    if not files.exists(python.lstrip("/")):
        advice = f"Run this in the Dockerfile by the Python there is: /{PACKAGE}/install.py"
        yield "problem", f"{python}, which runs the hook, is not there", advice
        return
    version = python_version(files, python.lstrip("/"))
    if version is None:
        yield "note", f"{python} runs the hook; its version cannot be told from outside", ""
        return
    name = f"{python} ({version[0]}.{version[1]})"
    if files.exists(f"{PACKAGE}/__pycache__/main.cpython-{version[0]}{version[1]}.pyc"):
        yield "ok", f"{name} runs the hook, which is compiled for it", ""
    else:
        message = f"{name} runs the hook, which is not compiled for it: each call takes longer"
        yield "problem", message, f"Run in the Dockerfile: {python} -IS /{PACKAGE}/install.py"


def _settings(tree: Tree, files: Files) -> Iterator[_Row]:
    for path, ours in _registering(tree).items():
        there = files.read(path)
        if not isinstance(there, bytes):
            yield "problem", f"/{path} is missing", _AGAIN
            continue
        try:
            actual = formats.parse(there, path)
        except formats.NotReadable as error:
            yield "problem", f"/{path} cannot be read: {error}", "Mend it, and bake again."
            continue
        yield from _entries(path, own_commands(formats.parse(ours, path)), own_commands(actual))
        for leaf in lacking(actual, formats.parse(ours, path)):
            said = f"/{path}: {leaf} is not {leaf.value!r}"
            if leaf.about_hooks:
                yield "problem", f"{said}, which the hook needs", _AGAIN
            else:
                yield "note", said, ""
        if formats.hooks_off(there, path):
            yield "problem", f"/{path}: {formats.HOOKS_OFF}", "Take it out there."


def _entries(path: str, wanted: list[str], found: list[str]) -> Iterator[_Row]:
    missing = Counter(wanted) - Counter(found)
    extra = Counter(found) - Counter(wanted)
    if missing:
        there = len(wanted) - missing.total()
        message = f"/{path} registers {there} of {len(wanted)} current entries of the hook"
        yield "problem", message, _AGAIN
    elif wanted:
        plural = "entry" if len(wanted) == 1 else "entries"
        yield "ok", f"/{path} registers the hook: {len(wanted)} {plural}", ""
    if extra:
        message = f"/{path} also registers: {next(iter(extra))}"
        more = extra.total() - 1
        yield "problem", message + (f" and {more} more" if more else ""), _AGAIN


def _elsewhere(tree: Tree, files: Files) -> Iterator[_Row]:
    """Another file of the client's that calls the hook, too: memory would be given twice."""
    known = {*tree.settings, *tree.hook}
    for folder in sorted({posixpath.dirname(path) for path in _registering(tree)}):
        for path, content in sorted(files.below(folder).items()):
            if path not in known and isinstance(content, bytes) and HOOK_NAME.encode() in content:
                message = f"/{path} calls {HOOK_NAME}, too: memory is given twice"
                yield "problem", message, "Take it out there."


def _registering(tree: Tree) -> dict[str, bytes]:
    """A person's settings files and those of our own by which a client calls the hook."""
    found: dict[str, bytes] = {}
    for path, ours in (*tree.settings.items(), *tree.hook.items()):
        if isinstance(ours, Link) or not formats.is_settings(path):
            continue
        if path in tree.settings or own_commands(formats.parse(ours, path)):
            found[path] = ours
    return found


def _rest(tree: Tree, files: Files) -> Iterator[_Row]:
    looked_at = _registering(tree)
    for path, ours in (*tree.hook.items(), *tree.settings.items()):
        if path in looked_at or is_hook(path) or path.startswith(f"{STARTERS}/"):
            continue
        theirs = files.read(path)
        if theirs == ours:
            continue
        # First files of HOME and standing instructions may be a person's own.
        theirs_to_decide = path in tree.settings or path.startswith(f"{SKELETON}/")
        what = "is missing" if theirs is None else "is not what pannier would put there"
        if theirs_to_decide:
            yield "note", f"/{path} {what}", ""
        else:
            yield "problem", f"/{path} {what}", _AGAIN


def _config(tree: Tree, config: ImageConfig) -> Iterator[_Row]:
    name = tree.client.name
    if config.labels.get(LABEL_HOOK) != VERSION:
        advice = f"LABEL {LABEL_HOOK}={VERSION}"
        yield "problem", f"the label {LABEL_HOOK} is not {VERSION}", advice
    if config.labels.get(LABEL_CLIENT) != name:
        yield "note", f"the label {LABEL_CLIENT} is not {name}", f"LABEL {LABEL_CLIENT}={name}"
    if config.entrypoint[:3] != _ENTRYPOINT:
        words = ", ".join(f'"{word}"' for word in _ENTRYPOINT)
        yield "problem", "the entrypoint is not the hook's boot", f"ENTRYPOINT [{words}]"
    home = config.environment.get("HOME")
    if home != str(CONTAINER_HOME):
        message = f"HOME is {home or 'not set'}, and pannier mounts {CONTAINER_HOME}"
        yield "problem", message, f"ENV HOME={CONTAINER_HOME}"
    for word in shlex.split(" ".join(tree.environment)):
        variable, equals, value = word.partition("=")
        if equals and variable not in config.environment:
            yield "note", f"{variable} is not set", f"ENV {variable}={shlex.quote(value)}"


def client_of(files: Files, config: ImageConfig | None) -> str | None:
    """Whose bake it is, as label or record say; None if neither does."""
    if config is not None and (label := config.labels.get(LABEL_CLIENT)):
        return label
    record = record_of(files)
    return record.client if record else None
