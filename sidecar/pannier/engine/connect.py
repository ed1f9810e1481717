"""Finding the engine as docker's own tools find it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import docker
import docker.errors
import requests.exceptions
from docker.tls import TLSConfig

from pannier.errors import ContainerGone, EngineError, EngineNotFound, ImageNotFound
from pannier.paths import person_home

HOW_TO_GET_ONE = (
    "Install Docker (Debian, Ubuntu: apt install docker.io), start it, and let your user reach it; "
    "or name one with DOCKER_HOST."
)


def connect(environ: Mapping[str, str], *, timeout: float = 60) -> docker.DockerClient:
    """A client of the engine that `DOCKER_HOST`, `DOCKER_CONTEXT` or docker's configuration names.

    The order is that of the docker command: DOCKER_HOST, DOCKER_CONTEXT, the current context, the
    default socket. Raises EngineNotFound.
    """
    name = "default" if environ.get("DOCKER_HOST") else context_name(environ)
    found = (environ.get("DOCKER_HOST", ""), False)
    host, tls = found if name == "default" else _context(name, environ)
    if host.startswith("ssh:"):
        raise EngineNotFound(
            f"pannier cannot use an engine on another machine ({host})",
            "It mounts folders of this one. Run pannier over there, or choose a local engine.",
        )
    with translated():
        if name == "default":
            client = docker.DockerClient.from_env(environment=dict(environ), timeout=int(timeout))
        else:
            client = docker.DockerClient(base_url=host or None, tls=tls, timeout=int(timeout))
        client.ping()
    return client


def _context(name: str, environ: Mapping[str, str]) -> tuple[str, TLSConfig | bool]:
    """Host and certificates of a context. Docker keeps it under the SHA-256 of its name.

    The SDK would look only where this process's own environment says.
    """
    folder = _config_folder(environ) / "contexts"
    id_ = hashlib.sha256(name.encode()).hexdigest()
    try:
        meta = json.loads((folder / "meta" / id_ / "meta.json").read_text(encoding="utf-8"))
        endpoint = meta["Endpoints"]["docker"]
        host, checked = str(endpoint["Host"]), not endpoint.get("SkipTLSVerify", False)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise EngineNotFound(f"docker has no context called {name!r}", HOW_TO_GET_ONE) from error
    keys = folder / "tls" / id_ / "docker"
    if not keys.is_dir():
        return host, False
    ca, cert, key = (keys / f"{part}.pem" for part in ("ca", "cert", "key"))
    with translated():
        return host, TLSConfig(
            client_cert=(str(cert), str(key)) if cert.exists() else None,
            ca_cert=str(ca) if ca.exists() else None,
            verify=checked,
        )


def _config_folder(environ: Mapping[str, str]) -> Path:
    chosen = environ.get("DOCKER_CONFIG")
    return Path(chosen) if chosen else person_home(environ) / ".docker"


def context_name(environ: Mapping[str, str]) -> str:
    """The name of the docker context in force; `default` if none is chosen."""
    if named := environ.get("DOCKER_CONTEXT"):
        return named
    try:
        config = json.loads((_config_folder(environ) / "config.json").read_text(encoding="utf-8"))
        return str(config.get("currentContext") or "default")
    except (OSError, ValueError, AttributeError):
        return "default"


@contextmanager
def translated() -> Iterator[None]:
    """Turns every error of the SDK into one of ours."""
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise ImageNotFound(f"the engine has no such image: {error.explanation}") from error
    except docker.errors.NotFound as error:
        raise ContainerGone(f"the engine does not know it any more: {error.explanation}") from error
    except docker.errors.APIError as error:
        raise EngineError(f"the engine refused: {error.explanation or error}") from error
    except docker.errors.DockerException as error:
        raise EngineNotFound(f"no engine answers: {_cause(error)}", HOW_TO_GET_ONE) from error
    except requests.exceptions.ConnectionError as error:
        raise EngineNotFound(f"no engine answers: {_cause(error)}", HOW_TO_GET_ONE) from error
    except requests.exceptions.Timeout as error:
        raise EngineError("the engine did not answer in time", "Is it busy? Try again.") from error


def _cause(error: BaseException) -> str:
    """The innermost reason, such as `No such file or directory`."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error)
