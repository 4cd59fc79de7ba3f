// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of a user queue: it stops, an interrupt reports the error to the driver, other queues go on.
//!
//! Sources: Linux, `amdkfd/kfd_int_process_v9.c`, `_v11.c` (layout of the interrupts' data),
//! `include/uapi/linux/kfd_ioctl.h` (`enum kfd_dbg_trap_exception_code`); ROCr, `amd_aql_queue.cpp`
//! (`DynamicScratchHandler`).
//!
//! The packet processor also leaves a bit for the error in the value of the queue's inactive signal
//! (`amd_queue_t.queue_inactive_signal`). Only for packets: the bits that ROCr knows for waves
//! (0x2000_0000 memory violation, 0x4000_0000 illegal instruction, 0x8000_0000 trap) are written by
//! the process's trap handler, which is a program like others, and a VM fault reaches a process by
//! KFD's memory event alone. Without a handler the wave's queue stops, and nothing is reported.
//!
//! By the same signal the processor asks for scratch memory where a dispatch needs more than the
//! queue has, and waits with it until the value is 0 again. Not modelled: that it gives back what
//! was for one dispatch only (`AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE`), and alternate scratch.

use super::prepare::{READ_INDEX, READ_INDEX_OFFSET};
use crate::device::interrupt::Interrupt;
use crate::engines::cp::launch::dispatch::Failure;
use crate::engines::cp::launch::window::Notice;
use crate::engines::cp::mec::loads::Gang;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::memory::{Hub, VmFault};
use crate::trace::Value;
use rkfd_hw::aql::Signal;
use rkfd_hw::ih::{client, source};
use rkfd_hw::regs::typed::gc_9_4_3::CPC_INT_CNTL as INT;
use rkfd_hw::regs::typed::Value as Contents;
use rkfd_isa::{Fault, FaultKind};

/// Exception codes that CP_BAD_OPCODE carries.
pub(crate) mod code {
    pub const DIM: u32 = 16;
    pub const LDS: u32 = 17;
    pub const CODE: u32 = 18;
    pub const RESERVED: u32 = 19;
    pub const UNSUPPORTED: u32 = 20;
    pub const GROUP_SIZE: u32 = 21;
    pub const REGISTER: u32 = 22;
    pub const VENDOR: u32 = 23;
}

/// Where `amd_queue_t` has the handle of the signal for errors.
const INACTIVE_SIGNAL: u64 = 0xc0;

/// Why a packet is not processed.
#[derive(Clone, Debug)]
pub(crate) enum PacketError {
    /// It is malformed.
    Bad(u32, String),
    /// The packet, or what it points at, can't be reached.
    Memory(VmFault),
    /// Waves of so many lanes need more scratch memory than the queue has.
    Scratch(u32),
}

impl PacketError {
    /// A malformed packet: exception code and what is wrong.
    pub(crate) fn bad(code: u32, what: impl Into<String>) -> Self {
        Self::Bad(code, what.into())
    }
}

impl Mec {
    /// Stops a queue for a packet's error.
    pub(crate) fn stop_for(&mut self, h: &mut Hqd, error: &PacketError) {
        h.broken = true;
        match error {
            PacketError::Scratch(_) => {
                let what = "dispatch: the queue's scratch is too small";
                self.stop_for(h, &PacketError::bad(code::CODE, what));
            }
            PacketError::Bad(code, what) => {
                self.env.report().fault(format_args!("{what}"));
                let name = h.slot.to_string();
                self.env.trace().event(
                    "packet_error",
                    &[("queue", Value::Text(&name)), ("error", Value::Text(what))],
                );
                let bit = 1u64 << (code.saturating_sub(code::DIM) + 1).min(8);
                if let Err(fault) = self.inactivate(h, bit) {
                    self.env.vm_fault(&fault);
                }
                // Bits 25:10 are the exception, 9:0 the doorbell's number in its process's slice.
                let data = (code << 10) | (h.q.doorbell / 2) & 0x3ff;
                self.interrupt(h, client::GRBM_CP, source::CP_BAD_OPCODE, [data, 0, 0, 0]);
            }
            PacketError::Memory(fault) => {
                self.env
                    .report()
                    .fault(format_args!("packet processor: {fault}"));
                self.env.vm_fault(fault);
            }
        }
    }

    /// Asks for scratch memory for waves of so many lanes; false if there is nobody to ask.
    pub(crate) fn ask_for_scratch(&self, h: &Hqd, lanes: u32) -> Result<bool, VmFault> {
        self.inactivate(h, if lanes == 32 { 1 << 10 } else { 1 })
    }

    /// Whether what the queue's inactive signal asked for was done.
    pub(crate) fn is_answered(&self, h: &Hqd) -> Result<bool, VmFault> {
        let Some(signal) = self.inactive_signal(h)? else {
            return Ok(true);
        };
        let value = signal.wrapping_add(Signal::VALUE.word() as u64 * 4);
        Ok(self.space_of(h).load_u64(value)? == 0)
    }

    /// Where the queue's inactive signal is, if there is one.
    fn inactive_signal(&self, h: &Hqd) -> Result<Option<u64>, VmFault> {
        let space = self.space_of(h);
        let queue = h.q.report.wrapping_sub(READ_INDEX);
        let offset = space.load_u32(queue.wrapping_add(READ_INDEX_OFFSET));
        if h.q.report == 0 || offset.map_or(0, u64::from) != READ_INDEX {
            // No amd_queue_t lies around the read pointer.
            return Ok(None);
        }
        let signal = space.load_u64(queue.wrapping_add(INACTIVE_SIGNAL))?;
        Ok((signal != 0).then_some(signal))
    }

    /// Sets a bit of the queue's inactive signal; false if there is none.
    fn inactivate(&self, h: &Hqd, bit: u64) -> Result<bool, VmFault> {
        let Some(signal) = self.inactive_signal(h)? else {
            return Ok(false);
        };
        let space = self.space_of(h);
        let word = |word: usize| signal.wrapping_add(word as u64 * 4);
        let mailbox = space.load_u64(word(Signal::EVENT_MAILBOX_PTR.word()))?;
        let event = space.load_u32(word(Signal::EVENT_ID.word()))?;
        space.update_u64(word(Signal::VALUE.word()), |value| value | bit)?;
        if mailbox != 0 {
            space.store_u64(mailbox, event.into())?;
            self.interrupt(h, client::GRBM_CP, source::CP_EOP, [event, 0, 0, 0]);
        }
        Ok(true)
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
        // A program's mistake, in a text without numbers that change.
        self.env
            .report()
            .fault(format_args!("shader: {}", failure.fault.kind));
        if let (FaultKind::Memory(_), Some(vm)) = (&failure.fault.kind, &failure.vm) {
            self.env.vm_fault(vm);
            return;
        }
        let data = (self.generation.wave_error)(&failure.fault.kind, failure.fault.wave);
        self.interrupt_on(h, xcc, client::SE0SH, source::SQ_MESSAGE, data);
    }

    /// Passes on what shaders report: their messages (s_sendmsg), of which 1 is an interrupt with M0's
    /// low 24 bits, and why they entered their trap handler.
    pub(crate) fn pass_on(&mut self, h: &Hqd, d: &Gang) {
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
                    self.violation(format_args!("shader: s_sendmsg {message} is not modelled"));
                }
                Notice::Trap(fault) => self.wave_trapped(h, xcc, &fault),
            }
        }
    }

    /// A wave has entered its trap handler. The driver gets an interrupt for an exception nevertheless;
    /// a trap concerns only the program and its handler.
    fn wave_trapped(&mut self, h: &Hqd, xcc: u8, fault: &Fault) {
        let text = match fault.kind {
            FaultKind::Trap(id) => format!("trap {id} at pc {:#x}", fault.pc),
            _ => fault.to_string(),
        };
        let name = h.slot.to_string();
        self.env.trace().event(
            "wave_trap",
            &[("queue", Value::Text(&name)), ("cause", Value::Text(&text))],
        );
        if matches!(fault.kind, FaultKind::Trap(_)) {
            return;
        }
        self.env
            .report()
            .fault(format_args!("shader: {}", fault.kind));
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
