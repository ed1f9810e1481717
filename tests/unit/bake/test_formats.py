"""Settings files of a person's, as text."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from pannier.bake.formats import NotReadable, merged, parse
from pannier.bake.merge import CannotMerge
from pannier.clients import claude, codex

CLAUDE = claude.managed_settings()
CODEX = tomllib.loads(codex.REQUIREMENTS)
OURS = CODEX["hooks"]["SessionStart"]


def test_what_needs_no_change_stays_byte_for_byte() -> None:
    """However a person wrote it."""
    text, _ = merged(b"{}", "x.json", CLAUDE)
    ugly = json.dumps(json.loads(text), indent=None, separators=(" ,", ": ")).encode()
    assert merged(ugly, "x.json", CLAUDE)[0] == ugly


@pytest.mark.parametrize("indent", [2, 4, "\t"])
def test_json_keeps_its_indent_its_order_and_its_characters(indent: int | str) -> None:
    """And whatever pannier knows nothing of."""
    theirs = {"zeta": "é \u2028", "alpha": [1.5, None], "hooks": {}}
    before = json.dumps(theirs, indent=indent, ensure_ascii=False)
    text = merged(before.encode(), "x.json", CLAUDE)[0].decode()
    lines = before.splitlines()
    assert text.splitlines()[:2] == lines[:2]
    after = json.loads(text)
    assert list(after)[:3] == list(theirs)
    assert {key: after[key] for key in ("zeta", "alpha")} == {
        "zeta": "é \u2028",
        "alpha": [1.5, None],
    }


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (b"", "x.json", "Expecting value"),
        (b"{", "x.json", "line 1"),
        (b"// mine\n{}", "x.json", "line 1"),
        (b'{"hooks": {}, "hooks": {}}', "x.json", "'hooks' twice"),
        (b"[]", "x.json", "does not hold an object"),
        (b'{"a": NaN}', "x.json", "NaN"),
        (b"\xff", "x.json", "utf-8"),
        (b"\xef\xbb\xbf{}", "x.json", "BOM"),
        (b"[" * 100_000, "x.json", "recursion"),
        (b"a = \n", "x.toml", "line 1"),
        (b"a = 1\na = 2", "x.toml", "overwrite"),
    ],
)
def test_what_cannot_be_read_is_not_guessed_at(text: bytes, name: str, why: str) -> None:
    """The reason is one line."""
    with pytest.raises(NotReadable, match=f"(?i){why}") as caught:
        merged(text, name, CLAUDE)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "number", ["12345678901234567890.123456789", "1.50", "1e999", "-0.0", "1E+2", "9" * 40]
)
def test_numbers_stay_as_they_were_written(number: str) -> None:
    """Whatever a float would make of them; a string that looks like our mark stays, too."""
    theirs = f'{{"a": [{number}, {{"b": {number}}}], "c": "number 0", "number #1": "{number}"}}'
    text = merged(theirs.encode(), "x.json", CLAUDE)[0].decode()
    as_text = {"parse_float": str, "parse_int": str}
    after, before = json.loads(text, **as_text), json.loads(theirs, **as_text)  # type: ignore[arg-type]
    assert {key: after[key] for key in before} == before


def test_what_cannot_be_written_again() -> None:
    """Half a character that JSON can name and UTF-8 cannot: the file is left alone."""
    with pytest.raises(CannotMerge):
        merged(rb'{"a": "\ud800"}', "x.json", CLAUDE)


@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [
        ("x.toml", "# mine\r\n[a]\r\nb = 1\r\n", CODEX),
        ("x.toml", '# mine\r\na = """x\r\ny"""\r\n', CODEX),
        ("x.json", '{\r\n  "a": 1\r\n}\r\n', CLAUDE),
    ],
)
def test_line_ends_are_not_mixed(name: str, theirs: str, ours: dict[str, Any]) -> None:
    """Where a person's lines end in CR LF, ours do."""
    text = merged(theirs.encode(), name, ours)[0]
    assert text.count(b"\n") == text.count(b"\r\n") > theirs.count("\n")


COMMENTED = """\
# Ours, not pannier's.

[features]   # see the handbook
web = true

[[hooks.SessionStart]]
matcher = "startup"  # only then
[[hooks.SessionStart.hooks]]
type = "command"
command = "greet"

[last]
value = 1_000  # a thousand
"""


def test_toml_keeps_comments_and_order() -> None:
    """Every line of a person's is there, in its order."""
    text = merged(COMMENTED.encode(), "x.toml", CODEX)[0].decode()
    lines = iter(text.splitlines())
    assert all(line in lines for line in COMMENTED.splitlines() if line)
    data = tomllib.loads(text)
    assert data["hooks"]["SessionStart"][1:] == OURS
    assert data["features"] == {"web": True, **CODEX["features"]}


@pytest.mark.parametrize(
    "theirs",
    [
        "",
        "# only a comment",
        "hooks.SessionStart = [{hooks = [{command = 'greet'}]}]",
        "hooks = {SessionStart = []}",
        "[hooks]\nSessionStart = [\n  # mine\n]\n",
        "features.web = true\nfeatures.hooks = false",
        "features = {hooks = false}",
        "[features.deep]\nx = 1\n[other]\ny = 2\n[features]\nz = 3",
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'x'\n[a.b]\nc = 1",
        "[[hooks.SessionStart]]\nhooks = [{command = '/x/pannier-hook old --client codex'}]",
    ],
)
def test_toml_of_every_form(theirs: str) -> None:
    """Dotted, inline, or as tables: ours is there once, and theirs is still what it was."""
    text, done = merged(theirs.encode(), "x.toml", CODEX)
    data = tomllib.loads(text.decode())
    assert [g for g in data["hooks"]["SessionStart"] if g in OURS] == OURS
    assert data["features"]["hooks"] is True
    assert merged(text, "x.toml", CODEX, done.added)[0] == text


toml_keys = st.sampled_from(["hooks", "SessionStart", "features", "memories", "a.b", "é"])
toml_values = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.text("ab \"'#=[]\n", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(toml_keys, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(toml_keys, toml_values, max_size=4), st.booleans())
def test_toml_says_what_the_merge_says_or_is_left_alone(data: dict[str, Any], flat: bool) -> None:
    """No text is written that does not hold exactly what was decided."""
    before = tomlkit.dumps(data) if not flat else tomlkit.dumps({"top": data, **data})
    try:
        text, done = merged(before.encode(), "x.toml", CODEX)
    except CannotMerge:
        return
    after = parse(text, "x.toml")
    assert OURS[0] in after["hooks"]["SessionStart"]
    assert merged(text, "x.toml", CODEX, done.added)[0] == text
