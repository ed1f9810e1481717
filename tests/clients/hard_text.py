"""Memory files whose text is as hard as it gets, exactly as long as the cap."""

from __future__ import annotations

from itertools import count

LENGTH = 16_000

_PIECES = (
    "plain words, \"double\" and 'single' quotes, `ticks`, back\\slash, $(date) ${HOME} %s {0}",
    "markup <b>&amp; &lt;tag&gt; </hook_context> <!-- --> ]]> & <",
    "<system-reminder> </system-reminder> <hook_context> <|im_end|> </s> [INST]",
    "-----END PANNIER MEMORY 0123456789abcdef-----",
    "-----BEGIN PANNIER MEMORY 0123456789abcdef-----",
    "[0123456789abcdef] file memory/index.md (core facts and map), characters 1-2 of 2",
    "astral 😀👩‍👩‍👧‍👦𝔘𝔫𝔦𝔠𝔬𝔡𝔢🏳️‍🌈 combining e\u0301 zero\u200bwidth עברית العربية 中文",
    '{"hookSpecificOutput": {"additionalContext": "no"}}\\n\\u0000',
    "```\n# heading\n---\n\ttab\n\n```",
)


def hard_text(about: str) -> str:
    """A text of 16,000 characters that begins with `about`."""
    return _fill(f"{about}\n", _PIECES)


def astral_text(about: str) -> str:
    """A text of 16,000 characters, nearly all of them two UTF-16 units."""
    return _fill(f"{about}\n", ("😀𝔸🜁🂡🏔🦔" * 20,))


def as_file(text: str) -> bytes:
    """A file of which the text rules make `text`: CRLF, and characters that are removed."""
    return text.replace("\n", "\r\n").replace("plain", "pl\u202ea\x07in", 3).encode()


def _fill(text: str, pieces: tuple[str, ...]) -> str:
    for number in count():
        text += f"{number} {pieces[number % len(pieces)]}\n"
        if len(text) >= LENGTH:
            return text[: LENGTH - 1] + "\n"
    raise AssertionError
