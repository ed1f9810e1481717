"""What orders, and tales of what somebody wants, sound like. Pure; knows words, not meanings.

Of a tool's output only facts are taken, and few sound so. What a person wants, that person says.
"""

from __future__ import annotations

import re


def is_order(text: str) -> bool:
    """Whether it sounds like one."""
    return _ORDERS.search(text) is not None


def is_of_people(text: str) -> bool:
    """Whether it speaks of the person for whom an agent works."""
    return _PEOPLE.search(text) is not None


def is_of_wishes(text: str) -> bool:
    """Whether it tells what that person wants."""
    return is_of_people(text) and _WISHES.search(text) is not None


_ORDERS = re.compile(
    r"\b(?:always|never|must(?:n't)?|should(?:n't)?|shall|do not|don't|please|make sure|ensure"
    r"|remember to|from now on|prefers?|instead of|you (?:are|have|need|may|can)"
    r"|immer|nie(?:mals)?|muss(?:t)?|müssen|soll(?:en|st|te)?|bitte|ab sofort|künftig|nicht mehr"
    r"|toujours|jamais|doi(?:t|s|vent)|il faut|veuillez|désormais"
    r"|siempre|nunca|debe[ns]?|hay que|por favor|a partir de ahora)\b"
    r"|总是|始终|永远|必须|应该|应当|务必|不要|请|切勿|必ず|常に|ください|べき|決して|こと。?$",
    re.IGNORECASE,
)

_PEOPLE = re.compile(
    r"\b(?:the|your|our) (?:user|owner|human|person|boss)\b(?! (?:account|agent|group|id|interface|"
    r"manual|name|role|table))|\b(?:der|die|des|dem|den) (?:be)?nutzer(?:s|in)?\b"
    r"|\bl'utilisat(?:eur|rice)\b|\b(?:el|la) (?:usuari[oa]|dueñ[oa])\b|用户|主人|ユーザー|利用者",
    re.IGNORECASE,
)

_WISHES = re.compile(
    r"\b(?:prefer\w*|want(?:s|ed)?|wish(?:es|ed)?|would like|likes?|dislikes?|hates?"
    r"|insist(?:s|ed)?|expects?|asks|asked|demand\w*|desires?|favou?rite\w*"
    r"|bevorzug\w*|möchte|will|wünsch\w*|wunsch|wünsche|mag|verlangt|erwartet"
    r"|besteht auf|vorlieb\w*"
    r"|préf[éè]r\w*|veut|voudrait|souhait\w*|aime|exige|demande"
    r"|prefier\w*|preferenci\w*|quiere|desea|gusta|exige|pide)\b"
    r"|喜欢|偏好|希望|想要|要求|更愿|好む|好み|好き|希望|欲し|望ん|たい",
    re.IGNORECASE,
)
