"""Ways out of the allowlist, tried from inside a real container and from beside it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pannier import launch
from pannier.engine import Engine
from pannier.errors import MountMismatch
from pannier.paths import Home
from tests.engine.person import Person

SECRET = "a secret of the host"
EXTRA = "/workspace/extra"


@pytest.fixture
def outside(person: Person) -> Path:
    """A folder that nobody allowed, readable by all so that only the mounts protect it."""
    outside = Path(person.environ["HOME"]) / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    return outside


@pytest.fixture
def work(person: Person) -> Path:
    """A folder `work` with a folder `site` in it, that everybody may write."""
    work = Path(person.environ["HOME"]) / "work"
    (work / "site").mkdir(parents=True)
    for folder in (work, work / "site"):
        folder.chmod(0o777)
    return work


def asks(home: Home, group: str, *requests: tuple[Path, str, str]) -> None:
    names = ("source", "target", "mode")
    mounts = [dict(zip(names, map(str, r), strict=True)) for r in requests]
    home.group(group).settings.write_text(yaml.safe_dump({"mounts": mounts}))


def test_a_mount_for_reading_cannot_be_written(person: Person, work: Path) -> None:
    """Not by writing, not by changing modes, not by mounting it anew."""
    (work / "file").write_text("kept")
    (work / "file").chmod(0o666)
    person.pannier("mounts", "allow", str(work))
    asks(person.home, "scout", (work, "w", "ro"))
    told = person.shell(
        "scout",
        """
        cd /workspace/extra/w; cat file; echo
        for try in "touch new" "rm file" "mv site x" "chmod 700 file" "ln file hard" \\
                   "mount -o remount,rw,bind ." "unshare -rm mount -o remount,rw,bind ."; do
            if $try >/dev/null 2>&1; then echo "DID: $try"; fi
        done
        echo more >> file || true
        """,
    )
    assert told == "kept\n"
    assert (work / "file").read_text() == "kept"
    assert sorted(p.name for p in work.iterdir()) == ["file", "site"]


def test_a_mount_for_writing_ends_at_its_own_top(person: Person, work: Path, outside: Path) -> None:
    """What is beside the source on the host is not beside it in the container."""
    (work / "sibling").write_text(SECRET)
    person.pannier("mounts", "allow", str(work), "--rw")
    asks(person.home, "scout", (work / "site", "deep/site", "rw"))
    told = person.shell(
        "scout",
        f"""
        cd /workspace/extra/deep/site; echo made > made; ls -A ..; ls -A ../..
        mv ../site ../moved 2>/dev/null; rmdir ../site 2>/dev/null
        ln -s {outside}/secret link; cat link 2>&1; ls {work.parent} 2>&1
        ln /workspace/agent/memory/index.md hard 2>&1
        grep -rl "{SECRET}" / --include=secret --include=sibling 2>/dev/null
        true
        """,
    )
    assert (work / "site/made").read_text() == "made\n"
    assert told.splitlines()[:2] == ["site", "deep"]
    assert SECRET not in told
    assert told.count("No such file or directory") == 2
    assert "Invalid cross-device link" in told
    assert not (work / "site/hard").exists()


def test_what_an_agent_swaps_in_its_mount_is_no_source_for_others(
    person: Person, work: Path, outside: Path
) -> None:
    """A folder of a writable mount, replaced by a link to the outside, is mounted nowhere."""
    person.pannier("mounts", "allow", str(work), "--rw")
    asks(person.home, "scout", (work, "w", "rw"))
    asks(person.home, "other", (work / "site", "s", "ro"))
    person.shell("scout", f"cd /workspace/extra/w && rmdir site && ln -s {outside} site")
    assert (work / "site").is_symlink()
    done = person.run("run", "other", "--entrypoint", "cat", "--", "/workspace/extra/s/secret")
    assert done.returncode == 1
    assert SECRET not in done.stdout
    assert f"leads through {work}, where group scout can write" in done.stderr
    skipped = person.run("run", "other", "--skip-refused", "--entrypoint", "ls", "--", EXTRA)
    assert (skipped.returncode, skipped.stdout) == (0, "")
    assert "started without" in skipped.stderr


@pytest.mark.parametrize(
    "source", ["/", "/etc", "/proc", "~/.ssh", "~", "home", "other's files", "~/else/groups/w"]
)
def test_what_is_never_a_source_stops_the_start(person: Person, source: str) -> None:
    """Also with an allowlist that says yes to everything; nothing is started."""
    home = Path(person.environ["HOME"])
    (home / ".ssh").mkdir()
    (home / "else/groups/w").mkdir(parents=True)
    (home / "else/pannier.yaml").touch()
    (home / ".config/pannier").mkdir(parents=True, exist_ok=True)
    named = {"home": person.root, "other's files": person.group("other") / "files"}
    path = str(named.get(source, source)).replace("~", str(home))
    everything = {"mode": "rw", "git": True, "scan": False, "except": ["*"]}
    allow = [{"path": "/", **everything}] + ([{"path": path, **everything}] if path != "/" else [])
    (home / ".config/pannier/mounts.yaml").write_text(yaml.safe_dump({"allow": allow}))
    asks(person.home, "scout", (Path(path), "x", "rw"))
    done = person.run("run", "scout", "--entrypoint", "true", "--")
    assert done.returncode == 1
    assert "never a source" in done.stderr
    assert person.pannier("ps", "--json") == "[]\n"


@pytest.mark.parametrize("by", ["another folder", "a link"])
def test_an_extra_source_that_is_swapped_before_the_start_is_noticed(
    person: Person,
    engine: Engine,
    work: Path,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
    by: str,
) -> None:
    """Between check and start the host's folder becomes another one: no client begins."""
    person.pannier("mounts", "allow", str(work))
    asks(person.home, "scout", (work / "site", "s", "ro"))
    create = Engine.create

    def swapped(self: Engine, spec: object) -> str:
        (work / "site").rename(work / "moved")
        if by == "a link":
            (work / "site").symlink_to(outside)
        else:
            (work / "site").mkdir()
        return create(self, spec)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "create", swapped)
    wish = launch.Wish("scout", entrypoint="sh", args=("-c", "cp -r /workspace/extra/s ."))
    plan = launch.decide(person.home, wish, person.environ)
    with pytest.raises(MountMismatch, match="/workspace/extra/s"):
        launch.run(engine, person.home, plan, person.environ, print, pytest.fail)
    assert engine.containers(str(person.root)) == []
    assert not (person.group("scout") / "files/s").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_link_in_the_memory_gives_the_agent_nothing(person: Person, outside: Path) -> None:
    """At the next start files are given to the agent: its own, not those its links point to."""
    (outside / "secret").chmod(0o600)
    person.shell(
        "scout",
        f"""
        cd /workspace/agent
        ln -s {outside}/secret files/link; ln -s {outside} memory/folder
        mv files/link files/link2; ln -s {outside}/secret memory/system/more.md
        """,
    )
    (person.group("scout") / "files/hard").hardlink_to(outside / "secret")
    told = person.shell(
        "scout", "cat /workspace/agent/files/* /workspace/agent/memory/*/more.md; true"
    )
    assert SECRET not in told
    for path in (outside, outside / "secret"):
        assert path.stat().st_uid == 0


@pytest.fixture
def mounted_below(work: Path) -> Iterator[Path]:
    """A file system of its own, mounted below the folder `work/site`."""
    point = work / "site/disk"
    point.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "none", point], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount, as root has it on a machine of its own")
    try:
        point.chmod(0o777)
        (point / "file").write_text("kept")
        (point / "file").chmod(0o666)
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=True)


def test_a_disk_below_a_mount_for_reading_is_not_written_either(
    person: Person, work: Path, mounted_below: Path
) -> None:
    """An engine that makes only the top read-only does not get what is mounted below it."""
    person.pannier("mounts", "allow", str(work))
    asks(person.home, "scout", (work / "site", "s", "ro"))
    told = person.shell(
        "scout",
        """
        cd /workspace/extra/s/disk
        if touch new 2>/dev/null || { echo more >> file; } 2>/dev/null; then echo DID; fi
        """,
    )
    assert told == ""
    assert (mounted_below / "file").read_text() == "kept"
    assert [p.name for p in mounted_below.iterdir()] == ["file"]


def test_a_secret_that_lies_deep_stops_the_start(person: Person, work: Path) -> None:
    """A mount is not judged at its top only; the refusal names the file and the way out."""
    (work / "site/a/b").mkdir(parents=True)
    (work / "site/a/b/.env").write_text("KEY=1")
    person.pannier("mounts", "allow", str(work))
    asks(person.home, "scout", (work, "w", "ro"))
    done = person.run("run", "scout", "--entrypoint", "true", "--")
    assert done.returncode == 1
    assert "it holds blocked names: site/a/b/.env" in done.stderr
    assert f"pannier mounts allow {work} --except .env" in done.stderr
    person.pannier("mounts", "allow", str(work), "--except", ".env")
    assert person.shell("scout", "cat /workspace/extra/w/site/a/b/.env") == "KEY=1"
