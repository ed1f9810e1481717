# Codex starts each command of its agent by bash, which reads this before. The command goes on beneath
# pannier's hook, which keeps a long output in a file. Terminals are left alone, and so is every command
# where that is switched off.
unset BASH_ENV
if [[ -n ${CODEX_TOOL_CALL_ID-} && -n ${BASH_EXECUTION_STRING-} && ! -t 1 &&
    ${PANNIER_CONTEXT-} != *'"spill_buffer":{"enabled":false'* && -x /usr/local/bin/pannier-hook ]]; then
    if shopt -q login_shell; then pannier_flags=-lc; else pannier_flags=-c; fi
    exec /usr/local/bin/pannier-hook command --client codex -- \
        "$BASH" "$pannier_flags" "$BASH_EXECUTION_STRING" "$0" "$@"
fi
