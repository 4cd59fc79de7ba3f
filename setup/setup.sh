#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Everything that is made once per machine: the Debian root, the stock kernel's source, what tests
# compare with (LLVM's GPU tests, AMD's headers), and the crates. Finished parts are skipped; a part that failed goes on from
# where it stopped. Every other command calls what it needs of this by itself.
. "$(dirname "$(readlink -f "$0")")/common.sh"

root=$("$TOP/setup/devroot.sh")
tree=$("$TOP/setup/kernel.sh")
for reference in llvm-suite hsa-headers; do
    [ ! -x "$TOP/setup/$reference.sh" ] || "$TOP/setup/$reference.sh" >/dev/null
done
if [ -e "$TOP/Cargo.toml" ]; then
    say "fetching crates"
    locked=''; [ ! -e "$TOP/Cargo.lock" ] || locked=--locked
    "$TOP/setup/in-root" cargo fetch --quiet $locked </dev/null || die "the crates could not be fetched" \
        "cargo needs to reach crates.io (behind a proxy set https_proxy)" \
        "and Cargo.lock must belong to the manifests: after changing one, commit the lock file, too"
fi
say "ready: kernel $(cat "$root/etc/rkfd-kernel-release"), tree ${tree#/cache/}, cache $CACHE ($(du -sh "$CACHE" 2>/dev/null | cut -f1))"
