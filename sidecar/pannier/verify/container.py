"""The container in which a client is verified: the group's own, but for its state and network."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pannier import launch, owner, running, safefs
from pannier.clients.client import Endpoint
from pannier.endpoint.model import ScriptedModel
from pannier.endpoint.server import on_socket
from pannier.engine import ContainerSpec, Engine
from pannier.engine.streams import ExecStream
from pannier.errors import ContainerGone, EngineError, UnsafePath
from pannier.identity import Identity
from pannier.mounts.plan import Mode, Mount
from pannier.paths import AGENT_ROOT, CONTAINER_HOME, RUN_ROOT, Home
from pannier.reports import read_reports
from pannier.shown import shown
from pannier.verify import inside
from pannier.verify.programs import DialogueProgram
from pannier.verify.screen import COLUMNS, LINES

PORT = 8642
"""On the container's own loopback, where nothing else listens."""

_LINK = RUN_ROOT / "verify"
_INSIDE = str(_LINK / "inside.py")
_SOCKET = "model"
_PYTHON = ("python3", "-IS", _INSIDE)
_SECONDS_TO_END = 3.0
_WORKDIR = AGENT_ROOT / "files"
_STATE = (CONTAINER_HOME, _WORKDIR, RUN_ROOT / "spool", RUN_ROOT / "inbox")
"""What the container gets a throw-away folder for, instead of the group's."""


class ContainerProcesses:
    """Programs in a running container. See `pannier.verify.programs.Processes`."""

    def __init__(self, engine: Engine, container: str, workdir: str) -> None:
        self._engine = engine
        self._container = container
        self._workdir = workdir

    def start(self, argv: Sequence[str], *, job: str, tty: bool) -> ExecStream:
        if tty:
            # The size is there before the program asks for it.
            size = f'stty rows {LINES} cols {COLUMNS}; exec "$@"'
            argv = ("sh", "-c", size, "sh", *argv)
        return ExecStream(
            self._engine.sdk,
            self._container,
            argv,
            tty=tty,
            environment={inside.JOB: job, "TERM": "xterm-256color"},
            workdir=self._workdir,
        )

    def end(self, job: str) -> None:
        argv = [*_PYTHON, "end", job, f"{_SECONDS_TO_END:g}"]
        try:
            status, output = self._engine.exec(self._container, argv)
        except ContainerGone:
            return
        if status != 0:
            raise EngineError(f"a program in the container could not be ended: {output.strip()}")


@contextmanager
def container_for(
    engine: Engine,
    home: Home,
    plan: launch.Plan,
    environ: Mapping[str, str],
    tell: launch.Tell,
    building: launch.Building,
    model: ScriptedModel,
) -> Iterator[ContainerProcesses]:
    """A running container of the plan's group whose client finds `model` on its loopback.

    It has the group's mounts, but a HOME, working directory, spool and inbox that are empty at
    first and thrown away, no network, and nothing of `env_from`: settings and hooks that the agent
    wrote for its client have no say. Whatever happens, container and folders are removed at the
    end.
    """
    plan = launch.make_ready(home, replace(plan, missing=()), environ, tell)
    gate = launch.ensure_image(engine, home, plan, building)
    running.report_left_behind(engine, home, plan.group.folder, tell)
    settings = plan.client.endpoint(f"http://127.0.0.1:{PORT}")
    with _scratch(home, tell) as folder:
        link = _prepare(folder, settings, plan.identity)
        spec = _specify(launch.specify(home, plan, {}, "verify", gate=gate), folder, link, settings)
        with on_socket(model, link / _SOCKET), launch.started(engine, spec, gate) as container:
            processes = ContainerProcesses(engine, container, spec.workdir)
            argv = (*_PYTHON, "forward", str(PORT), str(_LINK / _SOCKET))
            with closing(DialogueProgram(processes, argv, "forward")) as forwarder:
                forwarder.wait_for(inside.READY, seconds=20)
                yield processes
        for text, _ in read_reports(folder / "spool").errors:
            tell(f"the hook reported: {text}")


def _specify(spec: ContainerSpec, folder: Path, link: Path, settings: Endpoint) -> ContainerSpec:
    thrown_away = {target: folder / target.name for target in _STATE}
    mounts = tuple(
        _mount(thrown_away[m.target], m.target, "rw") if m.target in thrown_away else m
        for m in spec.mounts
    )
    return replace(
        spec,
        command=("sleep", "infinity"),
        workdir=str(_WORKDIR),
        mounts=mounts,
        binds=(_mount(link, _LINK, "ro"),),
        environment={**spec.environment, **settings.environment},
        network="none",
        auto_remove=False,
    )


def _mount(source: Path, target: PurePosixPath, mode: Mode) -> Mount:
    status = source.stat()
    return Mount(source=source, target=target, mode=mode, device=status.st_dev, inode=status.st_ino)


def _prepare(folder: Path, settings: Endpoint, identity: Identity) -> Path:
    """Fill the throw-away folder. Returns what is mounted for the forwarder."""
    for target in _STATE:
        (folder / target.name).mkdir(mode=0o700)
    for name, text in settings.home.items():
        file = folder / CONTAINER_HOME.name / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if os.geteuid() == 0:
        for path in (p for target in _STATE for p in _tree(folder / target.name)):
            os.chown(path, identity.uid, identity.gid)
    link = folder / "link"
    link.mkdir(mode=0o755)
    script = link / Path(_INSIDE).name
    script.write_bytes(Path(inside.__file__).read_bytes())
    script.chmod(0o644)
    return link


def _tree(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.rglob("*")


@contextmanager
def _scratch(home: Home, tell: launch.Tell) -> Iterator[Path]:
    """A throw-away folder that the engine sees as it sees the group; removed at the end.

    What a killed process left is removed at the start. What cannot be removed is told.
    """
    root = home.state / "verify"
    root.mkdir(parents=True, exist_ok=True)
    for old in root.iterdir():
        if owner.is_gone(_owner_of(old)):
            _remove(old, tell)
    folder = root / secrets.token_hex(4)
    folder.mkdir(mode=0o700)
    try:
        (folder / "owner").write_text(owner.me())
        yield folder
    finally:
        _remove(folder, tell)


def _remove(folder: Path, tell: launch.Tell) -> None:
    try:
        kept = safefs.remove_tree(folder.parent, folder.name)
    except (OSError, UnsafePath) as error:
        kept = (str(error),)
    if kept:
        tell(f"{folder} could not be removed: {shown(kept[0])}")


def _owner_of(folder: Path) -> str:
    try:
        return (folder / "owner").read_text()
    except OSError:
        return ""
