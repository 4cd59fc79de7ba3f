# SPDX-License-Identifier: MIT OR Apache-2.0
# Shared by the set-up scripts: where caches live, how progress and failures are reported.
#
# Everything that is slow to make lives outside the checkout under $RKFD_CACHE, in folders
# named after a hash of what they were made from, so that a changed recipe makes a new one.

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${RKFD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rkfd}
mkdir -p "$CACHE"
# What set-up costs, for every message about it; `make help` has the same words.
SETUP_COST='about 10 minutes and 5 GB, once per machine; 9 GB must be free'
# Build results belong to one checkout: cargo compares time stamps, which two checkouts would mix.
BUILD=build/$(printf %s "$TOP${RKFD_LINUX_SERIES:+ $RKFD_LINUX_SERIES}" | sha256sum | cut -c1-12)

say() { printf '[%s] %s\n' "$(date +%H:%M:%S)" "$*" >&2; }
die() { printf 'rkfd set-up: %s\n' "$1" >&2; shift; for l in "$@"; do printf '  %s\n' "$l" >&2; done; exit 1; }

# A chip that does not exist is refused before anything is made. The names are those of the test runner.
check_chip() {
    local names
    case ${CHIP:-all} in all) return ;; esac
    names=$(sed -n 's/^        name: "\(.*\)",$/\1/p' "$TOP/tests/qemu/src/chip.rs")
    grep -qxF -- "$CHIP" <<<"$names" || { echo "CHIP=$CHIP is no chip; valid are: $(tr '\n' ' ' <<<"$names")all" >&2; exit 1; }
}
check_chip

# need COMMAND PACKAGE: install the Debian package on the host when the command is missing.
need() {
    command -v "$1" >/dev/null 2>&1 && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing $2 (for $1)"
        { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2"; } \
            >>"$CACHE/host-packages.log" 2>&1 || true
    fi
    command -v "$1" >/dev/null 2>&1 || die "the command '$1' is missing" \
        "install it, on Debian or Ubuntu with: apt-get install $2"
}

# clock NAME LOG PID: wait for a command in the background whose output is in the log, and show that it is alive: on
# a terminal by a moving clock, otherwise by a line every 30 s. The caller starts it, since bash doesn't stop functions
# at an error that are called where a status is asked for.
clock() {
    local name=$1 log=$2 pid=$3 start=$SECONDS last=0 t status=0
    # What runs in the background does not hear Ctrl-C.
    trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        t=$((SECONDS - start))
        if [ -t 2 ]; then printf '\r           %3d s  %-60.60s' "$t" "$(tail -n1 "$log" 2>/dev/null | tr -cd '[:print:]')" >&2
        elif [ $((t - last)) -ge 30 ]; then last=$t; say "  $name: $t s, still going"; fi
    done
    [ -t 2 ] && printf '\r%78s\r' '' >&2
    wait "$pid" || status=$?
    trap - INT TERM
    return "$status"
}

# sweep_logs: remove the logs of builds whose runs were killed. Who builds holds the lock of his, from within a
# minute after he made it.
sweep_logs() {
    local old
    while read -r old; do flock -xn "$old" rm -rf -- "$old" || true; done \
        < <(find "$CACHE" -maxdepth 1 -name 'building-*' -mmin +1)
}

# building NAME COMMAND...: run a build. Besides its progress, what it prints comes out at its end.
building() {
    local name=$1 log lock status=0; shift
    say "building $name"
    sweep_logs
    log=$(mktemp "$CACHE/building-XXXXXX")
    exec {lock}<"$log"; flock -s "$lock"
    "$@" >"$log" 2>&1 </dev/null &
    clock "building $name" "$log" $! || status=$?
    grep -vE '^ *(Compiling|Checking|Finished|Fresh|Blocking|Download(ing|ed)|Updating|Locking|Adding) |^/cache/[^ ]*$' "$log" >&2 || true
    rm -f -- "$log"; exec {lock}<&-
    return "$status"
}

# step NAME DONE-FILE COMMAND...: run once, log to a file, report how long it takes.
step() {
    local name=$1 stamp=$2; shift 2
    [ -e "$stamp" ] && return 0
    local log; log="$CACHE/log-$(basename "$stamp").txt"
    local start=$SECONDS
    say "$name (log: $log)"
    "$@" >"$log" 2>&1 </dev/null &
    if ! clock "$name" "$log" $!; then
        tail -n 15 "$log" >&2
        ! grep -qE 'emporary failure resolving|ould not resolve|nable to connect|onnection (refused|timed out)|etwork is unreachable' "$log" ||
            say "the network cannot be reached; behind a proxy set http_proxy and https_proxy"
        ! grep -q 'No space left on device' "$log" ||
            say "the disk is full; point RKFD_CACHE at a folder with more room"
        die "'$name' failed" "the whole log is $log" "run the same command again to go on from here"
    fi
    say "  done in $((SECONDS - start)) s"
    touch "$stamp"
}

# One set-up at a time: two of them in one cache would mix.
lock_cache() { exec 9>"$CACHE/lock"; flock -n 9 || { say "another set-up is running, waiting for it"; flock 9; }; }

# free_gb: what is free for the cache, in GB.
free_gb() { df -Pk "$CACHE" | awk 'NR==2{print int($4 / 1048576)}'; }

# make_room: where less than $ROOM GB are free, the builds of other checkouts go, those that were used
# longest ago first. One in use stays: whatever runs by setup/in-root holds its lock.
ROOM=${RKFD_ROOM:-30}
make_room() {
    local used folder
    while read -r used; do
        [ "$(free_gb)" -lt "$ROOM" ] || return 0
        folder=${used%.used}
        [ "$folder" != "$CACHE/$BUILD" ] && [ -d "$folder" ] || continue
        ( flock -xn 8 || exit 0
          say "less than $ROOM GB are free: removing the build of another checkout, $folder"
          rm -rf -- "$folder" ) 8>>"$used"
    done < <(ls -tr "$CACHE"/build/*.used 2>/dev/null)
}

# The level of x86-64 that the processor has, by the name that compilers know it by.
cpu_level() {
    local flags level=x86-64 flag
    flags=" $(grep -m1 "^flags" /proc/cpuinfo || true) "
    has() { for flag; do [[ $flags == *" $flag "* ]] || return 1; done; }
    if has cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2; then level=x86-64-v2
        if has avx avx2 bmi1 bmi2 f16c fma abm movbe xsave; then level=x86-64-v3
            if has avx512f avx512bw avx512cd avx512dq avx512vl; then level=x86-64-v4; fi
        fi
    fi
    echo "$level"
}
