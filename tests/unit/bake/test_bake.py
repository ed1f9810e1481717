"""What `pannier bake` writes, and what it leaves alone."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pannier import bake, clients
from pannier.bake.files import FolderFiles
from pannier.bake.formats import is_settings, parse
from pannier.bake.layout import RECORD, Tree, read_record, tree
from pannier.bake.lines import Base
from pannier.bake.merge import own_commands
from pannier.clients.client import Client, Endpoint, Link
from pannier.engine.recipes import Sources, read_sources
from pannier.errors import PannierError, UsageError
from pannier_hook import VERSION
from pannier_hook.options import Options

SETTINGS = "etc/claude-code/managed-settings.json"
OWN = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "greet"}]}]}}


@pytest.fixture
def claude() -> Tree:
    return tree(clients.get("claude"), read_sources())


def decided(wanted: Tree, output: Path, *given: Path, image: Path | None = None) -> bake.Baking:
    base = FolderFiles(image) if image else None
    theirs = bake.Theirs(bake.given(wanted, given), base)
    return bake.decide(wanted, output, theirs, folder="build", base=Base())


def written(wanted: Tree, output: Path, *given: Path, image: Path | None = None) -> bake.Baking:
    baking = decided(wanted, output, *given, image=image)
    bake.write(baking)
    return baking


def settings(output: Path, path: str = SETTINGS) -> Any:
    return json.loads((output / "rootfs" / path).read_text())


def commands(data: Any) -> list[str]:
    groups = data["hooks"]["SessionStart"]
    return [entry["command"].rpartition("/")[2] for group in groups for entry in group["hooks"]]


@pytest.mark.parametrize("name", list(clients.CLIENTS))
def test_every_client_can_be_baked(name: str, tmp_path: Path) -> None:
    """All that pannier's own image has of hook and settings; a second time changes nothing."""
    client = clients.get(name)
    wanted = tree(client, read_sources())
    written(wanted, tmp_path)
    root = tmp_path / "rootfs"
    for path, content in client.baked.items():
        file = root / path.lstrip("/")
        if isinstance(content, Link):
            assert str(file.readlink()) == content.target
        else:
            assert file.read_text() == content
    assert (root / "usr/local/lib/pannier/bin/pannier-hook").stat().st_mode & 0o777 == 0o755
    assert str((root / "usr/local/bin/pannier-hook").readlink()).startswith("../lib/")
    again = decided(wanted, tmp_path)
    assert (again.files, again.stale, again.left, again.remarks) == ({}, [], [], [])


@pytest.mark.parametrize("name", list(clients.CLIENTS))
def test_every_entry_carries_its_version(name: str) -> None:
    """By that, an earlier one is told apart; the hook itself takes the option."""
    wanted = tree(clients.get(name), read_sources())
    for path, content in {**wanted.settings, **wanted.hook}.items():
        if isinstance(content, bytes) and is_settings(path):
            for command in own_commands(parse(content, path)):
                assert command.endswith(f" --entry {VERSION}")
                Options({}).read(command.split()[1:])


def test_the_hook_in_the_folder_runs(claude: Tree, tmp_path: Path) -> None:
    """As it lies, by any Python; the program's version is the package's."""
    written(claude, tmp_path)
    hook = tmp_path / "rootfs/usr/local/bin/pannier-hook"
    said = subprocess.check_output([sys.executable, "-IS", hook, "--version"], text=True)
    assert said.strip() == read_record((tmp_path / "rootfs" / RECORD).read_bytes()).version


def test_the_umask_does_not_reach_the_image(claude: Tree, tmp_path: Path) -> None:
    """Everybody reads what is written, and nobody else writes it."""
    for umask in (0o077, 0o002):
        before = os.umask(umask)
        try:
            written(claude, tmp_path / oct(umask))
        finally:
            os.umask(before)
    modes = {p.stat().st_mode & 0o777 for p in tmp_path.rglob("*") if not p.is_symlink()}
    assert modes == {0o755, 0o644}


def test_nothing_is_written_before_it_is_said(claude: Tree, tmp_path: Path) -> None:
    """To decide changes nothing."""
    decided(claude, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_merged_with(claude: Tree, tmp_path: Path) -> None:
    """A person's hook stays, ours follow."""
    file = tmp_path / "rootfs" / SETTINGS
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(OWN))
    written(claude, tmp_path)
    assert commands(settings(tmp_path))[0] == "greet"
    assert len(commands(settings(tmp_path))) == 9


def test_a_named_file_is_merged_with_and_stays_itself(claude: Tree, tmp_path: Path) -> None:
    """Its name says which file of the image it is; the result is ours, the file theirs."""
    mine = tmp_path / "managed-settings.json"
    mine.write_text(json.dumps(OWN))
    written(claude, tmp_path / "out", mine)
    assert json.loads(mine.read_text()) == OWN
    assert commands(settings(tmp_path / "out"))[0] == "greet"
    mine.write_text(json.dumps({"theme": "dark"}))
    written(claude, tmp_path / "out", mine)
    assert "greet" not in commands(settings(tmp_path / "out"))
    assert settings(tmp_path / "out")["theme"] == "dark"
    with pytest.raises(UsageError, match=r"nothing to add to a file of this name"):
        decided(claude, tmp_path / "out", tmp_path / "other.json")


def test_a_file_of_the_base_image_is_merged_with(claude: Tree, tmp_path: Path) -> None:
    """The image's, as it is now, not as it was at the last bake."""
    base = tmp_path / "base" / SETTINGS
    base.parent.mkdir(parents=True)
    for command in ("greet", "welcome"):
        base.write_text(json.dumps(OWN).replace("greet", command))
        written(claude, tmp_path / "out", image=tmp_path / "base")
        assert commands(settings(tmp_path / "out"))[0] == command
    assert len(commands(settings(tmp_path / "out"))) == 9


def test_an_edit_in_the_folder_is_never_lost(claude: Tree, tmp_path: Path) -> None:
    """It goes before the base image's; beside a named file it is left, and that is said."""
    base, mine = tmp_path / "base" / SETTINGS, tmp_path / "managed-settings.json"
    base.parent.mkdir(parents=True)
    base.write_text(json.dumps(OWN))
    mine.write_text("{}")
    out = tmp_path / "out"
    written(claude, out, image=tmp_path / "base")
    file = out / "rootfs" / SETTINGS
    file.write_text(json.dumps({**settings(out), "theme": "dark"}))
    written(claude, out, image=tmp_path / "base")
    assert settings(out)["theme"] == "dark"
    baking = written(claude, out, mine)
    assert "remove one of them" in baking.left[0].reason
    assert settings(out)["theme"] == "dark"


@pytest.mark.parametrize("text", ["{ not JSON", '{"hooks": 7}'])
def test_what_cannot_be_merged_is_left_alone(claude: Tree, tmp_path: Path, text: str) -> None:
    """Byte for byte; what is to be added by hand lies beside it until it is not needed any more."""
    file = tmp_path / "rootfs" / SETTINGS
    file.parent.mkdir(parents=True)
    file.write_text(text)
    baking = written(claude, tmp_path)
    assert file.read_text() == text
    assert baking.left[0].path == str(file)
    by_hand = tmp_path / "by-hand/managed-settings.json"
    assert len(commands(json.loads(by_hand.read_text()))) == 8
    assert (tmp_path / "rootfs/usr/local/lib/pannier/pannier_hook/main.py").is_file()
    file.unlink()
    assert written(claude, tmp_path).left == []
    assert not by_hand.exists()


def test_a_named_file_that_was_broken_for_a_while(claude: Tree, tmp_path: Path) -> None:
    """When it is mended, it is merged with again: nobody edited what lies in the folder."""
    mine, out = tmp_path / "managed-settings.json", tmp_path / "out"
    for text in (json.dumps(OWN), "{ not JSON", json.dumps({**OWN, "theme": "dark"})):
        mine.write_text(text)
        baking = written(claude, out, mine)
        assert [left.path for left in baking.left] == ([str(mine)] if "not" in text else [])
    assert settings(out)["theme"] == "dark"


def test_a_person_s_standing_instructions_stay(claude: Tree, tmp_path: Path) -> None:
    """They are no settings, so nothing is put into them."""
    file = tmp_path / "rootfs/etc/claude-code/CLAUDE.md"
    file.parent.mkdir(parents=True)
    file.write_text("Be kind.")
    baking = written(claude, tmp_path)
    assert file.read_text() == "Be kind."
    assert "a link to /run/pannier/instructions/CLAUDE.md" in baking.left[0].reason


def test_one_folder_is_for_one_client(claude: Tree, tmp_path: Path) -> None:
    """Two would answer for each other's files."""
    written(claude, tmp_path)
    with pytest.raises(UsageError, match="holds what was baked for claude"):
        decided(tree(clients.get("codex"), read_sources()), tmp_path)


def test_an_earlier_version_is_replaced(claude: Tree, tmp_path: Path) -> None:
    """Its entries, its rules, and its modules, but for what a person added."""
    old = {"permissions": {"allow": ["Bash(old)"]}, "gone": True}
    entry = {"command": "/usr/local/bin/pannier-hook session-start --client claude --entry 0.0.1"}
    old["hooks"] = {"SessionStart": [{"hooks": [entry]}]}
    before = Client(
        **{**vars(claude.client), "baked": {f"/{SETTINGS}": json.dumps(old)}}  # type: ignore[arg-type]
    )
    sources = read_sources().files | {"hooks/pannier_hook/gone.py": b""}  # type: ignore[operator]
    written(tree(before, Sources(sources)), tmp_path)
    module = tmp_path / "rootfs/usr/local/lib/pannier/pannier_hook/gone.py"
    assert module.is_file()
    edited = settings(tmp_path)
    edited["permissions"]["allow"].append("Bash(mine)")
    (tmp_path / "rootfs" / SETTINGS).write_text(json.dumps(edited))
    baking = written(claude, tmp_path)
    now = settings(tmp_path)
    assert not module.exists()
    assert baking.remarks == []
    assert "gone" not in now
    assert "Bash(old)" not in now["permissions"]["allow"]
    assert "Bash(mine)" in now["permissions"]["allow"]
    assert "0.0.1" not in json.dumps(now)
    assert len(commands(now)) == 8


def test_further_events_join_an_earlier_bake(claude: Tree, tmp_path: Path) -> None:
    """An image that registers the session's start alone gets the rest; hooks of a person's own at
    the same events stay, before ours."""
    mine = {"hooks": [{"type": "command", "command": "bell"}]}
    now: dict[str, Any] = json.loads(str(claude.client.baked[f"/{SETTINGS}"]))
    start = {"SessionStart": now["hooks"]["SessionStart"], "Stop": [mine]}
    file = tmp_path / "rootfs" / SETTINGS
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({**now, "hooks": start}))
    assert written(claude, tmp_path).remarks == []
    baked = settings(tmp_path)
    assert baked["hooks"]["Stop"] == [mine, *now["hooks"]["Stop"]]
    assert Counter(own_commands(baked)) == Counter(own_commands(now))


def test_a_full_disk_leaves_what_was_there(
    claude: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whichever file it happens: each is whole, and the next bake completes it."""
    real = os.write
    files = decided(claude, tmp_path).files.values()
    for allowed in range(0, sum(isinstance(content, bytes) for content in files), 7):
        left, output = allowed, tmp_path / str(allowed)
        file = output / "rootfs" / SETTINGS
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(OWN))

        def full(descriptor: int, data: Any) -> int:
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, data)

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(PannierError, match="No space left"):
                written(claude, output)
        assert commands(settings(output))[0] == "greet"
        assert not list(output.rglob("*.pannier-new"))
        written(claude, output)
        assert len(commands(settings(output))) == 9
        assert decided(claude, output).files == {}


def test_environment_and_starter_come_from_the_image(claude: Tree) -> None:
    """What pannier's own image sets and starts has one home: its Dockerfile."""
    assert "CLAUDE_CONFIG_DIR=/home/agent/.claude" in " ".join(claude.environment)
    assert "usr/local/lib/pannier/starters/claude" in claude.hook


KNOWN = ("FROM ", "ENV ", "COPY ", "CMD ")


@pytest.mark.parametrize("name", [n for n, c in clients.CLIENTS.items() if c.program])
def test_nothing_of_an_image_is_forgotten(name: str) -> None:
    """The last stage of a client's Dockerfile does only what a bake knows how to say."""
    dockerfile = read_sources().files[f"images/{name}/Dockerfile"].decode()
    last = dockerfile[dockerfile.rindex("\nFROM ") + 1 :]
    lines = [line for line in last.splitlines() if line and not line.startswith(("#", " "))]
    assert [line for line in lines if not line.startswith(KNOWN)] == []
    own = [line for line in lines if line.startswith("COPY ") and "--from" not in line]
    starters = [line for line in own if "/usr/local/bin/" in line]
    baked = [p for p in tree(clients.get(name), read_sources()).hook if "/starters/" in p]
    assert len(baked) == len(starters)


def test_policies_that_are_pannier_s_own_are_replaced(tmp_path: Path) -> None:
    """A file that bears the name is not a person's."""
    gemini = tree(clients.get("gemini"), read_sources())
    policy = tmp_path / "rootfs/etc/gemini-cli/policies/pannier.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text("[[rule]]\n# an older one\n")
    written(gemini, tmp_path)
    assert "an older one" not in policy.read_text()
    assert tomllib.loads(policy.read_text())["rule"]


def test_a_client_without_settings(tmp_path: Path) -> None:
    """`custom` gets the hook and nothing of a client's."""
    baking = written(tree(clients.get("custom"), read_sources()), tmp_path)
    assert not (tmp_path / "rootfs/etc").exists()
    assert baking.left == []


def test_a_sources_folder_without_the_hook_is_refused() -> None:
    """An installation that lacks its data says so."""
    empty = Client(
        "x", "X", (), (), "X.md", {}, {}, lambda _: Endpoint(), lambda _: (), {}, frozenset()
    )
    with pytest.raises(PannierError, match="lacks the hook"):
        tree(empty, Sources({}))
