"""Where everything lies, on the host and in the container. Made once, passed down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pannier.errors import HomeNotFound, UsageError

MARKER = "pannier.yaml"
FOLDER = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")

# In the container (docs/architecture.md, "In the container").
AGENT_ROOT = PurePosixPath("/workspace/agent")
EXTRA_ROOT = PurePosixPath("/workspace/extra")
RUN_ROOT = PurePosixPath("/run/pannier")
CONTAINER_HOME = PurePosixPath("/home/agent")


@dataclass(frozen=True)
class GroupPaths:
    """The folders and files of one group."""

    root: Path

    @property
    def folder(self) -> str:
        return self.root.name

    @property
    def settings(self) -> Path:
        return self.root / "group.yaml"

    @property
    def standing_instructions(self) -> Path:
        return self.root / "instructions.prepend.md"

    @property
    def memory(self) -> Path:
        return self.root / "memory"

    @property
    def learned(self) -> Path:
        return self.root / "agent-memory"

    @property
    def conversations(self) -> Path:
        return self.root / "conversations"

    @property
    def files(self) -> Path:
        return self.root / "files"

    @property
    def instructions(self) -> Path:
        return self.root / "instructions"

    @property
    def spool(self) -> Path:
        return self.root / "spool"

    @property
    def inbox(self) -> Path:
        return self.root / "inbox"

    @property
    def clients(self) -> Path:
        return self.root / "client"

    def client(self, name: str) -> Path:
        """The HOME of one client, kept from container to container."""
        return self.clients / name

    @property
    def written_by_agent(self) -> tuple[Path, ...]:
        """What a container of this group can write."""
        return (self.memory, self.files, self.clients, self.spool, self.inbox)


@dataclass(frozen=True)
class Home:
    """One pannier home: the folder that holds `pannier.yaml`, `groups/` and `state/`."""

    root: Path

    @property
    def settings(self) -> Path:
        return self.root / MARKER

    @property
    def groups(self) -> Path:
        return self.root / "groups"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def group(self, folder: str) -> GroupPaths:
        """The paths of one group.

        Raises UsageError if `folder` cannot be a group's folder.
        """
        if not FOLDER.fullmatch(folder):
            raise UsageError(
                f"{folder!r} cannot name a group",
                "Use lower-case letters, digits, '-' and '_', beginning with a letter or digit, "
                "63 at most.",
            )
        return GroupPaths(self.groups / folder)

    def all_groups(self) -> list[GroupPaths]:
        """Every folder under `groups/` that holds a `group.yaml`, by name."""
        if not self.groups.is_dir():
            return []
        found = (p for p in self.groups.iterdir() if FOLDER.fullmatch(p.name))
        return [GroupPaths(p) for p in sorted(found) if _holds_settings(p)]


def _holds_settings(folder: Path) -> bool:
    """One that cannot be looked into counts: whoever reads its settings says what is wrong."""
    try:
        return (folder / "group.yaml").is_file()
    except PermissionError:
        return True


def find_home(option: str | None, environ: Mapping[str, str], cwd: Path) -> Home:
    """The home: `--home`, else `PANNIER_HOME`, else the nearest parent with `pannier.yaml`.

    A parent counts only if it was made a home by this person: an agent, too, can put a
    `pannier.yaml` into a folder that it can write, and wait for somebody to stand there.
    Raises HomeNotFound, naming what was looked at.
    """
    for name, value in (("--home", option), ("PANNIER_HOME", environ.get("PANNIER_HOME"))):
        if value:
            root = Path(value).expanduser().resolve()
            if not (root / MARKER).is_file():
                raise HomeNotFound(
                    f"{name} is {root}, which holds no {MARKER}",
                    f"Make a home there with: pannier init {root}",
                )
            return Home(root)
    known = known_homes(environ)
    found = [root.resolve() for root in (cwd, *cwd.parents) if (root / MARKER).is_file()]
    for root in found:
        if root in known:
            return Home(root)
    if found:
        raise HomeNotFound(
            f"{found[0]} holds a {MARKER}, but you did not make it a home",
            f"An agent can put one where it may write. If it is yours: pannier init {found[0]}",
        )
    raise HomeNotFound(
        f"no {MARKER} in {cwd} or a folder above it",
        "Make a home with: pannier init, or name one with --home or PANNIER_HOME.",
    )


def homes_file(environ: Mapping[str, str]) -> Path:
    """The homes that this person made, a path in a line."""
    return config_dir(environ) / "homes"


def known_homes(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """What `homes_file` says."""
    try:
        text = homes_file(environ).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(Path(line) for line in text.splitlines() if line.startswith("/"))


def in_container(environ: Mapping[str, str]) -> bool:
    """Whether this process runs in a container itself and starts others beside it.

    PANNIER_IN_CONTAINER=1, which the sidecar's image sets, says so.
    """
    return environ.get("PANNIER_IN_CONTAINER") == "1"


def config_dir(environ: Mapping[str, str]) -> Path:
    """`~/.config/pannier`, or below `XDG_CONFIG_HOME` (XDG Base Directory specification)."""
    base = environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if base.startswith("/") else person_home(environ) / ".config"
    return root / "pannier"


def allowlist_file(environ: Mapping[str, str]) -> Path:
    return config_dir(environ) / "mounts.yaml"


def person_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home())
