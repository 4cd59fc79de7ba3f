#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Prepare the source tree that the module is built against, and print its path in the root.
#
# Debian's headers package has no rust/ folder, so an out-of-tree Rust module needs the whole
# source, configured exactly as the stock kernel was and "prepared": that compiles the kernel
# crate and its bindings, not the kernel. The tree is named after the kernel's release, the
# compilers and the recipe, and is made once.
. "$(dirname "$(readlink -f "$0")")/common.sh"
ROOT=$("$TOP/setup/devroot.sh")

release=$(cat "$ROOT/etc/rkfd-kernel-release")
in_root() { "$TOP/setup/in-root" "$@" </dev/null; }
# tree STEP: packaging/tree, in the root.
tree() { in_root /rkfd/packaging/tree "$1" "$release" "/cache/$NAME"; }

tools=$(in_root sh -c 'rustc --version; bindgen --version; gcc --version | head -n1')
key=$( { echo "$release" "$tools"; cat "$TOP/packaging/tree"; } | sha256sum | cut -c1-12)
NAME="linux-$release-$key"
TREE="$CACHE/$NAME"

if [ ! -e "$TREE/.complete" ]; then
    free_kb=$(df -Pk "$CACHE" | awk 'NR==2{print $4}')
    [ "$free_kb" -gt 4000000 ] || die "only $((free_kb / 1024)) MB free under $CACHE; the kernel tree needs about 4 GB" \
        "point RKFD_CACHE at a folder with more room"
    lock_cache
    say "preparing the source of $release for module builds"
    [ -d "$TREE" ] || rm -f "$TREE".[123]-*
    step "kernel source" "$TREE.1-unpacked" tree unpack
    step "kernel configuration" "$TREE.2-configured" tree configure
    step "kernel crate and build tools" "$TREE.3-prepared" tree prepare
    touch "$TREE/.complete"
fi
echo "/cache/$NAME"
