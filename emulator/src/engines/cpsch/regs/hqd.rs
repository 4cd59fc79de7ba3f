// SPDX-License-Identifier: MIT OR Apache-2.0

//! The registers of hardware queue descriptors (HQDs), a bank for each queue of a pipe.

use super::{undefined, Order, Regs};
use crate::device::Refused;
use crate::engines::cp::front::generation::GFX9_4_3;
use crate::engines::cp::front::hqd::{Image, Queue, Role};
use crate::engines::cp::front::registers::reaches_all;
use crate::engines::cp::front::slot::Slot;
use rkfd_hw::mqd::FIRST_HQD_WORD;
use rkfd_hw::regs::Value;
use rkfd_hw::regs::{gc_9_4_3 as gc, RegInfo};

/// `GOLDEN_GB_ADDR_CONFIG` of Linux, `amdgpu/gfx_v9_4_3.c`.
const GOLDEN_GB_ADDR_CONFIG: u32 = 0x2a11_4042;

impl Regs {
    pub(super) fn write_hqd(&mut self, slot: Slot, word: usize, value: u32) -> Result<(), Refused> {
        if value & !(GFX9_4_3.mqd.mask)(word) != 0 {
            return undefined(format!(
                "bits {:#x}, which the register lacks",
                value & !(GFX9_4_3.mqd.mask)(word)
            ));
        }
        if self.soft_reset != 0 {
            return undefined("the command processor is held in reset");
        }
        let active = self.is_active(slot);
        let is = |at: usize| at == word;
        if is(Image::CP_HQD_ACTIVE.word()) {
            if !active && value & 1 == 1 {
                let role = if self.is_kiq(slot) {
                    Role::Kiq
                } else {
                    Role::Kernel
                };
                let queue = Queue::from_hqd(&GFX9_4_3.mqd, self.image(slot), role)
                    .map_err(|wrong| Refused::Undefined(wrong.what))?;
                self.golden()?;
                if Value::new(self.stored.get("CP_PQ_WPTR_POLL_CNTL").unwrap_or(0))
                    .is_set(gc::CP_PQ_WPTR_POLL_CNTL::EN)
                {
                    return undefined("polling of the write pointer is not modelled");
                }
                if role == Role::Kiq {
                    self.wakes_for(queue.doorbell)?;
                }
                let image = Box::new(*self.image(slot));
                self.orders
                    .push(Order::Connect(slot, Box::new(queue), role, image));
            } else if active && value & 1 == 0 {
                self.orders.push(Order::Drop(slot));
            }
        } else if is(Image::CP_HQD_DEQUEUE_REQUEST.word()) && active {
            match Value::new(value).get(gc::CP_HQD_DEQUEUE_REQUEST::DEQUEUE_REQ) {
                0 => {}
                request @ 1..=3 => self.orders.push(Order::Dequeue(slot, request)),
                request => return undefined(format!("dequeue request {request}")),
            }
        } else if active {
            // What Linux writes before it looks whether the queue is active.
            let free = [
                Image::CP_HQD_EOP_BASE_ADDR.word(),
                Image::CP_HQD_EOP_CONTROL.word(),
                Image::CP_HQD_PQ_DOORBELL_CONTROL.word(),
            ];
            let eop_high = Image::CP_HQD_EOP_BASE_ADDR.word() + 1;
            if !free.into_iter().any(is) && word != eop_high {
                return undefined("the queue is active");
            }
        }
        self.set_hqd_word(slot, word, value);
        Ok(())
    }

    /// That the graphics core has its golden registers, before its first queue
    /// (`gfx_v9_4_3_init_golden_registers`).
    fn golden(&self) -> Result<(), Refused> {
        let get = |name| self.stored.get(name).unwrap_or(0);
        if get("GB_ADDR_CONFIG") != GOLDEN_GB_ADDR_CONFIG {
            return undefined("GB_ADDR_CONFIG is not the chip's golden value");
        }
        if Value::new(get("TCP_UTCL1_CNTL2")).get(gc::TCP_UTCL1_CNTL2::SPARE) != 1 {
            return undefined("TCP_UTCL1_CNTL2.SPARE is not 1, its golden value");
        }
        reaches_all(&self.stored)
    }

    /// That a doorbell of the kernel's queue wakes a graphics core without power.
    fn wakes_for(&self, doorbell: u32) -> Result<(), Refused> {
        let get = |name| self.stored.get(name).unwrap_or(0);
        let range = get("CP_MEC_DOORBELL_RANGE_LOWER")..get("CP_MEC_DOORBELL_RANGE_UPPER");
        if !range.contains(&(doorbell * 4)) {
            return undefined("CP_MEC_DOORBELL_RANGE leaves the KIQ's doorbell out");
        }
        Ok(())
    }

    pub(super) fn selected(&self) -> Option<Slot> {
        let slot = GFX9_4_3.slots.selected(self.select)?;
        Some(slot.on(self.xcc))
    }

    pub(super) fn hqd_word(&self, slot: Slot, word: usize) -> u32 {
        self.image(slot).0.get(word).copied().unwrap_or(0)
    }

    fn set_hqd_word(&mut self, slot: Slot, word: usize, value: u32) {
        if let Some(cell) = self.image_mut(slot).0.get_mut(word) {
            *cell = value;
        }
    }

    /// An HQD's registers.
    pub fn image(&self, slot: Slot) -> &Image {
        // There is one image for each slot.
        &self.hqd[slot.index()]
    }

    /// An HQD's registers, to change: what the firmware does.
    pub fn image_mut(&mut self, slot: Slot) -> &mut Image {
        &mut self.hqd[slot.index()]
    }

    /// CP_HQD_ACTIVE.
    pub fn is_active(&self, slot: Slot) -> bool {
        self.image(slot).get(Image::CP_HQD_ACTIVE) & 1 == 1
    }

    /// Sets CP_HQD_ACTIVE. A request that registers made stays until they take it back: Linux does so
    /// (`gfx_v9_4_3_xcc_q_fini_register`, `gfx_v9_4_3_xcc_kiq_init_register`).
    pub fn set_active(&mut self, slot: Slot, on: bool) {
        let image = self.image_mut(slot);
        image.set(Image::CP_HQD_ACTIVE, on.into());
    }

    /// Whether RLC_CP_SCHEDULERS names the slot as the KIQ's.
    pub fn is_kiq(&self, slot: Slot) -> bool {
        let scheduler = self.stored.get("RLC_CP_SCHEDULERS").unwrap_or(0) & 0xff;
        scheduler == 0x80 | (slot.me() << 5) | (slot.pipe() << 3) | slot.queue()
    }
}

/// The word of an MQD that an HQD register is.
pub(super) fn hqd_word(reg: &RegInfo) -> Option<usize> {
    let (first, last) = (gc::CP_MQD_BASE_ADDR.any(), gc::CP_HQD_PQ_WPTR_HI.any());
    let range = first.offset..=last.offset;
    let hqd = reg.reg.segment == first.segment && range.contains(&reg.reg.offset);
    hqd.then(|| FIRST_HQD_WORD + (reg.reg.offset - first.offset) as usize)
}
