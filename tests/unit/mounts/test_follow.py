"""Following a path, and what is passed on the way."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pannier.mounts.facts import follow

PARTS = st.sampled_from(["a", "b", "c", "l", "m", "..", "."])
PATHS = st.lists(PARTS, min_size=1, max_size=5).map("/".join)


def test_every_link_on_the_way_is_noted(tmp_path: Path) -> None:
    """The link, what it leads to, and each folder between, but nothing that was not passed."""
    root = Path(os.path.realpath(tmp_path))
    (root / "a/b").mkdir(parents=True)
    (root / "l").symlink_to("a")
    (root / "a/m").symlink_to(root / "a/b")
    way = follow(root / "l/m")
    assert way.real == root / "a/b"
    below = {str(p.relative_to(root)) for p in way.passed if p != root and p.is_relative_to(root)}
    assert below == {"l", "a", "a/m", "a/b"}


def test_a_loop_ends(tmp_path: Path) -> None:
    """Links that lead in circles are an error, as they are to the system."""
    (tmp_path / "l").symlink_to("m")
    (tmp_path / "m").symlink_to("l")
    with pytest.raises(OSError, match="symbolic links"):
        follow(tmp_path / "l")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    folders=st.lists(PATHS, max_size=4), links=st.dictionaries(PATHS, PATHS, max_size=4), path=PATHS
)
def test_it_leads_where_the_system_goes(
    tmp_path_factory: pytest.TempPathFactory,
    folders: list[str],
    links: dict[str, str],
    path: str,
) -> None:
    """The end of the way is the real path, as the standard library finds it."""
    root = Path(os.path.realpath(tmp_path_factory.mktemp("tree")))
    for folder in folders:
        (root / "x/y" / folder.replace("..", "b")).mkdir(parents=True, exist_ok=True)
    for link, target in links.items():
        place = root / "x/y" / link.replace("..", "c")
        with suppress(OSError):  # where something lies already, or a link leads in circles
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
    try:
        real = follow(root / "x/y" / path).real
    except OSError:
        with pytest.raises(OSError, match="symbolic links"):
            os.path.realpath(root / "x/y" / path, strict=True)
        return
    assert real == Path(os.path.realpath(root / "x/y" / path))
