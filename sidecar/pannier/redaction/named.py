"""Secrets that stand right behind what names them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pannier.redaction.secret import Secret
from pannier.redaction.values import bare, is_mixed, says_a_secret, whole

_NAMED = re.compile(
    r"""(?ix)
    (?P<name> pass(?:word|wd|phrase|code) | pwd | \bpin\b | secret | token | credential
      | (?:api|access|private|auth|account|client|master|service)[ _-]?key )
    (?: [_-][\w-]{1,20} )? s?
    [\]"'`*)]{0,3} \s{0,2}
    (?: (?P<sign> := | => | == | [:=] | \b(?:is|was|lautet|ist)\b ) \s{0,2} (?P<quote>["'`*]{0,3})
      | (?P<ticks>["'`])
      | (?P<bare>(?<=[ ])) )
    (?P<value> [^\s"'`<>|]{4,256} )
    """
)
_REST = re.compile(r"[^\s\"'`<>|]*")
"""Of a value whose beginning tells that it is a secret."""


def named(text: str) -> Iterator[Secret]:
    """`password: hunter2`, `the token is …`, but not `password: in the vault`. With nothing between
    the two, only what looks like a password."""
    end = 0
    while match := _NAMED.search(text, end):
        name, value = match["name"].lower(), bare(match["value"])
        password = name.startswith(("pass", "pwd", "pin"))
        quoted = bool(match["quote"] or match["ticks"])
        if match["bare"] is not None and not (password and is_mixed(whole(match["value"]))):
            end = match.end("name")
            continue
        end = match.end()
        if says_a_secret(value, password, quoted):
            rest = _REST.match(text, end)
            end = rest.end() if rest else end
            kind = "password" if password else re.sub(r"[ _-]", " ", name)
            yield Secret(match.start("value"), end, kind)
