"""What lies below a source, and refuses it: secrets, repositories, what cannot be seen."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.unit.mounts.conftest import Person

from pannier import safefs
from pannier.mounts import facts


@pytest.mark.parametrize(
    "name",
    [
        *(".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker", ".netrc", ".npmrc"),
        *(".pypirc", ".env", ".env.local", ".ENV", ".env.production", "id_rsa", "id_ed25519"),
        *("vault.kdbx", "private_key", ".git-credentials", ".password-store"),
    ],
)
@pytest.mark.parametrize("where", ["code/{}", "code/a/b/{}"])
def test_a_blocked_name_below_a_source_refuses_it(person: Person, name: str, where: str) -> None:
    """At whatever depth, as a file or a folder; the reason lists where, the line excepts it."""
    person.make(where.format(name))
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    refusal = person.refused()
    found = where.format(name).removeprefix("code/")
    assert refusal.reason == f"it holds blocked names: {found}"
    assert refusal.grant == f"pannier mounts allow {person.root}/code --except {name}"
    person.allow({"path": "~/code", "except": [name]})
    assert person.granted()


@pytest.mark.parametrize(
    "name",
    [
        *(".envrc", ".env.example", ".env.sample", ".env.template", ".env.dist", ".ENV.Example"),
        *("env", "environment", ".sshd", "my.ssh", "id_rsa.pub", "not_id_rsa", ".npmrc.md"),
    ],
)
def test_a_name_that_only_resembles_a_blocked_one_passes(person: Person, name: str) -> None:
    """Whole parts of a path are compared, and published examples are no secret."""
    person.make(f"code/{name}")
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    assert person.granted()


def test_a_blocked_name_in_the_path_of_a_source_refuses_it(person: Person) -> None:
    """Also the folders above it count."""
    person.make("code/.aws/sub/")
    person.allow({"path": "~/code"})
    person.asks(("~/code/.aws/sub", "w", "ro"))
    assert f"blocked names: {person.root}/code/.aws" in person.refused().reason
    person.allow({"path": "~/code/.aws", "except": [".aws"]})
    assert person.granted()


def test_many_blocked_names_are_counted_and_the_line_stays_short(person: Person) -> None:
    """The reason shows the first and says how many more; the line excepts the pattern."""
    person.make(*(f"code/{n}/.env.{n}" for n in range(10, 22)), "code/z/.netrc")
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    refusal = person.refused()
    assert refusal.reason.endswith(
        "10/.env.10, 11/.env.11, 12/.env.12, 13/.env.13, 14/.env.14 and 8 more"
    )
    assert refusal.grant.endswith("/code --except '.env.*' --except .netrc")


def test_a_person_can_block_and_except_by_pattern(person: Person) -> None:
    """Patterns of the person's own block further names, also those that pass otherwise."""
    person.make("code/customers.csv", "code/.env.example")
    person.asks(("~/code", "w", "ro"))
    person.allow({"path": "~/code"}, block=("*.csv", ".env.example"))
    assert person.refused().reason == "it holds blocked names: .env.example, customers.csv"
    person.allow({"path": "~/code", "except": ["*.csv", ".env.example"]}, block=("*.CSV",))
    assert person.granted()


def test_a_name_that_a_terminal_would_obey_is_shown_as_text(person: Person) -> None:
    """File names may come from an agent; none reaches the terminal raw."""
    person.make("code/.env.\x1b[2Jx")
    (person.root / "code" / os.fsdecode(b".env.\xff")).touch()
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    refusal = person.refused()
    assert refusal.reason.isprintable()
    assert refusal.grant.isprintable()
    assert r".env.\x1b[2Jx" in refusal.reason
    person.allow({"path": "~/code", "except": [".env.?[[]2Jx", ".env.?"]})
    assert person.granted()


def test_links_below_a_source_are_no_way_out(person: Person) -> None:
    """A link resolves inside the container, so it is not followed and refuses nothing."""
    person.make("private/.env")
    (person.root / "code/link").symlink_to(person.root / "private")
    (person.root / "code/loop").symlink_to(".")
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    assert person.granted()


def _limit(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(facts, "ENTRY_LIMIT", limit)


def test_a_tree_with_too_many_entries_is_refused(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless its entry says `scan: false`; then only the folder's own names are looked at."""
    person.make(*(f"code/a/{n}" for n in range(5)), "code/a/.env")
    person.allow({"path": "~/code", "except": [".env"]})
    person.asks(("~/code", "w", "ro"))
    _limit(monkeypatch, 7)
    assert person.granted()
    _limit(monkeypatch, 6)
    assert "it holds more than 200,000 entries" in person.refused().reason
    assert person.refused().grant.endswith("--no-scan")
    person.allow({"path": "~/code", "scan": False})
    assert person.granted()
    person.make("code/.netrc")
    assert person.refused().reason == "it holds blocked names: .netrc"


def test_a_narrower_entry_says_again_what_the_wider_one_said(person: Person) -> None:
    """The line of a refusal keeps `scan: false` and the groups of the root that decides now."""
    person.make("code/site/deep/.env")
    person.allow({"path": "~/code", "scan": False, "groups": ["scout", "writer"]})
    person.asks(("~/code/site", "w", "rw"))
    assert person.refused().grant == (
        f"pannier mounts allow {person.root}/code/site --rw --group scout --group writer --no-scan"
    )


def test_a_tree_of_two_hundred_thousand_entries_is_still_looked_at() -> None:
    """The limit is the one that the documentation names."""
    assert facts.ENTRY_LIMIT == 200_000


def test_a_folder_that_cannot_be_looked_into_refuses_its_source(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we cannot see an agent might; an entry can except it by name."""
    person.make("code/lost+found/", "code/x")
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    real = os.open

    def refuse(path: Any, *args: Any, **more: Any) -> int:
        if path == "lost+found":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    refusal = person.refused()
    assert refusal.reason == "it holds folders that cannot be looked into: lost+found"
    assert refusal.grant.endswith("--except lost+found")
    person.allow({"path": "~/code", "except": ["lost+found"]})
    assert person.granted()


def test_a_tree_that_is_too_deep_cannot_be_looked_into(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing hides below a chain of folders."""
    person.make("code/" + "d/" * (safefs.DEPTH_LIMIT + 1) + ".env")
    person.allow({"path": "~/code"})
    person.asks(("~/code", "w", "ro"))
    assert "cannot be looked into: d/d/" in person.refused().reason


REPOSITORIES = {
    "at the top": ("code/.git/", "code/.git/config"),
    "below": ("code/a/b/.git/",),
    "a worktree or submodule": ("code/sub/.git",),
    "bare": ("code/x.git/HEAD", "code/x.git/objects/", "code/x.git/refs/"),
    "bare, the source itself": ("code/HEAD", "code/objects/", "code/refs/"),
}


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_a_writable_source_that_holds_a_repository_is_refused(person: Person, kind: str) -> None:
    """Whoever writes there can make the host run code; reading it does no harm."""
    person.make(*REPOSITORIES[kind])
    person.allow({"path": "~/code", "mode": "rw"})
    person.asks(("~/code", "w", "ro"))
    assert person.granted()
    person.asks(("~/code", "w", "rw"))
    refusal = person.refused()
    assert refusal.reason.startswith("it holds a git repository (")
    assert refusal.grant == f"pannier mounts allow {person.root}/code --rw --git"
    person.allow({"path": "~/code", "mode": "rw", "git": True})
    assert person.granted()


@pytest.mark.parametrize(
    ("made", "source"),
    [
        (("code/.git/hooks/",), "~/code/.git/hooks"),
        (
            ("code/x.git/HEAD", "code/x.git/objects/", "code/x.git/refs/", "code/x.git/hooks/"),
            "~/code/x.git/hooks",
        ),
    ],
)
def test_the_inside_of_a_repository_counts_as_one(
    person: Person, made: tuple[str, ...], source: str
) -> None:
    """A hooks folder alone is as good as the repository."""
    person.make(*made)
    person.allow({"path": "~/code", "mode": "rw"})
    person.asks((source, "w", "rw"))
    assert "a git repository (around it)" in person.refused().reason
