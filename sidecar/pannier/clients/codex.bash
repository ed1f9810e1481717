# Codex starts each command of its agent by bash, which reads this before. A command of Codex's own, and
# nothing beneath it, gets a reader at its output that keeps it in a file when it is long. Terminals,
# other flags and whatever is redirected (Codex gives two pipes) are left alone, and so is every command
# where keeping is switched off.
unset BASH_ENV
pannier_keeps() {
    local parent=
    [[ $- == hBc && $SHELLOPTS == braceexpand:hashall:interactive-comments && -n ${CODEX_TOOL_CALL_ID-} &&
        -p /dev/fd/1 && -p /dev/fd/2 && ! /dev/fd/1 -ef /dev/fd/2 && -x /usr/local/bin/pannier-hook &&
        ${PANNIER_CONTEXT-} != *'"spill_buffer":{"enabled":false'* ]] || return
    { read -r parent <"/proc/$PPID/comm"; } 2>/dev/null
    [[ $parent == codex ]]
}
if pannier_keeps; then
    { pannier_pipe=$(/usr/local/bin/pannier-hook command --client codex $$ 2>/dev/null); } 9>&1
    [[ ! -w $pannier_pipe ]] || exec >"$pannier_pipe" 2>&1
    unset pannier_pipe
fi
unset -f pannier_keeps
