"""The allowlist's file, rewritten whole or not at all, by one editor at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pannier import safefs
from pannier.errors import PannierError
from pannier.mounts import facts
from pannier.paths import allowlist_file
from pannier.safefs import lock

_PATIENCE = 5.0  # seconds

Said = TypeVar("Said")


@dataclass(frozen=True)
class Done(Generic[Said]):
    """What was written, or would be."""

    file: Path
    said: Said
    changed: bool


def rewrite(
    changed: Callable[[str, str], tuple[str, Said]], environ: Mapping[str, str], dry_run: bool
) -> Done[Said]:
    """Write what `changed` makes of the file's text, and say what it said about it.

    `changed` is given the text and the file's name, and returns the new text and what to say. A
    file in which every line ends as on Windows keeps that; `changed` sees lines that end in LF.
    Raises PannierError if the file is no text, or if another pannier is editing it.
    """
    file = allowlist_file(environ)
    # A person may keep the file elsewhere and link to it: the link stays.
    real = facts.follow(file).real
    if dry_run:
        before = _text(real)
        after, said = _changed(before or "", changed, str(file))
        return Done(file, said, after != (before or ""))
    real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with safefs.open_directory(real.parent) as folder, _alone(folder, file):
        before = _text(real)
        after, said = _changed(before or "", changed, str(file))
        if after != (before or ""):
            safefs.write(
                folder,
                real.name,
                after.encode(),
                replace=before is not None,
                expected=None if before is None else before.encode(),
                mode=0o600,
            )
    return Done(file, said, after != (before or ""))


def _changed(
    text: str, changed: Callable[[str, str], tuple[str, Said]], name: str
) -> tuple[str, Said]:
    if not 0 < text.count("\n") == text.count("\r\n"):
        return changed(text, name)
    after, said = changed(text.replace("\r\n", "\n"), name)
    return after.replace("\n", "\r\n"), said


def _text(file: Path) -> str | None:
    try:
        return safefs.read(file.parent, file.name).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise PannierError(f"{file} is not text (UTF-8): {error.reason}") from error


@contextmanager
def _alone(folder: int, file: Path) -> Iterator[None]:
    """One editor at a time. The folder is never mounted, so a lock on it can be trusted."""
    if not lock.take(folder, seconds=_PATIENCE):
        raise PannierError(f"another pannier is editing {file}", "Try again when it is done.")
    yield  # The lock ends with the descriptor.
