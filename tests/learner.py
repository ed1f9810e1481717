"""A model that learns, over the wire: each sentence that a person said and that it is told to heed
is a lesson, and every candidate becomes one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pannier.endpoint.answers import Answer, Fill
from pannier.endpoint.model import Request
from pannier.errors import PannierError

_SAID = re.compile(r"^\[\w+ m(\d+) person [^\]]*\]\n(.*)$", re.MULTILINE)
_CANDIDATE = re.compile(r"^\[\w+ (c[0-9a-f]{8}) [^\]]*\] (.*)$", re.MULTILINE)
SUMMARY = "They spoke of quotes."


def learning(heeds: Callable[[str], str]) -> Callable[[Request], Answer]:
    """Answers the questions of learning. `heeds`: the lesson in what a person said, "" for none."""

    def answer(request: Request) -> Answer:
        data = "\n".join(text.text for text in request.texts)
        if is_extraction(request):
            return Fill(_extracted(data, heeds))
        add = [
            {"section": "Quotes", "text": text, "candidates": [id]}
            for id, text in _CANDIDATE.findall(data)
        ]
        return Fill({"add": add, "revise": [], "confirm": [], "remove": [], "leave": []})

    return answer


def _extracted(data: str, heeds: Callable[[str], str]) -> Mapping[str, Any]:
    candidates = [
        {"kind": "preference", "text": text, "topic": "Quotes", "evidence": [int(number)],
         "widens": False}
        for number, said in _SAID.findall(data)
        if (text := heeds(said))
    ]  # fmt: skip
    return {"summary": SUMMARY, "candidates": candidates}


def is_learning(request: Request) -> bool:
    """Whether a learner asks, and no agent."""
    return request.form is not None and bool(_properties(request) & {"candidates", "add"})


def is_extraction(request: Request) -> bool:
    """Whether it asks for candidates; else for edits of the memory."""
    return "summary" in _properties(request)


def _properties(request: Request) -> set[str]:
    if request.form is None:
        raise PannierError(f"request {request.number} demands no form")
    return set(request.form.schema.get("properties", ()))
