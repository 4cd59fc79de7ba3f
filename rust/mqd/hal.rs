// SPDX-License-Identifier: GPL-2.0

//! What differs between MQDs.

use super::{
    Image,
    UserQueue, //
};
use crate::types::{
    Format,
    GcVersion, //
};
use kernel::prelude::*;

pub(crate) mod v12;
pub(crate) mod v9;

/// Where the MQD of a compute queue has what the firmware saved of it: word indices.
pub(crate) struct SavedWords {
    /// Bytes of the control stack.
    pub(crate) stack_size: usize,
    /// Where it begins, counted from the start of the save area.
    pub(crate) stack_offset: usize,
    /// Where the waves' state ends.
    pub(crate) waves_end: usize,
    /// Bytes from the MQD to the control stack's own memory, if it isn't in the area.
    pub(crate) stack_at: Option<u64>,
}

/// MQDs of user queues of a version.
pub(crate) trait Hal: Sync {
    /// Bytes from one XCC's MQD to the next's, with what firmware keeps between them.
    fn stride(&self, ctl_stack_size: u32) -> Result<u64>;

    /// The MQD of one XCC, into `image`.
    fn build(&self, queue: &UserQueue<'_>, image: &mut Image) -> Result;

    /// What may change when a queue that has run is updated: first words and widths in bits, in
    /// two lists.
    fn updated(&self, format: Format) -> [&'static [(usize, u8)]; 2];

    /// Where the firmware notes how much it saved of a compute queue.
    fn saved(&self) -> SavedWords;
}

/// The one of a version (`device_queue_manager_init`).
pub(crate) fn hal(gc: GcVersion) -> &'static dyn Hal {
    match gc {
        GcVersion::V9_4_3 => &v9::Hal,
        GcVersion::V12_0_1 => &v12::Hal,
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &v12::Hal,
    }
}
