"""The command line and the environment, read once."""

from __future__ import annotations

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = "/workspace/agent"
SPOOL = "/run/pannier/spool"

_TAKES_VALUE = ("--client", "--part", "--root", "--spool", "--source", "--entry")


def environment() -> dict[str, str]:
    """The environment, without `os`: importing that would cost a tenth of Python's own start."""
    return {_text(name): _text(value) for name, value in posix.environ.items()}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


class Options:
    """What the hook was called with. `command` is what follows `--`; `rest` are other words.

    `context` is the JSON of the settings for it, "" for the defaults (`tuning.VARIABLE`).
    `entry` is the version of pannier that wrote the client's settings: by it pannier tells its own
    entries from a person's.
    """

    __slots__ = (
        "_inbox",
        "client",
        "command",
        "context",
        "entry",
        "event",
        "home",
        "part",
        "rest",
        "root",
        "silent",
        "source",
        "spool",
        "task",
        "thread",
    )

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.event = ""
        self.client = ""
        self.source = ""
        self.entry = ""
        self.part: tuple[int, int] | None = None
        self.rest: tuple[str, ...] = ()
        self.command: tuple[str, ...] = ()
        self.root = environ.get("PANNIER_ROOT") or ROOT
        self.spool = environ.get("PANNIER_SPOOL") or SPOOL
        self._inbox = environ.get("PANNIER_INBOX") or ""
        self.context = environ.get("PANNIER_CONTEXT") or ""
        self.home = environ.get("HOME") or ""
        self.thread = environ.get("PANNIER_THREAD") or "main"
        self.task = environ.get("PANNIER_TASK") == "1"
        self.silent = environ.get("PANNIER_SILENT") == "1"

    @property
    def inbox(self) -> str:
        """The folder through which the sidecar reaches the agent; beside the spool by default."""
        return self._inbox or f"{self.spool.rstrip('/').rpartition('/')[0]}/inbox"

    def read(self, words: Sequence[str]) -> None:
        """Read the command line `words`. Raises ValueError for what is not understood.

        What came before the mistake is kept: the report of it needs the spool.
        """
        waiting = list(words)
        rest: list[str] = []
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                self.command = tuple(waiting)
                break
            name, equals, value = word.partition("=")
            if name in _TAKES_VALUE:
                if not equals:
                    if not waiting:
                        raise ValueError(f"{name} needs a value")
                    value = waiting.pop(0)
                self._set(name, value)
            elif word.startswith("--"):
                raise ValueError(f"no such option: {word}")
            elif not self.event:
                self.event = word
            else:
                rest.append(word)
        self.rest = tuple(rest)

    def _set(self, name: str, value: str) -> None:
        if name == "--part":
            self.part = _part(value)
        elif value:
            setattr(self, name[2:], value)


def _part(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    try:
        part = (int(number), int(count))
    except ValueError:
        part = (0, 0)
    if not 1 <= part[0] <= part[1] <= 99:
        raise ValueError(f"--part wants I/N with 1 <= I <= N <= 99, not {text!r}")
    return part
