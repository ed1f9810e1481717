"""Agent images, built and started by a real engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker.errors
import pytest

from pannier import __version__, clients
from pannier.clients.client import Client
from pannier.engine import Engine, images
from pannier.engine.recipes import Recipe, Sources, read_sources, recipes
from pannier.settings import HomeSettings
from tests.engine.person import Person
from tests.unit.images import fakes

BASE = HomeSettings().base_image

TOY = b"""ARG AGENT
ARG HOOK
ARG NODE
FROM ${HOOK} AS hook
FROM ${NODE} AS node
FROM ${AGENT}
COPY --from=node /opt/node /opt/node
COPY rootfs/ /
COPY --from=hook /usr/local/lib/pannier /usr/local/lib/pannier
CMD ["sh"]
"""

Run = Callable[..., str]


def toy_recipes(client: Client, dockerfile: bytes) -> list[Recipe]:
    sources = Sources({**read_sources().files, f"images/{client.name}/Dockerfile": dockerfile})
    return recipes(client, sources, base=BASE, hook_version=__version__)


@pytest.fixture
def run(engine: Engine) -> Run:
    """Run a command in an image as pannier's containers run; gives what it printed."""

    def run_in(image: str, *argv: str, user: str = "4321:4321", **options: Any) -> str:
        output = engine.sdk.containers.run(
            image,
            list(argv),
            user=user,
            remove=True,
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            stderr=True,
            **options,
        )
        return bytes(output).decode()

    return run_in


@pytest.fixture(scope="module")
def toy(engine: Engine) -> Iterator[str]:
    """The image of a client that runs on Node, from the shared images."""
    todo = toy_recipes(fakes.CLIENT, TOY)
    images.build(engine, todo)
    yield todo[-1].tag
    engine.sdk.images.remove(todo[-1].tag, force=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A HOME to mount, owned by uid 4321."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    return folder


def at_home(home: Path) -> dict[str, dict[str, str]]:
    return {str(home): {"bind": "/home/agent", "mode": "rw"}}


def test_an_image_says_what_it_holds(engine: Engine, image: str) -> None:
    """Labels name client, hook version and base; the tag is today's."""
    found = engine.image(image)
    assert (found.client, found.hook) == ("claude", __version__)
    assert image == images.tag_for(clients.get("claude"), HomeSettings())
    [listed] = [
        i
        for i in images.built(engine, frozenset({image}), "debian:bookworm-slim")
        if i.tag == image
    ]
    assert listed.current
    assert listed.client == "claude"


def test_the_size_of_the_image_is_bounded(
    engine: Engine, image: str, record_property: Callable[[str, object], None]
) -> None:
    """Claude Code's program has 400 MB; all else together stays below 250."""
    size = engine.image(image).size
    record_property("bytes", size)
    assert size < 650_000_000


def test_a_present_image_is_not_built_again(engine: Engine, image: str) -> None:
    """`ensure` with the image there starts no build."""
    lines: list[str] = []
    tag = images.ensure(
        engine, clients.get("claude"), HomeSettings(), lambda _, line: lines.append(line)
    )
    assert (tag, lines) == (image, [])


def test_the_hook_is_compiled_and_nobody_can_change_it(run: Run, image: str) -> None:
    """Each module has a .pyc that is never compared with its source; all belongs to root."""
    root = "/usr/local/lib/pannier"
    listing = run(image, "find", root, "-printf", "%U %m %y %P\n").splitlines()
    entries = [line.split(" ", 3) for line in listing]
    assert {owner for owner, *_ in entries} == {"0"}
    assert not [path for _, mode, kind, path in entries if kind != "l" and int(mode, 8) & 0o022]
    sources = {path for *_, path in entries if path.endswith(".py")}
    compiled = {path for *_, path in entries if path.endswith(".pyc")}
    assert sources
    for path in sources:
        folder, _, name = path.rpartition("/")
        assert any(c.startswith(f"{folder}/__pycache__/{name[:-3]}.") for c in compiled), path
    flags = run(
        image,
        "python3",
        "-c",
        "import pathlib, sys\n"
        f"print({{p.read_bytes()[4:8] for p in pathlib.Path('{root}').rglob('*.pyc')}})",
    )
    assert flags.strip() == str({b"\x01\0\0\0"})  # PEP 552: hash-based, unchecked


def test_the_hook_runs_by_its_name(run: Run, image: str) -> None:
    """`pannier-hook` is on the PATH and prints memory for a fresh context."""
    out = run(
        image,
        "sh",
        "-c",
        """echo '{"source": "startup"}' | pannier-hook session-start --client custom""",
    )
    assert "Core Memory" in out


def test_any_uid_has_a_name(run: Run, toy: str) -> None:
    """Node's os.userInfo, which throws for a uid without an account, knows the group's owner."""
    script = "const u = os.userInfo(); console.log(JSON.stringify([u.uid, u.homedir]))"
    for user in ("1000:1000", "4321:4321", "4321", "501:20"):
        told = json.loads(run(toy, "/opt/node/bin/node", "-e", script, user=user))
        assert told == [int(user.split(":")[0]), "/home/agent"]


def test_a_mounted_home_gets_the_first_files_once(run: Run, toy: str, home: Path) -> None:
    """An empty HOME receives the client's skeleton; what is there is never overwritten."""
    run(toy, "true", volumes=at_home(home))
    state = home / ".toy" / "state"
    assert state.read_text() == "1"
    run(toy, "sh", "-c", "echo mine > ~/.toy/state", volumes=at_home(home))
    run(toy, "true", volumes=at_home(home))
    assert state.read_text() == "mine\n"


def test_what_a_client_bakes_in_belongs_to_root(run: Run, toy: str) -> None:
    """Settings and links are where the client's module put them; the agent cannot change them."""
    out = run(toy, "stat", "-c", "%U %a %N", "/etc/toy", "/etc/toy/settings.json", "/usr/bin/toy")
    assert out.splitlines() == [
        "root 755 '/etc/toy'",
        "root 644 '/etc/toy/settings.json'",
        "root 777 '/usr/bin/toy' -> '/opt/toy'",
    ]


@pytest.mark.parametrize("user", ["", "4321"])
def test_an_image_works_without_a_sidecar(engine: Engine, image: str, user: str) -> None:
    """A plain `docker run` has memory, a HOME and a working directory; notes stay read-only."""
    script = """
        cat /workspace/agent/memory/index.md
        touch ~/mine mine /workspace/agent/memory/mine && echo writable
        touch /workspace/agent/agent-memory/x /workspace/agent/conversations/x || echo refused
        id -un; pwd; claude --version
    """
    out = engine.sdk.containers.run(
        image, ["sh", "-c", script], user=user, remove=True, network_mode="none"
    ).decode()
    for expected in ("Core Memory", "writable", "refused", "/workspace/agent/files"):
        assert expected in out
    assert f"agent{user}\n" in out
    assert "(Claude Code)" in out


def test_nothing_in_an_image_makes_its_user_another_one(run: Run, image: str) -> None:
    """There is no setuid or setgid program."""
    out = run(image, "sh", "-c", "find / -xdev -type f -perm /6000 2>/dev/null; echo end")
    assert out == "end\n"


def test_a_build_leaves_nothing_behind(run: Run, image: str) -> None:
    """No package lists, no npm and its cache, and nothing of the certificate authority."""
    places = "/tmp /root /run/secrets /var/lib/apt/lists /var/cache/apt/archives"
    script = f"find {places} -type f -size +4k 2>/dev/null; command -v npm node; true"
    assert run(image, "sh", "-c", script, user="0:0") == ""


def approvals(home: Path) -> Any:
    return json.loads((home / ".claude" / ".claude.json").read_text())["customApiKeyResponses"]


def test_a_key_that_was_given_is_not_asked_about(run: Run, image: str, home: Path) -> None:
    """The start of Claude Code notes a key of the environment as approved, keeping all else."""
    key = {"ANTHROPIC_API_KEY": "sk-ant-" + "0123456789" * 4}
    run(image, "claude", "--version", environment=key, volumes=at_home(home))
    run(image, "claude", "--version", environment=key, volumes=at_home(home))
    assert approvals(home) == {"approved": ["0123456789" * 2]}
    state = json.loads((home / ".claude" / ".claude.json").read_text())
    assert state["hasCompletedOnboarding"] is True


def test_a_key_that_was_refused_stays_refused(run: Run, image: str, home: Path) -> None:
    """A person's own answer stands."""
    key = {"ANTHROPIC_API_KEY": "sk-ant-" + "0123456789" * 4}
    answer = json.dumps({"customApiKeyResponses": {"rejected": ["0123456789" * 2]}})
    run(
        image,
        "sh",
        "-c",
        f"echo '{answer}' > ~/.claude/.claude.json; claude --version",
        environment=key,
        volumes=at_home(home),
    )
    assert approvals(home) == {"rejected": ["0123456789" * 2]}


@pytest.mark.parametrize("state", ["{", "[]", '{"customApiKeyResponses": 3}'])
def test_a_broken_state_does_not_stop_claude(run: Run, image: str, home: Path, state: str) -> None:
    """What cannot be read is left to Claude Code, which starts."""
    out = run(
        image,
        "sh",
        "-c",
        f"echo '{state}' > ~/.claude/.claude.json; claude --version",
        environment={"ANTHROPIC_API_KEY": "sk-ant-none"},
        volumes=at_home(home),
    )
    assert "(Claude Code)" in out
    assert (home / ".claude" / ".claude.json").read_text() == f"{state}\n"


def test_a_state_that_cannot_be_written_is_told(run: Run, image: str) -> None:
    """Without a writable HOME Claude Code drops the memory in silence: the image says so."""
    out = run(image, "claude", "--version", read_only=True)
    assert "/home/agent/.claude cannot be written" in out
    assert "(Claude Code)" in out


def test_a_failed_build_says_why_and_leaves_no_image(engine: Engine) -> None:
    """The error has the reason in one line, and the log what the step printed."""
    todo = toy_recipes(fakes.CLIENT, b"ARG AGENT\nFROM ${AGENT}\nRUN echo look here; exit 3\n")
    with pytest.raises(images.BuildFailed, match="exit code: 3") as caught:
        images.build(engine, todo)
    assert "look here" in caught.value.log
    assert "\n" not in caught.value.message
    assert not engine.has_image(todo[-1].tag)


def test_an_interrupted_build_leaves_no_image(engine: Engine) -> None:
    """Ctrl-C ends docker's command, and nothing half-made bears the tag."""
    todo = toy_recipes(fakes.CLIENT, b"ARG AGENT\nFROM ${AGENT}\nRUN echo begun; sleep 60\n")

    def interrupt(_tag: str, line: str) -> None:
        if "begun" in line and "RUN" not in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        images.build(engine, todo, interrupt)
    assert not engine.has_image(todo[-1].tag)


def test_two_builds_of_one_image_at_once_both_succeed(engine: Engine) -> None:
    """Whoever comes second finds a whole image, not a half one."""
    todo = toy_recipes(
        fakes.CLIENT, b"ARG AGENT\nFROM ${AGENT}\nCOPY rootfs/ /\nRUN sleep 1; echo at once\n"
    )
    problems: list[BaseException] = []

    def build() -> None:
        try:
            images.build(engine, todo)
            assert engine.has_image(todo[-1].tag)
        except BaseException as problem:
            problems.append(problem)

    builders = [threading.Thread(target=build) for _ in range(2)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    try:
        assert problems == []
        assert engine.image(todo[-1].tag).client == "toy"
    finally:
        engine.sdk.images.remove(todo[-1].tag, force=True)


def test_another_base_with_a_user_1000_works(engine: Engine, run: Run) -> None:
    """A base that gave uid 1000 to somebody else makes an image whose user is `agent`."""
    taken = Recipe("pannier-test-base", {"Dockerfile": _TAKEN}, {"BASE": BASE})
    images.build(engine, [taken])
    settings = HomeSettings(base_image=taken.tag)
    agent = images.plan(clients.get("claude"), settings)[0]
    try:
        images.build(engine, [agent])
        out = run(agent.tag, "-un", user="1000", entrypoint=["id"])
        assert out == "agent\n"
    finally:
        for tag in (agent.tag, taken.tag):
            try:
                engine.sdk.images.remove(tag, force=True)
            except docker.errors.ImageNotFound:
                continue


_TAKEN = b"ARG BASE\nFROM ${BASE}\nRUN useradd --uid 1000 node\n"


def test_the_images_are_listed(person: Person, image: str) -> None:
    """`pannier image list` names each agent image, and which of them is today's."""
    rows = json.loads(person.pannier("image", "list", "--json"))
    [row] = [row for row in rows if row["tag"] == image]
    assert row["client"] == "claude"
    assert row["hook"] == __version__
    assert row["current"] is True
    assert row["size"] > 0
    assert image in person.pannier("image", "list", COLUMNS="160")


def test_a_dry_run_builds_nothing(engine: Engine, person: Person, image: str) -> None:
    """`--dry-run` says of each image whether it is there, and leaves the engine as it is."""
    out = person.pannier("image", "build", "claude", "--dry-run")
    assert f"{image}  is there" in out
    out = person.pannier("image", "build", "claude", "--dry-run", "--base", "nosuch/base:1")
    assert out.count("would be built") == len(out.splitlines())
    missing = out.splitlines()[-1].split()[0]
    assert not engine.has_image(missing)


def test_a_base_that_cannot_be_had_is_one_clear_line(person: Person) -> None:
    """A failed build ends with status 1, what docker printed, one reason and a way out."""
    done = person.run("image", "build", "claude", "--base", "localhost:1/nosuch:1")
    assert done.returncode == 1
    assert "pannier: pannier-agent:" in done.stderr
    assert "base_image in pannier.yaml" in done.stderr
