# Codex starts each command of its agent by bash, which reads this before. The command goes on beneath
# pannier's hook, which keeps a long output in a file. Terminals are left alone, and so is every command
# where that is switched off. The text goes by the environment: nobody who looks for a process by its
# words is to find the hook.
unset BASH_ENV
if [[ -n ${CODEX_TOOL_CALL_ID-} && -n ${BASH_EXECUTION_STRING-} && ! -t 1 &&
    ${#BASH_EXECUTION_STRING} -lt 100000 && -x /usr/local/bin/pannier-hook &&
    ${PANNIER_CONTEXT-} != *'"spill_buffer":{"enabled":false'* ]]; then
    if shopt -q login_shell; then pannier_flags=-lc; else pannier_flags=-c; fi
    PANNIER_COMMAND=$BASH_EXECUTION_STRING exec /usr/local/bin/pannier-hook command --client codex -- \
        "$BASH" "$pannier_flags" "$0" "$@"
fi
