// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connecting a queue to an HQD and taking it off: MQD load and save.
//!
//! Source: Linux, `amdgpu/amdgpu_amdkfd_gfx_v9.c` (`kgd_gfx_v9_hqd_load`, what the firmware does by
//! itself with a scheduler), `amdkfd/kfd_mqd_manager_v9.c`.

use crate::device::doorbell::NOT_RUNG;
use crate::engines::cp::front::buffer::Buffer;
use crate::engines::cp::front::hqd::{Image, Queue, Role};
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::inflight::Launched;
use crate::engines::cp::mec::loads::{Load, Loads};
use crate::engines::cp::mec::{Hqd, Mec, Owner, Stop};
use crate::engines::cp::run::save::room_of;
use crate::memory::VmFault;
use crate::report::Whose;
use crate::trace::Value;
use rkfd_hw::mqd::FIRST_HQD_WORD;
use rkfd_hw::regs::gc_9_4_3::CP_HQD_PERSISTENT_STATE as STATE;
use rkfd_hw::regs::Value as Contents;
use std::time::{Duration, Instant};

/// Words from CP_MQD_BASE_ADDR on that are written back.
const SAVED_WORDS: usize = 56;

impl Mec {
    /// Puts a checked queue on an HQD. `wptr`: the write pointer is read there, in the address space
    /// of this VMID. A queue that registers connect has none: its registers hold it, and stay as they are,
    /// since the driver may already be on its way to other values.
    pub fn connect(
        &mut self,
        slot: Slot,
        role: Role,
        q: Queue,
        loads: Loads,
        owner: Owner,
        wptr: Option<(u8, u64)>,
    ) {
        if self.hqd(slot).is_some() {
            self.violation(format_args!("a queue is connected where another one is"));
            return;
        }
        let mut h = Hqd {
            slot,
            role,
            q,
            buffer: Buffer::of(&loads.lead.image),
            loads,
            owner,
            rung: NOT_RUNG,
            broken: false,
            starved: false,
            is_static: false,
            stop: None,
            saves_at: None,
            launched: Launched::default(),
            since: Instant::now(),
            began: 0,
            quantum: Duration::ZERO,
            level: 0,
        };
        h.began = h.q.rptr;
        if wptr.is_some() {
            // What was rung before is in the write pointer's memory.
            self.env.doorbells().store(h.q.doorbell, NOT_RUNG);
        }
        if h.q.cwsr {
            for load in h.loads.iter_mut() {
                load.room = room_of(&load.image);
            }
        }
        let state =
            Contents::<STATE>::new(h.loads.lead.image.get(Image::CP_HQD_PERSISTENT_STATE) as u32);
        if state.get(STATE::RESTORE_ACTIVE) == 1 {
            // Without waves to go on with, it met an error.
            h.broken = state.get(STATE::RELAUNCH_WAVES) == 0;
            if !h.broken {
                if let Err(lost) = self.restore_waves(&mut h) {
                    self.env
                        .report()
                        .record(lost.whose(), format_args!("{lost}"));
                    h.launched = Launched::default();
                }
            }
        }
        for load in h.loads.iter_mut() {
            let state =
                Contents::<STATE>::new(load.image.get(Image::CP_HQD_PERSISTENT_STATE) as u32);
            let state = state
                .with(STATE::RESTORE_ACTIVE, false)
                .with(STATE::RELAUNCH_WAVES, false)
                .bits();
            load.image.set(Image::CP_HQD_PERSISTENT_STATE, state);
        }
        if let Some((vmid, at)) = wptr.filter(|(_, at)| *at != 0) {
            match self.space_on(slot.xcc(), vmid).load_u64(at) {
                // Producers reserve places before they are free: no more than the ring is taken.
                Ok(units) => {
                    let room = h.q.rptr + h.q.size;
                    let to = units.saturating_mul(h.q.unit()).min(room);
                    h.q.wptr = h.q.wptr.max(to);
                }
                Err(fault) => {
                    // In VMID 0 the driver has mapped it, else the program.
                    let whose = match vmid {
                        0 => Whose::Driver,
                        _ => Whose::Program,
                    };
                    let report = self.env.report();
                    report.record(whose, format_args!("write pointer of a queue: {fault}"));
                    self.env.vm_fault(&fault);
                    h.broken = true;
                }
            }
        }
        h.launched.resume(slot, owner.vmid, &h.loads, &self.units);
        for load in h.loads.iter().filter(|_| wptr.is_some()) {
            self.regs.change(slot.on(load.xcc), &mut |to| {
                let words = to.0.iter_mut().zip(load.image.0);
                for (to, from) in words.skip(FIRST_HQD_WORD).take(SAVED_WORDS) {
                    *to = from;
                }
                h.q.save_pointers(to);
                to.set(Image::CP_HQD_VMID, owner.vmid.into());
                to.set(Image::CP_HQD_ACTIVE, 1);
            });
        }
        // A queue that has its turn and nothing to do comes and goes often.
        if h.is_busy() || !self.turns.knows(h.q.mqd) {
            self.trace_queue("queue_connect", &h, h.launched.len());
        }
        if let Some(place) = self.hqds.get_mut(slot.place()) {
            *place = Some(Box::new(h));
        }
    }

    /// Takes a queue off its HQD and writes its MQD back.
    pub fn disconnect(&mut self, slot: Slot, stop: Stop) {
        let Some(mut h) = self.hqds.get_mut(slot.place()).and_then(Option::take) else {
            return;
        };
        self.pass_all_on(&h);
        if stop == Stop::Reset {
            h.launched = Launched::default();
            h.buffer = None;
            h.broken = false;
        } else if !h.broken {
            // What has ended, or failed, meanwhile.
            self.complete(&mut h);
        }
        let unfinished = h.launched.len();
        let has_state = h.launched.has_begun() || h.loads.has_used_gws();
        let mut saved = h.q.cwsr && !h.broken && stop != Stop::Reset && has_state;
        if saved {
            if let Err(lost) = self.save_waves(&mut h) {
                self.env
                    .report()
                    .record(lost.whose(), format_args!("{lost}"));
                saved = false;
            }
        }
        let read_index = h.q.rptr / h.q.unit();
        for (n, load) in h.loads.iter_mut().enumerate() {
            let image = &mut load.image;
            // A PM4 queue has begun nothing but where it is led.
            let saved = saved && (h.q.aql || n == 0);
            let state = Contents::<STATE>::new(image.get(Image::CP_HQD_PERSISTENT_STATE) as u32);
            let state = state.with(STATE::RESTORE_ACTIVE, saved || h.broken);
            let state = state.with(STATE::RELAUNCH_WAVES, saved).bits();
            image.set(Image::CP_HQD_PERSISTENT_STATE, state);
            image.set(Image::CP_HQD_ACTIVE, 0);
            image.set(Image::CP_HQD_DEQUEUE_REQUEST, 0);
            image.set(Image::CP_MQD_READINDEX, read_index);
            h.q.save_pointers(image);
            Buffer::save(h.buffer, image);
        }
        if h.role != Role::Kiq {
            for load in h.loads.iter() {
                if let Err(fault) = self.write_back(&h, load) {
                    self.env.vm_fault(&fault);
                }
            }
        }
        if h.is_busy() || h.has_worked() || !self.turns.knows(h.q.mqd) {
            self.trace_queue("queue_disconnect", &h, unfinished);
        }
        self.stand_in_line(&h, stop);
        if let Some(place) = self.hqds.get_mut(slot.place()) {
            *place = Some(h);
        }
        self.release(slot, true);
    }

    /// Writes what changed of an MQD.
    fn write_back(&self, h: &Hqd, load: &Load) -> Result<(), VmFault> {
        let words = |first: usize, count| load.image.0.get(first..first + count);
        let space = self.space_on(load.xcc, 0);
        let read_index = Image::CP_MQD_READINDEX.word();
        for (first, count) in [(FIRST_HQD_WORD, SAVED_WORDS), (read_index, 2)] {
            let words = words(first, count).unwrap_or_default();
            space.write_words(load.mqd + first as u64 * 4, words)?;
        }
        if h.role == Role::User {
            // Of an AQL queue programs set one of them.
            let counted = Image::COMPUTE_PERFCOUNT_ENABLE.word();
            let own = self.own_registers();
            for word in own.filter(|&word| !h.q.aql || word == counted) {
                let value = load.image.0.get(word).copied().unwrap_or(0);
                space.store_u32(load.mqd + word as u64 * 4, value)?;
            }
        }
        Ok(())
    }

    /// Frees a slot; a process without queues gives its VMID back.
    pub fn release(&mut self, slot: Slot, save: bool) {
        let Some(h) = self.hqds.get_mut(slot.place()).and_then(Option::take) else {
            return;
        };
        if !self.turns.listens(h.q.mqd) {
            self.env.doorbells().store(h.q.doorbell, 0);
        }
        if save {
            for load in h.loads.iter() {
                self.regs.leave(slot.on(load.xcc), &mut |image| {
                    h.q.save_pointers(image);
                    image.set(Image::CP_HQD_ACTIVE, 0);
                    image.set(Image::CP_HQD_DEQUEUE_REQUEST, 0);
                });
            }
        }
        if h.role != Role::User {
            return;
        }
        // Whoever gets the queue's memory next must not find it changed later.
        self.units.write_back();
        self.slots.give(slot.index() as u32);
        let (vmid, pasid) = (h.owner.vmid, h.owner.pasid);
        if let Some(at) = self.processes.iter().position(|p| p.owner.vmid == vmid) {
            let (left, leaving) = self.processes.get_mut(at).map_or((0, true), |p| {
                p.queues = p.queues.saturating_sub(1);
                (p.queues, p.leaving)
            });
            if left == 0 && (leaving || !self.turns.has_process(pasid)) {
                self.release_process(at);
            }
        }
        self.show_users();
    }

    fn trace_queue(&self, event: &str, h: &Hqd, unfinished: usize) {
        let (name, role) = (h.slot.to_string(), format!("{:?}", h.role));
        self.env.trace().event(
            event,
            &[
                ("queue", Value::Text(&name)),
                ("role", Value::Text(&role)),
                ("vmid", Value::Num(h.owner.vmid.into())),
                ("pasid", Value::Num(h.owner.pasid.into())),
                ("mqd", Value::Hex(h.q.mqd)),
                ("ring", Value::Hex(h.q.ring)),
                ("words", Value::Num(h.q.size)),
                ("doorbell", Value::Num(h.q.doorbell.into())),
                ("rptr", Value::Num(h.q.rptr / h.q.unit())),
                ("wptr", Value::Num(h.q.wptr / h.q.unit())),
                ("unfinished", Value::Num(unfinished as u64)),
            ],
        );
    }
}
