"""`pannier bake` as a person meets it, without an engine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.unit.cli.test_cli import pannier


def test_lines_on_standard_output_and_the_rest_beside_it(tmp_path: Path) -> None:
    """So that `>> Dockerfile` gets just the lines, which also lie in the folder."""
    done = pannier("bake", "--client", "claude", "--output", "build/hook", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "build/hook/lines/python.dockerfile").read_text()
    assert "COPY build/hook/rootfs/ /" in done.stdout
    assert "no-python, usr-local, alpine" in done.stderr
    again = pannier("bake", "--client", "claude", "--output", "build/hook", cwd=tmp_path)
    assert "wrote nothing new" in again.stderr
    assert pannier("bake", "--check", "build/hook", cwd=tmp_path).returncode == 0


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    """Every file is named."""
    options = ["--client", "codex", "--output", "out", "--kind", "no-python", "--dry-run"]
    done = pannier("bake", *options, cwd=tmp_path)
    assert "would write out/rootfs/etc/codex/requirements.toml" in done.stderr
    assert "apt-get install" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_is_said_and_ends_with_1(tmp_path: Path) -> None:
    """With what to add by hand."""
    mine = tmp_path / "requirements.toml"
    mine.write_text("a = \n")
    options = ["--client", "codex", "--output", "out", "--merge", "requirements.toml"]
    done = pannier("bake", *options, cwd=tmp_path)
    assert done.returncode == 1
    assert "left alone: requirements.toml: it cannot be read" in done.stderr
    assert "out/by-hand" in done.stderr
    assert mine.read_text() == "a = \n"
    assert "additionalContextLimit" in (tmp_path / "out/by-hand/requirements.toml").read_text()
    checked = pannier("bake", "--check", "out", "--json", cwd=tmp_path)
    assert checked.returncode == 1
    assert "problem" in {finding["level"] for finding in json.loads(checked.stdout)}


MERGE = ["--client", "claude", "--output", "out", "--merge", "managed-settings.json"]


def test_settings_that_switch_every_hook_off_are_said(tmp_path: Path) -> None:
    """They are a person's, and memory would not be delivered."""
    (tmp_path / "managed-settings.json").write_text('{"disableAllHooks": true}')
    done = pannier("bake", *MERGE, cwd=tmp_path)
    assert "managed-settings.json: disableAllHooks is true, so no hook runs" in done.stderr


def test_a_hook_that_is_taken_out_is_said(tmp_path: Path) -> None:
    """An entry of pannier's that it did not put there."""
    entry = {"type": "command", "command": "pannier-hook stop --client claude"}
    mine = {"hooks": {"Stop": [{"hooks": [entry]}]}}
    (tmp_path / "managed-settings.json").write_text(json.dumps(mine))
    done = pannier("bake", *MERGE, cwd=tmp_path)
    assert f"taken out, as pannier's of before: {entry['command']}" in done.stderr


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write to it."""
    os.mkfifo(tmp_path / "managed-settings.json")
    done = pannier("bake", *MERGE, cwd=tmp_path)
    assert done.returncode == 1
    assert "managed-settings.json cannot be read: it is not a regular file" in done.stderr


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("my dir", 'COPY ["my dir/rootfs/", "/"]'),
        ("a/../b", "COPY b/rootfs/ /"),
        ("link/x", "COPY real/x/rootfs/ /"),
        (".", "COPY ./rootfs/ /"),
    ],
)
def test_the_lines_name_the_folder_as_a_build_can_copy_it(
    tmp_path: Path, output: str, line: str
) -> None:
    """From the current folder, with links and dots resolved and blanks quoted."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    done = pannier("bake", "--client", "custom", "--output", output, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert line in done.stdout.splitlines()


@pytest.mark.parametrize("output", ["..", "../other", "/tmp", "out/x", "$HOME", "a*", "a\nb"])
def test_a_folder_that_a_build_cannot_copy_is_refused(tmp_path: Path, output: str) -> None:
    """What lies outside the build context, also behind a link; nothing is written."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "out").symlink_to(tmp_path)
    done = pannier("bake", "--client", "custom", "--output", output, cwd=here)
    assert done.returncode == 2, done.stderr
    assert "COPY" in done.stderr or "is outside" in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["here", "out"]


@pytest.mark.parametrize(
    ("args", "status", "line"),
    [
        (["bake"], 2, "--client"),
        (["bake", "--client", "claude"], 2, "--output"),
        (["bake", "--client", "nobody", "--output", "x"], 2, "no client is called"),
        (["bake", "--client", "claude", "--output", "x", "--json"], 2, "goes with --check"),
        (["bake", "--client", "claude", "--output", "x", "--merge", "a"], 2, "adds to: managed"),
        (["bake", "--check", "."], 2, "does not say which client"),
        (["bake", "--check", "no-such-image"], 1, "no engine answers"),
        (["bake", "--client", "claude", "--output", "x", "--base", "b"], 1, "no engine answers"),
        (["bake", "--client", "claude", "--output", "file/x"], 1, "file"),
    ],
)
def test_bad_input_gets_one_clear_line(
    tmp_path: Path, args: list[str], status: int, line: str
) -> None:
    """A wrong word ends with 2, work that failed with 1."""
    (tmp_path / "file").touch()
    done = pannier(*args, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert line in done.stderr
    assert "Traceback" not in done.stderr
