// SPDX-License-Identifier: GPL-2.0

//! SDMA 7.0, of gfx1201 (`sdma_v7_0_gfx_resume_instance`). The engines' registers lie one after the
//! other in the graphics core's.

use crate::{
    hw::{
        regs::{
            gc_12_0_0::{
                self as gc,
                GRBM_SOFT_RESET as Reset,
                SDMA0_CNTL as Cntl,
                SDMA0_MCU_CNTL as Mcu,
                SDMA0_UTCL1_CNTL as Utcl1,
                SDMA0_UTCL1_PAGE as Page,
                SDMA0_WATCHDOG_CNTL as Watchdog, //
            },
            AnyReg,
            Value, //
        },
        value::Bounded, //
    },
    regs::{
        Regs,
        Tables, //
    },
    ring::Ring,
    sdma::hal::Counts,
    smu::Smu,
    types::{
        GpuVa,
        SdmaPlace, //
    }, //
};
use kernel::{
    device::Device,
    prelude::*,
    str::CStr,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

mod queue;

/// Words from one engine's registers to the next's (`SDMA1_REG_OFFSET`).
const STRIDE: u32 = 0x600;
/// The same of those that only the driver of the host may reach (`SDMA1_HYP_DEC_REG_OFFSET`).
const HOST_STRIDE: u32 = 0x20;

/// The same from a queue's to the next's (`get_sdma_rlc_reg_offset`).
const QUEUE_STRIDE: u32 = 0x58;
/// From RB_CNTL to CONTEXT_STATUS (`hqd_sdma_dump_v12`).
const SHOWN: [(AnyReg, u32); 1] = [(gc::SDMA0_QUEUE0_RB_CNTL.any(), 49)];

/// After how long a queue counts as hanging, in units of 100 ms: the driver's own limit (`usec_timeout`).
const HANGS_AFTER: u64 = 1;
/// What UTCL1_PAGE keeps besides the cache's policies, of which the former is a read's that doesn't allocate, and the
/// latter a write's around the cache (`sdma_common.h`, `CACHE_READ_POLICY_L2__NOA`, `CACHE_WRITE_POLICY_L2__BYPASS`).
const PAGE_KEEPS: u32 = 0x00ff_0fff;
const READ_WITHOUT_ALLOCATING: u64 = 2;
const WRITE_AROUND: u64 = 3;

/// TIMEOUT: until a reset has taken effect.
const SETTLE: Delta = Delta::from_micros(100);

/// The copy engines.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&gc::TABLE]
    }

    /// `amdgpu_sdma_init_microcode`.
    fn file(&self) -> Option<&'static CStr> {
        Some(c"amdgpu/sdma_7_0_1.bin")
    }

    /// As for all without `hqd_sdma_get_counter`.
    fn counts(&self, _mec: u32) -> Counts {
        Counts::Memory
    }

    fn prepare(&self, _: &Device, regs: &Regs, engine: u32) -> Result {
        regs.update(gc::SDMA0_WATCHDOG_CNTL.at(engine, STRIDE), |old| {
            old.having(Watchdog::QUEUE_HANG_COUNT.is::<HANGS_AFTER>())
        });
        regs.update(gc::SDMA0_UTCL1_CNTL.at(engine, STRIDE), |old| {
            // Addresses that aren't copied are answered, too.
            old.having(Utcl1::RESP_MODE.is::<3>())
                .having(Utcl1::REDO_DELAY.is::<9>())
        });
        regs.update(gc::SDMA0_UTCL1_PAGE.at(engine, STRIDE), |old| {
            Value::<Page>::new(old.bits() & PAGE_KEEPS)
                .having(Page::RD_L2_POLICY.is::<READ_WITHOUT_ALLOCATING>())
                .having(Page::WR_L2_POLICY.is::<WRITE_AROUND>())
        });
        // Its firmware is in place, and runs once `enable` lets it.
        regs.update(gc::SDMA0_MCU_CNTL.at(engine, HOST_STRIDE), |old| {
            old.with(Mcu::RESET, false)
        });
        Ok(())
    }

    /// `sdma_v7_0_soft_reset`.
    fn reset(&self, regs: &Regs, _smu: &Smu, engine: u32) -> Result {
        let bit = match engine {
            0 => Reset::SOFT_RESET_SDMA0,
            1 => Reset::SOFT_RESET_SDMA1,
            _ => return Err(EINVAL),
        };
        let control = gc::SDMA0_MCU_CNTL.at(engine, HOST_STRIDE);
        regs.update(control, |old| {
            old.with(Mcu::HALT, true).with(Mcu::RESET, true)
        });
        fsleep(SETTLE);
        for on in [true, false] {
            regs.update(gc::GRBM_SOFT_RESET, |old| old.with(bit, on));
            // Waits until the store has arrived.
            regs.read(gc::GRBM_SOFT_RESET);
            fsleep(SETTLE);
        }
        regs.update(control, |old| old.with(Mcu::RESET, false));
        Ok(())
    }

    /// `mes_v12_0_reset_queue_mmio`: queues of processes on the engine go on.
    fn reset_own(&self, regs: &Regs, _smu: &Smu, engine: u32) -> Result {
        queue::reset(regs, engine)
    }

    fn shown(&self) -> &'static [(AnyReg, u32)] {
        &SHOWN
    }

    fn word(&self, regs: &Regs, reg: AnyReg, place: SdmaPlace) -> Option<u32> {
        let reg = reg.at(place.engine, STRIDE).at(place.queue, QUEUE_STRIDE);
        regs.word(reg, 0)
    }

    /// An engine that is left stands still, whatever hangs in it (`sdma_v7_0_enable`).
    fn enable(&self, regs: &Regs, engine: u32, on: bool) {
        regs.update(gc::SDMA0_MCU_CNTL.at(engine, HOST_STRIDE), |old| {
            old.with(Mcu::HALT, !on)
        });
        regs.update(gc::SDMA0_CNTL.at(engine, STRIDE), |old| {
            old.with(Cntl::TRAP_ENABLE, on)
        });
    }

    fn start_queue(&self, regs: &Regs, engine: u32, ring: &Ring) {
        queue::start(regs, engine, ring);
    }

    fn stop_queue(&self, regs: &Regs, engine: u32) -> Result {
        queue::stop(regs, engine)
    }

    fn fill(&self, at: GpuVa, bytes_less_one: Bounded<30>) -> [u32; 5] {
        queue::fill(at, bytes_less_one)
    }

    fn fill_words(&self, at: GpuVa, word: u32, to_last: Bounded<30>) -> [u32; 5] {
        queue::fill_words(at, word, to_last)
    }

    fn copy(&self, from: GpuVa, to: GpuVa, bytes_less_one: Bounded<30>) -> [u32; 8] {
        queue::copy(from, to, bytes_less_one)
    }

    fn indirect(&self, at: GpuVa, words: Bounded<20>) -> [u32; 6] {
        queue::indirect(at, words)
    }

    fn fence(&self, at: GpuVa, value: u32) -> [u32; 4] {
        queue::fence(at, value)
    }
}
