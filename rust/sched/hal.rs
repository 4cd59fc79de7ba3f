// SPDX-License-Identifier: GPL-2.0

//! Which scheduler a generation has. [`Scheduler`] is what they have in common.

use super::{
    cpsch,
    mes,
    Parts,
    Scheduler, //
};
use crate::chip::Generation;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Makes the one of a generation: run lists through HIQ, or queues handed to MES one by one.
pub(crate) fn new(generation: Generation, parts: Parts) -> Result<Arc<dyn Scheduler>> {
    let parts = Arc::new(parts, GFP_KERNEL)?;
    match generation {
        Generation::Gfx942 => cpsch::new(&parts),
        Generation::Gfx1201 => mes::new(&parts),
        #[cfg(rkfd_stub_chip)]
        Generation::Stub => mes::new(&parts),
    }
}
