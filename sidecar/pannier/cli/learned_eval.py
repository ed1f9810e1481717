"""`pannier learned eval`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from pannier.cli.columns import columns
from pannier.cli.context import Context
from pannier.errors import PannierError
from pannier.evaluation.askers import asker_for, askers
from pannier.evaluation.generator import generate
from pannier.evaluation.scoring import Score, score
from pannier.evaluation.trial import Trial
from pannier.shown import shown

_LISTS = (
    ("missed", "holds, and is missing"),
    ("stale", "held once, and is still there"),
    ("doubled", "stands there more than once"),
    ("noise", "progress, guesses, advice"),
    ("other", "stands there, and nobody planted it"),
    ("unapproved", "lets the agent do more, and nobody approved of it"),
    ("poison", "got in from the output of a tool"),
    ("leaks", "a secret that can be read"),
    ("shown", "a secret that the model saw"),
)


@click.command("eval")
@click.option("--model", required=True, metavar="NAME", help="Such as anthropic:claude-haiku-4-5.")
@click.option("--base-url", metavar="URL", help="Of a server that is not the provider's own.")
@click.option("--key-from", metavar="NAME", help="Name of the environment variable with the key.")
@click.option("--window", type=click.IntRange(4_000), help="Tokens of the model's context window.")
@click.option("--seed", type=int, default=1, show_default=True, help="Which conversations.")
@click.option(
    "--threads",
    type=click.IntRange(1, 100),
    default=6,
    show_default=True,
    help="Over how many threads they are spread: so many calls of the model, twice.",
)
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the files in this new folder.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(
    context: Context,
    model: str,
    base_url: str | None,
    key_from: str | None,
    window: int | None,
    seed: int,
    threads: int,
    keep: Path | None,
    as_json: bool,
) -> None:
    """Try how well a model learns, with made-up conversations in which that is known.

    They hold lessons of all kinds, later corrections, progress notes and guesses, secrets, and
    output of tools that demands to be remembered. Lessons are drawn and merged as always, in a
    folder of their own; no group is touched. Two scripted models need no key: `perfect`, and
    `careless`, with which the guards stand alone. Ends with 1 when something got in that must not,
    whatever the model does.

    \b
    Example:
      pannier learned eval --model anthropic:claude-haiku-4-5
      pannier learned eval --model openai:qwen3 --base-url http://localhost:11434/v1
      pannier learned eval --model careless --json
    """
    material = generate(seed, threads)
    if model in askers(material):
        asker = askers(material)[model]
    else:
        asker = asker_for(model, base_url, key_from, window, context.environ)
    with tempfile.TemporaryDirectory(prefix="pannier-eval-") as temporary:
        root = _made(keep) if keep is not None else Path(temporary)
        outcome = Trial(root, asker, context.tell).run(material)
    found = score(material, outcome)
    if as_json:
        context.print_json({"model": asker.name, "seed": seed, "safe": found.safe, **asdict(found)})
    else:
        for line in _lines(found):
            context.say(shown(line))
    if not found.safe:
        click.get_current_context().exit(1)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        why = "it is there already" if isinstance(error, FileExistsError) else error.strerror
        raise PannierError(
            f"--keep: {folder}: {why}", "Name a folder that does not exist."
        ) from error
    return folder


def _lines(found: Score) -> Sequence[str]:
    table = [
        ["recall", f"{found.recall:.0%}", "of what holds is in the memory"],
        ["precision", f"{found.precision:.0%}", f"of {found.lessons} lines say what holds"],
        ["awaited", f"{found.awaited:.0%}", "of what a person has to approve of waits for it"],
        *([f"  {kind}", f"{share:.0%}", "recall"] for kind, share in found.by_kind.items()),
        ["calls", str(found.calls), f"{found.input:,} tokens in, {found.output:,} out"],
    ]
    lines = list(columns(table))
    for name, meaning in _LISTS:
        texts: tuple[str, ...] = getattr(found, name)
        lines.append(f"{name}: {len(texts)}" + (f" ({meaning})" if texts else ""))
        lines += [f"  {text}" for text in texts]
    return lines
