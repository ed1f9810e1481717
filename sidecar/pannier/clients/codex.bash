# Codex starts each command of its agent by bash, which reads this before. A command of Codex's own,
# and nothing beneath it, goes on as it is, with a reader at its output that keeps it in a file when it
# is long. Terminals, other flags and whatever is redirected (Codex gives two pipes) are left alone, and
# so is every command where keeping is switched off. The text goes by the environment: nobody who looks for a process by
# its words is to find the reader.
unset BASH_ENV
pannier_keeps() {
    local LC_ALL=C parent=
    [[ $- == hBc && $SHELLOPTS == braceexpand:hashall:interactive-comments && -n ${CODEX_TOOL_CALL_ID-} &&
        -p /dev/fd/1 && -p /dev/fd/2 && ! /dev/fd/1 -ef /dev/fd/2 && -x /usr/local/bin/pannier-hook &&
        ${PANNIER_CONTEXT-} != *'"spill_buffer":{"enabled":false'* ]] || return
    shopt -q login_shell && return 1
    # A text and the name of its variable are one word of the system's, which takes 131,072 bytes.
    ((${#BASH_EXECUTION_STRING} > 0 && ${#BASH_EXECUTION_STRING} < 131000)) || return
    { read -r parent <"/proc/$PPID/comm"; } 2>/dev/null
    [[ $parent == codex ]]
}
if pannier_keeps; then
    export PANNIER_COMMAND=$BASH_EXECUTION_STRING
    if [[ $# == 0 && $0 == "$BASH" ]]; then
        exec /usr/local/bin/pannier-hook command --client codex -- "$BASH" -c
    fi
    exec /usr/local/bin/pannier-hook command --client codex -- "$BASH" -c "$0" "$@"
fi
unset -f pannier_keeps
