"""What is thrown away afterwards, and what stays out of the container."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest

from pannier import owner
from pannier.clients.client import Endpoint
from pannier.engine import ContainerSpec
from pannier.identity import Identity
from pannier.mounts.plan import Mount
from pannier.paths import CONTAINER_HOME, RUN_ROOT, Home
from pannier.verify import container

FILES = "/workspace/agent/files"


def _spec(mounts: tuple[Mount, ...]) -> ContainerSpec:
    return ContainerSpec(
        name="x",
        image="i",
        command=("claude",),
        user="1:1",
        mounts=mounts,
        environment={"PANNIER_GATE": "1"},
        labels={},
        memory=1 << 30,
        cpus=1,
        processes=10,
        workdir="/workspace/extra/project",
        network="bridge",
        hostname="scout",
    )


def _mount(target: str) -> Mount:
    return Mount(Path("/group") / target.lstrip("/"), PurePosixPath(target), "rw", 1, 2)


def test_state_is_thrown_away_and_the_network_is_off(tmp_path: Path) -> None:
    """Memory stays; what else the agent writes is empty, and there is no network."""
    memory = _mount("/workspace/agent/memory")
    targets = (str(CONTAINER_HOME), FILES, f"{RUN_ROOT}/spool", f"{RUN_ROOT}/inbox")
    state = tuple(map(_mount, targets))
    settings = Endpoint({"BASE_URL": "u"}, {".config/x.toml": "a = 1\n"})
    link = container._prepare(tmp_path, settings, Identity(1000, 1000))
    spec = container._specify(_spec((memory, *state)), tmp_path, link, settings)
    assert spec.mounts[0] == memory
    assert [m.source for m in spec.mounts[1:]] == [
        tmp_path / "agent",
        tmp_path / "files",
        tmp_path / "spool",
        tmp_path / "inbox",
    ]
    assert (tmp_path / "agent" / ".config" / "x.toml").read_text() == "a = 1\n"
    assert [(m.source, m.mode) for m in spec.binds] == [(link, "ro")]
    assert all((m.device, m.inode) != (1, 2) for m in (*spec.mounts[1:], *spec.binds))
    assert list((tmp_path / "files").iterdir()) == []
    assert spec.workdir == FILES
    assert spec.network == "none"
    assert spec.environment == {"PANNIER_GATE": "1", "BASE_URL": "u"}


def test_scratch_goes_whatever_happens(tmp_path: Path) -> None:
    """The throw-away folder is removed after an interrupt, too."""
    with container._scratch(Home(tmp_path), pytest.fail) as first:
        (first / "deep").mkdir()
    with pytest.raises(KeyboardInterrupt), container._scratch(Home(tmp_path), pytest.fail):
        raise KeyboardInterrupt
    assert list((tmp_path / "state" / "verify").iterdir()) == []


def test_scratch_of_a_killed_process(tmp_path: Path) -> None:
    """What a killed process left is removed at the next start; a living one's stays."""
    root = tmp_path / "state" / "verify"
    for name, text in (
        ("dead", owner.me().rpartition(":")[0] + ":earlier"),
        ("living", owner.me()),
        ("unknown", ""),
    ):
        (root / name).mkdir(parents=True)
        (root / name / "owner").write_text(text)
    with container._scratch(Home(tmp_path), pytest.fail) as folder:
        assert sorted(p.name for p in root.iterdir()) == sorted(("living", "unknown", folder.name))


def test_scratch_goes_however_deep_the_agent_made_it(tmp_path: Path) -> None:
    """An agent's hook that runs in the throw-away HOME cannot break what comes after it."""
    with container._scratch(Home(tmp_path), pytest.fail) as folder:
        here = os.open(folder, os.O_RDONLY)
        for _ in range(1_500):
            os.mkdir("d", dir_fd=here)
            there = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = there
        os.close(here)
    assert list((tmp_path / "state" / "verify").iterdir()) == []
