"""What a base image is like: where its Python lies, what it starts with."""

from __future__ import annotations

import posixpath
import re

from pannier.bake.files import Files
from pannier.bake.lines import Base
from pannier.clients.client import Link
from pannier.engine.contents import ImageConfig

_OLDEST = (3, 9)
_VERSION = re.compile(r"python3\.(\d+)")


def kind_of(image: Files) -> str:
    """Which of `lines.KINDS` a base image is."""
    for place, name in (("usr/bin/python3", "python"), ("usr/local/bin/python3", "usr-local")):
        version = python_version(image, place)
        if version is not None and version >= _OLDEST:
            return "alpine" if name == "python" and image.exists("sbin/apk") else name
    return "alpine" if image.exists("sbin/apk") else "no-python"


def python_version(image: Files, path: str) -> tuple[int, int] | None:
    """That of the interpreter at a path, told by the name of the file that it stands for.

    None when there is none, or when its name tells nothing.
    """
    for _ in range(8):
        if match := _VERSION.fullmatch(posixpath.basename(path)):
            return (3, int(match[1])) if image.exists(path) else None
        content = image.read(path)
        if not isinstance(content, Link):
            return None
        path = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), content.target))
        path = path.lstrip("/")
    return None


def stays_of(config: ImageConfig) -> Base:
    """What the lines leave as it is."""
    return Base(config.user, config.entrypoint, config.command)
