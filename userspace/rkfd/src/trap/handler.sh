#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Writes the words of handler.s for each target to standard output, as Rust:
# setup/in-root userspace/rkfd/src/trap/handler.sh >userspace/rkfd/src/trap/words.rs
set -e
here=$(dirname "$(readlink -f "$0")")
code=$(mktemp -d)
trap 'rm -r "$code"' EXIT
echo '// SPDX-License-Identifier: MIT OR Apache-2.0'
echo '//! The code of `handler.s`. Written by `handler.sh`.'
for target in gfx942 gfx1201; do
    gfx12=
    [ $target = gfx942 ] || gfx12=-Wa,-defsym,GFX12=1
    clang -target amdgcn-amd-amdhsa -mcpu=$target $gfx12 -c "$here/handler.s" -o "$code/o"
    llvm-objcopy -O binary -j .text "$code/o" "$code/bin"
    echo
    echo "/// For $target."
    echo '#[rustfmt::skip]'
    name=$(echo $target | tr a-z A-Z)
    echo "pub(super) const $name: [u32; $(($(wc -c <"$code/bin") / 4))] = ["
    od -An -v -tx4 -w32 "$code/bin" | sed -E 's/ *([0-9a-f]{8})/ 0x\1,/g; s/^/   /'
    echo '];'
done
