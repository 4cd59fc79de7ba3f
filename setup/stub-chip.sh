#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Show what a further chip takes: check the module's types with a chip that doesn't exist.
#
# rust/chip/stub.rs is its data, each of its blocks has a version of its own in
# rust/types/block_version.rs, and each room has an arm for that in its hal.rs, compiled only with
# --cfg rkfd_stub_chip. A room without the arm doesn't compile, and an arm anywhere else is one too many.
. "$(dirname "$(readlink -f "$0")")/common.sh"
cd "$TOP"

RKFD_CHECK_FLAGS="--cfg rkfd_stub_chip" setup/module.sh --check || die "the module doesn't compile with a further chip" \
    "add the arm for the Stub of the block where the compiler reports its absence"

expected="rust/chip.rs $(cd rust && ls -d -- */hal.rs | sed 's|^|rust/|' | tr '\n' ' ')"
found=$(grep -rlE '[A-Z][a-z]+Version::Stub =>' rust --include='*.rs' | sort | tr '\n' ' ')
wanted=$(printf '%s\n' $expected | sort | tr '\n' ' ')
[ "$found" = "$wanted" ] || die "a further chip takes arms elsewhere than in chip.rs and each hal.rs" \
    "expected: $wanted" "found:    $found"
say "a further chip takes rust/chip/<name>.rs and one arm in each of: $found"
