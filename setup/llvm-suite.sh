#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetch LLVM's AMDGPU disassembler tests and TableGen records, and print the folder's path.
#
# The tests are the referee of emulator/isa's decoder; the records are what its opcode table is
# generated from. Both come from Debian's source package of the very LLVM in the root (164 MB to
# download, 20 MB kept), through a source list that apt sees for this one command only.
. "$(dirname "$0")/common.sh"

ROOT=$("$TOP/setup/devroot.sh")
VERSION=$(chroot "$ROOT" dpkg-query -W -f '${source:Version}' llvm-19)
UPSTREAM=${VERSION#*:}; UPSTREAM=${UPSTREAM%%-*}
SUITE="$CACHE/llvm-suite-${UPSTREAM%%+*}"
if [ -e "$SUITE/.complete" ]; then echo "$SUITE"; exit 0; fi
lock_cache

# Runs in the root, in a scratch folder below the cache.
fetch='
    set -e
    rm -rf /cache/llvm-source; mkdir -p /cache/llvm-source/lists/partial; cd /cache/llvm-source
    echo "deb-src http://deb.debian.org/debian trixie main" >sources.list
    private="-o Dir::Etc::SourceList=$PWD/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$PWD/lists -o APT::Sandbox::User=root"
    apt-get $private -q update
    apt-get $private -q source --download-only --tar-only "llvm-toolchain-19=$1"
    mkdir tree
    tar -C tree --strip-components=1 --wildcards -xf llvm-toolchain-19_*.orig.tar.* \
        "*/llvm/test/MC/Disassembler/AMDGPU" "*/llvm/lib/Target/AMDGPU" "*/llvm/LICENSE.TXT" \
        "*/llvm/include/llvm/*.td"
    test -f tree/llvm/lib/Target/AMDGPU/AMDGPU.td
    rm -f *.orig*.tar.*
'
download() {
    "$TOP/setup/in-root" sh -c "$fetch" sh "$VERSION"
    rm -rf "$SUITE"; mv "$CACHE/llvm-source/tree" "$SUITE"; rm -rf "$CACHE/llvm-source"
}
step "LLVM's AMDGPU tests and records" "$SUITE.fetched" download
rm -f "$SUITE.fetched"; touch "$SUITE/.complete"
echo "$SUITE"
