#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Writes the code object of vadd.hip for gfx942 to standard output:
# setup/in-root userspace/rkfd/src/fake/vadd.sh >userspace/rkfd/src/fake/vadd.co
set -e
here=$(dirname "$(readlink -f "$0")")
code=$(mktemp -d)
trap 'rm -r "$code"' EXIT
cd "$here"
clang -x hip --offload-device-only --no-gpu-bundle-output -nogpuinc -nogpulib --offload-arch=gfx942 \
    -O2 -fhip-kernel-arg-name -o "$code/vadd.co" vadd.hip
llvm-strip --strip-all --remove-section=.comment "$code/vadd.co"
cat "$code/vadd.co"
