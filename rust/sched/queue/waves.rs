// SPDX-License-Identifier: GPL-2.0

//! What the firmware reports about the waves that it saved when it took a queue off the hardware
//! (`get_wave_state` and `get_wave_state_v9_4_3`).
//!
//! It writes two things into the queue's save area, both starting at the same place: the control
//! stack backwards, the waves' state forwards. How far each went stands in the MQD. On gfx9 the
//! control stack is not in the area but behind the MQD, and is copied from there.

use super::{
    HwQueue,
    QueueState, //
};
use crate::sched::Format;
use kernel::prelude::*;

/// What one XCC saved.
pub(crate) struct SavedArea {
    /// Bytes from the first XCC's save area to this one's.
    pub(crate) offset: u64,
    /// `wave_state` of `struct kfd_context_save_area_header`.
    pub(crate) header: [u32; 4],
    /// Where the control stack belongs in the area, and its used part.
    pub(crate) stack_offset: u32,
    pub(crate) stack: KVVec<u8>,
    /// Bytes of the control stack and of waves.
    pub(crate) stack_used: u32,
    pub(crate) waves_used: u32,
}

impl HwQueue {
    /// What each XCC saved, the first one first.
    ///
    /// # Errors
    ///
    /// EINVAL for a queue that is on the hardware, and for one of a copy engine; ENOMEM, ENODEV.
    pub(crate) fn saved_waves(&self) -> Result<KVec<SavedArea>> {
        let inner = self.inner.lock();
        let spec = &inner.spec;
        if spec.format == Format::Sdma {
            return Err(EINVAL);
        }
        match inner.state {
            QueueState::Created | QueueState::Disabled | QueueState::Evicted => {}
            QueueState::Mapped | QueueState::Hung | QueueState::Gone => return Err(EINVAL),
        }
        self.parts.dev.alive()?;
        let mut areas = KVec::new();
        for xcc in 0..u64::from(self.copies) {
            let mqd = self.stride.checked_mul(xcc).ok_or(EINVAL)?;
            let offset = xcc.checked_mul(spec.save.bytes.into()).ok_or(EINVAL)?;
            areas.push(
                self.saved(mqd, offset, spec.save.stack_bytes)?,
                GFP_KERNEL_ACCOUNT,
            )?;
        }
        Ok(areas)
    }

    fn saved(&self, mqd: u64, offset: u64, ctl_stack_size: u32) -> Result<SavedArea> {
        let at = self.parts.mqd.saved();
        let word = |index: usize| {
            let at = (index as u64).checked_mul(4);
            self.mqd
                .read32(at.and_then(|at| at.checked_add(mqd)).ok_or(EINVAL)?)
        };
        let size = word(at.stack_size)?;
        let stack_offset = word(at.stack_offset)?;
        let waves_end = word(at.waves_end)?;
        // The words are the device's: differences may wrap, as upstream's, but what is copied is
        // bounded by the queue's own size.
        let header = [
            stack_offset,
            size.wrapping_sub(stack_offset),
            waves_end,
            waves_end.wrapping_sub(size),
        ];
        let mut area = SavedArea {
            offset,
            header,
            stack_offset,
            stack: KVVec::new(),
            stack_used: size.wrapping_sub(stack_offset),
            waves_used: waves_end.wrapping_sub(size),
        };
        if let Some(behind) = at.stack_at {
            let size = size.min(ctl_stack_size);
            area.stack_offset = stack_offset.min(size);
            area.stack_used = size.saturating_sub(area.stack_offset);
            let first = mqd
                .checked_add(behind)
                .and_then(|stack| stack.checked_add(area.stack_offset.into()))
                .ok_or(EINVAL)?;
            for i in 0..u64::from(area.stack_used) / 4 {
                let word = first.checked_add(i << 2).ok_or(EINVAL)?;
                let bytes = self.mqd.read32(word)?.to_le_bytes();
                area.stack.extend_from_slice(&bytes, GFP_KERNEL_ACCOUNT)?;
            }
        }
        Ok(area)
    }
}
