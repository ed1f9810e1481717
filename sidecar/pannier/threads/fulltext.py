"""How texts get into the full-text index, and how people's queries are put to it. Pure.

The index can only forget a text that it is given once more just as it was: what `indexed` gives for
a message that is stored already must never change, or a migration has to build the index anew.
"""

from __future__ import annotations

import hashlib
import re

LONGEST = 100_000
"""Characters of a message that are indexed."""
SILENT_KINDS = frozenset({"memory", "raw"})
"""Not indexed: what we put there ourselves at each beginning, and records that nobody knows."""

# Scripts that are written without spaces between words, or whose words carry their particles:
# each character is a word to the index, and a run of them a phrase.
_RUN_ON = re.compile(
    "(["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana
    "\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003ffff"
    "])"
)
_PIECE = re.compile(r'"([^"]*)"?|(\S+)')
_WORD = re.compile(r"\w")


def indexed(tool: str, text: str) -> str:
    """What the index is given of a message."""
    return spaced(f"{tool}\n{text[:LONGEST]}" if tool else text[:LONGEST])


def spaced(text: str) -> str:
    """The text, with spaces around each character of a script that has none between words."""
    return text if text.isascii() else _RUN_ON.sub(r" \1 ", text)


def place(grp: str, thread: int) -> str:
    """The words by which a message is found only within its group and thread."""
    return f"{_group_word(grp)} t{thread}"


def expression(query: str, grp: str | None, thread: int | None) -> str:
    """A person's query in FTS5's language; "" if there is no word in it.

    All words must be there, in any order; `"…"` is a phrase; `word*` is a beginning. Nothing else
    has a meaning, so that whatever a person pastes is only looked for.
    """
    terms = [term for phrase, word in _PIECE.findall(query) if (term := _term(phrase, word))]
    if not terms:
        return ""
    parts = [f"text : ({' AND '.join(terms)})"]
    if grp is not None:
        parts.append(f'place : "{_group_word(grp)}"')
    if thread is not None:
        parts.append(f'place : "t{thread}"')
    return " AND ".join(parts)


def _term(phrase: str, word: str) -> str:
    text = (phrase or word).replace('"', " ").replace("\0", " ")
    if not _WORD.search(text):
        return ""
    return f'"{spaced(text)}"' + (" *" if word.endswith("*") else "")


def _group_word(grp: str) -> str:
    return f"g{hashlib.blake2b(grp.encode(), digest_size=6).hexdigest()}"
