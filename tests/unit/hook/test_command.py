"""A command of the agent's beneath the hook: what it prints is passed on, or kept in a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from pannier.clients.codex import CLIENT as CODEX
from pannier.clients.codex import COMMAND
from pannier_hook import command as module
from pannier_hook.spill import spilled_in

from .conftest import HOOK, World

BASH = "/bin/bash"
LARGE = "seq 1 20000"
"""109 KB."""
PRINTED = "".join(f"{number}\n" for number in range(1, 20001)).encode()
PRINTER = "import os, sys; os.write(1, b'x' * int(sys.argv[1]))"


def start(world: World, text: str, *more: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        world.command("command", "--client", "codex", "--", BASH, "-c", text, *more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=world.environment(**environment),
    )


def run(world: World, text: str, *more: str, **environment: str) -> tuple[int, bytes, bytes]:
    running = start(world, text, *more, **environment)
    out, err = running.communicate(timeout=30)
    return running.returncode, out, err


def kept(world: World) -> list[Path]:
    return sorted((world.root / "files" / ".pannier" / "spill").glob("*/*.txt"))


@pytest.mark.parametrize(
    ("text", "status", "out"),
    [
        ("printf 'no newline'", 0, b"no newline"),
        ("echo hi; exit 3", 3, b"hi\n"),
        ("echo one; echo two >&2; echo three", 0, b"one\ntwo\nthree\n"),
        ("no-such-command-here", 127, None),
        ("cat; echo end", 0, b"end\n"),
        ('echo "', 2, None),
        ("printf '\\377\\0'", 0, b"\xff\0"),
        ("true", 0, b""),
    ],
)
def test_a_command_runs_as_it_would(
    world: World, text: str, status: int, out: bytes | None
) -> None:
    """Status and output are its own, byte for byte, and so is an error of the shell's."""
    found = run(world, text)
    if out is None:
        plain = subprocess.run([BASH, "-c", text], capture_output=True, stdin=subprocess.DEVNULL)
        out = plain.stderr
    assert found == (status, out, b"")
    assert kept(world) == []


def test_its_words_and_its_environment_are_its_own(world: World) -> None:
    """What stands behind its text reaches it; ignored signals do not."""
    status, out, _ = run(world, 'echo "$0 $1" "$MARK"; yes | head -n 1', "me", "too", MARK="a b")
    assert (status, out) == (0, b"me too a b\ny\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_signal_that_ended_it_is_told(world: World, number: signal.Signals) -> None:
    """Whoever waits for the command sees what became of it."""
    assert run(world, f"kill -{number.value} $$")[0] == -number


def test_a_signal_reaches_it(world: World) -> None:
    """Who ends the hook means the command: it may still say something."""
    running = start(
        world, "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep .05; done"
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"ready\n"
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=10)
    assert (running.returncode, out) == (7, b"caught\n")


def test_a_long_output_is_kept_whole(world: World) -> None:
    """The file has every byte; printed are its ends, with its path; the status stays."""
    status, out, err = run(world, f"{LARGE}; exit 4")
    [file] = kept(world)
    assert (status, err) == (4, b"")
    assert file.read_bytes() == PRINTED
    assert spilled_in(out.decode()) == (str(file), len(PRINTED))
    assert len(out) < 4_000
    assert out.endswith(b"19999\n20000\n")


def test_what_the_client_would_cut_is_kept(world: World) -> None:
    """Codex shows 40,000 bytes, whatever the threshold is; a lower threshold holds."""
    most = module.SHOWN
    argv = [sys.executable, "-c", PRINTER]
    assert _printed(world, [*argv, str(most)]) == b"x" * most
    assert spilled_in(_printed(world, [*argv, str(most + 1)]).decode()) is not None
    settings = '{"spill_buffer":{"thresholds":{"Bash":5000}}}'
    low = _printed(world, [*argv, "5001"], PANNIER_CONTEXT=settings)
    assert spilled_in(low.decode()) is not None


def test_switched_off_it_only_runs(world: World) -> None:
    """And so it does when the settings are not understood, which the sidecar is told."""
    off = '{"spill_buffer":{"enabled":false}}'
    assert run(world, LARGE, PANNIER_CONTEXT=off) == (0, PRINTED, b"")
    assert world.errors() == []
    assert run(world, LARGE, PANNIER_CONTEXT="[") == (0, PRINTED, b"")
    assert len(world.errors()) == 1
    assert kept(world) == []


def test_output_is_passed_on_while_it_runs(world: World) -> None:
    """Somebody may be waiting for a line: after a second it comes, whatever is still to come."""
    running = start(world, f"echo now; read -r _ <{world.home}/fifo; {LARGE}")
    os.mkfifo(world.home / "fifo")
    assert running.stdout is not None
    assert running.stdout.readline() == b"now\n"
    (world.home / "fifo").write_text("go\n")
    out, _ = running.communicate(timeout=20)
    [file] = kept(world)
    assert file.read_bytes() == b"now\n" + PRINTED
    assert spilled_in(out.decode()) == (str(file), len(PRINTED) + 4)


IMPATIENT = """
import sys
from pannier_hook import command as module
from pannier_hook.options import Options, environment
module.QUIET = 0.5
sys.exit(module.command(Options(environment()), sys.argv[1:]))
"""


def test_what_goes_on_and_on_is_passed_on(world: World) -> None:
    """A server that has printed much is still heard, and at its end all of it is in the file."""
    os.mkfifo(world.home / "fifo")
    script = f"{LARGE}; read -r _ <{world.home}/fifo; echo served; {LARGE}"
    words = world.command("command", "--client", "codex", "--", BASH, "-c", script)
    running = subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, *words[words.index(str(HOOK)) + 1 :]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=world.environment(PYTHONPATH=str(HOOK.parents[1])),
    )
    assert running.stdout is not None
    seen = b""
    while b"The command goes on" not in seen:
        seen += running.stdout.readline()
    assert seen.startswith(PRINTED[:500])
    assert len(seen) < 3_000
    (world.home / "fifo").write_text("go\n")
    assert running.stdout.readline() == b"served\n"
    rest = running.stdout.read()
    assert running.wait(20) == 0
    [file] = kept(world)
    whole = PRINTED + b"served\n" + PRINTED
    assert file.read_bytes() == whole
    assert rest.startswith(PRINTED)
    assert spilled_in(rest.decode()) == (str(file), len(whole))


def test_processes_that_it_left_are_not_waited_for(world: World) -> None:
    """A server in the background keeps nobody waiting, whether it prints or not."""
    began = time.monotonic()
    status, out, _ = run(world, "sleep 20 & echo started")
    assert (status, out) == (0, b"started\n")
    status, _, _ = run(world, "(while sleep .05; do echo still; done) & echo started")
    assert status == 0
    assert time.monotonic() - began < 10


def test_reading_back_makes_no_other_file(world: World) -> None:
    """Of a kept result any part can be read; for all of it the same file stands."""
    run(world, LARGE)
    [file] = kept(world)
    assert run(world, f"sed -n 5,7p {file}")[1] == b"5\n6\n7\n"
    out = run(world, f"cat {file}")[1]
    assert spilled_in(out.decode()) == (str(file), len(PRINTED))
    assert len(out) < 4_000
    assert kept(world) == [file]
    run(world, f"echo; cat {file}")
    [other] = {*kept(world)} - {file}
    assert other.read_bytes() == b"\n" + PRINTED


def test_what_cannot_be_kept_is_passed_on(world: World) -> None:
    """The agent gets all of it, and the sidecar is told why."""
    (world.root / "files").rmdir()
    (world.root / "files").write_text("not a folder")
    assert run(world, LARGE) == (0, PRINTED, b"")
    assert len(world.errors()) == 1


def test_nobody_listens(world: World) -> None:
    """A reader that goes ends the command as it would without the hook, and nothing hangs."""
    running = start(world, "yes")
    assert running.stdout is not None
    running.stdout.close()
    try:
        assert running.wait(timeout=20) == -signal.SIGPIPE
    finally:
        running.kill()
    assert kept(world) == []


def test_fifty_megabytes_take_little_memory(world: World) -> None:
    """The output goes by; the hook holds no more than what is shown."""
    text = "seq 1 6400000"
    peak = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=-3);"
    peak += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    argv = [sys.executable, "-c", peak, *world.command("command", "--", BASH, "-c", text)]
    done = subprocess.run(argv, capture_output=True, env=world.environment(), check=True)
    assert int(done.stdout) < 40_000
    assert kept(world)[0].stat().st_size > 50_000_000


def test_a_broken_hook_runs_the_command(tmp_path: Path) -> None:
    """Whatever is broken, an agent runs."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pannier-hook").write_bytes(HOOK.read_bytes())
    (tmp_path / "pannier_hook").mkdir()
    program = [sys.executable, "-IS", str(tmp_path / "bin" / "pannier-hook")]
    done = subprocess.run(
        [*program, "command", "--", BASH, "-c"],
        capture_output=True,
        env={"PANNIER_GATE": "1", "PANNIER_COMMAND": "echo ran ${PANNIER_COMMAND-}; exit 5"},
    )
    assert (done.returncode, done.stdout) == (5, b"ran\n")


def test_the_text_of_a_command_names_no_process(world: World) -> None:
    """Who looks for a server by its words finds the server, not the hook."""
    text = 'cat /proc/$PPID/cmdline; echo; echo "é$0$1"'
    argv = world.command("command", "--client", "codex", "--", BASH, "-c", "me", "too")
    environment = world.environment(PANNIER_COMMAND=text.replace("é", "\udcff"))
    done = subprocess.run(argv, capture_output=True, env=environment, check=True)
    words, said = done.stdout.splitlines()
    assert words == b"".join(word.encode() + b"\0" for word in argv)
    assert said == b"\xffmetoo"


def _printed(world: World, argv: Sequence[str], **environment: str) -> bytes:
    return subprocess.run(
        world.command("command", "--client", "codex", "--", *argv),
        capture_output=True,
        env=world.environment(**environment),
        check=True,
    ).stdout


# ------------------------------------------------------------------- how Codex's commands get there


@pytest.fixture
def bash(world: World, tmp_path: Path) -> dict[str, str]:
    """The environment of Codex's commands; the hook that they call tells its words."""
    hook = tmp_path / "hook"
    hook.write_text('#!/bin/sh\nprintf \'<%s>\' "$@" "$PANNIER_COMMAND"\n')
    hook.chmod(0o755)
    text = CODEX.baked[COMMAND]
    assert isinstance(text, str)
    file = tmp_path / "command.bash"
    file.write_text(text.replace("/usr/local/bin/pannier-hook", str(hook)))
    return world.environment(BASH_ENV=str(file), CODEX_TOOL_CALL_ID="exec-1")


def _codex(environment: dict[str, str], *argv: str) -> str:
    return subprocess.run([BASH, *argv], capture_output=True, text=True, env=environment).stdout


def test_commands_of_codex_run_beneath_the_hook(bash: dict[str, str]) -> None:
    """With the same shell, the same text and the same words."""
    before = "<command><--client><codex><-->"
    assert _codex(bash, "-c", "echo 'a  b'") == f"{before}<{BASH}><-c><{BASH}><echo 'a  b'>"
    assert _codex(bash, "-c", "echo", "me", "1 2") == f"{before}<{BASH}><-c><me><1 2><echo>"


@pytest.mark.parametrize(
    "change",
    [
        {"CODEX_TOOL_CALL_ID": ""},
        {"PANNIER_CONTEXT": '{"pruning":{"protect_recent":1},"spill_buffer":{"enabled":false}}'},
    ],
)
def test_others_do_not(bash: dict[str, str], change: dict[str, str]) -> None:
    """What is no command of an agent's, and any where it is switched off."""
    assert _codex({**bash, **change}, "-c", "echo plain ${BASH_ENV-unset}") == "plain unset\n"


def test_without_a_hook_commands_run(bash: dict[str, str], tmp_path: Path) -> None:
    """Whatever is missing, an agent runs."""
    (tmp_path / "hook").unlink()
    assert _codex(bash, "-c", "echo plain") == "plain\n"
