#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Build a module that a scenario loads beside rkfd: setup/test-module.sh NAME [KDIR AS [MAKE-ARGUMENT...]]
#
# Its sources lie in tests/qemu/NAME, with dashes for underscores. It is built for the stock kernel,
# or for the prepared tree KDIR as the root sees it; AS names the results' folder.
# Prints the folder in the root where the module is.
. "$(dirname "$(readlink -f "$0")")/common.sh"

name=${1:?setup/test-module.sh needs the name of a module}
kdir=${2:-$("$TOP/setup/kernel.sh")} as=${3:-stock}
shift $(($# > 3 ? 3 : $#))
"$TOP/setup/in-root" bash -ec '
    kdir=$0 name=$1 objects=$RKFD_BUILD/$1-$2 result=$RKFD_BUILD/test-modules-$2; shift 2
    sources=/rkfd/tests/qemu/${name//_/-}
    [ -e "$sources/Kbuild" ] || { echo "there is no $sources/Kbuild" >&2; exit 1; }
    mkdir -p "$objects" "$result"
    exec 8>"$objects.lock"; flock 8
    make -s --no-print-directory -C "$kdir" M="$sources" MO="$objects" "$@" modules 2>&1 |
        sed "/^Skipping BTF generation/d" >&2
    [ "${PIPESTATUS[0]}" = 0 ] || exit 1
    cp "$objects/$name.ko" "$result/$name.part"; mv "$result/$name.part" "$result/$name.ko"
    echo "$result"
' "$kdir" "$name" "$as" "$@" </dev/null
