"""The command `agent`: one turn with a prompt, or a conversation in a terminal."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from agent.conversation import Conversation, NoModel, shown
from agent.sessions import Sessions
from pannier_agents import ThreadError, checkpoints, open_checkpointer
from pannier_agents.group import Group
from pannier_hook.options import environment

_ABOUT = "An agent in Python with a memory. Without a prompt it reads one a line."
_HELP = """\
/clear           begin a new context; what was said stays in the store
/compact         let a summary stand for the older part of the context
/checkpoints     where this conversation can go back to, the latest first
/rollback ID     go on from that checkpoint, or from that message
/exit            end; so does the end of the input"""


def main(words: Sequence[str]) -> int:
    """Run it; the exit status."""
    parser = _parser()
    given = parser.parse_args(words)
    if given.compact and given.prompt:
        parser.error("--compact takes no prompt")
    environ = environment()
    if given.thread:
        environ["PANNIER_THREAD"] = given.thread
    group = Group(environ)
    sessions = Sessions(Path.home(), group.options("").thread)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            saver = runner.run(stack.enter_async_context(open_checkpointer()))
            session = given.session or ("" if given.new else sessions.current())
            if given.session:
                runner.run(checkpoints(saver, session))  # One that is not there is an error.
                sessions.go_on(session)
            talk = Conversation(group, sessions, saver, session)
            if given.compact:
                return _compact(runner, talk)
            if given.prompt:
                return _turn(runner, talk, " ".join(given.prompt))
            return _loop(runner, talk)
        except (NoModel, ThreadError, ImportError, ValueError, OSError) as problem:
            return _failed(problem)
        finally:
            runner.run(stack.aclose())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("agent", description=_ABOUT, epilog=_HELP)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--thread", default="", help="a thread of the group by its name")
    parser.add_argument("--new", action="store_true", help="begin a new session of the thread")
    parser.add_argument("--session", default="", help="go on with the session of this id")
    parser.add_argument("--compact", action="store_true", help="as /compact, and end")
    parser.add_argument("prompt", nargs="*", help="do this, and end")
    return parser


def _loop(runner: asyncio.Runner, talk: Conversation) -> int:
    """Until the end of the input. A turn that fails does not end it; Ctrl-C ends a turn."""
    asks = "> " if sys.stdin.isatty() else ""
    status = 0
    while True:
        try:
            text = input(asks).strip()
        except (EOFError, KeyboardInterrupt):
            break
        if text == "/exit":
            break
        if text:
            status = _command(runner, talk, text) if text[0] == "/" else _turn(runner, talk, text)
    talk.end("exit")
    return status


def _command(runner: asyncio.Runner, talk: Conversation, text: str) -> int:
    name, _, rest = text.partition(" ")
    try:
        if name == "/clear":
            talk.clear()
            print("a new context begins")
        elif name == "/compact":
            return _compact(runner, talk)
        elif name == "/checkpoints":
            for row in runner.run(talk.checkpoints()):
                print(row.id, row.at[:19], row.last, sep="  ")
        elif name == "/rollback" and rest:
            runner.run(talk.rollback(rest.strip()))
            print("the conversation goes on from there")
        else:
            print(_HELP)
    except ThreadError as problem:
        return _failed(problem)
    return 0


def _turn(runner: asyncio.Runner, talk: Conversation, prompt: str) -> int:
    try:
        runner.run(_say(talk, prompt))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except Exception as problem:
        return _failed(problem)
    return 0


def _compact(runner: asyncio.Runner, talk: Conversation) -> int:
    if runner.run(talk.compact()):
        print("a summary stands for what was said before")
    else:
        print("nothing was compacted")
    return 0


async def _say(talk: Conversation, prompt: str) -> None:
    async for message in talk.turn(prompt):
        if text := shown(message):
            print(text, flush=True)


def _failed(problem: Exception) -> int:
    words = str(problem) or type(problem).__name__
    print(f"agent: {words.splitlines()[0]}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
