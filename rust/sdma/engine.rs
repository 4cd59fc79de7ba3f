// SPDX-License-Identifier: GPL-2.0

//! The engines themselves: what is set before any queue is on them (`sdma_v4_4_2_inst_start`,
//! `sdma_v7_0_gfx_resume_instance`). Their firmware runs already.

use crate::{
    gpu::Hw,
    hw::regs::{
        gc_12_0_0::{
            self as gc12, SDMA0_CNTL as Cntl12, SDMA0_MCU_CNTL as Mcu, SDMA0_UTCL1_CNTL as Utcl1,
        },
        sdma_4_4_2::{
            self as v4, SDMA_CNTL as Cntl, SDMA_F32_CNTL as F32, SDMA_GB_ADDR_CONFIG as Addresses,
            SDMA_PHASE0_QUANTUM as Quantum,
        },
        Bits, Reg,
    },
};
use kernel::{prelude::*, sync::Arc};

/// What differs between chips.
pub(super) struct Registers {
    /// Words from one engine's registers to the next's; `None` where each is an instance of the
    /// block.
    stride: Option<u32>,
    /// The engine doesn't run. The register has a stride of its own; the driver clears it where it
    /// is not the loader of the firmware that does.
    halt: (Reg, Option<u32>, Bits),
    starts: bool,
    /// Stored, and fields set.
    stores: &'static [(Reg, u32)],
    fields: &'static [(Reg, Bits, u32)],
    /// On as long as the driver has the engine.
    on: &'static [(Reg, Bits)],
}

/// A register of an engine, and the block's instance it is in.
fn of(reg: Reg, stride: Option<u32>, engine: u32) -> (u8, Reg) {
    match stride {
        Some(stride) => (0, reg.at(engine, stride)),
        // CAST: Engines are few.
        None => (engine as u8, reg),
    }
}

/// `amdgpu_sdma_phase_quantum`, in units of 1024 clocks.
const PHASE_QUANTUM: u32 = Quantum::VALUE.set(0, 32);

pub(super) static V4_4: Registers = Registers {
    stride: None,
    halt: (v4::SDMA_F32_CNTL, None, F32::HALT),
    starts: false,
    stores: &[
        (v4::SDMA_PHASE0_QUANTUM, PHASE_QUANTUM),
        (v4::SDMA_PHASE1_QUANTUM, PHASE_QUANTUM),
        (v4::SDMA_PHASE2_QUANTUM, PHASE_QUANTUM),
        // Longer than at start-up, against a storm of interrupts.
        (v4::SDMA_UTCL1_TIMEOUT, 0x0080_0080),
        (v4::SDMA_SEM_WAIT_FAIL_TIMER_CNTL, 0),
    ],
    fields: &[
        (v4::SDMA_GB_ADDR_CONFIG, Addresses::NUM_BANKS, 4),
        (v4::SDMA_GB_ADDR_CONFIG, Addresses::PIPE_INTERLEAVE_SIZE, 0),
        (v4::SDMA_GB_ADDR_CONFIG_READ, Addresses::NUM_BANKS, 4),
        (
            v4::SDMA_GB_ADDR_CONFIG_READ,
            Addresses::PIPE_INTERLEAVE_SIZE,
            0,
        ),
        (v4::SDMA_CNTL, Cntl::UTC_L1_ENABLE, 1),
    ],
    on: &[
        (v4::SDMA_CNTL, Cntl::AUTO_CTXSW_ENABLE),
        (v4::SDMA_CNTL, Cntl::TRAP_ENABLE),
    ],
};

pub(super) static V7_0: Registers = Registers {
    // `SDMA1_REG_OFFSET`.
    stride: Some(0x600),
    // `SDMA1_HYP_DEC_REG_OFFSET`.
    halt: (gc12::SDMA0_MCU_CNTL, Some(0x20), Mcu::HALT),
    starts: true,
    stores: &[],
    fields: &[
        // Addresses that aren't copied are answered, too.
        (gc12::SDMA0_UTCL1_CNTL, Utcl1::RESP_MODE, 3),
        (gc12::SDMA0_UTCL1_CNTL, Utcl1::REDO_DELAY, 9),
    ],
    on: &[(gc12::SDMA0_CNTL, Cntl12::TRAP_ENABLE)],
};

impl Registers {
    fn update(&self, hw: &Hw, engine: u32, reg: Reg, change: impl FnOnce(u32) -> u32) {
        let (instance, reg) = of(reg, self.stride, engine);
        hw.regs.update_at(instance, reg, change);
    }

    /// Sees that an engine runs.
    fn run(&self, hw: &Hw, engine: u32) -> Result {
        let (reg, stride, halt) = self.halt;
        let (instance, reg) = of(reg, stride, engine);
        let value = hw.regs.read_at(instance, reg);
        if self.starts {
            hw.regs.write_at(instance, reg, halt.set(value, 0));
        } else if halt.get(value) == 1 {
            dev_err!(
                hw.device(),
                "the GPU is cold: SDMA engine {} is halted ({} is {:#x}); load its firmware with another driver first\n",
                engine,
                reg.name,
                value
            );
            return Err(ENODEV);
        }
        Ok(())
    }

    fn enable(&self, hw: &Hw, engine: u32, on: bool) {
        for &(reg, field) in self.on {
            self.update(hw, engine, reg, |old| field.set(old, on.into()));
        }
    }
}

/// The engines take queues; dropped, they don't.
pub(crate) struct Enabled(Arc<Hw>);

impl Enabled {
    /// Sets the engines up.
    ///
    /// # Errors
    ///
    /// ENODEV when one doesn't run.
    pub(crate) fn new(hw: &Arc<Hw>) -> Result<Self> {
        let (family, engines) = (hw.chip.family, hw.chip.sdma_counts.engines());
        let regs = family.sdma.registers;
        let enabled = Self(hw.clone());
        for engine in 0..engines {
            regs.run(hw, engine)?;
            for &(reg, value) in regs.stores {
                regs.update(hw, engine, reg, |_| value);
            }
            for &(reg, field, value) in regs.fields {
                regs.update(hw, engine, reg, |old| field.set(old, value));
            }
            regs.enable(hw, engine, true);
        }
        for &(reg, value) in family
            .nbio
            .sdma_routes
            .iter()
            .take(engines as usize)
            .copied()
            .flatten()
        {
            hw.regs.write(reg, value);
        }
        Ok(enabled)
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        let chip = &self.0.chip;
        for engine in 0..chip.sdma_counts.engines() {
            chip.family.sdma.registers.enable(&self.0, engine, false);
        }
    }
}
