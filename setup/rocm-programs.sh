#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Build the programs of tests/rocm with Debian's hipcc, for every chip at once, and print the folder
# they are in: setup/rocm-programs.sh [6|7], for which ROCm.
. "$(dirname "$0")/common.sh"
ROOT=$("$TOP/setup/rocm-root.sh" "$@")

TARGETS='gfx942 gfx1201'
key=$( { echo "${ROOT##*/}" "$TARGETS"; cat "$TOP"/tests/rocm/{build.sh,profiled.sh,*.{hip,h,c,cpp}}; } | sha256sum | cut -c1-12)
OUT="$CACHE/rocm-programs-$key"
if [ -e "$OUT/.complete" ]; then echo "$OUT"; exit 0; fi
lock_cache
mkdir -p "$OUT"
export ROOT TOP OUT TARGETS

# hipcc wants /proc. The mounts are gone with their namespace; the root stays as it was.
build() {
    unshare -m bash -euc '
        mount --make-rprivate /
        mount -t proc proc "$ROOT/proc"
        mount -t tmpfs tmpfs "$ROOT/tmp"
        mount --bind "$TOP/tests/rocm" "$ROOT/mnt"
        mount --bind "$OUT" "$ROOT/srv"
        chroot "$ROOT" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp LC_ALL=C.UTF-8 TARGETS="$TARGETS" \
            sh /mnt/build.sh
    '
}
step "HIP programs for $TARGETS" "$OUT.1-built" build
touch "$OUT/.complete"
echo "$OUT"
