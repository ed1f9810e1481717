"""Codex: a sub-agent's transcript is a file of its own."""

from __future__ import annotations

import time
from pathlib import Path

from pannier_hook import events
from pannier_hook.clients import CLIENTS
from pannier_hook.options import Options
from pannier_hook.request import Request
from pannier_hook.telling import tell

from .conftest import World


def _stop(folder: Path, **told: object) -> list[events.Event]:
    options = Options({"HOME": str(folder), "PANNIER_SPOOL": str(folder / "spool")})
    options.event, options.client = "stop", "codex"
    tell(options, CLIENTS["codex"], Request(dict(told)), time.monotonic() + 60)
    found = [events.decode(file.read_bytes()) for file in sorted(folder.glob("spool/new/*"))]
    for file in folder.glob("spool/new/*"):
        file.unlink()
    return found


def test_a_sub_agents_stop_hands_over_its_own_transcript(tmp_path: Path) -> None:
    """Its records come with its id, in the session's name; the session's own come with its stop."""
    (tmp_path / "spool").mkdir()
    own, inner = tmp_path / "rollout-s.jsonl", tmp_path / "rollout-a.jsonl"
    own.write_text('{"own":1}\n')
    inner.write_text('{"inner":1}\n')
    told = {"session_id": "s", "transcript_path": str(own)}
    [event] = _stop(tmp_path, **told, agent_id="a", agent_transcript_path=str(inner))
    assert (event.kind, event.session, event.agent) == ("stop", "s", "a")
    assert event.body == b'{"inner":1}\n'
    [event] = _stop(tmp_path, **told)
    assert (event.session, event.agent, event.body) == ("s", "", b'{"own":1}\n')


def _told(event: str, **more: str) -> dict[str, object]:
    return {"hook_event_name": event, "session_id": "s-1", "transcript_path": "/nowhere", **more}


def test_a_session_that_ended_after_a_compaction_gets_the_memory_on_its_resume(
    world: World,
) -> None:
    """A compaction drops the memory, and Codex tells of the new context only with the next prompt;
    in another process it tells of a resume alone. The memory comes once."""
    compacted = ("post-compact", "--client", "codex")
    assert world.start("codex", "resume").context == ""
    assert world.run(*compacted, stdin=_told("PostCompact", trigger="manual")).out == b""
    assert "Atlas" in world.start("codex", "resume").context
    assert world.start("codex", "resume").context == ""

    world.run(*compacted, stdin=_told("PostCompact", trigger="auto"))
    assert "Atlas" in world.start("codex", "compact").context
    assert world.start("codex", "resume").context == ""


def test_a_resume_and_a_compaction_that_are_told_at_one_prompt_give_the_memory_once(
    world: World,
) -> None:
    """Codex's server tells of both with the prompt that follows, in either order."""
    compacted = ("post-compact", "--client", "codex")
    for order in (("resume", "compact"), ("compact", "resume")):
        world.run(*compacted, stdin=_told("PostCompact", trigger="manual"))
        told = [world.start("codex", source).context for source in order]
        assert [bool(text) for text in told] == [True, False]
    world.run(*compacted, stdin=_told("PostCompact", trigger="manual"))
    assert world.start("codex", "resume").context
    world.run(*compacted, stdin=_told("PostCompact", trigger="auto"))
    assert world.start("codex", "compact").context


def test_another_session_s_compaction_is_none_of_its_own(world: World) -> None:
    """By the session's id."""
    told = {**_told("PostCompact"), "session_id": "s-2"}
    world.run("post-compact", "--client", "codex", stdin=told)
    assert world.start("codex", "resume").context == ""
