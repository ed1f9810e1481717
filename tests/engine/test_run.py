"""`pannier run`: one container, the client in the foreground."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import pannier.cli.progress
import pannier.cli.run  # noqa: F401
from pannier import launch
from pannier.cli import main
from pannier.clients import CLIENTS
from pannier.engine import Engine, look
from pannier.errors import MountMismatch
from tests.engine.person import Person
from tests.engine.terminal import PseudoTerminal


def test_status_arguments_and_thread_reach_the_program(person: Person) -> None:
    """ARGS are the program's, its status is ours, and the thread is in its environment."""
    done = person.run(
        "run",
        "scout",
        "--thread",
        "planning",
        "--entrypoint",
        "sh",
        "--",
        "-c",
        'echo "$PANNIER_THREAD/$1"; exit 7',
        "x",
        "two words",
    )
    assert (done.returncode, done.stdout) == (7, "planning/two words\n")
    assert person.pannier("ps", "--json") == "[]\n"


def test_the_image_s_own_client_is_what_starts(person: Person) -> None:
    """Without --entrypoint, the real client gets the arguments."""
    assert "(Claude Code)" in person.pannier("run", "scout", "--", "--version")


def test_standard_input_reaches_the_program(person: Person) -> None:
    """A pipe into `pannier run` is the program's standard input, to its end."""
    done = subprocess.run(
        person.argv("run", "scout", "--entrypoint", "wc", "--", "-c"),
        cwd=person.root,
        env=person.environ,
        input="x" * 100_000,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "100000", done.stderr


def test_a_container_is_safe_by_default(person: Person) -> None:
    """No capability, no new privileges, not root, limits in force, namespaces of its own."""
    script = """
        grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status
        echo "uid $(id -u)"
        cd /sys/fs/cgroup
        echo "memory $(cat memory.max memory/memory.limit_in_bytes 2>/dev/null)"
        echo "pids $(cat pids.max pids/pids.max 2>/dev/null)"
        for n in pid net ipc uts mnt; do readlink /proc/self/ns/$n; done
        tr '\\0' ' ' < /proc/1/cmdline; echo
        touch /workspace/agent/x 2>&1; touch /usr/bin/x 2>&1; true
    """
    told = person.shell("scout", script)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert f"{name}:\t0000000000000000" in told
    assert "NoNewPrivs:\t1" in told
    assert "uid 0\n" not in told
    assert f"memory {4 << 30}\n" in told
    assert "pids 1024\n" in told
    for name in ("pid", "net", "ipc", "uts", "mnt"):
        inside = re.search(rf"{name}:\[(\d+)\]", told)
        assert inside
        assert inside[0] != str(Path(f"/proc/self/ns/{name}").readlink())
    assert "docker-init" in told or "tini" in told
    assert told.count("Permission denied") == 2


def test_limits_come_from_the_group_s_settings(person: Person) -> None:
    """`limits:` in group.yaml is what the container gets."""
    settings = "limits: {memory: 256m, processes: 77}\n"
    (person.group("scout") / "group.yaml").write_text(settings)
    script = (
        "cat /sys/fs/cgroup/*.max /sys/fs/cgroup/*/memory.limit_in_bytes /sys/fs/cgroup/*/pids.max"
    )
    told = person.shell("scout", f"{script} 2>/dev/null; true")
    assert str(256 << 20) in told.split()
    assert "77" in told.split()


def test_memory_is_shared_both_ways(person: Person) -> None:
    """The agent and the person edit the same files, on a root host and otherwise."""
    memory = person.group("scout") / "memory"
    (memory / "from-host.md").write_text("host\n")
    script = """
        cat /workspace/agent/memory/from-host.md
        echo inside >> /workspace/agent/memory/from-host.md
        echo new > /workspace/agent/memory/from-agent.md
        echo work > made-here
    """
    assert person.shell("scout", script) == "host\n"
    assert (memory / "from-host.md").read_text() == "host\ninside\n"
    assert (memory / "from-agent.md").read_text() == "new\n"
    assert (person.group("scout") / "files/made-here").read_text() == "work\n"


def test_what_the_agent_only_reads_it_cannot_write(person: Person) -> None:
    """Learned memory, conversations and instructions are read-only; settings are not there."""
    (person.group("scout") / "agent-memory/summary.md").write_text("notes\n")
    script = """
        for d in agent-memory conversations; do touch /workspace/agent/$d/x 2>&1; done
        touch /run/pannier/instructions/x 2>&1
        cat /workspace/agent/agent-memory/summary.md
        find / -xdev -name group.yaml 2>/dev/null
        true
    """
    told = person.shell("scout", script)
    assert told.count("Read-only file system") == 3
    assert told.endswith("notes\n")


def test_no_other_group_can_see_it(person: Person) -> None:
    """Neither memory nor anything else of one group is in another's container."""
    (person.group("scout") / "memory/secret.md").write_text("the-word-is-lavender\n")
    (person.group("other") / "memory/own.md").write_text("own\n")
    script = """
        grep -rl lavender /workspace /run/pannier /home 2>/dev/null
        cat /workspace/agent/memory/own.md
        cat /proc/self/mountinfo
    """
    told = person.shell("other", script)
    assert "secret.md" not in told
    assert told.startswith("own\n")
    assert "/groups/other/memory" in told
    assert "groups/scout" not in told


def test_standing_instructions_are_composed_and_read_only(person: Person) -> None:
    """`instructions.prepend.md` reaches the place where the client looks; memory never does."""
    (person.group("scout") / "instructions.prepend.md").write_text("Always answer in Spanish.\n")
    told = person.shell("scout", "cat /etc/claude-code/CLAUDE.md; ls /run/pannier/instructions")
    names = sorted({client.instructions_file for client in CLIENTS.values()})
    assert told.splitlines() == ["Always answer in Spanish.", *names]


def test_handed_on_secrets_are_in_no_label_and_no_file_of_ours(
    person: Person, engine: Engine
) -> None:
    """`env_from` names a variable: the container has its value, our files and labels do not."""
    (person.group("scout") / "group.yaml").write_text("env_from: [MY_KEY, NOT_SET]\n")
    up = person.run("up", "scout", MY_KEY="hush-hush")
    assert up.returncode == 0, up.stderr
    assert "env_from: NOT_SET is not set here" in up.stderr
    inside = person.pannier("exec", "scout", "--entrypoint", "printenv", "--", "MY_KEY")
    assert inside == "hush-hush\n"
    assert "hush-hush" not in person.pannier("ps", "--json")
    for container in engine.containers(str(person.root)):
        assert "hush-hush" not in str(
            engine.sdk.api.inspect_container(container.id)["Config"]["Labels"]
        )
    for file in person.root.rglob("*"):
        assert not file.is_file() or b"hush-hush" not in file.read_bytes()


def test_an_image_of_somebody_s_own_needs_no_hook_in_it(person: Person) -> None:
    """Its mounts are compared all the same."""
    options = ("--image", "debian:bookworm-slim", "--entrypoint", "ls")
    told = person.pannier("run", "scout", *options, "--", "/workspace/agent/memory")
    assert told.split() == ["index.md", "system"]


def test_an_image_that_is_not_there_is_named(person: Person) -> None:
    """The engine is not asked to pull what a person did not name themselves."""
    done = person.run("run", "scout", "--image", "nobody/nothing:1")
    assert done.returncode == 1
    assert "the engine has no image nobody/nothing:1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_that_is_not_there_ends_with_127(person: Person) -> None:
    """As a shell would say it."""
    done = person.run("run", "scout", "--entrypoint", "no-such-program")
    assert done.returncode == 127
    assert "no such command: no-such-program" in done.stderr + done.stdout


def test_two_containers_of_one_group_may_run_at_once(person: Person) -> None:
    """Both see the same memory; neither is called left behind."""
    person.pannier("up", "scout")
    script = "pannier-hook look /workspace/agent/memory >/dev/null; echo two >> ../memory/n.md"
    person.shell("scout", script)
    seen = ("exec", "scout", "--entrypoint", "cat", "--", "/workspace/agent/memory/n.md")
    assert person.pannier(*seen) == "two\n"
    (row,) = json.loads(person.pannier("ps", "--json"))
    assert (row["group"], row["role"], row["state"]) == ("scout", "up", "running")
    assert row["left_behind"] is False


def test_up_twice_is_up_once(person: Person) -> None:
    """As with docker compose: what is up stays as it is."""
    first = person.run("up", "scout")
    second = person.run("up", "scout")
    assert second.returncode == 0
    assert second.stdout == first.stdout
    assert "is up already" in second.stderr
    person.pannier("stop", "scout", "--time", "0")
    at_once = [
        subprocess.Popen(person.argv("up", "scout"), cwd=person.root, env=person.environ)
        for _ in range(3)
    ]
    assert [process.wait(timeout=120) for process in at_once] == [0, 0, 0]
    assert len(json.loads(person.pannier("ps", "--json"))) == 1


def test_exec_runs_in_the_container_that_is_up(person: Person) -> None:
    """`exec` passes on arguments, thread and status; without `up` it says what to do."""
    done = person.run("exec", "scout")
    assert done.returncode == 1
    assert "pannier up scout" in done.stderr
    made = json.loads(person.pannier("up", "scout", "--json"))
    assert made["group"] == "scout"
    done = person.run(
        "exec",
        "scout",
        "--thread",
        "t2",
        "--cwd",
        "/workspace",
        "--entrypoint",
        "sh",
        "--",
        "-c",
        "pwd; echo $PANNIER_THREAD; exit 9",
    )
    assert (done.returncode, done.stdout) == (9, "/workspace\nt2\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_exec_ends_what_it_started(person: Person, number: int) -> None:
    """The program and its children get it, its status comes back, and the container stays."""
    person.pannier("up", "scout")
    script = "sleep 300 & trap 'exit 42' TERM INT; echo ready; while :; do sleep 0.1; done"
    process = subprocess.Popen(
        person.argv("exec", "scout", "--entrypoint", "bash", "--", "-c", script),
        cwd=person.root,
        env=person.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.wait(timeout=60) == 42
    left = person.pannier("exec", "scout", "--entrypoint", "ps", "--", "-eo", "args")
    # A shell has what it starts in the background ignore Ctrl-C.
    assert ("sleep 300" in left) == (number == signal.SIGINT)


def test_exec_refuses_a_container_that_was_never_let_go(person: Person, engine: Engine) -> None:
    """An `up` that was killed before the mounts were compared is of no use, and is reported."""
    plan = launch.decide(person.home, launch.Wish("scout"), person.environ)
    plan = launch.make_ready(person.home, plan, person.environ, print)
    spec = launch.specify(person.home, plan, person.environ, "up", gate=True)
    gone = {**spec.labels, "pannier.owner": f"{os.uname().nodename}:1:never"}
    container = engine.create(replace(spec, labels=gone, command=("sleep", "infinity")))
    engine.start(container)
    wait_for(lambda: engine.at_gate(container))
    done = person.run("exec", "scout", "--entrypoint", "true")
    assert done.returncode == 1
    assert "was never let go" in done.stderr
    (row,) = json.loads(person.pannier("ps", "--json"))
    assert row["left_behind"] is True
    assert "is left from an earlier start" in person.pannier("doctor", check=False)
    person.pannier("stop", "scout", "--time", "0")


def test_stop_can_be_repeated(person: Person) -> None:
    """Already gone counts as stopped; `--dry-run` stops nothing; a wrong name is a mistake."""
    assert person.run("stop", "nobody").returncode == 2
    assert person.run("ps", "nobody").returncode == 2
    person.pannier("up", "scout")
    assert "would stop" in person.pannier("stop", "scout", "--dry-run")
    assert len(person.pannier("stop", "scout", "--time", "1").split()) == 1
    assert person.pannier("stop", "scout") == ""


def test_what_a_crash_left_is_found_reported_and_removed(person: Person) -> None:
    """A killed `pannier run` leaves its container: ps, doctor and the next start say so."""
    argv = person.argv("run", "scout", "--entrypoint", "sleep", "--", "300")
    crashed = subprocess.Popen(
        argv,
        cwd=person.root,
        env=person.environ,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: '"running"' in person.pannier("ps", "--json"))
    os.killpg(crashed.pid, signal.SIGKILL)
    crashed.wait()
    (row,) = json.loads(person.pannier("ps", "--json"))
    assert row["left_behind"] is True
    assert "is left from an earlier start" in person.pannier("doctor", check=False)
    again = person.run("run", "scout", "--entrypoint", "true")
    assert again.returncode == 0
    assert f"{row['name']} (running) is left from an earlier start" in again.stderr
    assert person.pannier("stop", "scout", "--time", "1") == f"{row['name']}\n"
    assert "is left" not in person.pannier("doctor", check=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_the_client_and_leave_nothing(person: Person, number: int) -> None:
    """A signal to `pannier run` reaches the client, whose status comes back."""
    script = "trap 'echo got; exit 42' TERM INT HUP; echo ready; while :; do sleep 0.1; done"
    process = subprocess.Popen(
        person.argv("run", "scout", "--entrypoint", "sh", "--", "-c", script),
        cwd=person.root,
        env=person.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    # Ctrl-C reaches the whole foreground group; the others one process.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    assert process.stdout.read() == "got\n"
    assert process.wait(timeout=30) == 42
    assert person.pannier("ps", "--json") == "[]\n"


def test_terminal_size_and_ctrl_p_reach_the_client(person: Person) -> None:
    """A terminal is a terminal: its size, raw keys, and Ctrl-P, which docker would keep."""
    script = "stty raw -echo; stty size; head -c 3 | od -An -tx1; stty sane; exit 5"
    argv = person.argv("run", "scout", "--entrypoint", "sh", "--", "-c", script)
    terminal = PseudoTerminal(argv, person.root, person.environ)
    terminal.resize(33, 77)
    terminal.wait_for(b"33 77")
    terminal.send(b"\x10\x11\x03")
    terminal.wait_for(b"10 11 03")
    assert terminal.status() == 5, terminal.seen


@pytest.mark.parametrize("by", ["the kernel", "a program inside"])
def test_a_replaced_mount_stops_the_container(
    person: Person, engine: Engine, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """A source that is swapped between the check and the start is noticed; no client begins.

    Also where the engine's processes cannot be seen from here.
    """
    if by == "a program inside":
        monkeypatch.setattr(look, "through_proc", lambda *_, **__: None)
    memory = person.group("scout") / "memory"
    create = Engine.create

    def swapped(self: Engine, spec: object) -> str:
        memory.rename(memory.with_name("moved"))
        memory.mkdir(mode=0o755)
        return create(self, spec)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "create", swapped)
    plan = launch.decide(person.home, launch.Wish("scout"), person.environ)
    with pytest.raises(MountMismatch, match="/workspace/agent/memory"):
        launch.up(engine, person.home, plan, person.environ, print, pytest.fail)
    assert engine.containers(str(person.root)) == []


@pytest.mark.parametrize("by", ["the kernel", "a program inside"])
def test_the_client_waits_for_the_comparison(
    person: Person, engine: Engine, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Behind the gate nothing has begun; the signal lets the client go."""
    if by == "a program inside":
        monkeypatch.setattr(look, "through_proc", lambda *_, **__: None)
    wish = launch.Wish("scout", entrypoint="sh", args=("-c", "touch begun; exec sleep 300"))
    plan = launch.decide(person.home, wish, person.environ)
    plan = launch.make_ready(person.home, plan, person.environ, print)
    spec = launch.specify(person.home, plan, person.environ, "run", gate=True)
    container = engine.create(spec)
    engine.start(container)
    engine.check_mounts(container, spec.mounts, hook=True)
    begun = person.group("scout") / "files/begun"
    _, running = engine.exec(container, ["ps", "-eo", "comm"])
    assert "pannier-gate" in running
    assert not begun.exists()
    engine.release(container)
    wait_for(begun.exists)


def test_a_non_root_person_runs_agents_as_themselves(person: Person) -> None:
    """On a host where pannier is not root, uid and gid are the person's, and files are theirs."""
    if os.geteuid() != 0:
        assert person.shell("scout", "id -u") == f"{os.geteuid()}\n"
        return
    subprocess.run(["chown", "-R", "4321:4322", person.root.parent], check=True)
    told = as_user(
        4321,
        4322,
        person,
        [
            "run",
            "scout",
            "--entrypoint",
            "sh",
            "--",
            "-c",
            "id -u; id -g; whoami; echo x > /workspace/agent/memory/n.md; touch ~/w && echo home",
        ],
    )
    assert told.split() == ["4321", "4322", "agent4321", "home"], told
    made = (person.group("scout") / "memory/n.md").stat()
    assert (made.st_uid, made.st_gid) == (4321, 4322)


def test_a_root_host_gives_the_folders_to_an_unprivileged_owner(person: Person) -> None:
    """What root made outside is editable inside from the next start on, what lies beside is not
    touched."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    memory = person.group("scout") / "memory"
    person.shell("scout", "true")
    (memory / "deep").mkdir()
    (memory / "deep/root.md").write_text("root\n")
    (memory / "deep").chmod(0o700)
    victim = person.root / "victim"
    victim.write_text("mine\n")
    (memory / "link").symlink_to(victim)
    assert (
        person.shell("scout", "echo more >> /workspace/agent/memory/deep/root.md; id -u")
        == "1000\n"
    )
    assert (memory / "deep/root.md").read_text() == "root\nmore\n"
    assert (memory / "deep/root.md").stat().st_uid == 1000
    assert victim.stat().st_uid == 0
    assert (person.group("scout") / "group.yaml").stat().st_uid == 0


def wait_for(condition: object, seconds: float = 60) -> None:
    """Until `condition()` holds; fails the test otherwise."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        select.select([], [], [], 0.05)


def as_user(uid: int, gid: int, person: Person, args: list[str]) -> str:
    """Run pannier as another user. In a fork: the interpreter may lie where they cannot read."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        os.dup2(write, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(person.root)
        os.environ["HOME"] = str(person.root.parent / "person")
        os.setgroups([0])  # The engine's socket is root's group's.
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        sys.argv = ["pannier", *args]
        try:
            main()
        except SystemExit as end:
            os._exit(int(end.code or 0))
        finally:
            os._exit(99)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    os.waitpid(pid, 0)
    return told


def test_every_container_of_a_group_has_the_group_s_name(person: Person) -> None:
    """A client may bind a login that it keeps to the name of the host."""
    assert person.shell("scout", "hostname; hostname") == "scout\nscout\n"


def test_a_container_on_an_earlier_image_is_told(engine: Engine, person: Person) -> None:
    """By `ps`, `up`, `exec`, `doctor` and the daemon, with the way out. It goes on running."""
    name = person.pannier("up", "scout").strip()
    doctor = person.pannier("doctor", check=False)
    assert f"container {name} runs image pannier-claude:" in doctor
    (row,) = json.loads(person.pannier("ps", "--json"))
    assert row["outdated"] is False
    person.home.settings.write_text("base_image: debian:another-one\n")
    told = person.run("ps")
    assert "running (earlier image)" in told.stdout
    again = person.run("up", "scout")
    assert (again.returncode, again.stdout) == (0, f"{name}\n")  # And no image was built for that.
    assert "on an earlier image" in again.stderr
    assert "on an earlier image" in person.run("exec", "scout", "--entrypoint", "true").stderr
    way_out = "pannier stop scout && pannier up scout"
    assert way_out in told.stderr
    assert f"{name} is up on an earlier image" in person.pannier("doctor", check=False)
    assert f"scout: {name} is up on an earlier image" in person.pannier("serve", "--dry-run")
    (container,) = engine.containers(str(person.root), "scout")
    assert (container.name, container.state) == (name, "running")


def test_a_container_keeps_the_settings_for_its_context(person: Person) -> None:
    """What it was started with, also for `exec`; a change is told, and holds for the next one."""
    settings = person.home.group("scout").settings
    before = settings.read_text()
    settings.write_text(f"{before}context: {{compaction: {{trigger_percent: 50}}}}\n")
    told = '{"compaction":{"trigger_percent":50}}'
    seen = ("--entrypoint", "printenv", "--", "PANNIER_CONTEXT")
    name = person.pannier("up", "scout").strip()
    assert person.pannier("exec", "scout", *seen).strip() == told
    assert person.run("ps").stderr == ""
    settings.write_text(before)
    assert person.pannier("exec", "scout", *seen).strip() == told
    ps = person.run("ps")
    assert "running (earlier settings)" in ps.stdout
    assert f"{name} is up with earlier settings for its context" in ps.stderr
    assert "earlier settings" in person.run("up", "scout").stderr
    assert person.run("run", "scout", *seen).stdout == ""


def test_an_image_of_one_s_own_that_was_built_again_is_told(
    engine: Engine, person: Person, image: str
) -> None:
    """The tag is the same, and names another image now. What `--image` names is compared, too."""
    engine.sdk.api.tag(image, "pannier-test-own", "1")
    try:
        asked = json.loads(person.pannier("up", "scout", "--image", "pannier-test-own:1", "--json"))
        settings = person.group("other") / "group.yaml"
        settings.write_text("client: claude\nimage: pannier-test-own:1\n")
        mine = json.loads(person.pannier("up", "other", "--json"))
        assert not any(row["outdated"] for row in json.loads(person.pannier("ps", "--json")))
        engine.sdk.api.tag("debian:bookworm-slim", "pannier-test-own", "1", force=True)
        old = {row["id"] for row in json.loads(person.pannier("ps", "--json")) if row["outdated"]}
        assert old == {asked["id"], mine["id"]}
    finally:
        engine.sdk.api.remove_image("pannier-test-own:1", force=True)


def test_doctor_finds_containers_of_a_group_that_is_gone(person: Person) -> None:
    """And `stop` still removes them."""
    person.pannier("up", "scout")
    person.group("scout").rename(person.root / "elsewhere")
    told = person.pannier("doctor", check=False)
    assert "belongs to a group that is gone" in told
    assert "pannier-scout-" in person.pannier("stop", "scout", "--time", "0")


def test_the_host_path_is_not_told(person: Person) -> None:
    """An agent's environment names nothing of the host."""
    told = person.shell("scout", "env")
    assert str(person.root) not in told
    assert str(Path.home()) not in told


def test_a_signal_before_the_client_begins_leaves_nothing(person: Person) -> None:
    """SIGTERM while the container is being made: no container, and the signal's status."""
    process = subprocess.Popen(
        person.argv("up", "scout"),
        cwd=person.root,
        env=person.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: "pannier-scout" in person.pannier("ps") or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    status = process.wait(timeout=60)
    rows = json.loads(person.pannier("ps", "--json"))
    # Either it was too late, and the container is up, or nothing of it is left.
    assert (status, len(rows)) in ((0, 1), (143, 0))
