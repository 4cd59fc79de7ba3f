// SPDX-License-Identifier: MIT OR Apache-2.0

//! The queue of an engine that the kernel's driver sets up by registers, in VMID 0.
//!
//! Sources: Linux, `sdma_v4_4_2_gfx_resume` and `sdma_v4_4_2_inst_gfx_stop` in
//! `amdgpu/sdma_v4_4_2.c`, `sdma_v7_0_gfx_resume_instance` and `sdma_v7_0_gfx_stop` in
//! `amdgpu/sdma_v7_0.c`; start-up values: `sdma0/sdma0_4_0_default.h`, as those of [`super::regs`].
//!
//! The queue begins when RB_ENABLE is set, with what its registers hold then, and ends after the packet
//! in progress when RB_ENABLE is cleared. Pointers in memory are read when it begins; while it runs, its
//! write pointer comes by the doorbell.

use super::generation::Generation;
use super::queue::{Queue, DOORBELL_ENABLE};
use super::{Engine, Engines, Mapping, Order, Slot, Stop, View, MQD_WORDS};
use crate::blocks::store::Store;
use crate::device::{Env, Refused};
use crate::report::Wrong;
use rkfd_hw::regs::sdma_4_4_2::{
    SDMA_GFX_DOORBELL_OFFSET as BELL, SDMA_GFX_MINOR_PTR_UPDATE as Minor, SDMA_GFX_RB_CNTL as RB,
};
use rkfd_hw::regs::Value;

/// Its registers, without what stands in front of the name, and their values at start-up.
const REGISTERS: &[(&str, u32)] = &[
    ("RB_CNTL", 0x0004_0000),
    ("RB_BASE", 0),
    ("RB_BASE_HI", 0),
    ("RB_RPTR", 0),
    ("RB_RPTR_HI", 0),
    ("RB_WPTR", 0),
    ("RB_WPTR_HI", 0),
    ("RB_WPTR_POLL_CNTL", 0x0040_1000),
    ("RB_WPTR_POLL_ADDR_LO", 0),
    ("RB_WPTR_POLL_ADDR_HI", 0),
    ("RB_RPTR_ADDR_LO", 0),
    ("RB_RPTR_ADDR_HI", 0),
    ("IB_CNTL", 0x100),
    ("DOORBELL", 0),
    ("DOORBELL_OFFSET", 0),
    ("MINOR_PTR_UPDATE", 0),
];

/// Whether a register is one of them.
pub(super) fn is_one(what: &str) -> bool {
    what == "CONTEXT_STATUS" || REGISTERS.iter().any(|(name, _)| *name == what)
}

/// The registers as they were last written. While the queue runs, its pointers are elsewhere.
pub(super) struct Regs(Store);

impl Default for Regs {
    fn default() -> Self {
        Self(Store::new(REGISTERS))
    }
}

impl Regs {
    /// A register by what it is.
    pub fn get(&self, what: &str) -> Option<u32> {
        self.0.get(what)
    }

    fn word(&self, what: &str) -> u32 {
        self.get(what).unwrap_or(0)
    }

    fn wide(&self, low: &str, high: &str) -> u64 {
        u64::from(self.word(low)) | (u64::from(self.word(high)) << 32)
    }

    /// Whether RB_ENABLE is set.
    pub fn runs(&self) -> bool {
        Value::<RB>::new(self.word("RB_CNTL")).is_set(RB::RB_ENABLE)
    }

    /// The queue ends with the pointers that it has.
    fn keep_pointers(&self, generation: &Generation, view: &View) {
        let at = generation.mqd;
        for (name, word) in [
            ("RB_RPTR", at.rptr),
            ("RB_RPTR_HI", at.rptr + 1),
            ("RB_WPTR", at.wptr),
            ("RB_WPTR_HI", at.wptr + 1),
        ] {
            self.0.set(name, view.image.get(word).copied().unwrap_or(0));
        }
    }

    /// Start-up values.
    pub fn reset(&self) {
        self.0.reset();
    }

    /// Another driver's queue was here: its ring is gone, its pointers are those of the last packet.
    pub fn leave_queue(&self) {
        for (name, value) in [
            ("RB_BASE", 0x0123_4000),
            ("RB_BASE_HI", 1),
            ("RB_RPTR", 0x340),
            ("RB_RPTR_HI", 2),
            ("RB_WPTR", 0x340),
            ("RB_WPTR_HI", 2),
            ("RB_WPTR_POLL_ADDR_LO", 0x5678_9000),
            ("RB_WPTR_POLL_ADDR_HI", 1),
            ("RB_RPTR_ADDR_LO", 0x5678_a000),
            ("RB_RPTR_ADDR_HI", 1),
            ("DOORBELL_OFFSET", 0x40),
        ] {
            self.0.set(name, value);
        }
    }

    /// Writes a half of the write pointer. "before programing wptr to a less value, need set
    /// minor_ptr_update first": without that the engine keeps the greater one.
    fn set_wptr(&self, what: &str, value: u32) -> Result<(), Refused> {
        let (low, high) = match what {
            "RB_WPTR" => (value, self.word("RB_WPTR_HI")),
            _ => (self.word("RB_WPTR"), value),
        };
        let new = u64::from(low) | (u64::from(high) << 32);
        let minor = Value::<Minor>::new(self.word("MINOR_PTR_UPDATE"));
        if new < self.wide("RB_WPTR", "RB_WPTR_HI") && !minor.is_set(Minor::ENABLE) {
            return Ok(());
        }
        self.0.put(what, value)
    }
}

impl Engines {
    /// Writes a register of the kernel's queue of an engine.
    ///
    /// # Errors
    /// The access is refused.
    pub(super) fn write_kernel(
        &self,
        engine: &Engine,
        number: u8,
        what: &str,
        value: u32,
    ) -> Result<(), Refused> {
        let regs = &engine.kernel;
        match what {
            "CONTEXT_STATUS" => Err(Refused::ReadOnly),
            "RB_CNTL" => self.control_kernel(engine, number, value),
            "IB_CNTL" | "MINOR_PTR_UPDATE" => regs.0.put(what, value),
            _ if regs.runs() => Err(Refused::Undefined("the queue runs (RB_ENABLE)".into())),
            "RB_WPTR" | "RB_WPTR_HI" => regs.set_wptr(what, value),
            _ => regs.0.put(what, value),
        }
    }

    /// Writes RB_CNTL.
    fn control_kernel(&self, engine: &Engine, number: u8, value: u32) -> Result<(), Refused> {
        let (regs, generation) = (&engine.kernel, self.shape.generation);
        let place = Slot {
            engine: number,
            queue: generation.kernel.queue,
        };
        let on = |value| Value::<RB>::new(value).is_set(RB::RB_ENABLE);
        let old = regs.word("RB_CNTL");
        match (on(old), on(value)) {
            (true, true) if value != old => {
                return Err(Refused::Undefined("the queue runs (RB_ENABLE)".into()))
            }
            (false, true) => {
                let reg = |what: &str| match what {
                    "RB_CNTL" => value,
                    _ => regs.word(what),
                };
                let queue = Queue::of_kernel(&*self.env, generation, number, reg);
                let queue = queue.map_err(|wrong| Refused::Undefined(wrong.what))?;
                let golden = engine.regs.are_golden(generation);
                golden.map_err(Refused::Undefined)?;
                self.connect_kernel(engine, queue)?;
            }
            (true, false) => {
                let shared = engine.shared();
                let view = shared.views.get(usize::from(place.queue));
                if let Some(view) = view.and_then(Option::as_ref) {
                    regs.keep_pointers(generation, view);
                }
                drop(shared);
                engine.order(Order::Stop(place.queue, Stop::Preempt));
            }
            _ => {}
        }
        regs.0.put("RB_CNTL", value)
    }

    /// Puts the kernel's queue in its place. One that was there before may still be about to leave.
    fn connect_kernel(&self, engine: &Engine, mut queue: Queue) -> Result<(), Refused> {
        let mut shared = engine.shared();
        let place = usize::from(queue.slot.queue);
        let taken = shared.views.get(place).and_then(Option::as_ref);
        if taken.is_some_and(|view| view.mqd.is_some()) {
            let what = format!("{} has a queue of a process", queue.slot);
            return Err(Refused::Undefined(what));
        }
        shared.add(&mut queue);
        self.env
            .doorbells()
            .store(queue.doorbell, crate::device::doorbell::NOT_RUNG);
        shared.orders.push(Order::Connect(Box::new(queue)));
        drop(shared);
        engine.wake.ring();
        Ok(())
    }
}

impl Queue {
    /// Takes the kernel's queue from its registers, of which `reg` gives one by what it is. They are the
    /// words that an MQD has for the others.
    ///
    /// # Errors
    /// What is wrong; faults were reported besides.
    pub fn of_kernel(
        env: &dyn Env,
        generation: &Generation,
        engine: u8,
        reg: impl Fn(&str) -> u32,
    ) -> Result<Self, Wrong> {
        let (at, kernel) = (generation.mqd, generation.kernel);
        if reg("DOORBELL") & DOORBELL_ENABLE == 0 {
            return Err("a queue of the kernel without a doorbell is not modelled".into());
        }
        let mut image = Box::new([0; MQD_WORDS]);
        for (word, what) in [
            (at.rb_cntl, "RB_CNTL"),
            (at.rb_base, "RB_BASE"),
            (at.rb_base + 1, "RB_BASE_HI"),
            (at.rptr, "RB_RPTR"),
            (at.rptr + 1, "RB_RPTR_HI"),
            (at.wptr, "RB_WPTR"),
            (at.wptr + 1, "RB_WPTR_HI"),
            (at.rptr_addr.0, "RB_RPTR_ADDR_LO"),
            (at.rptr_addr.1, "RB_RPTR_ADDR_HI"),
            (at.ib_cntl, "IB_CNTL"),
            (at.doorbell, "DOORBELL"),
            (at.doorbell_offset, "DOORBELL_OFFSET"),
        ] {
            if let Some(to) = image.get_mut(word) {
                *to = reg(what);
            }
        }
        for (word, value) in [(at.engine, engine), (at.queue, kernel.queue)] {
            if let Some(to) = image.get_mut(word) {
                *to = value.into();
            }
        }
        let wide = |low, high| u64::from(reg(low)) | (u64::from(reg(high)) << 32);
        let m = Mapping {
            engine: Some(engine),
            mqd: 0,
            doorbell: Value::new(reg("DOORBELL_OFFSET")).get(BELL::OFFSET),
            wptr: wide("RB_WPTR_POLL_ADDR_LO", "RB_WPTR_POLL_ADDR_HI"),
            wptr_vmid: 0,
            vmid: 0,
            pasid: 0,
        };
        if let Some((low, high)) = at.poll_addr {
            for (word, half) in [(low, m.wptr as u32), (high, (m.wptr >> 32) as u32)] {
                if let Some(to) = image.get_mut(word) {
                    *to = half;
                }
            }
        }
        let needed = kernel.needs & !reg("RB_CNTL");
        if needed != 0 {
            let what = format!("RB_CNTL of the kernel's queue lacks bits {needed:#x}");
            return Err(what.into());
        }
        let may = generation.rb_cntl | kernel.rb_cntl;
        let queue = Self::from_image(generation, &m, image, may)?;
        let mut queue = queue.with_doorbell_of(env)?;
        let (register, bits) = kernel.polls;
        if reg(register) & bits != 0 && !queue.look_for_wptr(env, generation, &m)? {
            return Err("the write pointer in memory is none into the ring".into());
        }
        Ok(queue)
    }
}
