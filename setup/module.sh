#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Build rkfd.ko: setup/module.sh [--clippy | --check | --rust-analyzer] [--kdir DIR --as NAME] [--name NAME]
# [MAKE-ARGUMENT...]
#
# With no --kdir it is built for the stock kernel. --kdir names another prepared tree as the root
# sees it (such as a debug kernel's build folder under /cache) and --as names the results' folder:
# objects of two kernels never share a folder, and none lands in the checkout.
# --name gives the module another name than rkfd (see Kbuild).
# Prints the module's path in the root. --clippy lints instead, with warnings as errors, no indexing, and no operator that could overflow;
# --check only checks types and borrows, in seconds; --rust-analyzer writes rust-project.json.
. "$(dirname "$(readlink -f "$0")")/common.sh"

kdir='' as='' clippy='' only='' name=rkfd
while [ $# -gt 0 ]; do
    case $1 in
        --clippy) clippy=1; shift ;;
        --check | --rust-analyzer) only=$1; shift ;;
        --kdir) kdir=${2:?--kdir needs a folder}; shift 2 ;;
        --as) as=${2:?--as needs a name}; shift 2 ;;
        --name) name=${2:?--name needs a name}; shift 2 ;;
        *) break ;;
    esac
done
[ -e "$TOP/rust/rkfd_main.rs" ] || die "rust/rkfd_main.rs is missing: there is no module to build in this checkout"
[ -z "$kdir" ] || [ -n "$as" ] || die "--kdir needs --as NAME, so that its results do not mix with the stock kernel's"
[ -n "$kdir" ] || kdir=$("$TOP/setup/kernel.sh")
result=$name${as:+-$as}.ko

# The folder is named after the tree, because kbuild does not notice that the tree was exchanged.
objects=module-$(printf %s "$kdir" | sha256sum | cut -c1-8)${clippy:+-clippy}
[ "$name" = rkfd ] || objects=$objects-$name
# Nor do objects that report their blocks, which would all be made anew for the next build without.
case " $* " in *" RKFD_COVERAGE="*) objects=$objects-coverage ;; esac
"$TOP/setup/in-root" bash -ec '
    kdir=$0 objects=$RKFD_BUILD/$1 result=$RKFD_BUILD/$2 clippy=$3 name=$4 only=$5; shift 5
    [ -e "$kdir/Makefile" ] || { echo "there is no kernel tree at $kdir in the root" >&2; exit 1; }
    mkdir -p "$objects"
    exec 8>"$objects.lock"; flock 8
    case $only in
    --check)
        # The compiler is called as kbuild called it last, for metadata in place of code.
        compiled=$objects/rust/.rkfd_main.o.cmd
        if [ -e "$compiled" ]; then
            command=$(sed -n "s|^savedcmd_[^ ]* := ||; T; s|--emit=dep-info=[^ ]*||; s|--emit=obj=[^ ]*|--emit=metadata=rust/check.rmeta -Cincremental=incremental|; p; q" "$compiled")
            cd "$objects"
            RUSTC_BOOTSTRAP=1 sh -c "$command ${RKFD_CHECK_FLAGS:-}" 2>&1 | sed "s|/rkfd/||g" >&2
            exit "${PIPESTATUS[0]}"
        fi
        echo "the module was never built here: this first check builds it" >&2 ;;
    --rust-analyzer)
        make -s --no-print-directory -C "$kdir" M=/rkfd MO="$objects" RKFD_NAME="$name" "$@" rust-analyzer >&2
        exec python3 /rkfd/setup/rust-project.py "$objects/rust-project.json" ;;
    esac
    [ -z "$clippy" ] || set -- CLIPPY=1 KRUSTFLAGS="-Dwarnings -Dclippy::indexing_slicing -Dclippy::arithmetic_side_effects" "$@"
    make -s --no-print-directory -C "$kdir" M=/rkfd MO="$objects" RKFD_NAME="$name" "$@" modules 2>&1 |
        sed "/^Skipping BTF generation/d; s|/rkfd/||g" >&2
    [ "${PIPESTATUS[0]}" = 0 ] || exit 1
    [ -n "$clippy" ] && { rm -f "$objects/rust/rkfd_main.o"; exit 0; }
    cp "$objects/$name.ko" "$result.part"; mv "$result.part" "$result"
    python3 /rkfd/setup/builds.py note
    echo "$result"
' "$kdir" "$objects" "$result" "$clippy" "$name" "$only" "$@" </dev/null
