"""What a group's memory should look like to the model, read on the host."""

from __future__ import annotations

from pathlib import Path

from pannier.paths import GroupPaths
from pannier.verify.memory import read_memory


def test_rules_and_caps(group: GroupPaths) -> None:
    """A file counts with all its characters, and is expected after the text rules and the cap."""
    (group.memory / "index.md").write_bytes(b"a\r\nb\x07\xff" + b"x" * 20_000)
    index, _ = read_memory(group)
    assert index.characters == 6 + 20_000
    assert index.text == "a\nb\ufffd" + "x" * (16_000 - 4)


def test_summary_when_there_is_one(group: GroupPaths) -> None:
    """The learned summary is expected when it exists, up to its own cap."""
    assert [m.path for m in read_memory(group)] == [
        "memory/index.md",
        "memory/system/definition.md",
    ]
    group.learned.mkdir()
    (group.learned / "summary.md").write_text("s" * 5000)
    summary = read_memory(group)[-1]
    assert (summary.path, summary.characters, len(summary.text)) == (
        "agent-memory/summary.md",
        5000,
        4000,
    )


def test_files_that_are_not_there(group: GroupPaths, tmp_path: Path) -> None:
    """Nothing is expected of a missing file or of a link, wherever it leads."""
    (tmp_path / "secret").write_text("secret")
    (group.memory / "index.md").unlink()
    (group.memory / "index.md").symlink_to(tmp_path / "secret")
    (group.memory / "system" / "definition.md").unlink()
    assert [(m.characters, m.text) for m in read_memory(group)] == [(0, ""), (0, "")]
