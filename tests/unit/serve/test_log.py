"""What the daemon says, line by line."""

from __future__ import annotations

import json

from pannier.errors import PannierError
from pannier.serve.log import Event, as_json, plain, timestamp
from pannier.serve.words import in_one_line

AT = 1_800_000_000.0


def test_a_plain_line_has_time_level_group_event_and_message() -> None:
    """In this order; a dash stands for the whole home."""
    event = Event("warning", "scout", "container.ended", "it ended")
    assert plain(event, AT) == "2027-01-15T08:00:00Z warning scout container.ended: it ended"
    assert plain(Event("info", "", "serve.started", "begins"), AT).split()[2] == "-"


def test_a_json_line_is_one_object_with_the_same_fields() -> None:
    """For programs; no group is null."""
    event = Event("error", "", "engine.gone", "no engine")
    assert json.loads(as_json(event, AT)) == {
        "time": timestamp(AT),
        "level": "error",
        "group": None,
        "event": "engine.gone",
        "message": "no engine",
    }


def test_whatever_a_message_holds_it_stays_one_line() -> None:
    """Names that an agent chose cannot write lines of the log or move the cursor."""
    event = Event("info", "scout", "group.odd", "memory/a\n2027 error x\x1b[2J\u202eb\r")
    assert "\n" not in json.loads(as_json(event, AT))["message"]
    for line in (plain(event, AT), as_json(event, AT)):
        assert len(line.splitlines()) == 1
        assert line.isprintable()


def test_a_daemon_is_not_told_of_options() -> None:
    """The rest of the hint is for whoever reads the log."""
    hint = "See: pannier mounts show scout. Or start without: --skip-refused."
    error = PannierError("refused:\n  docs", hint)
    assert in_one_line(error) == "refused: docs (See: pannier mounts show scout.)"
    assert in_one_line(PannierError("no", "Or start without: --skip-refused.")) == "no"
