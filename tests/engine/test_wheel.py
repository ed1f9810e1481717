"""What is installed is what was tested: the wheel, in an empty environment, no checkout near."""

from __future__ import annotations

import filecmp
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pannier import clients
from pannier.engine import images
from pannier.settings import HomeSettings
from tests.engine.person import Person

CHECKOUT = Path(__file__).parents[2]
PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check"]


@dataclass(frozen=True)
class Installed(Person):
    """Somebody who installed the wheel."""

    python: Path = Path()

    def argv(self, *args: str) -> list[str]:
        return [str(self.python.with_name("pannier")), *args]

    def python_says(self, program: str) -> str:
        """What a program prints there."""
        argv = [str(self.python), "-c", program]
        return subprocess.check_output(argv, cwd=self.root, env=self.environ, text=True)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which nothing but the wheel and its needs are."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", str(folder)]
    subprocess.run([*build, str(CHECKOUT)], check=True, timeout=300)
    [wheel] = folder.glob("pannier-*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, *PIP, "install", str(wheel)], check=True, timeout=300)
    return python


@pytest.fixture
def installed(python: Path, person: Person) -> Installed:
    """The same home and groups, by the installed command, in an empty folder."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    environ = {name: v for name, v in person.environ.items() if name not in hidden}
    return Installed(person.root, environ, python)


def test_nothing_comes_from_the_checkout(installed: Installed) -> None:
    """Packages and data lie in the environment, and everything that is needed is installed."""
    program = "import pannier, pannier_hook; print(pannier.__file__, pannier_hook.__file__)"
    places = installed.python_says(program).split()
    assert all(Path(p).is_relative_to(installed.python.parents[1]) for p in places)
    subprocess.run([installed.python, *PIP, "check"], check=True)


def test_agents_in_python_ask_for_their_extra(installed: Installed) -> None:
    """`pannier_agents` is there, and without LangChain it says what to install."""
    program = "try:\n    import pannier_agents\nexcept ImportError as error:\n    print(error)\n"
    assert "pip install 'pannier[langchain]'" in installed.python_says(program)


def test_a_home_is_made_and_a_start_is_planned(installed: Installed) -> None:
    """`init`, `group add` and `run --dry-run`; the images are those of the checkout."""
    home = installed.root.parent / "fresh"
    home.mkdir()
    fresh = Installed(home, installed.environ, installed.python)
    fresh.pannier("init")
    for name, client in clients.CLIENTS.items():
        if client.program:
            fresh.pannier("group", "add", name, "--client", name)
            plan = json.loads(fresh.pannier("run", name, "--dry-run", "--json"))
            assert plan["image"] == images.tag_for(client, HomeSettings())
    assert (home / "groups/claude/memory/system/definition.md").read_text()


def test_images_are_built(installed: Installed, image: str) -> None:
    """From the data in the wheel: what the checkout built is found, and built again the same."""
    lines = installed.pannier("image", "build", "claude", "--dry-run").splitlines()
    assert [line.split()[0] for line in lines][-1] == image
    assert {line.split("  ")[1] for line in lines} == {"is there"}
    assert installed.pannier("image", "build", "claude") == f"{image}\n"


@pytest.mark.parametrize("client", ["claude", "gemini", "custom"])
def test_bake_writes_the_same(installed: Installed, person: Person, client: str) -> None:
    """Every file is what the checkout writes."""
    for who, folder in ((installed, "one"), (person, "other")):
        who.pannier("bake", "--client", client, "--output", folder)
    same = filecmp.dircmp(installed.root / "one/rootfs", installed.root / "other/rootfs")
    assert _differing(same) == []
    assert installed.pannier("bake", "--check", "one")


def _differing(pair: filecmp.dircmp[str]) -> list[str]:
    inner = [name for sub in pair.subdirs.values() for name in _differing(sub)]
    return [*pair.left_only, *pair.right_only, *pair.diff_files, *inner]


def test_memory_is_verified(installed: Installed) -> None:
    """`verify` drives the real client from there, too."""
    assert json.loads(installed.pannier("verify", "scout", "--json"))["ok"] is True


def test_little_is_installed(
    installed: Installed, record_property: Callable[[str, object], None]
) -> None:
    """Without extras: at most 25 packages and 60 MB beside pip, compiled modules included."""
    listed = installed.python_says(
        "from importlib import metadata\n"
        "for d in metadata.distributions():\n"
        "    size = sum(f.locate().stat().st_size for f in d.files if f.locate().is_file())\n"
        "    print(d.name, size)\n"
    )
    sizes = {name: int(size) for name, size in (line.split() for line in listed.splitlines())}
    sizes = {name: size for name, size in sizes.items() if name not in ("pip", "setuptools")}
    record_property("packages", len(sizes))
    record_property("bytes", sum(sizes.values()))
    print(f"\n{len(sizes)} packages, {sum(sizes.values()) / 1e6:.1f} MB")
    assert len(sizes) <= 25
    assert sum(sizes.values()) < 60e6


def test_help_is_quick(installed: Installed) -> None:
    """`pannier --help` takes at most six times as long as a Python that does nothing.

    The best of many, taken in turns; a busy machine gets three tries.
    """
    ratios = []
    for _ in range(3):
        bare, command = [], []
        for _ in range(12):
            bare.append(_seconds(installed, [str(installed.python), "-c", "pass"]))
            command.append(_seconds(installed, installed.argv("--help")))
        ratios.append(min(command) / min(bare))
        print(f"\nbare {min(bare) * 1e3:.1f} ms, pannier --help {min(command) * 1e3:.1f} ms")
        if ratios[-1] <= 6:
            return
    pytest.fail(f"slower than six times a bare interpreter: {ratios}")


def _seconds(installed: Installed, argv: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(argv, cwd=installed.root, stdout=subprocess.DEVNULL, env=os.environ, check=True)
    return time.perf_counter() - start
