"""What one item of a Codex rollout says by itself. Pure.

Measured with Codex 0.171.0. `response_item` records are what the model was sent and what it sent
back; `event_msg` records show the same to the person at the screen, so they are passed over, but
for those that no item stands for.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pannier.clients.transcripts.jsonlines import Json, dump, member, objects, text
from pannier.clients.transcripts.said import Said, spoken

SILENT_RECORDS = frozenset({"world_state", "inter_agent_communication_metadata"})
"""Records that keep books: nothing is said in them that is not said elsewhere."""

SILENT_ITEMS = frozenset(
    (
        *("additional_tools", "compaction", "compaction_summary", "compaction_trigger"),
        *("configuration_update", "context_compaction", "ghost_snapshot"),
    )
)
"""Items that say what the model may do, or are for the client's eyes only."""

SILENT_EVENTS = frozenset(
    (
        *("agent_message", "agent_reasoning", "agent_reasoning_raw_content"),
        *("agent_reasoning_section_break", "background_event", "context_compacted"),
        *("deprecation_notice", "entered_review_mode", "exec_command_begin"),
        *("exec_command_end", "exited_review_mode", "hook_completed", "hook_started"),
        *("item_started", "mcp_tool_call_begin", "mcp_tool_call_end", "patch_apply_begin"),
        *("patch_apply_end", "plan_update", "session_configured", "shutdown_complete"),
        *("stream_error", "thread_goal_updated", "thread_name_updated"),
        *("thread_settings_applied", "token_count", "turn_diff", "user_message"),
        *("view_image_tool_call", "warning", "web_search_begin", "web_search_end"),
    )
)
"""Events that show what an item says, or how far the client is."""

SILENT_SHOWN = frozenset(
    (
        *("AgentMessage", "CollabAgentToolCall", "CommandExecution", "ContextCompaction"),
        *("DynamicToolCall", "EnteredReviewMode", "ExitedReviewMode", "Extension", "FileChange"),
        *("HookPrompt", "ImageGeneration", "ImageView", "McpToolCall", "Plan", "Reasoning"),
        *("Sleep", "SubAgentActivity", "UserMessage", "WebSearch"),
    )
)
"""Kinds of `item_completed`, each of which an item of the model's stands for."""

_STANDING = frozenset(
    (
        *("collaboration_mode.instructions", "host_skills.instructions"),
        *("model.base_instructions", "multi_agent.mode_instructions"),
        *("multi_agent.role_instructions", "permissions.instructions"),
    )
)
"""Kinds of instructions that are the same in every session."""

NESTED = "exec-"
"""With this begin the ids of tools that a script of the tool `exec` ran."""

_BY_CLIENT = re.compile(r"\s*(?:<[A-Za-z_]+[ >]|# AGENTS\.md instructions)")
_HOOK_PROMPT = re.compile(r"\s*<hook_prompt[^>]*>(.*)</hook_prompt>\s*", re.DOTALL)
_FAILED = re.compile(
    r"Script failed\b|unsupported call: |aborted by user|exec_command failed"
    r"|apply_patch verification failed|(?:.*\n){0,3}(?:Process exited with code|Exit code:) [1-9-]"
)


def item(payload: Json, metadata: Json) -> Sequence[Said] | None:
    """What a `response_item` says; None when its kind is not known."""
    kind = text(payload.get("type"))
    if kind in SILENT_ITEMS:
        return ()
    if kind == "message":
        return tuple(_message(payload, metadata))
    if kind == "agent_message":
        return tuple(spoken("client", "\n".join(_parts(payload))))
    if kind == "reasoning":
        return tuple(_reasoning(payload))
    if kind.endswith("_call"):
        return (_call(kind, payload),)
    if kind.endswith("_output"):
        return (_result(payload),)
    return None


def shown(payload: Json) -> Sequence[Said] | None:
    """What an `item_completed` says that no item does; None when its kind is not known."""
    done = member(payload, "item")
    kind = text(done.get("type"))
    if text(done.get("id")).startswith(NESTED):
        return tuple(_nested(kind, done))
    return () if kind in SILENT_SHOWN else None


def turn_of(payload: Json) -> str:
    """The turn that an item belongs to; "" when it does not say."""
    return text(member(payload, "internal_chat_message_metadata_passthrough").get("turn_id"))


def is_prolonging(payload: Json) -> bool:
    """Whether a stop hook makes the agent go on. Asked of what no person said."""
    hooks = (_HOOK_PROMPT.fullmatch(part) for part in _parts(payload))
    return text(payload.get("role")) == "user" and any(hooks)


def _message(payload: Json, metadata: Json) -> Iterator[Said]:
    role = text(payload.get("role"))
    if role == "assistant":
        # The summary's own record says the same.
        if metadata.get("compaction_output") is not True:
            yield from spoken("agent", "".join(_parts(payload)))
        return
    own: list[str] = []
    for part, by_person in zip(_parts(payload), _speakers(payload, role), strict=True):
        if by_person:
            own.append(part)
    if own:
        yield from spoken("person", "\n".join(own))
    for part, kind, by_person in zip(
        _parts(payload), _kinds(payload), _speakers(payload, role), strict=True
    ):
        if not by_person and kind not in _STANDING and not kind.startswith("tools."):
            hook = _HOOK_PROMPT.fullmatch(part)
            yield from spoken("client", html.unescape(hook[1]) if hook else part)


def _parts(payload: Json) -> list[str]:
    return [
        text(part.get("text")) if "text" in part else f"[{text(part.get('type'))}]"
        for part in objects(payload.get("content"))
        if part.get("type") != "encrypted_content"
    ]


def _kinds(payload: Json) -> list[str]:
    """What each part is, in the client's words; "" where it does not say."""
    passed = member(payload, "internal_chat_message_metadata_passthrough")
    kinds = passed.get("content_item_kinds")
    given = [text(kind) for kind in kinds] if isinstance(kinds, list) else []
    count = len(_parts(payload))
    return (given + [""] * count)[:count]


def _speakers(payload: Json, role: str) -> list[bool]:
    """Of each part, whether it is a person's word."""
    return [
        role == "user" and (kind.startswith("user.") or (not known(kind) and not by_client(part)))
        for part, kind in zip(_parts(payload), _kinds(payload), strict=True)
    ]


def known(kind: str) -> bool:
    return kind not in ("", "unknown")


def by_client(part: str) -> bool:
    return _BY_CLIENT.match(part) is not None


def _reasoning(payload: Json) -> Iterator[Said]:
    """What the provider lets be read of it; the rest is encrypted."""
    thought = [text(part.get("text")) for part in objects(payload.get("summary"))]
    if not any(thought):
        thought = [text(part.get("text")) for part in objects(payload.get("content"))]
    if said := "\n\n".join(part for part in thought if part):
        yield Said("agent", "thinking", said)


def _call(kind: str, payload: Json) -> Said:
    call = text(payload.get("call_id")) or text(payload.get("id"))
    tool = text(payload.get("name")) or kind.removesuffix("_call")
    if (server := text(payload.get("namespace"))).startswith("mcp__"):
        tool = f"{server}__{tool}"
    if "arguments" in payload:
        given = payload["arguments"]
        said = given if isinstance(given, str) else dump(given)
    elif "input" in payload:
        said = dump({"input": payload["input"]})
    else:
        said = dump(payload.get("action", {}))
    return Said("agent", "call", said, call, tool)


def _result(payload: Json) -> Said:
    output = payload.get("output", payload.get("tools", ""))
    if isinstance(output, dict):
        output = output.get("content", output)
    said = output if isinstance(output, str) else _joined(output)
    failed = member(payload, "output").get("success") is False or bool(_FAILED.match(said))
    return Said("tool", "result", said, text(payload.get("call_id")), failed=failed)


def _joined(output: object) -> str:
    parts = objects(output)
    if not parts:
        return dump(output)
    return "".join(text(p.get("text")) if "text" in p else f"[{p.get('type')}]" for p in parts)


_ARGUMENTS = {"CommandExecution": ("command", "cwd"), "FileChange": ("changes",)}
_TOOLS = {"CommandExecution": "exec_command", "FileChange": "apply_patch"}
_BOOKS = frozenset(("duration", "id", "parsed_cmd", "process_id", "source", "status", "type"))


def _nested(kind: str, done: Json) -> Iterator[Said]:
    call = text(done.get("id"))
    tool = _TOOLS.get(kind) or text(done.get("tool")) or kind
    names = _ARGUMENTS.get(kind, ("server", "tool", "arguments", "query", "action", "path"))
    given = {name: done[name] for name in names if name in done}
    left = {n: v for n, v in done.items() if n not in given and n not in _BOOKS}
    output = left.get("aggregated_output")
    said = output if isinstance(output, str) else dump(left)
    whole = Said("agent", "call", dump(given), call, tool, inner=True)
    yield whole
    failed = done.get("status") not in ("completed", None)
    yield replace(whole, role="tool", kind="result", text=said, failed=failed)
