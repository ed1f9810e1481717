"""What `pannier bake --check` says of an image or a folder."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pannier import bake, clients
from pannier.bake.base import kind_of, python_version
from pannier.bake.check import check, client_of
from pannier.bake.files import FolderFiles
from pannier.bake.layout import Tree, tree
from pannier.bake.lines import KINDS, Base, lines
from pannier.engine.contents import ImageConfig
from pannier.engine.recipes import read_sources
from pannier.findings import Finding
from pannier_hook import VERSION

HOOK = "usr/local/lib/pannier"
SETTINGS = "etc/claude-code/managed-settings.json"
CONFIG = ImageConfig(
    labels={"pannier.hook": VERSION, "pannier.client": "claude"},
    environment={
        "HOME": "/home/agent",
        "CLAUDE_CONFIG_DIR": "/home/agent/.claude",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
    },
    user="1000:1000",
    entrypoint=("pannier-hook", "boot", "--"),
    command=("claude",),
)


@pytest.fixture(scope="module")
def claude() -> Tree:
    return tree(clients.get("claude"), read_sources())


@pytest.fixture(scope="module")
def baked(claude: Tree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baked")
    bake.write(bake.decide(claude, folder, bake.Theirs(), folder="build", base=Base()))
    return folder / "rootfs"


@pytest.fixture
def root(baked: Path, tmp_path: Path) -> Path:
    """The root of an image in which the lines were followed."""
    root = tmp_path / "root"
    shutil.copytree(baked, root, symlinks=True)
    (root / "usr/bin").mkdir()
    (root / "usr/bin/python3.11").touch()
    (root / "usr/bin/python3").symlink_to("python3.11")
    cache = root / HOOK / "pannier_hook/__pycache__"
    cache.mkdir()
    (cache / "main.cpython-311.pyc").touch()
    return root


def problems(wanted: Tree, root: Path, config: ImageConfig | None = CONFIG) -> list[Finding]:
    found = check("it", wanted, FolderFiles(root), config)
    return [finding for finding in found if finding.level != "ok"]


def edit(root: Path, change: Callable[[Any], None]) -> None:
    file = root / SETTINGS
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def test_what_was_baked_passes(claude: Tree, baked: Path, root: Path) -> None:
    """The folder as it was written, and the image that holds it."""
    assert problems(claude, baked, None) == []
    assert problems(claude, root) == []
    assert client_of(FolderFiles(baked), None) == "claude"


def test_the_program_s_first_line_does_not_count(claude: Tree, root: Path) -> None:
    """Every image names its own Python there."""
    program = root / HOOK / "bin/pannier-hook"
    (root / "usr/local/bin/python3").symlink_to("/usr/bin/python3.11")
    text = program.read_text().replace("#!/usr/bin/", "#!/usr/local/bin/")
    program.write_text(text)
    # A link of an image leads to the image's root, not to this machine's.
    assert python_version(FolderFiles(root), "usr/local/bin/python3") == (3, 11)
    assert [f for f in problems(claude, root) if "not the same files" in f.message] == []


def _another_hook(root: Path) -> None:
    (root / HOOK / "pannier_hook/extra.py").touch()


def _older_hook(root: Path) -> None:
    (root / HOOK / "pannier_hook/__init__.py").write_text('VERSION = "0.0.1"\n')


def _no_hook(root: Path) -> None:
    shutil.rmtree(root / HOOK)


def _no_link(root: Path) -> None:
    (root / "usr/local/bin/pannier-hook").unlink()


def _no_python(root: Path) -> None:
    (root / "usr/bin/python3").unlink()


def _another_python(root: Path) -> None:
    (root / "usr/bin/python3").unlink()
    (root / "usr/bin/python3").symlink_to("python3.12")
    (root / "usr/bin/python3.12").touch()


def _a_part_missing(root: Path) -> None:
    edit(root, lambda data: data["hooks"]["SessionStart"][0]["hooks"].pop())


def _an_old_entry(root: Path) -> None:
    entry = {"command": "/usr/local/bin/pannier-hook session-start --client claude"}
    edit(root, lambda data: data["hooks"]["SessionStart"].append({"hooks": [entry]}))


def _hooks_off(root: Path) -> None:
    edit(root, lambda data: data.update(disableAllHooks=True))


def _broken_settings(root: Path) -> None:
    (root / SETTINGS).write_text("{")


def _no_settings(root: Path) -> None:
    (root / SETTINGS).unlink()


def _twice(root: Path) -> None:
    folder = root / "etc/claude-code/managed-settings.d"
    folder.mkdir()
    (folder / "mine.json").write_text('"pannier-hook session-start"')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_another_hook, "not the same files"),
        (_older_hook, "the hook is of pannier 0.0.1"),
        (_no_hook, "there is no hook"),
        (_no_link, "/usr/local/bin/pannier-hook is missing"),
        (_no_python, "/usr/bin/python3, which runs the hook, is not there"),
        (_another_python, "(3.12) runs the hook, which is not compiled for it"),
        (_a_part_missing, "registers 14 of 15 current entries"),
        (_an_old_entry, "also registers: /usr/local/bin/pannier-hook session-start"),
        (_hooks_off, "disableAllHooks is true"),
        (_broken_settings, "cannot be read"),
        (_no_settings, f"/{SETTINGS} is missing"),
        (_twice, "mine.json calls pannier-hook, too"),
    ],
)
def test_what_keeps_memory_away_is_a_problem(
    claude: Tree, root: Path, change: Callable[[Path], None], said: str
) -> None:
    """Each is found, and said with a way out."""
    change(root)
    found = [f for f in problems(claude, root) if f.level == "problem"]
    assert any(said in f.message for f in found), found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": {}}, "the label pannier.hook"),
        ({"entrypoint": ("sh",)}, "the entrypoint"),
        ({"environment": {}}, "HOME is not set"),
    ],
)
def test_what_a_start_needs_of_the_image(
    claude: Tree, root: Path, change: dict[str, Any], said: str
) -> None:
    """Labels, entrypoint and HOME are looked at in an image."""
    config = dataclasses.replace(CONFIG, **change)
    assert any(said in f.message for f in problems(claude, root, config) if f.level == "problem")


def test_an_entrypoint_behind_ours_is_a_person_s(claude: Tree, root: Path) -> None:
    """It comes after the boot."""
    entrypoint = (*CONFIG.entrypoint, "my-init")
    assert problems(claude, root, dataclasses.replace(CONFIG, entrypoint=entrypoint)) == []


def test_a_setting_of_a_person_is_a_note(claude: Tree, root: Path) -> None:
    """It does not keep memory from being delivered."""
    edit(root, lambda data: data.update(autoMemoryEnabled=True))
    [finding] = problems(claude, root)
    assert (finding.level, "autoMemoryEnabled is not False" in finding.message) == ("note", True)


def test_a_plugin_of_ours_that_is_not_registered_is_a_problem(tmp_path: Path) -> None:
    """Where a client has plugins in the place of hooks, memory hangs on that."""
    wanted = tree(clients.get("opencode"), read_sources())
    bake.write(bake.decide(wanted, tmp_path, bake.Theirs(), folder="build", base=Base()))
    root = tmp_path / "rootfs"
    assert problems(wanted, root, None) == []
    plugin = root / "etc/opencode/pannier.js"
    plugin.rename(plugin.with_name("away"))
    assert [(f.level, f.message) for f in problems(wanted, root, None)] == [
        ("problem", "/etc/opencode/away calls pannier-hook, too: memory is given twice"),
        ("problem", "/etc/opencode/pannier.js is missing"),
    ]
    plugin.with_name("away").rename(plugin)
    for text in ('{"plugin": ["file:///mine.js"]}', '{"plugin": "x"}', "{}"):
        (root / "etc/opencode/opencode.json").write_text(text)
        [finding] = [f for f in problems(wanted, root, None) if "plugin is not" in f.message]
        assert finding.level == "problem"


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, "no-python"),
        ({"usr/bin/python3": "python3.11", "usr/bin/python3.11": ""}, "python"),
        ({"usr/bin/python3": "python3.8", "usr/bin/python3.8": ""}, "no-python"),
        ({"usr/local/bin/python3": "python3.13", "usr/local/bin/python3.13": ""}, "usr-local"),
        ({"sbin/apk": ""}, "alpine"),
        ({"sbin/apk": "", "usr/bin/python3": "python3.12", "usr/bin/python3.12": ""}, "alpine"),
        ({"usr/bin/python3": "/etc/alternatives/python3"}, "no-python"),
        (
            {
                "usr/bin/python3": "/etc/alternatives/python3",
                "etc/alternatives/python3": "../../usr/bin/python3.10",
                "usr/bin/python3.10": "",
            },
            "python",
        ),
        ({"usr/bin/python3": "python3"}, "no-python"),
    ],
)
def test_the_kind_of_a_base_is_found(tmp_path: Path, files: dict[str, str], kind: str) -> None:
    """By its Python and its package manager; a loop of links is no Python."""
    for path, target in files.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target) if target else file.touch()
    assert kind_of(FolderFiles(tmp_path)) == kind


@pytest.mark.parametrize("name", list(KINDS))
def test_the_lines_name_the_same_python_throughout(claude: Tree, name: str) -> None:
    """And what `pannier run` needs; only Alpine's say that they are not tested."""
    text = lines(claude, KINDS[name], "build/hook")
    assert "COPY build/hook/rootfs/ /\n" in text
    assert f"RUN {KINDS[name].python} -IS /{HOOK}/pannier_hook/install.py\n" in text
    assert 'ENTRYPOINT ["pannier-hook", "boot", "--"]\nCMD ["claude"]\n' in text
    assert "LABEL pannier.hook=" in text
    assert ("Not tested" in text) == (name == "alpine")
    assert "http" not in text


def test_what_the_base_starts_with_stays(claude: Tree) -> None:
    """Its user, its entrypoint behind ours, once, and for an agent of one's own its command."""
    base = Base("node", ("pannier-hook", "boot", "--", "init"), ("agent", "--serve"))
    text = lines(claude, KINDS["python"], "b", base)
    assert "\nUSER node\n" in text
    assert 'ENTRYPOINT ["pannier-hook", "boot", "--", "init"]\nCMD ["claude"]\n' in text
    custom = tree(clients.get("custom"), read_sources())
    assert 'CMD ["agent", "--serve"]' in lines(custom, KINDS["python"], "b", base)


@pytest.mark.parametrize("user", ["", "root", "0", "0:0", "root:root"])
def test_nothing_of_the_lines_ends_as_root(claude: Tree, user: str) -> None:
    """Whatever the base's user was."""
    assert "\nUSER 1000:1000\nWORKDIR" in lines(claude, KINDS["python"], "b", Base(user))


def test_the_page_shows_the_lines_as_they_are(claude: Tree) -> None:
    """docs/own-image.md has those for Debian without Python."""
    page = Path(__file__).parents[3] / "docs" / "own-image.md"
    assert lines(claude, KINDS["no-python"], "build/pannier") in page.read_text()
