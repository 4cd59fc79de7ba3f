// SPDX-License-Identifier: GPL-2.0

//! Lets the micro engines run their firmware, which is in place already: MEC, which executes user
//! queues, and both pipes of MES, which schedule them.
//!
//! The addresses at which the pipes of MES start come from the firmware's file. Where another driver has
//! loaded it they stay as they are.
//!
//! Sources: `gfx_v12_0_cp_compute_enable`, `mes_v12_0_enable`; `gfx_v12_0_hw_fini` halts both.

use super::log::EventLog;
use crate::{
    hw::{
        layout::Field,
        regs::{
            gc_12_0_0::{
                self as gc,
                CP_MEC_RS64_CNTL as Mec,
                CP_MES_CNTL as Mes, //
            },
            Value, //
        }, //
    },
    regs::Regs,
    sched::Parts,
    types::HqdSlot, //
};
use kernel::{
    sync::Arc,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// TIMEOUT: until firmware that was let go takes commands; with one firmware on both pipes.
const START: Delta = Delta::from_micros(500);
/// TIMEOUT: until pipes of MEC have followed CP_MEC_RS64_CNTL (`gfx_v12_0_cp_compute_enable`).
const SETTLE: Delta = Delta::from_micros(50);

/// The pipes of MES: what resets each, and what runs with it. Pipe 1 never runs alone.
const PIPES: [(HqdSlot, Field<Mes, 1>, Value<Mes>); 2] = {
    let first = Value::zeroed().having(Mes::MES_PIPE0_ACTIVE.is::<1>());
    [
        (HqdSlot::fixed::<3, 0, 0>(), Mes::MES_PIPE0_RESET, first),
        (
            HqdSlot::fixed::<3, 1, 0>(),
            Mes::MES_PIPE1_RESET,
            first.having(Mes::MES_PIPE1_ACTIVE.is::<1>()),
        ),
    ]
};

/// The firmware runs; dropped, MES and MEC are halted.
pub(super) struct Running(Arc<Parts>);

impl Running {
    /// Starts the firmware anew, whatever it did before.
    pub(super) fn start(parts: &Arc<Parts>, log: Option<&EventLog>) -> Self {
        let (regs, starts) = (parts.gfx.regs(), parts.gfx.starts());
        run_mec(regs, true);
        for (slot, reset, active) in PIPES {
            parts.gfx.select(0, slot, |regs| {
                if let Some(scratch) = log.map(|log| log.scratch_addr(slot.pipe()).get()) {
                    regs.write(gc::CP_MES_MSCRATCH_LO, Value::new(scratch as u32));
                    regs.write(gc::CP_MES_MSCRATCH_HI, Value::new((scratch >> 32) as u32));
                }
                regs.update(gc::CP_MES_CNTL, |old| old.with(reset, true));
                if let Some([low, high]) = starts.map(|starts| starts.mes) {
                    regs.write(gc::CP_MES_PRGRM_CNTR_START, Value::new(low));
                    regs.write(gc::CP_MES_PRGRM_CNTR_START_HI, Value::new(high));
                }
                regs.write(gc::CP_MES_CNTL, active);
            });
        }
        fsleep(START);
        Self(parts.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let regs = self.0.gfx.regs();
        regs.update(gc::CP_MES_CNTL, |old| {
            old.with(Mes::MES_PIPE0_ACTIVE, false)
                .with(Mes::MES_PIPE1_ACTIVE, false)
                .with(Mes::MES_INVALIDATE_ICACHE, true)
                .with(Mes::MES_PIPE0_RESET, true)
                .with(Mes::MES_PIPE1_RESET, true)
                .with(Mes::MES_HALT, true)
        });
        run_mec(regs, false);
    }
}

/// `gfx_v12_0_cp_compute_enable`.
fn run_mec(regs: &Regs, on: bool) {
    regs.update(gc::CP_MEC_RS64_CNTL, |old| {
        old.with(Mec::MEC_INVALIDATE_ICACHE, !on)
            .with(Mec::MEC_PIPE0_RESET, !on)
            .with(Mec::MEC_PIPE1_RESET, !on)
            .with(Mec::MEC_PIPE2_RESET, !on)
            .with(Mec::MEC_PIPE3_RESET, !on)
            .with(Mec::MEC_HALT, !on)
            .with(Mec::MEC_PIPE0_ACTIVE, on)
            .with(Mec::MEC_PIPE1_ACTIVE, on)
            .with(Mec::MEC_PIPE2_ACTIVE, on)
            .with(Mec::MEC_PIPE3_ACTIVE, on)
    });
    // Its pipes have stopped, or run, by then.
    fsleep(SETTLE);
}
