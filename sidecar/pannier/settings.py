"""`pannier.yaml` and `group.yaml`, read into typed settings. Unknown keys are refused."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from pannier.errors import SettingsError, reason
from pannier.shown import brief
from pannier.yamltext import load_yaml
from pannier_hook import tuning

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size_in_bytes(text: str) -> int:
    """`4g`, `512m`, `1.5GiB` → bytes, in powers of 1,024 as docker counts.

    Raises ValueError.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("write a size like 512m or 4g")
    size = float(match[1]) * _UNITS[match[2].lower()]
    if size > _LARGEST:
        raise ValueError("no machine has so much; write a size like 512m or 4g")
    return int(size)


_LARGEST = 1 << 50


def _a_size(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("write a size like 512m or 4g")
    if size_in_bytes(value) < 64 << 20:
        raise ValueError("an agent needs 64m at least")
    return value


_NETWORK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _own_network(name: str) -> str:
    if name == "host" or name.startswith("container:"):
        raise ValueError("a container of pannier shares no network namespace with another")
    if not _NETWORK.fullmatch(name):
        raise ValueError("write the name of an engine network")
    return name


FOR_AGENTS = frozenset({"PANNIER_MODEL", "PANNIER_CHECKPOINTS"})
"""Variables of pannier's own that are a person's to set: the agent in Python reads them."""
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _can_be_handed_on(name: str) -> str:
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise ValueError(f"{brief(name, 40)!r} cannot name a variable")
    ours = name.startswith("PANNIER_") and name not in FOR_AGENTS
    if name in ("HOME", "PATH") or ours:
        raise ValueError(f"{name} is the image's own, and is not handed on")
    return name


def _absolute(path: str) -> str:
    if not path.startswith("/") or not path.isprintable():
        raise ValueError("write an absolute path in the container")
    return path


class Strict(BaseModel):
    """Settings: typed, frozen, no unknown key. A section in which nothing stands, such as one with
    all its lines commented out, has its defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_sections(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {
            name: value for name, value in data.items() if value is not None or cls._is_single(name)
        }

    @classmethod
    def _is_single(cls, name: object) -> bool:
        """Whether this is no section: a single value, or no setting at all."""
        field = cls.model_fields.get(name) if isinstance(name, str) else None
        default = field.get_default(call_default_factory=True) if field else None
        return not isinstance(default, (Strict, dict, tuple))


class Limits(Strict):
    """What one container may use."""

    memory: Annotated[str, BeforeValidator(_a_size)] = Field(
        default="4g", description="Memory of one container, without swap on top."
    )
    cpus: float = Field(
        default=2.0,
        ge=0.01,  # the kernel's smallest share: 1 ms of 100 (cpu.cfs_quota_us)
        allow_inf_nan=False,
        description="Processors; never more than the engine has.",
    )
    processes: int = Field(
        default=1024,
        ge=16,
        le=1 << 22,  # the kernel's own limit (proc(5): pid_max)
        description="Processes and threads at the same time.",
    )


class MountRequest(Strict):
    """A folder that a group asks for. The allowlist decides."""

    source: str = Field(description="Folder on the host; `~` is the person's home.")
    target: str = Field(description="Relative path below `/workspace/extra` in the container.")
    mode: Literal["ro", "rw"] = Field(default="ro", description="`ro` or `rw`.")


class Conversations(Strict):
    """How long the readable transcripts in `conversations/` are kept."""

    keep_days: int | None = Field(
        default=365,
        ge=1,
        le=36_500,
        description="Days after its last change for which a file is kept; null: for ever.",
    )
    keep: int | None = Field(
        default=500, ge=1, le=100_000, description="How many files are kept; null: all."
    )


class Pruning(Strict):
    """What becomes of large tool results before the model is asked again."""

    trim_tool_results: bool = Field(default=True, description="`false` switches pruning off.")
    soft_trim_chars: int = Field(
        default=tuning.SOFT_TRIM_CHARS,
        ge=tuning.LEAST["pruning.soft_trim_chars"],
        description="Of a longer result the beginning and the end are kept, in characters.",
    )
    hard_clear_threshold: int = Field(
        default=tuning.HARD_CLEAR_THRESHOLD,
        ge=tuning.LEAST["pruning.hard_clear_threshold"],
        description="A longer result becomes a note, in characters.",
    )
    protect_recent: int = Field(
        default=tuning.PROTECT_RECENT,
        ge=tuning.LEAST["pruning.protect_recent"],
        description="The last so many tool messages are left as they are.",
    )


_DURATION = re.compile(r"(\d{1,4})(m|h|d)")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}


def seconds_of(duration: str) -> int:
    """`30m`, `12h`, `2d` → seconds. Raises ValueError."""
    match = _DURATION.fullmatch(duration)
    if not match or not int(match[1]):
        raise ValueError("write a time like 30m, 12h or 2d")
    return int(match[1]) * _SECONDS[match[2]]


def _a_duration(value: Any) -> Any:
    if value is not None and not isinstance(value, str):
        raise ValueError("write a time like 30m, 12h or 2d")
    if value is not None:
        seconds_of(value)
    return value


class Compaction(Strict):
    """When the older part of a long conversation gives way to a summary."""

    enabled: bool = Field(default=True, description="`false` switches pannier's part in it off.")
    trigger_percent: int = Field(
        default=tuning.TRIGGER_PERCENT,
        ge=tuning.LEAST["compaction.trigger_percent"],
        le=tuning.MOST["compaction.trigger_percent"],
        description="How full the context window is when it begins, in percent.",
    )
    reserve_tokens: int = Field(
        default=tuning.RESERVE_TOKENS,
        ge=tuning.LEAST["compaction.reserve_tokens"],
        description="Of the window, left for what comes next.",
    )
    keep_recent_tokens: int = Field(
        default=tuning.KEEP_RECENT_TOKENS,
        ge=tuning.LEAST["compaction.keep_recent_tokens"],
        description="Of the latest messages, kept word for word.",
    )
    min_messages: int = Field(
        default=tuning.MIN_MESSAGES,
        ge=tuning.LEAST["compaction.min_messages"],
        description="A shorter conversation is not compacted, unless it would not fit any more.",
    )
    idle_after: Annotated[str | None, BeforeValidator(_a_duration)] = Field(
        default=None,
        description="`pannier serve` compacts a thread in which nothing was said for so long, such "
        "as `12h`. It costs a model call; null: never.",
    )


class SpillBuffer(Strict):
    """Tool results that are too large for a context go into a file."""

    enabled: bool = Field(default=True, description="`false` switches it off.")
    default_threshold: int = Field(
        default=tuning.DEFAULT_THRESHOLD,
        ge=tuning.LEAST["spill_buffer.default_threshold"],
        description="A larger result goes into a file, in bytes of UTF-8.",
    )
    thresholds: dict[str, Annotated[int, Field(ge=tuning.LEAST_THRESHOLD)]] = Field(
        default_factory=dict,
        description="The same for tools by their name, or for a kind of them: `search` (20,000 "
        "unless said here) and `shell` (100,000).",
    )
    keep_days: int = Field(
        default=tuning.KEEP_DAYS,
        ge=tuning.LEAST["spill_buffer.keep_days"],
        le=tuning.MOST["spill_buffer.keep_days"],
        description="Days for which a file is kept.",
    )
    keep_size: Annotated[str, BeforeValidator(_a_size)] = Field(
        default="1g", description="Of all such files of the group; the oldest go first."
    )


class ContextSettings(Strict):
    """What is done so that a long conversation fits the model's context window.

    Also read as Mycel writes it: `memory: {pruning, compaction}` and `tools: {spill_buffer}`.
    """

    window: int | None = Field(
        default=None,
        ge=tuning.LEAST["window"],
        description="Tokens that the model takes; null: as many as the client, or the model's "
        "profile, says.",
    )
    pruning: Pruning = Field(default=Pruning(), description="Large results of tools.")
    compaction: Compaction = Field(default=Compaction(), description="Summaries.")
    spill_buffer: SpillBuffer = Field(
        default=SpillBuffer(), description="Results that go into a file."
    )

    @model_validator(mode="before")
    @classmethod
    def _as_mycel_writes_it(cls, data: Any) -> Any:
        return tuning.flattened(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _fits_together(self) -> ContextSettings:
        problem = tuning.contradiction(
            soft_trim_chars=self.pruning.soft_trim_chars,
            hard_clear_threshold=self.pruning.hard_clear_threshold,
            window=self.window,
            trigger_percent=self.compaction.trigger_percent,
            reserve_tokens=self.compaction.reserve_tokens,
            keep_recent_tokens=self.compaction.keep_recent_tokens,
        )
        if problem:
            raise ValueError(problem)
        return self

    def variable(self) -> str:
        """The value of `PANNIER_CONTEXT` in a container: JSON; "" if all is as by default.

        Without `idle_after`, which is the daemon's alone.
        """
        said = self.model_dump(exclude_defaults=True, exclude={"compaction": {"idle_after"}})
        said = {name: value for name, value in said.items() if value != {}}
        return json.dumps(said, separators=(",", ":")) if said else ""


class GroupSettings(Strict):
    """`groups/<folder>/group.yaml`."""

    client: str = Field(default="claude", min_length=1, description="The agent program.")
    image: str | None = Field(
        default=None,
        min_length=1,
        description="An image of your own; without it, pannier's for the client.",
    )
    mounts: tuple[MountRequest, ...] = Field(
        default=(), description="Extra mounts; each must be granted by the allowlist."
    )
    limits: Limits = Field(default=Limits(), description="What one container may use.")
    workdir: Annotated[str, AfterValidator(_absolute)] = Field(
        default="/workspace/agent/files", description="Working directory in the container."
    )
    env_from: tuple[Annotated[str, AfterValidator(_can_be_handed_on)], ...] = Field(
        default=(),
        description="Names of variables that are handed on from the environment of `pannier`.",
    )
    network: Annotated[str, AfterValidator(_own_network)] = Field(
        default="bridge", description="An engine network, or `none`."
    )
    autostart: bool = Field(
        default=False, description="`pannier serve` keeps a container of this group up."
    )
    conversations: Conversations = Field(
        default=Conversations(),
        description="The transcripts that the agent can read. What was said stays stored whatever "
        "is removed here.",
    )
    context: ContextSettings = Field(
        default=ContextSettings(),
        description="What is done so that long conversations fit the context window "
        "([context](context.md)).",
    )
    enforce: Literal["report", "stop"] = Field(
        default="report",
        description="What `pannier serve` does with a container that has a mount which it would "
        "not get any more: say so, or also stop it.",
    )


class HomeSettings(Strict):
    """`pannier.yaml`."""

    base_image: str = Field(
        default="debian:bookworm-slim",
        min_length=1,
        description="What pannier's agent images are built on.",
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
        raise SettingsError(f"{file} cannot be read: {reason(error)}") from error
    return parse(text, model, str(file))


def parse(text: str, model: type[Settings], name: str) -> Settings:
    """The same from a text. `name` stands in the error."""
    data = load_yaml(text, name)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise SettingsError(f"{name}: should hold `name: value` lines")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _explain(error, model, name, data) from None


# How pydantic's kinds of error are said of a file; of the others, its own words.
_WORDS = {
    "bool_parsing": "should be true or false",
    "bool_type": "should be true or false",
    "float_parsing": "should be a number",
    "float_type": "should be a number",
    "int_from_float": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_parsing_size": "should be a whole number",
    "int_type": "should be a whole number",
    "missing": "is missing",
    "model_type": "should hold `name: value` lines",
    "string_too_short": "should not be empty",
    "tuple_type": "should be a list",
}


def what_is_wrong(error: ValidationError) -> str:
    """The first thing that a model refused, in words for a person; no value is shown."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "string_type":
        quotes = isinstance(first["input"], (int, float))
        return f"should be text{', so put it in quotes' if quotes else ''}"
    said = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return _WORDS.get(first["type"], said)


def _explain(
    error: ValidationError, model: type[BaseModel], name: str, data: dict[str, Any]
) -> SettingsError:
    first = error.errors(include_url=False)[0]
    where = brief(".".join(str(part) for part in _as_written(data, first["loc"])), 100)
    if first["type"] != "extra_forbidden":
        return SettingsError(": ".join(filter(None, (name, where, what_is_wrong(error)))))
    fields = _fields_at(model, first["loc"][:-1])
    known = [field.alias or name for name, field in fields.items()]
    near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Known here: {', '.join(known)}."
    return SettingsError(f"{name}: {where} is not a setting", hint)


def _as_written(data: Any, loc: tuple[int | str, ...]) -> Iterator[int | str]:
    """Where it stands in the file: maybe below one of Mycel's outer names."""
    for part in loc:
        if isinstance(data, dict) and part not in data:
            for outer in tuning.OUTER:
                inner = data.get(outer)
                if isinstance(inner, dict) and part in inner:
                    data = inner
                    yield outer
                    break
        yield part
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            data = None


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> dict[str, Any]:
    for part in loc:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation
        inner = [annotation, *getattr(annotation, "__args__", ())]
        model = next(t for t in inner if isinstance(t, type) and issubclass(t, BaseModel))
    return model.model_fields
