"""A transcript that lacks the last answer when the stop is told."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from pannier_hook import events, lag
from pannier_hook.clients import CLIENTS
from pannier_hook.options import Options
from pannier_hook.request import Request
from pannier_hook.telling import tell

ASKED = '{"type":"user","message":{"role":"user","content":"say done"}}\n'


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    file = tmp_path / ".claude/projects/-w/s-1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(ASKED)
    return file


def answer(text: str) -> str:
    said = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    record = {"type": "assistant", "message": said}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def stop(home: Path, transcript: Path, last: str) -> str:
    """What is handed over."""
    options = Options({"HOME": str(home), "PANNIER_SPOOL": str(home / "spool")})
    options.event, options.client = "stop", "claude"
    (home / "spool").mkdir(exist_ok=True)
    told: dict[str, object] = {
        "session_id": "s-1",
        "transcript_path": str(transcript),
        "last_assistant_message": last,
    }
    tell(options, CLIENTS["claude"], Request(told), time.monotonic() + 60)
    [file] = (home / "spool" / "new").iterdir()
    return events.decode(file.read_bytes()).body.decode()


@pytest.mark.parametrize("text", ["done", 'He said "ja" \\ und ging.\n\nÜber den Fluß – 🙂'])
def test_an_answer_that_comes_late(
    text: str, tmp_path: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for, and handed over with the stop."""
    monkeypatch.setattr(lag, "PATIENCE", 30)

    def write() -> None:
        with transcript.open("a") as log:
            log.write(answer(text))

    writer = threading.Timer(0.1, write)
    writer.start()
    assert stop(tmp_path, transcript, text) == ASKED + answer(text)
    writer.join()


def test_an_answer_that_is_there(
    tmp_path: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then nothing is waited for."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits"))
    transcript.write_text(ASKED + answer("done"))
    assert stop(tmp_path, transcript, "done") == ASKED + answer("done")


def test_an_answer_that_does_not_come(tmp_path: Path, transcript: Path) -> None:
    """It is waited for a moment only; what is there is handed over."""
    began = time.monotonic()
    assert stop(tmp_path, transcript, "done") == ASKED
    assert time.monotonic() - began < 5
