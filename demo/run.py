"""What `make demo` shows: the main job, with the real Claude Code in real containers.

Its model is pannier's own scripted endpoint: no key is needed, and the containers that it drives
have no network. Everything lies in a temporary home that is removed at the end.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.panel import Panel

from pannier import clients, launch
from pannier.cli.context import Context
from pannier.cli.progress import build_progress
from pannier.endpoint.answers import Call, Say
from pannier.endpoint.model import ScriptedModel
from pannier.engine import Engine
from pannier.launch import Wish
from pannier.paths import Home
from pannier.verify.container import ContainerProcesses, container_for
from pannier.verify.shell import EventShell

FACT = "Atlas releases on Tuesdays."
PERSON = """\
---
type: person
title: "Noor"
---

# Noor

Noor owns the release checklist of Atlas.
"""

console = Console(highlight=False)


class Unexpected(Exception):
    """Something that the demo shows did not come about."""


def main() -> int:
    """0 when everything was seen, 1 when not."""
    console.print(Panel("Pannier: durable memory for sandboxed agents", expand=False))
    with tempfile.TemporaryDirectory(prefix="pannier-demo-") as folder:
        # The agent's unprivileged user passes through on its way to the group's folders.
        Path(folder).chmod(0o755)
        demo = Demo(Path(folder).resolve())
        try:
            demo.groups()
            demo.delivery()
            with demo.claude() as (processes, model):
                demo.edit(processes, model)
                demo.remember(processes, model)
            demo.other_group()
        except Unexpected as problem:
            console.print(f"[bold red]Not as it should be:[/] {problem}")
            return 1
        finally:
            demo.clean()
    console.print(
        "\n[bold green]Done.[/] Nothing is left running, and the demo's home is removed.\n"
        "Next: README.md, “A real agent”."
    )
    return 0


class Demo:
    """One home, and what is shown in it."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root / "agents")
        # The demo's home is not remembered among the person's own.
        os.environ["XDG_CONFIG_HOME"] = str(root / "config")
        self.memory = self.home.group("scout").memory
        self.context = Context(str(self.home.root))
        self.engine = Engine.find(self.context.environ)

    def groups(self) -> None:
        title("1  Two agent groups, each with a memory of its own")
        self.home.root.mkdir()
        self.command("pannier init")
        self.command("pannier group add scout")
        self.command("pannier group add other")
        self.command("find groups/scout/memory -type f")
        say("index.md is the map, definition.md tells the agent how to keep memory.")

    def delivery(self) -> None:
        title("2  What each event gives to the model")
        say("The real Claude Code, in its container, against a scripted model:")
        self.command("pannier verify scout")
        say(
            "A fresh context (startup, clear, compact) gets both files, every character. "
            "Resume and fork already hold them, and get nothing."
        )

    @contextmanager
    def claude(self) -> Iterator[tuple[ContainerProcesses, ScriptedModel]]:
        """Claude Code in scout's container, with a model that does what we script."""
        model = ScriptedModel()
        building = partial(build_progress, self.context)
        environ = self.context.environ
        plan = launch.decide(self.home, Wish("scout"), environ)
        with container_for(
            self.engine, self.home, plan, environ, say, building, model
        ) as processes:
            yield processes, model

    def edit(self, processes: ContainerProcesses, model: ScriptedModel) -> None:
        title("3  You edit a file; the agent knows after /clear")
        index = self.memory / "index.md"

        def on_the_host() -> None:
            shown(f"echo '{FACT}' >> groups/scout/memory/index.md")
            with index.open("a") as file:
                file.write(f"\n{FACT}\n")

        shell = EventShell("clear", processes, model, on_the_host)
        say("Claude Code has had its first turn. While it runs:")
        try:
            clients.get("claude").events["clear"](shell)
        finally:
            shell.close()
        before = any(r.holds(FACT) for r in model.requests if r not in shell.requests())
        after = any(r.holds(FACT) for r in shell.requests())
        expect(not before, "the edit was known before it was made")
        expect(after, "the edit did not reach the model after /clear")
        say(f"After /clear, the model was given: “{FACT}”")

    def remember(self, processes: ContainerProcesses, model: ScriptedModel) -> None:
        title("4  The agent writes a fact; you read it")
        prompt = "Remember that Noor owns the release checklist."
        shown(f'claude -p "{prompt}"')
        shell = EventShell("remember", processes, model, lambda: None)
        shell.observe()
        arguments = {"file_path": "/workspace/agent/memory/people/noor.md", "content": PERSON}
        shell.script(Call("Write", arguments), Say("Noted."))
        try:
            say(shell.run(*clients.get("claude").headless(prompt)).stdout.strip())
        finally:
            shell.close()
        expect((self.memory / "people/noor.md").is_file(), "the agent's file is not on the host")
        self.command("cat groups/scout/memory/people/noor.md")
        say("It asked nobody, and its own hidden memory stayed unused.")

    def other_group(self) -> None:
        title("5  Another group sees nothing of it")
        told = self.command(
            "pannier run other --entrypoint sh -- -c "
            '"ls /workspace/agent/memory; grep -rl Noor /workspace /home /run /tmp; true"'
        )
        expect(told.split() == ["index.md", "system"], "the other group saw something")
        say("Its own memory, and no trace of Noor.")

    def command(self, line: str) -> str:
        """Run a command in the demo's home, showing it and what it prints."""
        shown(line)
        argv = shlex.split(line)
        if argv[0] == "pannier":
            argv = [sys.executable, "-m", *argv]
        env = {**os.environ, "COLUMNS": str(console.width)}
        done = subprocess.run(
            argv,
            cwd=self.home.root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        console.print(done.stdout.rstrip(), markup=False)
        expect(done.returncode == 0, f"{line} ended with {done.returncode}")
        return done.stdout

    def clean(self) -> None:
        for container in self.engine.containers(str(self.home.root)):
            self.engine.remove(container.id)


def title(text: str) -> None:
    console.print(f"\n[bold]{text}[/]\n")


def shown(line: str) -> None:
    console.print(f"[bold cyan]$[/] {line}")


def say(text: str) -> None:
    console.print(f"[dim]{text}[/]")


def expect(true: bool, otherwise: str) -> None:
    if not true:
        raise Unexpected(otherwise)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        console.print("Interrupted.")
        sys.exit(130)
