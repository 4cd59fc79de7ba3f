// SPDX-License-Identifier: MIT OR Apache-2.0

//! Banks of HQD registers that GRBM_GFX_CNTL selects.
//!
//! gfx1201 has one compute micro engine (`me` 1) with two pipes of four queues, and MES (`me` 3)
//! with two pipes of one queue: pipe 0 schedules, pipe 1 is the kernel's (Linux,
//! `amdgpu/gfx_v12_0.c`, `gfx_v12_0_sw_init`; `amdgpu/mes_v12_0.c`).

use crate::engines::cp::front::generation::GFX12;
use crate::engines::cp::front::slot::{Slot, SLOTS};
use rkfd_hw::regs::gc_12_0_0::GRBM_GFX_CNTL;
use rkfd_hw::regs::Value;

/// Pipes of MES.
pub const PIPES: usize = 2;
/// Number of banks: those of compute, then those of MES.
pub const BANKS: usize = SLOTS + PIPES;

/// A pipe of MES.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pipe {
    /// The scheduler.
    Scheduler = 0,
    /// The kernel interface queue.
    Kernel = 1,
}

impl Pipe {
    /// Both.
    pub const ALL: [Self; PIPES] = [Self::Scheduler, Self::Kernel];

    /// The pipe that GRBM_GFX_CNTL selects, if it selects MES.
    pub fn selected(grbm_gfx_cntl: u32) -> Option<Self> {
        match (
            Value::new(grbm_gfx_cntl).get(GRBM_GFX_CNTL::MEID),
            Value::new(grbm_gfx_cntl).get(GRBM_GFX_CNTL::PIPEID),
        ) {
            (3, 0) => Some(Self::Scheduler),
            (3, 1) => Some(Self::Kernel),
            _ => None,
        }
    }

    /// Its number.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The value of RLC_CP_SCHEDULERS that names its queue (Linux, `mes_v12_0_kiq_setting`).
    pub const fn scheduler(self) -> u32 {
        0x80 | (3 << 5) | ((self as u32) << 3)
    }
}

/// A bank of HQD registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bank {
    /// A compute queue's.
    Compute(Slot),
    /// That of the queue of a pipe of MES.
    Mes(Pipe),
}

impl Bank {
    /// The bank that GRBM_GFX_CNTL selects, if the chip has it.
    pub fn selected(grbm_gfx_cntl: u32) -> Option<Self> {
        let queue = Value::new(grbm_gfx_cntl).get(GRBM_GFX_CNTL::QUEUEID);
        match Value::new(grbm_gfx_cntl).get(GRBM_GFX_CNTL::MEID) {
            3 if queue == 0 => Pipe::selected(grbm_gfx_cntl).map(Self::Mes),
            3 => None,
            _ => GFX12.slots.selected(grbm_gfx_cntl).map(Self::Compute),
        }
    }

    /// Its number, below [`BANKS`].
    pub const fn index(self) -> usize {
        match self {
            Self::Compute(slot) => slot.index(),
            Self::Mes(pipe) => SLOTS + pipe.index(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(me: u32, pipe: u32, queue: u32) -> Option<Bank> {
        // `soc21_grbm_select`: PIPEID 1:0, MEID 3:2, VMID 7:4, QUEUEID 10:8.
        Bank::selected(pipe | (me << 2) | (queue << 8))
    }

    #[test]
    fn banks_are_those_that_the_chip_has() {
        let mut seen = [false; BANKS];
        for me in 0..4 {
            for pipe in 0..4 {
                for queue in 0..8 {
                    let there =
                        me == 1 && pipe < 2 && queue < 4 || me == 3 && pipe < 2 && queue == 0;
                    let bank = select(me, pipe, queue);
                    assert_eq!(bank.is_some(), there, "{me} {pipe} {queue}");
                    if let Some(bank) = bank {
                        assert!(!std::mem::replace(&mut seen[bank.index()], true));
                        assert_eq!(matches!(bank, Bank::Mes(_)), me == 3);
                    }
                }
            }
        }
        assert_eq!(seen.iter().filter(|seen| **seen).count(), 8 + 2);
        assert_eq!(Pipe::Kernel.scheduler(), 0xe8);
    }
}
