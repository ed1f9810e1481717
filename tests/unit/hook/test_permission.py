"""What the hook lets pass when a client is about to ask a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier_hook.permission import is_in, tidies

from .conftest import World

MEMORY = "/nowhere/agent/memory"
ALLOWED = b'{"behavior":"allow"}\n'


def _ask(world: World, tool: str, **given: str) -> bytes:
    told: dict[str, object] = {"sessionId": "s", "toolName": tool, "toolInput": given}
    answer = world.run("permission-request", "--client", "copilot", stdin=told)
    assert (answer.status, answer.errors) == (0, [])
    return answer.out


def test_memory_is_edited_without_asking(world: World) -> None:
    """A file of the memory may be written, be it there or not, and the memory tidied up."""
    memory = world.root / "memory"
    assert _ask(world, "edit", file_path=f"{memory}/index.md", diff="…") == ALLOWED
    assert _ask(world, "edit", file_path=f"{memory}/people/größe (1).md") == ALLOWED
    assert _ask(world, "bash", command=f"rm -rf {memory}/old") == ALLOWED


def test_nothing_else_is_decided(world: World) -> None:
    """Of other files, tools and commands the hook says nothing: the client decides as ever."""
    memory = world.root / "memory"
    assert _ask(world, "edit", file_path=str(world.root / "files" / "a")) == b""
    assert _ask(world, "edit", path=f"{memory}/index.md") == b""
    assert _ask(world, "view", file_path=f"{memory}/index.md") == b""
    assert _ask(world, "bash", command=f"cat {memory}/index.md") == b""


@pytest.mark.parametrize("told", [b"", b"{}", b'{"toolName":"edit","toolInput":"x"}', b"[", b"[]"])
def test_odd_input(world: World, told: bytes) -> None:
    """Whatever the client says, the hook allows nothing by mistake and ends well."""
    answer = world.run("permission-request", "--client", "copilot", stdin=told)
    assert (answer.status, answer.out) == (0, b"")


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (f"mkdir -p {MEMORY}/people", True),
        (f"mv {MEMORY}/a.md {MEMORY}/people/a.md", True),
        (f"rm -r -f {MEMORY}/old", True),
        (f"mv -t {MEMORY}/people {MEMORY}/a", True),
        (f"rm -rf {MEMORY}/", False),
        (f"rm -rf {MEMORY}", False),
        (f"rm {MEMORY}/a /workspace/agent/files/b", False),
        (f"rm {MEMORY}/a b", False),
        (f"rm {MEMORY}/../files/b", False),
        (f"rm {MEMORY}/*", False),
        (f"rm {MEMORY}/$(id)", False),
        (f"rm {MEMORY}/a && id", False),
        (f"rm {MEMORY}/a; id", False),
        (f"rm {MEMORY}/a\nid", False),
        (f"rm {MEMORY}/a > b", False),
        (f"mv {MEMORY}/a -t/tmp", False),
        (f"mv --target-directory=/tmp {MEMORY}/a", False),
        (f"rm  {MEMORY}/a", False),
        (f"rmx {MEMORY}/a", False),
        (f"cat {MEMORY}/a", False),
        ("rm", False),
        ("rm -rf", False),
        ("", False),
    ],
)
def test_tidying(command: str, allowed: bool) -> None:
    """Only a command that clearly touches nothing but the memory passes."""
    assert tidies(command, MEMORY) is allowed


@given(st.text(alphabet="ab/.-_ \n", max_size=12))
def test_no_path_leads_out(rest: str) -> None:
    """What passes names, after all detours, something below the memory."""
    path = f"{MEMORY}/{rest}"
    if is_in(path, MEMORY):
        parts = path[len(MEMORY) + 1 :].split("/")
        assert parts
        assert not {"", ".", ".."} & set(parts)


def test_links_lead_nowhere(tmp_path: Path) -> None:
    """What is or lies behind a link is somewhere else."""
    memory = tmp_path / "memory"
    (memory / "real").mkdir(parents=True)
    (memory / "folder").symlink_to(tmp_path)
    (memory / "file").symlink_to(tmp_path / "elsewhere")
    assert is_in(f"{memory}/real/new/a.md", str(memory))
    assert not is_in(f"{memory}/folder/a.md", str(memory))
    assert not is_in(f"{memory}/file", str(memory))


@pytest.mark.parametrize("path", ["", "memory/a", MEMORY, f"{MEMORY}-other/a", f"{MEMORY}/\0"])
def test_other_paths(path: str) -> None:
    """A path elsewhere, a relative one, and the folder itself do not pass."""
    assert not is_in(path, MEMORY)
