"""A person's own Dockerfile that ends with the lines of `pannier bake`, on three kinds of base."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pannier import owner
from pannier.engine import Engine, images
from pannier.engine.recipes import Recipe
from pannier.settings import HomeSettings
from tests.engine.person import Person

SLIM = HomeSettings().base_image
APT = "apt-get update -qq && apt-get install -y -qq --no-install-recommends"

# Behind a proxy with its own certificate authority, a person's base knows it.
BASES = {
    "no-python": f"FROM {SLIM}\n",
    "python": f"FROM {SLIM}\nRUN {APT} python3\n",
    "usr-local": f"""\
FROM {SLIM} AS debian
RUN {APT} python3
FROM {SLIM}
COPY --from=debian /usr/bin/python3.11 /usr/local/bin/python3.11
COPY --from=debian /usr/lib/python3.11 /usr/local/lib/python3.11
COPY --from=debian /usr/lib/*-linux-gnu/libexpat.so.1* /usr/local/lib/
RUN ldconfig && ln -s python3.11 /usr/local/bin/python3
""",
}

Build = Callable[[Path], str]


@pytest.fixture(scope="module")
def build(engine: Engine) -> Iterator[Build]:
    """Build the Dockerfile of a folder, as a person does; gives the image's tag."""
    tags = set()

    def build_in(folder: Path) -> str:
        tag = Recipe("pannier-test-own", {"Dockerfile": (folder / "Dockerfile").read_bytes()}, {})
        argv = images.command(tag, os.environ, buildx=False, no_cache=False)[:-1]
        done = subprocess.run([*argv, str(folder)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        tags.add(tag.tag)
        return tag.tag

    yield build_in
    for tag in tags:
        engine.sdk.images.remove(tag, force=True)


def with_authority(folder: Path, dockerfile: str) -> None:
    """Put the Dockerfile into `folder`; where this machine needs it, apt is told a certificate."""
    certificates = images.certificate_file(os.environ)
    if certificates is not None:
        (folder / "ca.crt").write_bytes(Path(certificates).read_bytes())
        conf = 'Acquire::https::CAInfo \\"/etc/ca.crt\\";'
        told = f'COPY ca.crt /etc/\nRUN echo "{conf}" > /etc/apt/apt.conf.d/00ca\n'
        lines = dockerfile.splitlines(keepends=True)
        dockerfile = "".join(line + told * line.startswith("FROM ") for line in lines)
    (folder / "Dockerfile").write_text(dockerfile)


def pannier(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pannier", *args],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module", params=list(BASES))
def base(request: pytest.FixtureRequest, build: Build, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A base image of each kind: its kind and its tag."""
    folder = tmp_path_factory.mktemp("base")
    with_authority(folder, BASES[request.param])
    return request.param, build(folder)


def baked(folder: Path, base: str, client: str, more: str = "") -> str:
    """A Dockerfile on `base` that ends with the printed lines, put into `folder`; the lines."""
    done = pannier(folder, "bake", "--client", client, "--output", "build/hook", "--base", base)
    assert done.returncode == 0, done.stderr
    (folder / "Dockerfile").write_text(f"FROM {base}\n{more}{done.stdout}")
    return done.stdout


def test_memory_is_delivered_on_each_kind_of_base(
    base: tuple[str, str], build: Build, person: Person, tmp_path: Path
) -> None:
    """The lines for the base are found, the image passes the check, and memory is printed in it."""
    kind, base_tag = base
    lines = baked(tmp_path, base_tag, "custom")
    assert lines == (tmp_path / f"build/hook/lines/{kind}.dockerfile").read_text()
    for path in (tmp_path / "build").rglob("*"):  # as some checkouts and archives have it
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700 | 0o020)
    tag = build(tmp_path)
    checked = pannier(tmp_path, "bake", "--check", tag)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "compiled for it" in checked.stdout

    person.pannier("group", "add", "own", "--client", "custom", "--image", tag)
    (person.group("own") / "memory/index.md").write_text("The mug is blue.\n")
    command = (
        "pannier-hook session-start --client custom --source startup; "
        "stat -c '%a %U %n' /etc /usr/local/bin /usr/local/lib/pannier; id -u; echo $HOME"
    )
    printed = person.shell("own", command)
    assert "The mug is blue." in printed
    assert printed.splitlines()[-1] == "/home/agent"
    assert printed.splitlines()[-2] != "0"
    assert "755 root /etc\n755 root /usr/local/bin\n755 root /usr/local/lib/pannier\n" in printed
    findings = json.loads(person.pannier("doctor", "--json", check=False))
    about = [f for f in findings if f["subject"] == "own" and tag in f["message"]]
    assert about
    assert {f["level"] for f in about} == {"ok"}


OWN_HOOK = {"matcher": "startup", "hooks": [{"type": "command", "command": "true"}]}
OWN_SETTINGS = f"""\
RUN mkdir /etc/claude-code && cd /etc/claude-code && \
    echo '{json.dumps({"hooks": {"SessionStart": [OWN_HOOK]}})}' > managed-settings.json
"""


def test_a_real_client_in_an_image_of_ones_own(
    build: Build, person: Person, image: str, tmp_path: Path
) -> None:
    """Claude Code, installed by the person beside a hook of theirs, hands the memory to its model,
    whole; its user has no name in there."""
    with_authority(tmp_path, BASES["python"] + OWN_SETTINGS)
    base = build(tmp_path)
    program = f"COPY --from={image} /opt/claude/bin/claude /usr/local/bin/claude\n"
    baked(tmp_path, base, "claude", program)
    tag = build(tmp_path)
    assert pannier(tmp_path, "bake", "--check", tag).returncode == 0
    settings = tmp_path / "build/hook/rootfs/etc/claude-code/managed-settings.json"
    assert json.loads(settings.read_text())["hooks"]["SessionStart"][0]["matcher"] == "startup"
    report = json.loads(person.pannier("verify", "scout", "--image", tag, "--json"))
    assert {event["event"] for event in report["events"]} >= {"startup", "resume", "clear"}
    assert report["ok"] is True


FAKE_PACKAGE = """\
RUN cd /usr/local && p=lib/node_modules/@google/gemini-cli/bundle && mkdir -p $p && \\
    touch $p/gemini.js && chmod 755 $p/gemini.js && ln -s ../$p/gemini.js bin/gemini && \\
    printf '#!/bin/sh\\necho "$@"\\n' > bin/node && chmod 755 bin/node
"""


def test_the_starter_finds_what_a_person_installed(
    build: Build, engine: Engine, tmp_path: Path
) -> None:
    """A package of npm's and its Node, wherever the PATH leads to, are what the starter starts."""
    with_authority(tmp_path, BASES["python"])
    baked(tmp_path, build(tmp_path), "gemini", FAKE_PACKAGE)
    tag = build(tmp_path)
    started = engine.sdk.containers.run(tag, ["gemini", "--a-word"], remove=True)
    program = "/opt/gemini/lib/node_modules/@google/gemini-cli/bundle/gemini.js"
    assert started.decode() == f"{program} --a-word\n"


MERGED = """\
RUN mkdir /etc/codex && cd /etc/codex && printf '# mine\\n[[hooks.SessionStart]]\\n\
[[hooks.SessionStart.hooks]]\\ntype = "command"\\ncommand = "greet"\\n' > requirements.toml
"""


def test_settings_of_the_base_image_stay(build: Build, engine: Engine, tmp_path: Path) -> None:
    """Hooks that the base image registers are there afterwards, beside ours, comments included."""
    with_authority(tmp_path, BASES["python"] + MERGED)
    base = build(tmp_path)
    baked(tmp_path, base, "codex")
    text = (tmp_path / "build/hook/rootfs/etc/codex/requirements.toml").read_text()
    assert text.startswith("# mine\n")
    assert 'command = "greet"' in text
    tag = build(tmp_path)
    checked = pannier(tmp_path, "bake", "--check", tag)
    assert checked.returncode == 0, checked.stdout


def test_a_python_that_is_too_small(build: Build, tmp_path: Path) -> None:
    """The build fails, and says why, where the hook would not work: python3-minimal."""
    with_authority(tmp_path, f"FROM {SLIM}\nRUN {APT} python3-minimal\n")
    baked(tmp_path, build(tmp_path), "custom")
    with pytest.raises(AssertionError, match="it takes python3, not python3-minimal"):
        build(tmp_path)


def test_another_user_than_root(build: Build, tmp_path: Path) -> None:
    """The build says that it takes root."""
    with_authority(tmp_path, BASES["python"])
    lines = baked(tmp_path, build(tmp_path), "custom")
    dockerfile = (tmp_path / "Dockerfile").read_text()
    (tmp_path / "Dockerfile").write_text(dockerfile.replace("USER root\n", "USER 1000\n"))
    assert "USER root\n" in lines
    with pytest.raises(AssertionError, match="put USER root above this line"):
        build(tmp_path)


def test_an_image_without_the_hook_does_not_pass(tmp_path: Path) -> None:
    """Status 1, and what is missing."""
    checked = pannier(tmp_path, "bake", "--check", SLIM, "--client", "claude")
    assert checked.returncode == 1
    assert "there is no hook" in checked.stdout
    assert pannier(tmp_path, "bake", "--check", SLIM).returncode == 2


def test_pannier_s_own_image_passes(image: str, tmp_path: Path) -> None:
    """The check knows the images that pannier builds, too."""
    checked = pannier(tmp_path, "bake", "--check", image)
    assert checked.returncode == 0, checked.stdout
    assert "note" not in checked.stdout


def test_nothing_is_left_of_a_look(engine: Engine, tmp_path: Path) -> None:
    """The container that an image is read by never runs, and is removed; a dead process's, too."""
    labels = {"pannier.role": "look", "pannier.owner": f"{os.uname().nodename}:1:gone"}
    engine.sdk.containers.create(SLIM, ["-"], name="pannier-look-test", labels=labels)
    pannier(tmp_path, "bake", "--check", SLIM, "--client", "custom")
    mine = [
        c.name
        for c in engine.sdk.containers.list(all=True, filters={"label": "pannier.role=look"})
        if owner.is_gone(c.labels["pannier.owner"])
    ]
    assert mine == []
