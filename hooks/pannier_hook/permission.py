"""What the agent may do to its memory without anybody being asked, where the client's own rules
cannot say it (Copilot CLI: a rule of its managed settings makes everything else be asked).

Files in the memory may be written, and tidied up by one command at a time of which every path lies
in the memory and is written out. Of anything else nothing is said, so the client decides as ever.
"""

from __future__ import annotations

import posix
from _stat import S_ISLNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import Options
    from .request import Request

ALLOW = '{"behavior":"allow"}\n'

_TIDYING = frozenset({"mkdir", "mv", "rm", "rmdir"})
_PLAIN = frozenset("-_./ ")


def permission_request(options: Options) -> str:
    """What to print when the client is about to ask a person: that it may, or ""."""
    from .request import read_request

    request = read_request()
    return ALLOW if allowed(request, f"{options.root}/memory") else ""


def allowed(request: Request, memory: str) -> bool:
    """Whether what the client is about to ask about touches only files in the folder `memory`."""
    given = request.inner("toolInput")
    tool = request.text("toolName")
    if tool == "edit":
        return is_in(given.text("file_path"), memory)
    return tool == "bash" and tidies(given.text("command"), memory)


def is_in(path: str, memory: str) -> bool:
    """Whether `path` is absolute, without detours, below `memory`, and leads through no link."""
    if not path.startswith(f"{memory}/"):
        return False
    at = memory
    for name in path[len(memory) + 1 :].split("/"):
        if name in ("", ".", ".."):
            return False
        at = f"{at}/{name}"
        try:
            if S_ISLNK(posix.lstat(at).st_mode):
                return False
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return False
    return True


def tidies(command: str, memory: str) -> bool:
    """Whether a shell would run one command that changes nothing outside of `memory`."""
    if not all(char.isalnum() or char in _PLAIN for char in command):
        return False
    name, *words = command.split(" ")
    paths = [word for word in words if not _is_option(word)]
    return name in _TIDYING and bool(paths) and all(is_in(path, memory) for path in paths)


def _is_option(word: str) -> bool:
    """Letters only: no option with a path in it."""
    return word[:1] == "-" and word[1:].isalpha()
