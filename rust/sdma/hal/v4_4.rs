// SPDX-License-Identifier: GPL-2.0

//! SDMA 4.4.2, of gfx942 (`sdma_v4_4_2_inst_start`). Each engine is an instance of the block.

use crate::{
    glue::linux::EOPNOTSUPP,
    hw::{
        regs::{
            sdma_4_4_2::{
                self as sdma,
                SDMA_CLK_CTRL as Clocks,
                SDMA_CNTL as Cntl,
                SDMA_F32_CNTL as F32,
                SDMA_GB_ADDR_CONFIG as Addresses,
                SDMA_GB_ADDR_CONFIG_READ as ReadAddresses,
                SDMA_PHASE0_QUANTUM as Quantum,
                SDMA_RLC0_CONTEXT_STATUS as ContextStatus,
                SDMA_RLC0_DOORBELL_OFFSET as Offset,
                SDMA_RLC0_RB_CNTL as RingControl, //
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
        DoorbellWord,
        GpuVa,
        SdmaPlace, //
    }, //
};
use kernel::{
    device::Device,
    prelude::*,
    str::CStr,
    time::Delta, //
};

mod queue;

/// `amdgpu_sdma_phase_quantum`, in units of 1024 clocks.
const PHASE_QUANTUM: u32 = Value::<Quantum>::zeroed()
    .having(Quantum::VALUE.is::<32>())
    .bits();
/// What is stored.
const STORES: [(AnyReg, u32); 5] = [
    (sdma::SDMA_PHASE0_QUANTUM.any(), PHASE_QUANTUM),
    (sdma::SDMA_PHASE1_QUANTUM.any(), PHASE_QUANTUM),
    (sdma::SDMA_PHASE2_QUANTUM.any(), PHASE_QUANTUM),
    // Longer than at start-up, against a storm of interrupts.
    (sdma::SDMA_UTCL1_TIMEOUT.any(), 0x0080_0080),
    (sdma::SDMA_SEM_WAIT_FAIL_TIMER_CNTL.any(), 0),
];

/// `kgd_gfx_v9_4_3_hqd_sdma_dump`.
const SHOWN: [(AnyReg, u32); 4] = [
    (sdma::SDMA_RLC0_RB_CNTL.any(), 19),
    (sdma::SDMA_RLC0_STATUS.any(), 6),
    (sdma::SDMA_RLC0_IB_SUB_REMAIN.any(), 7),
    (sdma::SDMA_RLC0_MIDCMD_DATA0.any(), 12),
];

/// Queues of processes that an engine has, and words from one's registers to the next's
/// (`get_sdma_rlc_reg_offset`).
const QUEUES: u32 = 8;
const QUEUE_STRIDE: u32 = 0x58;
/// The compute firmware from which on the counters of copy queues are kept while a queue is off its engine.
const KEEPS_COUNTS: u32 = 194;
/// TIMEOUT: `KFD_UNMAP_LATENCY_MS`.
const TIMEOUT: Delta = Delta::from_millis(4000);
/// TIMEOUT: `AMDGPU_MAX_USEC_TIMEOUT`.
const RUNS: Delta = Delta::from_millis(100);

/// The copy engines.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&sdma::TABLE]
    }

    /// `sdma_v4_4_2_init_microcode`.
    fn file(&self) -> Option<&'static CStr> {
        Some(c"amdgpu/sdma_4_4_2.bin")
    }

    /// `kgd_gfx_v9_4_3_hqd_sdma_get_counter`. Firmware whose version nobody told counts as new.
    fn counts(&self, mec: u32) -> Counts {
        match mec {
            1..KEEPS_COUNTS => Counts::Nowhere,
            _ => Counts::Registers,
        }
    }

    /// As there, but for the search for the queue by its ring, which others may have at the same address.
    fn count(&self, regs: &Regs, place: SdmaPlace) -> Option<u64> {
        let instance = instance(place.engine);
        let control = sdma::SDMA_RLC0_RB_CNTL.at(place.queue, QUEUE_STRIDE);
        let control = regs.read_at(instance, control);
        // A device that is gone reads as all ones.
        if !control.is_set(RingControl::RB_ENABLE) || control.bits() == u32::MAX {
            return None;
        }
        let high = sdma::SDMA_RLC0_UTILIZATION_HI.at(place.queue, QUEUE_STRIDE);
        let low = sdma::SDMA_RLC0_UTILIZATION_LO.at(place.queue, QUEUE_STRIDE);
        let high = u64::from(regs.read_at(instance, high).bits());
        Some(high << 32 | u64::from(regs.read_at(instance, low).bits()))
    }

    fn prepare(&self, dev: &Device, regs: &Regs, engine: u32) -> Result {
        let instance = instance(engine);
        let cntl = regs.read_at(instance, sdma::SDMA_F32_CNTL);
        if cntl.is_set(F32::HALT) {
            dev_err!(
                dev,
                "the GPU is cold: SDMA engine {} is halted (SDMA_F32_CNTL is {:#x}); load its firmware with another driver first\n",
                engine,
                cntl.bits()
            );
            return Err(ENODEV);
        }
        for (reg, value) in STORES {
            regs.write_at(instance, reg, value);
        }
        regs.update_at(instance, sdma::SDMA_GB_ADDR_CONFIG, |old| {
            old.having(Addresses::NUM_BANKS.is::<4>())
                .having(Addresses::PIPE_INTERLEAVE_SIZE.is::<0>())
        });
        regs.update_at(instance, sdma::SDMA_GB_ADDR_CONFIG_READ, |old| {
            old.having(ReadAddresses::NUM_BANKS.is::<4>())
                .having(ReadAddresses::PIPE_INTERLEAVE_SIZE.is::<0>())
        });
        regs.update_at(instance, sdma::SDMA_CNTL, |old| {
            old.with(Cntl::UTC_L1_ENABLE, true)
        });
        Ok(())
    }

    /// `sdma_v4_4_2_soft_reset_engine`: the management unit resets the engine. With firmware that can't, queues
    /// are taken off one by one.
    fn reset(&self, regs: &Regs, smu: &Smu, engine: u32) -> Result {
        match smu.reset_copy_engine(engine) {
            Err(EOPNOTSUPP) => take_off(regs, instance(engine)),
            Err(error) => Err(error),
            // `sdma_v4_4_2_restore_queue`.
            Ok(()) => regs
                .wait_at(instance(engine), sdma::SDMA_F32_CNTL, RUNS, |value| {
                    !value.is_set(F32::HALT)
                })
                .map(|_| ()),
        }
    }

    /// `kgd_gfx_v9_4_3_hqd_sdma_get_doorbell` of each queue.
    fn selected(&self, regs: &Regs, engine: u32) -> Result<Option<DoorbellWord>> {
        let instance = instance(engine);
        for queue in 0..QUEUES {
            let status = sdma::SDMA_RLC0_CONTEXT_STATUS.at(queue, QUEUE_STRIDE);
            if regs
                .read_at(instance, status)
                .is_set(ContextStatus::SELECTED)
            {
                let offset = sdma::SDMA_RLC0_DOORBELL_OFFSET.at(queue, QUEUE_STRIDE);
                let offset = regs.read_at(instance, offset);
                return DoorbellWord::new(offset.get(Offset::OFFSET)).map(Some);
            }
        }
        Ok(None)
    }

    fn shown(&self) -> &'static [(AnyReg, u32)] {
        &SHOWN
    }

    fn word(&self, regs: &Regs, reg: AnyReg, place: SdmaPlace) -> Option<u32> {
        let reg = reg.at(place.queue, QUEUE_STRIDE);
        regs.word(reg, instance(place.engine))
    }

    /// Its clocks are gated meanwhile (`sdma_v4_4_2_inst_update_medium_grain_clock_gating`).
    fn enable(&self, regs: &Regs, engine: u32, on: bool) {
        regs.update_at(instance(engine), sdma::SDMA_CLK_CTRL, |old| {
            old.with(Clocks::SOFT_OVERRIDE5, !on)
                .with(Clocks::SOFT_OVERRIDE4, !on)
                .with(Clocks::SOFT_OVERRIDE3, !on)
                .with(Clocks::SOFT_OVERRIDE2, !on)
                .with(Clocks::SOFT_OVERRIDE1, !on)
                .with(Clocks::SOFT_OVERRIDE0, !on)
        });
        regs.update_at(instance(engine), sdma::SDMA_CNTL, |old| {
            old.with(Cntl::AUTO_CTXSW_ENABLE, on)
                .with(Cntl::TRAP_ENABLE, on)
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

/// The block's instance that is an engine.
fn instance(engine: u32) -> u8 {
    // CAST: Engines are few.
    engine as u8
}

/// `kgd_gfx_v9_4_3_hqd_sdma_destroy` of each queue.
fn take_off(regs: &Regs, instance: u8) -> Result {
    for queue in 0..QUEUES {
        regs.update_at(
            instance,
            sdma::SDMA_RLC0_RB_CNTL.at(queue, QUEUE_STRIDE),
            |old| old.with(RingControl::RB_ENABLE, false),
        );
        let status = sdma::SDMA_RLC0_CONTEXT_STATUS.at(queue, QUEUE_STRIDE);
        regs.wait_at(instance, status, TIMEOUT, |value| {
            value.is_set(ContextStatus::IDLE)
        })?;
        let doorbell = sdma::SDMA_RLC0_DOORBELL.at(queue, QUEUE_STRIDE);
        regs.write_at(instance, doorbell, Value::zeroed());
    }
    Ok(())
}
