#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Remove what was built from this checkout; with --all also what set-up made for every checkout.
. "$(dirname "$(readlink -f "$0")")/common.sh"

gone() {
    for path in "$@"; do
        [ -e "$path" ] || continue
        say "removing $path ($(du -sh "$path" 2>/dev/null | cut -f1))"
        rm -rf --one-file-system -- "$path"
    done
}
rm -f "$CACHE/build/.${BUILD#build/}.lock" "$CACHE/$BUILD.used"
gone "$CACHE/$BUILD" "$TOP/target" "$TOP/rkfd.ko"
if [ "${1:-}" = --all ]; then
    say "removing the Debian root, kernel trees and downloaded crates from $CACHE; 'make setup' makes them again"
    lock_cache
    shopt -s nullglob
    gone "$CACHE"/root-* "$CACHE"/linux-* "$CACHE"/llvm-* "$CACHE"/kvm-* "$CACHE"/rocm-* "$CACHE"/hsa-headers* "$CACHE/cargo" "$CACHE/build" "$CACHE"/included.* "$CACHE"/log-*.txt "$CACHE/host-packages.log"
else
    say "kept: the Debian root, kernel trees and crates in $CACHE ('make distclean' removes them)"
fi
