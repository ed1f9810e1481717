"""Starting a group's client in a container: plan, make ready, start, check, let go."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from pannier import clients, groups, holding, mounts, owner, running, safefs
from pannier.engine import Container, ContainerSpec, Engine, images, terminal
from pannier.engine.life import Life
from pannier.engine.spec import (
    LABEL_CLIENT,
    LABEL_CONTEXT,
    LABEL_GROUP,
    LABEL_HOME,
    LABEL_IMAGE,
    LABEL_MOUNTS,
    LABEL_OWNER,
    LABEL_ROLE,
    LABEL_THREAD,
    Role,
    mounts_label,
)
from pannier.engine.terminal import Ends
from pannier.errors import (
    EngineError,
    ImageNotFound,
    MountMismatch,
    PannierError,
    RefusedMounts,
    UsageError,
)
from pannier.groups import Group
from pannier.identity import Identity
from pannier.mounts.plan import MountPlan
from pannier.outdated import Comparison
from pannier.paths import Home
from pannier.sandbox.recording import Recorder, look
from pannier.settings import size_in_bytes

_SHOWN = 5

Tell = Callable[[str], None]
Building = Callable[[], AbstractContextManager[images.Progress]]
"""Opened around a build that turns out to be needed."""


@dataclass(frozen=True)
class Wish:
    """What a person asks for."""

    folder: str
    client: str | None = None
    image: str | None = None
    thread: str = running.DEFAULT_THREAD
    cwd: str | None = None
    entrypoint: str | None = None
    args: tuple[str, ...] = ()
    skip_refused: bool = False


@dataclass(frozen=True)
class Plan:
    """What a start would do. Nothing has been written yet."""

    wish: Wish
    group: Group
    client: clients.Client
    image: str
    """Tag of the image; built first if it is pannier's own and missing."""
    own_image: bool
    identity: Identity
    mounts: MountPlan
    environment: Mapping[str, str]
    """Without the values of `env_from`."""
    missing: tuple[str, ...]
    """Names of `env_from` that the environment lacks."""
    command: tuple[str, ...]
    workdir: str
    thread: str


def decide(home: Home, wish: Wish, environ: Mapping[str, str]) -> Plan:
    """Decide everything about a start, and change nothing.

    Raises UsageError, SettingsError, or RefusedMounts.
    """
    group = groups.get(home, wish.folder)
    client = groups.client_of(group, wish.client)
    running.check_thread(wish.thread)
    mount_plan = mounts.plan_for(home, group.paths, group.settings, client.name, environ)
    if mount_plan.refused and not wish.skip_refused:
        raise RefusedMounts(
            "\n".join(["the allowlist refuses a mount", *map(str, mount_plan.refused)]),
            f"See: pannier mounts show {wish.folder}. Or start without: --skip-refused.",
        )
    named = wish.image or groups.image_of(group, client)
    if named is None and not client.program:
        raise UsageError(
            f"group {wish.folder} runs {client.title}, and no image is named",
            f"Name it in {group.paths.settings} (image: …) or with --image.",
        )
    return Plan(
        wish=wish,
        group=group,
        client=client,
        image=named or images.tag_for(client, groups.home_settings(home)),
        own_image=named is None,
        identity=groups.identity_of(group.paths, environ),
        mounts=mount_plan,
        environment={
            "PANNIER_THREAD": wish.thread,
            **holding.environment(group.settings.context, client),
        },
        missing=tuple(n for n in group.settings.env_from if n not in environ),
        command=(wish.entrypoint, *wish.args) if wish.entrypoint else (*client.program, *wish.args),
        workdir=_workdir(group, wish.cwd, mount_plan),
        thread=wish.thread,
    )


def _workdir(group: Group, cwd: str | None, plan: MountPlan) -> str:
    """Absolute path in the container; one below a mount must exist.

    Otherwise the engine would make it, as root, in a folder of the person's.
    """
    workdir = running.workdir_of(group, cwd)
    for mount in plan.mounts:
        if workdir.is_relative_to(mount.target):
            below = workdir.relative_to(mount.target).parts
            try:
                with safefs.open_directory(mount.source, *below):
                    pass
            except (OSError, PannierError) as error:
                if not below and not mount.source.exists():
                    break  # A folder of ours that this start will make.
                raise UsageError(
                    f"there is no folder {workdir} in the container",
                    f"Make it on the host: {mount.source.joinpath(*below)}",
                ) from error
    return str(workdir)


def make_ready(home: Home, plan: Plan, environ: Mapping[str, str], tell: Tell) -> Plan:
    """Create what a start mounts. Returns the plan with what lies there now."""
    ready = groups.make_ready(plan.group, plan.client, environ)
    for odd in ready.odd:
        tell(f"left alone in place of a scaffold file: {odd}")
    for kept in ready.kept[:_SHOWN]:
        tell(f"the agent cannot write it: {kept}")
    if len(ready.kept) > _SHOWN:
        tell(f"nor {len(ready.kept) - _SHOWN} more")
    for name in plan.missing:
        tell(f"env_from: {name} is not set here, so the container does not have it")
    for refusal in plan.mounts.refused:
        tell(f"started without: {refusal}")
    return decide(home, plan.wish, environ) if plan.mounts.missing else plan


def specify(
    home: Home, plan: Plan, environ: Mapping[str, str], role: Role, *, gate: bool
) -> ContainerSpec:
    """The container of a plan. `gate`: its entrypoint waits until the mounts were compared."""
    limits = plan.group.settings.limits
    handed_on = {n: environ[n] for n in plan.group.settings.env_from if n in environ}
    return ContainerSpec(
        name=f"pannier-{plan.group.folder}-{secrets.token_hex(3)}",
        image=plan.image,
        command=plan.command,
        user=str(plan.identity),
        mounts=plan.mounts.mounts,
        # What a person hands on goes before what pannier tells the client; our own names are none.
        environment={**plan.environment, **handed_on, **({"PANNIER_GATE": "1"} if gate else {})},
        labels={
            LABEL_HOME: str(home.root),
            LABEL_GROUP: plan.group.folder,
            LABEL_CLIENT: plan.client.name,
            LABEL_ROLE: role,
            LABEL_THREAD: plan.thread,
            LABEL_OWNER: owner.me(),
            LABEL_MOUNTS: mounts_label(plan.mounts.mounts),
            LABEL_IMAGE: plan.wish.image or "",
            LABEL_CONTEXT: plan.group.settings.context.variable(),
        },
        memory=size_in_bytes(limits.memory),
        cpus=limits.cpus,
        processes=limits.processes,
        workdir=plan.workdir,
        network=plan.group.settings.network,
        hostname=plan.group.folder.replace("_", "-").rstrip("-"),
    )


def ensure_image(engine: Engine, home: Home, plan: Plan, building: Building) -> bool:
    """Build pannier's own image if it is missing. Returns whether the image holds the hook.

    Raises BuildFailed, or ImageNotFound for an image of somebody's own.
    """
    if plan.own_image:
        if not engine.has_image(plan.image):
            with building() as progress:
                images.ensure(engine, plan.client, groups.home_settings(home), progress)
        return True
    try:
        return engine.image(plan.image).hook is not None
    except ImageNotFound as error:
        raise ImageNotFound(
            f"the engine has no image {plan.image}", f"Get it with: docker pull {plan.image}"
        ) from error


def run(
    engine: Engine,
    home: Home,
    plan: Plan,
    environ: Mapping[str, str],
    tell: Tell,
    building: Building,
    ends: Ends | None = None,
) -> int:
    """One container with the client in the foreground. Returns the client's own status."""
    ready = make_ready(home, plan, environ, tell)
    gate = ensure_image(engine, home, ready, building)
    running.report_left_behind(engine, home, ready.group.folder, tell)
    ends = ends or Ends.here()
    spec = specify(home, ready, environ, "run", gate=gate)
    spec = replace(spec, tty=ends.tty, stdin=ends.stdin)
    recorder, since, container = Recorder(home, environ), time.time_ns(), ""
    seen: list[Life | None] = []

    def before() -> None:
        compare(engine, container, spec, gate=gate)
        seen.append(look(engine, container))

    def begin() -> None:
        let_go(engine, container, gate=gate)
        # From here on the client works: to record costs it no time.
        visit.begins()
        recorder.began(seen[0])

    try:
        container = engine.create(spec)
        with recorder.visit(container, "run", ready.thread, tty=ends.tty) as visit:
            status = terminal.foreground(
                terminal.start_attached(container, ends),
                engine.environ,
                ends,
                before=before,
                begin=begin,
                forward=lambda number: engine.signal(container, number),
            )
            return visit.ends(status)
    finally:
        engine.remove(spec.name)
        recorder.ended(engine, container, since)


def up(
    engine: Engine,
    home: Home,
    plan: Plan,
    environ: Mapping[str, str],
    tell: Tell,
    building: Building,
) -> Container:
    """Start a container that idles under an init until `stop`. Returns it.

    One of the same client that is up already stays as it is, and is returned.
    """
    folder = plan.group.folder
    ready = make_ready(home, plan, environ, tell)
    if there := _up_already(engine, home, ready, tell):
        return there  # An image that it does not need may take minutes.
    gate = ensure_image(engine, home, ready, building)
    with running.one_start(home, folder, plan.client.name):
        if there := _up_already(engine, home, ready, tell):
            return there
        running.report_left_behind(engine, home, folder, tell)
        started = _start_idling(engine, home, ready, environ, gate=gate)
        Recorder(home, environ).began(look(engine, started))
    return next(c for c in engine.containers(str(home.root), folder) if c.id == started)


def _up_already(engine: Engine, home: Home, ready: Plan, tell: Tell) -> Container | None:
    folder = ready.group.folder
    for there in engine.containers(str(home.root), folder):
        same = running.is_up(there) and there.client == ready.client.name
        if same and not engine.at_gate(there.id):
            if old := Comparison(engine, home).outdated(there, ready.group):
                tell(f"{old}. {old.advice}")
            else:
                tell(f"{there.name} is up already; to start anew: pannier stop {folder}")
            return there
    return None


def _start_idling(
    engine: Engine, home: Home, ready: Plan, environ: Mapping[str, str], *, gate: bool
) -> str:
    spec = specify(home, ready, environ, "up", gate=gate)
    spec = replace(spec, command=("sleep", "infinity"), auto_remove=False)
    try:
        container = engine.create(spec)
        engine.start(container)
        admit(engine, container, spec, gate=gate)
    except BaseException:
        engine.remove(spec.name)
        raise
    return container


@contextmanager
def started(engine: Engine, spec: ContainerSpec, gate: bool) -> Iterator[str]:
    """A container of which the mounts were compared, and whose program was let go; removed at the
    end, whatever happens."""
    try:
        container = engine.create(spec)
        engine.start(container)
        admit(engine, container, spec, gate=gate)
        yield container
    finally:
        # By name: it may have come into being although `create` was interrupted.
        engine.remove(spec.name)


def admit(engine: Engine, container: str, spec: ContainerSpec, *, gate: bool) -> None:
    """Compare the started container's mounts with the plan, then let its client begin.

    Raises MountMismatch; the caller removes the container.
    """
    compare(engine, container, spec, gate=gate)
    let_go(engine, container, gate=gate)


def compare(engine: Engine, container: str, spec: ContainerSpec, *, gate: bool) -> None:
    """Compare the started container's mounts with the plan.

    An image without our entrypoint knows no gate: its program has begun, and may have ended.
    Raises MountMismatch.
    """
    try:
        engine.wait_until_started(container)
        engine.check_mounts(container, (*spec.mounts, *spec.binds), hook=gate)
    except MountMismatch:
        raise
    except EngineError:
        if gate or not engine.ends_soon(container):
            raise


def let_go(engine: Engine, container: str, *, gate: bool) -> None:
    """Open the gate. What a signal ended at the gate needs none."""
    if not gate:
        return
    try:
        engine.release(container)
    except EngineError:
        if not engine.ends_soon(container, seconds=0):
            raise
