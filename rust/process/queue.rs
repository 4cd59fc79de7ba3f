// SPDX-License-Identifier: GPL-2.0

//! A process' queues as it keeps them: what the program asked for, the hardware's part of it, and
//! the memory that it uses. What becomes of them is decided by the room `queue`.

use super::{
    Pin,
    QueueFacts, //
};
use crate::{
    bo::Bo,
    counts::Count,
    glue::kobject::Dir,
    sched::HwQueue,
    types::{
        DoorbellIndex,
        RingParams,
        SaveArea, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The memory that a queue uses, pinned.
pub(crate) struct Buffers {
    pub(crate) ring: Pin,
    pub(crate) others: KVec<Pin>,
}

impl Buffers {
    /// The buffer objects, for the scheduler to keep.
    pub(crate) fn bos(&self) -> Result<KVec<Arc<Bo>>> {
        let mut bos = KVec::with_capacity(self.others.len().saturating_add(1), GFP_KERNEL_ACCOUNT)?;
        bos.push(self.ring.bo().clone(), GFP_KERNEL_ACCOUNT)?;
        for pin in &self.others {
            bos.push(pin.bo().clone(), GFP_KERNEL_ACCOUNT)?;
        }
        Ok(bos)
    }
}

/// A queue of a process.
pub(crate) struct UserQueue {
    pub(crate) hw: Arc<HwQueue>,
    /// Index of its device in the process.
    pub(crate) device: usize,
    pub(crate) metadata_size: u64,
    pub(crate) ring: RingParams,
    /// Number of its doorbell in the process' slice: how interrupts name it.
    pub(crate) doorbell: DoorbellIndex,
    /// Where its waves are saved, in the program's address space.
    pub(crate) save: SaveArea,
    /// It has the process' global wave sync resources.
    pub(crate) gws: bool,
    /// Its folder in sysfs, and what that shows.
    pub(crate) folder: Option<Dir>,
    pub(crate) facts: Arc<QueueFacts>,
    /// What went wrong in it, a bit for each exception.
    pub(crate) errors: u64,
    /// Exceptions that a debugger hasn't dismissed.
    pub(crate) raised: u64,
    /// It is about to be destroyed, which waits for the debugger that has suspended it.
    pub(crate) leaving: bool,
    pub(crate) buffers: Buffers,
    pub(crate) _count: Count,
}
