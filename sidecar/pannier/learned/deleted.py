"""Deleting a thread, with what was learned there and is in no lesson."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from pannier import groups
from pannier.errors import PannierError
from pannier.learning.forgetting.removal import Place, sweep
from pannier.learning.store import learning_file, steps
from pannier.learning.store.locks import only_one
from pannier.paths import Home
from pannier.threads import delete as threads
from pannier.threads.delete import Deleted
from pannier.threads.store import open_store, threads_file


def delete(home: Home, environ: Mapping[str, str], ref: str) -> Deleted:
    """Erase a thread, its summary, and the candidates that were found in it.

    Lessons stay, as `pannier learned forget --thread` is for them. Raises as `threads.delete`;
    what of learning cannot be removed is named in `kept`.
    """
    done = threads.delete(home, environ, ref)
    why = _swept(home, environ, done.plan.thread.grp)
    return replace(done, kept=(*done.kept, f"what was learned from it: {why}")) if why else done


def _swept(home: Home, environ: Mapping[str, str], grp: str) -> str:
    """Why something of it stays; "" if nothing does."""
    if not learning_file(home, environ).exists():
        return ""
    try:
        url = steps.database_url(groups.home_settings(home).learning, environ)
        with only_one(home, grp), open_store(threads_file(home, environ)) as store:
            sweep(Place(home, environ, grp, url), store, time.time())
    except PannierError as error:
        return f"{error.message} (it goes when lessons are drawn next)"
    return ""
