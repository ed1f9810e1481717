"""A thread written out: as Markdown for people, as JSON lines for programs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pannier.errors import PannierError, UsageError, reason
from pannier.threads.look import Said
from pannier.threads.page import WHOLE, blocks, plain_name
from pannier.threads.rows import MessageRow, ThreadRow
from pannier.threads.store import Store
from pannier.threads.times import timestamp

Format = Literal["markdown", "jsonl"]
_AT_ONCE = 5_000


def pieces(store: Store, thread: ThreadRow, form: Format, *, everything: bool) -> Iterator[str]:
    """The text of an export, in pieces.

    The thread's branch, or with `everything` all branches and what sub-agents did. Markdown is
    without likely secrets; JSON lines say everything as it was said.
    """
    messages = _messages(store, thread, everything)
    if form == "markdown":
        yield f"# {plain_name(thread.ref, 200)}\n\n"
        yield f"Thread {thread.key}, since {timestamp(thread.created)}.\n\n"
        turns = {turn.id: turn for turn in store.turns(thread.id)}
        yield from (block.text for block in blocks(messages, turns, lengths=WHOLE))
        return
    current = {row.id for row in _messages(store, thread, False)} if everything else None
    for row in messages:
        said = Said(row, current is None or bool(row.inner) or row.id in current)
        data = {"thread": thread.ref, **said.as_data(masked=False)}
        yield json.dumps(data, ensure_ascii=False) + "\n"


def _messages(store: Store, thread: ThreadRow, everything: bool) -> Iterator[MessageRow]:
    after = 0
    while True:
        rows = store.messages(thread.id, branch=not everything, after=after, limit=_AT_ONCE)
        yield from rows
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1].id


def write(file: Path, text: Iterable[str], *, force: bool) -> None:
    """Put the pieces into `file`, whole or not at all, for the owner alone.

    Raises UsageError when there is one already and not `force`; PannierError when it cannot be
    written.
    """
    if not force and os.path.lexists(file):
        raise _there_already(file)
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".pannier-new")
    except OSError as error:
        raise PannierError(f"{file} cannot be written: {reason(error)}") from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as out:
            out.writelines(text)
            out.flush()
            os.fsync(out.fileno())
        if force:
            temporary.replace(file)
        else:
            os.link(temporary, file)
    except FileExistsError:
        raise _there_already(file) from None
    except OSError as error:
        raise PannierError(f"{file} cannot be written: {reason(error)}") from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _there_already(file: Path) -> UsageError:
    return UsageError(f"there is a file {file} already", "Replace it with: --force")
