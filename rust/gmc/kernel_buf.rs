// SPDX-License-Identifier: GPL-2.0

//! Memory that the kernel shares with the GPU: rings, fences, run lists, interrupt entries.
//!
//! Words of system memory that the GPU reaches in address space 0 through the GART.

use super::gart::{
    Gart,
    Range, //
};
use crate::{
    bo::Words,
    types::GpuVa, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Words that the GPU reaches through the GART.
pub(crate) struct KernelBuf {
    // Fields are dropped in this order: the GPU forgets the pages before they are freed.
    gart: Range,
    words: Words,
}

impl KernelBuf {
    /// Allocates `bytes`, rounded up to pages, all zero, and maps them.
    pub(crate) fn new(gart: &Arc<Gart>, bytes: usize) -> Result<Self> {
        Self::aligned(gart, bytes, 4096)
    }

    /// The same, at an address for the GPU that is a multiple of `align`, which is whole pages.
    pub(crate) fn aligned(gart: &Arc<Gart>, bytes: usize, align: usize) -> Result<Self> {
        let bytes = bytes.checked_next_multiple_of(4096).ok_or(EINVAL)?;
        let words = Words::new(gart.dev(), bytes / 4)?;
        let gart = Range::map(gart, words.bus(), bytes / 4096, align / 4096)?;
        Ok(Self { gart, words })
    }

    /// Address for the GPU, in address space 0.
    pub(crate) fn gpu_addr(&self) -> GpuVa {
        self.gart.addr()
    }
}

impl core::ops::Deref for KernelBuf {
    type Target = Words;
    fn deref(&self) -> &Words {
        &self.words
    }
}
