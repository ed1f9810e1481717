"""Each real client edits the group's memory without being asked, and leaves its own alone."""

from __future__ import annotations

from .conftest import Driven

MEMORY = "/workspace/agent/memory"


def test_writes_a_memory_file(driven: Driven) -> None:
    """A file that the model writes below memory/ lies on the host, and nobody was asked."""
    text = "---\ntype: preference\n---\n\nTea, no sugar. <&> 😀\n"
    with driven.shell("write") as shell:
        shell.script(*driven.habits.create(f"{MEMORY}/preferences/tea.md", text))
        shell.run(*driven.client.headless("remember how I take my tea"))
    written = driven.group.memory / "preferences" / "tea.md"
    assert written.read_text() == text


def test_changes_a_memory_file(driven: Driven) -> None:
    """A memory file that the person made is changed in place by the model."""
    mug = driven.group.memory / "mug.md"
    assert mug.read_text() == "The mug is blue.\n"
    with driven.shell("change") as shell:
        shell.script(
            *driven.habits.change(f"{MEMORY}/mug.md", "The mug is blue.", "The mug is red.")
        )
        shell.run(*driven.client.headless("the mug is red now"))
    assert mug.read_text() == "The mug is red.\n"


def test_own_memory_stays_unused(driven: Driven) -> None:
    """Being told to remember leaves nothing in the client's own memory."""
    with driven.shell("own") as shell:
        shell.run(*driven.client.headless("Remember for ever: the door code is 1234."))
        for pattern in driven.habits.own_memory:
            found = shell.run("find", "/home/agent", "-type", "f", "-path", pattern).stdout
            assert found == ""
