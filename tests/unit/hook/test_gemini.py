"""Gemini CLI: its first prompt of a fresh context carries the memory, once."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pannier_hook.clients import CLIENTS
from pannier_hook.framing import escape_angles
from pannier_hook.marks import Marks
from pannier_hook.unframing import read_back

from .conftest import Answer, World


def prompt(world: World, session: str = "s-1", text: str = "Hello") -> Answer:
    told: dict[str, object] = {
        "session_id": session,
        "hook_event_name": "BeforeAgent",
        "timestamp": "2026-11-29T10:00:00Z",
        "prompt": text,
    }
    return world.run("user-prompt", "--client", "gemini", stdin=told)


@pytest.mark.parametrize("source", ["startup", "clear"])
def test_first_prompt_carries_memory_once(world: World, source: str) -> None:
    """A session start prints nothing; the first prompt gets the memory, the second nothing."""
    assert world.start("gemini", source).out == b""
    first = prompt(world)
    assert read_back(first.context).complete
    assert json.loads(first.out)["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    second = prompt(world)
    assert (second.status, second.out, second.errors) == (0, b"", [])


def test_resumed_session_gets_nothing(world: World) -> None:
    """After a resume the prompt carries nothing."""
    world.start("gemini", "resume")
    assert prompt(world).out == b""


def test_sessions_are_told_apart(world: World) -> None:
    """The mark of one session counts for no other."""
    world.start("gemini")
    assert prompt(world, "s-2").out == b""
    assert prompt(world, "s-1").out


def test_huge_prompt_still_gets_memory(world: World) -> None:
    """A prompt that is longer than what the hook reads does not cost the memory."""
    world.start("gemini")
    assert read_back(prompt(world, text="x" * (2 << 20)).context).complete


def test_two_prompts_at_once_inject_once(world: World) -> None:
    """Of prompts that come at once, one carries the memory."""
    world.start("gemini")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: prompt(world), range(8)))
    assert sum(bool(answer.out) for answer in answers) == 1


def test_angle_brackets_as_gemini_shows_them(world: World) -> None:
    """Escaped as Gemini escapes, the block is read back whole and says what the signs mean."""
    world.write("memory/index.md", "if a < b and b > c: &lt;really&gt;\n")
    world.start("gemini")
    text = prompt(world).context
    arrived = read_back(escape_angles(text))
    assert arrived.complete
    assert arrived.files[0].text == "if a &lt; b and b &gt; c: &lt;really&gt;\n"
    assert "stand for angle brackets" in text
    framing = text.replace(read_back(text).files[0].text, "")
    assert not set("<>") & set(framing)


def test_other_clients_get_nothing_with_a_prompt(world: World) -> None:
    """The prompt event of a client whose session start injects prints nothing."""
    for client in set(CLIENTS) - {"gemini"}:
        assert world.run("user-prompt", "--client", client, stdin={"session_id": "s"}).out == b""


def test_mark_lies_in_the_state_folder(world: World) -> None:
    """A mark is one empty file in the client's state, and is gone when it was taken."""
    world.start("gemini")
    (mark,) = (world.home / ".gemini" / "pannier").iterdir()
    assert mark.stat().st_size == 0
    prompt(world)
    assert not mark.exists()


HOSTILE = ["../../../etc/passwd", "a/b", "x" * 5_000, "\0", "\ud800", "é\n"]


@pytest.mark.parametrize("session", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_hostile_session_ids(tmp_path: Path, session: str) -> None:
    """A session id is never a path."""
    marks = Marks(str(tmp_path), ".gemini", str(tmp_path / "nowhere"))
    marks.leave(session)
    assert len(list((tmp_path / ".gemini" / "pannier").iterdir())) == 1
    assert marks.take(session)
    assert not marks.take(session)


def test_falls_back_when_home_cannot_be_written(tmp_path: Path) -> None:
    """Without a usable HOME the mark lies in a folder of one's own below the fallback."""
    (tmp_path / "tmp").mkdir()
    home = tmp_path / "home"
    home.write_text("a file in the place of a home")
    marks = Marks(str(home), ".gemini", str(tmp_path / "tmp"))
    marks.leave("s")
    folder = tmp_path / "tmp" / f"pannier-{os.geteuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert marks.take("s")


def test_fallback_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    """A link or a folder that others can write is not trusted in the shared folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    name = f"pannier-{os.geteuid()}"
    marks = Marks("", ".gemini", str(tmp_path))
    (tmp_path / name).symlink_to(elsewhere)
    with pytest.raises(OSError, match="no folder"):
        marks.leave("s")
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    (tmp_path / name).chmod(0o777)
    with pytest.raises(OSError, match="no folder"):
        marks.leave("s")
    assert list(elsewhere.iterdir()) == []
