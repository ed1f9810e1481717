"""What an image is made of, and what its tag says."""

from __future__ import annotations

import dataclasses
import io
import tarfile

import pytest
from tests.unit.images.fakes import CLIENT, SOURCES

from pannier import clients
from pannier.clients.client import Client, Link
from pannier.engine.recipes import Recipe, Sources, read_sources, recipes, rootfs
from pannier.errors import PannierError

BASE = "debian:bookworm-slim"


def made(
    client: Client = CLIENT,
    sources: Sources = SOURCES,
    base: str = BASE,
    hook_version: str = "0.1.0",
) -> list[Recipe]:
    return recipes(client, sources, base=base, hook_version=hook_version)


def changed(path: str, content: bytes = b"something else") -> Sources:
    return Sources({**SOURCES.files, path: content})


def test_an_image_stands_on_the_images_that_its_dockerfile_asks_for() -> None:
    """The local images named by ARG lines are made first, the client's last."""
    assert [r.name for r in made()] == ["pannier-agent", "pannier-hook", "pannier-toy"]
    with_node = changed("images/toy/Dockerfile", b"ARG AGENT\nARG NODE\nFROM ${AGENT}\n")
    assert [r.name for r in made(sources=with_node)] == [
        "pannier-agent",
        "pannier-node",
        "pannier-toy",
    ]


def test_the_tag_is_the_same_for_the_same_input() -> None:
    """A tag is the client's name and twelve hexadecimal digits of the digest of what it holds."""
    tag = made()[-1].tag
    assert tag == made(sources=Sources(dict(reversed(list(SOURCES.files.items())))))[-1].tag
    name, _, digest = tag.partition(":")
    assert name == "pannier-toy"
    assert len(digest) == 12
    assert int(digest, 16) >= 0


@pytest.mark.parametrize(
    "path",
    [
        "images/agent/Dockerfile",
        "images/hook/Dockerfile",
        "hooks/bin/pannier-hook",
        "hooks/pannier_hook/main.py",
        "images/toy/extra",
    ],
)
def test_a_changed_source_changes_the_tag(path: str) -> None:
    """Every file that goes into an image, or into an image below it, is part of its tag."""
    assert made(sources=changed(path))[-1].tag != made()[-1].tag


@pytest.mark.parametrize(
    "change",
    [
        {"baked": {"/etc/toy/settings.json": "{ }"}},
        {"baked": {"/etc/toy/settings": "{}"}},
        {"baked": {**CLIENT.baked, "/usr/bin/toy": Link("elsewhere")}},
        {"skeleton": {".toy/state": "2"}},
        {"skeleton": {".toy/state": Link("1")}},
    ],
)
def test_what_a_client_bakes_in_changes_the_tag(change: dict[str, object]) -> None:
    """A changed settings file, link or first-start file makes another image."""
    other = dataclasses.replace(CLIENT, **change)  # type: ignore[arg-type]
    assert made(client=other)[-1].tag != made()[-1].tag


def test_base_and_hook_version_change_the_tag() -> None:
    """The base decides the content of all images, the version a label of the client's."""
    assert made(base="debian:trixie-slim")[-1].tag != made()[-1].tag
    assert made(hook_version="0.2.0")[-1].tag != made()[-1].tag


def test_other_clients_do_not_change_the_tag() -> None:
    """A change to another client's image, or to images that are not asked for, builds nothing."""
    assert made(sources=changed("images/other/Dockerfile"))[-1].tag == made()[-1].tag
    assert made(sources=changed("images/node/Dockerfile"))[-1].tag == made()[-1].tag


def test_a_changed_hook_leaves_the_images_below_alone() -> None:
    """A new hook rebuilds neither the agent's tools nor the installing stage."""
    before, after = made(), made(sources=changed("hooks/pannier_hook/main.py"))
    assert after[0].tag == before[0].tag
    assert after[1].tag != before[1].tag


def test_agents_in_python_get_their_package() -> None:
    """An image that copies it has `pannier_agents` in its context; a change of it changes no other
    image."""
    package = {"agents/pannier_agents/recall.py": b"old"}
    dockerfile = b"ARG AGENT\nARG HOOK\nFROM ${AGENT}\nCOPY pannier_agents/ /p/\n"

    def images(dockerfile: bytes, content: bytes) -> list[str]:
        files = {**SOURCES.files, **package, "images/toy/Dockerfile": dockerfile}
        files["agents/pannier_agents/recall.py"] = content
        return [recipe.tag for recipe in made(sources=Sources(files))]

    before, after = images(dockerfile, b"old"), images(dockerfile, b"new")
    assert before[:2] == after[:2]
    assert before[2] != after[2]
    plain = SOURCES.files["images/toy/Dockerfile"]
    assert images(plain, b"old") == images(plain, b"new")
    found = recipes(clients.get("langchain"), read_sources(), base=BASE, hook_version="0.1.0")[-1]
    assert "pannier_agents/recall.py" in found.context


def test_labels_name_client_hook_and_base() -> None:
    """An image says which client and which hook it holds, and what it was built on."""
    assert made()[-1].labels == {
        "pannier.client": "toy",
        "pannier.hook": "0.1.0",
        "pannier.base": BASE,
    }


def test_the_context_is_roots_and_nobody_else_can_write_it() -> None:
    """What is baked in belongs to root; scripts can be run, nothing is writable by others."""
    with tarfile.open(fileobj=io.BytesIO(made()[-1].tar())) as archive:
        entries = {entry.name: entry for entry in archive}
    assert {(e.uid, e.gid, e.mtime) for e in entries.values()} == {(0, 0, 0)}
    assert entries["rootfs/etc/toy/settings.json"].mode == 0o644
    assert entries["rootfs/etc/toy"].mode == 0o755
    assert entries["launcher"].mode == 0o755
    assert entries["rootfs/usr/bin/toy"].linkname == "/opt/toy"
    assert entries["rootfs/usr/share/pannier/skel/.toy/state"].size == 1


def test_a_path_out_of_the_image_is_refused() -> None:
    """A client's files lie below the root of the image, by plain paths."""
    with pytest.raises(PannierError, match="not a path in an image"):
        rootfs(dataclasses.replace(CLIENT, baked={"/etc/../root/x": ""}))


def test_a_client_without_a_dockerfile_is_named() -> None:
    """Where no image can be built, the missing file is named."""
    with pytest.raises(PannierError, match="no image for new") as caught:
        made(client=dataclasses.replace(CLIENT, name="new"))
    assert "images/new/Dockerfile" in caught.value.hint


def test_the_checkout_has_what_images_are_made_of() -> None:
    """Dockerfiles, the hook and its starter are found, without anything that was compiled."""
    files = read_sources().files
    assert {"images/agent/Dockerfile", "hooks/bin/pannier-hook"} <= files.keys()
    assert "hooks/pannier_hook/main.py" in files
    assert not [path for path in files if path.endswith(".pyc")]


def test_dockerfiles_need_nothing_newer_than_docker_20() -> None:
    """No frontend is pulled, no heredoc is used, and no host is named."""
    for path, content in read_sources().files.items():
        if path.endswith("/Dockerfile"):
            text = content.decode()
            assert "# syntax=" not in text, path
            assert "<<" not in text, path
            assert "://" not in text, path


def test_what_comes_from_a_registry_is_pinned() -> None:
    """Every npm package in a Dockerfile names its version by an ARG with a default."""
    for path, content in read_sources().files.items():
        if path.startswith("images/") and path.endswith("/Dockerfile"):
            for line in content.decode().splitlines():
                if "npm install" in line:
                    assert "_VERSION}" in line, f"{path}: {line}"
