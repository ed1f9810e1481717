"""The entrypoint of an agent's image, and what the sidecar sees through it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pannier_hook.boot import AT_GATE
from pannier_hook.home import copy_skeleton, register_user
from pannier_hook.look import look

from .conftest import CHECKOUT, HOOK, World


def boot(world: World, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        world.command("boot", "--", *command),
        capture_output=True,
        text=True,
        timeout=30,
        env=world.environment(**environment),
    )


def test_becomes_the_command(world: World) -> None:
    """The command runs with its arguments and environment; its status is passed on."""
    done = boot(world, "sh", "-c", 'echo "$0 $1 $GIVEN"; exit 7', "a b", "--client", GIVEN="yes")
    assert (done.returncode, done.stdout) == (7, "a b --client yes\n")
    assert world.errors() == []


def test_same_process_and_clean_signals(world: World) -> None:
    """The command takes over the process, with no signal ignored or blocked."""
    code = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
    done = boot(world, "sh", "-c", f"exec {code}")
    # 32 and 33 are the C library's own; GNU make leaves them ignored, and no program can set them.
    own = 0b11 << 31
    assert [int(line.split()[1], 16) & ~own for line in done.stdout.splitlines()] == [0, 0]


def test_makes_the_scaffold(world: World) -> None:
    """A container without a sidecar gets its memory from boot, also the folder itself."""
    (world.root / "memory").rename(world.root / "old")
    boot(world, "true")
    assert (world.root / "memory/system/definition.md").is_file()
    assert world.errors() == []


def test_missing_command(world: World) -> None:
    """A command that is not there gives 127 and one clear line; one that cannot run gives 126."""
    done = boot(world, "no-such-client")
    assert (done.returncode, done.stderr.count("\n")) == (127, 1)
    assert "no-such-client" in done.stderr
    done = boot(world, "/etc/passwd")
    assert (done.returncode, done.stderr.count("\n")) == (126, 1)
    assert boot(world).returncode == 2


@pytest.mark.parametrize("wrong", ["root", "memory", "home", "spool"])
def test_nothing_keeps_the_client_from_starting(world: World, wrong: str) -> None:
    """Whatever place is unusable, the client starts, and the spool tells."""
    place = {
        "root": world.root,
        "memory": world.root / "memory",
        "home": world.home,
        "spool": world.spool,
    }[wrong]
    place.rename(place.with_name("moved"))
    place.write_text("a file in the place of a folder")
    done = boot(world, "echo", "started")
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert bool(world.errors()) is (wrong in ("root", "memory"))


def test_odd_memory_is_told(world: World) -> None:
    """What stands in the way of the scaffold is left alone and told in the spool."""
    (world.root / "memory/index.md").unlink()
    (world.root / "memory/index.md").symlink_to("/etc/passwd")
    assert boot(world, "true").returncode == 0
    (text,) = world.errors()
    assert "memory/index.md" in text
    assert "link" in text


def test_broken_installation_starts_the_client(world: World, tmp_path: Path) -> None:
    """A hook that cannot be imported becomes the command all the same, but not past a gate."""
    copy = tmp_path / "lib" / "bin" / "pannier-hook"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(HOOK.read_bytes())
    command = [sys.executable, "-IS", str(copy), "boot", "--", "echo", "started"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "started\n"
    gated = world.environment(PANNIER_GATE="1")
    done = subprocess.run(command, capture_output=True, text=True, env=gated)
    assert (done.returncode, done.stdout) == (125, "")


def gated(world: World, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        world.command("boot", "--", *command),
        stdout=subprocess.PIPE,
        text=True,
        env=world.environment(PANNIER_GATE="1"),
    )


def wait_for_gate(process: subprocess.Popen[str]) -> None:
    comm = Path(f"/proc/{process.pid}/comm")
    until = time.monotonic() + 10
    while comm.read_text().strip() != AT_GATE:
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.005)


def test_gate_opens_with_the_signal_only(world: World) -> None:
    """At the gate the client has not begun; `look` tells what is seen; the signal lets it begin."""
    process = gated(world, "sh", "-c", "echo begun; exec grep SigBlk /proc/self/status")
    seen = subprocess.run(
        [*world.command("look")[:4], str(world.root), "/no such place"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    status = world.root.stat()
    assert seen.stdout.splitlines() == [
        f"{status.st_dev} {status.st_ino} {world.root}",
        "- - /no such place",
    ]
    wait_for_gate(process)
    process.send_signal(signal.SIGUSR1)
    out = process.communicate(timeout=10)[0]
    assert out.split() == ["begun", "SigBlk:", "0" * 16]
    assert process.returncode == 0


def test_stopped_at_the_gate(world: World) -> None:
    """A container that is stopped at its gate ends without the client."""
    process = gated(world, "echo", "begun")
    wait_for_gate(process)
    process.terminate()
    assert process.communicate(timeout=10)[0] == ""
    assert process.returncode == -signal.SIGTERM


def test_early_signal_is_not_lost(world: World) -> None:
    """A signal that comes while boot still prepares opens the gate later."""
    code = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[1])\n"
        "from pannier_hook import home, main\n"
        "home.register_user = lambda *_: os.kill(os.getpid(), signal.SIGUSR1)\n"
        "main.main(['boot', '--root', sys.argv[2], '--', 'echo', 'begun'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-IS", "-c", code, str(CHECKOUT / "hooks"), str(world.root)],
        capture_output=True,
        text=True,
        timeout=30,
        env=world.environment(PANNIER_GATE="1"),
    )
    assert done.stdout == "begun\n"


def test_look_gives_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where nothing waits at a gate, `look` says so in time, and prints nothing else."""
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "comm").write_text("sh\n")
    (tmp_path / "2").mkdir()
    assert look(["/"], 0.05, str(tmp_path)) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_nameless_user_gets_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A uid and gid without an account are registered once; others are not."""
    register_user("/home/agent", str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(os, "getuid", lambda: 3_456_789)
    monkeypatch.setattr(os, "getgid", lambda: 3_456_790)
    register_user("/home/agent", str(tmp_path))
    line = (tmp_path / "passwd").read_text()
    assert line == "agent3456789:x:3456789:3456790:agent:/home/agent:/bin/bash\n"
    assert (tmp_path / "group").read_text() == "agent3456790:x:3456790:\n"
    register_user("/home/agent", str(tmp_path / "not there"))


def test_skeleton_fills_what_is_missing(tmp_path: Path) -> None:
    """Files, links and folders that HOME lacks are copied; what is there stays."""
    skeleton, home = tmp_path / "skel", tmp_path / "home"
    (skeleton / ".client" / "deep").mkdir(parents=True)
    (skeleton / ".client" / "settings.json").write_text("{}")
    (skeleton / ".client" / "deep" / "run").write_text("#!/bin/sh\n")
    (skeleton / ".client" / "deep" / "run").chmod(0o755)
    (skeleton / ".client" / "AGENTS.md").symlink_to("/run/pannier/instructions/AGENTS.md")
    (skeleton / ".mine").write_text("theirs")
    home.mkdir()
    (home / ".mine").write_text("mine")
    assert copy_skeleton(str(home), str(skeleton)) == []
    assert copy_skeleton(str(home), str(skeleton)) == []
    assert (home / ".client/settings.json").read_text() == "{}"
    assert (home / ".client/deep/run").stat().st_mode & 0o777 == 0o755
    assert (home / ".client/AGENTS.md").readlink() == Path("/run/pannier/instructions/AGENTS.md")
    assert (home / ".mine").read_text() == "mine"
    assert copy_skeleton(str(home), str(tmp_path / "no skeleton")) == []


def test_skeleton_follows_no_link_in_home(tmp_path: Path) -> None:
    """A link in the place of a folder is left alone and told; the rest is copied."""
    skeleton, home, elsewhere = tmp_path / "skel", tmp_path / "home", tmp_path / "elsewhere"
    (skeleton / ".client").mkdir(parents=True)
    (skeleton / ".client" / "settings.json").write_text("{}")
    (skeleton / ".later").write_text("x")
    for folder in (home, elsewhere):
        folder.mkdir()
    (home / ".client").symlink_to(elsewhere)
    (told,) = copy_skeleton(str(home), str(skeleton))
    assert ".client" in told
    assert list(elsewhere.iterdir()) == []
    assert (home / ".later").exists()
    assert (home / ".client").readlink() == elsewhere
