#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Build the debug kernel of setup/debug.config, and print its tree in the root.
#
# It is the stock kernel's source with clang (KASAN for Rust needs it), a small configuration and
# every checker that fits. The tree is named after the release, the compilers, the configuration
# and this recipe, and is made once. In it lie arch/x86/boot/bzImage, and what modules for it are
# built against.
. "$(dirname "$(readlink -f "$0")")/common.sh"
ROOT=$("$TOP/setup/devroot.sh")

release=$(cat "$ROOT/etc/rkfd-kernel-release")
series=$(echo "$release" | cut -d. -f1,2)
in_root() { "$TOP/setup/in-root" "$@" </dev/null; }

# Neither is built: register lists of GPUs, a quarter of the source, and the manual.
unpack() {
    rm -rf "$TREE.part"; mkdir "$TREE.part"
    in_root tar -C "/cache/$NAME.part" --strip-components=1 --exclude='*/amd/include/asic_reg' \
        --exclude='*/Documentation/*/*' -xf "/usr/src/linux-source-$series.tar.xz"
    mv "$TREE.part" "$TREE"
}
# An option that does not exist (any more), or whose needs are not met, would be dropped silently.
configure() {
    in_root sh -ec "
        cd /cache/$NAME
        make $MAKE_ARGS KCONFIG_ALLCONFIG=/rkfd/setup/debug.config allnoconfig
        sed -n '/^CONFIG_/p' /rkfd/setup/debug.config >wanted
        ! grep -vxFf .config wanted || { echo 'the configuration lost these'; exit 1; }
        sed -n 's/^# \(CONFIG_[A-Z0-9_]*\) is not set\$/^\1=/p' /rkfd/setup/debug.config >unwanted
        ! grep -f unwanted .config || { echo 'the configuration has these all the same'; exit 1; }
        printf %s +rkfd-debug >localversion-rkfd"
}
# vmlinux.symvers is what this kernel exports; modules look for it under another name.
compile() {
    in_root sh -ec "
        cd /cache/$NAME
        make $MAKE_ARGS -j\$(nproc) bzImage
        make $MAKE_ARGS -j\$(nproc) modules_prepare
        cp vmlinux.symvers Module.symvers
        test -s rust/libkernel.rmeta; test -s arch/x86/boot/bzImage"
}

MAKE_ARGS='LLVM=-19'
tools=$(in_root sh -c 'rustc --version; bindgen --version; clang-19 --version | head -n1')
key=$( { echo "$release" "$tools" "$MAKE_ARGS"; cat "$TOP/setup/debug.config"
    declare -f unpack configure compile; } | sha256sum | cut -c1-12)
NAME="linux-debug-$release-$key"
TREE="$CACHE/$NAME"

if [ ! -e "$TREE/.complete" ]; then
    free_kb=$(df -Pk "$CACHE" | awk 'NR==2{print $4}')
    [ "$free_kb" -gt 4000000 ] || die "only $((free_kb / 1024)) MB free under $CACHE; the debug kernel needs about 4 GB" \
        "point RKFD_CACHE at a folder with more room"
    lock_cache
    say "building the debug kernel: once, about 25 minutes of CPU time"
    [ -d "$TREE" ] || rm -f "$TREE".[123]-*
    step "debug kernel's source" "$TREE.1-unpacked" unpack
    step "debug kernel's configuration" "$TREE.2-configured" configure
    step "debug kernel" "$TREE.3-compiled" compile
    touch "$TREE/.complete"
fi
echo "/cache/$NAME"
