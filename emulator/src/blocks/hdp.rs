// SPDX-License-Identifier: MIT OR Apache-2.0

//! The host data path: the CPU's way to VRAM.
//!
//! What it holds back of the CPU's stores is in [`crate::memory::hdp`], and the registers that flush it
//! are the north bridge's ([`super::nbio`]). HDP 4.4.2 flushes only when the driver has set it up: with
//! the address at which its VRAM begins, and with FLUSH_INVALIDATE_CACHE (`hdp_v4_0_init_registers`). HDP 7.0 shuts its
//! memories down while they are idle, as HDP_MEM_POWER_CTRL says, which has rules of its own: their clock is forced to run
//! while that changes, nothing is on when something is turned on, and of light sleep, deep sleep and shut-down only one
//! (`hdp_v7_0_update_clock_gating`).
//! Sources: Linux, `amdgpu/hdp_v4_0.c`, `amdgpu/hdp_v7_0.c`.

use super::store::Store;
use crate::device::load::awake;
use crate::device::{Env, IpBlock, Refused};
use crate::memory::Hub;
use rkfd_hw::regs::hdp_7_0_0::{HDP_CLK_CNTL as Clock, HDP_MEM_POWER_CTRL as Power};
use rkfd_hw::regs::RegInfo;
use std::sync::Arc;

/// HDP_MISC_CNTL: FLUSH_INVALIDATE_CACHE.
const FLUSH_INVALIDATE_CACHE: u32 = 1;

/// HDP 7.0's memories: the bit that has their power controlled, and those that say how.
const MEMORIES: [(u32, u32); 2] = [
    (
        Power::ATOMIC_MEM_POWER_CTRL_EN.mask(),
        Power::ATOMIC_MEM_POWER_LS_EN.mask()
            | Power::ATOMIC_MEM_POWER_DS_EN.mask()
            | Power::ATOMIC_MEM_POWER_SD_EN.mask(),
    ),
    (
        Power::RC_MEM_POWER_CTRL_EN.mask(),
        Power::RC_MEM_POWER_LS_EN.mask()
            | Power::RC_MEM_POWER_DS_EN.mask()
            | Power::RC_MEM_POWER_SD_EN.mask(),
    ),
];

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
        block.start();
        block
    }

    /// Another driver has left the memories of HDP 7.0 in a light or deep sleep, of each kind one.
    fn start(&self) {
        let start = self.env.start();
        if self.by_itself && !start.cold {
            let [light, deep] = [
                Power::ATOMIC_MEM_POWER_LS_EN.mask() | Power::RC_MEM_POWER_DS_EN.mask(),
                Power::ATOMIC_MEM_POWER_DS_EN.mask() | Power::RC_MEM_POWER_LS_EN.mask(),
            ];
            let modes = if start.used { deep } else { light };
            let controlled = MEMORIES.iter().fold(0, |all, (control, _)| all | control);
            self.store.set("HDP_MEM_POWER_CTRL", controlled | modes);
        }
        self.set_up();
    }

    /// Lets flushes have an effect if the registers are set up for them, and tells whether memories take power without work.
    fn set_up(&self) {
        let word = |name| self.store.get(name).unwrap_or(0);
        let base = (u64::from(word("HDP_NONSURFACE_BASE")) << 8)
            | (u64::from(word("HDP_NONSURFACE_BASE_HI")) << 40);
        let memory = self.env.memory();
        let flushes = word("HDP_MISC_CNTL") & FLUSH_INVALIDATE_CACHE != 0
            && base == memory.hub(Hub::Mm(0)).vram_start();
        memory.let_hdp_flush(self.by_itself || flushes);
        let power = word("HDP_MEM_POWER_CTRL");
        let sleep = MEMORIES.iter().all(|(control, _)| power & control != 0);
        let forced = word("HDP_CLK_CNTL") & Clock::RC_MEM_CLK_SOFT_OVERRIDE.mask() != 0;
        let awake = self.by_itself && (forced || !sleep);
        self.env.load().set_awake(awake::HOST, awake);
    }

    /// The rules of HDP 7.0, which alone has the register, for what its memories do while they are idle.
    fn check_idle(&self, new: u32) {
        let word = |name| self.store.get(name).unwrap_or(0);
        let old = word("HDP_MEM_POWER_CTRL");
        let report = |why| {
            self.env.report().violation(format_args!(
                "HDP_MEM_POWER_CTRL {old:#x} becomes {new:#x}: {why}"
            ));
        };
        if word("HDP_CLK_CNTL") & Clock::RC_MEM_CLK_SOFT_OVERRIDE.mask() == 0 {
            report("the memories' clock isn't forced to run");
        }
        let any = |word: u32| {
            MEMORIES
                .iter()
                .any(|(control, modes)| word & (control | modes) != 0)
        };
        if any(old) && any(new) {
            report("what was on isn't turned off first");
        }
        for (control, modes) in MEMORIES {
            let chosen = (new & modes).count_ones();
            if chosen > 1 {
                report("a memory has one of light sleep, deep sleep and shut-down");
            }
            if (new & control != 0) != (chosen > 0) {
                report("a memory that is to sleep needs its power controlled, and no other does");
            }
        }
    }
}

impl IpBlock for Hdp {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        self.store.read(reg)
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        if reg.reg.name == "HDP_MEM_POWER_CTRL" {
            self.check_idle(value);
        }
        self.store.write(reg, value)?;
        self.set_up();
        Ok(())
    }

    fn reset(&self) {
        self.store.reset();
        self.start();
    }
}
