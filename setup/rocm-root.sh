#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Make the Debian root that `make rocm` runs in the virtual machine, and print its path:
# setup/rocm-root.sh [6|7]
#
# It holds Debian's own ROCm, byte for byte as packaged: rocminfo, the HSA runtime, HIP, the device
# libraries, hipcc, tools that show what a GPU does, OpenCL, and the debugger's library. ROCm 6 is that of Debian's
# testing suite, with the debugger's library of the unstable one; ROCm 7, with the profiler's and the mathematical libraries and
# amd-smi, is in the experimental one. The other root (devroot.sh) cannot hold them: Debian stable's ROCm is older and
# its compiler does not know gfx1201. Nothing of these roots is changed after the installation; the
# virtual machine mounts one read-only.
. "$(dirname "$0")/common.sh"

STACK=${1:-6}
# OTHER: where packages come from that the suite doesn't have. CHOSEN: versions that are taken before others.
# MB: what it takes, in megabytes.
case $STACK in
    6) MB=1200 SUITE=forky OTHER=sid CHOSEN='' HIP='libamdhip64-6' ;;
    7) MB=3300 SUITE=sid OTHER=experimental CHOSEN='7.2.4*' HIP='libamdhip64-7 libhsa-amd-aqlprofile64-1-dev librocprofiler-register-0-dev'
        HIP="$HIP librocprim-dev libhipcub-dev librocrand-dev librocfft-dev librocblas-dev librocsparse-dev ocl-icd-opencl-dev amd-smi" ;;
    *) die "there is no ROCm $STACK in Debian" "choose 6 or 7" ;;
esac
PACKAGES="rocminfo libhsa-runtime64-1 libhsa-runtime-dev $HIP hipcc amd-dbgapi-dev rocm-smi nvtop clinfo rocm-opencl-icd gcc libc6-dev strace busybox-static"

[ "$(id -u)" = 0 ] || die "the Debian root needs chroot, so set-up runs as root" "try: sudo -E make rocm"
[ "$(uname -m)" = x86_64 ] || die "this machine is $(uname -m); the root and its kernel are x86_64"
key=$( { echo "$SUITE" "$OTHER" ${CHOSEN:+"$CHOSEN"} "$PACKAGES"; } | sha256sum | cut -c1-12)
ROOT="$CACHE/rocm-$key"
if [ -e "$ROOT/.complete" ]; then echo "$ROOT"; exit 0; fi
free_kb=$(df -Pk "$CACHE" | awk 'NR==2{print $4}')
[ "$((free_kb / 1024))" -gt "$((MB * 2))" ] || die "only $((free_kb / 1024)) MB free under $CACHE; making a root with ROCm $STACK needs about $((MB * 2)) MB" \
    "point RKFD_CACHE at a folder with more room"
lock_cache
need mmdebstrap mmdebstrap

# Debian's testing can lag on a mirror until its lists are past their date: whether that is
# acceptable is the host's own setting. Signatures are checked in any case.
bootstrap() {
    rm -rf "$ROOT"
    set --
    [ -z "$CHOSEN" ] || set -- --setup-hook='printf "Package: /./\nPin: version '"$CHOSEN"'\nPin-Priority: 990\n" >"$1/etc/apt/preferences.d/rocm"'
    valid_until=$(apt-config dump --format '%v' Acquire::Check-Valid-Until)
    mmdebstrap --variant=minbase --mode=root --include="$(echo $PACKAGES | tr ' ' ,)" \
        --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
        --aptopt="Acquire::Check-Valid-Until \"${valid_until:-true}\"" --aptopt="APT::Default-Release \"$SUITE\"" \
        --setup-hook='sed -n "s/ '"$SUITE"' / '"$OTHER"' /p" "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/other.list"' "$@" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' "$SUITE" "$ROOT"
    rm -rf "$ROOT"/var/cache/apt/* "$ROOT"/var/lib/apt/lists/*
}
say "making a Debian $SUITE root with ROCm $STACK in $ROOT: once per machine, some minutes, $MB MB"
step "Debian $SUITE with ROCm $STACK" "$ROOT.1-packages" bootstrap
touch "$ROOT/.complete"
echo "$ROOT"
