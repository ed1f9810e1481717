"""What the hook says of a tool's result: a small one, and 50 MB of output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

OUTPUT = 50_000_000
"""Bytes that a command printed."""
_LINE = "2026-11-29T20:15:00Z worker-3 \tGET /größe/{number} \"200\" 'ok'\n"
_PEAK = (
    "import resource, subprocess, sys\n"
    "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


def told(output: str) -> str:
    """What Claude Code says when a command printed `output`."""
    response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    members = {"session_id": "bench", "hook_event_name": "PostToolUse", "tool_name": "Bash"}
    said = {**members, "tool_input": {"command": "make"}, "tool_response": response}
    return json.dumps(said, ensure_ascii=False)


def large_output() -> str:
    """50 MB of lines."""
    line = _LINE.format(number="0001")
    return line * (OUTPUT // len(line.encode()))


def peak(hook: str, root: Path, stdin: str) -> int:
    """The most that the hook had resident, in bytes. Raises RuntimeError where no file holds what
    it was told."""
    (root / "files").mkdir(parents=True)
    env = {"PANNIER_ROOT": str(root), "PANNIER_SPOOL": str(root / "spool")}
    # Of a process whose only child is the hook.
    words = [sys.executable, "-IS", "-c", _PEAK, hook, "post-tool", "--client", "claude"]
    done = subprocess.run(words, input=stdin.encode(), capture_output=True, check=True, env=env)
    kept = [path.stat().st_size for path in root.glob("files/.pannier/spill/main/*.txt")]
    if kept != [len(json.loads(stdin)["tool_response"]["stdout"].encode())]:
        raise RuntimeError(f"the hook kept {kept} bytes: {done.stderr.decode()}")
    return int(done.stdout) * 1024
