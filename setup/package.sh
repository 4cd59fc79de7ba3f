#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Pack what is meant for crates.io, and build each package from its own files alone.
#
# The packages depend on each other by versions that no registry has yet, so each is verified with
# those before it: unpacked, as they would come from the registry. Nothing is downloaded or published.
. "$(dirname "$(readlink -f "$0")")/common.sh"
cd "$TOP"
# Cargo notes in the lock file what replaces a registry here.
lock=$(mktemp); cp Cargo.lock "$lock"; trap 'cp "$lock" Cargo.lock; rm "$lock"' EXIT
setup/in-root sh -ec '
    packages=$CARGO_TARGET_DIR/package
    version=$(sed -n "s/^version = \"\(.*\)\"/\1/p" Cargo.toml)
    for name in rkfd-uapi rkfd-hw rkfd; do
        cargo package --quiet --offline --allow-dirty -p "$name" "$@" >"$packages.log" 2>&1 || {
            cat "$packages.log"; echo "$name can not be packed" >&2; exit 1
        }
        files=$(tar tf "$packages/$name-$version.crate")
        for file in README.md LICENSE-MIT LICENSE-APACHE; do
            echo "$files" | grep -qx "$name-$version/$file" || { echo "$name lacks $file" >&2; exit 1; }
        done
        set -- "$@" --config "patch.crates-io.$name.path=\"$packages/$name-$version\""
    done
' package
