"""Looking at a real home, with an engine of plain data."""

from __future__ import annotations

import os
import socket
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from pannier import groups, mounts, owner
from pannier.engine import Container, Engine
from pannier.engine.containers import Image
from pannier.errors import EngineNotFound, ImageNotFound
from pannier.paths import Home
from pannier.serve import observe
from pannier.serve.facts import ContainerFacts
from pannier.serve.observe import Observer

GONE = "elsewhere:1:0"


@dataclass
class FakeEngine:
    """Says what containers there are."""

    found: list[Container] = field(default_factory=list)
    waiting: bool = False
    asked: int = 0
    version: str = "20.10"
    images: dict[str, str] = field(default_factory=dict)
    """Id by tag."""
    images_asked: int = 0

    def image(self, tag: str) -> Image:
        self.images_asked += 1
        if tag not in self.images:
            raise ImageNotFound(f"the engine has no image {tag}")
        return Image(self.images[tag], (tag,), "0.1.0", "claude", 1)

    def containers(self, home: str) -> list[Container]:
        return self.found

    def at_gate(self, container: str) -> bool:
        self.asked += 1
        return self.waiting

    def has_image(self, tag: str) -> bool:
        return False


@dataclass
class Scene:
    """A home with the group scout, somebody's folder docs, and a container that has both."""

    home: Home
    environ: dict[str, str]
    docs: Path
    engine: FakeEngine = field(default_factory=FakeEngine)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.observer = Observer(self.home, self.environ, lambda: self.at)
        self.observer.engine = cast(Engine, self.engine)

    def settings(self, text: str) -> None:
        (self.home.group("scout").settings).write_text(f"client: claude\n{text}")

    def allow(self, text: str) -> None:
        file = Path(self.environ["HOME"]) / ".config/pannier/mounts.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def start(self) -> None:
        """A container with what the plan of now gives."""
        group = groups.get(self.home, "scout")
        plan = mounts.plan_for(self.home, group.paths, group.settings, "claude", self.environ)
        assert not plan.refused
        named = ("c1", "pannier-scout-c1", "scout", "claude", "up", "main", GONE, "running")
        self.engine.found = [Container(*named, "image", "created", mounts=plan.mounts)]

    def drift(self) -> tuple[str, ...]:
        return self.container().drift

    def container(self) -> ContainerFacts:
        (container,) = self.observer.facts("").containers
        return container


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    person = tmp_path / "person"
    docs = person / "docs"
    docs.mkdir(parents=True)
    home, _ = groups.init(tmp_path / "agents", {"HOME": str(tmp_path)})
    group = groups.add(home, "scout", groups.new_settings("claude", None, ()))
    environ = {"HOME": str(person), "PATH": os.environ["PATH"]}
    groups.make_ready(group, observe.clients.get("claude"), environ)
    made = Scene(home, environ, docs)
    made.settings(f"mounts: [{{source: {docs}, target: docs}}]\n")
    made.allow(f"allow: [{{path: {docs}}}]\n")
    made.start()
    return made


def test_a_container_that_keeps_to_its_plan(scene: Scene) -> None:
    """Nothing to say, however often one looks."""
    assert scene.drift() == ()
    assert scene.drift() == ()


def test_a_withdrawn_entry_is_seen_in_the_next_round(scene: Scene) -> None:
    """The allowlist is read each time anew."""
    scene.drift()
    scene.allow("allow: []\n")
    (sentence,) = scene.drift()
    assert "no entry of the allowlist holds it" in sentence
    scene.allow(f"allow: [{{path: {scene.docs}}}]\n")
    assert scene.drift() == ()


def test_an_allowlist_that_was_removed_withdraws_everything(scene: Scene) -> None:
    """No file grants nothing."""
    scene.drift()
    Path(scene.environ["HOME"], ".config/pannier/mounts.yaml").unlink()
    assert len(scene.drift()) == 1


def test_a_broken_allowlist_withdraws_nothing_and_is_told(scene: Scene) -> None:
    """Also not from a daemon that has just begun."""
    scene.allow("allow: [")
    assert scene.drift() == ()
    assert "mounts.yaml" in scene.observer.facts("").allowlist_error
    scene.allow("allow: []\n")
    assert scene.drift()
    scene.allow("allow: [")
    assert scene.drift(), "what was withdrawn before stays so"


def test_a_replaced_source_is_seen(scene: Scene) -> None:
    """Device and inode are those that the start compared."""
    scene.drift()
    scene.docs.rename(scene.docs.with_name("old"))
    scene.docs.mkdir()
    assert "was replaced" in scene.drift()[0]


def test_a_replaced_memory_is_seen(scene: Scene) -> None:
    """A backup that was put back as another folder: the agent would write into the old one."""
    memory = scene.home.group("scout").memory
    memory.rename(memory.with_name("memory.old"))
    assert "is gone" in scene.drift()[0]
    memory.symlink_to("memory.old")
    assert "link" in scene.drift()[0]


def test_an_earlier_image_is_seen_within_a_minute(scene: Scene) -> None:
    """The engine is asked about it once a minute, and when somebody edited the settings."""
    named = replace(scene.engine.found[0], image="mine:1", image_id="sha256:then")
    scene.engine.found = [named]
    scene.engine.images["mine:1"] = "sha256:then"
    scene.settings("image: mine:1\n")
    assert scene.container().outdated == ""
    scene.engine.images["mine:1"] = "sha256:now"
    assert scene.container().outdated == ""
    assert scene.engine.images_asked == 1
    scene.at += 61
    words = scene.container().outdated
    assert "is up on an earlier image (mine:1; a start would take mine:1)" in words
    assert "pannier stop scout && pannier up scout" in words
    scene.home.group("scout").settings.write_text("cliemt: claude\n")
    assert scene.container().outdated == words
    scene.settings("image: mine:1\nautostart: true\n")
    scene.engine.images["mine:1"] = "sha256:then"
    assert scene.container().outdated == ""


def test_a_source_that_takes_long_to_look_at_is_looked_at_rarely(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never for more than a fiftieth of the time; but at once after an edit."""
    looks = 0
    plan_for = mounts.plan_for

    def slowly(*args: object) -> mounts.MountPlan:
        nonlocal looks
        looks += 1
        scene.at += 2.0
        return plan_for(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(observe.mounts, "plan_for", slowly)
    seen = []
    for _ in range(50):
        scene.drift()
        seen.append(looks)
        scene.at += 5.0
    assert seen == [1] * 20 + [2] * 20 + [3] * 10
    scene.settings(f"mounts: [{{source: {scene.docs}, target: docs, mode: ro}}]\n")
    scene.drift()
    assert looks == 4
    scene.docs.rename(scene.docs.with_name("old"))
    scene.settings(f"mounts: [{{source: {scene.docs}, target: docs}}]\n")
    scene.drift()
    scene.drift()
    assert looks == 6, "what does not keep to its plan is looked at again in the next round"


def test_a_broken_group_is_told_and_the_others_are_read(scene: Scene) -> None:
    """Each with its own error; an unknown client is one."""
    groups.add(scene.home, "other", groups.new_settings("codex", None, ()))
    scene.settings("enfroce: stop\n")
    other, scout = scene.observer.facts("").groups
    assert (other.error, other.client) == ("", "codex")
    assert "enfroce" in scout.error
    assert "enforce" in scout.error
    scene.settings("")
    (scene.home.group("scout").settings).write_text("client: clod\n")
    assert "clod" in scene.observer.facts("").groups[1].error


def test_settings_of_the_daemon_are_read(scene: Scene) -> None:
    """`autostart` and `enforce`, and the image that is missing for a start."""
    scene.engine.found = []
    scene.settings("autostart: true\nenforce: stop\n")
    (scout,) = scene.observer.facts("").groups
    assert scout.autostart
    scene.start()
    assert scene.observer.facts("").containers[0].stops
    scene.engine.found = []
    assert scout.missing_image.startswith("pannier-claude:")
    scene.settings("autostart: true\nimage: mine\n")
    (scout,) = scene.observer.facts("").groups
    assert scout.missing_image == ""


def test_a_broken_home_is_told(scene: Scene) -> None:
    """`pannier.yaml` with a typing error."""
    scene.home.settings.write_text("bse_image: x\n")
    assert "base_image" in scene.observer.facts("").home_error


def test_an_engine_that_went_away_is_looked_for_anew(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its error is told; groups are read all the same."""

    def gone(home: str) -> list[Container]:
        raise EngineNotFound("no engine answers")

    monkeypatch.setattr(scene.engine, "containers", gone)
    seen = scene.observer.facts("")
    assert (seen.engine, seen.no_engine) == ("", "no engine answers")
    assert [g.folder for g in seen.groups] == ["scout"]
    fresh = FakeEngine(scene.engine.found, version="28.0")
    monkeypatch.setattr(observe, "_find", lambda environ: fresh)
    assert scene.observer.facts("").engine == "28.0"


def test_the_gate_is_asked_about_only_where_the_starter_is_gone(scene: Scene) -> None:
    """And once a container: who was let through stays so."""
    (mine,) = scene.engine.found
    alive = f"{os.uname().nodename}:{os.getppid()}:{_started(os.getppid())}"
    scene.engine.found = [replace(mine, owner=alive)]
    scene.observer.facts("")
    assert scene.engine.asked == 0
    ended = f"{os.uname().nodename}:1:long-ago"
    scene.engine.found = [replace(mine, owner=ended)]
    assert not scene.observer.facts("").containers[0].at_gate
    scene.observer.facts("")
    assert scene.engine.asked == 1
    scene.engine.found = [replace(mine, id="c2", owner=ended)]
    scene.engine.waiting = True
    assert scene.observer.facts("").containers[0].at_gate


def test_what_was_seen_holds_while_the_settings_are_broken(scene: Scene) -> None:
    """It is not said to be over just because nobody can tell."""
    scene.allow("allow: []\n")
    assert scene.drift()
    (scene.home.group("scout").settings).write_text("client: [\n")
    assert scene.drift()


def test_a_home_that_cannot_be_read_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its groups are not known then; nothing is concluded from that but words."""

    def unreadable(self: Home) -> list[object]:
        raise PermissionError(13, "Permission denied", str(self.groups))

    monkeypatch.setattr(Home, "all_groups", unreadable)
    seen = scene.observer.facts("")
    assert seen.groups == ()
    assert str(scene.home.groups) in seen.home_error


def test_a_container_without_the_label_is_not_judged(scene: Scene) -> None:
    """It was made by an older version."""
    scene.engine.found = [replace(c, mounts=()) for c in scene.engine.found]
    scene.allow("allow: []\n")
    assert scene.drift() == ()


def test_what_this_very_process_left_half_made_is_abandoned(scene: Scene) -> None:
    """It does one thing at a time: what it looks at is not what it is just starting."""
    (mine,) = scene.engine.found
    scene.engine.found = [replace(mine, owner=owner.me(), state="created")]
    assert scene.observer.facts("").containers[0].abandoned


def test_a_container_of_no_group_is_listed_and_not_judged(scene: Scene) -> None:
    """Its group's folder was removed."""
    scene.engine.found = [replace(c, group="gone") for c in scene.engine.found]
    assert scene.drift() == ()


def test_what_is_wrong_is_one_line(scene: Scene) -> None:
    """Errors of YAML have several; a state and a log have one for each."""
    scene.settings("mounts: [\n  {\n")
    scene.allow("allow: [\n  {\n")
    scene.home.settings.write_text("base_image: [\n  {\n")
    seen = scene.observer.facts("")
    for text in (seen.groups[0].error, seen.allowlist_error, seen.home_error):
        assert text
        assert text == " ".join(text.split())


def test_an_engine_that_hangs_is_told_while_somebody_waits(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket that takes calls and answers none."""
    monkeypatch.setattr(observe, "LOOK_SECONDS", 1)
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as hung:
        hung.bind(f"{folder}/s")
        hung.listen()
        scene.environ["DOCKER_HOST"] = f"unix://{folder}/s"
        scene.observer.engine = None
        seen = scene.observer.facts("")
    assert (seen.engine, scene.observer.engine) == ("", None)
    assert seen.no_engine


@pytest.mark.parametrize("how", ["broken", "removed", "folder"])
def test_the_last_good_settings_go_on_judging(scene: Scene, how: str) -> None:
    """Also when the whole group was removed: its container has the mounts all the same."""
    scene.settings(f"enforce: stop\nmounts: [{{source: {scene.docs}, target: docs}}]\n")
    assert scene.drift() == ()
    paths = scene.home.group("scout")
    if how == "broken":
        paths.settings.write_text("client: [\n")
    elif how == "removed":
        paths.settings.unlink()
    else:
        paths.settings.parent.rename(scene.home.root / "away")
    scene.allow("allow: []\n")
    (container,) = scene.observer.facts("").containers
    assert container.drift
    assert container.stops
    assert container.no_group == (how != "broken")


def _started(pid: int) -> str:
    return owner._started(pid)
