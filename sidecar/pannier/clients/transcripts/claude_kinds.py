"""Kinds of records in Claude Code's transcripts that say nothing: they are dropped.

What is in none of these tables, nor known to `claude_records`, is kept as it is. `docs/turns.md`
lists them.
"""

from __future__ import annotations

SILENT_TYPES = frozenset(
    (
        *("agent-color", "agent-name", "agent-setting", "ai-title", "api-request"),
        *("api-request-blob", "api-request-resumed", "api-request-shape"),
        *("artifact-autoreact-ledger", "artifact-comment-monitor", "atis-latch"),
        *("attribution-snapshot", "bridge-session", "content-replacement", "continued-in"),
        *("cost-state", "custom-title", "data-flow-incomplete", "data-flow-records"),
        *("derived-from", "dev-mods", "ended-by-model", "file-history-delta"),
        *("file-history-snapshot", "fork-context-ref", "frame-link", "history-suppression"),
        *("hybrid-organization", "isolation-latch", "last-prompt", "memory-mode", "mode"),
        *("observer-ref", "permission-mode", "pr-link", "progress", "queue-operation"),
        *("repl-mode", "resume-head-vouch", "session-owner", "summary", "tag", "tools-used"),
        "worktree-state",
    )
)
"""Records that keep books: nothing is said in them that is not said elsewhere."""

SILENT_SYSTEM = frozenset(
    (
        *("api_error", "api_retry", "compact_boundary", "file_snapshot", "informational"),
        *("memory_saved", "microcompact_boundary", "model_fallback", "notification"),
        *("permission_retry", "stop_hook_summary", "turn_duration"),
    )
)
"""Subtypes of `system` records for the screen, or for the client itself."""

SILENT_ATTACHMENTS = frozenset(
    (
        *("agent_listing_delta", "async_hook_response", "async_hook_response_batch"),
        *("auto_mode", "command_permissions", "date", "deferred_tools_delta", "environment"),
        *("hook_blocking_error", "hook_cancelled", "hook_deferred_tool"),
        *("hook_error_during_execution", "hook_non_blocking_error", "hook_permission_decision"),
        *("hook_success", "mcp_instructions_delta", "model", "prompt_snapshot"),
        *("remote_session_change", "session_context", "skill_listing", "task_reminder"),
        *("todo_reminder", "tool_search_usage_reminder"),
    )
)
"""Attachments that say the same in every session, or repeat what a message says."""
