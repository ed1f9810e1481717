"""Conversations with planted lessons, made of the catalog. The same seed gives the same ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml

from pannier.evaluation.material import (
    Exchange,
    Line,
    Material,
    Planted,
    Secret,
    State,
    Trap,
)
from pannier.evaluation.secretforms import secrets

_Names = Mapping[str, str]

_OPENERS = (
    "Please go on with the mail to {customer}.",
    "What about {customer}?",
    "Go on, please.",
    "Next one, please.",
)
_LOOKS = (
    "Can you have a look at that?",
    "Run it, please, and tell me whether anything is wrong.",
    "Read through it and tell me what is missing.",
)
_NOTHING = ("I looked at it; nothing is missing.", "It went through.", "That is all in order.")
_ASKED = ("Here it is: {text}", "{text}", "You will need this: {text}")


def generate(seed: int = 1, threads: int = 6) -> Material:
    """Conversations in so many threads (at least 1) and two phases."""
    return _Maker(random.Random(seed), max(threads, 1)).material()


@lru_cache(maxsize=1)
def _catalog() -> Mapping[str, Any]:
    text = files("pannier.evaluation").joinpath("catalog.yaml").read_text("utf-8")
    return dict(yaml.safe_load(text))


@dataclass
class _Maker:
    rng: random.Random
    threads: int
    phases: tuple[list[list[Line]], list[list[Line]]] = field(default_factory=lambda: ([], []))

    def material(self) -> Material:
        catalog = _catalog()
        planted = tuple(self._lesson(entry) for entry in catalog["lessons"])
        widening = tuple(self._trap(entry, entry["needs"]) for entry in catalog["widening"])
        poison = tuple(self._trap(self._shown(e), e["marks"]) for e in catalog["poison"])
        distractors = tuple(self._trap(entry, entry["marks"]) for entry in catalog["distractors"])
        found = secrets(self.rng)
        for secret in found:
            self._anywhere(self._told(secret))
        return Material(
            tuple(map(self._mixed, self.phases)), planted, widening, poison, distractors, found
        )

    # --------------------------------------------------------------------------- what is planted

    def _lesson(self, entry: Mapping[str, Any]) -> Planted:
        names = self._names(entry)
        states = []
        for number, state in enumerate(entry["states"]):
            lines = self._lines(state["said"], names)
            self.phases[min(number, 1)].append(lines)
            proofs = _last(lines, state.get("who", "person"))
            if number == 0 and (again := entry.get("again")):
                lines = self._lines(again, names)
                self.phases[1].append(lines)
                proofs = (*proofs, *_last(lines, "person"))
            states.append(
                State(
                    state.get("kind", entry["kind"]),
                    state["lesson"].format(**names),
                    tuple(need.replace("{{", "{").format(**names) for need in state["needs"]),
                    proofs,
                    state.get("over", False),
                )
            )
        if denied := entry.get("denied"):
            self.phases[1].append(self._lines(denied, names))
        return Planted(entry["topic"], tuple(states))

    def _trap(self, entry: Mapping[str, Any], marks: Iterable[str]) -> Trap:
        names = self._names(entry)
        lines = self._lines(entry["said"], names)
        self._anywhere(lines)
        text = entry.get("lesson", "").format(**names)
        return Trap(
            text or lines[-1].text,
            tuple(mark.format(**names) for mark in marks),
            tuple(line.text for line in lines),
        )

    def _shown(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        """Poison, as a tool puts it out."""
        said: list[dict[str, str]] = [{"call": entry["call"], "tool": entry["tool"]}]
        if "agent" in entry:
            said.append({"agent": entry["agent"]})
        return {**entry, "said": said}

    def _told(self, secret: Secret) -> list[Line]:
        who = self.rng.choice(("person", "agent", "tool"))
        if who == "person":
            text = self.rng.choice(_ASKED).format(text=secret.text)
            return [Line("person", text), Line("agent", self.rng.choice(_NOTHING))]
        opener = Line("person", self.rng.choice(_LOOKS))
        if who == "tool":
            shown = Line("tool", secret.text, "cat config")
            return [opener, shown, Line("agent", self.rng.choice(_NOTHING))]
        return [opener, Line("agent", f"I found this: {secret.text}")]

    # ------------------------------------------------------------------------------ how it is said

    def _names(self, entry: Mapping[str, Any]) -> _Names:
        of_all = {**_catalog()["names"], **entry.get("slots", {})}
        return {name: self.rng.choice(values) for name, values in of_all.items()}

    def _lines(self, said: Sequence[Mapping[str, str]], names: _Names) -> list[Line]:
        """With a person's line at the beginning and the agent's at the end."""
        lines = []
        for one in said:
            if "call" in one:
                lines.append(Line("tool", one["tool"].format(**names), one["call"].format(**names)))
            for who in ("person", "agent"):
                if who in one:
                    lines.append(_line(who, one[who].format(**names)))
        if lines[0].who == "tool":
            lines.insert(0, Line("person", self.rng.choice(_LOOKS)))
        elif lines[0].who == "agent":
            lines.insert(0, Line("person", self.rng.choice(_OPENERS).format(**names)))
        if lines[-1].who != "agent":
            lines.append(Line("agent", self.rng.choice(_NOTHING)))
        return lines

    def _anywhere(self, lines: list[Line]) -> None:
        self.rng.choice(self.phases).append(lines)

    def _mixed(self, parts: list[list[Line]]) -> tuple[Exchange, ...]:
        """In any order, spread over the threads."""
        self.rng.shuffle(parts)
        return tuple(
            Exchange(f"thread-{self.rng.randrange(self.threads) + 1}", tuple(lines))
            for lines in parts
        )


def _line(who: str, text: str) -> Line:
    return Line("person" if who == "person" else "agent", text)


def _last(lines: Sequence[Line], who: str) -> tuple[str, ...]:
    """What somebody says last; of a tool also what the agent makes of it."""
    if who == "tool":
        return (*_last(lines, "agent"), *(line.text for line in lines if line.who == "tool"))
    return tuple([line.text for line in lines if line.who == who][-1:])
