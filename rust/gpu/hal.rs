// SPDX-License-Identifier: GPL-2.0

//! What differs between GPUs as a whole.

use super::reset::{
    Method,
    Soft,
    Whole, //
};
use crate::types::GcVersion;

/// The ways to reset a GPU, in the order in which they are tried. Linux chooses them by the graphics
/// core, too (`amdgpu_discovery_set_common_ip_blocks`).
pub(super) fn reset_methods(gc: GcVersion) -> &'static [&'static dyn Method] {
    match gc {
        GcVersion::V9_4_3 | GcVersion::V12_0_1 => &[&Soft, &Whole],
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &[&Soft],
    }
}
