"""Where everything lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from pannier.errors import HomeNotFound, UsageError
from pannier.paths import Home, allowlist_file, find_home


def home_at(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "pannier.yaml").touch()
    return path


def test_the_option_goes_before_the_environment_and_that_before_the_parents(tmp_path: Path) -> None:
    """The home is `--home`, else `PANNIER_HOME`, else the nearest parent with `pannier.yaml`."""
    a, b, c = (home_at(tmp_path / n) for n in "abc")
    (c / "x" / "y").mkdir(parents=True)
    environ = {"PANNIER_HOME": str(b)}
    assert find_home(str(a), environ, c).root == a
    assert find_home(None, environ, c).root == b
    assert find_home(None, {}, c / "x" / "y").root == c


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
