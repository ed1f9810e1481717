"""Programs that are driven: to their end, in a terminal, by lines. Everything is bounded."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest

from pannier.errors import VerifyError
from pannier.verify import inside
from pannier.verify.programs import DialogueProgram, RunProgram, TerminalProgram

from .conftest import LocalProcesses


@pytest.fixture
def processes() -> LocalProcesses:
    return LocalProcesses({})


def _gone(job: str) -> bool:
    return not inside._members(f"{inside.JOB}={job}".encode())


def _eventually(is_true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_true()


def test_run(processes: LocalProcesses) -> None:
    """A program gets its input, and gives its output."""
    program = RunProgram(processes, ("cat",), "job")
    assert program.finish("é" * 300_000, 10).stdout == "é" * 300_000
    program.close()


def test_run_fails(processes: LocalProcesses) -> None:
    """Another status than 0 is an error that shows the end of the output."""
    program = RunProgram(processes, ("sh", "-c", "echo broken; exit 3"), "job")
    with pytest.raises(VerifyError, match="status 3") as raised:
        program.finish("", 10)
    assert raised.value.hint == "broken"
    program.close()


def test_run_takes_too_long(processes: LocalProcesses) -> None:
    """A program that takes too long is given up, and ended with its children."""
    program = RunProgram(processes, ("sh", "-c", "sleep 600 & sleep 600"), "slow")
    with pytest.raises(VerifyError, match=r"did not end within 0\.1 s"):
        program.finish("", 0.1)
    program.close()
    assert _gone("slow")


def test_run_with_a_child_that_stays(processes: LocalProcesses) -> None:
    """A child that holds the output open does not keep the end from being seen."""
    program = RunProgram(processes, ("sh", "-c", "sleep 600 & echo done"), "stays")
    assert program.finish("", 10).stdout == "done\n"
    program.close()
    assert _gone("stays")


def test_child_that_does_not_hang_up(processes: LocalProcesses) -> None:
    """A process that ignores the hang-up is killed."""
    program = RunProgram(processes, ("sh", "-c", "trap '' HUP; echo on; sleep 600"), "deaf")
    with pytest.raises(VerifyError):
        program.finish("", 0.1)
    program.close()
    assert _gone("deaf")


def test_terminal(processes: LocalProcesses) -> None:
    """A terminal shows what a person would see, answers queries, and takes keys."""
    script = (
        "import sys, tty; tty.setcbreak(0);"
        "sys.stdout.write('\\x1b[2J\\x1b[5;7H\\x1b[6n\\x1b[c'); sys.stdout.flush();"
        "got = sys.stdin.read(11);"
        "print(ascii(got)); print('key', sys.stdin.read(1)); sys.stdin.read()"
    )
    terminal = TerminalProgram(processes, (sys.executable, "-c", script), "tty")
    terminal.wait_for(r"\x1b[5;7R\x1b[?6c")
    terminal.send("k")
    terminal.wait_for("key k")
    with pytest.raises(VerifyError, match="never there") as raised:
        terminal.wait_for("never there", seconds=0.1)
    assert "key k" in raised.value.hint
    terminal.close()
    assert _gone("tty")


def test_terminal_that_ends(processes: LocalProcesses) -> None:
    """Waiting for a program that has ended is an error at once."""
    terminal = TerminalProgram(processes, ("sh", "-c", "echo bye"), "tty")
    with pytest.raises(VerifyError, match="ended before") as raised:
        terminal.wait_for("hello", seconds=60)
    assert "bye" in raised.value.hint
    terminal.close()


def test_dialogue(processes: LocalProcesses) -> None:
    """A dialogue gives the next line that holds a text, and ends with its input."""
    dialogue = DialogueProgram(processes, ("cat",), "lines")
    for line in ("one", "two", "another one"):
        dialogue.send(line)
    assert dialogue.wait_for("one") == "one"
    assert dialogue.wait_for("one") == "another one"
    with pytest.raises(VerifyError) as raised:
        dialogue.wait_for("two", seconds=0.1)
    assert "two" in raised.value.hint
    dialogue.close()
    assert _gone("lines")
