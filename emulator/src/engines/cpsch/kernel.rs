// SPDX-License-Identifier: MIT OR Apache-2.0

//! Compute queues of the kernel's own driver: beside the KIQ's packets they take those that processes
//! write, for indirect buffers, fences and caches.
//!
//! Source: Linux, `amdgpu/gfx_v9_4_3.c` (`gfx_v9_4_3_ring_funcs_compute`).

use super::firmware::Firmware;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::Hqd;
use crate::engines::cp::packet::pm4;
use crate::engines::cp::run::commands::Progress;
use rkfd_hw::pm4::commands::{op, SHADER_TYPE};

/// What the KIQ does not take.
const COMMANDS: [u8; 7] = [
    op::ACQUIRE_MEM,
    op::COPY_DATA,
    op::DISPATCH_DIRECT,
    op::EVENT_WRITE,
    op::INDIRECT_BUFFER,
    op::RELEASE_MEM,
    op::SET_SH_REG,
];

impl Firmware {
    /// Completes what a kernel's compute queue has begun, and executes the packet that comes next if it
    /// is in an indirect buffer or one of processes' packets: how far that got. `None`: another packet
    /// is next, or none.
    pub(super) fn step_kernel(&mut self, slot: Slot) -> Option<Progress> {
        let place = self.mec.hqds.get_mut(slot.place())?;
        let mut h = place.take()?;
        let completed = !h.broken && self.mec.complete_commands(&mut h);
        let mut progress = None;
        if !h.broken && h.stop.is_none() && self.is_command(&h) {
            let idle = !h.launched.has_waves();
            let done = self.mec.step_command(&mut h, idle);
            progress = Some(done.unwrap_or_else(|error| {
                self.mec.stop_for(&mut h, &error);
                Progress::Waits
            }));
        }
        *self.mec.hqds.get_mut(slot.place())? = Some(h);
        match progress {
            Some(Progress::Waits) if completed => Some(Progress::On),
            other => other,
        }
    }

    /// Whether the packet that comes next is in a buffer, or one of processes' packets.
    fn is_command(&self, h: &Hqd) -> bool {
        if h.buffer.is_some_and(|buffer| buffer.done < buffer.words) {
            return true;
        }
        if h.q.rptr >= h.q.wptr {
            return false;
        }
        let header = self.mec.space_of(h).load_u32(h.q.at(h.q.rptr));
        header.is_ok_and(|header| {
            let size = pm4::size(header & !SHADER_TYPE);
            size.is_ok_and(|(opcode, _)| COMMANDS.contains(&opcode))
        })
    }
}
