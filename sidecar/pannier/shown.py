"""How text that a person did not write, such as an agent's, is shown to one."""

from __future__ import annotations


def shown(text: str) -> str:
    """With what a terminal would obey, and what cannot be encoded, as escapes. One line."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def brief(text: str, limit: int) -> str:
    """The same of the first `limit` characters, with single spaces between its words."""
    words = " ".join(text[: 4 * limit].split())
    return shown(words[:limit]) + ("…" if len(words) > limit or len(text) > 4 * limit else "")
