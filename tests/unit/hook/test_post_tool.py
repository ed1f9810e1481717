"""A client's tool gave more than a context should hold."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from pannier_hook.clients import CLIENTS
from pannier_hook.large import shorten
from pannier_hook.options import Options
from pannier_hook.spill import spilled_in
from pannier_hook.toolresult import Unframed

from .conftest import Answer, World
from .test_exchange import LESS, no_room
from .test_spill import files

OUTPUT = "".join(f'{number}: "größe" 🙂\t\\{{}}\n' for number in range(6_000))
"""What a command printed: 150 kB."""
EXACT = 100_000
"""The threshold of a command's output, in bytes."""


def told(client: str, output: object, **more: object) -> dict[str, object]:
    """What the client says when a command printed `output`."""
    said: dict[str, object] = {"session_id": "s-1", "tool_name": "Bash", "tool_use_id": "c-1"}
    said |= {"transcript_path": "/nowhere", "hook_event_name": "PostToolUse"}
    said["tool_input"] = {"command": "make"}
    if client == "copilot":
        result = {"resultType": "success", "textResultForLlm": output}
        said = {"sessionId": "s-1", "toolName": "bash", "toolArgs": {}, "toolResult": result}
    elif client == "claude":
        said["tool_response"] = {"stdout": output, "stderr": "", "interrupted": True}
    elif client == "gemini":
        said |= {"tool_name": "run_shell_command"}
        said["tool_response"] = {"llmContent": output, "returnDisplay": "d" * 300_000}
    elif client == "codex":
        # Of "Bash" it gives a part: test_command.py.
        said |= {"tool_name": "shell", "tool_response": output}
    else:
        said["tool_response"] = output
    return {**said, **more}


def text_of(client: str, answer: Answer) -> str:
    """The text that the client's model gets by an answer of exactly the client's form."""
    if client in ("opencode", "custom"):
        return answer.out.decode()
    said = json.loads(answer.out)
    if client == "claude":
        inner = said.pop("hookSpecificOutput")
        assert (said, inner["hookEventName"], set(inner)) == (
            {},
            "PostToolUse",
            {"hookEventName", "updatedToolOutput"},
        )
        output = inner["updatedToolOutput"]
        assert {**output, "stdout": ""} == {"stdout": "", "stderr": "", "interrupted": True}
        return str(output["stdout"])
    if client == "copilot":
        assert said["modifiedResult"].pop("resultType") == "success"
        return str(said["modifiedResult"]["textResultForLlm"])
    decision = {"codex": "block", "gemini": "deny"}[client]
    assert said == {"decision": decision, "reason": said["reason"]}
    return str(said["reason"])


REPLACING = ["claude", "codex", "gemini", "copilot", "opencode", "custom"]


def run(world: World, client: str, members: dict[str, object], **environment: str) -> Answer:
    stdin = json.dumps(members, ensure_ascii=client == "custom").encode()
    return world.run("post-tool", "--client", client, stdin=stdin, **environment)


@pytest.mark.parametrize("client", REPLACING)
def test_a_large_result(world: World, client: str) -> None:
    """The file holds every byte, and the model gets ends and path, in the client's own form."""
    answer = run(world, client, told(client, OUTPUT))
    assert (answer.status, answer.err, answer.errors) == (0, "", [])
    text = text_of(client, answer)
    assert len(text) < 2_700
    found = spilled_in(text)
    assert found
    assert Path(found[0]).read_bytes() == OUTPUT.encode()
    assert found[1] == len(OUTPUT.encode())
    assert OUTPUT[:500] in text
    assert text.endswith(OUTPUT[-500:])
    assert text.startswith("This is no error") is (client in ("codex", "gemini"))


@pytest.mark.parametrize("client", [*REPLACING, "qwen"])
def test_thresholds(world: World, client: str) -> None:
    """A result of exactly the threshold, in bytes of UTF-8, stays; one byte more does not. What
    is only for the screen does not count, and Qwen Code cannot be told."""
    text = "é" * (EXACT // 2)
    assert run(world, client, told(client, text)).out == b""
    assert files(world.root) == []
    assert bool(run(world, client, told(client, text + "x")).out) is (client != "qwen")


@pytest.mark.parametrize("client", ["copilot", "opencode", "custom"])
def test_what_is_told(world: World, client: str) -> None:
    """Where no transcript has it, the sidecar is told what the model got."""
    text = text_of(client, run(world, client, told(client, OUTPUT)))
    ((_, event),) = world.events()
    assert event.details["output"] == text
    assert event.details["tool"].lower() == "bash"


def test_settings(world: World) -> None:
    """Thresholds are a person's; switched off, nothing is kept and all of the input is taken."""
    lower = '{"tools": {"spill_buffer": {"thresholds": {"run_command": 4000}}}}'
    small = told("claude", "x" * 4_001)
    assert run(world, "claude", small).out == b""
    assert run(world, "claude", small, PANNIER_CONTEXT=lower).out != b""
    off = '{"spill_buffer": {"enabled": false}}'
    for client in REPLACING:
        answer = run(world, client, told(client, OUTPUT * 20), PANNIER_CONTEXT=off)
        assert (answer.out, answer.err) == (b"", "")
    assert len(files(world.root)) == 1


def test_settings_that_are_not_understood(world: World) -> None:
    """The defaults hold, and it is said."""
    answer = run(world, "claude", told("claude", OUTPUT), PANNIER_CONTEXT='{"spill_buffer": 3}')
    assert answer.out
    assert ["PANNIER_CONTEXT" in text for text in answer.errors] == [True]


def test_threads(world: World) -> None:
    """Each has a folder of its own."""
    run(world, "claude", told("claude", OUTPUT), PANNIER_THREAD="side")
    assert [path.parent.name for path in files(world.root)] == ["side"]


# ---- what is no plain text ---------------------------------------------------------------------


def updated(answer: Answer) -> object:
    return json.loads(answer.out)["hookSpecificOutput"]["updatedToolOutput"]


def test_a_list_of_contents(world: World) -> None:
    """Of Claude Code's, each large text is replaced; all else stays byte for byte, in its place."""
    picture = {"type": "image", "source": {"data": "A" * 200_000, "number": 1.50}}
    said = [{"type": "text", "text": "short"}, picture, {"type": "text", "text": OUTPUT}]
    answer = run(world, "claude", told("claude", "", tool_name="mcp__x", tool_response=said))
    output = updated(answer)
    assert isinstance(output, list)
    assert output[:2] == said[:2]
    assert b"1.5" in answer.out
    assert spilled_in(output[2]["text"])
    assert len(files(world.root)) == 1


def test_a_text_alone(world: World) -> None:
    """Of a tool whose response is a text, the answer is one as well."""
    output = updated(run(world, "claude", told("claude", "", tool_response=OUTPUT)))
    assert isinstance(output, str)
    assert spilled_in(output)


@pytest.mark.parametrize(
    "response",
    [
        {"type": "image", "file": {"base64": "A" * 200_000}},
        {"stdout": "A" * 200_000, "isImage": True},
        {"filePath": "/a", "originalFile": "A" * 200_000, "structuredPatch": ["A" * 200_000]},
        [{"type": "image", "data": "A" * 200_000}],
    ],
)
def test_what_is_no_text_for_the_model(world: World, response: object) -> None:
    """Pictures, and what only the screen shows, stay as they are."""
    answer = run(world, "claude", told("claude", "", tool_response=response))
    assert (answer.out, answer.errors, files(world.root)) == (b"", [], [])


@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit", "NotebookEdit"])
def test_what_writes(world: World, tool: str) -> None:
    """The model sees nothing of the whole files in what they give."""
    said = told("claude", "", tool_name=tool, tool_response={"content": OUTPUT})
    assert run(world, "claude", said).out == b""


def test_parts_together(world: World) -> None:
    """Where one text takes the place of all, parts count together and go into one file."""
    parts = [{"text": "é" * 20_000}, {"text": "b" * 20_000}, "short"]
    answer = run(world, "gemini", told("gemini", parts, tool_name="read_many_files"))
    found = spilled_in(text_of("gemini", answer))
    assert found
    assert Path(found[0]).read_text() == "é" * 20_000 + "\n" + "b" * 20_000 + "\nshort"


def test_parts_beside_a_picture(world: World) -> None:
    """Where it would take the picture's place as well, all stays."""
    parts = [{"text": OUTPUT}, {"inlineData": {"data": "A"}}]
    answer = run(world, "gemini", told("gemini", parts))
    assert (answer.out, files(world.root)) == (b"", [])


# ---- reading back ------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["claude", "opencode"])
def test_reading_it_back(world: World, client: str) -> None:
    """A part comes as it is; for all of it the model is told of the same file, and there is no new
    one. What a call gives that only names the file is kept as any result."""
    found = spilled_in(text_of(client, run(world, client, told(client, OUTPUT))))
    assert found
    again = {"command": f"cat {found[0]}"}
    assert run(world, client, told(client, OUTPUT[:9_000], tool_input=again)).out == b""
    text = text_of(client, run(world, client, told(client, OUTPUT, tool_input=again)))
    assert spilled_in(text) == found
    assert len(text) < 2_700
    assert files(world.root) == [Path(found[0])]
    other = spilled_in(
        text_of(client, run(world, client, told(client, f"!{OUTPUT}", tool_input=again)))
    )
    assert other
    assert Path(other[0]).read_text() == f"!{OUTPUT}"


# ---- where the client kept it itself -----------------------------------------------------------


def persisted(path: Path, size: int) -> dict[str, object]:
    output = {"stdout": OUTPUT[:9_000], "stderr": "", "interrupted": True}
    return {**output, "persistedOutputPath": str(path), "persistedOutputSize": size}


def test_what_claude_code_kept(world: World) -> None:
    """It is copied, however little the client tells of it, and the client's own path is left out:
    with it the model would be told of two files."""
    own = world.home / "tool-results.txt"
    own.write_text(OUTPUT)
    answer = run(world, "claude", told("claude", "", tool_response=persisted(own, len(OUTPUT))))
    found = spilled_in(text_of("claude", answer))
    assert found
    assert Path(found[0]).read_bytes() == OUTPUT.encode()
    assert str(own) not in answer.out.decode()


def test_what_claude_code_kept_of_more(world: World) -> None:
    """It is said first that it is only the beginning, and of how much at its end."""
    own = world.home / "tool-results.txt"
    own.write_text(OUTPUT)
    answer = run(world, "claude", told("claude", "", tool_response=persisted(own, 10**9)))
    text = text_of("claude", answer)
    size = len(OUTPUT.encode())
    assert text.startswith(
        f"[Pannier: this result is long, and its beginning is kept in a file: {size}"
    )
    assert "left out here; what is kept ends so" in text
    assert text.endswith(f"[The tool gave {10**9} bytes; the first {size} of them are kept.]")
    found = spilled_in(text)
    assert found
    assert Path(found[0]).read_text() == OUTPUT


def kept_in_time(world: World, client: str, data: bytes) -> str:
    """What the model gets, however busy the machine is."""
    options, until = Options({"PANNIER_ROOT": str(world.root)}), time.monotonic() + 60
    return shorten(options, CLIENTS[client], data, 20_000, lambda _answer: None, until)


WARNING = "[GEMINI_CLI_WARNING: Output truncated. The buffer is limited to 16MB.]"


@pytest.mark.parametrize("size", [16 << 20, 1 << 20])
def test_what_gemini_cli_kept_of_more(world: World, size: int) -> None:
    """Of a longer output it has the end, and says so; a short one that says so is all there is."""
    output = "16 bytes a line\n" * (size // 16) + WARNING + "\nProcess Group PGID: 7"
    data = json.dumps(told("gemini", output)).encode()
    text = kept_in_time(world, "gemini", data)
    part = "its end" if size == 16 << 20 else "all of it"
    assert f"this result is long, and {part} is kept in a file: {len(output)} bytes" in text


def test_what_is_too_large_to_be_copied(world: World) -> None:
    """The model is told the client's own path, with the two ends."""
    own = world.home / "tool-results.txt"
    own.write_text(OUTPUT)
    with own.open("r+b") as file:
        file.truncate(65 << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"\nthe end")
    size = own.stat().st_size
    answer = run(world, "claude", told("claude", "", tool_response=persisted(own, size)))
    text = text_of("claude", answer)
    assert spilled_in(text) == (str(own), size)
    assert "\n0: " in text
    assert text.endswith("the end")
    assert files(world.root) == []


def missing(_path: Path) -> None:
    pass


def small(path: Path) -> None:
    path.write_text("x" * EXACT)


def linked(path: Path) -> None:
    path.with_name("target").write_text(OUTPUT)
    path.symlink_to("target")


def pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [missing, small, linked, pipe, Path.mkdir])
def test_what_is_not_there(world: World, make: object) -> None:
    """What is no regular file, or not too large, leaves the client's own text as it is."""
    own = world.home / "tool-results.txt"
    make(own)  # type: ignore[operator]
    begin = time.monotonic()
    said = told("claude", "", tool_response=persisted(own, 10**9))
    assert run(world, "claude", said).out == b""
    assert time.monotonic() - begin < 5
    assert files(world.root) == []


def test_what_opencode_kept(world: World) -> None:
    """Our plugin says where; the model gets our text, and the sidecar is told it."""
    own = world.home / "tool_1"
    own.write_text(OUTPUT)
    said = told("opencode", "...truncated...", persistedOutputPath=str(own), persistedOutputSize=9)
    text = text_of("opencode", run(world, "opencode", said))
    found = spilled_in(text)
    assert found
    assert Path(found[0]).read_text() == OUTPUT
    ((_, event),) = world.events()
    assert event.details["output"] == text


def test_what_copilot_kept(world: World) -> None:
    """Its text says where, and its last line, how the command ended, is kept."""
    own = Path(f"/tmp/17960-copilot-tool-output-44-{os.getpid()}.txt")
    last = "<shellId: 0 completed with exit code 3>"
    said = f"Output too large to read at once (1.0 MB). Saved to: {own}\nPreview:\nx\n{last}"
    try:
        own.write_text(OUTPUT)
        text = text_of("copilot", run(world, "copilot", told("copilot", said)))
    finally:
        own.unlink()
    found = spilled_in(text)
    assert found
    assert Path(found[0]).read_text() == OUTPUT
    assert text.endswith(f"\n{last}")


def test_what_copilot_kept_of_much(world: World) -> None:
    """It lies in the container's own /tmp: the first 64 MiB of it are in the group's folder."""
    own = Path(f"/tmp/17961-copilot-tool-output-44-{os.getpid()}.txt")
    last = "<shellId: 0 completed with exit code 0>"
    said = f"Output too large to read at once (65 MB). Saved to: {own}\nPreview:\nx\n{last}"
    data = json.dumps(told("copilot", said)).encode()
    try:
        own.write_text(OUTPUT)
        os.truncate(own, 65 << 20)
        text = kept_in_time(world, "copilot", data)
    finally:
        own.unlink()
    (kept,) = files(world.root)
    assert spilled_in(text) == (str(kept), 64 << 20)
    assert kept.stat().st_size == 64 << 20
    assert "and its beginning is kept in a file" in text
    first = f"[The tool gave {65 << 20} bytes; the first {64 << 20} of them are kept. "
    assert text.endswith(f"{first}Until this container ends, more is in {own}.]\n{last}")


# ---- nothing disturbs the agent ----------------------------------------------------------------


BEGIN = b'{"tool_name":"x","tool_response":'
HOSTILE = {
    "deep": b"[" * 3_000_000,
    "a text deep within": BEGIN + b"[" * 200_000 + b'"' + b"x" * 300_000 + b'"',
    "no UTF-8": BEGIN + b'"' + b"\xff\xfe\xc3(" * 100_000 + b'"}',
    "halves of characters": BEGIN + b'"' + b"\\ud83d" * 100_000 + b'"}',
    "no escapes": BEGIN + b'"' + b"\\x" * 100_000 + b'"}',
    "many members": BEGIN + b"{" + b'"a":1,' * 2_000_000 + b'"b":1}}',
    "no end": BEGIN + b'["ab","' * 100_000 + b"x" * 100_000,
    "digits": BEGIN + b"9" * 1_000_000 + b"}",
    "a long name": b'{"tool_name":"' + b"x" * 300_000 + b'","tool_response":3}',
    "a text": b'"' + b"x" * 1_000_000 + b'"',
    "zeros": b"\x00" * 1_000_000,
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("client", ["claude", "copilot"])
def test_hostile_input(world: World, client: str, what: str) -> None:
    """The answer is a valid one or none, in time, and the status is 0."""
    begin = time.monotonic()
    answer = world.run("post-tool", "--client", client, stdin=HOSTILE[what])
    assert time.monotonic() - begin < 6
    assert answer.status == 0
    if answer.out:
        json.loads(answer.out)


def full(world: World) -> list[str]:
    return world.command("post-tool", "--client", "claude")


def no_permission(world: World) -> list[str]:
    (world.root / "files").chmod(0o555)
    return [*LESS, *full(world)]


def link(world: World) -> list[str]:
    (world.root / "files" / ".pannier").symlink_to(world.home)
    return full(world)


def no_files(world: World) -> list[str]:
    (world.root / "files").rmdir()
    return full(world)


@pytest.mark.parametrize("disturb", [full, no_permission, link, no_files])
def test_a_write_that_fails(world: World, disturb: object) -> None:
    """The result stays as it is, nothing half-written is left, and an event says so."""
    command: list[str] = disturb(world)  # type: ignore[operator]
    done = subprocess.run(
        command,
        input=json.dumps(told("claude", OUTPUT)).encode(),
        capture_output=True,
        env=world.environment(),
        preexec_fn=no_room if disturb is full else None,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr
    if disturb is not full:  # That disk took no event either.
        assert len(world.errors()) == 1
    assert files(world.root) == []
    assert list(world.home.iterdir()) == []


def test_killed_in_the_middle(world: World) -> None:
    """No file with a result's name is there that is not whole."""
    said = json.dumps(told("claude", OUTPUT * 100)).encode()
    for number in range(6):
        before = len(files(world.root))
        process = subprocess.Popen(
            world.command("post-tool", "--client", "claude"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=world.environment(),
        )
        assert process.stdin
        process.stdin.write(said)
        process.stdin.close()
        while len(files(world.root)) == before and process.poll() is None:
            time.sleep(0.002 * number)
        process.kill()
        process.wait()
    whole = [path for path in files(world.root) if path.suffix == ".txt"]
    assert {path.stat().st_size for path in whole} <= {len(OUTPUT.encode()) * 100}
    assert len(files(world.root)) > 0


def test_a_client_that_does_not_end(world: World) -> None:
    """It is not waited for longer than a hook may take, and its own text stays."""
    process = subprocess.Popen(
        world.command("post-tool", "--client", "claude"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=world.environment(),
    )
    assert process.stdin
    assert process.stdout
    begin = time.monotonic()
    process.stdin.write(json.dumps(told("claude", OUTPUT)).encode()[:-1])
    process.stdin.flush()
    assert process.wait(20) == 0
    assert time.monotonic() - begin < 5
    assert process.stdout.read() == b""
    process.stdin.close()
    process.stdout.close()
    assert len(world.errors()) == 1
    assert files(world.root) == []


def test_keeping_that_takes_too_long(world: World) -> None:
    """It ends early enough for the rest of the hook's work, and nothing is left of it."""
    options = Options({"PANNIER_ROOT": str(world.root)})
    data = json.dumps(told("copilot", OUTPUT * 10)).encode()
    shown: list[str] = []
    with pytest.raises(TimeoutError, match="it stays as it is"):
        shorten(options, CLIENTS["copilot"], data, 20_000, shown.append, time.monotonic())
    assert (shown, files(world.root)) == ([], [])


LINE = '0123: "some" output of a program, größe\n'
ROUNDS = 5
"""On a machine that is busy with something else it may take longer than a hook may."""
MOST_MEMORY = 100 * 1024
"""Kilobytes that may be resident."""


@pytest.mark.parametrize("client", ["claude", "copilot"])
@pytest.mark.parametrize(
    "unit", [LINE, '"', "\x01", "🙂"], ids=["lines", "quotes", "control", "emoji"]
)
def test_fifty_megabytes(world: World, client: str, unit: str) -> None:
    """Every byte is kept, in at most 100 MB of memory."""
    output = unit * (50_000_000 // len(json.dumps(unit, ensure_ascii=False).encode()[1:-1]))
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:])\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
    )
    said = world.home / "said.json"
    said.write_text(json.dumps(told(client, output), ensure_ascii=False))
    command = [world.python, "-IS", "-c", code, *world.command("post-tool", "--client", client)]
    for _ in range(ROUNDS):
        # As a client writes it: through a pipe, in large pieces.
        with subprocess.Popen(["cat", said], stdout=subprocess.PIPE) as cat:
            done = subprocess.run(
                command, stdin=cat.stdout, capture_output=True, env=world.environment()
            )
        assert int(done.stderr.split()[-1]) < MOST_MEMORY
        if done.stdout:
            break
    found = spilled_in(text_of(client, Answer(0, done.stdout, "")))
    assert found
    assert Path(found[0]).read_bytes() == output.encode()


def test_gemini_frame(world: World) -> None:
    """What Gemini CLI puts around a command's output does not move its lines in the file; the model
    is told what comes from outside as the client tells it."""
    framed = f"<untrusted_context>\nOutput: {OUTPUT}\nExit Code: 3\n</untrusted_context>"
    text = text_of("gemini", run(world, "gemini", told("gemini", framed)))
    [file] = files(world.root)
    assert file.read_text() == f"{OUTPUT}\nExit Code: 3"
    assert f"-----\n<untrusted_context>\n{OUTPUT[:300]}" in text
    assert text.endswith("\nExit Code: 3\n</untrusted_context>")


@pytest.mark.parametrize("size", [0, 1, 5, 19, 20, 27, 1000])
def test_gemini_frame_in_pieces(size: int) -> None:
    """However its bytes come, the frame is taken away as a whole or not at all."""
    for text, inside in (
        ("<untrusted_context>\nOutput: a\nb\n</untrusted_context>", "a\nb"),
        ("<untrusted_context>\nOutput: \n</untrusted_context>", ""),
        ("<untrusted_context>\nOutput: a", "a"),
        ("Output: a\n</untrusted_context>", None),
        ("a", None),
        ("", None),
    ):
        data = text.encode()
        pieces = [data[at : at + size] for at in range(0, len(data), size)] if size else [data]
        unframed = Unframed("run_shell_command", pieces)
        assert b"".join(unframed).decode() == (text if inside is None else inside)
        assert unframed.found is (inside is not None)
