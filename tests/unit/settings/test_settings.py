"""`group.yaml` and `pannier.yaml`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.errors import SettingsError
from pannier.settings import GroupSettings, HomeSettings, load, parse, size_in_bytes


def test_an_empty_or_missing_file_means_the_defaults(tmp_path: Path) -> None:
    """Settings are optional; the defaults are safe."""
    (tmp_path / "empty.yaml").touch()
    for name in ("empty.yaml", "missing.yaml"):
        settings = load(tmp_path / name, GroupSettings)
        assert settings == GroupSettings()
    assert settings.client == "claude"
    assert (settings.limits.memory, settings.limits.processes) == ("4g", 1024)
    assert settings.mounts == ()
    assert load(tmp_path / "x", HomeSettings).base_image == "debian:bookworm-slim"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("clinet: claude", "clinet is not a setting", "Did you mean client?"),
        ("limits: {memroy: 4g}", "limits.memroy is not a setting", "Did you mean memory?"),
        (
            "mounts: [{source: /a, target: a, mod: rw}]",
            "mounts.0.mod is not a setting",
            "Did you mean mode?",
        ),
        ("zzz: 1", "zzz is not a setting", "Known here: client,"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(
    text: str, message: str, hint: str
) -> None:
    """A typo never passes silently."""
    with pytest.raises(SettingsError) as caught:
        parse(text, GroupSettings, "group.yaml")
    assert caught.value.message == f"group.yaml: {message}"
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "limits: {memory: much}",
        "limits: {memory: 1m}",
        "limits: {cpus: 0}",
        "mounts: [{source: /a}]",
        "mounts: [{source: /a, target: a, mode: w}]",
        "env_from: ['A=B']",
        "workdir: files",
        "network: host",
        "network: 'container:x'",
        'network: "host\\n"',
        'network: "container:x\\n"',
        "env_from: [PATH]",
        "env_from: [PANNIER_ROOT]",
        "env_from: [2001-13-45]",
        "image: ''",
        "client: ''",
        "client: !!timestamp x",
        "client: !!bool x",
        "client: !!int ''",
        "limits: {memory: 99999999999999999t}",
        "limits: {memory: '" + "9" * 400 + "'}",
        "limits: {processes: " + "9" * 5000 + "}",
        "limits: {processes: 0x" + "f" * 5000 + "}",
        "limits: {processes: 99999999999999999999}",
        "limits: {cpus: 0.0000000001}",
        "limits: {cpus: .inf}",
        "limits: {cpus: .nan}",
        'workdir: "/a\\n"',
        '"a\\e[2J": 1',
        "1: x",
        "- a",
        "a: [",
        "[" * 5000,
    ],
)
def test_what_cannot_be_meant_is_named_in_one_line(text: str) -> None:
    """The error names the file, and is one line."""
    with pytest.raises(SettingsError) as caught:
        parse(text, GroupSettings, "group.yaml")
    assert caught.value.message.startswith("group.yaml")
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mounts: {source: /a}", "mounts: should be a list"),
        ("mounts: [x]", "mounts.0: should hold `name: value` lines"),
        ("mounts: [{source: /a}]", "mounts.0.target: is missing"),
        ("mounts: [{source: /a, target: a, mode: w}]", "mounts.0.mode: should be 'ro' or 'rw'"),
        ("limits: {memory: 4}", "limits.memory: write a size like 512m or 4g"),
        ("limits: {processes: many}", "limits.processes: should be a whole number"),
        ("image: 4", "image: should be text, so put it in quotes"),
        ("autostart: maybe", "autostart: should be true or false"),
        ("env_from: [HOME]", "env_from.0: HOME is the image's own, and is not handed on"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_file(text: str, message: str) -> None:
    """Lists, text and numbers; no word of the program's insides."""
    with pytest.raises(SettingsError) as caught:
        parse(text, GroupSettings, "group.yaml")
    assert caught.value.message == f"group.yaml: {message}"


@pytest.mark.parametrize("text", ["a: 1\nb: {c: 1}\na: 2", "x: {b: 1, 'b': 2}"])
def test_a_name_that_stands_twice_is_refused(text: str) -> None:
    """Else the last would silently win, and the first be lost."""
    with pytest.raises(SettingsError, match=r"group.yaml, line \d: . stands there twice"):
        parse(text, GroupSettings, "group.yaml")


def test_a_date_is_text() -> None:
    """What looks like a date is a name like others, also a day that no calendar has."""
    assert parse("client: 2001-13-45", GroupSettings, "x").client == "2001-13-45"
    assert parse("client: 2001-12-14", GroupSettings, "x").client == "2001-12-14"


def test_a_mapping_that_is_merged_may_say_more() -> None:
    """YAML's merge key is not a name that stands twice."""
    text = "mounts:\n- &a {source: /a, target: a}\n- {<<: *a, target: b}\n- {<<: *a, target: c}"
    assert [m.target for m in parse(text, GroupSettings, "x").mounts] == ["a", "b", "c"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A folder or binary bytes in place of the file is an error of the settings."""
    (tmp_path / "group.yaml").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "group.yaml", tmp_path):
        with pytest.raises(SettingsError) as caught:
            load(path, GroupSettings)
        assert caught.value.message.startswith(f"{path} cannot be read: ")
        assert caught.value.message.count(str(tmp_path)) == 1


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("512m", 512 << 20), ("1.5GiB", 3 << 29), ("4g", 4 << 30)]
)
def test_sizes_count_as_docker_counts(text: str, size: int) -> None:
    """k, m, g and t are powers of 1,024."""
    assert size_in_bytes(text) == size


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    """Whatever a file holds: settings, or a SettingsError."""
    with contextlib.suppress(SettingsError):
        assert isinstance(parse(text, GroupSettings, "group.yaml"), GroupSettings)
