// SPDX-License-Identifier: GPL-2.0

//! Words of system memory, coherent for DMA, that the kernel shares with the GPU.
//!
//! Access is volatile; what belongs to one structure is ordered by whoever stores the pointer to it.

use crate::{
    device::Handle,
    glue::{
        bound::WhileBound,
        linux, //
    },
    types::BusAddr, //
};
use kernel::{
    dma::Coherent,
    prelude::*, //
};

/// Coherent words, by index. Gone with the device.
pub(crate) struct Words {
    mem: WhileBound<Coherent<[u32]>>,
    bus: BusAddr,
    len: usize,
}

impl Words {
    /// Allocates `len` words, all zero.
    pub(crate) fn new(dev: &Handle, len: usize) -> Result<Self> {
        let mem = dev.hold(|dev| Coherent::<u32>::zeroed_slice(dev, len, GFP_KERNEL))?;
        let bus = mem.try_access_with(|mem| BusAddr::new(linux::bus(mem)));
        let bus = bus.ok_or(ENODEV)?;
        Ok(Self { mem, bus, len })
    }

    /// Bus address.
    pub(crate) fn bus(&self) -> BusAddr {
        self.bus
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Loads a word. ENODEV when the device is gone.
    pub(crate) fn read(&self, index: usize) -> Result<u32> {
        self.mem
            .try_access_with(|mem| linux::read(mem, index))
            .ok_or(ENODEV)?
    }

    /// Stores a word.
    pub(crate) fn write(&self, index: usize, value: u32) -> Result {
        self.mem
            .try_access_with(|mem| linux::write(mem, index, value))
            .ok_or(ENODEV)?
    }

    /// Stores words from `index` on.
    pub(crate) fn write_slice(&self, index: usize, words: &[u32]) -> Result {
        self.mem
            .try_access_with(|mem| {
                for (i, &word) in words.iter().enumerate() {
                    let at = index.checked_add(i).ok_or(EINVAL)?;
                    linux::write(mem, at, word)?;
                }
                Ok(())
            })
            .ok_or(ENODEV)?
    }

    /// Stores a 64-bit value in two words, high word first: a reader that polls the low word
    /// then finds both.
    pub(crate) fn write64(&self, index: usize, value: u64) -> Result {
        let high = index.checked_add(1).ok_or(EINVAL)?;
        self.write(high, (value >> 32) as u32)?;
        self.write(index, value as u32)
    }
}
