"""Facts for the tests of decisions, with what matters said and the rest as usual."""

from __future__ import annotations

from dataclasses import replace

from pannier.serve.decide import Action, Decision, MakeReady, decide
from pannier.serve.facts import ContainerFacts, Facts, GroupFacts
from pannier.serve.memory import Memory, Outcome, learn

SCOUT = GroupFacts("scout", "s1", client="claude", autostart=True)
CALM = GroupFacts("calm", "c1", client="claude")


def up(id_: str = "c1", group: str = "scout", **fields: object) -> ContainerFacts:
    """A container that is up."""
    made = ContainerFacts(id_, f"pannier-{group}-{id_}", group, "up", "running", "Up 1 second")
    return replace(made, **fields)  # type: ignore[arg-type]


def ended(id_: str = "c1", group: str = "scout", **fields: object) -> ContainerFacts:
    """A container that was up."""
    return up(id_, group, state="exited", status="Exited (137) 1 second ago", **fields)


def facts(*containers: ContainerFacts, groups: tuple[GroupFacts, ...] = (SCOUT,)) -> Facts:
    """A round with an engine."""
    return Facts("20.10", groups=groups, containers=containers)


NO_ENGINE = Facts("", "no engine answers: No such file or directory", (SCOUT,))


class Story:
    """Rounds one after the other, as the daemon has them, at times that the test says."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.decision: Decision | None = None

    def round(self, seen: Facts, at: float = 0.0) -> list[Action]:
        """What is done, but for the folders that are made ready at first."""
        self.decision = decide(seen, self.memory, at)
        self.memory = self.decision.memory
        ready = {g.folder: g.stamp for g in seen.groups if not g.error}
        self.memory = replace(self.memory, ready={**self.memory.ready, **ready})
        return [a for a in self.decision.actions if not isinstance(a, MakeReady)]

    def told(self, outcome: Outcome, at: float = 0.0) -> list[str]:
        """What is said of an outcome."""
        self.memory, events = learn(self.memory, outcome, at)
        return [event.event for event in events]

    @property
    def said(self) -> list[str]:
        """The events of the last round."""
        assert self.decision is not None
        return [event.event for event in self.decision.events]

    @property
    def words(self) -> str:
        assert self.decision is not None
        return "\n".join(event.message for event in self.decision.events)

    def state(self, folder: str = "scout") -> tuple[str, str]:
        """What `pannier status` says of a group."""
        assert self.decision is not None
        (found,) = (s for s in self.decision.states if s.folder == folder)
        return found.state, found.waits
