"""A group's container that keeps its state, as `pannier run` has it, beside a scripted model.

What `pannier verify` throws away stays here: HOME, working directory, spool and inbox are the
group's own. So the container can be replaced by a new one, and the sessions go on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pannier import groups, launch
from pannier.clients.client import Client
from pannier.endpoint.answers import OK, Answer, Say
from pannier.endpoint.model import Request, ScriptedModel
from pannier.endpoint.server import on_socket
from pannier.engine import Engine
from pannier.engine.images import Progress
from pannier.engine.spec import Role
from pannier.mounts.plan import Mount
from pannier.paths import RUN_ROOT, Home
from pannier.settings import GroupSettings
from pannier.verify import inside
from pannier.verify.container import PORT, ContainerProcesses
from pannier.verify.programs import DialogueProgram
from pannier.verify.shell import EventShell

_LINK = RUN_ROOT / "verify"


class Listening(ScriptedModel):
    """A scripted model that remembers what it answered to whom, and can be told how to answer
    requests by what stands in them."""

    def __init__(self) -> None:
        super().__init__(self._by_text)
        self.given: list[tuple[Request, Answer]] = []
        self.on: dict[str, Answer] = {}
        """By words of a request's last texts: its answer when the script has nothing."""

    def next_answer(self, request: Request) -> Answer:
        answer = super().next_answer(request)
        self.given.append((request, answer))
        return answer

    def _by_text(self, request: Request) -> Answer:
        last = [t.text for t in request.texts[-3:] if "tool call" not in t.where]
        found = (a for text in reversed(last) for words, a in self.on.items() if words in text)
        return next(found, OK)

    def answered_with(self, text: str) -> Request:
        """The request that got this text."""
        [found] = [r for r, a in self.given if isinstance(a, Say) and a.text == text]
        return found


@dataclass
class Living:
    """A group, and its container that runs now."""

    engine: Engine
    home: Home
    client: Client
    model: Listening = field(default_factory=Listening)
    folder: str = "scout"

    @property
    def state(self) -> Path:
        """The client's HOME on the host."""
        return self.home.group(self.folder).client(self.client.name)

    @contextmanager
    def container(self, role: Role = "run") -> Iterator[EventShell]:
        """A new container of the group; it ends with the block. One that is `up` idles for what
        pannier itself starts in it."""
        environ = dict(os.environ)
        plan = launch.decide(self.home, launch.Wish(self.folder), environ)
        plan = launch.make_ready(self.home, replace(plan, missing=()), environ, print)
        gate = launch.ensure_image(self.engine, self.home, plan, _building)
        settings = self.client.endpoint(f"http://127.0.0.1:{PORT}")
        for name, text in settings.home.items():
            file = self.state / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            os.chown(file.parent, plan.identity.uid, plan.identity.gid)
            os.chown(file, plan.identity.uid, plan.identity.gid)
        link = self.home.state / "link"
        link.mkdir(mode=0o755, exist_ok=True)
        (link / Path(inside.__file__).name).write_bytes(Path(inside.__file__).read_bytes())
        status = link.stat()
        spec = launch.specify(self.home, plan, {}, role, gate=gate)
        spec = replace(
            spec,
            command=("sleep", "infinity"),
            binds=(Mount(link, _LINK, "ro", status.st_dev, status.st_ino),),
            environment={**spec.environment, **settings.environment},
            network="none",
            auto_remove=False,
        )
        with ExitStack() as ends:
            ends.callback((link / "model").unlink, missing_ok=True)
            ends.enter_context(on_socket(self.model, link / "model"))
            ends.callback(self.engine.remove, spec.name)
            container = self.engine.create(spec)
            self.engine.start(container)
            launch.admit(self.engine, container, spec, gate=gate)
            processes = ContainerProcesses(self.engine, container, spec.workdir)
            argv = ("python3", "-IS", str(_LINK / "inside.py"), "forward", str(PORT))
            forwarder = DialogueProgram(processes, (*argv, str(_LINK / "model")), "forward")
            ends.enter_context(closing(forwarder))
            forwarder.wait_for(inside.READY, seconds=20)
            shell = EventShell("living", processes, self.model, lambda: None)
            ends.callback(shell.close)
            yield shell


def living(engine: Engine, root: Path, client: Client) -> Living:
    """A new home with the group scout."""
    environ = {**os.environ, "HOME": str(root / "person")}
    home, _ = groups.init(root, environ)
    groups.add(home, "scout", GroupSettings(client=client.name))
    home.state.mkdir(exist_ok=True)
    return Living(engine, home, client)


@contextmanager
def _building() -> Iterator[Progress]:
    yield print
