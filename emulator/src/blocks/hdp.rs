// SPDX-License-Identifier: MIT OR Apache-2.0

//! The host data path: the CPU's way to VRAM.
//!
//! What it holds back of the CPU's stores is in [`crate::memory::hdp`], and the registers that flush it
//! are the north bridge's ([`super::nbio`]). HDP 4.4.2 flushes only when the driver has set it up: with
//! the address at which its VRAM begins, and with FLUSH_INVALIDATE_CACHE (`hdp_v4_0_init_registers`).
//! Sources: Linux, `amdgpu/hdp_v4_0.c`, `amdgpu/hdp_v7_0.c`.

use super::store::Store;
use crate::device::{Env, IpBlock, Refused};
use crate::memory::Hub;
use rkfd_hw::regs::RegInfo;
use std::sync::Arc;

/// HDP_MISC_CNTL: FLUSH_INVALIDATE_CACHE.
const FLUSH_INVALIDATE_CACHE: u32 = 1;

/// The block.
pub struct Hdp {
    env: Arc<dyn Env>,
    /// It flushes without a set-up.
    by_itself: bool,
    store: Store,
}

impl Hdp {
    /// Start-up state. `by_itself`: it flushes without a set-up.
    pub(crate) fn new(env: Arc<dyn Env>, by_itself: bool) -> Self {
        let block = Self {
            env,
            by_itself,
            store: Store::zeroed(&[
                "HDP_HOST_PATH_CNTL",
                "HDP_MISC_CNTL",
                "HDP_NONSURFACE_BASE",
                "HDP_NONSURFACE_BASE_HI",
                "HDP_MEM_POWER_CTRL",
                "HDP_CLK_CNTL",
            ]),
        };
        block.set_up();
        block
    }

    /// Lets flushes have an effect if the registers are set up for them.
    fn set_up(&self) {
        let word = |name| self.store.get(name).unwrap_or(0);
        let base = (u64::from(word("HDP_NONSURFACE_BASE")) << 8)
            | (u64::from(word("HDP_NONSURFACE_BASE_HI")) << 40);
        let memory = self.env.memory();
        let flushes = word("HDP_MISC_CNTL") & FLUSH_INVALIDATE_CACHE != 0
            && base == memory.hub(Hub::Mm(0)).vram_start();
        memory.let_hdp_flush(self.by_itself || flushes);
    }
}

impl IpBlock for Hdp {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        self.store.read(reg)
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        self.store.write(reg, value)?;
        self.set_up();
        Ok(())
    }

    fn reset(&self) {
        self.store.reset();
        self.set_up();
    }
}
