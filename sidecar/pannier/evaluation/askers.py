"""Whom a trial asks: a model by its name, or a scripted one."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from pannier.errors import PannierError
from pannier.evaluation.careless import Careless
from pannier.evaluation.material import Material
from pannier.evaluation.perfect import Perfect
from pannier.learning.models.asking import Asker, AskError
from pannier.learning.models.choosing import chosen
from pannier.settings import LearningSettings


def askers(material: Material) -> Mapping[str, Asker]:
    """The scripted ones, by name."""
    return {"perfect": Perfect(material), "careless": Careless(material)}


def asker_for(
    model: str,
    base_url: str | None,
    key_from: str | None,
    window: int | None,
    environ: Mapping[str, str],
) -> Asker:
    """A model as `init_chat_model` names it. Raises PannierError."""
    try:
        settings = LearningSettings(
            model=model, base_url=base_url, key_from=key_from, window=window
        )
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + "-".join(map(str, first["loc"])).replace("_", "-")
        raise PannierError(f"{option}: {first['msg'].removeprefix('Value error, ')}") from error
    try:
        return chosen(settings, environ)
    except AskError as error:
        if error.kind != "key":
            message = error.message.replace("learning.model: ", "--model ", 1)
            raise PannierError(message, error.hint) from error
        hint = "Put the key there, or name another variable with --key-from."
        raise PannierError(f"--model {model}: {error.message.rpartition(': ')[2]}", hint) from error
