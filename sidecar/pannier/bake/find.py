"""Finding what to check: an image of the engine's, or a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pannier import clients
from pannier.bake.check import check, client_of
from pannier.bake.files import FolderFiles
from pannier.bake.layout import HOOK_FOLDER, tree
from pannier.engine import Engine
from pannier.engine.contents import files_of
from pannier.engine.recipes import read_sources
from pannier.errors import UsageError
from pannier.findings import Finding


def look(
    environ: Mapping[str, str], cwd: Path, what: str, client: str | None = None
) -> Iterator[Finding]:
    """Check a folder (what `bake` wrote, or the root of a file system), else an image.

    Raises UsageError when nobody says which client it is for, and ImageNotFound.
    """
    folder = _folder(cwd / what)
    if folder is None:
        yield from look_at_image(Engine.find(environ), what, client)
        return
    files = FolderFiles(folder)
    name = client or client_of(files, None)
    yield from check(what, tree(clients.get(_known(what, name)), read_sources()), files)


def look_at_image(engine: Engine, image: str, client: str | None = None) -> Iterator[Finding]:
    """Check an image. It is read, and nothing of it is started."""
    with files_of(engine, image) as files:
        name = client or client_of(files, files.config)
        wanted = tree(clients.get(_known(image, name)), read_sources())
        yield from check(image, wanted, files, files.config)


def _folder(path: Path) -> Path | None:
    for root in (path / "rootfs", path):
        if (root / HOOK_FOLDER).is_dir():
            return root
    return path if path.is_dir() else None


def _known(what: str, client: str | None) -> str:
    if client is None:
        raise UsageError(
            f"{what} does not say which client it is for", "Name the client: --client NAME."
        )
    return client
