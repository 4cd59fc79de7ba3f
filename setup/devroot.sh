#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Make the Debian root that everything is built and run in, and print its path.
#
# It holds the stock kernel image, the same kernel's headers and source, QEMU with
# vfio-user-pci, clang for GPU code, and rustc and bindgen of the versions that built the kernel.
. "$(dirname "$0")/common.sh"

SUITE=trixie
BACKPORTS='qemu-system-x86'
# The series of Linux: the kernel's Rust API changes with each. RKFD_LINUX_SERIES names another that the module supports.
KERNEL=${RKFD_LINUX_SERIES:-7.3}
PACKAGES='gcc make flex bison bc libelf-dev libssl-dev libc6-dev rustc rust-src bindgen rustfmt
 rust-clippy cargo ca-certificates clang-19 lld-19 llvm-19 dwarves xz-utils python3
 busybox-static cpio kmod'

[ "$(id -u)" = 0 ] || die "the Debian root needs chroot, so set-up runs as root" "try: sudo -E make setup"
[ "$(uname -m)" = x86_64 ] || die "this machine is $(uname -m); the root and its kernel are x86_64"
free_kb=$(df -Pk "$CACHE" | awk 'NR==2{print $4}')
key=$( { echo "$SUITE" "$BACKPORTS" "$KERNEL" "$PACKAGES"; } | sha256sum | cut -c1-12)
ROOT="$CACHE/root-$key"
if [ -e "$ROOT/.complete" ]; then echo "$ROOT"; exit 0; fi
[ "$free_kb" -gt 9000000 ] || die "only $((free_kb / 1024)) MB free under $CACHE; set-up takes $SETUP_COST" \
    "point RKFD_CACHE at a folder with more room"
lock_cache
need mmdebstrap mmdebstrap

in_root() { chroot "$ROOT" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy=$http_proxy} ${https_proxy:+https_proxy=$https_proxy} "$@"; }
apt() { in_root apt-get -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "$@"; }

bootstrap() { rm -rf "$ROOT"; mmdebstrap --variant=minbase --mode=root "$SUITE" "$ROOT"; }
backports() {
    sed -n "s/ $SUITE / $SUITE-backports /p" "$ROOT/etc/apt/sources.list" >"$ROOT/etc/apt/sources.list.d/backports.list"
    # QEMU comes with backports' libelf; let its siblings follow, or pahole cannot be installed.
    printf 'Package: src:elfutils\nPin: release n=%s-backports\nPin-Priority: 500\n' "$SUITE" \
        >"$ROOT/etc/apt/preferences.d/elfutils"
    apt update
}
# No initramfs of this root is ever booted, and making one in a chroot only wastes time.
kernel_and_qemu() {
    mkdir -p "$ROOT/etc/initramfs-tools/conf.d" "$ROOT/etc/kernel/postinst.d"
    in_root dpkg-divert --local --rename --add /usr/sbin/update-initramfs >/dev/null 2>&1 || true
    ln -sf /bin/true "$ROOT/usr/sbin/update-initramfs"
    # Image, headers and source of ONE version: backports carries several at a time.
    image=$(in_root apt-cache pkgnames "linux-image-$KERNEL." | grep -E '^linux-image-[0-9.]+[^-]*-amd64$' | sort -V | tail -n1) || true
    apt install -t "$SUITE-backports" $BACKPORTS "${image:-linux-image-amd64}"
    release=$(ls "$ROOT/boot" | sed -n 's/^vmlinuz-//p' | sort -V | tail -n1)
    version=$(in_root dpkg-query -W -f '${Version}' "linux-image-$release")
    series=$(echo "$release" | cut -d. -f1,2)
    # The signed image has a version of its own form; headers and source share the unsigned one.
    source_version=$(in_root apt-cache madison "linux-headers-$release" | awk '{print $3; exit}')
    apt install -t "$SUITE-backports" "linux-headers-$release=$source_version" "linux-source-$series=$source_version"
    echo "$release" >"$ROOT/etc/rkfd-kernel-release"
    echo "kernel $release ($version), headers and source $source_version"
}
tools() { apt install $PACKAGES; apt clean; }

say "set-up begins: $SETUP_COST"
say "making a Debian $SUITE root in $ROOT"
rm -f "$ROOT.complete"
step "Debian $SUITE base system" "$ROOT.1-base" bootstrap
step "package lists" "$ROOT.2-lists" backports
step "kernel, headers, source and QEMU" "$ROOT.3-kernel" kernel_and_qemu
step "compilers and tools" "$ROOT.4-tools" tools
case $(cat "$ROOT/etc/rkfd-kernel-release") in
"$KERNEL".*) ;;
*) say "warning: $SUITE-backports has no kernel $KERNEL any more; the module may not build for its newest" ;;
esac
touch "$ROOT/.complete"
echo "$ROOT"
