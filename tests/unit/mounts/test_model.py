"""The mount plan against an independent model of its rules, on real folders."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.unit.mounts.model import GROUPS, Model, clear

from pannier import mounts
from pannier.cli import pannier
from pannier.mounts import facts
from pannier.mounts.plan import MountPlan
from pannier.paths import Home
from pannier.settings import GroupSettings, load

LIMIT = 8

PLAIN = st.sampled_from(["code", "docs", "site", "x"])
BAD = st.sampled_from([".env", ".env.local", ".ssh", "secret-1"])
GIT = st.sampled_from([".git", "HEAD", "objects", "refs"])
NAMES = st.one_of(PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, st.just(".env.example"), BAD, GIT)
FOLDERS = st.lists(st.lists(NAMES, min_size=1, max_size=3), min_size=2, max_size=5)
MODES = st.sampled_from(["ro", "rw"])
ODD_TARGETS = st.sampled_from(["a", "b", "a/b", "ab", "", "/a", "..", "a:b"])


SELDOM = st.sampled_from([False] * 7 + [True])


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Folders, files and links below a person's folder; an allowlist; what two groups ask for."""
    folders = ["code", *("/".join(parts) for parts in draw(FOLDERS))]
    folders = [draw(st.sampled_from([f, f"code/{f}", f"code/{f}"])) for f in folders]
    somewhere = st.sampled_from(folders)
    links = draw(st.lists(st.tuples(somewhere, st.sampled_from("lm"), somewhere), max_size=3))
    ends = [*folders, *(f"{f}/{name}" for f, name, _ in links)]
    entry = st.fixed_dictionaries(
        {"mode": st.sampled_from(["ro", "rw", "rw"])},
        optional={
            "groups": st.sampled_from([["one"], ["two"], ["one", "two"]]),
            "except": st.lists(BAD, unique=True),
            "scan": st.booleans(),
            "git": st.booleans(),
        },
    )

    def path() -> str:
        return "~/bin" if draw(SELDOM) else f"~/{draw(st.sampled_from(ends))}"

    def ask(number: int) -> dict[str, str]:
        source = path()
        if draw(SELDOM):
            source = f"{source}/../{source.rpartition('/')[2]}"
        target = draw(ODD_TARGETS) if draw(SELDOM) else f"t{number}"
        return {"source": source, "target": target, "mode": draw(MODES)}

    allow = None
    if not draw(SELDOM):
        roots = [draw(st.sampled_from(["~", "~/code"])), *(path() for _ in range(3))]
        allow = {root: draw(entry) for root in roots[: draw(st.integers(1, 4))]}
    return {
        "folders": folders,
        "links": links,
        "files": draw(st.lists(st.tuples(somewhere, NAMES), max_size=3)),
        "allow": allow,
        "asks": {group: [ask(n) for n in range(draw(st.integers(1, 3)))] for group in GROUPS},
    }


def lay(person: Path, world: dict[str, Any]) -> Home:
    """Put a world on the disk."""
    clear(person)
    for folder in world["folders"]:
        (person / folder).mkdir(parents=True, exist_ok=True)
    for folder, name, target in world["links"]:
        if not os.path.lexists(person / folder / name):
            (person / folder / name).symlink_to(person / target)
    for folder, name in world["files"]:
        if not os.path.lexists(person / folder / name):
            (person / folder / name).touch()
    home = Home(person / "agents")
    for group, asks in world["asks"].items():
        home.group(group).root.mkdir(parents=True)
        home.group(group).settings.write_text(yaml.safe_dump({"mounts": asks}))
    if world["allow"] is not None:
        (person / ".config/pannier").mkdir()
        allow = [{"path": path, **entry} for path, entry in world["allow"].items()]
        # By way of JSON, so that a list that stands in two entries is written twice.
        allowlist = json.loads(json.dumps({"allow": allow, "block": ["secret-*"]}))
        (person / ".config/pannier/mounts.yaml").write_text(yaml.safe_dump(allowlist))
    return home


def planned(home: Home, group: str, environ: dict[str, str]) -> MountPlan:
    paths = home.group(group)
    return mounts.plan_for(home, paths, load(paths.settings, GroupSettings), "claude", environ)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's folder. A tree is too large from a few entries on."""
    monkeypatch.setattr(facts, "ENTRY_LIMIT", LIMIT)
    return tmp_path / "person"


on_one_folder = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@on_one_folder
@given(world=worlds())
def test_the_plan_says_what_the_model_says(person: Path, world: dict[str, Any]) -> None:
    """A request is mounted just where no rule of the model speaks against it."""
    home = lay(person, world)
    environ = {"HOME": str(person)}
    model = Model(person, LIMIT)
    for group, asks in world["asks"].items():
        plan = planned(home, group, environ)
        extra = {str(m.target): m for m in plan.mounts[8:]}
        refused = [(r.source, r.target) for r in plan.refused]
        for number, ask in enumerate(asks):
            broken = model.broken_rules(group, number)
            for rule in broken or {"granted"}:
                event(rule)
            mount = extra.get(f"/workspace/extra/{ask['target']}")
            if broken:
                assert (ask["source"], ask["target"]) in refused, broken
                assert mount is None or str(mount.source) != model.real(ask["source"])
                continue
            assert mount is not None, plan.refused
            status = mount.source.stat()
            assert str(mount.source) == model.real(ask["source"])
            assert (mount.device, mount.inode) == (status.st_dev, status.st_ino)
            assert mount.mode == ask["mode"]
        assert len(extra) + len(refused) == len(asks)


@on_one_folder
@given(world=worlds())
def test_the_grant_of_a_refusal_grants_it(person: Path, world: dict[str, Any]) -> None:
    """Whoever types the line of a refusal has the mount; a refusal without a line is final."""
    home = lay(person, world)
    environ = {"HOME": str(person)}
    for refusal in planned(home, "one", environ).refused:
        if not refusal.grant:
            continue
        lay(person, world)
        words = shlex.split(refusal.grant)
        done = CliRunner().invoke(pannier, words[1:], env=environ)
        assert done.exit_code == 0, (refusal, done.output, done.exception)
        after = planned(home, "one", environ)
        granted = [str(m.target) for m in after.mounts[8:]]
        assert f"/workspace/extra/{refusal.target}" in granted, (refusal, after.refused)


FINAL = {"target", "no folder", "never", "swap"}


@on_one_folder
@given(world=worlds())
def test_what_no_entry_can_grant_has_no_line(person: Path, world: dict[str, Any]) -> None:
    """A refusal has a line that would grant it just when the allowlist is what is missing."""
    home = lay(person, world)
    model = Model(person, LIMIT)
    for group in GROUPS:
        lines = {
            (r.source, r.target): r.grant
            for r in planned(home, group, {"HOME": str(person)}).refused
        }
        for number, ask in enumerate(world["asks"][group]):
            broken = model.broken_rules(group, number)
            if broken and world["asks"][group].count(ask) == 1:
                assert bool(lines[ask["source"], ask["target"]]) == (not broken & FINAL), broken
