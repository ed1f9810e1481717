"""Learning by way of a group's own client: the real programs, asked by the sidecar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pannier import clients, groups, launch
from pannier.client_asker import ClientAsker
from pannier.clients.asking import WAYS
from pannier.endpoint.answers import Answer, Call, Fail, Fill, Late, Say
from pannier.endpoint.model import Request, ScriptedModel
from pannier.endpoint.server import on_socket
from pannier.engine import ContainerSpec, Engine
from pannier.learning.models.answers import ExtractionAnswer
from pannier.learning.models.asking import AskError, Question
from pannier.mounts.plan import Mount
from pannier.paths import RUN_ROOT, Home
from pannier.settings import GroupSettings
from pannier.verify import inside
from pannier.verify.container import PORT, ContainerProcesses
from pannier.verify.programs import DialogueProgram

LINK = RUN_ROOT / "verify"
FOUND = {
    "kind": "preference",
    "text": "Anything over $40k needs sign-off.",
    "topic": "Quotes",
    "evidence": [3],
    "widens": False,
}
EXTRACTED = {"summary": "About quotes.", "candidates": [FOUND]}
QUESTION = Question("Read what was said.", "m3 person: ask me over $40k", ExtractionAnswer, 500)
TOOLS = {"claude": "StructuredOutput", "qwen": "structured_output"}
"""By client, the tool of its own by which the model answers; the others take a text."""
HARMLESS = {
    "claude": {"DeferredToolPlaceholder", "StructuredOutput"},
    "qwen": {"structured_output"},
    # Offered, and denied when called.
    "gemini": {"replace", "run_shell_command", "write_file"},
}


@dataclass
class Asked:
    """A group whose client is asked."""

    asker: ClientAsker
    model: ScriptedModel
    home: Home
    client: str

    def answer(self, data: dict[str, object]) -> Answer:
        """How a model gives this with the client."""
        tool = TOOLS.get(self.client)
        return Call(tool, data) if tool else Fill(data)

    def files(self) -> set[str]:
        """All of the group, but for the client's own HOME."""
        group = self.home.group("scout")
        own = group.client(self.client)
        return {
            str(path.relative_to(group.root))
            for path in group.root.rglob("*")
            if path.is_file() and not path.is_relative_to(own)
        }


@pytest.fixture(scope="module", params=sorted(WAYS))
def asked(request: pytest.FixtureRequest, engine: Engine, folder: Path) -> Asked:
    """One group a client; each question has a container of its own."""
    name: str = request.param
    root = folder / f"ask-{name}"
    environ = {**os.environ, "HOME": str(root / "person")}
    home, _ = groups.init(root, environ)
    groups.add(home, "scout", GroupSettings(client=name))
    home.state.mkdir(exist_ok=True)
    model = ScriptedModel()
    asker = ClientAsker(home, environ, "scout", seconds=120, begin=_beside(model, home, name))
    return Asked(asker, model, home, name)


@pytest.fixture(autouse=True)
def _no_script(asked: Asked) -> None:
    asked.model.forget_script()


def _beside(
    model: ScriptedModel, home: Home, name: str
) -> Callable[[Engine, ContainerSpec, bool], object]:
    """Starts a container without network, which has the model on its loopback."""

    @contextmanager
    def begin(engine: Engine, spec: ContainerSpec, gate: bool) -> Iterator[str]:
        settings = clients.get(name).endpoint(f"http://127.0.0.1:{PORT}")
        uid, gid = map(int, spec.user.split(":"))
        for file, text in settings.home.items():
            path = home.group("scout").client(name) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            os.chown(path.parent, uid, gid)
            os.chown(path, uid, gid)
        link = home.state / "link"
        link.mkdir(mode=0o755, exist_ok=True)
        (link / "inside.py").write_bytes(Path(inside.__file__).read_bytes())
        status = link.stat()
        spec = replace(
            spec,
            binds=(Mount(link, LINK, "ro", status.st_dev, status.st_ino),),
            environment={**spec.environment, **settings.environment},
            network="none",
        )
        with ExitStack() as ends:
            ends.callback((link / "model").unlink, missing_ok=True)
            ends.enter_context(on_socket(model, link / "model"))
            ends.callback(engine.remove, spec.name)
            container = engine.create(spec)
            engine.start(container)
            launch.admit(engine, container, spec, gate=gate)
            argv = ("python3", "-IS", str(LINK / "inside.py"), "forward", str(PORT))
            processes = ContainerProcesses(engine, container, "/tmp")
            forwarder = DialogueProgram(processes, (*argv, str(LINK / "model")), "forward")
            ends.enter_context(closing(forwarder))
            forwarder.wait_for(inside.READY, seconds=20)
            yield container

    return begin


def _requests(asked: Asked, after: int) -> tuple[Request, ...]:
    return asked.model.since(after)


def test_an_answer(asked: Asked, engine: Engine) -> None:
    """The client's model answers, held to the schema; no tool is within its reach, the hook injects
    nothing and hands over nothing, and no container stays behind."""
    before, files = len(asked.model.requests), None
    asked.model.script(asked.answer(EXTRACTED))
    reply = asked.asker.ask(QUESTION)
    files = asked.files()
    assert reply.data == EXTRACTED
    assert reply.input > 0
    assert reply.output > 0
    requests = _requests(asked, before)
    assert len(requests) == 1
    [request] = requests
    texts = [text.text for text in request.texts]
    assert any(QUESTION.data in text for text in texts)
    assert any(QUESTION.instructions in text for text in texts)
    assert not any("PANNIER MEMORY" in text for text in texts)
    if asked.client in HARMLESS:
        assert request.tools <= HARMLESS[asked.client]
    assert not {file for file in files if "spool" in file}
    assert engine.containers(str(asked.home.root), "scout") == []


def test_a_long_question(asked: Asked) -> None:
    """A question that is longer than an argument may be reaches the model whole."""
    data = "".join(f"m{n} person: line {n} of many\n" for n in range(12_000))
    before = len(asked.model.requests)
    asked.model.script(asked.answer(EXTRACTED))
    assert asked.asker.ask(replace(QUESTION, data=data)).data == EXTRACTED
    [request, *_] = _requests(asked, before)
    assert any(data.strip() in text.text for text in request.texts)


def test_no_session_stays(asked: Asked) -> None:
    """What was asked lies in no session that a person could go on with."""
    asked.model.script(asked.answer(EXTRACTED))
    asked.asker.ask(replace(QUESTION, data="m3 person: an unusual wording of forty-two"))
    own = asked.home.group("scout").client(asked.client)
    kept = [
        path
        for path in own.rglob("*")
        if path.is_file() and b"an unusual wording of forty-two" in path.read_bytes()
    ]
    assert kept == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Fail(401, "invalid key"), "login"),
        (Fail(400, "prompt is too long: 210000 tokens > 200000 maximum"), "too_long"),
    ],
    ids=["key", "too long"],
)
def test_trouble(asked: Asked, answer: Answer, kind: str) -> None:
    """What a client says of its trouble is understood."""
    asked.model.script(*[answer] * 5)
    with pytest.raises(AskError) as caught:
        asked.asker.ask(QUESTION)
    assert caught.value.kind == kind
    assert "\n" not in caught.value.message + caught.value.hint


def test_no_answer(asked: Asked) -> None:
    """A text that is no JSON is no answer, and was paid."""
    asked.model.script(*[Say("I would rather not.")] * 5)
    with pytest.raises(AskError) as caught:
        asked.asker.ask(QUESTION)
    assert caught.value.kind == "answer"
    assert caught.value.tokens > 0


def test_a_slow_model(asked: Asked) -> None:
    """A model that takes too long is left, and nothing stays behind."""
    asked.model.script(*[Late(60, Say("at last"))] * 5)
    with pytest.raises(AskError, match="did not answer within") as caught:
        replace(asked.asker, seconds=12).ask(QUESTION)
    assert caught.value.kind == "down"
    assert caught.value.tokens > 0
