"""What a reader sees of a text. Pure.

Models read characters that people do not see. What is compared without them must not be stored with
them: an order may be written there.
"""

from __future__ import annotations

import re

_JOINING = (
    "\u0600-\u08ff"  # Arabic and its neighbours
    "\u0900-\u0dff"  # scripts of India
    "\u1000-\u109f\u1780-\u17ff\u1800-\u18af"  # Burmese, Khmer, Mongolian
)
_JOINER = "\u200c\u200d"
_UNSEEN = re.compile(
    # Between two letters that join otherwise than written, one of these has a meaning.
    rf"(?<![{_JOINING}])[{_JOINER}]|[{_JOINER}](?![{_JOINING}])"
    # Unicode's Default_Ignorable_Code_Point: variation selectors and tags among them.
    r"|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # Private use, and halves of characters, which no file can hold.
    r"\ue000-\uf8ff\ud800-\udfff\U000f0000-\U0010ffff]"
)
_FRAME = re.compile(
    r"</?\s*(?:system(?:[-_](?:reminder|message|prompt|instructions?))?|assistant|developer|human"
    r"|function_(?:calls|results)|tool_results?|task-notification|local-command-[a-z]{1,20}"
    r"|(?:user|developer)_(?:instructions?|prompt)|user-prompt-submit-hook|state_snapshot"
    r"|(?:environment|session|hook)_context|command-(?:name|message|args))\b[^<>]{0,200}>",
    re.IGNORECASE,
)
"""What clients put around that which they tell their models, and no person says."""
_LABEL = re.compile(r"(?:\s+\^[0-9A-Za-z-]{1,40}|\s*\(seen in tool output\))+$")
"""What we put behind a lesson."""


def visible(text: str) -> str:
    """The same without what is not seen."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def unframed(text: str) -> str:
    """The same, and without the frames in which a client tells its model something."""
    text = visible(text)
    while (shorter := _FRAME.sub("", text)) != text:
        text = shorter
    return text


def unlabelled(line: str) -> str:
    """A lesson's text without ids and remarks behind it, which are ours to put there."""
    return _LABEL.sub("", line.rstrip())
