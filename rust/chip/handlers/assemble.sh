#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Writes the words of the trap handlers and of the cleaner shader to standard output, as Rust:
# setup/in-root rust/chip/handlers/assemble.sh >rust/chip/handlers.rs
set -e
here=$(dirname "$(readlink -f "$0")")
code=$(mktemp -d)
trap 'rm -r "$code"' EXIT
echo '// SPDX-License-Identifier: GPL-2.0'
echo
echo '//! The code of the trap handlers and of the cleaner shader in `handlers/`. Written by `handlers/assemble.sh`.'
# words FILE CHIP
words() {
    clang -target amdgcn-amd-amdhsa -mcpu=$2 -c "$here/$1.s" -o "$code/o"
    llvm-objcopy -O binary -j .text "$code/o" "$code/bin"
    echo
    echo "/// \`handlers/$1.s\`."
    echo '#[rustfmt::skip]'
    name=$(echo $1 | tr a-z A-Z)
    echo "pub(super) const $name: [u32; $(($(wc -c <"$code/bin") / 4))] = ["
    od -An -v -tx4 -w32 "$code/bin" | sed -E 's/ *([0-9a-f]{8})/ 0x\1,/g; s/^/   /'
    echo '];'
}
words gfx942 gfx942
words gfx1201 gfx1201
words cleaner gfx942
