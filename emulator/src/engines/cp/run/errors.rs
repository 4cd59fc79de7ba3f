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
//! the process's trap handler, which is a program like others. A VM fault reaches a process by KFD's
//! memory event, and its wave's handler hears of it as well. Without a handler the wave's queue stops, and nothing is reported.
//!
//! By the same signal the processor asks for scratch memory where a dispatch needs more than the
//! queue has, and waits with it until the value is 0 again. Not modelled: that it gives back what
//! was for one dispatch only (`AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE`), and alternate scratch.

use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::amd_queue::INACTIVE_SIGNAL;
use crate::engines::cp::packet::amd_queue::{READ_INDEX, READ_INDEX_OFFSET};
use crate::engines::cp::packet::error::code;
use crate::engines::cp::packet::error::PacketError;
use crate::memory::VmFault;
use crate::trace::Value;
use rkfd_hw::aql::Signal;
use rkfd_hw::ih::{client, source};

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
}
