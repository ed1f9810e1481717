"""Who runs in a group's containers."""

from __future__ import annotations

import pytest

from pannier.errors import PannierError
from pannier.identity import Identity, choose

ROOT = Identity(0, 0)
ADA = Identity(1234, 1235)


def test_a_person_runs_their_own_group_as_themselves() -> None:
    """A person who is not root runs containers with their own uid and gid."""
    assert choose((ADA,), ADA, {}, "scout") == ADA


def test_the_group_of_the_folder_is_kept() -> None:
    """The gid is that of the folder, so that a shared group keeps its access."""
    shared = Identity(1234, 2000)
    assert choose((shared,), ADA, {}, "scout") == shared


@pytest.mark.parametrize("owner", [ROOT, Identity(4000, 4000)])
def test_a_folder_of_somebody_else_is_refused(owner: Identity) -> None:
    """A folder that belongs to another user is named, with the command that mends it."""
    with pytest.raises(PannierError, match="belongs to user") as caught:
        choose((owner,), ADA, {}, "scout")
    assert "chown -R 1234:1235 groups/scout" in caught.value.hint


def test_root_keeps_an_owner_that_is_not_root() -> None:
    """On a root host, the owner of the folder, else of the memory, runs the agent."""
    assert choose((ADA,), ROOT, {}, "scout") == ADA
    assert choose((ROOT, ADA), ROOT, {}, "scout") == ADA


def test_root_gives_the_folders_to_the_person_behind_sudo() -> None:
    """Under sudo, the person who called it becomes the owner."""
    environ = {"SUDO_UID": "1234", "SUDO_GID": "1235"}
    assert choose((ROOT, ROOT), ROOT, environ, "scout") == ADA


@pytest.mark.parametrize("environ", [{}, {"SUDO_UID": "0", "SUDO_GID": "0"}, {"SUDO_UID": "x"}])
def test_an_agent_never_runs_as_root(environ: dict[str, str]) -> None:
    """Where nobody else can be named, an unprivileged user is taken."""
    assert choose((ROOT,), ROOT, environ, "scout") == Identity(1000, 1000)
