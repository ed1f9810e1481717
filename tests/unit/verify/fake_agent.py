"""An agent program of a few lines: it calls the real hook and speaks real HTTP.

    fake_agent.py start SOURCE PROMPT      a fresh context, one turn
    fake_agent.py resume SOURCE PROMPT     the stored context, one turn
    fake_agent.py tui                      a prompt on a terminal; `/clear` begins a fresh context
    fake_agent.py fail                     ends with status 3

`FAULT` makes it go wrong: `lost` (the last part is dropped), `cut` (the text is cut short),
`twice` (every part comes twice), `again` (memory is injected on resume as well), `stale` (the old
context is kept on clear), `changed` (one character differs), `title` (a request of another kind
comes first), `aside` (a session of its own comes first).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

FAULT = os.environ.get("FAULT", "")
HISTORY = Path(os.environ["HOME"], "history.json")
PARTS = 8


def injection(source: str, fault: str = FAULT) -> list[str]:
    asked = json.dumps({"session_id": "s", "hook_event_name": "SessionStart", "source": source})
    texts = []
    for part in range(1, PARTS + 1):
        argv = [*os.environ["HOOK"].split(), "session-start", "--client", "claude"]
        answer = subprocess.run(
            [*argv, "--part", f"{part}/{PARTS}"], input=asked, capture_output=True, text=True
        ).stdout
        if answer:
            texts.append(json.loads(answer)["hookSpecificOutput"]["additionalContext"])
    if fault == "lost":
        texts = texts[:-1]
    if fault == "cut":
        texts = [text[:2000] for text in texts]
    if fault == "changed":
        texts = [text.replace("fact 😀", "fake 😀", 1) for text in texts]
    return [*texts, *injection(source, "")] if fault == "twice" else texts


def ask(messages: list[dict[str, str]], tools: bool = True) -> str:
    body = {"model": "m", "messages": messages, "tools": [{"name": "Write"}] if tools else []}
    request = urllib.request.Request(
        os.environ["URL"] + "/v1/messages",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(json.load(answer)["content"][0].get("text"))


def turn(source: str, prompt: str, old: list[dict[str, str]]) -> str:
    fresh = source != "resume" or FAULT == "again"
    injected = injection("startup" if FAULT == "again" else source) if fresh else []
    messages = [
        *old,
        {"role": "user", "content": prompt},
        *({"role": "system", "content": text} for text in injected),
    ]
    if FAULT == "title":
        ask([*messages[:1], {"role": "user", "content": "title for: " + injected[0]}], tools=False)
    if FAULT == "aside":
        ask(
            [
                {"role": "system", "content": injection("startup")[0]},
                {"role": "user", "content": "x"},
            ]
        )
    said = ask(messages)
    HISTORY.write_text(json.dumps([*messages, {"role": "assistant", "content": said}]))
    return said


def history() -> list[dict[str, str]]:
    stored: list[dict[str, str]] = json.loads(HISTORY.read_text())
    return stored


def tui() -> None:
    source, old = "startup", []
    print("\x1b[2J\x1b[H\x1b[?25l> ", end="", flush=True)
    while line := sys.stdin.readline().strip():
        if line == "/clear":
            source, old = "clear", (history() if FAULT == "stale" else [])
            print("cleared\n> ", end="", flush=True)
            continue
        print(f"said {turn(source, line, old)}\n> ", end="", flush=True)
        source, old = "resume", history()


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "start":
        print(turn(*rest, old=[]))
    elif command == "resume":
        print(turn(*rest, old=history()))
    elif command == "tui":
        tui()
    else:
        print("no idea", file=sys.stderr)
        sys.exit(3)


main()
