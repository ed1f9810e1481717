"""`pannier memory check` as a person meets it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pannier.cli import pannier
from pannier.errors import PannierError


def run(*args: str, cwd: Path) -> Result:
    """The command in a home `cwd`; an error of ours stays in `exception`."""
    return CliRunner().invoke(pannier, ["--home", str(cwd), *args])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the group scout."""
    assert CliRunner().invoke(pannier, ["init", str(tmp_path)]).exit_code == 0
    assert run("group", "add", "scout", cwd=tmp_path).exit_code == 0
    return tmp_path


@pytest.fixture
def memory(home: Path) -> Path:
    return home / "groups" / "scout" / "memory"


def test_a_new_group_has_nothing_to_mend(home: Path) -> None:
    """The answer is one line, and not a result for programs."""
    done = run("memory", "check", "scout", cwd=home)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "3 files: nothing to mend\n"


def test_findings_are_lines_like_a_linters(home: Path, memory: Path) -> None:
    """Path, line, what; a warning has no mark of its own, and alone it is no failure."""
    (memory / "people").mkdir()
    (memory / "people" / "dana.md").write_text("---\ntitle: Dana\ntype:\n---\n[f](../../files/x)\n")
    done = run("memory", "check", "scout", cwd=home)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "memory/people/: folder without index.md",
        "memory/people/dana.md: no link leads here from the root index",
        "memory/people/dana.md:3: concept without type",
        "memory/people/dana.md:5: note: link leaves memory: ../../files/x",
    ]
    assert done.stderr == "4 files: 3 warnings, 1 note\n"


def test_what_keeps_memory_from_working_ends_with_1(home: Path, memory: Path) -> None:
    """A root index that is cut off; a definition that is no file."""
    (memory / "index.md").write_text("x" * 16_312)
    (memory / "system" / "definition.md").unlink()
    (memory / "system" / "definition.md").mkdir()
    done = run("memory", "check", "scout", cwd=home)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert (
        "memory/index.md: error: over the cap by 312 characters: only the first 16,000" in lines[0]
    )
    assert (
        "memory/system/definition.md/: error: is a folder, so it is not given to the agent" in lines
    )


def test_json_for_programs(home: Path, memory: Path) -> None:
    """The same findings with their level and rule; paths from the memory's root."""
    (memory / "a.md").write_text("[x](gone.md)")
    done = run("memory", "check", "scout", "--json", cwd=home)
    answer = json.loads(done.stdout)
    assert (answer["memory"], answer["files"]) == (str(memory), 4)
    assert (answer["error"], answer["warning"], answer["note"]) == (0, 3, 0)
    assert answer["findings"][1] == {
        "path": "a.md",
        "line": 1,
        "level": "warning",
        "rule": "broken-link",
        "message": "broken link: gone.md",
    }
    assert done.stderr == ""


def test_names_and_secrets_do_no_harm_on_a_terminal(home: Path, memory: Path) -> None:
    """Control characters are escapes, also in JSON; a secret is not shown, even as a name."""
    secret = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0LmNbab"
    for name in (b"\x1b[2J\n\xff.md", f"{secret}.md".encode()):
        Path(os.fsdecode(bytes(memory) + b"/" + name)).write_text(
            f"[\x1b[31m](\x9b31m.md) {secret}"
        )
    for options in ([], ["--json"]):
        done = run("memory", "check", "scout", *options, cwd=home)
        assert secret not in done.stdout
        assert "GitHub Token" in done.stdout
        assert all(line.isprintable() for line in done.stdout.split("\n"))
        assert "\\x1b[2J\\n" in done.stdout.replace("\\\\", "\\")


def test_a_folder_can_be_named_by_its_path(home: Path, memory: Path) -> None:
    """With a slash in it; without a home; shown as it was written."""
    (memory / "a.md").write_text("---\ntype: x\n---\n")
    done = CliRunner().invoke(pannier, ["memory", "check", f"{memory}/"])
    assert done.stdout == f"{memory}/a.md: no link leads here from the root index\n"


@pytest.mark.parametrize(
    ("folder", "words"),
    [("nobody", "no group nobody"), ("./gone", "gone cannot be looked into: No such file")],
)
def test_what_is_not_there_is_an_error_in_one_line(home: Path, folder: str, words: str) -> None:
    """With its name."""
    done = run("memory", "check", folder, cwd=home)
    assert isinstance(done.exception, PannierError)
    assert words in done.exception.message


def test_a_link_in_the_place_of_memory_is_not_followed(home: Path, memory: Path) -> None:
    """Whoever put it there."""
    memory.rename(home / "elsewhere")
    memory.symlink_to(home / "elsewhere")
    done = run("memory", "check", "scout", cwd=home)
    assert isinstance(done.exception, PannierError)
