// SPDX-License-Identifier: GPL-2.0

//! Lets the micro engines run their firmware, which is in place already: MEC, which executes user
//! queues, and both pipes of MES, which schedule them.
//!
//! Linux sets the addresses at which the pipes of MES start, too. They come from the firmware's
//! file, which isn't here, so they stay as they are.
//!
//! Sources: `gfx_v12_0_cp_compute_enable`, `mes_v12_0_enable`.

use super::log::EventLog;
use crate::{
    hw::regs::{
        gc_12_0_0::{
            self as gc,
            CP_MEC_RS64_CNTL as Mec,
            CP_MES_CNTL as Mes, //
        },
        Bits, //
    },
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

/// For each pipe of MES: what resets it, and what runs with it. Pipe 1 never runs alone.
const PIPES: [(Bits, u32); 2] = [
    (Mes::MES_PIPE0_RESET, Mes::MES_PIPE0_ACTIVE.mask()),
    (
        Mes::MES_PIPE1_RESET,
        Mes::MES_PIPE0_ACTIVE.mask() | Mes::MES_PIPE1_ACTIVE.mask(),
    ),
];

/// The firmware runs; dropped, MES is halted.
pub(super) struct Running(Arc<Parts>);

impl Running {
    /// Starts the firmware anew, whatever it did before.
    pub(super) fn start(parts: &Arc<Parts>, log: Option<&EventLog>) -> Self {
        let regs = parts.gfx.regs();
        let clear = [
            Mec::MEC_INVALIDATE_ICACHE,
            Mec::MEC_PIPE0_RESET,
            Mec::MEC_PIPE1_RESET,
            Mec::MEC_PIPE2_RESET,
            Mec::MEC_PIPE3_RESET,
            Mec::MEC_HALT,
        ];
        let set = [
            Mec::MEC_PIPE0_ACTIVE,
            Mec::MEC_PIPE1_ACTIVE,
            Mec::MEC_PIPE2_ACTIVE,
            Mec::MEC_PIPE3_ACTIVE,
        ];
        regs.update_at(0, gc::CP_MEC_RS64_CNTL, |old| {
            let old = clear.iter().fold(old, |value, bit| bit.set(value, 0));
            set.iter().fold(old, |value, bit| bit.set(value, 1))
        });
        for ((reset, active), pipe) in PIPES.into_iter().zip(0..) {
            let slot = HqdSlot {
                me: 3,
                pipe,
                queue: 0,
            };
            parts.gfx.select(0, slot, |regs| {
                if let Some(scratch) = log.map(|log| log.scratch_addr(pipe).get()) {
                    regs.write(gc::CP_MES_MSCRATCH_LO, scratch as u32);
                    regs.write(gc::CP_MES_MSCRATCH_HI, (scratch >> 32) as u32);
                }
                regs.update_at(0, gc::CP_MES_CNTL, |old| reset.set(old, 1));
                regs.write(gc::CP_MES_CNTL, active);
            });
        }
        fsleep(START);
        Self(parts.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.gfx.regs().update_at(0, gc::CP_MES_CNTL, |old| {
            let old = [Mes::MES_PIPE0_ACTIVE, Mes::MES_PIPE1_ACTIVE]
                .iter()
                .fold(old, |value, bit| bit.set(value, 0));
            [
                Mes::MES_INVALIDATE_ICACHE,
                Mes::MES_PIPE0_RESET,
                Mes::MES_PIPE1_RESET,
                Mes::MES_HALT,
            ]
            .iter()
            .fold(old, |value, bit| bit.set(value, 1))
        });
    }
}
