"""Text as it is read where its markup is shown: without links' targets, tags and comments. Pure."""

from __future__ import annotations

import html
import re

_COMMENTS = re.compile(r"<!--|-->")
_TAG = re.compile(
    r"</?(?:a|abbr|b|big|br|code|del|div|em|font|i|img|ins|kbd|mark|p|q|s|small|span|strong|sub|sup"
    r"|tt|u|wbr)(?![\w.-])[^<>]{0,300}>",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\](?:\(([^()\s]{0,300})\)|\[[^\[\]]{0,100}\])?")
_BORDERS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])|\\(?=[^\w\s])")
"""Emphasis, and what takes away a mark's meaning."""


def unmarked(text: str) -> str:
    """A link's text with its target behind it in parentheses; tags are gone."""
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub("", text)
    if "[" in text:
        text = _LINK.sub(_shown, text)
    return _BORDERS.sub("", text)


def has_comments(text: str) -> bool:
    """Whether there is something in it that is not shown."""
    return _COMMENTS.search(text) is not None


def _shown(link: re.Match[str]) -> str:
    return f"{link[1]} ({link[2]})" if link[2] else link[1]
