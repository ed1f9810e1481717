"""Finding the engine."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from pannier.engine.connect import connect
from pannier.errors import EngineNotFound


def _context(config: Path, name: str, host: str) -> None:
    folder = config / "contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    meta = {"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host}}}
    (folder / "meta.json").write_text(json.dumps(meta))


def test_a_context_is_looked_for_where_the_given_environment_says(tmp_path: Path) -> None:
    """As docker does: below DOCKER_CONFIG, whether or not there is a config.json."""
    _context(tmp_path, "near", f"unix://{tmp_path}/no-engine.sock")
    environ = {"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "near"}
    with pytest.raises(EngineNotFound, match="no engine answers: No such file"):
        connect(environ)
    with pytest.raises(EngineNotFound, match="no context called 'far'"):
        connect({**environ, "DOCKER_CONTEXT": "far"})


def test_the_current_context_is_used(tmp_path: Path) -> None:
    """The one that `docker context use` chose."""
    _context(tmp_path, "near", f"unix://{tmp_path}/no-engine.sock")
    (tmp_path / "config.json").write_text('{"currentContext": "near"}')
    with pytest.raises(EngineNotFound, match="No such file"):
        connect({"DOCKER_CONFIG": str(tmp_path)})


def test_an_engine_on_another_machine_is_refused(tmp_path: Path) -> None:
    """It has none of the folders that it would be asked to mount."""
    _context(tmp_path, "far", "ssh://somebody@far")
    for environ in (
        {"DOCKER_HOST": "ssh://somebody@far"},
        {"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "far"},
    ):
        with pytest.raises(EngineNotFound, match="another machine \\(ssh://somebody@far\\)"):
            connect(environ)
