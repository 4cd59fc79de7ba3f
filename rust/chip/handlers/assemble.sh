#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Writes the words of the trap handlers to standard output, as Rust:
# setup/in-root rust/chip/handlers/assemble.sh >rust/chip/handlers.rs
set -e
here=$(dirname "$(readlink -f "$0")")
code=$(mktemp -d)
trap 'rm -r "$code"' EXIT
echo '// SPDX-License-Identifier: GPL-2.0'
echo
echo '//! The code of the trap handlers in `handlers/`. Written by `handlers/assemble.sh`.'
for chip in gfx942 gfx1201; do
    clang -target amdgcn-amd-amdhsa -mcpu=$chip -c "$here/$chip.s" -o "$code/o"
    llvm-objcopy -O binary -j .text "$code/o" "$code/bin"
    echo
    echo "/// \`handlers/$chip.s\`."
    echo '#[rustfmt::skip]'
    name=$(echo $chip | tr a-z A-Z)
    echo "pub(super) const $name: [u32; $(($(wc -c <"$code/bin") / 4))] = ["
    od -An -v -tx4 -w32 "$code/bin" | sed -E 's/ *([0-9a-f]{8})/ 0x\1,/g; s/^/   /'
    echo '];'
done
