"""Containers that are up with an earlier image, or earlier settings, than a start would take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from pannier import clients, groups
from pannier.engine import Container, Engine, images
from pannier.engine.containers import Image
from pannier.errors import ImageNotFound, SettingsError
from pannier.groups import Group
from pannier.outdated import Comparison
from pannier.paths import Home
from pannier.settings import HomeSettings

TAG = images.tag_for(clients.get("claude"), HomeSettings())
EARLIER = "pannier-claude:0123456789ab"
UP = Container(
    id="c1",
    name="pannier-scout-c1",
    group="scout",
    client="claude",
    role="up",
    thread="main",
    owner="",
    state="running",
    image=TAG,
    created="",
    image_id="sha256:now",
)
OLD = replace(UP, image=EARLIER, image_id="sha256:then")


@dataclass
class Shelf:
    """An engine that has images."""

    ids: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def image(self, tag: str) -> Image:
        self.asked.append(tag)
        if tag not in self.ids:
            raise ImageNotFound(f"the engine has no image {tag}")
        return Image(self.ids[tag], (tag,), "0.1.0", "claude", 1)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home, _ = groups.init(tmp_path / "agents", {"HOME": str(tmp_path)})
    groups.add(home, "scout", groups.new_settings("claude", None, ()))
    return home


def told(home: Home, container: Container, **ids: str) -> str:
    """What is said of it; `ids` by tag, with `_` for `:`."""
    shelf = Shelf({tag.replace("__", ":"): id_ for tag, id_ in ids.items()})
    found = Comparison(cast(Engine, shelf), home).outdated(container, scout(home))
    return f"{found}. {found.advice}" if found else ""


def scout(home: Home) -> Group:
    return groups.get(home, "scout")


def name_image(home: Home, image: str) -> None:
    home.group("scout").settings.write_text(f"client: claude\nimage: {image}\n")


def test_on_the_image_of_now_there_is_nothing_to_say(home: Home) -> None:
    """Whether or not the engine still has it by this name."""
    assert told(home, UP, **{TAG: "sha256:now"}) == ""
    assert told(home, UP) == ""


@pytest.mark.parametrize("built", [{}, {TAG: "sha256:now"}], ids=["not built", "built"])
def test_after_an_update_both_images_and_the_way_out_are_told(
    home: Home, built: dict[str, str]
) -> None:
    """Its hook is the earlier one, and may not tell all that this pannier keeps."""
    words = told(home, OLD, **built)
    assert EARLIER in words
    assert TAG in words
    assert "may not be kept" in words
    assert words.endswith("pannier stop scout && pannier up scout")


def test_another_build_of_the_same_tag_is_another_image(home: Home) -> None:
    """By then the engine knows the one that runs only by its id."""
    moved = replace(OLD, image="sha256:" + "a1" * 32)
    assert "sha256:a1a1a1a1a1a1;" in told(home, moved, **{TAG: "sha256:now"})
    assert told(home, moved) == ""  # Nobody can say.


def test_of_an_image_of_one_s_own_its_id_counts(home: Home) -> None:
    """And nothing is said when the engine does not have it any more."""
    name_image(home, "mine:1")
    mine = replace(OLD, image="mine:1")
    assert told(home, mine, mine__1="sha256:then") == ""
    assert told(home, mine) == ""
    assert "a start would take mine:1" in told(home, mine, mine__1="sha256:now")
    assert "a start would take mine:1" in told(home, UP, mine__1="sha256:mine")


def test_an_image_that_was_asked_for_at_the_start_is_compared_with_itself(home: Home) -> None:
    """`--image` was somebody's choice, and is no earlier image of the group's."""
    asked = replace(OLD, image="try:2", asked_image="try:2")
    assert told(home, asked, try__2="sha256:then", **{TAG: "sha256:now"}) == ""
    words = told(home, asked, try__2="sha256:now")
    assert words.endswith("pannier stop scout && pannier up scout --image try:2")


def test_another_client_s_container_is_started_anew_as_such(home: Home) -> None:
    """The image that group.yaml names is that of the group's usual client alone."""
    name_image(home, "mine:1")
    codex = replace(OLD, client="codex", image="pannier-codex:0123456789ab")
    words = told(home, codex, mine__1="sha256:now")
    assert "a start would take pannier-codex:" in words
    assert words.endswith("pannier up scout --client codex")


@pytest.mark.parametrize(
    "change", [{"state": "exited"}, {"role": "verify"}, {"client": "custom"}, {"image_id": ""}]
)
def test_what_does_not_run_or_is_not_known_is_not_judged(
    home: Home, change: dict[str, str]
) -> None:
    """Only what runs can lose what is said in it."""
    built = {} if "client" in change else {TAG: "sha256:now"}
    assert told(home, replace(OLD, **change), **built) == ""  # type: ignore[arg-type]


def test_settings_for_the_context_hold_from_the_next_start_on(home: Home) -> None:
    """A container keeps what it was started with, and that is said with the way out."""
    built = {TAG: "sha256:now"}
    home.group("scout").settings.write_text("client: claude\ncontext: {window: 200000}\n")
    words = told(home, UP, **built)
    assert words.startswith("pannier-scout-c1 is up with earlier settings for its context than")
    assert words.endswith("pannier stop scout && pannier up scout")
    assert told(home, replace(UP, context='{"window":200000}'), **built) == ""
    assert "earlier image" in told(home, OLD, **built)


@pytest.mark.parametrize(
    "same", ["", "context: {}", "context: {compaction: {idle_after: 12h}}"], ids=str
)
def test_settings_that_change_nothing_in_it_need_no_new_container(home: Home, same: str) -> None:
    """Defaults that are written down, and what is the daemon's alone."""
    home.group("scout").settings.write_text(f"client: claude\n{same}\n")
    assert told(home, UP, **{TAG: "sha256:now"}) == ""


def test_each_image_is_asked_about_once(home: Home) -> None:
    """However many containers there are."""
    shelf = Shelf({TAG: "sha256:now"})
    compare = Comparison(cast(Engine, shelf), home)
    assert [bool(compare.outdated(c, scout(home))) for c in (UP, OLD, UP, OLD)] == [0, 1, 0, 1]
    assert shelf.asked == [TAG]


def test_settings_that_cannot_be_read_say_nothing_about_images(home: Home) -> None:
    """It is an error, not an image of now."""
    home.settings.write_text("base_imag: typo\n")
    with pytest.raises(SettingsError):
        told(home, OLD)
