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
case "$release" in *+*) ;; *) die "the kernel's release '$release' has no '+' part to build LOCALVERSION from" ;; esac
series=$(echo "$release" | cut -d. -f1,2)
in_root() { "$TOP/setup/in-root" "$@" </dev/null; }

unpack() {
    rm -rf "$TREE.part"; mkdir "$TREE.part"
    in_root tar -C "/cache/$NAME.part" --strip-components=1 -xf "/usr/src/linux-source-$series.tar.xz"
    mv "$TREE.part" "$TREE"
}
# The stock configuration, unchanged but for what needs Debian's own key to build.
configure() {
    local headers="/usr/src/linux-headers-$release"
    in_root sh -ec "
        cd /cache/$NAME
        cp $headers/.config .config
        cp $headers/Module.symvers Module.symvers
        scripts/config --disable MODULE_SIG_ALL --set-str MODULE_SIG_KEY certs/signing_key.pem
        make LOCALVERSION=$LOCAL olddefconfig
        diff $headers/.config .config >config.diff || true
        cat config.diff
        for want in CONFIG_RUST=y CONFIG_MODULES=y; do
            grep -qx \$want .config || { echo \"the configuration lost \$want\"; exit 1; }
        done
        # Whoever builds against this tree need not know the release: the file is read by kbuild.
        printf %s '$LOCAL' >localversion-rkfd
        made=\$(make -s kernelrelease)
        [ \"\$made\" = '$release' ] || { echo \"the tree calls itself \$made, the image is $release\"; exit 1; }"
}
prepare() {
    in_root sh -ec "cd /cache/$NAME; make -j\$(nproc) prepare modules_prepare
        test \"\$(cat include/config/kernel.release)\" = '$release'; test -s rust/libkernel.rmeta"
}

LOCAL="+${release#*+}"
tools=$(in_root sh -c 'rustc --version; bindgen --version; gcc --version | head -n1')
key=$( { echo "$release" "$tools"; declare -f unpack configure prepare; } | sha256sum | cut -c1-12)
NAME="linux-$release-$key"
TREE="$CACHE/$NAME"

if [ ! -e "$TREE/.complete" ]; then
    free_kb=$(df -Pk "$CACHE" | awk 'NR==2{print $4}')
    [ "$free_kb" -gt 4000000 ] || die "only $((free_kb / 1024)) MB free under $CACHE; the kernel tree needs about 4 GB" \
        "point RKFD_CACHE at a folder with more room"
    lock_cache
    say "preparing the source of $release for module builds"
    [ -d "$TREE" ] || rm -f "$TREE".[123]-*
    step "kernel source" "$TREE.1-unpacked" unpack
    step "kernel configuration" "$TREE.2-configured" configure
    step "kernel crate and build tools" "$TREE.3-prepared" prepare
    touch "$TREE/.complete"
fi
echo "/cache/$NAME"
