"""`pannier threads` as a person meets it."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pannier.cli import pannier
from pannier.clients.transcript import After, Entry, Message, Reading, TurnBegins, TurnEnds
from pannier.errors import PannierError, UsageError
from pannier.paths import Home
from pannier.threads import conversations, shelf
from pannier.threads.delete import delete
from pannier.threads.locking import writing
from pannier_hook.events import Event, Log

NOON = 1_795_953_600_000_000_000  # 2026-11-29 12:00 UTC
SECRET = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0LmNbab"
SESSION = "d805d1e6-7597-4b9a-bcee-1cefb2372312"
OTHER = "6ee793a0-4ff8-480b-a8f0-d4954891baef"

Put = Callable[..., None]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with the groups scout and other."""
    assert CliRunner().invoke(pannier, ["init", str(tmp_path)]).exit_code == 0
    for group in ("scout", "other"):
        assert run(tmp_path, "group", "add", group).exit_code == 0
    return Home(tmp_path)


def run(home: Home | Path, *args: str) -> Result:
    """The command; an error of ours stays in `exception`."""
    root = home.root if isinstance(home, Home) else home
    return CliRunner().invoke(pannier, ["--home", str(root), *args])


def error(done: Result) -> PannierError:
    assert isinstance(done.exception, PannierError)
    return done.exception


def put(
    home: Home,
    *entries: Entry,
    grp: str = "scout",
    thread: str = "main",
    session: str = SESSION,
    client: str = "claude",
    log: str = "",
    at: int = NOON,
) -> None:
    """Something was said, and stored."""
    event = Event(
        "stop",
        id="0" * 16,
        at=at,
        client=client,
        session=session,
        thread=thread,
        log=Log(log, 0) if log else None,
    )
    with writing(home, os.environ) as store:
        store.apply(grp, event, Reading(entries))


def person(key: str, text: str, **more: object) -> Message:
    return Message(key, "person", "text", text, **more)  # type: ignore[arg-type]


def agent(key: str, text: str, **more: object) -> Message:
    return Message(key, "agent", "text", text, **more)  # type: ignore[arg-type]


@pytest.fixture
def talked(home: Home) -> Home:
    """Two turns in scout's main thread: one with a tool, one that failed."""
    put(
        home,
        TurnBegins("1"),
        person("a", "What is in the Atlas folder?"),
        Message("b", "agent", "call", '{"command": "ls"}', call="c1", tool="Bash"),
        Message("c", "tool", "result", "plan.md", call="c1", tool="Bash"),
        agent("d", "One file: the release checklist."),
        TurnEnds("succeeded"),
        TurnBegins("2"),
        person("e", "Read it"),
        TurnEnds("failed"),
    )
    return home


# ------------------------------------------------------------------------------------ list and show


def test_list_shows_threads_in_numbers(talked: Home) -> None:
    """Name, key, turns by outcome, messages, sessions, last activity."""
    done = run(talked, "threads", "list")
    title, row = done.stdout.splitlines()
    assert title.split() == ["THREAD", "KEY", "TURNS", "MESSAGES", "SESSIONS", "LAST", "(UTC)"]
    assert re.fullmatch(r"scout/main +[0-9a-f]{8} +2 \(1 failed\) +5 +1 +2026-11-29 12:00", row)
    [data] = json.loads(run(talked, "threads", "list", "scout", "--json").stdout)
    assert data["turns"] == {"succeeded": 1, "failed": 1}
    assert (data["thread"], data["messages"], data["clients"]) == ("scout/main", 5, ["claude"])
    assert data["last"] == "2026-11-29T12:00:00.000+00:00"


def test_a_home_without_threads_says_so(home: Home) -> None:
    """Nothing is made by looking: no database."""
    done = run(home, "threads", "list")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "No threads yet" in done.stderr
    assert run(home, "threads", "list", "--json").stdout == "[]\n"
    assert not (home.state / "threads.db").exists()
    assert "no group nobody" in error(run(home, "threads", "list", "nobody")).message


def test_show_says_who_said_what(talked: Home) -> None:
    """Each turn and message with its number; a call with its tool; how a turn failed."""
    done = run(talked, "threads", "show", "scout")
    assert done.stdout == (
        "t1\n"
        "m1  2026-11-29 12:00  person\n    What is in the Atlas folder?\n"
        "m2  2026-11-29 12:00  call of Bash\n    command: ls\n"
        "m3  2026-11-29 12:00  result of Bash\n    plan.md\n"
        "m4  2026-11-29 12:00  agent\n    One file: the release checklist.\n"
        "t2  failed\n"
        "m5  2026-11-29 12:00  person\n    Read it\n"
    )
    limited = run(talked, "threads", "show", "scout", "--limit", "2")
    assert re.findall(r"^m\d", limited.stdout, re.M) == ["m4", "m5"]
    assert "more with --limit" in limited.stderr


def test_show_knows_branches(talked: Home) -> None:
    """What somebody left by going back is only shown with --all, and marked."""
    put(talked, TurnBegins("3"), person("f", "Something else", parent=After("d")))
    put(talked, Message("g", "agent", "text", "deep", inner="a1"))
    said = run(talked, "threads", "show", "scout/main").stdout
    assert re.findall(r"^m\d", said, re.M) == ["m1", "m2", "m3", "m4", "m6"]
    everything = run(talked, "threads", "show", "scout", "--all").stdout
    assert "m5  2026-11-29 12:00  person  (other branch)\n" in everything
    assert "m7  2026-11-29 12:00  agent  (inner, a1)\n" in everything
    data = json.loads(run(talked, "threads", "show", "scout", "--all", "--json").stdout)
    assert [(m["id"], m["current"]) for m in data["said"]][4:6] == [("m5", False), ("m6", True)]


def test_the_limit_counts_what_is_shown(home: Home) -> None:
    """What only the client needs doesn't count, unless it is shown, too."""
    thoughts = [Message(f"t{n}", "agent", "thinking", "hm") for n in range(30)]
    put(home, person("a", "one"), agent("b", "two"), *thoughts, agent("c", "three"))
    shown = run(home, "threads", "show", "scout", "--limit", "2").stdout
    assert [line.strip() for line in shown.splitlines()[1::2]] == ["two", "three"]
    every = run(home, "threads", "show", "scout", "--limit", "2", "--full").stdout
    assert [line.strip() for line in every.splitlines()[1::2]] == ["hm", "three"]
    assert run(home, "threads", "show", "scout", "--limit", "9").stdout.count("\nm") == 2


def test_a_name_as_long_as_a_page_is_cut_where_threads_are_listed(home: Home) -> None:
    """An agent chose it; the key names the thread as well, and JSON has it whole."""
    put(home, person("a", "words"), thread="x" * 1_000)
    put(home, person("b", "words"), thread="\u65e5\u672c")
    title, long, japanese = run(home, "threads", "list").stdout.splitlines()
    assert len(long) < 160
    assert "x…" in long
    key = title.index("KEY")
    assert re.fullmatch("[0-9a-f]{8}", long[key : key + 8])
    assert re.fullmatch("[0-9a-f]{8}", japanese[key - 2 : key + 6]), "each sign is two columns wide"
    assert "x" * 81 not in run(home, "threads", "search", "words").stdout
    names = [one["thread"] for one in json.loads(run(home, "threads", "list", "--json").stdout)]
    assert f"scout/{'x' * 1_000}" in names


def test_nothing_said_speaks_to_the_terminal(home: Home) -> None:
    """Control characters are escapes, a secret is masked: in show, search and list."""
    text = f"\x1b[2J\x9b31m zebra \u202e {SECRET}"
    put(home, TurnBegins("1"), person("a", text), thread="t\x1b[31m")
    put(
        home,
        Message("b", "agent", "call", text, tool="T\x1b]0;x\x07\x9b"),
        Message("c", "agent", "text", text, inner="i\x1b[1m"),
    )
    key = json.loads(run(home, "threads", "list", "--json").stdout)[1]["key"]
    for args in (
        ["list"],
        ["show", key],
        ["show", "scout", "--all", "--full"],
        ["show", "scout", "--json"],
        ["search", "zebra"],
        ["search", "zebra", "--json"],
        ["rollback", "scout", "--to", "m2", "--dry-run"],
        ["delete", "scout", "--dry-run"],
    ):
        done = run(home, "threads", *args)
        assert done.exit_code == 0, args
        assert SECRET not in done.output
        assert all(line.isprintable() for line in done.output.split("\n")), args


@pytest.mark.parametrize("args", [["show"], ["export"], ["rollback", "--to", "m1"], ["delete"]])
def test_an_unknown_thread_is_one_line_with_the_nearest_names(
    talked: Home, args: list[str]
) -> None:
    """Whatever is to be done with it."""
    put(talked, person("z", "x"), thread="review")
    name, *rest = args
    wrong = error(run(talked, "threads", name, "scout/reviw", *rest))
    assert isinstance(wrong, UsageError)
    assert wrong.message == "no thread scout/reviw"
    assert "scout/review" in wrong.hint


# ------------------------------------------------------------------------------------------- search


def test_search_finds_words_and_phrases(talked: Home) -> None:
    """All words, in any order; quotes keep words together; also in calls and results."""
    assert run(talked, "threads", "search", "checklist release").stdout == (
        "scout/main  m4  2026-11-29 12:00  agent\n    One file: the release checklist.\n"
    )
    assert run(talked, "threads", "search", '"checklist release"').stdout == ""
    assert "m3" in run(talked, "threads", "search", "plan.md").stdout
    assert "    command: ls\n" in run(talked, "threads", "search", "ls").stdout
    assert "Nothing found." in run(talked, "threads", "search", "nowhere").stderr


@pytest.mark.parametrize(
    "query", ['"', "a AND", "NEAR(", "*", "x:y", "(", "-", "' OR 1", "", "^a", "a \u00af"]
)
def test_whatever_is_looked_for_is_no_error(talked: Home, query: str) -> None:
    """Signs that a search engine would read as its language are only words."""
    assert run(talked, "threads", "search", "--", query).exit_code == 0


def test_search_keeps_to_group_and_thread(talked: Home) -> None:
    """A group's words are not found in another's."""
    put(talked, person("x", "the Atlas of others"), grp="other")
    put(talked, person("y", "Atlas again"), thread="review")
    found = json.loads(run(talked, "threads", "search", "atlas", "--json").stdout)
    assert [hit["thread"] for hit in found] == ["scout/review", "other/main", "scout/main"]
    for options, threads in (
        (["--group", "other"], ["other/main"]),
        (["--thread", "scout/review"], ["scout/review"]),
        (["--group", "scout", "--limit", "1"], ["scout/review"]),
    ):
        found = json.loads(run(talked, "threads", "search", "atlas", "--json", *options).stdout)
        assert [hit["thread"] for hit in found] == threads
    wrong = error(run(talked, "threads", "search", "atlas", "--group", "nobody"))
    assert "no group nobody" in wrong.message


# ------------------------------------------------------------------------------------------- export


def test_export_as_markdown(talked: Home, tmp_path: Path) -> None:
    """Whole, without secrets; not over a file that is there."""
    put(talked, TurnBegins("3"), person("f", f"x\n{SECRET}\n" + "long " * 9_000))
    file = tmp_path / "out.md"
    done = run(talked, "threads", "export", "scout", "--output", str(file))
    assert (done.exit_code, done.stdout) == (0, "")
    text = file.read_text()
    assert text.startswith("# scout/main\n")
    assert text.count("long ") == 9_000
    assert SECRET not in text
    assert file.stat().st_mode & 0o777 == 0o600
    again = error(run(talked, "threads", "export", "scout", "--output", str(file)))
    assert "already" in again.message
    forced = run(talked, "threads", "export", "scout", "--output", str(file), "--force")
    assert forced.exit_code == 0
    assert run(talked, "threads", "export", "scout").stdout == text
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith("pannier-new")] == []


def test_export_as_json_lines(talked: Home) -> None:
    """One message a line, as it was said; with --all also other branches."""
    put(talked, TurnBegins("3"), person("f", SECRET, parent=After("d")))
    lines = run(talked, "threads", "export", "scout", "--format", "jsonl").stdout.splitlines()
    said = [json.loads(line) for line in lines]
    assert [m["id"] for m in said] == ["m1", "m2", "m3", "m4", "m6"]
    assert (said[-1]["text"], said[-1]["parent"], said[-1]["turn"]) == (SECRET, "m4", "t3")
    options = ["--format", "jsonl", "--all"]
    lines = run(talked, "threads", "export", "scout", *options).stdout.splitlines()
    assert [json.loads(line)["current"] for line in lines] == [True] * 4 + [False, True]


# ----------------------------------------------------------------------------------------- rollback


def test_rollback_moves_where_the_thread_stands(talked: Home) -> None:
    """To a message, a turn's end, or the start; and says that the client's session is its own."""
    done = run(talked, "threads", "rollback", "scout", "--to", "t1")
    assert done.stdout == "scout/main goes on from m4: One file: the release checklist.\n"
    assert "session of claude itself is not touched" in done.stderr
    assert "m5" not in run(talked, "threads", "show", "scout").stdout
    put(talked, TurnBegins("3"), person("f", "again"), session=OTHER)
    assert re.findall(r"^m\d", run(talked, "threads", "show", "scout").stdout, re.M)[-2:] == [
        "m4",
        "m6",
    ]
    assert run(talked, "threads", "rollback", "scout", "--to", "m5").exit_code == 0
    assert run(talked, "threads", "rollback", "scout", "--to", "start").exit_code == 0
    assert "at its beginning" in run(talked, "threads", "show", "scout").stderr


def test_rollback_dry_run_changes_nothing(talked: Home) -> None:
    """It says what would be."""
    done = run(talked, "threads", "rollback", "scout", "--to", "m1", "--dry-run", "--json")
    data = json.loads(done.stdout)
    assert (data["from"], data["to"], data["dry_run"]) == ("m5", "m1", True)
    assert "m5" in run(talked, "threads", "show", "scout").stdout


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("m99", "m99 is not in scout/main"),
        ("t99", "t99 is not in scout/main"),
        ("yesterday", "is no place in a thread"),
        ("m2", "lies between a call and its result"),
        ("m6", "m6 is not in scout/main"),
        ("m7", "m7 is a sub-agent's"),
    ],
)
def test_a_wrong_place_is_refused(talked: Home, to: str, words: str) -> None:
    """Unknown, of another thread, a sub-agent's, or in the middle of a call: nothing moves."""
    put(talked, person("x", "elsewhere"), thread="review", session=OTHER)
    put(talked, Message("g", "agent", "text", "deep", inner="a1"))
    assert words in error(run(talked, "threads", "rollback", "scout", "--to", to)).message
    assert "m5" in run(talked, "threads", "show", "scout").stdout


def test_an_agent_in_python_is_asked_to_go_back(home: Home) -> None:
    """The wish lies in its group's inbox."""
    put(home, TurnBegins("1"), person("a", "x"), agent("b", "y"), client="langchain")
    done = run(home, "threads", "rollback", "scout", "--to", "m1")
    assert "goes back as well" in done.stderr
    [file] = (home.group("scout").inbox / "new").iterdir()
    wish = json.loads(file.read_text())
    assert (wish["kind"], wish["thread"], wish["checkpoint"]) == ("rollback", "main", "a")


# ------------------------------------------------------------------------------------------- delete


@pytest.fixture
def laid_down(talked: Home) -> Home:
    """The client's own files of the session, and of another."""
    root = talked.group("scout").client("claude")
    for session in (SESSION, OTHER):
        project = root / ".claude" / "projects" / "-work"
        (project / session / "subagents").mkdir(parents=True)
        (project / session / "subagents" / "agent-1.jsonl").write_text("{}")
        (project / f"{session}.jsonl").write_text("{}")
    (root / ".claude" / "history.jsonl").write_text(
        "".join(f'{{"display": "x", "sessionId": "{s}"}}\n' for s in (OTHER, SESSION, OTHER))
    )
    return talked


def left(home: Home) -> list[str]:
    root = home.group("scout").root
    return sorted(
        str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and "client/" in str(p)
    )


def test_delete_erases_everywhere(laid_down: Home) -> None:
    """Messages, pages, and what the client keeps of the session; nothing of other sessions."""
    run(laid_down, "threads", "list")
    done = run(laid_down, "threads", "delete", "scout", "--yes")
    assert (done.exit_code, done.stdout[:17]) == (0, "Erased scout/main")
    assert run(laid_down, "threads", "list").stdout == ""
    assert run(laid_down, "threads", "search", "atlas").stdout == ""
    assert left(laid_down) == [
        "client/claude/.claude/history.jsonl",
        f"client/claude/.claude/projects/-work/{OTHER}.jsonl",
        f"client/claude/.claude/projects/-work/{OTHER}/subagents/agent-1.jsonl",
    ]
    history = laid_down.group("scout").client("claude") / ".claude" / "history.jsonl"
    assert history.read_text() == f'{{"display": "x", "sessionId": "{OTHER}"}}\n' * 2
    for file in laid_down.state.rglob("*"):
        assert not file.is_file() or b"checklist" not in file.read_bytes(), file


def test_what_comes_late_does_not_bring_it_back(laid_down: Home) -> None:
    """The same session hands over again: it stays erased."""
    run(laid_down, "threads", "delete", "scout", "--yes")
    put(laid_down, TurnBegins("9"), person("z", "late"))
    assert "late" not in run(laid_down, "threads", "show", "scout").output
    new = {"session": "a-new-session", "at": time.time_ns()}
    put(laid_down, TurnBegins("1"), person("n", "new"), **new)
    assert "new" in run(laid_down, "threads", "search", "new").stdout


@pytest.mark.parametrize("step", ["traces.remove", "conversations.forget", "WritableStore.erase"])
def test_killed_while_erasing_it_is_done_again(
    laid_down: Home, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Until all is gone the thread can be named."""

    def killed(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        place = "writer" if step.startswith("W") else "delete"
        patch.setattr(f"pannier.threads.{place}.{step}", killed)
        with pytest.raises(KeyboardInterrupt):
            delete(laid_down, os.environ, "scout")
    assert run(laid_down, "threads", "delete", "scout", "--yes").exit_code == 0
    assert run(laid_down, "threads", "list").stdout == ""
    assert not any(SESSION in name for name in left(laid_down))


def test_a_session_that_also_spoke_elsewhere_keeps_its_files(laid_down: Home) -> None:
    """They hold what the other thread goes on from: it is named, before and after."""
    put(laid_down, TurnBegins("9"), person("x", "aside"), thread="side")
    put(laid_down, person("y", "alone"), thread="side", session=OTHER)
    said = run(laid_down, "threads", "show", "scout", "--json").stdout
    dry = run(laid_down, "threads", "delete", "scout/side", "--dry-run")
    words = f"claude's session {SESSION} also spoke in scout/main: its own files stay"
    assert words in dry.stderr
    done = run(laid_down, "threads", "delete", "scout/side", "--yes", "--json")
    assert done.exit_code == 1
    data = json.loads(done.stdout)
    [shared] = data["shared"]
    assert (shared["session"], shared["threads"]) == (f"claude:{SESSION}", ["scout/main"])
    transcript = f"client/claude/.claude/projects/-work/{SESSION}.jsonl"
    assert f"{transcript}: its session also spoke in scout/main" in data["kept"]
    assert left(laid_down) == [
        "client/claude/.claude/history.jsonl",
        transcript,
        f"client/claude/.claude/projects/-work/{SESSION}/subagents/agent-1.jsonl",
    ]
    history = laid_down.group("scout").client("claude") / ".claude" / "history.jsonl"
    assert history.read_text() == f'{{"display": "x", "sessionId": "{SESSION}"}}\n'
    assert run(laid_down, "threads", "show", "scout", "--json").stdout == said
    put(laid_down, TurnBegins("10"), person("z", "goes on"))
    assert "goes on" in run(laid_down, "threads", "show", "scout").stdout
    assert run(laid_down, "threads", "delete", "scout", "--yes").exit_code == 0
    assert left(laid_down) == ["client/claude/.claude/history.jsonl"]


def test_a_page_that_cannot_be_removed_is_named(
    laid_down: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And everything else is erased."""
    put(laid_down, person("x", "hello"))
    conversations.keep_up(laid_down, os.environ)
    [page] = laid_down.group("scout").conversations.iterdir()

    def refused(*_: object) -> None:
        raise OSError(30, "Read-only file system", "page")

    monkeypatch.setattr(shelf, "remove", refused)
    done = run(laid_down, "threads", "delete", "scout", "--yes", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["kept"] == [f"conversations/{page.name}: Read-only file system"]
    assert run(laid_down, "threads", "list").stdout == ""


def test_what_lies_in_the_spool_is_erased_too(talked: Home) -> None:
    """Of this thread alone, and without asking any clock; what its session says later as well."""
    spool = talked.group("scout").spool / "new"
    spool.mkdir()
    for number, (thread, session) in enumerate([("main", "new"), ("other", "o")]):
        event = Event(
            "user-prompt",
            id=f"{number:016x}",
            at=NOON,
            client="custom",
            session=session,
            thread=thread,
            details={"prompt": f"said in {thread}"},
        )
        (spool / event.name).write_bytes(event.encode())
    (spool / "odd").write_bytes(b"odd")
    done = delete(talked, os.environ, "scout")
    assert done.kept == ()
    assert [file.name for file in sorted(spool.iterdir())] == [event.name, "odd"]
    put(talked, person("z", "late"), client="custom", session="new")
    assert "said in other" in run(talked, "threads", "show", "scout/other").stdout
    put(talked, person("y", "fresh"), client="custom", session="newer", at=1)
    assert [m["text"] for m in _said(talked, "scout")] == ["fresh"]


def _said(home: Home, thread: str) -> list[dict[str, str]]:
    said: list[dict[str, str]] = json.loads(run(home, "threads", "show", thread, "--json").stdout)[
        "said"
    ]
    return said


def test_delete_works_without_the_group(talked: Home) -> None:
    """Somebody removed its folder: what was said in it can still be erased."""
    shutil.rmtree(talked.group("scout").root)
    assert "scout/main" in run(talked, "threads", "list").stdout
    assert run(talked, "threads", "delete", "scout", "--yes").exit_code == 0
    assert run(talked, "threads", "list").stdout == ""
    assert not talked.group("scout").root.exists()


def test_large_results_in_files_are_erased_with_their_thread(talked: Home) -> None:
    """The dry run names the folder. Another thread's stay, and so does what a link leads to."""
    spill = talked.group("scout").files / ".pannier" / "spill"
    for thread in ("main", "other"):
        (spill / thread).mkdir(parents=True)
        (spill / thread / "20261129T120000Z-bash-0123456789abcdef.txt").write_text("checklist")
    assert (
        "files/.pannier/spill/main" in run(talked, "threads", "delete", "scout", "--dry-run").stderr
    )
    assert run(talked, "threads", "delete", "scout", "--yes").exit_code == 0
    assert [path.name for path in spill.iterdir()] == ["other"]
    put(talked, person("z", "again"), session=OTHER)
    (spill / "main").symlink_to(spill / "other")
    done = run(talked, "threads", "delete", "scout", "--yes")
    assert "files/.pannier/spill/main" in done.stderr + done.stdout
    assert len(list((spill / "other").iterdir())) == 1


def test_delete_asks_or_wants_a_yes(laid_down: Home) -> None:
    """In a script, nothing is erased without it; a dry run says what would be."""
    wrong = error(run(laid_down, "threads", "delete", "scout"))
    assert "--yes" in wrong.message
    dry = run(laid_down, "threads", "delete", "scout", "--dry-run")
    assert f"client/claude/.claude/projects/-work/{SESSION}.jsonl" in dry.stderr
    data = json.loads(run(laid_down, "threads", "delete", "scout", "--dry-run", "--json").stdout)
    assert data["deleted"] is False
    assert f"claude:{SESSION}" in data["sessions"]
    assert len(left(laid_down)) == 5
    assert "m1" in run(laid_down, "threads", "show", "scout").stdout


def test_delete_names_what_it_cannot_look_into(home: Home) -> None:
    """A client's own database is not opened from the host: a person is told that it stays."""
    put(home, person("a", "x"), client="codex")
    database = home.group("scout").client("codex") / ".codex" / "state_5.sqlite"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"")
    done = run(home, "threads", "delete", "scout", "--yes")
    assert "not touched, may hold more of it: client/codex/.codex/state_5.sqlite" in done.stderr
    assert database.exists()


@pytest.mark.parametrize("session", ["*", "../../../../x", ".", "", "a/b", "[a-z]*", "12"])
def test_no_claimed_session_removes_more_than_itself(home: Home, session: str) -> None:
    """A container calls its session as it likes: wildcards and paths mean nothing."""
    root = home.group("scout").client("claude") / ".claude" / "projects" / "-work"
    root.mkdir(parents=True)
    (root / f"{OTHER}.jsonl").write_text("{}")
    (root / "12.jsonl").write_text("{}")
    put(home, person("a", "x"), session=session, log="../../../group.yaml")
    assert run(home, "threads", "delete", "scout", "--yes").exit_code == 0
    assert len(list(root.iterdir())) == 2
    assert home.group("scout").settings.exists()


@pytest.mark.parametrize(
    ("log", "stays"),
    [
        (".claude/settings.json", True),
        (".claude/elsewhere/agent-7.jsonl", False),
        ("/{home}/.claude/settings.json", True),
        (".claude/../.claude/elsewhere/agent-7.jsonl", True),
    ],
)
def test_transcripts_that_were_handed_over_go_too(home: Home, log: str, stays: bool) -> None:
    """Wherever the hook found one; but what is no transcript stays, whatever a container says."""
    root = home.group("scout").client("claude")
    for name in (".claude/settings.json", ".claude/elsewhere/agent-7.jsonl"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    put(home, person("a", "x"), log=log.format(home=root))
    assert run(home, "threads", "delete", "scout", "--yes").exit_code == 0
    assert (root / ".claude/settings.json").exists()
    assert (root / ".claude/elsewhere/agent-7.jsonl").exists() == stays


def test_no_container_names_another_sessions_transcript_its_own(laid_down: Home) -> None:
    """What it says of where its transcript lies does not remove another thread's."""
    put(laid_down, person("x", "other"), thread="other", session=OTHER)
    log = f".claude/projects/-work/{OTHER}.jsonl"
    put(laid_down, person("y", "forged"), log=log)
    assert run(laid_down, "threads", "delete", "scout", "--yes").exit_code == 0
    assert f"client/claude/{log}" in left(laid_down)
    assert not any(SESSION in name for name in left(laid_down))


def test_no_link_leads_delete_out_of_the_clients_home(laid_down: Home, tmp_path: Path) -> None:
    """A link in the place of a folder or a file: what it leads to stays."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / f"{SESSION}.jsonl").write_text("mine")
    projects = laid_down.group("scout").client("claude") / ".claude" / "projects"
    (projects / "linked").symlink_to(outside)
    (projects / "-work" / f"{SESSION}.jsonl").unlink()
    (projects / "-work" / f"{SESSION}.jsonl").symlink_to(outside / f"{SESSION}.jsonl")
    assert run(laid_down, "threads", "delete", "scout", "--yes").exit_code == 0
    assert (outside / f"{SESSION}.jsonl").read_text() == "mine"
    assert not (projects / "-work" / f"{SESSION}.jsonl").is_symlink()


# ------------------------------------------------------------------------------------------- intake


def test_without_a_daemon_commands_see_what_was_handed_over(home: Home) -> None:
    """What lies in the spool is stored first; and the page in conversations/ is there."""
    spool = home.group("scout").spool / "new"
    spool.mkdir()
    event = Event(
        "user-prompt",
        id="1" * 16,
        at=NOON,
        client="custom",
        session="s",
        details={"prompt": "hello there"},
    )
    (spool / event.name).write_bytes(event.encode())
    assert "hello there" in run(home, "threads", "show", "scout").stdout
    [page] = home.group("scout").conversations.iterdir()
    assert "> hello there" in page.read_text()
