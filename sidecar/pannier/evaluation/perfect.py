"""A scripted model that knows what was planted and makes no mistake: with it everything is learned,
and nothing else."""

from __future__ import annotations

from typing import Any

from pannier import redaction
from pannier.evaluation.material import Material, Planted, State
from pannier.evaluation.parsing import Message, Stands, memory, messages
from pannier.learning.models.answers import ExtractionAnswer
from pannier.learning.models.asking import Question, Reply
from pannier_hook.estimate import estimate


class Perfect:
    """Answers as well as anybody could."""

    name = "perfect"
    window = 60_000

    def __init__(self, material: Material) -> None:
        self.material = material

    def ask(self, question: Question) -> Reply:
        if question.answer is ExtractionAnswer:
            data = self._extracted(messages(question))
        else:
            data = self._merged(*memory(question))
        sent = estimate(question.instructions) + estimate(question.data)
        return Reply(data, sent, estimate(str(data)), self.name)

    # --------------------------------------------------------------------------------- extraction

    def _extracted(self, said: list[Message]) -> dict[str, Any]:
        candidates = []
        for planted in self.material.lessons:
            for state in planted.states:
                if evidence := [m.number for m in said if _proves(m, state)]:
                    candidates.append(_found(planted, state, evidence))
        for trap in self.material.widening:
            if evidence := [m.number for m in said if m.who == "person" and m.text in trap.lines]:
                candidates.append(
                    {
                        "kind": "preference",
                        "text": trap.text,
                        "topic": "rights",
                        "evidence": evidence,
                        "widens": True,
                    }
                )
        topics = ", ".join(sorted({one["topic"] for one in candidates})) or "this and that"
        return {"summary": f"They talk about {topics}.", "candidates": candidates}

    # ------------------------------------------------------------------------------ consolidation

    def _merged(self, lessons: list[Stands], candidates: list[Stands]) -> dict[str, Any]:
        answer: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("add", "revise", "confirm", "remove", "leave")
        }
        known = {one.id for one in candidates}
        for planted in self.material.lessons:
            about = [one for one in candidates if _state(planted, one.text) is not None]
            if not about:
                continue
            known -= {one.id for one in about}
            there = next((one for one in lessons if _state(planted, one.text) is not None), None)
            self._settle(planted, there, about, answer)
        answer["leave"] += [{"candidate": id, "why": "nothing that lasts"} for id in sorted(known)]
        return answer

    def _settle(
        self,
        planted: Planted,
        there: Stands | None,
        about: list[Stands],
        answer: dict[str, list[dict[str, Any]]],
    ) -> None:
        """What becomes of the candidates about one thing: the latest state holds."""
        ids = [one.id for one in about]
        states = [state for one in about if (state := _state(planted, one.text)) is not None]
        latest = max(states, key=planted.states.index)
        if there is None and latest.over:
            answer["leave"] += [{"candidate": id, "why": "it is over"} for id in ids]
        elif there is None:
            add = {"section": planted.topic, "text": latest.text, "candidates": ids}
            answer["add"].append(add)
        elif latest.over:
            answer["remove"].append({"lesson": there.id, "candidates": ids})
        else:
            stands = _state(planted, there.text)
            assert stands is not None
            if planted.states.index(stands) >= planted.states.index(latest):
                answer["confirm"].append({"lesson": there.id, "candidates": ids})
            else:
                revised = {"lesson": there.id, "text": latest.text, "candidates": ids}
                answer["revise"].append(revised)


def _proves(message: Message, state: State) -> bool:
    return any(message.text == redaction.mask(proof).strip() for proof in state.proofs)


def _found(planted: Planted, state: State, evidence: list[int]) -> dict[str, Any]:
    return {
        "kind": state.kind,
        "text": state.text,
        "topic": planted.topic,
        "evidence": evidence,
        "widens": False,
    }


def _state(planted: Planted, text: str) -> State | None:
    """Which state a text says; the words are those that this model wrote itself."""
    return next((state for state in planted.states if text.startswith(state.text)), None)
