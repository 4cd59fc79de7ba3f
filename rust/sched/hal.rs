// SPDX-License-Identifier: GPL-2.0

//! Which scheduler a graphics core has. [`Scheduler`] is what they have in common.

use super::{
    cpsch,
    mes,
    Parts,
    Scheduler, //
};
use crate::types::GcVersion;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Makes the one of a version: run lists through HIQ, or queues handed to MES one by one
/// (`amdgpu_discovery_set_mes_ip_blocks`).
pub(crate) fn new(gc: GcVersion, parts: Parts) -> Result<Arc<dyn Scheduler>> {
    let parts = Arc::new(parts, GFP_KERNEL)?;
    match gc {
        GcVersion::V9_4_3 => cpsch::new(&parts),
        GcVersion::V12_0_1 => mes::new(&parts),
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => mes::new(&parts),
    }
}
