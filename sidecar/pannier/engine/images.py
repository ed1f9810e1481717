"""Building agent images when they are missing, by docker's command: the SDK has no BuildKit."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pannier import __version__
from pannier.clients.client import Client
from pannier.engine.connect import context_name, translated
from pannier.engine.containers import LABEL_HOOK, Engine
from pannier.engine.recipes import Recipe, read_sources, recipes
from pannier.engine.spec import LABEL_CLIENT
from pannier.errors import EngineError
from pannier.settings import HomeSettings

Progress = Callable[[str, str], None]
"""Called with the tag being built and each line that docker's plain progress prints."""

_CA_VARIABLES = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE")
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
_SECRET_LIMIT = 500 * 1024  # BuildKit's, in bytes
_REASON_LIMIT = 300
_STEP = re.compile(r"#\d+ \[(?:[\w-]+ +)?\d+/\d+\] (.+)")
_FAILED = re.compile(r"(?:#\d+ )?error: (.+)", re.IGNORECASE)

# Words of a failed build's log, in lower case, and what helps; the first that fits.
_WAYS_OUT = (
    (
        ("> [internal] load metadata for docker.io/library/pannier-",),
        "An image of pannier's own went missing meanwhile. Build again.",
    ),
    (
        ("error: failed to do request", "pull access denied", "manifest unknown"),
        "Get the base image (docker pull, docker load), or name another: --base IMAGE, or "
        "base_image in pannier.yaml.",
    ),
    (("certificate",), "Behind a proxy with its own authority, name its file in SSL_CERT_FILE."),
    (("no space left",), "Free some disk: docker builder prune"),
    (("buildx", "buildkit"), "Install docker's Buildx plugin (docker-buildx)."),
)


class BuildFailed(EngineError):
    """An image could not be built. `log` is all that docker printed."""

    def __init__(self, tag: str, log: str) -> None:
        super().__init__(f"{tag} could not be built: {_reason(log)}", _way_out(log))
        self.log = log


@dataclass(frozen=True)
class BuiltImage:
    """An agent image that the engine has."""

    tag: str
    client: str
    hook: str
    size: int
    """Bytes, shared layers included."""
    created: str
    current: bool
    """Whether it is what this version of pannier would build."""
    older: bool
    """Whether pannier built it, and would build another on the same base now."""


def plan(client: Client, settings: HomeSettings) -> list[Recipe]:
    """The images that a client's image needs, itself last."""
    return recipes(client, read_sources(), base=settings.base_image, hook_version=__version__)


def tag_for(client: Client, settings: HomeSettings) -> str:
    """The tag of the client's image, built or not."""
    return plan(client, settings)[-1].tag


def ensure(
    engine: Engine, client: Client, settings: HomeSettings, progress: Progress | None = None
) -> str:
    """The client's image, built now if the engine does not have it. Returns its tag.

    Raises BuildFailed.
    """
    todo = plan(client, settings)
    if not engine.has_image(todo[-1].tag):
        build(engine, todo, progress)
    return todo[-1].tag


def build(
    engine: Engine,
    todo: list[Recipe],
    progress: Progress | None = None,
    *,
    no_cache: bool = False,
) -> None:
    """Build these in their order; what is there already is left alone unless `no_cache`.

    Raises BuildFailed.
    """
    for recipe in todo[:-1]:
        if no_cache or not engine.has_image(recipe.tag):
            _build_one(recipe, engine.environ, progress, no_cache=no_cache)
    _build_one(todo[-1], engine.environ, progress, no_cache=no_cache)


def built(engine: Engine, current: frozenset[str], base: str) -> list[BuiltImage]:
    """The agent images that the engine has, by tag.

    `current`: tags of today's recipes on `base`.
    """
    with translated():
        rows = engine.sdk.api.images(filters={"label": LABEL_CLIENT})
    return as_built(rows, current, base)


def as_built(
    rows: Sequence[Mapping[str, Any]], current: frozenset[str], base: str
) -> list[BuiltImage]:
    """The same from what the engine lists."""
    found = []
    for row in rows:
        labels = row["Labels"]
        client = labels[LABEL_CLIENT]
        for tag in row.get("RepoTags") or ():
            if tag == "<none>:<none>":
                continue
            ours = tag.startswith(f"pannier-{client}:") and labels.get("pannier.base") == base
            image = BuiltImage(
                tag=tag,
                client=client,
                hook=labels.get(LABEL_HOOK, ""),
                size=int(row["Size"]),
                created=_time(row["Created"]),
                current=tag in current,
                older=ours and tag not in current,
            )
            found.append(image)
    return sorted(found, key=lambda image: image.tag)


def command(
    recipe: Recipe, environ: Mapping[str, str], *, buildx: bool, no_cache: bool
) -> list[str]:
    """The build as a command line; the context comes on standard input."""
    start = ["buildx", "build", "--load"] if buildx else ["build"]
    if buildx:  # the engine's own builder sees local images; others do not
        start += ["--builder", context_name(environ)]
    options = ["--progress", "plain", "--tag", recipe.tag]
    options += ["--no-cache"] if no_cache else []
    for name, value in recipe.arguments.items():
        options += ["--build-arg", f"{name}={value}"]
    for name, value in recipe.labels.items():
        options += ["--label", f"{name}={value}"]
    for variable in _PROXY_VARIABLES:
        options += [
            option
            for name in (variable, variable.lower())
            if environ.get(name)
            for option in ("--build-arg", name)
        ]
    if certificates := certificate_file(environ):
        options += ["--secret", f"id=ca,src={certificates}"]
    return ["docker", *start, *options, "-"]


def certificate_file(environ: Mapping[str, str]) -> str | None:
    """The certificate authorities that builds need to know here, if the environment names any.

    Raises EngineError for a named file that cannot serve.
    """
    for variable in _CA_VARIABLES:
        if name := environ.get(variable):
            path = Path(name)
            if not path.is_file():
                raise EngineError(f"{variable}: there is no file {name}", "Correct it or unset it.")
            if path.stat().st_size > _SECRET_LIMIT:
                raise EngineError(
                    f"{variable}: {name} is larger than the 500 KiB that a build may be given",
                    "Name a file with only the certificates of your proxy.",
                )
            return str(path.resolve())
    return None


def step_of(line: str) -> str | None:
    """What a line of docker's plain progress says is being done, if it begins a step."""
    match = _STEP.match(line)
    return match[1] if match else None


def _build_one(
    recipe: Recipe, environ: Mapping[str, str], progress: Progress | None, *, no_cache: bool
) -> None:
    env = {**environ, "DOCKER_BUILDKIT": "1", "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
    argv = command(recipe, environ, buildx=_has_buildx(env), no_cache=no_cache)
    lines: list[str] = []
    with tempfile.TemporaryFile() as context:
        context.write(recipe.tar())
        context.seek(0)
        with subprocess.Popen(
            argv,
            stdin=context,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            encoding="utf-8",
            errors="replace",
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    lines.append(line)
                    if progress is not None:
                        progress(recipe.tag, line.rstrip())
            except BaseException:
                process.terminate()
                raise
    if process.returncode != 0:
        raise BuildFailed(recipe.tag, "".join(lines))


def _has_buildx(env: Mapping[str, str]) -> bool:
    try:
        done = subprocess.run(
            ["docker", "buildx", "version"], env=env, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise EngineError(
            "the command docker is not on the PATH", "pannier builds images with it."
        ) from error
    return done.returncode == 0


def _reason(log: str) -> str:
    """The line of a build's log that says why it failed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [match[1] for line in lines if (match := _FAILED.match(line))]
    reason = (errors or lines[-1:] or ["docker said nothing"])[0]
    return reason if len(reason) <= _REASON_LIMIT else f"{reason[:_REASON_LIMIT]}…"


def _way_out(log: str) -> str:
    low = log.lower()
    for words, hint in _WAYS_OUT:
        if any(word in low for word in words):
            return hint
    return "See all of it: pannier image build CLIENT --progress plain"


def _time(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
