"""What is baked into Qwen Code's image, and how Qwen Code is started there."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pannier.clients.client import Link, hook_command
from pannier.clients.qwen import CLIENT
from pannier.engine.recipes import data_dir
from pannier.settings import ContextSettings
from pannier_hook.clients import CLIENTS as HOOK

STARTER = data_dir() / "images" / "qwen" / "qwen"
MEMORY = "/workspace/agent/memory"


def _baked(name: str) -> dict[str, Any]:
    content = CLIENT.baked[f"/etc/qwen-code/{name}.json"]
    assert isinstance(content, str)
    settings: dict[str, Any] = json.loads(content)
    return settings


def test_hook_entries() -> None:
    """One entry an event, without a matcher, in seconds: from 1,000 up they would be
    milliseconds."""
    assert _baked("settings")["hooks"] == {
        theirs: [
            {
                "hooks": [
                    {
                        "type": "command",
                        "name": f"pannier {ours}",
                        "command": hook_command(ours, "qwen"),
                        "timeout": 10,
                    }
                ]
            }
        ]
        for theirs, ours in (
            ("SessionStart", "session-start"),
            ("UserPromptSubmit", "user-prompt"),
            ("PostToolUse", "post-tool"),
            ("PostToolUseFailure", "post-tool"),
            ("Stop", "stop"),
            ("StopFailure", "stop"),
            ("PreCompact", "pre-compact"),
            ("PostCompact", "post-compact"),
            ("SessionEnd", "session-end"),
        )
    }
    assert (HOOK["qwen"].limit, HOOK["qwen"].parts) == (None, 1)


def test_every_session_start_is_fresh() -> None:
    """Hook and verification agree that memory is delivered on resume and in a fork, too."""
    assert {"startup", "resume", "clear", "compact"} <= HOOK["qwen"].fresh & CLIENT.fresh
    assert CLIENT.events.keys() == CLIENT.fresh


def test_what_a_person_cannot_undo() -> None:
    """Hooks stay on; the client's own memories and its sandbox stay off."""
    settings = _baked("settings")
    assert settings["disableAllHooks"] is False
    assert not any(settings["memory"].values())
    assert {"enableManagedAutoMemory", "enableManagedAutoDream"} <= settings["memory"].keys()
    assert settings["tools"] == {"sandbox": False}


def test_defaults_that_a_person_can_undo() -> None:
    """Telemetry, statistics and updates are off where ~/.qwen/settings.json goes first."""
    defaults = _baked("system-defaults")
    assert defaults["general"]["enableAutoUpdate"] is False
    assert defaults["privacy"]["usageStatisticsEnabled"] is False
    assert defaults["telemetry"]["enabled"] is False
    assert not _baked("settings").keys() & {"general", "privacy", "telemetry"}


def test_memory_is_edited_without_asking() -> None:
    """Its files are written and edited unasked. Without a person the client offers a tool only if a
    rule calls it by the client's own name for it, so these are used."""
    allowed = _baked("settings")["permissions"]["allow"]
    assert {f"Edit(/{MEMORY}/**)", f"WriteFile(/{MEMORY}/**)"} <= {*allowed}
    assert {rule.partition("(")[0] for rule in allowed} == {
        "ReadFile",
        "Edit",
        "WriteFile",
        "Shell",
    }


def test_no_command_reaches_beyond_memory() -> None:
    """A pattern lets any further path pass, so only commands that destroy nothing have one."""
    allowed = _baked("settings")["permissions"]["allow"]
    commands = {rule[len("Shell(") :].split()[0] for rule in allowed if rule.startswith("Shell(")}
    assert commands == {"mkdir", "rmdir"}


def test_standing_instructions_are_linked() -> None:
    """Qwen Code reads its standing instructions where the sidecar mounts them."""
    assert CLIENT.skeleton == {".qwen/QWEN.md": Link("/run/pannier/instructions/QWEN.md")}


@pytest.mark.parametrize(
    ("arrives", "text"), [("&lt;b&gt; &amp;", "<b> &amp;"), ("a &amp;lt; b", "a &amp;lt; b")]
)
def test_escapes_are_undone(arrives: str, text: str) -> None:
    """Angle brackets arrive escaped, and nothing else does."""
    assert CLIENT.decode(arrives) == text


def test_endpoint() -> None:
    """Qwen Code takes a key only together with an address and a model."""
    endpoint = CLIENT.endpoint("http://127.0.0.1:1")
    assert endpoint.environment["OPENAI_BASE_URL"] == "http://127.0.0.1:1/v1"
    assert endpoint.environment["OPENAI_API_KEY"]
    assert endpoint.environment["OPENAI_MODEL"]


def _start(tmp_path: Path, **environment: str) -> list[str]:
    """What the starter becomes: its words, and the environment that it added."""
    node = tmp_path / "node"
    node.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$SANDBOX" "$QWEN_CODE_CLI" $PPID "$@"; '
        'cat "${QWEN_CODE_SYSTEM_DEFAULTS_PATH:-/dev/null}"\n'
    )
    node.chmod(0o755)
    script = STARTER.read_text()
    assert script.count("/opt/node/bin/node") == 1
    starter = tmp_path / "qwen"
    starter.write_text(script.replace("/opt/node/bin/node", str(node)))
    done = subprocess.run(
        ["sh", "-eu", starter, "-p", "a  b*", ""],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_starter_becomes_the_client(tmp_path: Path) -> None:
    """The arguments reach the client unchanged, and no parent process stays that would keep signals
    from it."""
    sandbox, program, parent, *words = _start(tmp_path)
    assert parent == str(os.getpid())
    assert (sandbox, program) == ("pannier", str(tmp_path / "qwen"))
    assert words[0] == "--expose-gc"
    assert words[1].endswith("/qwen-code/cli.js")
    assert words[2:] == ["-p", "a  b*", ""]


def test_starter_keeps_what_is_set(tmp_path: Path) -> None:
    """Who calls the container otherwise is not overruled."""
    assert _start(tmp_path, SANDBOX="mine")[0] == "mine"
    own = tmp_path / "own.json"
    own.write_text("mine\n")
    said = {"PANNIER_QWEN_DEFAULTS": "{}", "TMPDIR": str(tmp_path)}
    assert _start(tmp_path, QWEN_CODE_SYSTEM_DEFAULTS_PATH=str(own), **said)[-1] == "mine"


def test_starter_hands_on_defaults(tmp_path: Path) -> None:
    """Defaults in a variable are those of the client, however often it is started."""
    said = {"PANNIER_QWEN_DEFAULTS": '{"a": "b c"}', "TMPDIR": str(tmp_path)}
    assert _start(tmp_path, **said)[-1] == '{"a": "b c"}'
    assert _start(tmp_path, **said)[-1] == '{"a": "b c"}'
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "node",
        "pannier-qwen-defaults.json",
        "qwen",
    ]


@pytest.mark.parametrize(
    ("said", "threshold", "window"),
    [
        ({}, 0.7, None),
        ({"compaction": {"trigger_percent": 55}}, 0.55, None),
        ({"window": 100_000, "compaction": {"reserve_tokens": 40_000}}, 0.6, 100_000),
        ({"compaction": {"enabled": False}}, None, None),
    ],
)
def test_when_it_compacts(
    said: dict[str, object], threshold: float | None, window: int | None
) -> None:
    """As the group says: by the image's defaults, else by others in their place. All else in them
    stays."""
    environment = CLIENT.context(ContextSettings.model_validate(said)).environment
    baked = _baked("system-defaults")
    defaults = json.loads(environment["PANNIER_QWEN_DEFAULTS"]) if environment else baked
    assert defaults.get("context", {}).get("autoCompactThreshold") == threshold
    model = defaults.get("model", {}).get("generationConfig", {})
    assert model.get("contextWindowSize") == window
    assert {name: baked[name] for name in ("general", "privacy", "telemetry", "ide")} == {
        name: defaults[name] for name in ("general", "privacy", "telemetry", "ide")
    }
