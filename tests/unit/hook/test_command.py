"""A command of the agent's with a reader at its output: nothing of it changes, and what is long is
kept in a file, of which the hook tells the model."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pannier.clients import codex as codex_client
from pannier.clients import opencode as opencode_client
from pannier_hook import command as module
from pannier_hook.clients import CLIENTS
from pannier_hook.spill import spilled_in

from .conftest import HOOK, Answer, World

BASH = "/bin/bash"
CALL = "exec-1"
BEGUN = "sleep 60 & until [[ $(</proc/$!/comm) == sleep ]]; do :; done;"
"""A child that is there: one that has only just been forked may lose a signal, whoever sends it."""
WAITS = "{ until [ -e go ]; do :; done; }"
LARGE = "seq 1 20000"
"""109 KB."""
PRINTED = "".join(f"{number}\n" for number in range(1, 20001)).encode()


def start(world: World, text: str, *program: str, **environment: str) -> subprocess.Popen[bytes]:
    """A command whose shell asks for the reader, by `program` if that is given."""
    words = world.command("command", "--client", "codex")
    words = [*(program or words[:3]), *words[3:]]
    asks = f'$({shlex.join(words)} $$ "$CODEX_TOOL_CALL_ID" 2>/dev/null)'
    asks = f'{{ pipe={asks}; }} 9>&1; [ ! "$pipe" ] || exec >$pipe'
    return subprocess.Popen(
        [BASH, "-c", f"{asks} 2>&1; {text}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=world.environment(**{"CODEX_TOOL_CALL_ID": CALL, **environment}),
    )


def run(world: World, text: str, **environment: str) -> tuple[int, bytes, bytes]:
    running = start(world, text, **environment)
    out, err = running.communicate(timeout=30)
    return running.returncode, out, err


def kept(world: World) -> list[Path]:
    return sorted((world.root / "files" / ".pannier" / "spill").glob("*/*"))


def notes(world: World) -> list[Path]:
    return list((world.root / "files" / ".pannier" / "calls").glob("*"))


def told(world: World, call: str = CALL, response: str = "ok", **environment: str) -> Answer:
    """What the hook answers when Codex tells of the call, of which it gives only a part."""
    said: dict[str, object] = {"hook_event_name": "PostToolUse", "tool_name": "Bash"}
    said |= {"tool_use_id": call, "tool_input": {"command": LARGE}, "tool_response": response}
    return world.run("post-tool", "--client", "codex", stdin=said, **environment)


# ------------------------------------------------------------------------- what the model is told


def test_a_script_gets_its_output_and_its_model_the_path(world: World) -> None:
    """Printed is every byte; the file has it as well, and a few words beside say where it is."""
    assert run(world, f"{LARGE}; exit 4") == (4, PRINTED, b"")
    [file] = kept(world)
    assert file.read_bytes() == PRINTED
    text = told(world).context
    assert spilled_in(text) == (str(file), len(PRINTED))
    assert f"\nWhat gave it begins so: {LARGE}\n" in text
    assert len(text.replace(str(file), "")) < 500
    assert notes(world) == []
    assert told(world).out == b""


def test_a_result_that_goes_to_the_model_is_replaced(world: World) -> None:
    """Where no script computes with it, the model gets the ends and the path instead."""
    run(world, LARGE, CODEX_TOOL_CALL_ID="call_1")
    [file] = kept(world)
    said = json.loads(told(world, "call_1", "1\n2\n").out)
    assert said["decision"] == "block"
    assert said["reason"].startswith("This is no error")
    assert spilled_in(said["reason"]) == (str(file), len(PRINTED))
    assert "\n1\n2\n3\n" in said["reason"]
    assert said["reason"].endswith("19999\n20000\n")


def test_what_is_short_stays(world: World) -> None:
    """Up to what Codex shows its model nothing is kept or told; a lower threshold holds."""
    shows = CLIENTS["codex"].shows
    text = f"{sys.executable} -c 'import os; os.write(1, b\"x\" * {shows})'"
    assert run(world, text) == (0, b"x" * shows, b"")
    assert (kept(world), told(world).out) == ([], b"")
    run(world, f"{text}; echo")
    assert len(kept(world)) == 1
    low = {"PANNIER_CONTEXT": '{"spill_buffer":{"thresholds":{"Bash":5000}}}'}
    run(world, "seq 1 2000", CODEX_TOOL_CALL_ID="exec-2", **low)
    assert spilled_in(told(world, "exec-2", **low).context) is not None


def test_a_part_that_the_client_gives_is_not_taken_for_all(world: World) -> None:
    """What Codex itself cut is not kept as if it were the whole output."""
    assert told(world, response="x" * 200_000).out == b""
    assert kept(world) == []


def test_a_result_of_another_tool_stays_in_a_script(world: World) -> None:
    """The text of an MCP server's tool is kept; a script gets it as it is, a model its ends."""
    said: dict[str, Any] = {"tool_name": "mcp__x__y", "tool_response": "x" * 60_000}
    nested = world.run("post-tool", "--client", "codex", stdin={**said, "tool_use_id": "exec-9"})
    [file] = kept(world)
    assert spilled_in(nested.context) == (str(file), 60_000)
    direct = world.run("post-tool", "--client", "codex", stdin={**said, "tool_use_id": "call_9"})
    assert json.loads(direct.out)["decision"] == "block"


def test_more_than_is_held_in_memory(world: World) -> None:
    """Of several megabytes, too, all is passed on and kept."""
    status, out, _ = run(world, "seq 1 600000")
    [file] = kept(world)
    assert (status, file.read_bytes()) == (0, out)
    assert len(out) > 3 * module.HELD
    assert spilled_in(told(world).context) == (str(file), len(out))


BOUNDED = """
import sys
from pannier_hook import command as module
from pannier_hook.options import Options, environment
module.MOST = 50_000
sys.exit(module.command(Options(environment()), sys.argv[1:]))
"""


def test_more_than_is_ever_kept(world: World) -> None:
    """The file is bounded, the output is not, and the model is told how much is missing."""
    program = (sys.executable, "-c", BOUNDED)
    out, _ = start(world, LARGE, *program, PYTHONPATH=str(HOOK.parents[1])).communicate(timeout=30)
    [file] = kept(world)
    assert (out, file.read_bytes()) == (PRINTED, PRINTED[:50_000])
    assert f"printed {len(PRINTED)} bytes; the first 50000 are kept" in told(world).context


def test_reading_back_makes_no_other_file(world: World) -> None:
    """What is read of a kept result is passed on as it is, and not kept again."""
    run(world, LARGE)
    [file] = kept(world)
    assert run(world, f"sed -n 5,7p {file}", CODEX_TOOL_CALL_ID="exec-2")[1] == b"5\n6\n7\n"
    assert run(world, f"cat {file}", CODEX_TOOL_CALL_ID="exec-3")[1] == PRINTED
    assert kept(world) == [file]


def test_switched_off_it_only_runs(world: World) -> None:
    """And so it does when the settings are not understood, which the sidecar is told."""
    off = '{"spill_buffer":{"enabled":false}}'
    assert run(world, LARGE, PANNIER_CONTEXT=off) == (0, PRINTED, b"")
    assert world.errors() == []
    assert run(world, LARGE, PANNIER_CONTEXT="[") == (0, PRINTED, b"")
    assert len(world.errors()) == 1
    assert kept(world) == []


@pytest.mark.parametrize("call", [CALL, "", "../x"])
def test_what_cannot_be_kept_is_passed_on(world: World, call: str) -> None:
    """The agent gets all of it, nobody waits for a note, and the sidecar is told why."""
    if call == CALL:
        (world.root / "files" / ".pannier").mkdir()
        (world.root / "files" / ".pannier" / "spill").write_text("not a folder")
    assert run(world, LARGE, CODEX_TOOL_CALL_ID=call) == (0, PRINTED, b"")
    assert len(world.errors()) == 1
    assert notes(world) == []
    assert told(world, call).out == b""


def test_a_note_that_is_never_written_is_not_waited_for(world: World) -> None:
    """The hook gives up soon, and the result stays as it is."""
    world.write(f"files/.pannier/calls/{CALL}", "")
    answer = told(world)
    assert answer.out == b""
    assert "takes too long" in answer.err


# ----------------------------------------------------------------------- that nothing of it changes


def test_output_is_passed_on_at_once(world: World) -> None:
    """A line is there when it is printed, also behind much that is kept; at the end all is."""
    os.mkfifo(world.home / "fifo")
    running = start(world, f"echo now; {LARGE}; echo then; read -r _ <{world.home}/fifo; {LARGE}")
    assert running.stdout is not None
    seen = b""
    while not seen.endswith(b"\nthen\n"):
        seen += running.stdout.readline()
    assert seen == b"now\n" + PRINTED + b"then\n"
    (world.home / "fifo").write_text("go\n")
    assert running.stdout.read() == PRINTED
    [file] = kept(world)
    assert file.read_bytes() == seen + PRINTED


def test_processes_that_it_left_are_not_waited_for(world: World) -> None:
    """The file is there when the command has ended, though its server goes on printing."""
    running = start(world, f"{LARGE}; (while sleep .05; do echo still; done) & echo $!")
    assert running.stdout is not None
    assert running.stdout.read(len(PRINTED)) == PRINTED
    server = int(next(line for line in running.stdout if line != b"still\n"))
    assert running.wait(timeout=20) == 0
    until = time.monotonic() + 10
    while not (answer := told(world)).out and time.monotonic() < until:
        time.sleep(0.02)
    [file] = kept(world)
    assert spilled_in(answer.context) == (str(file), file.stat().st_size)
    assert file.read_bytes().startswith(PRINTED)
    assert running.stdout.readline() == b"still\n"
    os.kill(server, signal.SIGTERM)
    running.stdout.read()


def test_nobody_listens(world: World) -> None:
    """A reader that goes ends the command as it would without the hook, and nothing hangs."""
    running = start(world, "yes")
    assert running.stdout is not None
    running.stdout.close()
    try:
        assert running.wait(timeout=20) == -signal.SIGPIPE
    finally:
        running.kill()


def test_fifty_megabytes_take_little_memory(world: World) -> None:
    """The output goes by; no more is held than a bounded part."""
    os.mkfifo(world.home / "fifo")
    running = start(world, f"seq 1 6400000; echo end; read -r _ <{world.home}/fifo")
    assert running.stdout is not None
    last = b""
    while not last.endswith(b"end\n"):
        last = running.stdout.readline()
    [reader] = [
        folder
        for folder in Path("/proc").glob("[0-9]*")
        if _text(folder / "comm") == "pannier-hook\n"
        and str(world.root) in _text(folder / "cmdline")
    ]
    [peak] = [line for line in _text(reader / "status").splitlines() if line.startswith("VmHWM")]
    assert int(peak.split()[1]) < 40_000
    (world.home / "fifo").write_text("go\n")
    running.communicate(timeout=20)
    assert kept(world)[0].stat().st_size > 50_000_000


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


# ---------------------------------------------------------------- how a client's commands get there

DRIVER = """
import json, subprocess, sys
process = subprocess.Popen(
    sys.argv[1:], stdin=-3, stdout=-1, stderr=-1, start_new_session=True
)
out, err = process.communicate(timeout=30)
print(json.dumps([process.returncode, (out + err).decode("utf-8", "surrogateescape")]))
"""
"""Starts a command as Codex does: two pipes, a session of its own."""

SOCKETS = """
import json, socket, subprocess, sys, threading
pairs = [socket.socketpair() for _ in range(2)]
process = subprocess.Popen(
    sys.argv[1:], stdin=-3, stdout=pairs[0][1], stderr=pairs[1][1], start_new_session=True
)
texts = [b"", b""]
def read(number):
    while chunk := pairs[number][0].recv(65536):
        texts[number] += chunk
readers = [threading.Thread(target=read, args=(number,)) for number in range(2)]
for (_, theirs), reader in zip(pairs, readers):
    theirs.close()
    reader.start()
process.wait(30)
for reader in readers:
    reader.join(30)
print(json.dumps([process.returncode, b"".join(texts).decode("utf-8", "surrogateescape")]))
"""
"""As OpenCode does: two pairs of sockets, a session of its own."""


class Program:
    """A client's program, and the hook that its commands find."""

    def __init__(self, world: World, folder: Path, name: str = "codex") -> None:
        self.world = world
        self.program = folder / name
        self.program.symlink_to(Path(sys.executable).resolve())
        self.hook = folder / "hook"
        words = world.command("command", "--client", name)
        self.hook.write_text(f'#!/bin/sh\nshift 3\nexec {shlex.join(words)} "$@"\n')
        self.hook.chmod(0o755)
        client = {"codex": codex_client, "opencode": opencode_client}[name]
        self._driver, self._call = {
            "codex": (DRIVER, "CODEX_TOOL_CALL_ID"),
            "opencode": (SOCKETS, "PANNIER_OUTPUT_NOTE"),
        }[name]
        text = client.CLIENT.baked[client.COMMAND]
        assert isinstance(text, str)
        self.file = folder / "command.bash"
        self.file.write_text(text.replace("/usr/local/bin/pannier-hook", str(self.hook)))

    def run(self, *argv: str, ours: bool = True, **environment: str) -> tuple[int, str]:
        """Status and output of a command, with or without us."""
        given = self.world.environment(**environment)
        if ours or self._call.startswith("CODEX"):
            given[self._call] = CALL
        done = subprocess.run(
            [str(self.program), "-IS", "-c", self._driver, *argv],
            capture_output=True,
            check=True,
            env={**given, "BASH_ENV": str(self.file)} if ours else given,
            cwd=self.world.home,
        )
        status, out = json.loads(done.stdout)
        return status, out


@pytest.fixture
def codex(world: World, tmp_path: Path) -> Program:
    return Program(world, tmp_path)


@pytest.fixture
def opencode(world: World, tmp_path: Path) -> Program:
    return Program(world, tmp_path, "opencode")


COMMANDS = pytest.mark.parametrize(
    "text",
    [
        LARGE,
        "printf 'no newline'",
        "printf '\\377\\0'",
        "echo $?",
        "echo hi; exit 3",
        "no-such-command-here",
        'echo "',
        "cat; echo end",
        "cat <<E\n$((1 + 1))\nE",
        "kill -9 $$",
        "kill -SEGV $$",
        "trap 'echo caught; exit 7' TERM; kill $$; echo no",
        "trap 'echo bye' EXIT; seq 1 20000 | head -n 1; echo ${PIPESTATUS[*]}",
        "yes | head -n 1",
        f"echo a; {BEGUN} kill -- -$$; echo after",
        f"trap 'kill -- -$$' EXIT; {BEGUN} echo a",
        "sleep 0 & wait; echo $?; jobs -l; wait -n; echo $?",
        f'rm -f go; {WAITS} & [ "$(jobs -p)" = $! ] && >go && wait $!; echo $?',
        'ps -o sid=,pgid= -p $$ | grep -c "$$.*$$"',
        "ps -o args= -p $$; ps -o args= --ppid $$ | wc -l",
        "bash -c 'seq 1 20000' | wc -l; echo $(bash -c 'seq 1 20000') | wc -c",
        "bash -ec 'seq 1 20000; false; echo no'",
        "bash -xc 'echo traced' 2>&1",
        "sh -c \"bash -c 'seq 1 20000' | wc -l\"",
        "exec 2>&1; echo one; echo two >&2; echo three",
        "env | sort; echo $SHLVL $- $0 $#; shopt; set -o; trap; ulimit -a; umask",
        "declare -F; declare -p | grep -i -e pannier -e parent",
        "pgrep -c -f by-these-very-words",
        "ls /proc/self/fd; readlink /proc/self/fd/0",
        f": {'é' * 65_400}; echo ok",
        f": {'é' * 65_528}; echo ok",
    ],
)


@COMMANDS
def test_a_command_gives_what_it_would_without_us(codex: Program, text: str) -> None:
    """Its status and its output, byte for byte, whatever it asks of itself and of its group."""
    assert codex.run(BASH, "-c", text) == codex.run(BASH, "-c", text, ours=False)
    assert codex.world.errors() == []


@COMMANDS
def test_so_does_one_of_opencode(opencode: Program, text: str) -> None:
    """Its output goes into sockets; a reader puts a pipe before them."""
    assert opencode.run(BASH, "-c", text) == opencode.run(BASH, "-c", text, ours=False)
    assert opencode.world.errors() == []


@pytest.mark.parametrize(
    "argv",
    [
        (BASH, "-ec", "seq 1 20000; false; echo no"),
        (BASH, "-uo", "pipefail", "-c", "echo $- $SHELLOPTS; false | true"),
        (BASH, "-c", 'echo "$0 $1 $2"', "me", "1 2", ""),
        ("/bin/sh", "-c", "bash -c 'seq 1 20000' | wc -l"),
        ("/bin/sh", "-c", "x=$(bash -c 'seq 1 20000'); echo ${#x}"),
        ("/bin/sh", "-c", "bash -c 'seq 1 20000; echo e >&2' 2>/dev/null"),
        ("/bin/sh", "-c", "bash -ec 'seq 1 20000; false; echo no'"),
        (BASH, "-c", f"exec {BASH} -c 'seq 1 20000; exit 3'"),
        (BASH, "-lc", "echo N=$N; shopt login_shell; seq 1 20000; of_profile"),
    ],
)
def test_so_does_any_other_way_to_start_one(codex: Program, argv: tuple[str, ...]) -> None:
    """Flags, words, another shell, and shells beneath another shell."""
    profile = "echo profile; export N=$((N+1)); of_profile() { echo called; }\n"
    (codex.world.home / ".bash_profile").write_text(profile)
    assert codex.run(*argv) == codex.run(*argv, ours=False)
    assert codex.world.errors() == []


def test_what_leaves_the_session_is_not_waited_for(codex: Program) -> None:
    """`setsid` returns at once for the leader of a group, which a command of Codex's is."""
    os.mkfifo(codex.world.home / "fifo")
    text = f"import subprocess; subprocess.run({[BASH, '-c', 'setsid cat fifo']}, "
    text += "stdin=-3, stdout=-1, stderr=-2, start_new_session=True, timeout=20)"
    text = text.replace("subprocess.run(", "p = subprocess.Popen(").replace(", timeout=20", "")
    text = text.replace("stderr=-2", "stderr=-1") + "; print(p.wait(20))"
    done = subprocess.run(
        [str(codex.program), "-IS", "-c", text],
        stdout=subprocess.PIPE,
        env=codex.world.environment(CODEX_TOOL_CALL_ID=CALL, BASH_ENV=str(codex.file)),
        cwd=codex.world.home,
        check=True,
    )
    (codex.world.home / "fifo").write_text("over\n")
    assert done.stdout == b"0\n"


@pytest.mark.parametrize("flag", ["-c", "-lc"])
def test_commands_of_codex_are_kept(codex: Program, flag: str) -> None:
    """A command that Codex starts has the reader, in a login shell as well."""
    assert codex.run(BASH, flag, LARGE) == (0, PRINTED.decode())
    assert [file.read_bytes() for file in kept(codex.world)] == [PRINTED]


LEAVES = """
import socket, subprocess, sys
ours, theirs = socket.socketpair()
errors, more = socket.socketpair()
process = subprocess.Popen(
    sys.argv[2:], stdin=-3, stdout=theirs, stderr=more, start_new_session=True
)
theirs.close()
more.close()
with open(sys.argv[1], "wb") as file:
    file.write(ours.recv(65536))
while ours.recv(65536) or errors.recv(65536):
    pass
process.wait(30)
"""
"""Keeps what it has read when the command ends, and no more. That may be very little."""


def test_what_opencode_loses_is_kept(opencode: Program) -> None:
    """OpenCode stops reading when a command ends: its own file, and what it says, may lack the
    rest. The model gets both ends, and a file with every byte."""
    own = opencode.world.home / "tool_1"
    given = opencode.world.environment(PANNIER_OUTPUT_NOTE=CALL, BASH_ENV=str(opencode.file))
    words = [str(opencode.program), "-IS", "-c", LEAVES, str(own), BASH, "-c", LARGE]
    subprocess.run(words, check=True, env=given, timeout=60)
    assert own.stat().st_size < len(PRINTED)
    said: dict[str, object] = {"tool_name": "bash", "tool_use_id": "call:1", "output_note": CALL}
    said |= {"tool_response": "...", "persistedOutputPath": str(own), "persistedOutputSize": 9}
    text = opencode.world.run("post-tool", "--client", "opencode", stdin=said).out.decode()
    [file] = kept(opencode.world)
    assert file.read_bytes() == PRINTED
    assert spilled_in(text) == (str(file), len(PRINTED))
    assert text.endswith("\n19999\n20000\n")
    assert notes(opencode.world) == []


@pytest.mark.parametrize(
    ("argv", "change"),
    [
        ((BASH, "-c", LARGE), {"CODEX_TOOL_CALL_ID": ""}),
        ((BASH, "-c", LARGE), {"PANNIER_CONTEXT": '{"spill_buffer":{"enabled":false}}'}),
        ((BASH, "-ec", LARGE), {}),
        (("/bin/sh", "-c", f"{BASH} -c '{LARGE}'; true"), {}),
        (("/bin/sh", "-c", f"exec {BASH} -c '{LARGE}' 2>&1"), {}),
    ],
)
def test_others_are_left_alone(
    codex: Program, argv: tuple[str, ...], change: dict[str, str]
) -> None:
    """What is no command of an agent's, or not as Codex starts it, or switched off."""
    codex.hook.write_text("#!/bin/sh\necho hook\n")
    given = {"CODEX_TOOL_CALL_ID": CALL, **change}
    done = subprocess.run(
        [str(codex.program), "-IS", "-c", DRIVER, *argv],
        capture_output=True,
        check=True,
        env=codex.world.environment(BASH_ENV=str(codex.file), **given),
    )
    assert json.loads(done.stdout) == [0, PRINTED.decode()]


def test_who_is_not_codex_is_left_alone(codex: Program) -> None:
    """A program of the agent's that starts bash with Codex's environment."""
    codex.hook.write_text("#!/bin/sh\necho hook\n")
    given = codex.world.environment(CODEX_TOOL_CALL_ID=CALL, BASH_ENV=str(codex.file))
    words = [BASH, "-c", "echo plain ${BASH_ENV-unset}"]
    assert subprocess.run(words, capture_output=True, env=given).stdout == b"plain unset\n"


@pytest.mark.parametrize("hook", ["", "exit 1", "echo /nowhere/fd/4", "kill -9 $$"])
def test_without_a_hook_commands_run(codex: Program, hook: str) -> None:
    """Whatever is missing or broken, an agent runs."""
    codex.hook.write_text(f"#!/bin/sh\n{hook}\n")
    if not hook:
        codex.hook.unlink()
    assert codex.run(BASH, "-c", "echo plain") == (0, "plain\n")
