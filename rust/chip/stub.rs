// SPDX-License-Identifier: GPL-2.0

//! No chip: what a further one takes, compiled by `setup/stub-chip.sh` only. Beside this file each of its
//! blocks has a version that no other chip has, and one arm for it in its `hal.rs`.

use super::{
    gfx1201,
    Family, //
};

/// As Navi 48's, under another name.
pub(super) const FAMILY: Family = Family {
    name: c"stub",
    gfx_target_version: 0,
    ..gfx1201::FAMILY
};
