"""Asking a group's own client, with its own login: for people without a key.

It runs headless in a container that has the client's HOME and nothing else of the group: no memory,
no threads, no spool. The hook is silent there, so nothing is injected, recorded or counted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace

from pannier import launch
from pannier.clients.asking import WAYS, WORKDIR, Said, Sheet, Way
from pannier.engine import ContainerSpec, Engine, images
from pannier.engine.spec import LABEL_MOUNTS, LABEL_THREAD, mounts_label
from pannier.engine.streams import ExecStream
from pannier.errors import PannierError
from pannier.launch import Building, Plan, Tell, Wish
from pannier.learning.models.asking import SECONDS, WINDOW, AskError, Question, Reply, asked_tokens
from pannier.learning.models.failures import told
from pannier.learning.models.wire import read_answer, read_text, wire_schema
from pannier.paths import CONTAINER_HOME, Home
from pannier_hook.estimate import estimate

_SPARE = 60
"""Seconds that a container outlives the call for which it was made, if nobody removes it."""
_TOO_LONG = (124, 137)
"""Statuses of timeout(1) when it had to end or to kill."""
_MOST_PRINTED = 16 << 20
"""Bytes."""
_MOST_ARGUMENT = 120_000
"""Bytes of one argument; Linux takes 128 KiB (execve(2))."""
_SCRIPT = """
set -e
mkdir -p "$1"
cd "$1"
shift
while [ "$1" != -- ]; do printf %s "$2" >"$1"; shift 2; done
shift
set +e
"$@"
status=$?
while IFS= read -r trace; do [ -z "$trace" ] || rm -rf -- "$HOME/$trace"; done <<END
$PANNIER_TRACES
END
exit $status
"""
"""WORKDIR [FILE TEXT]… -- COMMAND…"""

Begin = Callable[[Engine, ContainerSpec, bool], AbstractContextManager[str]]
"""Starts the container, whose entrypoint may wait at the gate; gives its id, and removes it."""


@dataclass(frozen=True)
class ClientAsker:
    """A group's client."""

    home: Home
    environ: Mapping[str, str]
    folder: str
    known_window: int | None = None
    seconds: float = SECONDS
    """No call takes longer."""
    tell: Tell = field(default=lambda _: None)
    building: Building | None = None
    """Opened when the image has to be built; None: without showing how that goes."""
    begin: Begin = launch.started

    @property
    def name(self) -> str:
        return f"the client of {self.folder}"

    @property
    def window(self) -> int:
        return self.known_window or WINDOW

    def ask(self, question: Question) -> Reply:
        """Ask once. Raises AskError."""
        paid = asked_tokens(question)
        try:
            plan, way = self._decide()
            sheet = _sheet(question)
            with self._container(plan, way) as (engine, container):
                status, output, errors = self._run(engine, container, way, sheet, question.data)
        except AskError:
            raise
        except PannierError as error:
            raise AskError("down", f"{self.name}: {error.message}", error.hint) from None
        if status in _TOO_LONG:
            text = f"{self.name} did not answer within {self.seconds / 60:.0f} minutes"
            raise AskError("down", text, tokens=paid)
        return self._reply(question, self._said(way, status, output, errors), paid)

    def _decide(self) -> tuple[Plan, Way]:
        plan = launch.decide(self.home, Wish(self.folder, skip_refused=True), self.environ)
        way = WAYS.get(plan.client.name)
        if way is None:
            able = ", ".join(sorted(WAYS))
            raise AskError(
                "unset",
                f"learning.model: {plan.client.title}, the client of {self.folder}, cannot be "
                "asked without its tools",
                f"Name a model such as anthropic:claude-haiku-4-5; `client` is for {able}.",
            )
        return plan, way

    @contextmanager
    def _container(self, plan: Plan, way: Way) -> Iterator[tuple[Engine, str]]:
        engine = Engine.find(self.environ)
        ready = launch.make_ready(self.home, plan, self.environ, self.tell)
        gate = launch.ensure_image(engine, self.home, ready, self.building or _unseen)
        spec = launch.specify(self.home, ready, self.environ, "ask", gate=gate)
        mounts = tuple(mount for mount in spec.mounts if mount.target == CONTAINER_HOME)
        spec = replace(
            spec,
            command=("sleep", str(int(self.seconds) + _SPARE)),
            mounts=mounts,
            workdir="/tmp",
            environment={**spec.environment, **way.environment, "PANNIER_SILENT": "1"},
            # It belongs to no thread: nobody's message waits for its end.
            labels={**spec.labels, LABEL_THREAD: "", LABEL_MOUNTS: mounts_label(mounts)},
        )
        with self.begin(engine, spec, gate) as container:
            yield engine, container

    def _run(
        self, engine: Engine, container: str, way: Way, sheet: Sheet, data: str
    ) -> tuple[int, str, str]:
        files = [word for file in way.files(sheet).items() for word in file]
        command = way.command(sheet)
        limit = ("timeout", "-k", "10", f"{self.seconds:g}")
        stream = ExecStream(
            engine.sdk,
            container,
            (*limit, "sh", "-c", _SCRIPT, "sh", WORKDIR, *files, "--", *command),
            tty=False,
            environment={"PANNIER_TRACES": "\n".join(way.traces)},
            workdir="/tmp",
        )
        with closing(stream):
            # A client may say something before it has read everything.
            writer = threading.Thread(target=_write, args=(stream, data), daemon=True)
            writer.start()
            output, errors = _read(stream, self.name)
            status = stream.status()
        return -1 if status is None else status, output, errors

    def _said(self, way: Way, status: int, output: str, errors: str) -> Said:
        try:
            said = way.read(output, errors)
        except (ValueError, RecursionError, AttributeError):
            said = Said(trouble=(errors or output)[-300:] or f"it ended with status {status}")
        if status and not (said.trouble or said.text) and said.answer is None:
            return replace(said, trouble=errors[-300:] or f"it ended with status {status}")
        return said

    def _reply(self, question: Question, said: Said, paid: int) -> Reply:
        if said.trouble:
            error = told(said.trouble, self.name, said.status)
            error.tokens = said.input + said.output
            if error.kind == "login":
                way = f"Log in there, or choose a model: pannier run {self.folder}"
                error.hint = f"{way}. It says: {error.hint}"
            raise error
        read = said.input or paid
        made = said.output or estimate(said.text or str(said.answer))
        try:
            if said.answer is None:
                data = read_text(question.answer, said.text)
            else:
                data = read_answer(question.answer, said.answer)
        except ValueError as error:
            text = f"{self.name} answered what does not fit: {error}"
            raise AskError("answer", text, tokens=read + made) from None
        return Reply(data, read, made, self.name)


def _sheet(question: Question) -> Sheet:
    sheet = Sheet(question.instructions, json.dumps(wire_schema(question.answer)))
    if max(len(text.encode()) for text in (sheet.instructions, sheet.schema)) > _MOST_ARGUMENT:
        raise AskError("too_long", "the instructions are longer than an argument may be")
    return sheet


def _write(stream: ExecStream, data: str) -> None:
    stream.write(data.encode("utf-8", "replace"))
    stream.close_input()


def _read(stream: ExecStream, name: str) -> tuple[str, str]:
    """What it prints until it ends. Raises AskError for what has no end."""
    output, errors = bytearray(), bytearray()
    while (more := stream.read()) is not None:
        output += more[0]
        errors += more[1]
        if len(output) + len(errors) > _MOST_PRINTED:
            raise AskError("answer", f"{name} printed more than {_MOST_PRINTED >> 20} MiB")
    return output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")


@contextmanager
def _unseen() -> Iterator[images.Progress]:
    yield lambda _step, _line: None
