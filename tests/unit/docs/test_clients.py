"""The pages on clients: who does as they say gets what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pannier import clients, groups, launch
from pannier.groups import new_settings
from pannier.launch import Wish
from pannier.settings import GroupSettings, parse

PAGES = Path(__file__).parents[3] / "docs" / "clients"
_TABLE = re.compile(r"\| variable \|.*?\n\n", re.DOTALL)


def examples(client: str) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", (PAGES / f"{client}.md").read_text(), re.DOTALL)


def variables(client: str) -> set[str]:
    """What the page says that may be handed on: in its example, and in its table."""
    page = (PAGES / f"{client}.md").read_text()
    settings = [parse(text, GroupSettings, client) for text in examples(client)]
    named = {name for one in settings for name in one.env_from}
    tables = "\n".join(_TABLE.findall(page))
    rows = re.findall(r"^\| (`[^|]*) \|", tables, re.MULTILINE)
    return named | {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}


@pytest.mark.parametrize("client", [name for name, c in clients.CLIENTS.items() if c.program])
def test_its_settings_start_a_container(client: str, tmp_path: Path) -> None:
    """The example is accepted as it stands, and the container has each variable that is named."""
    home, _ = groups.init(tmp_path / "home", {"HOME": str(tmp_path)})
    groups.add(home, "scout", new_settings(client, None, ()))
    settings = home.group("scout").settings
    environ = {"HOME": str(tmp_path), **{name: f"my {name}" for name in variables(client)}}
    assert examples(client)
    for text in (*examples(client), f"env_from: [{', '.join(sorted(variables(client)))}]\n"):
        settings.write_text(f"client: {client}\n{text}")
        plan = launch.decide(home, Wish("scout"), environ)
        spec = launch.specify(home, plan, environ, "run", gate=True)
        for name in plan.group.settings.env_from:
            assert spec.environment[name] == f"my {name}"
        assert (spec.environment["PANNIER_THREAD"], spec.environment["PANNIER_GATE"]) == (
            "main",
            "1",
        )


@pytest.mark.parametrize(
    "name", ["THREAD", "TASK", "GATE", "SPOOL", "INBOX", "ROOT", "HOME", "EXEC"]
)
def test_what_pannier_says_to_its_hook_is_nobody_elses(name: str) -> None:
    """No variable of the person's takes the place of one that pannier sets in the container."""
    with pytest.raises(ValueError, match="the image's own"):
        GroupSettings(env_from=(f"PANNIER_{name}",))
