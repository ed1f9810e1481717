# shellcheck shell=bash
# The private engine's bridge: a name and a subnet of its own for each checkout. Sourced by scripts/engine.
#
# Two engines on one bridge would hand out the same addresses; with a bridge each they share only the
# machine's packet filter, in chains that docker gives the same names everywhere. What the first private
# engine found there is written down in FOUND, and the last one puts it back.

BRIDGE=pannier$(printf %s "$ROOT" | sha256sum | cut -c1-8)
FOUND=/run/pannier-network

# The default route's MTU: packets of a larger one vanish on the way (tunnels, cloud networks).
network_mtu() {
    local dev mtu=1500
    dev=$(ip -4 route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
    [ -z "$dev" ] || read -r mtu <"/sys/class/net/$dev/mtu"
    echo $((mtu > 1500 ? 1500 : mtu))
}

# A /24 that no route of the machine touches.
free_subnet() {
    local seed i net
    seed=$((16#${BRIDGE#pannier} % 256))
    for ((i = 0; i < 256; i++)); do
        net=10.213.$(((seed + i) % 256))
        { ip -4 route show table all root "$net.0/24"; ip -4 route show table all match "$net.0/24"; } |
            grep -qv '^default' || { echo "$net"; return; }
    done
    die "no free subnet below 10.213.0.0/16 for the private engine's bridge" "See: ip -4 route"
}

another_dockerd() {
    local dir
    for dir in /proc/[0-9]*; do
        if [ "$(cat "$dir/comm" 2>/dev/null)" = dockerd ] && grep -q . "$dir/cmdline" 2>/dev/null; then return 0; fi
    done
    return 1
}

# Prints dockerd's network options, having made the bridge.
network_up() {
    local net
    if ! ip link show "$BRIDGE" >/dev/null 2>&1; then
        net=$(free_subnet)
        if ! ip link add name "$BRIDGE" type bridge 2>/dev/null; then
            say "this machine gives no network bridge: containers get no network but with --network host"
            echo --bridge=none --iptables=false
            return
        fi
        ip addr add "$net.1/24" dev "$BRIDGE"
    fi
    ip link set "$BRIDGE" up
    echo --bridge="$BRIDGE" --mtu="$(network_mtu)"
    if ! iptables -w -t nat -S >/dev/null 2>&1; then
        say "iptables does not work here: containers reach this machine, and others only with --network host"
        echo --iptables=false --ip-masq=false
        return
    fi
    [ -e "$FOUND" ] || another_dockerd || remember
}

remember() {
    local policy chains
    policy=$(iptables -w -S FORWARD | sed -n 's/^-P FORWARD //p')
    chains=$(iptables -w -S | grep -c '^-N DOCKER' || true)
    echo "$(cat /proc/sys/net/ipv4/ip_forward) $policy $chains" >"$FOUND.new"
    mv "$FOUND.new" "$FOUND"
}

# The bridges of this engine: its own, and those of the networks in its store.
bridges() {
    echo "$BRIDGE"
    grep -aohE 'br-[0-9a-f]{12}' "$ENGINE/data/network/files/local-kv.db" 2>/dev/null | sort -u || true
}

network_down() {
    local bridge
    have ip && is_root || return 0
    for bridge in $(bridges); do
        ip link show "$bridge" >/dev/null 2>&1 || continue
        drop_rules "$bridge"
        ip link del "$bridge" || true
    done
    [ ! -e "$FOUND" ] || another_dockerd || put_back
}

# drop_rules WORD: deletes each rule of the packet filter that names it.
drop_rules() {
    local tool table rule
    for tool in iptables ip6tables; do
        for table in filter nat raw; do
            rules "$tool" "$table" | grep -wF -e "$1" | while read -r rule; do
                # shellcheck disable=SC2086 # a rule is many words
                $tool -w -t "$table" -D ${rule#-A } || true
            done || true
        done
    done
}

rules() { "$1" -w -t "$2" -S 2>/dev/null | grep '^-A' || true; }

docker_chains() { "$1" -w -t "$2" -S 2>/dev/null | sed -n 's/^-N \(DOCKER[^ ]*\)$/\1/p' || true; }

drop_chains() {
    local tool table chain
    for tool in iptables ip6tables; do
        for table in filter nat raw; do
            for chain in $(docker_chains $tool $table); do
                $tool -w -t $table -F "$chain"
                drop_rules "$chain"
            done
            for chain in $(docker_chains $tool $table); do $tool -w -t $table -X "$chain"; done
        done
    done
}

# Docker's chains hold nothing any more; forwarding is as it was.
put_back() {
    local forward policy chains
    read -r forward policy chains <"$FOUND"
    [ "$chains" != 0 ] || drop_chains
    iptables -w -P FORWARD "$policy"
    echo "$forward" >/proc/sys/net/ipv4/ip_forward
    rm -f "$FOUND"
}
