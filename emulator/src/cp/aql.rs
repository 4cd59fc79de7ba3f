// SPDX-License-Identifier: MIT OR Apache-2.0

//! The AQL packet processor of a user queue.
//!
//! Sources: HSA Platform System Architecture 1.2, section 2.9; HSA runtime `amd_hsa_queue.h`.
//!
//! Packets are launched in order and may complete in any, unless the barrier bit says otherwise. A
//! barrier packet holds the queue until it is done: the processor waits for its signals itself. A
//! slot is made invalid, and the read index moves past it, when its packet and all before it are
//! complete, since kernels read their packet while they run.

use super::dispatch::{Dispatch, Go};
use super::error::{code, PacketError};
use super::hqd::AQL_WORDS;
use super::mec::{Hqd, Mec};
use super::packet::{check_barrier, check_dispatch};
use super::save;
use super::slot::Slot;
use super::units::Units;
use crate::inject::Fault;
use crate::memory::VmFault;
use rkfd_hw::aql::{self, Barrier, Header, KernelDispatch};
use std::collections::VecDeque;
use std::sync::atomic::{fence, Ordering};
use std::sync::Arc;

/// Packets of a queue that are under way at a time.
const UNDER_WAY: usize = 64;
/// A packet that was launched.
pub(super) struct Item {
    pub(super) work: Work,
    pub(super) signal: u64,
    pub(super) release: u8,
    pub(super) done: bool,
}

pub(super) enum Work {
    Dispatch(Arc<Dispatch>),
    Barrier { signals: [u64; 5], any: bool },
}

/// The packets of a queue that were launched and are not all complete, oldest first.
#[derive(Default)]
pub(crate) struct Aql {
    pub(super) items: VecDeque<Item>,
}

impl Aql {
    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many packets are under way.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no worker is on any of its dispatches.
    pub(super) fn is_idle(&self) -> bool {
        self.dispatches().all(|d| d.is_idle())
    }

    /// Whether a packet is under way that is not taken from the ring again as it is.
    pub(super) fn has_begun(&self) -> bool {
        self.items
            .iter()
            .any(|item| item.done || matches!(item.work, Work::Dispatch(_)))
    }

    /// Whether waves of it have still to run.
    pub(super) fn has_waves(&self) -> bool {
        self.items
            .iter()
            .any(|item| !item.done && matches!(item.work, Work::Dispatch(_)))
    }

    /// Whether one of its dispatches ran since it was connected, or none has to.
    pub(super) fn had_turn(&self) -> bool {
        let waits = self.items.iter().filter(|item| !item.done);
        let mut waits = waits.filter_map(|item| match &item.work {
            Work::Dispatch(d) => Some(d),
            Work::Barrier { .. } => None,
        });
        match waits.next() {
            None => true,
            Some(first) => first.had_turn() || waits.any(|d| d.had_turn()),
        }
    }

    /// Tells its dispatches to run, pause or end.
    pub(super) fn set_all(&self, go: Go) {
        self.dispatches().for_each(|d| d.set(go));
    }

    /// Goes on with dispatches that were paused, under the VMID of now.
    pub(super) fn resume(&self, vmid: u8, units: &Units) {
        for item in self.items.iter().filter(|item| !item.done) {
            if let Work::Dispatch(d) = &item.work {
                d.vmid.store(vmid, Ordering::Release);
                if d.failure().is_none() && !d.is_finished() {
                    d.begin();
                    units.submit(d);
                }
            }
        }
    }

    fn dispatches(&self) -> impl Iterator<Item = &Arc<Dispatch>> {
        self.items.iter().filter_map(|item| match &item.work {
            Work::Dispatch(d) => Some(d),
            Work::Barrier { .. } => None,
        })
    }
}

impl Mec {
    /// Completes and launches packets of a user queue; whether anything happened.
    pub(super) fn step_user(&mut self, slot: Slot) -> bool {
        let Some(mut h) = self.hqds.get_mut(slot.index()).and_then(Option::take) else {
            return false;
        };
        let mut worked = false;
        if !h.broken {
            worked |= self.complete(&mut h);
        }
        while !h.broken && h.stop.is_none() && h.aql.len() < UNDER_WAY {
            let at = h.q.rptr + h.aql.len() as u64 * AQL_WORDS;
            if at >= h.q.wptr {
                break;
            }
            match self.launch(&mut h, at) {
                Ok(true) => worked = true,
                Ok(false) => break,
                Err(error) => {
                    self.stop_for(&mut h, &error);
                    worked = true;
                }
            }
        }
        if let Some(place) = self.hqds.get_mut(slot.index()) {
            *place = Some(h);
        }
        worked
    }

    /// Completes what is done.
    pub(super) fn complete(&mut self, h: &mut Hqd) -> bool {
        let mut worked = false;
        for i in 0..h.aql.items.len() {
            let Some(item) = h.aql.items.get(i).filter(|item| !item.done) else {
                continue;
            };
            let (signal, release) = (item.signal, item.release);
            let done = match &item.work {
                Work::Dispatch(d) => {
                    let d = d.clone();
                    self.messages(h, &d);
                    if !d.is_idle() {
                        continue;
                    }
                    if let Some(failure) = d.failure() {
                        self.wave_failed(h, &failure);
                        return true;
                    }
                    if !d.is_finished() {
                        // Paused: it goes on when it is connected again.
                        continue;
                    }
                    let end = self.soc.clock.now();
                    self.trace_end(h, i, &d, end);
                    Some((d.started, end))
                }
                Work::Barrier { signals, any } => {
                    let (signals, any) = (*signals, *any);
                    match self.barrier_open(h, signals, any) {
                        Ok(true) => None,
                        Ok(false) => continue,
                        Err(error) => {
                            self.stop_for(h, &error);
                            return true;
                        }
                    }
                }
            };
            if release != aql::FENCE_NONE {
                fence(Ordering::SeqCst);
            }
            if signal != 0 {
                if let Err(error) = self.complete_signal(h, signal, done) {
                    self.stop_for(h, &error);
                    return true;
                }
            }
            if let Some(item) = h.aql.items.get_mut(i) {
                item.done = true;
            }
            worked = true;
        }
        let before = h.q.rptr;
        while h.aql.items.front().is_some_and(|item| item.done) {
            let free = self
                .space(h.owner.vmid)
                .page(h.q.at(h.q.rptr), crate::memory::Access::Write);
            let half = (h.q.at(h.q.rptr) % crate::memory::PAGE) as usize;
            match free {
                Ok(page) => {
                    let _ = page.write(half, &u16::from(aql::TYPE_INVALID).to_le_bytes());
                }
                Err(fault) => {
                    self.stop_for(h, &fault.into());
                    return true;
                }
            }
            h.aql.items.pop_front();
            h.q.rptr += AQL_WORDS;
        }
        if h.q.rptr != before {
            let q = h.q.clone();
            self.regs
                .change(h.slot, &mut |image| q.save_pointers(image));
            if h.q.reports {
                let index = h.q.rptr / AQL_WORDS;
                if let Err(fault) = self.space(h.owner.vmid).store_u64(h.q.report, index) {
                    self.stop_for(h, &fault.into());
                }
            }
        }
        worked
    }

    /// Launches the packet at a ring pointer; false when it has to wait.
    fn launch(&mut self, h: &mut Hqd, at: u64) -> Result<bool, PacketError> {
        if h.aql
            .items
            .back()
            .is_some_and(|item| matches!(item.work, Work::Barrier { .. }) && !item.done)
        {
            return Ok(false);
        }
        let address = h.q.at(at);
        let vmid = h.owner.vmid;
        let first = self.space(vmid).load_u32(address)?;
        if first as u8 == aql::TYPE_INVALID {
            return Ok(false);
        }
        let header = Header::parse(first as u16).ok_or_else(|| {
            PacketError::bad(
                code::RESERVED,
                format!("AQL header {:#06x}: reserved bits", first as u16),
            )
        })?;
        if header.barrier && h.aql.items.iter().any(|item| !item.done) {
            return Ok(false);
        }
        let mut words = [0; AQL_WORDS as usize];
        self.space(vmid).read_words(address, &mut words)?;
        if self.soc.faults.has(Fault::DropRelease) {
            // The last word of the body has not arrived yet.
            if let Some(word) = words.last_mut() {
                *word = 0;
            }
        }
        let is_dispatch = header.packet_type == aql::TYPE_KERNEL_DISPATCH;
        if is_dispatch && !h.aql.is_empty() && !h.room.has(save::most(&KernelDispatch(words))) {
            // Not more is begun than can be saved.
            return Ok(false);
        }
        self.trace_packet(h, at, &header, &words);
        if header.acquire != aql::FENCE_NONE {
            fence(Ordering::SeqCst);
            self.units.invalidate_code();
            self.cu.invalidate_code();
        }
        let (work, signal) = match header.packet_type {
            aql::TYPE_KERNEL_DISPATCH => {
                let packet = KernelDispatch(words);
                check_dispatch(&packet)?;
                let d = self.prepare(h, &packet, at)?;
                self.trace_start(h, at, &packet, &d);
                self.units.submit(&d);
                (
                    Work::Dispatch(d),
                    packet.get(KernelDispatch::COMPLETION_SIGNAL),
                )
            }
            kind @ (aql::TYPE_BARRIER_AND | aql::TYPE_BARRIER_OR) => {
                let packet = Barrier(words);
                check_barrier(&packet)?;
                let fields = [
                    Barrier::DEP_SIGNAL_0,
                    Barrier::DEP_SIGNAL_1,
                    Barrier::DEP_SIGNAL_2,
                    Barrier::DEP_SIGNAL_3,
                    Barrier::DEP_SIGNAL_4,
                ];
                let signals = fields.map(|field| packet.get(field));
                let any = kind == aql::TYPE_BARRIER_OR;
                (
                    Work::Barrier { signals, any },
                    packet.get(Barrier::COMPLETION_SIGNAL),
                )
            }
            aql::TYPE_VENDOR_SPECIFIC => {
                return Err(PacketError::bad(
                    code::VENDOR,
                    "AQL vendor-specific packet is not modelled",
                ));
            }
            aql::TYPE_AGENT_DISPATCH => {
                return Err(PacketError::bad(
                    code::UNSUPPORTED,
                    "AQL agent dispatch to a kernel agent",
                ));
            }
            other => {
                return Err(PacketError::bad(
                    code::UNSUPPORTED,
                    format!("AQL packet of unknown type {other}"),
                ))
            }
        };
        h.aql.items.push_back(Item {
            work,
            signal,
            release: header.release,
            done: false,
        });
        Ok(true)
    }

    /// Whether a barrier packet's signals let it go.
    fn barrier_open(&self, h: &Hqd, signals: [u64; 5], any: bool) -> Result<bool, PacketError> {
        let mut named = signals.iter().filter(|&&signal| signal != 0).peekable();
        if named.peek().is_none() {
            return Ok(true);
        }
        let space = self.space(h.owner.vmid);
        for &signal in named {
            let open = space.load_u64(signal + aql::Signal::VALUE.word() as u64 * 4)? == 0;
            if open == any {
                return Ok(any);
            }
        }
        Ok(!any)
    }
}

impl From<VmFault> for PacketError {
    fn from(fault: VmFault) -> Self {
        Self::Memory(fault)
    }
}
