// SPDX-License-Identifier: GPL-2.0

//! An open file of a render node, as processes know it.

use super::Offsets;
use crate::{
    counts::Count,
    glue::vma::{
        Area,
        Fault, //
    },
    gpu::Gpu, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            AtomicFlag,
            Full,
            Release, //
        },
        Arc, //
    }, //
};

/// An open file.
pub(crate) struct VmFile {
    offsets: Arc<Offsets>,
    /// A process took its address space.
    claimed: AtomicFlag,
    _count: Count,
}

/// A file's address space being taken; given back when dropped.
pub(crate) struct Claim<'a>(Option<&'a VmFile>);

impl Claim<'_> {
    /// It stays taken.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            file.claimed.store(false, Release);
        }
    }
}

impl VmFile {
    /// A file that was just opened. `count` counts it.
    pub(crate) fn new(offsets: Arc<Offsets>, count: Count) -> Result<Arc<Self>> {
        let file = Self {
            offsets,
            claimed: AtomicFlag::new(false),
            _count: count,
        };
        Ok(Arc::new(file, GFP_KERNEL_ACCOUNT)?)
    }

    /// The GPU.
    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        self.offsets.gpu()
    }

    /// Takes the file's address space, which can be done once.
    ///
    /// # Errors
    ///
    /// EINVAL when a process has it or had it.
    pub(crate) fn claim(&self) -> Result<Claim<'_>> {
        if self.claimed.xchg(true, Full) {
            return Err(EINVAL);
        }
        Ok(Claim(Some(self)))
    }

    /// Sets up a new mapping of the file.
    ///
    /// # Errors
    ///
    /// EINVAL when no object starts there or it is smaller, EACCES when it is another file's,
    /// ENODEV when the GPU went.
    pub(crate) fn map(&self, area: &Area<'_>) -> Result {
        self.offsets.objects.lock().map_of(self, area)
    }

    /// Inserts the page that was touched in such a mapping.
    pub(crate) fn fault(&self, fault: &Fault<'_>) -> Result {
        self.offsets.fault(fault)
    }

    pub(super) fn offsets(&self) -> &Arc<Offsets> {
        &self.offsets
    }

    /// A key that no other file has.
    pub(super) fn key(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }
}
