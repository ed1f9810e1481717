"""What of a stored text is shown to people and agents: clean, without secrets, not too long. Pure.

Everything that was said comes from a container. So the order is fixed: first the text rules, then
the secrets, and only then the cut; a secret that a cut goes through would not be recognised.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pannier import redaction
from pannier_hook.textrules import clean

_SLACK = 4_096
"""How far beyond the cut is looked for secrets that begin before it."""

_LONGEST_JSON = 1 << 20
"""Characters of arguments that are read."""


@dataclass(frozen=True)
class Excerpt:
    """The beginning of a text. `left` is how many characters of it are left out."""

    text: str
    left: int = 0


def excerpt(text: str, limit: int | None = None, lines: int | None = None) -> Excerpt:
    """At most `limit` characters and `lines` lines of it, with likely secrets masked."""
    if limit is None:
        return Excerpt(redaction.mask(plain(text)))
    looked_at = plain(text[: 2 * limit + _SLACK])
    end = min(len(looked_at), limit)
    if lines is not None:
        end = min(end, _end_of_lines(looked_at, lines))
    pieces, at = [], 0
    for secret in redaction.find(looked_at[: limit + _SLACK]):
        if secret.start >= end:
            break
        pieces += [looked_at[at : secret.start], f"[{secret.kind} removed]"]
        at = secret.end
    pieces.append(looked_at[at:end])
    beyond = max(0, len(text) - 2 * limit - _SLACK)
    return Excerpt("".join(pieces), len(looked_at) - max(at, end) + beyond)


def arguments(text: str) -> str:
    """A call's arguments, which are JSON, as lines `name: value` where they have names.

    So they can be read, and a secret in a command stands as it was typed.
    """
    if len(text) > _LONGEST_JSON:
        return text
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(values, dict) or not values:
        return text
    return "\n".join(f"{name}: {_value(value)}" for name, value in values.items())


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def plain(text: str) -> str:
    """After the text rules. A line ends with a newline and nothing else."""
    lines = clean(text.replace("\r\n", "\n").replace("\r", "\n"))
    return lines.replace("\u2028", "\n").replace("\u2029", "\n")


def one_line(text: str, limit: int) -> str:
    """The same as one line with single spaces, `…` where it was cut."""
    cut = excerpt(" ".join(text[: 4 * limit].split()), limit)
    return " ".join(cut.text.split()) + ("…" if cut.left or len(text) > 4 * limit else "")


def _end_of_lines(text: str, lines: int) -> int:
    end = -1
    for _ in range(lines):
        end = text.find("\n", end + 1)
        if end < 0:
            return len(text)
    return end
