"""What is wrong with a home, and what to do about it. Changes nothing."""

from __future__ import annotations

import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pannier import clients, groups, mounts, running, safefs
from pannier.bake.find import look_at_image
from pannier.engine import Engine, images
from pannier.errors import EngineError, ImageNotFound, PannierError
from pannier.findings import Finding
from pannier.groups import Group
from pannier.mounts import allowlist
from pannier.paths import Home
from pannier_hook import events, scaffold

_EVENTS_READ = 500
_EVENT_SIZE = 64 * 1024
_SETTINGS_SIZE = 1 << 20


def examine(home: Home, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Look at everything, one finding after the other."""
    engine = None
    try:
        engine = Engine.find(environ)
        yield Finding("ok", "engine", f"Docker {engine.version} answers")
    except EngineError as error:
        yield Finding("problem", "engine", error.message, error.hint)
    if not shutil.which("docker", path=environ.get("PATH")):
        advice = (
            "Install docker's client: pannier attaches your terminal and builds images with it."
        )
        yield Finding("problem", "engine", "the command docker is not on the PATH", advice)
    yield _allowlist(environ)
    found = home.all_groups()
    if not found:
        yield Finding("note", "groups", "there are none", "Make one with: pannier group add scout")
    for paths in found:
        try:
            group = groups.get(home, paths.folder)
            client = clients.get(group.settings.client)
        except PannierError as error:
            yield Finding("problem", paths.folder, error.message, error.hint)
            continue
        yield from _group(home, group, client, environ)
        if engine is not None:
            yield from _image(engine, home, group, client)
            yield from _containers(engine, home, group)


def _allowlist(environ: Mapping[str, str]) -> Finding:
    loaded = allowlist.load(environ)
    if loaded.missing:
        return Finding("ok", "allowlist", f"{loaded.file} is not there: no extra mount is granted")
    if loaded.error:
        return Finding("problem", "allowlist", loaded.error, "Until then it grants nothing.")
    count = len(loaded.allowlist.allow)
    roots = f"{count} root{'' if count == 1 else 's'}"
    return Finding("ok", "allowlist", f"{loaded.file} allows {roots}")


def _group(
    home: Home, group: Group, client: clients.Client, environ: Mapping[str, str]
) -> Iterator[Finding]:
    try:
        identity = groups.identity_of(group.paths, environ)
        yield Finding("ok", group.folder, f"{client.title} runs as {identity}")
    except PannierError as error:
        yield Finding("problem", group.folder, error.message, error.hint)
    try:
        plan = mounts.plan_for(home, group.paths, group.settings, client.name, environ)
        for refusal in plan.refused:
            advice = f"Grant it: {refusal.grant}" if refusal.grant else ""
            yield Finding(
                "problem",
                group.folder,
                f"mount {refusal.source} is refused: {refusal.reason}",
                advice,
            )
    except PannierError as error:
        yield Finding("problem", group.folder, error.message, error.hint)
    for name in group.settings.env_from:
        if name not in environ:
            yield Finding("note", group.folder, f"env_from: {name} is not set here")
    yield from _scaffold(group)
    yield from _hooks_twice(group, client)
    yield from _hook_errors(group)
    for note in client.notes:
        yield Finding("note", group.folder, f"{client.title}: {note}")


def _scaffold(group: Group) -> Iterator[Finding]:
    for path in scaffold.FILES:
        *folders, name = path.split("/")
        try:
            with safefs.open_directory(group.paths.memory, *folders) as folder:
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            yield Finding(
                "note", group.folder, f"memory/{path} is missing; the next start makes it"
            )
            continue
        except (OSError, PannierError) as error:
            yield Finding("problem", group.folder, f"memory/{path}: {error}", _PUT_A_FILE)
            continue
        if not stat.S_ISREG(mode):
            message = f"memory/{path} is not a regular file, so it is not delivered"
            yield Finding("problem", group.folder, message, _PUT_A_FILE)


_PUT_A_FILE = "Move it away: the next start puts a fresh file there."


def _hooks_twice(group: Group, client: clients.Client) -> Iterator[Finding]:
    """The image registers our hook; a person's own settings that call it too deliver twice."""
    state = group.paths.client(client.name)
    for path in client.own_settings:
        try:
            text = safefs.read(state, *path.split("/"), limit=_SETTINGS_SIZE, missing=b"")
        except (OSError, PannierError):
            continue
        if b"pannier-hook" in text:
            yield Finding(
                "problem",
                group.folder,
                f"client/{client.name}/{path} calls pannier-hook, and so does the image: "
                "memory is given twice",
                "Remove the hook from that file.",
            )


def _hook_errors(group: Group) -> Iterator[Finding]:
    counts, unreadable = hook_errors(group.paths.spool)
    for text, count in counts.most_common(10):
        times = f" ({count} times)" if count > 1 else ""
        yield Finding(
            "problem",
            group.folder,
            f"the hook reported{times}: {text}",
            f"Once mended, remove the reports: rm {group.paths.spool}/new/*",
        )
    if unreadable:
        yield Finding(
            "note", group.folder, f"{unreadable} files in spool/new are not events that we know"
        )


def hook_errors(spool: Path) -> tuple[Counter[str], int]:
    """What hooks reported in a spool, each with its count, and how many files are no events.

    The newest events only.
    """
    counts: Counter[str] = Counter()
    unreadable = 0
    with suppress(OSError, PannierError), safefs.open_directory(spool, "new") as folder:
        for name in sorted(os.listdir(folder), reverse=True)[:_EVENTS_READ]:  # noqa: PTH208
            try:
                event = events.decode(safefs.read(folder, name, limit=_EVENT_SIZE))
            except (OSError, ValueError, RecursionError, PannierError):
                unreadable += 1
                continue
            if event.kind == events.ERROR:
                counts[f"{event.event} ({event.client or 'no client'}): {event.text}"] += 1
    return counts, unreadable


def _image(engine: Engine, home: Home, group: Group, client: clients.Client) -> Iterator[Finding]:
    own = group.settings.image is None
    try:
        tag = group.settings.image or images.tag_for(client, groups.home_settings(home))
        image = engine.image(tag)
    except ImageNotFound:
        if own:
            yield Finding("note", group.folder, f"image {tag} is not built; the next start does it")
        else:
            advice = f"Get it with: docker pull {tag}"
            yield Finding("problem", group.folder, f"the engine has no image {tag}", advice)
        return
    except PannierError as error:
        yield Finding("problem", group.folder, error.message, error.hint)
        return
    if own:
        yield Finding("ok", group.folder, f"image {tag} holds hook {image.hook}")
    elif image.hook is None:
        message = f"image {tag} holds no hook (label pannier.hook), so nothing gives it its memory"
        yield Finding("problem", group.folder, message, "Bake the hook in, or leave out image:.")
    else:
        try:
            for found in look_at_image(engine, tag, client.name):
                message = f"image {tag}: {found.message}"
                yield replace(found, subject=group.folder, message=message)
        except PannierError as error:
            yield Finding("problem", group.folder, error.message, error.hint)


def _containers(engine: Engine, home: Home, group: Group) -> Iterator[Finding]:
    for container in engine.containers(str(home.root), group.folder):
        if running.left_behind(engine, container):
            yield Finding(
                "problem",
                group.folder,
                f"container {container.name} ({container.state}) is left from an earlier start",
                f"Remove it: pannier stop {group.folder}",
            )
