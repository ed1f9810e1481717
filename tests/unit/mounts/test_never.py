"""What is never a source, and what could be swapped, whatever the allowlist says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.mounts.conftest import Person

NEVER = (
    *("/", "/proc", "/proc/1", "/sys", "/dev", "/dev/shm", "/etc", "/etc/ssl", "/run", "/var/run"),
    *("/usr/bin", "/usr", "/var", "/boot"),
    *("~", "~/agents", "~/agents/groups", "~/agents/groups/writer", "~/agents/groups/scout/files"),
    *("~/agents/state", "~/.config", "~/.config/pannier", "~/.local", "~/.local/bin", "~/bin"),
    *("~/bin/sub", "~/.config/autostart", "~/.config/systemd/user", "~/.ssh", "~/.config/git"),
    *("~/.local/share", "~/.config/fish", "~/.vscode", "~/.claude", "~/.docker", "~/.cargo/bin"),
    *("~/Library/LaunchAgents", "~/.SSH", "~/go/bin", "~/go"),
)


@pytest.mark.parametrize("source", NEVER)
def test_some_places_are_never_a_source(person: Person, source: str) -> None:
    """Whatever the allowlist says: the system, the home, the configuration, what the host runs."""
    if source.startswith("~/"):
        (person.root / source[2:]).mkdir(parents=True, exist_ok=True)
    elif source != "~" and not Path(source).exists():
        pytest.skip(f"this machine has no {source}")
    excepted = {"except": ["*"], "git": True, "scan": False}
    person.allow({"path": source, "mode": "rw", **excepted}, {"path": "/tmp", **excepted})
    for mode in ("ro", "rw"):
        person.asks((source, "w", mode))
        assert "never a source" in person.refused().reason
        assert person.refused().grant == ""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("/", "/ is the root of the file system and never a source"),
        ("/etc/ssl", "/etc/ssl lies in /etc, which is a part of the system and never a source"),
        ("~/agents", "{root}/agents is the pannier home and never a source"),
        ("~/.config", "{root}/.config holds {root}/.config/pannier, which is pannier's"),
    ],
)
def test_the_reason_names_the_place(person: Person, source: str, reason: str) -> None:
    """What is never a source is named, and how the source lies to it."""
    person.make(".config/pannier/")
    person.asks((source, "w", "ro"))
    assert person.refused().reason.startswith(reason.format(root=person.root))


@pytest.mark.parametrize("source", ["~/.config/other", "~/code/bin", "~/.local/share/notes"])
def test_what_lies_beside_such_a_place_can_be_a_source(person: Person, source: str) -> None:
    """The rule is about the place, its folders and what it holds, and about nothing else."""
    (person.root / source[2:]).mkdir(parents=True)
    person.allow({"path": source})
    person.asks((source, "w", "ro"))
    assert person.granted()


def test_where_a_place_really_lies_is_never_a_source(person: Person) -> None:
    """Start-up files and the allowlist are often links into a folder of a person's own."""
    person.make("dotfiles/bashrc", "lists/mounts.yaml", "tools/")
    (person.root / ".bashrc").symlink_to("dotfiles/bashrc")
    (person.root / "bin").symlink_to("tools")
    for source in ("~/dotfiles", "~/tools"):
        person.allow({"path": source})
        person.asks((source, "w", "ro"))
        assert "never a source" in person.refused().reason
    person.allowlist.rename(person.root / "lists/mounts.yaml")
    person.allowlist.symlink_to(person.root / "lists/mounts.yaml")
    person.asks(("~/lists", "w", "ro"))
    assert "pannier's configuration" in person.refused().reason


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOCKER_HOST", "unix://{root}/code/engine/docker.sock"),
        ("XDG_RUNTIME_DIR", "{root}/code/engine"),
        ("PATH", "/usr/bin:{root}/code/tools"),
        ("XDG_CONFIG_HOME", "{root}/code/config"),
    ],
)
def test_the_environment_names_further_places(person: Person, name: str, value: str) -> None:
    """The engine's socket, the session's sockets, the PATH, and the configuration, wherever."""
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    assert person.granted()
    person.environ[name] = value.format(root=person.root)
    assert "never a source" in person.refused().reason


def test_the_tools_of_a_project_in_the_path_do_not_count(person: Person) -> None:
    """An active virtual environment does not make its project a forbidden place."""
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    work = f"{person.root}/code"
    person.environ["VIRTUAL_ENV"] = f"{work}/.venv"
    person.environ["PATH"] = f"{work}/.venv/bin:{work}/node_modules/.bin:/usr/bin"
    assert person.granted()


def test_the_socket_of_a_docker_context_is_never_a_source(person: Person) -> None:
    """Also an engine that no variable names is out of reach."""
    person.make("code/engine/")
    meta = person.root / ".docker/contexts/meta/abc/meta.json"
    meta.parent.mkdir(parents=True)
    socket = f"unix://{person.root}/code/engine/docker.sock"
    meta.write_text('{"Endpoints": {"docker": {"Host": "%s"}}}' % socket)  # noqa: UP031
    (meta.parent.parent / "odd").mkdir()
    (meta.parent.parent / "odd/meta.json").write_text("[]")
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    assert "the engine's socket" in person.refused().reason


def test_a_source_below_a_folder_that_a_group_writes_is_refused(person: Person) -> None:
    """It could be swapped between check and start; whose folder it is does not matter."""
    person.make("code/shared/x/")
    person.allow({"path": "~/code", "mode": "rw"})
    person.asks(("~/code/shared", "s", "rw"), group="writer")
    for source in ("~/code/shared", "~/code"):
        person.asks((source, "w", "ro"))
        assert person.granted().source.name == source.rpartition("/")[2]
    person.asks(("~/code/shared/x", "w", "ro"))
    assert "where group writer can write" in person.refused().reason
    assert person.refused().grant == ""
    person.asks(("~/code/shared", "s", "ro"), group="writer")
    assert person.granted().source.name == "x"


def test_a_way_that_leads_through_a_writable_folder_is_refused(person: Person) -> None:
    """A link that a group can replace leads wherever that group likes, today or tomorrow."""
    person.make("code/shared/", "data/")
    (person.root / "code/shared/link").symlink_to(person.root / "data")
    person.allow({"path": "~/code", "mode": "rw"}, {"path": "~/data"})
    person.asks(("~/code/shared", "s", "rw"), group="writer")
    person.asks(("~/code/shared/link", "w", "ro"))
    assert "the way to it leads through" in person.refused().reason
    person.allow({"path": "~/code", "mode": "rw"}, {"path": "~/code/shared/link"})
    person.asks(("~/data", "w", "ro"))
    assert "the way to its allowed root leads through" in person.refused().reason


def test_a_way_through_what_the_request_itself_makes_writable_is_refused(person: Person) -> None:
    """Asked for writing, a link in a folder to that folder is the agent's to replace tomorrow."""
    person.make("code/site/")
    (person.root / "code/site/up").symlink_to("..")
    person.allow({"path": "~/code", "mode": "rw"})
    person.asks(("~/code/site/up", "w", "ro"))
    assert person.granted().source == person.root / "code"
    person.asks(("~/code/site/up", "w", "rw"))
    assert "the way to it leads through" in person.refused().reason
    person.allow({"path": "~/code"})
    assert person.refused().grant == ""


def test_a_group_that_asks_and_is_refused_writes_nowhere(person: Person) -> None:
    """Only what is granted makes a folder writable; nobody can lock others out by asking."""
    person.make("code/x/")
    person.allow({"path": "~/code"})
    person.asks(("~/code", "s", "rw"), ("/", "r", "rw"), group="writer")
    person.asks(("~/code/x", "w", "ro"))
    assert person.granted()
    person.allow({"path": "~/code", "mode": "rw", "groups": ["scout"]})
    assert person.granted()
    person.allow({"path": "~", "mode": "rw"})
    person.asks(("~", "h", "rw"), group="writer")
    assert person.granted()


def test_the_broken_settings_of_another_group_stop_nobody(person: Person) -> None:
    """A group whose group.yaml cannot be read cannot start, and so cannot write."""
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    person.asks(group="writer")
    person.home.group("writer").settings.write_text("mounts: [")
    assert person.granted()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("~/code", "holds a pannier home (other/home)"),
        ("~/code/other/home", "is a pannier home"),
        ("~/code/other/home/groups/w/memory", "lies in {root}/code/other/home, which is a pannier"),
        ("~/link", "lies in {root}/code/other/home, which is a pannier"),
    ],
)
def test_no_home_of_pannier_is_a_source(person: Person, source: str, reason: str) -> None:
    """Nor what holds one or lies in one: there a group's rights and its memory are kept."""
    person.make("code/other/home/pannier.yaml", "code/other/home/groups/w/memory/")
    (person.root / "link").symlink_to("code/other/home/groups")
    person.allow({"path": "~/code", "mode": "rw", "except": ["*"], "git": True})
    for mode in ("ro", "rw"):
        person.asks((source, "w", mode))
        assert reason.format(root=person.root) in person.refused().reason
        assert "never a source" in person.refused().reason
        assert person.refused().grant == ""


def test_what_lies_beside_a_home_of_pannier_can_be_a_source(person: Person) -> None:
    """Neither a file of that name alone nor a folder `groups` alone makes a home."""
    person.make("code/home/pannier.yaml", "code/home/groups/", "code/x/groups/")
    person.make("code/x/more/pannier.yaml")
    person.allow({"path": "~/code"})
    person.asks(("~/code/x", "w", "ro"))
    assert person.granted()


def test_a_home_of_pannier_is_seen_at_the_top_of_a_large_tree(person: Person) -> None:
    """With `scan: false` the folder's own names are looked at."""
    person.make("code/x/")
    person.allow({"path": "~/code", "scan": False})
    person.asks(("~/code/x", "w", "ro"))
    assert person.granted()
    person.make("code/x/pannier.yaml", "code/x/groups/")
    assert "is a pannier home" in person.refused().reason


def test_no_database_of_pannier_is_in_a_source(person: Person) -> None:
    """Also where a variable put it: there it holds what every group said."""
    person.make("code/x/kept/", "code/y/")
    person.environ["PANNIER_QUEUE_DB_PATH"] = str(person.root / "code/x/kept/queue.db")
    person.allow({"path": "~/code", "mode": "rw"})
    person.asks(("~/code/x", "w", "rw"))
    assert "a database of pannier" in person.refused().reason
    person.asks(("~/code/y", "w", "rw"))
    assert person.granted()
