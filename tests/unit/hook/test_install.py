"""What finishes the hook in an image of somebody's own."""

from __future__ import annotations

import json
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import HOOK

# Only what is done before the places of an image are made, which are this machine's own here.
RUN = """\
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("install", sys.argv[1])
install = importlib.util.module_from_spec(spec)
spec.loader.exec_module(install)
install._clear(json.load(open(f"{install.HERE}/baked.json"))["files"])
try:
    install._import_all()
except RuntimeError as problem:
    sys.exit(str(problem))
print(sys.modules["pannier_hook"].VERSION)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The hook's package as COPY leaves it, with a record of its files beside it."""
    package = tmp_path / "pannier/pannier_hook"
    source = HOOK.parent.parent / "pannier_hook"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    files = [str(path).lstrip("/") for path in sorted(package.iterdir())]
    (tmp_path / "pannier/baked.json").write_text(json.dumps({"files": files}))
    return package


def run(package: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-IS", "-c", RUN, str(package / "install.py")]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


def test_an_older_hook_in_the_base_is_replaced(package: Path) -> None:
    """Its compiled modules are not taken for the new ones, and its own modules go."""
    text = (package / "__init__.py").read_text()
    for name, old in (("__init__.py", 'VERSION = "0.0.1"\n'), ("options.py", "old = 1\n")):
        new = (package / name).read_text()
        (package / name).write_text(old)
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(package / name), invalidation_mode=mode)
        (package / name).write_text(new)
    (package / "gone.py").write_text("import no_such_module\n")
    done = run(package)
    assert done.returncode == 0, done.stderr
    assert f'VERSION = "{done.stdout.strip()}"' in text
    assert not (package / "gone.py").exists()


def test_a_module_of_the_hook_that_is_missing_is_no_fault_of_python(package: Path) -> None:
    """Another package of the system would not mend it."""
    (package / "options.py").unlink()
    done = run(package)
    assert "is not whole" in done.stderr
    assert "pannier_hook.options" in done.stderr
    assert "minimal" not in done.stderr


def test_a_part_of_python_that_is_missing_is_named(package: Path) -> None:
    """With the package that has it."""
    (package / "options.py").write_text("import no_such_module\n")
    done = run(package)
    assert "no_such_module" in done.stderr
    assert "not python3-minimal" in done.stderr
