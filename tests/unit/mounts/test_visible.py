"""A sidecar in a container sees of the host what is mounted into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pannier import groups, mounts
from pannier.mounts import visible
from pannier.mounts.rules import Grants, Seen, Way
from pannier.settings import MountRequest


def seen(path: str) -> Seen:
    request = MountRequest(source=path, target="x")
    return Seen(request, "", Way(Path(path), frozenset()), 8, 12)


def test_what_lies_on_a_mount_is_visible() -> None:
    """The mount point itself and what is below it, and nothing that only begins alike."""
    points = [Path("/srv/docs")]
    for path in ("/srv/docs", "/srv/docs/a/b"):
        assert visible.checked(seen(path), Grants(), points) == seen(path)
    for path in ("/srv", "/srv/docs2", "/opt"):
        fault = visible.checked(seen(path), Grants(), points).fault
        assert f"{path} is not mounted into the sidecar's own container" in fault


def test_the_mount_points_are_those_of_this_process(tmp_path: Path) -> None:
    """Escapes are undone; the root of the file system is none of them."""
    text = (
        "22 1 0:2 / / rw - overlay overlay rw\n"
        "23 22 8:1 /home/x /srv/a\\040b\\134c rw shared:1 - ext4 /dev/sda1 rw\n"
        "24 22 0:5 / /proc rw - proc proc rw\n"
    )
    file = tmp_path / "mountinfo"
    file.write_text(text)
    assert visible.mount_points(file) == {Path("/srv/a b\\c"), Path("/proc")}
    assert Path("/proc") in visible.mount_points()


def test_a_source_that_leads_nowhere_keeps_its_own_fault() -> None:
    """There is nothing to see of it anyway."""
    nowhere = Seen(MountRequest(source="x", target="x"), "must be absolute")
    assert visible.checked(nowhere, Grants(), []) == nowhere


@pytest.mark.parametrize("inside", [True, False])
def test_only_in_a_container_a_plan_asks_whether_the_root_is_visible(
    tmp_path: Path, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the source: the root that the allowlist names. On the host everything is visible."""
    person, root = tmp_path / "person", tmp_path / "person/docs"
    (root / "one").mkdir(parents=True)
    (person / ".config/pannier").mkdir(parents=True)
    (person / ".config/pannier/mounts.yaml").write_text(f"allow: [{{path: {root}}}]\n")
    home = groups.init(tmp_path / "agents", {"HOME": str(person)})[0]
    group = groups.add(home, "scout", groups.new_settings("claude", None, ()))
    group.paths.settings.write_text(f"mounts: [{{source: {root}/one, target: one}}]\n")
    group = groups.get(home, "scout")
    environ = {"HOME": str(person), "PATH": "/usr/bin", "PANNIER_IN_CONTAINER": str(int(inside))}

    def refused() -> list[str]:
        plan = mounts.plan_for(home, group.paths, group.settings, "claude", environ)
        return [refusal.reason for refusal in plan.refused]

    monkeypatch.setattr(visible, "mount_points", lambda: {root / "one"})
    if inside:
        (reason,) = refused()
        assert f"{root} is not mounted into the sidecar's own container" in reason
    else:
        assert refused() == []
    monkeypatch.setattr(visible, "mount_points", lambda: {root})
    assert refused() == []


def test_the_host_s_programs_are_no_sources_in_a_container_either() -> None:
    """Its PATH is handed in; the container's own says nothing about the host."""
    environ = {"PATH": "/usr/bin", "PANNIER_HOST_PATH": "/opt/tool/bin"}
    assert visible.as_on_host(environ) == environ
    inside = visible.as_on_host({**environ, "PANNIER_IN_CONTAINER": "1"})
    assert inside["PATH"] == "/usr/bin:/opt/tool/bin"
