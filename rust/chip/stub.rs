// SPDX-License-Identifier: GPL-2.0

//! No chip: what a further one takes, compiled by `setup/stub-chip.sh` only. Beside this file it has a
//! `Generation` and one arm in the `hal.rs` of each block.

use super::{
    gfx1201,
    Family,
    Generation, //
};

/// As Navi 48's, under another name.
pub(super) const FAMILY: Family = Family {
    generation: Generation::Stub,
    name: c"stub",
    gfx_target_version: 0,
    ..gfx1201::FAMILY
};
