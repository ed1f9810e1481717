"""What is wrong with a home, and what to do about it. Changes nothing."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from shlex import quote

from pannier import clients, groups, holding, mounts, running, safefs
from pannier.bake.find import look_at_image
from pannier.engine import Engine, images
from pannier.errors import (
    ClientNotKnown,
    EngineError,
    ImageNotFound,
    PannierError,
    UnsafePath,
    described,
)
from pannier.findings import Finding
from pannier.groups import Group
from pannier.learned import troubles as learned
from pannier.mounts import allowlist
from pannier.outdated import Comparison
from pannier.paths import GroupPaths, Home
from pannier.reports import Reports, read_reports
from pannier.shown import shown
from pannier.threads.spool import MOST_NAMES, NEW, REJECTED, REPORTS
from pannier.threads.store import open_store, threads_file
from pannier.tries import failures, read_tries
from pannier_hook import scaffold

_REPORTS_TOLD = 10
_FLOOD = 10_000
"""Files that wait, of which an orderly agent leaves a few."""
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
    yield from _guarded("threads", lambda: _threads(home, environ))
    yield from _guarded("learning", lambda: learned.of_home(home, environ))
    yield from _guarded("groups", lambda: _groups(engine, home, environ))


def _guarded(subject: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What cannot be looked at is a finding, and the rest is looked at all the same."""
    try:
        yield from look()
    except PannierError as error:
        yield Finding("problem", subject, shown(error.message), error.hint)
    except OSError as error:
        yield Finding("problem", subject, shown(described(error)))


def _groups(engine: Engine | None, home: Home, environ: Mapping[str, str]) -> Iterator[Finding]:
    found = home.all_groups()
    if not found:
        yield Finding("note", "groups", "there are none", "Make one with: pannier group add scout")
    for paths in found:
        yield from _guarded(paths.folder, partial(_group, engine, home, paths, environ))
    if engine is not None:
        yield from _of_no_group(engine, home, {paths.folder for paths in found})


def _of_no_group(engine: Engine, home: Home, folders: set[str]) -> Iterator[Finding]:
    for container in engine.containers(str(home.root)):
        if container.group not in folders:
            yield Finding(
                "problem",
                shown(container.group),
                f"container {container.name} ({container.state}) belongs to a group that is gone",
                f"Remove it: pannier stop {container.group}",
            )


def _group(
    engine: Engine | None, home: Home, paths: GroupPaths, environ: Mapping[str, str]
) -> Iterator[Finding]:
    group = groups.get(home, paths.folder)
    try:
        client = clients.get(group.settings.client)
    except ClientNotKnown as error:
        message = f"{paths.settings}: {error.message}"
        yield Finding("problem", group.folder, message, error.hint)
        return
    looks: list[Callable[[], Iterator[Finding]]] = [
        lambda: _identity(group, client, environ),
        lambda: _mounts(home, group, client, environ),
        lambda: _variables(group, environ),
        lambda: _scaffold(group),
        lambda: _hooks_twice(group, client),
        lambda: _reports(group),
        lambda: _notes(group, client),
        lambda: _context(group, client),
        lambda: _not_compacted(home, group),
        lambda: learned.of_group(home, environ, paths),
    ]
    if engine is not None:
        looks += [
            lambda: _image(engine, home, group, client),
            lambda: _containers(engine, home, group),
        ]
    for look in looks:
        yield from _guarded(group.folder, look)


def _allowlist(environ: Mapping[str, str]) -> Finding:
    loaded = allowlist.load(environ)
    if loaded.missing:
        return Finding("ok", "allowlist", f"{loaded.file} is not there: no extra mount is granted")
    if loaded.error:
        return Finding("problem", "allowlist", loaded.error, "Until then it grants nothing.")
    count = len(loaded.allowlist.allow)
    roots = f"{count} root{'' if count == 1 else 's'}"
    return Finding("ok", "allowlist", f"{loaded.file} allows {roots}")


def _threads(home: Home, environ: Mapping[str, str]) -> Iterator[Finding]:
    path = threads_file(home, environ)
    if path.exists():
        with open_store(path) as store:
            count, dropped, caveat = len(store.threads()), store.dropped(), store.caveat
        yield Finding("ok", "threads", f"{path} holds {count} thread{'' if count == 1 else 's'}")
        if caveat:
            yield Finding("problem", "threads", caveat)
        for group, times in dropped.items():
            what = "an erased session" if times == 1 else f"erased sessions ({times:,} times)"
            yield Finding(
                "note",
                shown(group),
                f"what {what} said in the erased thread was not recorded",
                "Such a session is not recorded there any more: begin a new one.",
            )


def _identity(
    group: Group, client: clients.Client, environ: Mapping[str, str]
) -> Iterator[Finding]:
    identity = groups.identity_of(group.paths, environ)
    yield Finding("ok", group.folder, f"{client.title} runs as {identity}")


def _mounts(
    home: Home, group: Group, client: clients.Client, environ: Mapping[str, str]
) -> Iterator[Finding]:
    plan = mounts.plan_for(home, group.paths, group.settings, client.name, environ)
    for refusal in plan.refused:
        message = f"mount {shown(refusal.source)} is refused: {refusal.reason}"
        advice = f"Grant it: {refusal.grant}" if refusal.grant else ""
        yield Finding("problem", group.folder, message, advice)


def _variables(group: Group, environ: Mapping[str, str]) -> Iterator[Finding]:
    for name in group.settings.env_from:
        if name not in environ:
            yield Finding("note", group.folder, f"env_from: {name} is not set here")


def _notes(group: Group, client: clients.Client) -> Iterator[Finding]:
    for note in client.notes:
        yield Finding("note", group.folder, f"{client.title}: {note}")


def _context(group: Group, client: clients.Client) -> Iterator[Finding]:
    for row in holding.unheld(group.settings.context, client):
        message = f"{client.title}: context.{row.setting} does not hold: {row.how}"
        yield Finding(
            "note", group.folder, message, f"What holds: pannier context show {group.folder}"
        )
    for name, meant in holding.misspelt(group.settings.context.spill_buffer.thresholds).items():
        message = f"context.spill_buffer.thresholds: no tool is known as {shown(name)}"
        yield Finding("note", group.folder, message, f"Did you mean {meant}?")


def _not_compacted(home: Home, group: Group) -> Iterator[Finding]:
    for one in failures(read_tries(home)):
        if one.group == group.folder:
            advice = f"Try it: pannier compact {one.group} --thread {one.thread}"
            yield Finding("problem", group.folder, shown(str(one)), advice)


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
        except UnsafePath as error:
            yield Finding("problem", group.folder, shown(error.message), _PUT_A_FILE)
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


def _reports(group: Group) -> Iterator[Finding]:
    found = read_reports(group.paths.spool)
    spool = group.paths.spool
    if found.problem:
        yield Finding(
            "problem",
            group.folder,
            f"its spool cannot be read: {shown(found.problem)}",
            f"An agent can put something in its way. Move away what is named there, in {spool}",
        )
    told = found.errors[:_REPORTS_TOLD]
    for number, (text, count) in enumerate(told, 1):
        times = f" ({count} times)" if count > 1 else ""
        take_in = "pannier threads list; " if found.waiting else ""
        advice = f"Once mended, remove the reports: {take_in}rm {quote(str(spool / REPORTS))}/*"
        yield Finding(
            "problem",
            group.folder,
            f"the hook reported{times}: {text}",
            advice if number == len(told) else "",
        )
    yield from _waiting(group, found)
    yield from _rejected(group, found)


def _waiting(group: Group, found: Reports) -> Iterator[Finding]:
    if not found.waiting:
        return
    many = "more than " if found.waiting >= MOST_NAMES else ""
    what = f"{many}{found.waiting:,} files of its spool wait to be taken in"
    since = f", the first for {_duration(found.oldest)}"
    if found.waiting > _FLOOD:
        advice = "Look whether an agent goes wild. The other groups are taken in meanwhile."
        yield Finding("problem", group.folder, what + since, advice)
    else:
        advice = "Take them in: pannier threads list. Or let the daemon: pannier serve"
        yield Finding("note", group.folder, what + since, advice)


def _duration(seconds: float) -> str:
    for length, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    whole = round(seconds)
    return f"{whole} second{'' if whole == 1 else 's'}"


def _rejected(group: Group, found: Reports) -> Iterator[Finding]:
    for text, count in found.rejected[:_REPORTS_TOLD]:
        files = "a file" if count == 1 else f"{count:,} files"
        folder = group.paths.spool / REJECTED
        yield Finding(
            "problem",
            group.folder,
            f"{files} of its spool could not be read: {text}",
            f"They lie in {folder}. What a later hook wrote can be moved back to {NEW} once "
            "pannier is updated; remove the rest.",
        )


def _image(engine: Engine, home: Home, group: Group, client: clients.Client) -> Iterator[Finding]:
    file = group.paths.settings
    tag = group.settings.image
    if tag is not None:
        yield from _own_image(engine, group, client, tag)
    elif not client.program:
        message = f"{file}: the group runs {client.title}, and no image is named"
        yield Finding("problem", group.folder, message, "Name it there: image: …")
    else:
        tag = images.tag_for(client, groups.home_settings(home))
        try:
            hook = engine.image(tag).hook
            yield Finding("ok", group.folder, f"image {tag}, for starts, holds hook {hook}")
        except ImageNotFound:
            yield Finding("note", group.folder, f"image {tag} is not built; the next start does it")


def _own_image(engine: Engine, group: Group, client: clients.Client, tag: str) -> Iterator[Finding]:
    """Of an image that a person made: whether the hook and its settings are in there."""
    try:
        image = engine.image(tag)
    except ImageNotFound:
        message = f"the engine has no image {tag}, which {group.paths.settings} names"
        yield Finding("problem", group.folder, message, f"Get it with: docker pull {tag}")
        return
    if image.hook is None:
        message = f"image {tag} holds no hook (label pannier.hook), so nothing gives it its memory"
        yield Finding("problem", group.folder, message, "Bake the hook in, or leave out image:.")
        return
    for found in look_at_image(engine, tag, client.name):
        yield replace(found, subject=group.folder, message=f"image {tag}: {shown(found.message)}")


def _containers(engine: Engine, home: Home, group: Group) -> Iterator[Finding]:
    compare = Comparison(engine, home)
    for container in engine.containers(str(home.root), group.folder):
        if running.left_behind(engine, container):
            yield Finding(
                "problem",
                group.folder,
                f"container {container.name} ({container.state}) is left from an earlier start",
                f"Remove it: pannier stop {group.folder}",
            )
        elif outdated := compare.outdated(container, group):
            yield Finding("problem", group.folder, f"container {outdated}", outdated.advice)
        elif container.state == "running":
            message = f"container {container.name} runs image {container.image}"
            yield Finding("ok", group.folder, message)
