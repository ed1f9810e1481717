"""A person with a home of pannier, an allowlist, and folders to mount."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from pannier import mounts
from pannier.cli import pannier
from pannier.mounts.allowlist import Entry
from pannier.mounts.allowlist import load as load_allowlist
from pannier.mounts.plan import Mount, MountPlan, Refusal
from pannier.paths import Home
from pannier.settings import GroupSettings, load

OWN = 8
"""So many mounts are the group's own."""


@dataclass(frozen=True)
class Person:
    """What the tests do as a person: write settings, and look at the plan."""

    root: Path
    environ: dict[str, str]

    @property
    def home(self) -> Home:
        return Home(self.root / "agents")

    @property
    def allowlist(self) -> Path:
        return self.root / ".config/pannier/mounts.yaml"

    def allow(self, *entries: dict[str, Any], block: tuple[str, ...] = ()) -> None:
        self.allowlist.parent.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump({"allow": list(entries), "block": list(block)})
        self.allowlist.write_text(text)

    def asks(self, *requests: tuple[str, str, str], group: str = "scout") -> None:
        """Each request is source, target, mode."""
        paths = self.home.group(group)
        paths.root.mkdir(parents=True, exist_ok=True)
        names = ("source", "target", "mode")
        data = {"mounts": [dict(zip(names, request, strict=True)) for request in requests]}
        paths.settings.write_text(yaml.safe_dump(data))

    def plan(self, group: str = "scout") -> MountPlan:
        paths = self.home.group(group)
        settings = load(paths.settings, GroupSettings)
        return mounts.plan_for(self.home, paths, settings, "claude", self.environ)

    def granted(self, group: str = "scout") -> Mount:
        """The one extra mount of a plan without refusals."""
        plan = self.plan(group)
        assert plan.refused == ()
        (mount,) = plan.mounts[OWN:]
        return mount

    def refused(self, group: str = "scout") -> Refusal:
        """The one refusal of a plan without extra mounts."""
        plan = self.plan(group)
        assert plan.mounts[OWN:] == ()
        (refusal,) = plan.refused
        return refusal

    def make(self, *paths: str) -> None:
        """Folders (with a slash at the end) and empty files below the person's folder."""
        for path in paths:
            place = self.root / path
            (place if path.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
            if not path.endswith("/"):
                place.touch()


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """A person with a home, a group `scout` that asks for nothing, and a folder `work`."""
    root = Path(os.path.realpath(tmp_path)) / "person"
    person = Person(root, {"HOME": str(root), "PATH": "/usr/bin"})
    person.make("code/", "agents/pannier.yaml", "agents/groups/")
    person.asks()
    return person


def typed(person: Person, *words: str) -> Result:
    """The command as a person types it, in the home."""
    return CliRunner().invoke(
        pannier, ["--home", str(person.home.root), "mounts", *words], env=person.environ
    )


def entries(person: Person) -> tuple[Entry, ...]:
    """What the file says."""
    loaded = load_allowlist(person.environ)
    assert not loaded.error
    return loaded.allowlist.allow
