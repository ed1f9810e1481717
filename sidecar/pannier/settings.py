"""`pannier.yaml` and `group.yaml`, read into typed settings. Unknown keys are refused."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pannier.errors import SettingsError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size_in_bytes(text: str) -> int:
    """`4g`, `512m`, `1.5GiB` → bytes, in powers of 1,024 as docker counts.

    Raises ValueError.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("write a size like 512m or 4g")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def _a_size(text: str) -> str:
    if size_in_bytes(text) < 64 << 20:
        raise ValueError("an agent needs 64m at least")
    return text


_HOST_NETWORK = re.compile(r"host|container:.*")


def _own_network(name: str) -> str:
    if _HOST_NETWORK.fullmatch(name):
        raise ValueError("a container of pannier shares no network namespace with another")
    return name


class Strict(BaseModel):
    """Settings: typed, frozen, no unknown key."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(Strict):
    """What one container may use."""

    memory: Annotated[str, AfterValidator(_a_size)] = Field(
        default="4g", description="Memory of one container, without swap on top."
    )
    cpus: float = Field(
        default=2.0, gt=0, description="Processors; never more than the engine has."
    )
    processes: int = Field(
        default=1024, ge=16, description="Processes and threads at the same time."
    )


class MountRequest(Strict):
    """A folder that a group asks for. The allowlist decides."""

    source: str = Field(description="Folder or file on the host; `~` is the person's home.")
    target: str = Field(description="Relative path below `/workspace/extra` in the container.")
    mode: Literal["ro", "rw"] = Field(default="ro", description="`ro` or `rw`.")


_ENVIRONMENT_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"


class GroupSettings(Strict):
    """`groups/<folder>/group.yaml`."""

    client: str = Field(default="claude", description="The agent program.")
    image: str | None = Field(
        default=None, description="An image of your own; without it, pannier's for the client."
    )
    mounts: tuple[MountRequest, ...] = Field(
        default=(), description="Extra mounts; each must be granted by the allowlist."
    )
    limits: Limits = Field(default=Limits(), description="What one container may use.")
    workdir: str = Field(
        default="/workspace/agent/files",
        pattern=r"^/",
        description="Working directory in the container.",
    )
    env_from: tuple[Annotated[str, Field(pattern=_ENVIRONMENT_NAME)], ...] = Field(
        default=(),
        description="Names of variables that are handed on from the environment of `pannier`.",
    )
    network: Annotated[str, AfterValidator(_own_network)] = Field(
        default="bridge", description="An engine network, or `none`."
    )
    autostart: bool = Field(
        default=False, description="`pannier serve` keeps a container of this group up."
    )
    enforce: Literal["report", "stop"] = Field(
        default="report",
        description="What `pannier serve` does with a container that has a mount which it would "
        "not get any more: say so, or also stop it.",
    )


class HomeSettings(Strict):
    """`pannier.yaml`."""

    base_image: str = Field(
        default="debian:bookworm-slim", description="What pannier's agent images are built on."
    )


Settings = TypeVar("Settings", bound=Strict)


def load(file: Path, model: type[Settings]) -> Settings:
    """Read one settings file. An empty or missing file means the defaults.

    Raises SettingsError, with the file, the setting and the nearest known name.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return model()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
    return parse(text, model, str(file))


def parse(text: str, model: type[Settings], name: str) -> Settings:
    """The same from a text. `name` stands in the error."""
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "is not YAML"
        raise SettingsError(f"{name}{place}: {problem}") from error
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise SettingsError(f"{name}: should hold `name: value` lines")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _explain(error, model, name) from None


def _explain(error: ValidationError, model: type[BaseModel], name: str) -> SettingsError:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        what = first["msg"].removeprefix("Value error, ")
        return SettingsError(": ".join(filter(None, (name, where, what))))
    fields = _fields_at(model, first["loc"][:-1])
    known = [field.alias or name for name, field in fields.items()]
    near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Known here: {', '.join(known)}."
    return SettingsError(f"{name}: {where} is not a setting", hint)


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> dict[str, Any]:
    for part in loc:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        inner = [annotation, *getattr(annotation, "__args__", ())]
        model = next(t for t in inner if isinstance(t, type) and issubclass(t, BaseModel))
    return model.model_fields
