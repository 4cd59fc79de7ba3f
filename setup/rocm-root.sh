#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Make the Debian root that `make rocm` runs in the virtual machine, and print its path.
#
# It holds Debian's own ROCm: rocminfo, the HSA runtime, HIP, the device libraries and hipcc. The other
# root (devroot.sh) cannot hold it: Debian stable's ROCm is older and its compiler does not know gfx1201.
# The virtual machine mounts it read-only.
exec "$(dirname "$0")/debian-root.sh" rocm forky 2500 \
    rocminfo libhsa-runtime64-1 libhsa-runtime-dev libamdhip64-6 hipcc gcc libc6-dev strace busybox-static
