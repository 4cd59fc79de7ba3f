#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Floors, documents, formatting and lints, each part run even if an earlier one complained.
. "$(dirname "$(readlink -f "$0")")/common.sh"
"$TOP/setup/devroot.sh" >/dev/null
bad=0
part() {
    local name=$1; shift
    if "$@" </dev/null; then say "$name: clean"; else say "$name: NOT clean"; bad=$((bad + 1)); fi
}
cd "$TOP"
# The number of parts that complained. rustc looks at the module on one processor.
of_module() {
    local tree bad=0
    [ -e rust/rkfd_main.rs ] || { say "rust/rkfd_main.rs is missing: the module was not checked"; return 1; }
    tree=$(setup/kernel.sh)
    part "formatting of the module" setup/in-root rustfmt --edition 2021 \
        --config-path "$tree/.rustfmt.toml" --check rust/rkfd_main.rs
    part "lints of the module" setup/module.sh --clippy
    part "stack that the module's functions take" stack
    part "what a further chip takes" setup/stub-chip.sh
    return "$bad"
}
stack() {
    local module
    module=$(setup/module.sh) && setup/in-root setup/frames.py "$module"
}
# What it says comes out whole, last.
said=$(mktemp)
trap 'rm -f "$said"' EXIT
of_module >"$said" 2>&1 &
part "floors" setup/in-root setup/floors.py
part "the check of floors" setup/in-root tests/floors/test_floors.py --quiet
part "files and functions that documents name" setup/in-root setup/docs.py
part "links of the documents, as pages" setup/in-root setup/docs-site.py --out /tmp/docs
part "the check of stacks" setup/in-root tests/floors/test_frames.py --quiet
part "the checks of documents" setup/in-root tests/floors/test_docs.py --quiet
part "the report of benchmarks" setup/in-root tests/bench/test_report.py --quiet
part "the comparison of drivers" setup/in-root tests/bench/test_rivals.py --quiet
part "the comparison of interpreters" setup/in-root tests/bench/test_interpreters.py --quiet
part "the lists of mutants" setup/in-root tests/mutants/plant.py --check
part "formatting of the crates" setup/in-root cargo fmt --all --check
part "lints of the crates" setup/in-root cargo clippy --quiet --workspace --all-targets -- -D warnings
part "documentation of the library" setup/in-root env RUSTDOCFLAGS="-D warnings" \
    cargo doc --quiet --no-deps --all-features -p rkfd -p rkfd-hw -p rkfd-uapi
part "packages of the library" setup/package.sh
wait $! || bad=$((bad + $?))
cat "$said" >&2
[ "$bad" = 0 ] || die "$bad part(s) not clean"
