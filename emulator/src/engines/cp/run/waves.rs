// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the waves of a dispatch report besides their results: messages, errors, entries into the trap
//! handler; and the interrupts of a queue.
//!
//! Sources: Linux, `amdkfd/kfd_int_process_v9.c`, `_v11.c` (layout of the interrupts' data).

use crate::device::interrupt::Interrupt;
use crate::engines::cp::launch::dispatch::Go;
use crate::engines::cp::launch::split::SplitDispatch;
use crate::engines::cp::launch::window::{Failure, Notice};
use crate::engines::cp::mec::{Hqd, Mec};
use crate::memory::Hub;
use crate::trace::Value;
use rkfd_hw::ih::{client, source};
use rkfd_hw::regs::gc_9_4_3::CPC_INT_CNTL as INT;
use rkfd_hw::regs::Value as Contents;
use rkfd_isa::FaultKind;

/// How a dispatch stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All its workgroups have ended.
    Done,
    /// It is not there, or paused: then it goes on when it is connected again.
    NotYet,
    /// It failed, and its queue stopped.
    Failed,
}

impl Mec {
    /// Passes on what a dispatch's shaders report, all of it before its end is told.
    pub(crate) fn end_of(&mut self, h: &mut Hqd, d: &SplitDispatch) -> End {
        // Asked before, since a worker may report something until it leaves.
        let idle = d.is_idle();
        self.pass_on(h, d);
        if d.failure().is_some() {
            // What the other XCCs have of it ends, too.
            d.set(Go::Kill);
        }
        if !idle {
            return End::NotYet;
        }
        if let Some((xcc, failure)) = d.failure() {
            self.wave_failed(h, xcc, &failure);
            return End::Failed;
        }
        match d.is_finished() {
            true => End::Done,
            false => End::NotYet,
        }
    }

    /// Stops a queue for what a wave did.
    pub(crate) fn wave_failed(&mut self, h: &mut Hqd, xcc: u8, failure: &Failure) {
        h.broken = true;
        let text = failure.fault.to_string();
        let name = h.slot.to_string();
        self.env.trace().event(
            "wave_fault",
            &[("queue", Value::Text(&name)), ("fault", Value::Text(&text))],
        );
        // A program's mistake, in a text without numbers that change. What the checks find is about two
        // instructions, which it names.
        let report = self.env.report();
        match failure.fault.other {
            Some(_) => report.fault(format_args!("shader: {text}")),
            None => report.fault(format_args!("shader: {}", failure.fault.kind)),
        }
        if let (FaultKind::Memory(_), Some(vm)) = (&failure.fault.kind, &failure.vm) {
            self.env.vm_fault(vm);
            return;
        }
        let data = (self.generation.wave_error)(&failure.fault.kind, failure.fault.wave);
        self.interrupt_on(h, xcc, client::SE0SH, source::SQ_MESSAGE, data);
    }

    /// Passes on what the shaders of a queue report that itself stands still or goes.
    pub(crate) fn pass_all_on(&mut self, h: &Hqd) {
        for dispatch in h.launched.dispatches() {
            self.pass_on(h, dispatch);
        }
    }

    /// Passes on what shaders report: their messages (s_sendmsg), of which 1 is an interrupt with M0's
    /// low 24 bits, and why they entered their trap handler.
    pub(crate) fn pass_on(&mut self, h: &Hqd, d: &SplitDispatch) {
        let all = d.0.iter();
        for (xcc, notice) in all.flat_map(|d| {
            let notices = d.take_notices().into_iter();
            notices.map(|notice| (d.xcc(), notice))
        }) {
            match notice {
                Notice::Message(1, m0, privileged) => {
                    let data = (self.generation.message)(m0, privileged);
                    self.interrupt_on(h, xcc, client::SE0SH, source::SQ_MESSAGE, data);
                }
                Notice::Message(message, ..) => {
                    self.env
                        .report()
                        .fault(format_args!("shader: s_sendmsg {message} is not modelled"));
                }
                Notice::Trap(failure) => self.wave_trapped(h, xcc, &failure),
            }
        }
    }

    /// A wave has entered its trap handler. The driver gets an interrupt for an exception nevertheless, and
    /// another one of the hub for an address that does not translate; a trap concerns only the program and its
    /// handler.
    fn wave_trapped(&mut self, h: &Hqd, xcc: u8, failure: &Failure) {
        let fault = &failure.fault;
        let text = match fault.kind {
            FaultKind::Trap(id) => format!("trap {id} at pc {:#x}", fault.pc),
            _ => fault.to_string(),
        };
        let name = h.slot.to_string();
        self.env.trace().event(
            "wave_trap",
            &[("queue", Value::Text(&name)), ("cause", Value::Text(&text))],
        );
        if matches!(
            fault.kind,
            FaultKind::Trap(_) | FaultKind::Watched { .. } | FaultKind::Stepped
        ) {
            return;
        }
        self.env
            .report()
            .fault(format_args!("shader: {}", fault.kind));
        if let Some(vm) = &failure.vm {
            self.env.vm_fault(vm);
        }
        let data = (self.generation.wave_error)(&fault.kind, fault.wave);
        self.interrupt_on(h, xcc, client::SE0SH, source::SQ_MESSAGE, data);
    }

    /// Raises an interrupt of a queue, if its pipe enables it, where its packets are taken.
    pub(crate) fn interrupt(&self, h: &Hqd, client: u8, source: u8, data: [u32; 4]) {
        self.interrupt_on(h, h.slot.xcc(), client, source, data);
    }

    fn interrupt_on(&self, h: &Hqd, xcc: u8, client: u8, source: u8, data: [u32; 4]) {
        let enables = Contents::<INT>::new(self.regs.int_cntl(h.slot.on(xcc)));
        let hub = Hub::Gfx(xcc);
        let enabled = match (client, source) {
            (client::GRBM_CP, source::CP_EOP) => enables.get(INT::TIME_STAMP_INT_ENABLE) == 1,
            (client::GRBM_CP, source::CP_BAD_OPCODE) => {
                enables.get(INT::OPCODE_ERROR_INT_ENABLE) == 1
            }
            _ => true,
        };
        if !enabled {
            let name = h.slot.to_string();
            let members = [
                ("queue", Value::Text(&name)),
                ("source", Value::Num(source.into())),
            ];
            self.env.trace().event("interrupt_masked", &members);
            return;
        }
        self.env.interrupt(&Interrupt {
            client,
            source,
            ring_id: h.slot.ring_id(),
            vmid: h.owner.vmid,
            hub,
            data,
        });
    }
}
