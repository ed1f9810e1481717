"""The lines that a person pastes into their Dockerfile. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pannier.bake.layout import INSTALL, STARTERS, Tree
from pannier.paths import AGENT_ROOT, CONTAINER_HOME
from pannier_hook import VERSION

_APT = "apt-get install -y --no-install-recommends"


@dataclass(frozen=True)
class Kind:
    """A kind of base image: how Python comes in, and where it lies."""

    name: str
    about: str
    python: str
    before: str = ""
    note: str = ""


_NAMES = f"Optional, so that every uid has a name in there: {_APT} libnss-extrausers"

KINDS = {
    kind.name: kind
    for kind in (
        Kind("python", "Debian or Ubuntu with Python", "/usr/bin/python3", note=_NAMES),
        Kind(
            "no-python",
            "Debian or Ubuntu without Python",
            "/usr/bin/python3",
            f"apt-get update && {_APT} python3 libnss-extrausers && rm -rf /var/lib/apt/lists/*",
        ),
        Kind(
            "usr-local",
            "Python in /usr/local, as in Docker's python images",
            "/usr/local/bin/python3",
            note=_NAMES,
        ),
        Kind(
            "alpine",
            "Alpine",
            "/usr/bin/python3",
            "apk add --no-cache python3",
            "Not tested: clients with programs for glibc do not run on Alpine.",
        ),
    )
}


@dataclass(frozen=True)
class Base:
    """What of a base image stays: its user, and the program that it starts with."""

    user: str = ""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


def lines(tree: Tree, kind: Kind, folder: str, base: Base | None = None) -> str:
    """The end of a Dockerfile. `folder`: what was written, as the build context names it."""
    base = base or Base()
    client = tree.client
    found = [f"# Pannier {VERSION} for {client.title}: {kind.about}."]
    found += [f"# {kind.note}"] if kind.note else []
    found += ["USER root"]
    found += [f"RUN {kind.before}"] if kind.before else []
    found += [_copy(f"{folder}/rootfs/"), f"RUN {kind.python} -IS /{INSTALL}"]
    found += [f"ENV HOME={CONTAINER_HOME} PATH=/{STARTERS}:$PATH"]
    found += [f"ENV {words}" for words in tree.environment]
    found += [f"LABEL pannier.hook={VERSION} pannier.client={client.name}"]
    found += [f"USER {_user(base.user)}", f"WORKDIR {AGENT_ROOT}/files"]
    found += [f"ENTRYPOINT {json.dumps(['pannier-hook', 'boot', '--', *_own(base.entrypoint)])}"]
    command = client.program or base.command or ("your-agent",)
    found += [f"CMD {json.dumps(list(command))}"]
    return "\n".join(found) + "\n"


def can_copy(folder: str) -> bool:
    """Whether a COPY can name the folder: it takes some characters for patterns or variables."""
    return folder.isprintable() and not re.search(r"[$*?\[\\]", folder)


def _copy(source: str) -> str:
    if re.fullmatch(r"[\w.][\w.,:@%+=/-]*", source, re.ASCII):
        return f"COPY {source} /"
    return f"COPY {json.dumps([source, '/'], ensure_ascii=False)}"


def _user(user: str) -> str:
    """Who runs without pannier, which names its own: never root."""
    return "1000:1000" if re.fullmatch(r"(|0|root)(:.*)?", user) else user


def _own(entrypoint: Sequence[str]) -> Sequence[str]:
    """A base's entrypoint, without ours that an earlier bake put in front."""
    ours = ["pannier-hook", "boot", "--"]
    words = list(entrypoint)
    return words[3:] if words[:3] == ours else words
