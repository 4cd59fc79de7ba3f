// SPDX-License-Identifier: MIT OR Apache-2.0

//! A compute unit's way to memory: translations of its XCC's graphics hub for the interpreter.

use super::gws::Gws;
use crate::device::Env;
use crate::engines::cp::front::counters::Counters;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::front::waves::{Allowed, Place, Registers, Taken, WaveSlots};
use crate::memory as mem;
use crate::memory::{Hub, PAGE};
use crate::rules::{Effect, Event, Kind};
use rkfd_isa::{Access, Fault, FaultKind, GwsAnswer, GwsRequest, HostPage, Reason, Watches};
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::sync::Arc;

/// What a wave reports besides its results.
pub enum Notice {
    /// s_sendmsg: the message and M0, and whether a trap handler sent it.
    Message(u16, u32, bool),
    /// It has entered its trap handler.
    Trap(Box<Failure>),
}

/// What a wave could not do, by which it entered its trap handler or, without one, stopped its dispatch.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which wave, where, why.
    pub fault: Fault,
    /// The access that did not translate, if that was it.
    pub vm: Option<mem::VmFault>,
}

/// Where the waves of a work-group are, as their registers show it.
pub(crate) struct Seat {
    pub taken: Arc<Taken>,
    /// The HQD of its queue.
    pub hqd: Slot,
    /// HW_ID, or HW_ID1 and HW_ID2.
    pub ids: fn(Place, Slot, u8) -> [u32; 2],
}

/// Where waves of a queue may be.
pub(crate) struct Seats {
    /// The slots of all compute units, and what registers show of those in them.
    pub slots: Arc<WaveSlots>,
    pub registers: &'static Registers,
    /// The queue's HQD now.
    pub hqd: Slot,
    /// The compute units that its MQD allows.
    pub allowed: Allowed,
    /// The performance counters, and whether its MQD enables them (COMPUTE_PERFCOUNT_ENABLE).
    pub counters: Arc<Counters>,
    pub counted: bool,
}

/// What a worker shows the interpreter of the chip.
///
/// The interpreter keeps translations by a number that it calls VMID. It is given the process's
/// `tag` instead, since the same waves may go on under another VMID after a preemption; this maps it
/// to the VMID of now.
pub struct Window<'a> {
    /// The rest of the device.
    pub env: &'a dyn Env,
    /// The graphics hub of its XCC.
    pub hub: Hub,
    /// The VMID that the process has now.
    pub vmid: &'a AtomicU8,
    /// The queue's semaphores and barriers on its XCC.
    pub(crate) gws: Option<&'a Gws>,
    /// Where the waves of the work-group are that runs.
    pub(crate) seat: Option<Seat>,
    /// The process's watched addresses.
    pub watches: Watches,
    /// The last access that did not translate.
    pub fault: Option<mem::VmFault>,
    /// What shaders sent or met that the packet processor passes on.
    pub notices: Vec<Notice>,
}

impl Window<'_> {
    /// What a wave did, with the translation that failed for it, if that was it.
    pub fn failure(&mut self, fault: Fault) -> Failure {
        let translates = match fault.kind {
            FaultKind::Memory(memory) => memory.reason == Reason::Unaligned,
            _ => true,
        };
        let vm = self.fault.take().filter(|_| !translates);
        Failure { fault, vm }
    }
}

impl rkfd_isa::Env for Window<'_> {
    fn epoch(&self) -> u64 {
        // Grows with every flush of any VMID, so it is good for all of them together.
        let memory = self.env.memory();
        (0..16u8).fold(0u64, |sum, vmid| {
            sum.wrapping_add(memory.space(self.hub, vmid).epoch())
        })
    }

    fn translate(&mut self, _tag: u8, va: u64, access: Access) -> Result<HostPage, Reason> {
        let kind = match access {
            Access::Read => mem::Access::Read,
            Access::Write => mem::Access::Write,
            Access::Atomic => mem::Access::Atomic,
            Access::Execute => mem::Access::Execute,
        };
        let vmid = self.vmid.load(Ordering::Acquire);
        let space = self.env.memory().space(self.hub, vmid);
        let (page, held_back) = space.page_for_shaders(va, kind).map_err(|fault| {
            self.fault = Some(fault);
            match fault.reason {
                mem::FaultReason::Permission => Reason::NotPermitted,
                mem::FaultReason::NoMemory => Reason::NoMemory,
                mem::FaultReason::Range => Reason::NotCanonical,
                _ => Reason::NotPresent,
            }
        })?;
        let fetch = || self.env.rules().ask(&Event::of(Kind::Fetch));
        if access == Access::Execute && fetch() == Some(Effect::FlipBit) {
            return flipped(page, va).ok_or(Reason::NoMemory);
        }
        let page = page.slice().and_then(HostPage::from_volatile);
        let page = page.ok_or(Reason::NoMemory)?;
        Ok(if held_back { page.held_back() } else { page })
    }

    fn clock(&mut self) -> u64 {
        self.env.clock().now()
    }

    fn xcc(&self) -> u32 {
        match self.hub {
            Hub::Gfx(xcc) => xcc.into(),
            Hub::Mm(_) => 0,
        }
    }

    fn hardware_id(&self, wave: u32) -> [u32; 2] {
        let vmid = self.vmid.load(Ordering::Acquire);
        let ids = |seat: &Seat| (seat.ids)(seat.taken.place(wave), seat.hqd, vmid);
        self.seat.as_ref().map_or([0; 2], ids)
    }

    fn interrupt(&mut self, message: u16, m0: u32, privileged: bool) {
        self.notices.push(Notice::Message(message, m0, privileged));
    }

    fn watches(&self) -> Watches {
        self.watches
    }

    fn trapped(&mut self, fault: &Fault) {
        let failure = self.failure(*fault);
        self.notices.push(Notice::Trap(Box::new(failure)));
    }

    fn synchronise(&mut self, _tag: u8, request: &GwsRequest) -> GwsAnswer {
        self.gws.map_or(GwsAnswer::Refused, |gws| gws.ask(request))
    }
}

/// A copy of a page of code in which bit 3 of the word behind the one at `va` is wrong. The first one
/// may be a hint to the hardware, which changes no result.
fn flipped(page: mem::HostPage, va: u64) -> Option<HostPage> {
    let mut bytes = vec![0; PAGE as usize];
    let at = (va % PAGE) as usize;
    if !page.read(0, &mut bytes) {
        return None;
    }
    *bytes.get_mut(at + 4)? ^= 8;
    let words = bytes
        .chunks_exact(8)
        .map(|b| AtomicU64::new(u64::from_ne_bytes(b.try_into().unwrap_or_default())));
    HostPage::of(&words.collect(), 0)
}
