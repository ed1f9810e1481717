"""How a build is asked for, and what is said when it fails."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from pannier.engine.images import BuildFailed, certificate_file, command, step_of
from pannier.engine.recipes import Recipe
from pannier.errors import EngineError

RECIPE = Recipe("pannier-toy", {"Dockerfile": b""}, {"AGENT": "pannier-agent:1"}, {"a": "b"})


def asked(environ: dict[str, str], *, buildx: bool = True, no_cache: bool = False) -> list[str]:
    return command(RECIPE, environ, buildx=buildx, no_cache=no_cache)


def pairs(argv: list[str]) -> list[tuple[str, str]]:
    return list(itertools.pairwise(argv))


def test_the_build_is_named_by_its_tag_and_reads_its_context_from_a_pipe() -> None:
    """Tag, arguments and labels are those of the recipe; no folder is handed over."""
    argv = asked({})
    assert argv[:3] == ["docker", "buildx", "build"]
    assert argv[-1] == "-"
    for pair in (
        ("--tag", RECIPE.tag),
        ("--build-arg", "AGENT=pannier-agent:1"),
        ("--label", "a=b"),
    ):
        assert pair in pairs(argv)


def test_the_engines_own_builder_is_used() -> None:
    """A builder in a container of its own would not see local images."""
    environ = {"DOCKER_HOST": "unix:///x", "BUILDX_BUILDER": "farm"}
    assert ("--builder", "default") in pairs(asked(environ))
    assert ("--builder", "far") in pairs(asked({"DOCKER_CONTEXT": "far"}))


def test_without_buildx_the_builtin_buildkit_is_asked() -> None:
    """Docker 20.10 alone can build the images."""
    argv = asked({}, buildx=False)
    assert argv[:2] == ["docker", "build"]
    assert "--builder" not in argv


def test_no_cache_is_handed_on() -> None:
    """--no-cache builds every step again."""
    assert "--no-cache" in asked({}, no_cache=True)
    assert "--no-cache" not in asked({})


def test_a_proxy_is_handed_on_by_name_alone() -> None:
    """A proxy's password stands in no argument that other users of the machine can read."""
    argv = asked({"HTTPS_PROXY": "http://me:secret@proxy:3128", "no_proxy": "localhost"})
    assert ("--build-arg", "HTTPS_PROXY") in pairs(argv)
    assert ("--build-arg", "no_proxy") in pairs(argv)
    assert "secret" not in " ".join(argv)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"])
def test_a_certificate_authority_is_a_secret_of_the_build(variable: str, tmp_path: Path) -> None:
    """The certificates that the environment names are there during the build, not in the image."""
    file = tmp_path / "ca.pem"
    file.write_text("PEM")
    assert ("--secret", f"id=ca,src={file}") in pairs(asked({variable: str(file)}))
    assert "--secret" not in asked({})


def test_a_certificate_file_that_cannot_serve_is_named(tmp_path: Path) -> None:
    """A missing or too large file is refused before the build, with the variable's name."""
    with pytest.raises(EngineError, match="SSL_CERT_FILE: there is no file /nowhere"):
        certificate_file({"SSL_CERT_FILE": "/nowhere"})
    large = tmp_path / "large.pem"
    large.write_bytes(b"x" * (500 * 1024 + 1))
    with pytest.raises(EngineError, match="500 KiB"):
        certificate_file({"SSL_CERT_FILE": str(large)})


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("#7 [install 2/3] RUN npm install", "RUN npm install"),
        ("#9 [2/4] COPY rootfs/ /", "COPY rootfs/ /"),
        ("#12 [stage-2  3/10] COPY a b", "COPY a b"),
        ("#7 12.95 added 3 packages", None),
        ("#3 [internal] load metadata", None),
        ("", None),
    ],
)
def test_the_current_step_is_read_from_dockers_progress(line: str, step: str | None) -> None:
    """Only a line that begins a step of the Dockerfile changes what is shown."""
    assert step_of(line) == step


def test_a_failed_build_says_why_in_one_line() -> None:
    """The first error of the log, and a way out that fits it."""
    log = (
        "#3 [internal] load metadata for docker.io/nosuch/base:1\n"
        "#3 ERROR: failed to do request: no such host\n"
        "------\nERROR: failed to solve: failed to do request: no such host\n"
    )
    error = BuildFailed("pannier-toy:1", log)
    assert error.message == ("pannier-toy:1 could not be built: failed to do request: no such host")
    assert "base_image" in error.hint
    assert error.log == log


@pytest.mark.parametrize(
    ("log", "hint"),
    [
        ("#5 ERROR: npm: self-signed certificate in certificate chain", "SSL_CERT_FILE"),
        ("#5 ERROR: write /x: no space left on device", "docker builder prune"),
        ("ERROR: BuildKit is enabled but the buildx component is missing", "docker-buildx"),
        ("#5 ERROR: exit code: 1", "--progress plain"),
        ("", "--progress plain"),
    ],
)
def test_a_failed_build_names_a_way_out(log: str, hint: str) -> None:
    """What commonly goes wrong has its own hint; everything else points to the whole log."""
    assert hint in BuildFailed("pannier-toy:1", log).hint
