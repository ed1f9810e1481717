"""With what a worker of a home draws lessons: its settings, its models, its clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pannier import groups
from pannier.client_asker import ClientAsker
from pannier.errors import PannierError
from pannier.groups import Group
from pannier.learning.models.asking import Asker, AskError
from pannier.learning.models.budget import Budgeted
from pannier.learning.models.choosing import chosen
from pannier.learning.store import learning_file, open_learning
from pannier.learning.work.means import Means
from pannier.paths import Home
from pannier.settings import LearningSettings

_WINDOW = 200_000
"""Tokens of the window of an agent's model, where nobody says how many."""

AskClient = Callable[[str], Asker]
"""The client of a group, to be asked as a model."""


def equipped(
    home: Home,
    environ: Mapping[str, str],
    *,
    now: Callable[[], float] = time.time,
    client: AskClient | None = None,
) -> Means:
    """Settings are read anew whenever they are asked for. `now`: seconds since 1970; `client`
    asks something else in the place of a group's own client."""
    file = learning_file(home, environ)

    def all_groups() -> dict[str, LearningSettings]:
        defaults = groups.home_settings(home).learning
        read = {paths.folder: _read(home, paths.folder) for paths in home.all_groups()}
        return {
            folder: group.settings.learning.with_defaults(defaults)
            for folder, group in read.items()
            if group is not None
        }

    def asker_for(grp: str) -> Asker:
        group = _read(home, grp)
        if group is None:
            raise AskError("unset", f"the settings of {grp} cannot be read", "See: pannier doctor")
        defaults = groups.home_settings(home).learning
        settings = group.settings.learning.with_defaults(defaults)
        own = client or (lambda grp: ClientAsker(home, environ, grp, settings.window))
        asker = chosen(settings, environ, lambda: own(grp))
        return Budgeted(
            asker,
            grp,
            settings.budget,
            defaults.budget,
            lambda: open_learning(file, write=True),
            now,
        )

    def window_for(grp: str) -> int:
        group = _read(home, grp)
        return (group.settings.context.window if group else None) or _WINDOW

    return Means(home, environ, now, all_groups, asker_for, window_for)


def _read(home: Home, folder: str) -> Group | None:
    """None: its settings cannot be read; whoever looks after the group says why."""
    try:
        return groups.get(home, folder)
    except (PannierError, OSError):
        return None
