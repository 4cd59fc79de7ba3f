// SPDX-License-Identifier: MIT OR Apache-2.0

//! The AQL packet processor of a user queue.
//!
//! Sources: HSA Platform System Architecture 1.2, section 2.9; HSA runtime `amd_hsa_queue.h`,
//! `hsa_ext_amd.h` (the vendor's barrier on a value), `amd_aql_queue.cpp` (`ExecutePM4`: its packet
//! for PM4 commands).
//!
//! Packets are launched in order and may complete in any order, unless the barrier bit is set. A
//! barrier packet holds the queue until it is done: the processor waits for its signals itself. So
//! does one with PM4 commands, which the processor executes itself. A slot is made invalid, and the
//! read index moves past it, when its packet and all before it are complete, since kernels read
//! their packet while they run.

use super::commands::Progress;
use crate::engines::cp::front::buffer::Buffer;
use crate::engines::cp::front::hqd::AQL_WORDS;
use crate::engines::cp::launch::room::most_of;
use crate::engines::cp::mec::inflight::{Item, Work, UNDER_WAY};
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::aql::Condition;
use crate::engines::cp::packet::aql::{
    check_barrier, check_barrier_value, check_dispatch, check_pm4_ib,
};
use crate::engines::cp::packet::error::{code, PacketError};
use crate::engines::cp::run::waves::End;
use crate::memory::{Access, FaultReason, Hub, VmFault, PAGE};
use crate::rules::{Effect, Event, Go, Kind};
use rkfd_hw::aql::{self, Barrier, BarrierValue, Header, KernelDispatch, Pm4Ib, Vendor};
use std::sync::atomic::{fence, Ordering};

impl Mec {
    pub(crate) fn step_aql(&mut self, h: &mut Hqd) -> bool {
        let mut worked = !h.broken && self.complete_aql(h);
        while !h.broken && h.stop.is_none() && h.launched.len() < UNDER_WAY {
            let at = h.q.rptr + h.launched.len() as u64 * AQL_WORDS;
            if at >= h.q.wptr {
                break;
            }
            match self.launch_packet(h, at) {
                Ok(true) => worked = true,
                Ok(false) => break,
                Err(error) => {
                    self.stop_for(h, &error);
                    worked = true;
                }
            }
        }
        worked
    }

    pub(crate) fn complete_aql(&mut self, h: &mut Hqd) -> bool {
        let mut worked = false;
        for i in 0..h.launched.items.len() {
            let Some(item) = h.launched.items.get(i).filter(|item| !item.done) else {
                continue;
            };
            let (signal, release, started) = (item.signal, item.release, item.started);
            let times = match &item.work {
                Work::Dispatch(d) => {
                    let d = d.clone();
                    match self.end_of(h, &d) {
                        End::Failed => return true,
                        End::NotYet => continue,
                        End::Done => {}
                    }
                    let end = self.env.clock().now();
                    self.trace_end(h, i, &d, end);
                    (d.started(), end)
                }
                Work::Barrier(condition) => {
                    let condition = *condition;
                    match self.barrier_open(h, &condition) {
                        Ok(true) => (started, self.env.clock().now()),
                        Ok(false) => continue,
                        Err(error) => {
                            self.stop_for(h, &error);
                            return true;
                        }
                    }
                }
                // Of PM4 queues only.
                Work::Release(_) => continue,
                Work::Commands => {
                    let idle = h.launched.items.iter().take(i).all(|item| item.done);
                    match self.step_buffer(h, idle) {
                        Ok(Progress::Ended) => (started, self.env.clock().now()),
                        Ok(progress) => {
                            worked |= progress == Progress::On;
                            continue;
                        }
                        Err(error) => {
                            self.stop_for(h, &error);
                            return true;
                        }
                    }
                }
            };
            self.env.pass(&Event::of(Kind::EndOfPipe).with(&h.keys()));
            if release != aql::FENCE_NONE {
                fence(Ordering::SeqCst);
                self.units.release(release == aql::FENCE_SYSTEM);
            }
            if signal != 0 {
                if let Err(error) = self.complete_signal(h, signal, times) {
                    self.stop_for(h, &error);
                    return true;
                }
            }
            if let Some(item) = h.launched.items.get_mut(i) {
                item.done = true;
            }
            worked = true;
        }
        let before = h.q.rptr;
        while h.launched.items.front().is_some_and(|item| item.done) {
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
            h.launched.items.pop_front();
            h.q.rptr += AQL_WORDS;
        }
        if h.q.rptr != before {
            self.show_pointers(h);
            if h.q.reports {
                let index = h.q.rptr / AQL_WORDS;
                if let Err(fault) = self.space_of(h).store_u64(h.q.report, index) {
                    self.stop_for(h, &fault.into());
                }
            }
        }
        worked
    }

    /// Launches the packet at a ring pointer; false when it has to wait.
    fn launch_packet(&mut self, h: &mut Hqd, at: u64) -> Result<bool, PacketError> {
        if h.launched.items.back().is_some_and(Item::holds) {
            return Ok(false);
        }
        if h.starved && !self.is_answered(h)? {
            return Ok(false);
        }
        let again = std::mem::take(&mut h.starved);
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
        if header.barrier && h.launched.items.iter().any(|item| !item.done) {
            return Ok(false);
        }
        let mut words = [0; AQL_WORDS as usize];
        self.space(vmid).read_words(address, &mut words)?;
        let is_dispatch = header.packet_type == aql::TYPE_KERNEL_DISPATCH;
        if is_dispatch
            && !h.launched.is_empty()
            && !h
                .loads
                .have_room(most_of(self.generation.isa, &KernelDispatch(words)))
        {
            // Not more is begun than can be saved.
            return Ok(false);
        }
        if is_dispatch && self.env.rules().is_about(Kind::Dispatch) && !self.may_launch(h, at)? {
            return Ok(false);
        }
        let keys = h.keys();
        let event = Event::of(Kind::AqlPacket).with(&keys);
        if !again && self.env.rules().ask(&event) == Some(Effect::HideWord) {
            // The last word of the body has not arrived yet.
            if let Some(word) = words.last_mut() {
                *word = 0;
            }
        }
        if !again {
            self.env.pause().at(&event);
            self.trace_packet(h, at, &header, &words);
        }
        if header.acquire != aql::FENCE_NONE {
            fence(Ordering::SeqCst);
            self.units.acquire();
            self.cu.invalidate_code();
        }
        let (work, signal) = match header.packet_type {
            aql::TYPE_KERNEL_DISPATCH => {
                let packet = KernelDispatch(words);
                check_dispatch(&packet)?;
                let d = match self.prepare(h, &packet, at) {
                    Err(PacketError::Scratch(lanes)) if self.ask_for_scratch(h, lanes)? => {
                        h.starved = true;
                        return Ok(false);
                    }
                    prepared => prepared?,
                };
                self.trace_start(h, at, &packet, &d);
                d.submit(&self.units);
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
                let condition = match kind {
                    aql::TYPE_BARRIER_OR => Condition::Any(signals),
                    _ => Condition::All(signals),
                };
                (
                    Work::Barrier(condition),
                    packet.get(Barrier::COMPLETION_SIGNAL),
                )
            }
            aql::TYPE_VENDOR_SPECIFIC => vendor(h, &words)?,
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
        h.launched.items.push_back(Item {
            work,
            signal,
            release: header.release,
            registers: None,
            started: self.env.clock().now(),
            done: false,
        });
        Ok(true)
    }

    /// Whether a dispatch may be launched now, by the rules; it may be refused, or the queue's process
    /// has page faults that it did not make.
    fn may_launch(&mut self, h: &Hqd, at: u64) -> Result<bool, PacketError> {
        let keys = h.keys();
        let event = Event::of(Kind::Dispatch).with(&keys);
        let env = self.env.clone();
        // Another process may have a queue with the same MQD later.
        let place = h.q.mqd ^ (u64::from(h.owner.pasid) << 48);
        match self.holds.ask(env.rules(), place, at, &event) {
            Go::Wait => return Ok(false),
            Go::First(Effect::Fail(_)) => {
                let what = "AQL dispatch: refused by a rule";
                return Err(PacketError::bad(code::CODE, what));
            }
            Go::First(Effect::FaultFlood(count)) => {
                for page in 0..u64::from(count) {
                    env.vm_fault(&VmFault {
                        hub: Hub::Gfx(h.slot.xcc()),
                        vmid: h.owner.vmid,
                        va: (page + 1) * PAGE,
                        access: Access::Read,
                        reason: FaultReason::Invalid(0),
                    });
                }
            }
            Go::First(_) | Go::On(_) => {}
        }
        Ok(true)
    }

    /// Whether a barrier packet's signals let it go.
    fn barrier_open(&self, h: &Hqd, condition: &Condition) -> Result<bool, PacketError> {
        let space = self.space_of(h);
        let value = |signal: u64| space.load_u64(signal + aql::Signal::VALUE.word() as u64 * 4);
        let (signals, any) = match condition {
            Condition::All(signals) => (signals, false),
            Condition::Any(signals) => (signals, true),
            Condition::Value { signal: 0, .. } => return Ok(true),
            Condition::Value {
                signal,
                value: reference,
                mask,
                compare,
            } => return Ok(compare(&((value(*signal)? & mask) as i64), reference)),
        };
        let mut named = signals.iter().filter(|&&signal| signal != 0).peekable();
        if named.peek().is_none() {
            return Ok(true);
        }
        for &signal in named {
            if (value(signal)? == 0) == any {
                return Ok(any);
            }
        }
        Ok(!any)
    }
}

/// Begins a vendor's packet: what it does, and its completion signal.
fn vendor(h: &mut Hqd, words: &[u32; AQL_WORDS as usize]) -> Result<(Work, u64), PacketError> {
    match Vendor(*words).get(Vendor::FORMAT) as u8 {
        aql::VENDOR_PM4_IB => {
            let packet = Pm4Ib(*words);
            let (address, words) = check_pm4_ib(&packet)?;
            // Where it was interrupted, it goes on.
            h.buffer.get_or_insert(Buffer::new(address, words));
            Ok((Work::Commands, packet.get(Pm4Ib::COMPLETION_SIGNAL)))
        }
        aql::VENDOR_BARRIER_VALUE => {
            let packet = BarrierValue(*words);
            let condition = check_barrier_value(&packet)?;
            let signal = packet.get(BarrierValue::COMPLETION_SIGNAL);
            Ok((Work::Barrier(condition), signal))
        }
        other => Err(PacketError::bad(
            code::VENDOR,
            format!("AQL vendor-specific packet of unknown format {other}"),
        )),
    }
}
