"""`pannier image`: the images of the agent programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

import click

from pannier.cli.context import Context
from pannier.cli.progress import Mode, build_progress
from pannier.clients import CLIENTS, get
from pannier.engine import Engine, images
from pannier.errors import HomeNotFound, PannierError
from pannier.paths import Home
from pannier.settings import HomeSettings, load
from pannier.shown import shown


@click.group()
def command() -> None:
    """Build and list the images of the agent programs.

    \b
    Example:
      pannier image build claude
      pannier image list
    """


@command.command()
@click.argument("clients", metavar="CLIENT...", nargs=-1, required=True)
@click.option("--base", metavar="IMAGE", help="What to build on; else base_image in pannier.yaml.")
@click.option("--no-cache", is_flag=True, help="Build every step again, with today's packages.")
@click.option(
    "--progress",
    type=click.Choice(["auto", "plain"]),
    default="auto",
    help="auto: the current step; plain: all that docker prints.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be built, and build nothing.")
@click.pass_obj
def build(
    context: Context,
    clients: tuple[str, ...],
    base: str | None,
    no_cache: bool,
    progress: str,
    dry_run: bool,
) -> None:
    """Build the image of each CLIENT, and what it stands on.

    Behind a proxy with its own certificate authority, SSL_CERT_FILE names the certificates.

    \b
    Example:
      pannier image build claude codex
      pannier image build claude --base debian:trixie-slim
    """
    own = _settings(context)
    settings = own if base is None else own.model_copy(update={"base_image": base})
    plans = [images.plan(get(name), settings) for name in dict.fromkeys(clients)]
    engine = Engine.find(context.environ)
    if dry_run:
        for tag in dict.fromkeys(recipe.tag for todo in plans for recipe in todo):
            there = engine.has_image(tag) and not no_cache
            context.say(f"{tag}  {'is there' if there else 'would be built'}")
        return
    for todo in plans:
        with build_progress(context, cast(Mode, progress)) as show:
            images.build(engine, todo, show, no_cache=no_cache)
        context.say(todo[-1].tag)
    if settings.base_image != own.base_image:
        context.tell(f"To run on it: base_image: {base} in pannier.yaml.")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def list_(context: Context, as_json: bool) -> None:
    """List the agent images that the engine has.

    \b
    Example:
      pannier image list --json
    """
    settings = _settings(context)
    tags: set[str] = set()
    for client in CLIENTS.values():
        try:
            tags.add(images.tag_for(client, settings))
        except PannierError:  # no Dockerfile for it in this installation
            continue
    found = images.built(Engine.find(context.environ), frozenset(tags), settings.base_image)
    if as_json:
        context.print_json([asdict(image) for image in found])
        return
    if not found:
        context.say("No agent image yet. Build one: pannier image build claude")
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("IMAGE", "CLIENT", "HOOK", "SIZE", "CREATED", "", box=None, pad_edge=False)
    for image in found:
        size = f"{image.size / 1e6:,.0f} MB"
        state = "older" if image.older else ""
        columns = (image.tag, image.client, image.hook, size, image.created, state)
        table.add_row(*(Text(shown(column)) for column in columns))
    context.console().print(table)
    if older := [image.tag for image in found if image.older]:
        context.tell(f"Older ones can go: docker image rm {' '.join(older)}")


def _settings(context: Context) -> HomeSettings:
    """Those of the home, if we are in one: an image can be built without."""
    try:
        home: Home = context.home()
    except HomeNotFound:
        if context.home_option is not None:
            raise
        return HomeSettings()
    return load(home.settings, HomeSettings)
