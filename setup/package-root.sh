#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Make a fresh Debian with the stock kernel, as a user has it before the package is installed, and print its path.
#
# Its kernel is the one that everything is tested with (devroot.sh), with its headers; no compiler beside what these need.
. "$(dirname "$(readlink -f "$0")")/common.sh"

dev=$("$TOP/setup/devroot.sh")
release=$(cat "$dev/etc/rkfd-kernel-release")
suite=trixie
key=$( { echo "$suite $release"; cat "$0"; } | sha256sum | cut -c1-12)
ROOT="$CACHE/fresh-$key"
if [ -e "$ROOT/.complete" ]; then echo "$ROOT"; exit 0; fi
[ "$(free_gb)" -gt 3 ] || die "only $(free_gb) GB free under $CACHE; a fresh Debian needs about 2 GB" \
    "point RKFD_CACHE at a folder with more room"
lock_cache
need mmdebstrap mmdebstrap
version=$(chroot "$dev" dpkg-query -W -f '${Version}' "linux-image-$release")
headers=$(chroot "$dev" dpkg-query -W -f '${Version}' "linux-headers-$release")

bootstrap() { rm -rf "$ROOT"; mmdebstrap --variant=minbase --mode=root --include=ca-certificates,kmod,udev "$suite" "$ROOT"; }
kernel() {
    sed -n "s/ $suite / $suite-backports /p" "$ROOT/etc/apt/sources.list" >"$ROOT/etc/apt/sources.list.d/backports.list"
    # Of backports only what the kernel needs: compilers and libraries are the stable ones, as the kernel was built with.
    # No initramfs of this root is ever booted.
    mkdir -p "$ROOT/etc/kernel/postinst.d"; ln -sf /bin/true "$ROOT/usr/sbin/update-initramfs"
    chroot "$ROOT" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy=$http_proxy} ${https_proxy:+https_proxy=$https_proxy} \
        sh -ec 'apt-get -q update; apt-get -y -q --no-install-recommends -o Dpkg::Use-Pty=0 \
            install "linux-base/$0-backports" "linux-image-$1=$2" "linux-headers-$1=$3"; apt-get clean' "$suite" "$release" "$version" "$headers" &&
        echo "$release" >"$ROOT/etc/rkfd-kernel-release"
}
say "making a fresh Debian $suite with Linux $release in $ROOT: once per machine, about 3 minutes"
step "Debian $suite" "$ROOT.1-base" bootstrap
step "its kernel and headers" "$ROOT.2-kernel" kernel
touch "$ROOT/.complete"
echo "$ROOT"
