"""`pannier mounts`: what a person types, and what happens to the file."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.mounts.conftest import Person, entries, typed

from pannier import safefs
from pannier.cli import pannier
from pannier.errors import PannierError, SettingsError, UsageError
from pannier.mounts import change
from pannier.mounts.change import Grant


def test_allow_makes_the_file_and_deny_empties_it(person: Person) -> None:
    """From no file to an entry with all that was said, and back to none."""
    words = ("--rw", "--group", "scout", "--description", "my: site", "--except", ".env", "--git")
    done = typed(person, "allow", "~/code", *words, "--no-scan")
    assert done.exit_code == 0, done.output
    (entry,) = entries(person)
    assert entry.model_dump(by_alias=True) == {
        "path": f"{person.root}/code",
        "mode": "rw",
        "groups": ("scout",),
        "description": "my: site",
        "except": (".env",),
        "scan": False,
        "git": True,
    }
    assert person.allowlist.stat().st_mode & 0o777 == 0o600
    assert person.allowlist.parent.stat().st_mode & 0o777 == 0o700
    assert typed(person, "deny", "~/code").exit_code == 0
    assert entries(person) == ()


def test_allow_adds_and_takes_nothing_away(person: Person) -> None:
    """A second `allow` widens the entry there is; one that adds nothing changes nothing."""
    typed(person, "allow", "~/code", "--rw", "--group", "scout", "--except", ".env")
    named = ("--group", "scout", "--group", "writer")
    typed(person, "allow", "~/code", *named, "--except", ".npmrc")
    (entry,) = entries(person)
    assert (entry.mode, entry.groups) == ("rw", ("scout", "writer"))
    assert entry.excepted == (".env", ".npmrc")
    before = person.allowlist.stat().st_mtime_ns
    assert "Allowed already" in typed(person, "allow", "~/code").output
    assert person.allowlist.stat().st_mtime_ns == before


def test_an_entry_for_all_groups_is_not_narrowed(person: Person) -> None:
    """`--group` on an entry that is for all says that it still is."""
    typed(person, "allow", "~/code")
    done = typed(person, "allow", "~/code", "--group", "scout")
    assert "allowed for every group already" in done.output
    assert entries(person)[0].groups is None


def test_a_dry_run_writes_nothing(person: Person) -> None:
    """It shows the entry, and the file is as before or not there at all."""
    done = typed(person, "allow", "~/code", "--dry-run")
    assert "Would write to" in done.output
    assert not person.allowlist.parent.exists()
    person.allow({"path": "~/code"})
    before = person.allowlist.read_text()
    assert "Would remove from" in typed(person, "deny", "~/code", "--dry-run").output
    assert person.allowlist.read_text() == before


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("~/nothing", "does not exist"),
        ("~/code/file", "only folders are mounted"),
        ("/etc", "never a source"),
        ("/", "never a source"),
        ("~/agents/groups", "never a source"),
        ("~/.config/pannier", "never a source"),
        ("~/elsewhere/groups/w", "is a pannier home and never a source"),
        ("~/loop", "cannot be followed"),
    ],
)
def test_what_can_never_be_mounted_is_not_allowed(person: Person, path: str, reason: str) -> None:
    """It is refused when it is written, not at the next start; the file is not touched."""
    person.make("code/file", ".config/pannier/", "elsewhere/pannier.yaml", "elsewhere/groups/w/")
    (person.root / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=reason):
        change.allow(Grant(_place(person, path)), person.home, person.environ)
    assert not person.allowlist.exists()


def _place(person: Person, path: str) -> Path:
    return Path(path.replace("~", str(person.root)))


def test_a_folder_that_holds_a_forbidden_place_may_be_a_root(person: Person) -> None:
    """For the other folders in it; what cannot be mounted is said."""
    done = typed(person, "allow", "~")
    assert done.exit_code == 0
    assert "never a source; other folders below it may be" in done.output
    person.asks(("~/code", "w", "ro"))
    assert person.granted()


def test_a_group_that_cannot_be_is_not_written(person: Person) -> None:
    """What would break the file is refused before it is written."""
    done = typed(person, "allow", "~/code", "--group", "No Such")
    assert isinstance(done.exception, UsageError)
    assert not person.allowlist.exists()


def test_deny_says_when_there_is_nothing_to_remove(person: Person) -> None:
    """An entry of a wider root is not guessed at."""
    person.allow({"path": "~/code"})
    with pytest.raises(UsageError, match="has no entry for"):
        change.deny(person.root / "code/site", person.environ)
    assert len(entries(person)) == 1


def test_an_entry_can_be_denied_when_its_folder_is_gone(person: Person) -> None:
    """Also through the path that was written in the file."""
    person.allow({"path": "~/gone"}, {"path": "~/code"})
    assert typed(person, "deny", "~/gone").exit_code == 0
    assert [e.path for e in entries(person)] == ["~/code"]


def test_a_broken_file_is_not_edited(person: Person) -> None:
    """It is named with its error and stays as the person left it."""
    person.allow()
    person.allowlist.write_text("allow:\n  - path: /a  # mine\n    mod: ro\n")
    for call in (
        lambda: change.allow(Grant(person.root / "code"), None, person.environ),
        lambda: change.deny(person.root / "code", person.environ),
    ):
        with pytest.raises(SettingsError, match="mod is not a setting"):
            call()
    assert person.allowlist.read_text() == "allow:\n  - path: /a  # mine\n    mod: ro\n"


def test_a_file_that_is_a_link_stays_one(person: Person) -> None:
    """Who keeps the file with their other settings finds it changed there."""
    person.make("dotfiles/mounts.yaml", ".config/pannier/")
    person.allowlist.symlink_to(person.root / "dotfiles/mounts.yaml")
    (person.root / "dotfiles/mounts.yaml").write_text("# mine\n")
    typed(person, "allow", "~/code")
    assert person.allowlist.is_symlink()
    assert (person.root / "dotfiles/mounts.yaml").read_text().startswith("# mine\nallow:\n")


def _allow(root: Path, number: int) -> None:
    change.allow(Grant(root / f"code/{number}"), None, {"HOME": str(root)})


def test_two_editors_at_once_lose_nothing(person: Person) -> None:
    """Every entry that was written is there, and the file is whole."""
    person.make(*(f"code/{n}/" for n in range(12)))
    spawn = multiprocessing.get_context("fork")
    editors = [spawn.Process(target=_allow, args=(person.root, n)) for n in range(12)]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join()
    assert [editor.exitcode for editor in editors] == [0] * 12
    assert {Path(e.path).name for e in entries(person)} == {str(n) for n in range(12)}
    assert [p.name for p in person.allowlist.parent.iterdir()] == ["mounts.yaml"]


def test_an_editor_that_knows_no_lock_loses_nothing_either(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person who saves while we edit keeps what they saved, and is told."""
    person.allow({"path": "~/docs"})
    real = safefs.write

    def write(*args: object, **more: object) -> None:
        person.allowlist.write_text("allow: []  # saved just now\n")
        real(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(safefs, "write", write)
    with pytest.raises(PannierError, match="was changed by somebody else"):
        change.allow(Grant(person.root / "code"), None, person.environ)
    assert person.allowlist.read_text() == "allow: []  # saved just now\n"


def test_show_prints_the_plan_for_programs(person: Person) -> None:
    """`--json` has just these names, and a refusal does not change the status."""
    person.make("docs/")
    person.allow({"path": "~/docs"})
    person.asks(("~/docs", "d", "ro"), ("~/code", "w", "rw"))
    done = typed(person, "show", "scout", "--json")
    assert done.exit_code == 0
    shown = json.loads(done.stdout)
    assert list(shown) == ["mounts", "refused"]
    assert shown["mounts"][-1] == {
        "source": f"{person.root}/docs",
        "target": "/workspace/extra/d",
        "mode": "ro",
    }
    assert len(shown["mounts"]) == 9
    assert shown["refused"] == [
        {
            "source": "~/code",
            "target": "w",
            "reason": "no entry of the allowlist holds it",
            "grant": f"pannier mounts allow {person.root}/code --rw --group scout",
        }
    ]


def test_show_prints_the_plan_for_people(person: Person) -> None:
    """Each mount in a line; each refusal with its reason and its way out."""
    person.asks(("~/code", "w", "ro"))
    done = typed(person, "show", "scout")
    assert "/workspace/agent/memory" in done.output
    assert "refused  ~/code → w" in done.output
    assert f"grant it with: pannier mounts allow {person.root}/code --group scout" in done.output


def test_show_names_a_group_that_is_not_there(person: Person) -> None:
    """An unknown group is wrong usage."""
    assert isinstance(typed(person, "show", "nobody").exception, UsageError)


def test_list_shows_the_entries_or_the_error(person: Person) -> None:
    """As YAML, as JSON, and with status 1 when the file grants nothing because it is broken."""
    assert "No allowlist yet" in typed(person, "list").output
    person.allow({"path": "~/code", "mode": "rw"}, block=("*.csv",))
    assert "  - path: ~/code\n    mode: rw\n  also blocked: *.csv" in typed(person, "list").output
    shown = json.loads(typed(person, "list", "--json").stdout)
    assert shown["allow"][0]["except"] == []
    assert shown["block"] == ["*.csv"]
    assert shown["error"] == ""
    person.allowlist.write_text("allow: [")
    done = typed(person, "list", "--json")
    assert isinstance(done.exception, PannierError)
    assert "line 1" in json.loads(done.stdout)["error"]


def test_the_allowlist_can_be_edited_outside_of_every_home(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It belongs to the person, not to a project."""
    monkeypatch.chdir(person.root / "code")
    done = CliRunner().invoke(pannier, ["mounts", "allow", "."], env=person.environ)
    assert done.exit_code == 0, done.output
    assert entries(person)[0].path == os.path.realpath(person.root / "code")


def test_a_group_that_is_not_there_is_said(person: Person) -> None:
    """It may come later, or its name may be mistyped; the entry is written."""
    done = typed(person, "allow", str(person.root / "code"), "--group", "scuot", "--group", "scout")
    assert done.exit_code == 0, done.output
    assert "there is no group scuot in" in done.stderr
    assert "no group scout " not in done.stderr
    assert entries(person)[0].groups == ("scuot", "scout")


def test_what_cannot_be_looked_at_is_not_said_to_be_missing(person: Person) -> None:
    """The line gives the system's reason."""
    with pytest.raises(UsageError, match="cannot be looked at: File name too long"):
        change.allow(Grant(person.root / ("a" * 300)), person.home, person.environ)


def test_of_a_linked_allowlist_the_file_that_is_written_is_named(person: Person) -> None:
    """Also where the link leads to a file that is not there yet."""
    kept = person.root / "dotfiles/mounts.yaml"
    kept.parent.mkdir()
    person.allowlist.parent.mkdir(parents=True)
    person.allowlist.symlink_to(kept)
    done = typed(person, "allow", str(person.root / "code"))
    assert done.exit_code == 0, done.output
    assert f"Written to {person.allowlist} → {kept}:" in done.output
    assert kept.is_file()
    assert person.allowlist.is_symlink()
