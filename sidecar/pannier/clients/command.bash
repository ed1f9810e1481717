# @PARENT@ starts each command of its agent by bash, which reads this before. A command of the agent's, and
# nothing beneath it, gets a reader at its output that keeps it in a file when it is long. Terminals, other
# flags and whatever is redirected (the command has two pipes or sockets) are left alone, and so is every
# command where keeping is switched off.
pannier_note=${@NOTE@-}
unset BASH_ENV@FORGET@
pannier_keeps() {
    local parent=
    [[ $- == hBc && $SHELLOPTS == braceexpand:hashall:interactive-comments && -n $pannier_note &&
        ( -p /dev/fd/1 && -p /dev/fd/2 || -S /dev/fd/1 && -S /dev/fd/2 ) && ! /dev/fd/1 -ef /dev/fd/2 &&
        -x /usr/local/bin/pannier-hook && ${PANNIER_CONTEXT-} != *'"spill_buffer":{"enabled":false'* ]] || return
    { read -r parent <"/proc/$PPID/comm"; } 2>/dev/null
    [[ $parent == @PARENT@ ]]
}
if pannier_keeps; then
    { pannier_pipe=$(/usr/local/bin/pannier-hook command --client @PARENT@ $$ "$pannier_note" 2>/dev/null); } 9>&1
    [[ ! -w $pannier_pipe ]] || exec >"$pannier_pipe" 2>&1
    unset pannier_pipe
fi
unset -f pannier_keeps
unset pannier_note
