// SPDX-License-Identifier: GPL-2.0

//! Memory that the kernel shares with the GPU: rings, fences, run lists, interrupt entries.
//!
//! System memory, coherent for DMA, that the GPU reaches in address space 0 through the GART.
//! It is a row of 32-bit words with volatile access; what belongs to one structure in it is
//! ordered by whoever stores the pointer to it.

use crate::{gmc::gart, gpu::Hw};
use kernel::{
    device::{Bound, Device},
    devres::Devres,
    dma::Coherent,
    io::{io_read, io_write},
    prelude::*,
    sync::Arc,
};

/// Coherent words, by index. Gone with the device.
pub(crate) struct Words {
    mem: Devres<Coherent<[u32]>>,
    bus: u64,
}

impl Words {
    /// Allocates `len` words, all zero.
    pub(crate) fn new(hw: &Hw, len: usize) -> Result<Self> {
        hw.while_bound(|dev| Self::of(dev, len))
    }

    /// Allocates `len` words, all zero, for a device.
    pub(crate) fn of(dev: &Device<Bound>, len: usize) -> Result<Self> {
        let mem = Coherent::<u32>::zeroed_slice(dev, len, GFP_KERNEL)?;
        let bus = mem.dma_address();
        Ok(Self {
            mem: Devres::new(dev, mem)?,
            bus,
        })
    }

    /// Bus address.
    pub(crate) fn bus(&self) -> u64 {
        self.bus
    }

    /// Loads a word. ENODEV when the device is gone.
    pub(crate) fn read(&self, index: usize) -> Result<u32> {
        self.mem
            .try_access_with(|mem| Ok(io_read!(mem, [try: index])))
            .ok_or(ENODEV)?
    }

    /// Stores a word.
    pub(crate) fn write(&self, index: usize, value: u32) -> Result {
        self.mem
            .try_access_with(|mem| {
                io_write!(mem, [try: index], value);
                Ok(())
            })
            .ok_or(ENODEV)?
    }

    /// Stores words from `index` on.
    pub(crate) fn write_slice(&self, index: usize, words: &[u32]) -> Result {
        self.mem
            .try_access_with(|mem| {
                for (i, &word) in words.iter().enumerate() {
                    io_write!(mem, [try: index + i], word);
                }
                Ok(())
            })
            .ok_or(ENODEV)?
    }

    /// Stores a 64-bit value in two words, high word first: a reader that polls the low word
    /// then finds both.
    pub(crate) fn write64(&self, index: usize, value: u64) -> Result {
        self.write(index + 1, (value >> 32) as u32)?;
        self.write(index, value as u32)
    }
}

/// Words that the GPU reaches through the GART.
pub(crate) struct KernelBuf {
    // Fields are dropped in this order: the GPU forgets the pages before they are freed.
    gart: gart::Range,
    words: Words,
}

impl KernelBuf {
    /// Allocates `bytes`, rounded up to pages, all zero, and maps them.
    pub(crate) fn new(hw: &Arc<Hw>, bytes: usize) -> Result<Self> {
        let bytes = bytes.checked_next_multiple_of(4096).ok_or(EINVAL)?;
        let words = Words::new(hw, bytes / 4)?;
        let gart = gart::Range::map(hw, words.bus(), bytes / 4096)?;
        Ok(Self { gart, words })
    }

    /// Address for the GPU, in address space 0.
    pub(crate) fn gpu_addr(&self) -> u64 {
        self.gart.addr()
    }
}

impl core::ops::Deref for KernelBuf {
    type Target = Words;
    fn deref(&self) -> &Words {
        &self.words
    }
}
