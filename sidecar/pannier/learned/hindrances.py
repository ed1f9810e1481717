"""What keeps lessons from being drawn, as far as can be seen without asking a model. Reads only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec

from pannier import groups
from pannier.errors import PannierError
from pannier.learning.models.asking import AskError
from pannier.learning.models.choosing import chosen
from pannier.learning.store.steps import check, database_url
from pannier.paths import Home
from pannier.settings import CLIENT, LearningSettings


def of_home(home: Home, environ: Mapping[str, str]) -> PannierError | None:
    """What holds for every group; None: nothing is in the way."""
    if find_spec("dbos") is None or find_spec("langchain") is None:
        return PannierError(
            "the packages for learning are not installed", "Run: pip install 'pannier[learning]'"
        )
    if home.state.exists() and not os.access(home.state, os.W_OK):
        return PannierError(
            f"{home.state} cannot be written", "Look at the disk, and at the folder's rights."
        )
    try:
        url = database_url(groups.home_settings(home).learning, environ)
        if url is None:
            check(home)
    except PannierError as error:
        return error
    return None


def of_group(settings: LearningSettings, environ: Mapping[str, str]) -> AskError | None:
    """Why the group's model could not be asked from here; None: perhaps it can."""
    if settings.model in (None, CLIENT):
        return None
    try:
        chosen(settings, environ)
    except AskError as error:
        return error
    return None
