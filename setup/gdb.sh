#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Install gdb in the Debian root, for `make gdb`: once, about 20 MB.
. "$(dirname "$(readlink -f "$0")")/common.sh"
ROOT=$("$TOP/setup/devroot.sh")
[ ! -x "$ROOT/usr/bin/gdb" ] || exit 0
lock_cache
install() {
    "$TOP/setup/in-root" sh -c 'export DEBIAN_FRONTEND=noninteractive
        apt-get -q update && apt-get -y -q --no-install-recommends -o Dpkg::Use-Pty=0 install gdb && apt-get clean'
}
rm -f "$ROOT.5-gdb"
step "gdb" "$ROOT.5-gdb" install
