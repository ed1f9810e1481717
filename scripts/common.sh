# shellcheck shell=bash
# Shared by the set-up scripts: where things lie, how they speak, and the lock. Sourced, never run.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
ENGINE=$ROOT/.engine
SOCKET=$ENGINE/docker.sock
BASE_IMAGE=${PANNIER_BASE_IMAGE:-debian:bookworm-slim}
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export ROOT ENGINE SOCKET BASE_IMAGE PATH

# say TEXT…: one line of progress, on standard error so that output can be evaluated.
say() { printf '==> %s\n' "$*" >&2; }

# die MESSAGE [WAY-OUT]: one clear line and what to do about it.
die() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf '       %s\n' "$2" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }

# lock NAME: one at a time in this checkout. Descriptor 9 must be closed for anything that lives on.
lock() {
    mkdir -p "$ENGINE"
    exec 9>"$ENGINE/$1.lock"
    flock -n 9 && return
    say "waiting for another $1 in this checkout"
    flock -w 1800 9 || die "another $1 has held $ENGINE/$1.lock for 30 minutes" "End that process and try again."
}

# need_space MIB WHAT: a full disk is named before the work, not in the middle of it.
need_space() {
    local free
    mkdir -p "$ENGINE"
    free=$(df -Pm "$ENGINE" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$1" ] || die "$2 needs $1 MiB of disk, $ENGINE has $free" "Free some space, or clone to a larger disk."
}

# quietly LOG COMMAND…: runs with its output in LOG; on failure shows the end of it.
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 </dev/null && return
    printf '%s\n' "--- the end of $log:" >&2
    tail -n 15 "$log" >&2
    return 1
}

# apt_install PACKAGE…: without questions, and without starting a service.
apt_install() {
    local log=$ENGINE/log/apt.log
    is_root || die "installing $* needs root" "Run it as root (sudo make …), or install: $*"
    have apt-get || die "this machine has no apt-get to install: $*" "Install them by hand and try again."
    say "installing $*"
    quietly "$log" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get \
        -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" && return
    say "refreshing the package lists"
    quietly "$log" apt-get -o DPkg::Lock::Timeout=300 update || die "apt-get update failed" "See $log"
    quietly "$log" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get \
        -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" ||
        die "apt-get could not install: $*" "See $log"
}
