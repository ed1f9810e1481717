"""What a turn's end costs: the hook at a stop, with what is new in the session's transcript."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

NEW = 20
"""Records of one turn."""
_TEXT = "Ada said that the ferry leaves at 07:40, on weekdays only. "


@dataclass(frozen=True)
class Stop:
    """A stop of Claude Code, with so many new records each time."""

    hook: str
    folder: Path
    environ: tuple[tuple[str, str], ...] = ()

    @property
    def transcript(self) -> Path:
        return self.folder / "s-1.jsonl"

    def seconds(self) -> float:
        """Let the session say something, and time the hook that hands it over."""
        with self.transcript.open("a") as log:
            log.writelines(map(record, range(NEW)))
        begin = time.perf_counter()
        done = self.call()
        taken = time.perf_counter() - begin
        if done.returncode or done.stderr:
            sys.exit(f"bench: the hook said: {done.stderr}")
        return taken

    def call(self) -> subprocess.CompletedProcess[str]:
        told = {
            "session_id": "s-1",
            "transcript_path": str(self.transcript),
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": _TEXT,
        }
        words = [self.hook, "stop", "--client", "claude", "--spool", str(self.folder / "spool")]
        env = {"HOME": str(self.folder), **dict(self.environ)}
        return subprocess.run(
            words, input=json.dumps(told), env=env, capture_output=True, text=True
        )


def session(hook: str, folder: Path, *, records: int) -> Stop:
    """A session with a transcript of so many records, all of them handed over already."""
    (folder / "spool").mkdir(parents=True)
    made = Stop(hook, folder)
    with made.transcript.open("w") as log:
        log.writelines(map(record, range(records)))
    while True:
        made.call()
        newest = max((folder / "spool" / "new").iterdir())
        with newest.open() as file:
            more = json.loads(file.readline()).get("log", {}).get("more", False)
        if not more:
            return made


def record(number: int) -> str:
    """A line of a transcript, about as long as those of a real one."""
    content = [{"type": "text", "text": _TEXT * 6}]
    value = {
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "type": "assistant",
        "message": {"role": "assistant", "content": content},
    }
    return json.dumps(value) + "\n"
