"""The systemd units of docs/serve.md."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pannier.serve import hands, machine

PAGE = Path(__file__).parents[3] / "docs/serve.md"
USER, SYSTEM = re.findall(r"^```ini\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


@pytest.mark.parametrize(("unit", "mode"), [(USER, "--user"), (SYSTEM, "--system")])
def test_systemd_takes_the_units_of_the_docs(unit: str, mode: str, tmp_path: Path) -> None:
    """Without a word of warning, once the program is where the unit says."""
    systemd = shutil.which("systemd-analyze")
    if systemd is None:
        pytest.skip("there is no systemd-analyze here")
    program = tmp_path / "pannier"
    program.symlink_to(sys.executable)
    file = tmp_path / "pannier.service"
    file.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={program}", unit, flags=re.M))
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    done = subprocess.run(
        [systemd, mode, "verify", "--man=no", "--recursive-errors=no", str(file)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", [USER, SYSTEM])
def test_a_unit_calls_the_daemon_with_options_that_it_has(unit: str) -> None:
    """The words after the program are those of the command."""
    (words,) = re.findall(r"^ExecStart=\S+ (.*)$", unit, re.M)
    done = subprocess.run(
        [sys.executable, "-m", "pannier", *words.split(), "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "autostart" in done.stdout


def test_every_event_is_in_the_table() -> None:
    """And the table names none that there is not."""
    source = Path(__file__).parents[3] / "sidecar/pannier/serve"
    kinds = "serve|group|image|container|start|ready|remove|settings|allowlist|engine|state"
    used = {
        name
        for file in source.glob("*.py")
        for name in re.findall(rf'"((?:{kinds})\.(?!json|lock)[a-z]+)"', file.read_text())
    }
    table = PAGE.read_text().split("| event | means |")[1].split("\n\n")[0]
    assert used == set(re.findall(rf"`((?:{kinds})\.[a-z]+)`", table))


@pytest.mark.parametrize("unit", [USER, SYSTEM])
def test_a_unit_waits_longer_than_the_daemon_may_take(unit: str) -> None:
    """An action that an engine does not answer, and the end of a build, come first."""
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.M)
    assert int(seconds) > machine.ACT_SECONDS + 2 * hands.GRACE
