"""How `--dry-run` shows a start."""

from __future__ import annotations

from pannier.cli.context import Context
from pannier.launch import Plan


def show(context: Context, plan: Plan, as_json: bool) -> None:
    """The container that would be started. Values of `env_from` are not shown."""
    settings = plan.group.settings
    handed_on = (n for n in settings.env_from if n not in plan.missing)
    names = list(dict.fromkeys((*plan.environment, *handed_on)))
    if as_json:
        context.print_json(
            {
                "group": plan.group.folder,
                "client": plan.client.name,
                "image": plan.image,
                "user": str(plan.identity),
                "command": list(plan.command),
                "workdir": plan.workdir,
                "network": settings.network,
                "environment": names,
                "mounts": [
                    {"source": str(m.source), "target": str(m.target), "mode": m.mode}
                    for m in plan.mounts.mounts
                ],
            }
        )
        return
    context.say(f"Would start {plan.client.title} for group {plan.group.folder}:")
    context.say(f"  image    {plan.image}")
    context.say(f"  user     {plan.identity}")
    context.say(f"  command  {' '.join(plan.command) or '(of the image)'}")
    context.say(f"  workdir  {plan.workdir}")
    context.say(f"  network  {settings.network}")
    context.say(f"  env      {' '.join(names)}")
    for mount in plan.mounts.mounts:
        context.say(f"  mount    {mount.source} → {mount.target} ({mount.mode})")
    for refusal in plan.mounts.refused:
        context.say(f"  without  {refusal}")
