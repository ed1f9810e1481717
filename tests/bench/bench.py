"""`make bench`: measures, prints one table, and writes it to docs/bench.md.

Every figure is a ratio of two things that were run in turn, one after the other, in one go, with
the absolute time beside it: times alone say more of the machine than of the program.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import context
import handover
import learning
import posttool
import threads
from rich.console import Console
from rich.table import Table

from pannier import clients, launch
from pannier.engine import Engine, images
from pannier.engine.spec import ContainerSpec, to_docker
from pannier.paths import Home
from pannier.settings import HomeSettings

CHECKOUT = Path(__file__).parents[2]
HOOK = CHECKOUT / "hooks" / "bin" / "pannier-hook"
NODE_SCRIPT = Path(__file__).with_name("session_start.mjs")
BARE = ("/usr/bin/python3", "-IS", "-c", "pass")
STARTUP = json.dumps({"session_id": "bench", "source": "startup"})
RESUME = json.dumps({"session_id": "bench", "source": "resume"})

console = Console(stderr=True, highlight=False)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    against: str
    ratio: str
    absolute: str
    allowed: str = ""


@dataclass(frozen=True)
class Command:
    """A command line to be timed."""

    argv: tuple[str, ...]
    stdin: str = ""
    environ: tuple[tuple[str, str], ...] = ()
    cwd: Path = CHECKOUT

    def seconds(self) -> float:
        env = {**os.environ, **dict(self.environ)}
        # Compiled files are kept, as in an installation.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        begin = time.perf_counter()
        done = subprocess.run(
            self.argv, input=self.stdin, env=env, cwd=self.cwd, capture_output=True, text=True
        )
        taken = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"bench: {' '.join(self.argv)} ended with {done.returncode}: {done.stderr}")
        return taken


class Timed(Protocol):
    """Something that can be done again and again."""

    def seconds(self) -> float:
        """Do it; how long it took."""
        ...


def compare(what: str, a: Timed, against: str, b: Timed, *, pairs: int, allowed: str = "") -> Row:
    """Run `a` and `b` in turn. The ratio is the median of those of the pairs."""
    with console.status(f"{what} against {against}"):
        a.seconds(), b.seconds()
        times = [(a.seconds(), b.seconds()) for _ in range(pairs)]
    ratio = statistics.median(x / y for x, y in times)
    first, second = (statistics.median(t) for t in zip(*times, strict=True))
    return Row(what, against, f"{ratio:.2f}", f"{_time(first)} / {_time(second)}", allowed)


def main() -> int:
    """Measure everything, in a folder that is removed."""
    with tempfile.TemporaryDirectory(prefix="pannier-bench-") as scratch:
        folder = Path(scratch).resolve()
        folder.chmod(0o755)
        # What is made here is not remembered among the person's own homes.
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
        rows = [
            *hook_rows(folder),
            *container_rows(folder),
            *command_rows(),
            *thread_rows(folder),
            *context_rows(folder),
            *learning_rows(folder),
            *size_rows(folder),
        ]
    show(rows)
    (CHECKOUT / "docs" / "bench.md").write_text(page(rows), encoding="utf-8")
    return 0


# ---- the hook ---------------------------------------------------------------------------------


def hook_rows(folder: Path) -> Iterator[Row]:
    """Starting a session, with two full files, is little more than starting Python."""
    root = agent_root(folder / "few", others=10)
    bare = Command(BARE)
    # From a copy that root could have baked in: compiled, as in an image.
    hook = compiled_hook(folder)
    full = Command((hook, "session-start", "--client", "claude", "--part", "1/8"), STARTUP, root)
    again = Command(full.argv, RESUME, root)
    whole = Command((hook, "session-start", "--client", "codex"), STARTUP, root)
    yield compare(
        "session-start, one part of eight", full, "bare Python", bare, pairs=60, allowed="1.4"
    )
    yield compare("session-start, all in one", whole, "bare Python", bare, pairs=60, allowed="1.4")
    yield compare("session-start on resume", again, "bare Python", bare, pairs=60, allowed="1.2")
    for name, program in runtimes(folder):
        theirs = Command((program, str(NODE_SCRIPT)), STARTUP, root)
        yield compare(
            "session-start, all in one", whole, f"the same as a {name} script", theirs, pairs=30
        )
        theirs = Command((program, str(NODE_SCRIPT)), RESUME, root)
        yield compare(
            "session-start on resume", again, f"the same as a {name} script", theirs, pairs=30
        )
    many = agent_root(folder / "many", others=100_000)
    yield compare(
        "session-start among 100,000 files",
        Command(whole.argv, STARTUP, many),
        "among 10",
        whole,
        pairs=60,
    )
    short = handover.session(hook, folder / "short", records=100)
    long = handover.session(hook, folder / "long", records=100_000)
    new = f"stop, {handover.NEW} new records"
    yield compare(f"{new} after 100,000", long, "after 100", short, pairs=100, allowed="1.1")
    yield compare(f"{new} after 100", short, "bare Python", bare, pairs=60, allowed="2.5")
    yield from tool_rows(folder, hook, bare)


def tool_rows(folder: Path, hook: str, bare: Command) -> Iterator[Row]:
    """A small result of a tool is hardly looked at, a large one goes into a file."""
    small = Command((hook, "post-tool", "--client", "claude"), posttool.told("ok\n" * 500))
    yield compare("post-tool, a small result", small, "bare Python", bare, pairs=100, allowed="1.2")
    most = posttool.peak(hook, folder / "large", posttool.told(posttool.large_output()))
    yield Row(
        "memory of post-tool, 50 MB of output",
        "100 MB",
        f"{most / 100e6:.2f}",
        f"{most / 1e6:.0f} MB",
        "1",
    )


def agent_root(root: Path, *, others: int) -> tuple[tuple[str, str], ...]:
    """A memory of two full files and `others` more; as environment of the hook."""
    (root / "memory" / "system").mkdir(parents=True)
    line = "Ada said that Ærø's ferry leaves at 07:40 – on weekdays only.\n"
    for name in ("index.md", "system/definition.md"):
        (root / "memory" / name).write_text((line * 400)[:16_000], encoding="utf-8")
    for number in range(others):
        if number % 1000 == 0:
            (root / "memory" / f"d{number // 1000}").mkdir()
        (root / "memory" / f"d{number // 1000}" / f"{number}.md").touch()
    return (("PANNIER_ROOT", str(root)), ("PANNIER_SPOOL", str(root / "spool")))


def compiled_hook(folder: Path) -> str:
    package = folder / "hook"
    shutil.copytree(CHECKOUT / "hooks", package, ignore=shutil.ignore_patterns("__pycache__"))
    compile_all = ["-IS", "-m", "compileall", "-q", str(package / "pannier_hook")]
    subprocess.run(["/usr/bin/python3", *compile_all], check=True)
    return str(package / "bin" / "pannier-hook")


def runtimes(folder: Path) -> Iterator[tuple[str, str]]:
    """Node and Bun as npm packages carry them; none where npm is not to be had."""
    if not shutil.which("npm"):
        console.print("No npm here: Node and Bun are left out.")
        return
    where = folder / "npm"
    with console.status("installing node and bun"):
        subprocess.run(
            ["npm", "install", "--silent", "--prefix", str(where), "node@22", "bun@1"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    for name, binary in (("Node", "node"), ("Bun", "bun")):
        yield name, str(where / "node_modules" / ".bin" / binary)


# ---- containers -------------------------------------------------------------------------------


def container_rows(folder: Path) -> Iterator[Row]:
    """A start through pannier against docker's own with the same flags."""
    engine = Engine.find(dict(os.environ))
    images.ensure(engine, clients.get("claude"), HomeSettings())
    home = folder / "agents"
    pannier = (sys.executable, "-m", "pannier", "--home", str(home))
    Command((*pannier[:3], "init", str(home))).seconds()
    Command((*pannier, "group", "add", "scout")).seconds()
    Command((*pannier, "run", "scout", "--entrypoint", "true")).seconds()
    ours = Command((*pannier, "run", "scout", "--entrypoint", "true"))
    theirs = Command(docker_run(engine, Home(home)))
    yield compare(
        "pannier run of a no-op",
        ours,
        "docker run with the same flags",
        theirs,
        pairs=15,
        allowed="1.3",
    )
    bare = Command((sys.executable, "-c", "pass"))
    yield compare("pannier doctor", Command((*pannier, "doctor")), "bare Python", bare, pairs=10)
    yield compare(
        "pannier verify, five events",
        Command((*pannier, "verify", "scout")),
        "docker run with the same flags",
        theirs,
        pairs=3,
    )


def docker_run(engine: Engine, home: Home) -> tuple[str, ...]:
    """The same container as `pannier run` makes, as a command line of docker's."""
    environ = dict(os.environ)
    plan = launch.decide(home, launch.Wish("scout", entrypoint="true"), environ)
    spec = launch.specify(home, plan, environ, "run", gate=False)
    return ("docker", "run", "--rm", *_flags(spec, engine), spec.image, *spec.command)


def _flags(spec: ContainerSpec, engine: Engine) -> Iterator[str]:
    options = to_docker(spec, api_version=engine.api_version, cpus=engine.cpus)
    yield from ("--init", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true")
    yield from ("--user", spec.user, "--workdir", spec.workdir, "--network", spec.network)
    yield from ("--memory", str(spec.memory), "--memory-swap", str(spec.memory))
    yield from ("--cpus", f"{options['nano_cpus'] / 1e9:g}", "--pids-limit", str(spec.processes))
    for name, value in spec.environment.items():
        yield from ("--env", f"{name}={value}")
    for name, value in spec.labels.items():
        yield from ("--label", f"{name}={value}")
    for mount in spec.mounts:
        readonly = ",readonly" if mount.mode == "ro" else ""
        yield from ("--mount", f"type=bind,src={mount.source},dst={mount.target}{readonly}")


def command_rows() -> Iterator[Row]:
    """The command itself."""
    bare = Command((sys.executable, "-c", "pass"))
    ours = Command((sys.executable, "-m", "pannier", "--help"))
    yield compare("pannier --help", ours, "bare Python", bare, pairs=30, allowed="6")


def thread_rows(folder: Path) -> Iterator[Row]:
    """Keeping what was said costs little more than the rows; looking for it, whatever there is."""
    messages = 8_000
    with console.status("storing what was said"):
        root = folder / "threads"
        waiting = root / "waiting"
        threads.filled(waiting, messages)
        database = threads.stored(root / "stored", messages)
        few = threads.stored(root / "few", 2_000)
        many = threads.stored(root / "many", 200_000)
        size, text = threads.bytes_and_text(database)
    bare = threads.Bare(database)
    rows = "the same rows by executemany"
    yield compare(
        f"storing {messages:,} records", threads.Storing(waiting), rows, bare, pairs=7, allowed="3"
    )
    yield compare("the same, from the spool on", threads.TakingIn(waiting), rows, bare, pairs=7)
    usual = threads.usual_queries()
    beginning = (f"{usual[0][:3]}*",)
    for what, queries, allowed in (
        (f"{len(usual)} searches for words and phrases", usual, "3"),
        ("a search for the beginning of a word", beginning, ""),
    ):
        yield compare(
            f"{what}, among 200,000 messages",
            threads.Searching(many, queries),
            "among 2,000",
            threads.Searching(few, queries),
            pairs=15,
            allowed=allowed,
        )
    yield Row(
        "bytes of the database",
        "of all that was said",
        f"{size / text:.2f}",
        f"{size / 1e6:.1f} / {text / 1e6:.1f} MB",
        "2.5",
    )


def context_rows(folder: Path) -> Iterator[Row]:
    """An agent in Python works on and on in one thread."""
    calls = 2_000
    with console.status(f"an agent makes {calls:,} calls in one turn"):
        ran = context.figures(folder / "context", calls)
    what = f"an agent's turn of {calls:,} model calls: "
    millions = f"{ran.sent / 1e6:.1f} / {ran.without / 1e6:.1f} million"
    yield Row(
        f"{what}tokens sent",
        "the whole history each time",
        f"{ran.sent / ran.without:.3f}",
        millions,
    )
    yield Row(
        f"{what}largest request",
        "the model's window",
        f"{ran.largest / context.WINDOW:.2f}",
        f"{ran.largest:,} tokens",
        "1",
    )
    yield Row(
        f"{what}summaries",
        "the fewest possible",
        f"{ran.summaries / max(1, ran.least):.2f}",
        f"{ran.summaries} / {ran.least}",
    )
    yield Row(
        f"{what}share of a request that begins the next one",
        "compactions and steps of pruning apart, the least of all",
        f"{ran.steady:.2f}",
        f"with {ran.steps} steps of pruning and all summaries {ran.reused:.2f}",
        "at least 0.95",
    )
    for messages in (100, 5_000):
        before = context.history(messages)
        cases = {"nothing due": 1_000_000_000, "most compacted": context.WINDOW}
        for case, window in cases.items() if messages > 100 else [*cases.items()][:1]:
            yield compare(
                f"deciding on a request of {messages:,} messages, {case}",
                context.ours(before, folder / f"{case} {messages}", window),
                "LangChain's SummarizationMiddleware",
                context.Theirs(before),
                pairs=15,
                allowed="1.2",
            )


def learning_rows(folder: Path) -> Iterator[Row]:
    """Learning costs few calls, a quiet daemon little, an edit few bytes."""
    turns = f"{learning.TURNS:,} turns of {learning.THREADS} threads"
    for visits, how in ((8, "8 in a row in the mean"), (1, "each in another one than the last")):
        with console.status(f"learning from {turns}, {how}"):
            often = learning.used(folder / f"often {visits}", 1, visits)
            usual = learning.used(folder / f"usual {visits}", 5, visits)
        for what, ours, theirs in (
            ("model calls", usual.calls, often.calls),
            ("tokens", usual.tokens, often.tokens),
        ):
            yield Row(
                f"learning from {turns}, {how}: {what}",
                "extraction after every turn",
                f"{ours / theirs:.2f}",
                f"{ours:,} / {theirs:,}",
            )
    with console.status("a daemon with 10 groups, one with 1,000"):
        few = learning.daemon(folder / "ten", 10, 10, quiet=30.0)
        many = learning.daemon(folder / "thousand", 1_000, 10, quiet=30.0)
    daemon = "a daemon with 1,000 groups, 10 of them active: "
    yield Row(
        f"{daemon}processor while nothing happens",
        "with 10 groups",
        f"{many.cpu / max(few.cpu, 0.0001):.1f}",
        f"{many.cpu * 100:.2f} / {few.cpu * 100:.2f} %",
    )
    yield Row(
        f"{daemon}memory",
        "with 10 groups",
        f"{many.memory / few.memory:.2f}",
        f"{many.memory / 1e6:.0f} / {few.memory / 1e6:.0f} MB",
    )
    yield Row(
        f"{daemon}from the fifth turn to the question about it",
        "with 10 groups",
        f"{many.starts / few.starts:.2f}",
        f"{many.starts:.1f} / {few.starts:.1f} s",
    )
    changed, whole = learning.changed(folder / "changed")
    yield Row(
        "bytes of MEMORY.md that change when a lesson is added to 100",
        "all of its bytes",
        f"{changed / whole:.4f}",
        f"{changed} / {whole:,}",
        "0.02",
    )


def size_rows(folder: Path) -> Iterator[Row]:
    """What an installation takes."""
    venv = folder / "venv"
    with console.status("installing the wheel"):
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        empty = _size(venv)
        pip = [str(venv / "bin" / "pip"), "install", "--quiet", "--no-compile"]
        subprocess.run([*pip, str(CHECKOUT)], check=True)
        installed = _size(venv)
    own = _size(next(venv.glob("lib/python*/site-packages/pannier"))) + _size(
        next(venv.glob("lib/python*/site-packages/pannier_hook"))
    )
    yield Row(
        "installed size, with what it needs",
        "an empty venv",
        f"{installed / empty:.2f}",
        f"{(installed - empty) / 1e6:.1f} MB more",
    )
    yield Row(
        "installed size of pannier itself",
        "all that is installed with it",
        f"{own / (installed - empty):.2f}",
        f"{own / 1e6:.2f} MB",
    )


def _size(folder: Path) -> int:
    return sum(p.lstat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())


# ---- showing ----------------------------------------------------------------------------------

HEADER = ("what", "against", "ratio", "absolute", "at most")


def show(rows: list[Row]) -> None:
    table = Table(*HEADER)
    for row in rows:
        table.add_row(row.what, row.against, row.ratio, row.absolute, row.allowed)
    Console().print(table)


def page(rows: list[Row]) -> str:
    """docs/bench.md."""
    lines = [
        "# Bench",
        "",
        "<!-- Made by make bench. Do not edit. -->",
        "",
        f"Python {platform.python_version()}, {os.cpu_count()} processors, "
        f"Linux {platform.release()}. Medians of pairs that were run in turn.",
        "",
        "| " + " | ".join(HEADER) + " |",
        "|---|---|---:|---:|---:|",
    ]
    for row in rows:
        cells = (row.what, row.against, row.ratio, row.absolute, row.allowed)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


if __name__ == "__main__":
    sys.exit(main())
