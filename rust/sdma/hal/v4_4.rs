// SPDX-License-Identifier: GPL-2.0

//! SDMA 4.4.2, of gfx942 (`sdma_v4_4_2_inst_start`). Each engine is an instance of the block.

use crate::{
    hw::regs::{
        sdma_4_4_2::{
            self as sdma,
            SDMA_CNTL as Cntl,
            SDMA_F32_CNTL as F32,
            SDMA_GB_ADDR_CONFIG as Addresses,
            SDMA_PHASE0_QUANTUM as Quantum, //
        },
        Reg, //
    },
    regs::Regs, //
};
use kernel::{
    device::Device,
    prelude::*, //
};

/// `amdgpu_sdma_phase_quantum`, in units of 1024 clocks.
const PHASE_QUANTUM: u32 = Quantum::VALUE.set(0, 32);
/// What is stored.
const STORES: [(Reg, u32); 4] = [
    (sdma::SDMA_PHASE0_QUANTUM, PHASE_QUANTUM),
    (sdma::SDMA_PHASE1_QUANTUM, PHASE_QUANTUM),
    (sdma::SDMA_PHASE2_QUANTUM, PHASE_QUANTUM),
    // Longer than at start-up, against a storm of interrupts.
    (sdma::SDMA_UTCL1_TIMEOUT, 0x0080_0080),
];

/// The copy engines.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn prepare(&self, dev: &Device, regs: &Regs, engine: u32) -> Result {
        let instance = instance(engine);
        let cntl = regs.read_at(instance, sdma::SDMA_F32_CNTL);
        if F32::HALT.get(cntl) == 1 {
            dev_err!(
                dev,
                "the GPU is cold: SDMA engine {} is halted (SDMA_F32_CNTL is {:#x}); load its firmware with another driver first\n",
                engine,
                cntl
            );
            return Err(ENODEV);
        }
        for (reg, value) in STORES {
            regs.write_at(instance, reg, value);
        }
        regs.write_at(instance, sdma::SDMA_SEM_WAIT_FAIL_TIMER_CNTL, 0);
        for reg in [sdma::SDMA_GB_ADDR_CONFIG, sdma::SDMA_GB_ADDR_CONFIG_READ] {
            regs.update_at(instance, reg, |old| {
                Addresses::PIPE_INTERLEAVE_SIZE.set(Addresses::NUM_BANKS.set(old, 4), 0)
            });
        }
        regs.update_at(instance, sdma::SDMA_CNTL, |old| {
            Cntl::UTC_L1_ENABLE.set(old, 1)
        });
        Ok(())
    }

    fn enable(&self, regs: &Regs, engine: u32, on: bool) {
        regs.update_at(instance(engine), sdma::SDMA_CNTL, |old| {
            let old = Cntl::AUTO_CTXSW_ENABLE.set(old, on.into());
            Cntl::TRAP_ENABLE.set(old, on.into())
        });
    }
}

/// The block's instance that is an engine.
fn instance(engine: u32) -> u8 {
    // CAST: Engines are few.
    engine as u8
}
