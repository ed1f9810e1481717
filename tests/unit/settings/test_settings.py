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
    assert "\n" not in caught.value.message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A folder or binary bytes in place of the file is an error of the settings."""
    (tmp_path / "group.yaml").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "group.yaml", tmp_path):
        with pytest.raises(SettingsError, match="cannot be read"):
            load(path, GroupSettings)


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
