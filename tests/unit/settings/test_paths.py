"""Where everything lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pannier import groups
from pannier.errors import HomeNotFound, UsageError
from pannier.paths import Home, allowlist_file, find_home, homes_file, known_homes


def home_at(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "pannier.yaml").touch()
    return path


def made_by_me(person: Path, *homes: Path) -> dict[str, str]:
    """The environment of somebody who made these homes."""
    environ = {"HOME": str(person)}
    file = homes_file(environ)
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{home}\n" for home in homes))
    return environ


def test_the_option_goes_before_the_environment_and_that_before_the_parents(tmp_path: Path) -> None:
    """The home is `--home`, else `PANNIER_HOME`, else the nearest parent with `pannier.yaml`."""
    a, b, c = (home_at(tmp_path / n) for n in "abc")
    (c / "x" / "y").mkdir(parents=True)
    known = made_by_me(tmp_path, c)
    environ = {**known, "PANNIER_HOME": str(b)}
    assert find_home(str(a), environ, c).root == a
    assert find_home(None, environ, c).root == b
    assert find_home(None, known, c / "x" / "y").root == c


def test_a_home_that_an_agent_planted_is_passed_over(tmp_path: Path) -> None:
    """An agent can put a `pannier.yaml` where it may write; whoever stands there is safe."""
    mine = home_at(tmp_path / "agents")
    planted = home_at(mine / "groups/scout/files")
    known = made_by_me(tmp_path, mine)
    assert find_home(None, known, planted).root == mine
    elsewhere = home_at(tmp_path / "project")
    with pytest.raises(HomeNotFound, match="you did not make it a home") as caught:
        find_home(None, known, elsewhere)
    assert f"pannier init {elsewhere}" in caught.value.hint


def test_no_home_is_made_where_agents_can_write(tmp_path: Path) -> None:
    """`pannier init` in an agent's folder would take over what the agent planted there."""
    environ = {"HOME": str(tmp_path)}
    home, _ = groups.init(tmp_path / "agents", environ)
    planted = home_at(home.root / "groups/scout/files")
    with pytest.raises(UsageError, match="where agents can write"):
        groups.init(planted, environ)
    assert known_homes(environ) == (home.root,)


def test_init_remembers_a_home_and_forgets_those_that_are_gone(tmp_path: Path) -> None:
    """Making a home again is how a copied or moved one becomes yours."""
    environ = {"HOME": str(tmp_path)}
    for name in ("a", "b", "a"):
        groups.init(tmp_path / name, environ)
    assert set(known_homes(environ)) == {tmp_path / "a", tmp_path / "b"}
    shutil.rmtree(tmp_path / "a")
    groups.init(tmp_path / "b", environ)
    assert known_homes(environ) == (tmp_path / "b",)


@pytest.mark.parametrize("option", ["--home", "PANNIER_HOME"])
def test_a_named_folder_that_is_no_home_is_not_passed_over(tmp_path: Path, option: str) -> None:
    """A wrong `--home` or `PANNIER_HOME` is an error, even below another home."""
    inside = home_at(tmp_path / "home")
    wrong = str(tmp_path / "other")
    environ = {"PANNIER_HOME": wrong} if option == "PANNIER_HOME" else {}
    with pytest.raises(HomeNotFound, match=option) as caught:
        find_home(wrong if option == "--home" else None, environ, inside)
    assert f"pannier init {wrong}" in caught.value.hint


def test_no_home_anywhere_says_how_to_make_one(tmp_path: Path) -> None:
    """Outside of any home, the error names `pannier init`."""
    with pytest.raises(HomeNotFound) as caught:
        find_home(None, {}, tmp_path)
    assert "pannier init" in caught.value.hint


@pytest.mark.parametrize("name", ["scout", "a", "0-x_y", "a" * 63])
def test_names_that_may_name_a_group(name: str) -> None:
    """`[a-z0-9][a-z0-9_-]{0,62}`."""
    assert Home(Path("/h")).group(name).memory == Path("/h/groups") / name / "memory"


@pytest.mark.parametrize(
    "name", ["", "Scout", "../x", "a/b", "-a", "_a", "a" * 64, "a\n", "ä", "."]
)
def test_names_that_may_not(name: str) -> None:
    """Anything that could leave `groups/` or confuse a shell is refused."""
    with pytest.raises(UsageError, match="cannot name a group"):
        Home(Path("/h")).group(name)


def test_the_allowlist_lies_where_xdg_says() -> None:
    """`~/.config/pannier/mounts.yaml`; an XDG_CONFIG_HOME that is not absolute is ignored."""
    assert allowlist_file({"HOME": "/h"}) == Path("/h/.config/pannier/mounts.yaml")
    given = {"HOME": "/h", "XDG_CONFIG_HOME": "/c"}
    assert allowlist_file(given) == Path("/c/pannier/mounts.yaml")
    assert allowlist_file(given | {"XDG_CONFIG_HOME": "c"}) == Path(
        "/h/.config/pannier/mounts.yaml"
    )
