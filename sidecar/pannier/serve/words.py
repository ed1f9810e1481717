"""What went wrong, in one line: for the log, and for whoever asks how a group is."""

from __future__ import annotations

import re

from pannier.errors import PannierError

# A way out that only somebody has who types the command.
_OPTION = re.compile(r"\s*[^.:]*: --[a-z-]+\.")


def in_one_line(error: PannierError | OSError) -> str:
    """The error and its hint, without the hints that name an option of a command line."""
    if not isinstance(error, PannierError):
        return joined(str(error))
    hint = _OPTION.sub("", error.hint or "").strip()
    return joined(f"{error.message} ({hint})" if hint else error.message)


def joined(text: str) -> str:
    """The text as one line."""
    return " ".join(text.split())
