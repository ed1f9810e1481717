"""Which images can go."""

from __future__ import annotations

from pannier.engine.images import as_built


def _row(tag: str, base: str | None) -> dict[str, object]:
    labels = {"pannier.client": "claude", "pannier.hook": "0.1.0"}
    if base:
        labels["pannier.base"] = base
    return {"RepoTags": [tag], "Labels": labels, "Size": 1, "Created": 0}


def test_only_what_pannier_would_build_otherwise_now_is_older() -> None:
    """Neither a person's own image, nor one on another base, which another home may use."""
    rows = [
        _row("pannier-claude:1", "debian"),
        _row("pannier-claude:2", "debian"),
        _row("pannier-claude:3", "alpine"),
        _row("mine:1", None),
    ]
    found = as_built(rows, frozenset({"pannier-claude:2"}), "debian")
    assert [image.tag for image in found if image.older] == ["pannier-claude:1"]
    assert [image.tag for image in found if image.current] == ["pannier-claude:2"]
    assert len(found) == 4
