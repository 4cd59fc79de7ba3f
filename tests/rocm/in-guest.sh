#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# In the guest, where Debian's root with ROCm is mounted on /rocm:
#   rocm mount                                   mount it
#   rocm run SECONDS PATTERN [VAR=VALUE...] PROGRAM [ARG...]
#   rocm user UID GID CGROUP SECONDS PATTERN [VAR=VALUE...] PROGRAM [ARG...]
# `user` runs it in a container: as that user in that group, without any capability, in a cgroup and namespaces of its own.
# `run` shows what the program prints. It succeeds if the program ends with 0 within the time and a
# line of its output, which stays in /tmp/output, matches the pattern. Programs of tests/rocm are in
# /srv of that root.

mount_root() {
    for module in netfs 9pnet 9pnet_virtio 9p; do
        insmod /modules/$module.ko || return
    done
    mkdir -p /rocm &&
        mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro rocm /rocm &&
        # Tools of ROCm share their locks there.
        mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm &&
        for folder in proc sys dev tmp run; do
            mount --rbind /$folder /rocm/$folder || return
        done &&
        # HIP keeps compiled code in the home folder.
        mount -t tmpfs tmpfs /rocm/root &&
        mount --bind /programs /rocm/srv
}

run() {
    seconds=$1 pattern=$2 output=/tmp/output.$$
    shift 2
    set -- /usr/bin/env -i PATH=/srv:/usr/bin:/bin HOME="${HOME_OF:-/root}" LC_ALL=C.UTF-8 "$@"
    [ -z "$CGROUP" ] || set -- $CONTAINER "$@"
    timeout -s KILL "$seconds" sh -c '[ -z "$0" ] || echo $$ >"$0/cgroup.procs"; exec chroot /rocm "$@"' "$CGROUP" "$@" \
        2>&1 | tee "$output"
    status=$?
    grep -qE "$pattern" "$output"
    matches=$?
    # Two of these may run at once; then either one's output is in /tmp/output, and nobody reads it.
    mv "$output" /tmp/output
    [ "$status" = 0 ] || { echo "exit status $status"; return "$status"; }
    [ "$matches" = 0 ] || { echo "no line matches '$pattern'"; return 1; }
}

user() {
    uid=$1 gid=$2 CGROUP=$3 HOME_OF=/tmp/home.$1
    shift 3
    mkdir -p "$HOME_OF" && chown "$uid" "$HOME_OF" || return
    CONTAINER="/usr/bin/unshare --pid --fork --kill-child --mount-proc --ipc --uts --net /usr/bin/setpriv \
        --reuid $uid --regid $uid --groups $gid --no-new-privs --inh-caps -all --bounding-set -all"
    run "$@"
}

set -o pipefail
command=$1
shift
case $command in
    mount) mount_root ;;
    run) run "$@" ;;
    user) user "$@" ;;
    *) echo "no such command: $command"; exit 2 ;;
esac
