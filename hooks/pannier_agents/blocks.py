"""What a block of a message's content holds, in the form of any provider: words, or a picture, a
sound, a file. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WRITTEN = frozenset({"text-plain", "file", "document", "search_result"})
"""Kinds of blocks that may hold words alone: of LangChain, and of Anthropic."""
_MEDIA = frozenset(
    {
        *("image", "image_url", "input_image", "image_generation_call", "computer_screenshot"),
        *("audio", "input_audio", "video", "media"),
        *("file", "input_file", "document", "text-plain"),
    }
)
_REASONED = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
SIGNATURE = "signature"
"""Is not read by the model."""
_SEALED = "encrypted"
"""How members begin whose data only the provider can read: it is words for the model."""
_DATA = re.compile(r"data:[\w.+-]+/[\w.+-]+[;,]|[A-Za-z0-9+/=_-]{1000}")
"""Begins a text that is base64: no language has such a word."""


def kind_of(block: object) -> str:
    """Its type; "" for a text."""
    return str(block.get("type", "")) if isinstance(block, Mapping) else ""


def text_of(block: object) -> str | None:
    """The words of a block that holds nothing else; None for any other."""
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        return None
    kind = kind_of(block)
    if kind == "text":
        return str(block.get("text") or "")
    if kind not in _WRITTEN:
        return None
    source = block.get("source")
    body = block.get("text") or block.get("content")
    if isinstance(source, Mapping):
        body = source.get("data" if source.get("type") == "text" else "content")
    said = _joined(body)
    if said is None:
        return None
    about = (block.get("title"), source, block.get("context"))
    return "\n".join([*(one for one in about if isinstance(one, str) and one), said])


def texts_of(content: object) -> list[str]:
    """The texts in a message's content, in order."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [text for one in content if (text := text_of(one)) is not None]


def with_text(block: Any, text: str) -> Any:
    """Other words in the place of a block that holds words alone."""
    if isinstance(block, str):
        return text
    return block | {"text": text} if kind_of(block) == "text" else {"type": "text", "text": text}


def is_media(block: object) -> bool:
    """Whether it holds a picture, a sound, a film or a file that is no text."""
    if text_of(block) is not None or kind_of(block) in _REASONED:
        return False
    return kind_of(block) in _MEDIA or data_in(block) > 0


def is_image(block: object) -> bool:
    """Whether that is a picture."""
    return "image" in kind_of(block) and is_media(block)


def data_in(value: object) -> int:
    """The length of what in it is no words, such as base64."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, str):
        return len(value) if _DATA.match(value) else 0
    if isinstance(value, Mapping):
        return sum(data_in(one) for name, one in value.items() if not _is_sealed(name))
    return sum(map(data_in, value)) if isinstance(value, list | tuple) else 0


def words_in(value: object) -> Any:
    """The rest of it."""
    if isinstance(value, Mapping):
        return {
            name: one if _is_sealed(name) else words_in(one)
            for name, one in value.items()
            if name != SIGNATURE
        }
    if isinstance(value, list | tuple):
        return [words_in(one) for one in value]
    return None if data_in(value) else value


def _joined(body: object) -> str | None:
    if isinstance(body, str):
        return body
    if not body or not isinstance(body, list):
        return None
    texts = [text for one in body if (text := text_of(one)) is not None]
    return "\n".join(texts) if len(texts) == len(body) else None


def _is_sealed(name: object) -> bool:
    return str(name) == SIGNATURE or str(name).startswith(_SEALED)
