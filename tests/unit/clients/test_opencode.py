"""What is baked into OpenCode's image: settings, and the plugin that calls the hook."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pannier.bake.layout import tree
from pannier.clients.client import HOOK_PROGRAM, Link
from pannier.clients.opencode import CLIENT, COMMAND, COMMANDS, CONTEXT, KEPT, PLUGIN
from pannier.engine.recipes import read_sources
from pannier_hook.clients import CLIENTS as HOOK
from pannier_hook.clients import PLAIN, answer

NODE = shutil.which("node")

# Plays OpenCode: imports the plugin, calls its hooks as the steps on standard input say, and tells
# what came of each. `server` is what OpenCode's own server knows; null means that it fails.
PLAYER = """
import { readFileSync } from "node:fs"
const [plugin] = process.argv.slice(2)
const { server, steps } = JSON.parse(readFileSync(0, "utf8"))
const asked = (found) => (server ? { data: found() } : Promise.reject(new Error("no server")))
const logged = []
const client = {
  app: {
    agents: async () => asked(() => server.agents),
    log: async ({ body }) => logged.push(body.message),
  },
  session: { get: async ({ path }) => asked(() => server.sessions[path.id] ?? {}) },
}
const { default: load } = await import(plugin)
const hooks = await load({ client })
const results = []
for (const { hook, input, output, times = 1 } of steps) {
  for (let time = 0; time < times; time++) {
    await (hook === "config" ? hooks.config(output) : hooks[hook](input, output))
  }
  results.push(output ?? input)
}
console.log(JSON.stringify({ results, logged }))
"""

TITLE = "You make titles."
AGENT = "You write code."
SERVER = {
    "agents": [
        {"name": "title", "native": True, "hidden": True, "prompt": TITLE},
        {"name": "build", "native": True},
        {"name": "quiet", "hidden": True, "prompt": AGENT},
    ],
    "sessions": {"ses_child": {"parentID": "ses_1"}},
}


def managed() -> dict[str, Any]:
    text = CLIENT.baked["/etc/opencode/opencode.json"]
    assert isinstance(text, str)
    settings: dict[str, Any] = json.loads(text)
    return settings


def baked(path: str) -> str:
    text = CLIENT.baked[path]
    assert isinstance(text, str)
    return text


def plugin_text() -> str:
    return baked(PLUGIN)


def test_the_plugin_is_registered_where_it_is_baked() -> None:
    """The settings of the image name the plugin's file."""
    assert managed()["plugin"] == [f"file://{PLUGIN}"]
    assert plugin_text().count(HOOK_PROGRAM) == 1


def test_the_hook_prints_plain_text() -> None:
    """The plugin passes on what the hook prints: the memory as it is, of any length."""
    row = HOOK["opencode"]
    assert (row.dialect, row.limit, row.parts) == (PLAIN, None, 1)
    assert answer(row, "<text>") == "<text>\n"


def test_nothing_is_updated_or_shared() -> None:
    """The program stays as pinned, and no conversation is put on the net."""
    assert managed()["autoupdate"] is False
    assert managed()["share"] == "disabled"


def test_the_file_for_commands_is_baked_where_the_plugin_names_it() -> None:
    """It is pannier's own in an image of anybody's, too."""
    assert f'"{COMMAND}"' in baked(COMMANDS)
    assert COMMAND.lstrip("/") in tree(CLIENT, read_sources()).hook


def test_standing_instructions_are_read_where_they_are_mounted() -> None:
    """OpenCode reads them beside a person's own AGENTS.md, which stays theirs."""
    assert managed()["instructions"] == ["/run/pannier/instructions/AGENTS.md"]
    assert not any(path.endswith("AGENTS.md") for path in CLIENT.skeleton)


def test_the_library_of_plugins_is_linked_into_home() -> None:
    """OpenCode would otherwise wait for npm's registry at its first start."""
    assert CLIENT.skeleton[".config/opencode/node_modules"] == Link(
        "/opt/opencode/plugin/node_modules"
    )


def test_endpoint() -> None:
    """OpenCode is sent to the endpoint by a provider that it ships."""
    environment = CLIENT.endpoint('http://127.0.0.1:1/"x"').environment
    settings = json.loads(environment["OPENCODE_CONFIG_CONTENT"])
    provider, model = settings["model"].split("/")
    assert settings["provider"][provider]["options"]["baseURL"] == 'http://127.0.0.1:1/"x"/v1'
    assert model in settings["provider"][provider]["models"]


@dataclass(frozen=True)
class Place:
    """A HOME, and a hook that numbers its answers."""

    root: Path

    @property
    def kept(self) -> Path:
        return self.root / ".local/share/opencode/pannier"

    def files(self) -> list[str]:
        return sorted(file.name for file in self.kept.iterdir())

    def calls(self) -> list[dict[str, str]]:
        """What the hook was called with, each time."""
        log = self.root / "calls"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def hook(self, script: str) -> None:
        program = self.root / "hook"
        program.write_text(f"#!/bin/sh\ncd {self.root}\n{script}\n")
        program.chmod(0o755)

    def start(self, **environment: str) -> subprocess.Popen[str]:
        if NODE is None:
            pytest.skip("the plugin is JavaScript, and there is no node on the PATH to run it")
        return subprocess.Popen(
            [NODE, self.root / "player.mjs", self.root / "pannier.mjs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"HOME": str(self.root), "PATH": os.environ["PATH"], **environment},
            text=True,
        )

    def play(
        self, *steps: object, server: object = SERVER, **environment: str
    ) -> tuple[list[Any], list[str]]:
        """One process of OpenCode. What came of each step, and what was logged."""
        process = self.start(**environment)
        said, _ = process.communicate(json.dumps({"server": server, "steps": steps}), timeout=30)
        assert process.returncode == 0
        told = json.loads(said)
        return told["results"], told["logged"]

    def ask(self, *turns: tuple[object, ...], server: object = SERVER) -> list[str]:
        """One process of OpenCode; what was added to the system prompt of each turn."""
        results, _ = self.play(*(step for turn in turns for step in turn), server=server)
        return ["".join(r["system"][1:]) for r in results if "system" in r]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path)
    (tmp_path / "player.mjs").write_text(PLAYER)
    (tmp_path / "pannier.mjs").write_text(
        plugin_text().replace(HOOK_PROGRAM, str(tmp_path / "hook"))
    )
    (tmp_path / "package.json").write_text('{"type": "module"}')
    for path in (f"{CONTEXT}.js", f"{CONTEXT}.json", KEPT, COMMANDS):
        (tmp_path / Path(path).name).write_text(baked(path))
    found.hook("cat >>calls; echo >>calls; echo memory $(wc -l <calls)")
    return found


def turn(
    begun: int, session: str = "ses_1", prompt: str = AGENT, *, kind: str = "text"
) -> tuple[object, ...]:
    """An agent's request in the context whose first message is of the time `begun`."""
    first = {"info": {"sessionID": session, "time": {"created": begun}}, "parts": [{"type": kind}]}
    return (
        {
            "hook": "experimental.chat.messages.transform",
            "input": {},
            "output": {"messages": [first]},
        },
        system(session, prompt),
    )


def system(session: str | None, prompt: str) -> dict[str, object]:
    return {
        "hook": "experimental.chat.system.transform",
        "input": {"sessionID": session},
        "output": {"system": [f"{prompt} And so on."]},
    }


def config(place: Place, given: Mapping[str, object], **environment: str) -> dict[str, Any]:
    [result], _ = place.play({"hook": "config", "output": dict(given)}, **environment)
    settled: dict[str, Any] = result
    return settled


def test_the_same_text_within_a_context(place: Place) -> None:
    """Every request of a context has the text of its beginning, and the hook is called once."""
    assert place.ask(turn(1), turn(1), turn(1)) == ["memory 1\n"] * 3
    assert place.calls() == [{"session_id": "ses_1", "source": "startup"}]


def test_the_same_text_in_a_later_process(place: Place) -> None:
    """A session that another process goes on with has the text of its beginning, too."""
    place.ask(turn(1))
    assert place.ask(turn(1), turn(1)) == ["memory 1\n"] * 2
    assert len(place.calls()) == 1


def test_a_fork_has_the_text_of_its_origin(place: Place) -> None:
    """A fork keeps the times of the messages that it copies: it is the same context."""
    assert place.ask(turn(1), turn(1, "ses_fork")) == ["memory 1\n"] * 2


def test_another_context_has_a_new_text(place: Place) -> None:
    """A new session, a compaction and another first prompt in the same session are new contexts."""
    turns = turn(1), turn(2, "ses_2"), turn(3, kind="compaction"), turn(4), turn(1)
    assert place.ask(*turns) == [f"memory {n}\n" for n in (1, 2, 3, 4, 1)]
    assert [call["source"] for call in place.calls()] == [
        "startup",
        "startup",
        "compact",
        "startup",
    ]


def test_titles_and_summaries_get_nothing(place: Place) -> None:
    """OpenCode's own small agents are told apart by their prompts, a person's are not."""
    aside = (system("ses_1", TITLE),)
    assert place.ask(aside, turn(1), aside) == ["", "memory 1\n", ""]


def test_sub_agents_get_nothing(place: Place) -> None:
    """A session that an agent made for another begins with what it is told, and no more."""
    assert place.ask(turn(1), turn(2, "ses_child"), turn(1)) == ["memory 1\n", "", "memory 1\n"]


def test_a_request_of_no_session_gets_nothing(place: Place) -> None:
    """OpenCode makes an agent's description by a request that belongs to nobody."""
    assert place.ask((system(None, AGENT),)) == [""]


def test_in_doubt_the_memory_is_there(place: Place) -> None:
    """When OpenCode's server does not answer, every request gets it."""
    assert place.ask(turn(1), (system("ses_2", AGENT),), server=None) == [
        "memory 1\n",
        "memory 2\n",
    ]


@pytest.mark.parametrize("script", ["exit 1", "echo half; exit 1", "kill -9 $$", ":"])
def test_a_hook_that_fails_is_asked_again(place: Place, script: str) -> None:
    """Its request goes on without, and is logged; the next one tries anew."""
    place.hook(f"echo >>tried; {script}")
    results, logged = place.play(*turn(1), *turn(1))
    assert [r["system"][1:] for r in results if "system" in r] == [[], []]
    assert len(logged) == len((place.root / "tried").read_text()) == 2
    place.hook("echo memory")
    assert place.ask(turn(1)) == ["memory\n"]


def test_without_a_hook(place: Place) -> None:
    """A hook that is not there keeps no request from going on."""
    (place.root / "hook").unlink()
    assert place.ask(turn(1)) == [""]


def test_a_text_of_any_kind_passes_unchanged(place: Place) -> None:
    """What the hook prints is added to the byte, long or strange."""
    text = "<&> \u2028 😀\ufeff\x00" * 20_000 + "\n"
    (place.root / "text").write_text(text)
    place.hook("cat text")
    assert place.ask(turn(1)) == [text]
    assert place.ask(turn(1)) == [text]


@pytest.mark.parametrize("odd", ["fifo", "link", "folder", "empty", "huge"])
def test_what_the_agent_puts_in_place_of_a_text(place: Place, odd: str) -> None:
    """Something else under the name of a kept text hangs nothing: the memory comes anew."""
    place.ask(turn(1))
    [name] = place.files()
    file = place.kept / name
    file.unlink()
    if odd == "fifo":
        os.mkfifo(file)
    elif odd == "link":
        file.symlink_to("/dev/zero")
    elif odd == "folder":
        (file / "x").mkdir(parents=True)
    else:
        file.write_text("x" * (2 << 20 if odd == "huge" else 0))
    assert place.ask(turn(1), turn(1)) == ["memory 2\n"] * 2


def test_a_folder_that_cannot_be_made(place: Place) -> None:
    """Where nothing can be kept, a process still has one text for each context, and says so."""
    place.kept.parent.mkdir(parents=True)
    place.kept.touch()
    results, logged = place.play(*turn(1), *turn(1))
    assert [r["system"][1:] for r in results if "system" in r] == [["memory 1\n"]] * 2
    assert logged


def test_two_processes_at_once_agree(place: Place) -> None:
    """Of two processes that begin in one context at once, both have the text of the first."""
    place.hook("echo >>began; until [ $(wc -l <began) = 2 ]; do :; done; echo memory $$")
    both = [place.start(), place.start()]
    for process in both:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"server": SERVER, "steps": turn(1)}))
        process.stdin.close()
    texts = []
    for process in both:
        assert process.stdout is not None
        texts.append(json.loads(process.stdout.read())["results"][1]["system"][1])
        assert process.wait(30) == 0
    assert texts[0] == texts[1]
    assert texts[0].startswith("memory ")


def _old(place: Place, name: str, days: float) -> None:
    place.kept.mkdir(parents=True, exist_ok=True)
    (place.kept / name).write_text("old")
    used = time.time() - days * 86_400
    os.utime(place.kept / name, (used, used))


def test_what_is_kept_is_bounded(place: Place) -> None:
    """Of many texts the hundred that were used last stay."""
    for number in range(150):
        _old(place, f"{number}", number / 1_000)
    place.ask(turn(98), turn(5_000))
    assert place.files() == sorted([*map(str, range(99)), "5000"])


def test_what_is_kept_is_not_kept_for_ever(place: Place) -> None:
    """A text that was not used for 90 days goes, and so does what a killed process left."""
    for name, days in {"1": 89, "2": 91, "1.draft": 91}.items():
        _old(place, name, days)
    place.ask(turn(3))
    assert place.files() == ["1", "3"]


def test_a_text_in_use_stays(place: Place) -> None:
    """An old session that goes on keeps its text from being removed as old."""
    _old(place, "7", 1_000)
    assert place.ask(turn(7), turn(8)) == ["old", "memory 1\n"]
    assert place.files() == ["7", "8"]


def test_what_is_kept_is_nobody_elses(place: Place) -> None:
    """Texts and their folder can be read by their owner only."""
    place.ask(turn(1))
    [name] = place.files()
    assert place.kept.stat().st_mode & 0o077 == 0
    assert (place.kept / name).stat().st_mode & 0o077 == 0


def test_state_elsewhere(place: Place) -> None:
    """Texts lie where OpenCode's other data lies."""
    place.play(*turn(1), XDG_DATA_HOME=str(place.root / "data"))
    assert (place.root / "data/opencode/pannier/1").read_text() == "memory 1\n"


ALLOWED = {"*": "allow", "/workspace/*": "allow"}


@pytest.mark.parametrize(
    ("given", "settled"),
    [
        ({}, {"external_directory": ALLOWED}),
        ({"edit": "ask"}, {"edit": "ask", "external_directory": ALLOWED}),
        (
            {"external_directory": "deny", "*": "ask"},
            {"*": "ask", "external_directory": {"*": "deny", "/workspace/*": "allow"}},
        ),
        (
            {"external_directory": {"/workspace/extra/x/*": "deny", "*": "ask"}},
            {
                "external_directory": {
                    "*": "ask",
                    "/workspace/*": "allow",
                    "/workspace/extra/x/*": "deny",
                }
            },
        ),
    ],
)
def test_paths_outside_of_the_working_directory(
    place: Place, given: object, settled: dict[str, object]
) -> None:
    """Nobody is asked about them. A person's rules stay and go before; the mounts stay open."""
    found = config(place, {"permission": given})["permission"]
    # Their order counts: the last one that fits is taken.
    assert json.dumps(found) == json.dumps(settled)


def test_permission_in_one_word(place: Place) -> None:
    """A single word for everything still means everything but the mounts."""
    assert config(place, {"permission": "ask"})["permission"] == {
        "*": "ask",
        "external_directory": ALLOWED,
    }


def test_a_free_model_is_not_taken_unasked(place: Place) -> None:
    """Without a login or key the memory is not sent to the makers' own models."""
    assert config(place, {})["disabled_providers"] == ["opencode"]
    assert config(place, {"disabled_providers": ["x"]})["disabled_providers"] == ["x", "opencode"]


@pytest.mark.parametrize(
    "given",
    [
        {"model": "opencode/m"},
        {"agent": {"build": {"model": "opencode/m"}}},
        {"provider": {"opencode": {}}},
    ],
)
def test_a_model_that_was_named(place: Place, given: dict[str, object]) -> None:
    """Settings that name one of the makers' models have it."""
    assert "disabled_providers" not in config(place, given)


def test_a_login_or_key_with_the_makers(place: Place) -> None:
    """Who has logged in there, or has a key, has their models."""
    assert "disabled_providers" not in config(place, {}, OPENCODE_API_KEY="k")
    login = json.dumps({"opencode": {"type": "api", "key": "k"}})
    assert "disabled_providers" not in config(place, {}, OPENCODE_AUTH_CONTENT=login)
    data = place.root / ".local/share/opencode"
    data.mkdir(parents=True)
    (data / "auth.json").write_text(login)
    assert "disabled_providers" not in config(place, {})
    (data / "auth.json").write_text("not JSON")
    assert config(place, {})["disabled_providers"] == ["opencode"]
