#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Make a Debian root with some packages, byte for byte as packaged, and print its path:
# setup/debian-root.sh NAME SUITE MEGABYTES PACKAGE...
#
# MEGABYTES is the room that it needs while it is made. Nothing in it is changed after the installation.
. "$(dirname "$0")/common.sh"

name=$1 suite=$2 megabytes=$3
shift 3
[ "$(id -u)" = 0 ] || die "the Debian root needs chroot, so set-up runs as root" "try: sudo -E make"
[ "$(uname -m)" = x86_64 ] || die "this machine is $(uname -m); the root is x86_64"
key=$( { echo "$suite" "$@"; } | sha256sum | cut -c1-12)
ROOT="$CACHE/$name-$key"
if [ -e "$ROOT/.complete" ]; then echo "$ROOT"; exit 0; fi
free_kb=$(df -Pk "$CACHE" | awk 'NR==2{print $4}')
[ "$free_kb" -gt $((megabytes * 1000)) ] || die "only $((free_kb / 1024)) MB free under $CACHE; $name needs about $megabytes MB" \
    "point RKFD_CACHE at a folder with more room"
lock_cache
need mmdebstrap mmdebstrap

# Debian's testing can lag on a mirror until its lists are past their date: whether that is
# acceptable is the host's own setting. Signatures are checked in any case.
bootstrap() {
    rm -rf "$ROOT"
    valid_until=$(apt-config dump --format '%v' Acquire::Check-Valid-Until)
    mmdebstrap --variant=minbase --mode=root --include="$(echo "$@" | tr ' ' ,)" \
        --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
        --aptopt="Acquire::Check-Valid-Until \"${valid_until:-true}\"" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$ROOT"
    rm -rf "$ROOT"/var/cache/apt/* "$ROOT"/var/lib/apt/lists/*
}
say "making a Debian $suite root with $name in $ROOT: once per machine, a few minutes"
step "Debian $suite with $name" "$ROOT.1-packages" bootstrap "$@"
touch "$ROOT/.complete"
echo "$ROOT"
