// SPDX-License-Identifier: MIT OR Apache-2.0

//! Executing PM4 packets of a process, one after the other: of a PM4 queue's ring, and of indirect
//! buffers that a packet of either kind of queue names.
//!
//! RELEASE_MEM of a PM4 queue holds nothing up, as on hardware: it happens when what was launched
//! before has ended, and packets behind it are executed meanwhile. In an AQL packet's buffer the
//! processor waits for it.
//!
//! Source: Linux, `amdgpu/gfx_v9_4_3.c` and `amdgpu/gfx_v12_0.c` (`_ring_emit_fence`,
//! `_ring_emit_ib`: what its own packets are for); the HQD registers CP_HQD_IB_*, which have room
//! for one indirect buffer: a queue is in one at a time.

use super::waves::End;
use crate::engines::cp::front::buffer::{Buffer, Only};
use crate::engines::cp::front::hqd::Image;
use crate::engines::cp::mec::inflight::{Item, Work, UNDER_WAY};
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::command::{self, Acquire, Command, Release, Source};
use crate::engines::cp::packet::error::{code, PacketError};
use crate::engines::cp::packet::pm4::Place;
use crate::trace::Value;
use rkfd_hw::ih::{client, source};
use rkfd_hw::pm4::commands::*;
use std::sync::atomic::{fence, Ordering};

/// Packets that one queue may have executed before others get their turn.
const AT_ONCE: usize = 64;

/// How far the commands of a buffer got.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// To their end.
    Ended,
    /// On.
    On,
    /// Nowhere: one of them waits.
    Waits,
}

/// A packet where a queue is, and where it lies.
struct Fetched {
    at: u64,
    words: Vec<u32>,
}

impl Mec {
    /// Completes and executes commands of a PM4 queue; whether anything happened.
    pub(crate) fn step_commands(&mut self, h: &mut Hqd) -> bool {
        let mut worked = !h.broken && self.complete_commands(h);
        for _ in 0..AT_ONCE {
            if h.broken || h.stop.is_some() {
                break;
            }
            match self.step_command(h, !h.launched.has_waves()) {
                Ok(Progress::On) => worked = true,
                Ok(_) => break,
                Err(error) => {
                    self.stop_for(h, &error);
                    worked = true;
                }
            }
        }
        worked
    }

    /// Completes what a PM4 queue has launched, in order.
    pub(crate) fn complete_commands(&mut self, h: &mut Hqd) -> bool {
        // A dispatch that fails or reports something is handled at once, in any order.
        for i in 0..h.launched.items.len() {
            if let Some(Work::Dispatch(d)) = h.launched.items.get(i).map(|item| &item.work) {
                let d = d.clone();
                if self.end_of(h, &d) == End::Failed {
                    return true;
                }
            }
        }
        let mut worked = false;
        while let Some(item) = h.launched.items.front() {
            match &item.work {
                Work::Dispatch(d) => {
                    let d = d.clone();
                    match self.end_of(h, &d) {
                        End::Failed => return true,
                        End::NotYet => break,
                        End::Done => self.trace_end(h, 0, &d, self.env.clock().now()),
                    }
                }
                Work::Release(release) => {
                    if let Err(error) = self.release_mem(h, release) {
                        self.stop_for(h, &error);
                        return true;
                    }
                }
                Work::Barrier(_) | Work::Commands => {}
            }
            h.launched.items.pop_front();
            worked = true;
        }
        worked
    }

    /// Executes some commands of the buffer that an AQL queue is in. `idle`: everything that was
    /// launched before has ended.
    pub(crate) fn step_buffer(&mut self, h: &mut Hqd, idle: bool) -> Result<Progress, PacketError> {
        for n in 0..AT_ONCE {
            match self.step_command(h, idle)? {
                Progress::On => {}
                Progress::Waits if n > 0 => return Ok(Progress::On),
                other => return Ok(other),
            }
        }
        Ok(Progress::On)
    }

    /// Executes the command that comes next. `idle`: the shaders before have ended.
    pub(crate) fn step_command(
        &mut self,
        h: &mut Hqd,
        idle: bool,
    ) -> Result<Progress, PacketError> {
        let Some(Fetched { at, words }) = self.fetch(h)? else {
            return Ok(Progress::Ended);
        };
        let parsed = command::parse(&words, self.generation.commands)?;
        if !self.execute(h, &parsed, idle)? {
            return Ok(Progress::Waits);
        }
        self.trace_command(h, at, &parsed, &words);
        match (&mut h.buffer, &parsed) {
            (
                buffer,
                &Command::Buffer {
                    address,
                    words: size,
                    chain,
                },
            ) => {
                if chain != buffer.is_some() {
                    let what = "PM4: a buffer in another one that is no chain, or a chain in none";
                    return Err(PacketError::bad(code::UNSUPPORTED, what));
                }
                *buffer = Some(Buffer::new(address, size));
                if !chain {
                    self.consume(h, words.len())?;
                }
            }
            (Some(buffer), &Command::Predicate { words: count, xccs }) => {
                let from = buffer.done;
                buffer.pass(words.len());
                let until = buffer.done.saturating_add(count);
                buffer.only = (count > 0).then_some(Only { from, until, xccs });
            }
            (None, Command::Predicate { .. }) => {
                let what = "PM4: PRED_EXEC outside of a buffer is not modelled";
                return Err(PacketError::bad(code::UNSUPPORTED, what));
            }
            (Some(buffer), _) => buffer.pass(words.len()),
            (None, _) => self.consume(h, words.len())?,
        }
        Ok(Progress::On)
    }

    /// The packet that comes next: of the buffer that the queue is in, else of a PM4 queue's ring.
    fn fetch(&self, h: &mut Hqd) -> Result<Option<Fetched>, PacketError> {
        let space = self.space_of(h);
        let ended = |buffer: Buffer| buffer.done >= buffer.words;
        h.buffer = h.buffer.filter(|&buffer| !ended(buffer));
        let (at, left) = match h.buffer {
            Some(b) => (
                b.address.wrapping_add(u64::from(b.done) * 4),
                u64::from(b.words - b.done),
            ),
            None if h.q.aql => return Ok(None),
            None => (h.q.at(h.q.rptr), h.q.wptr.saturating_sub(h.q.rptr)),
        };
        if left == 0 {
            return Ok(None);
        }
        let size = command::size(space.load_u32(at)?)?;
        if size as u64 > left {
            let what = "PM4: a packet is longer than what is left of its ring or buffer";
            return Err(PacketError::bad(code::RESERVED, what));
        }
        let mut words = vec![0; size];
        match h.buffer {
            Some(_) => space.read_words(at, &mut words)?,
            None => {
                for (word, pointer) in words.iter_mut().zip(h.q.rptr..) {
                    *word = space.load_u32(h.q.at(pointer))?;
                }
            }
        }
        Ok(Some(Fetched { at, words }))
    }

    /// Moves a PM4 queue's read pointer on.
    fn consume(&self, h: &mut Hqd, words: usize) -> Result<(), PacketError> {
        h.q.rptr += words as u64;
        self.show_pointers(h);
        let q = h.q.clone();
        if q.reports {
            // 32 bits, within the ring.
            let pointer = (q.rptr & (q.size - 1)) as u32;
            self.space_of(h).store_u32(q.report, pointer)?;
        }
        Ok(())
    }

    /// Executes one command but for an INDIRECT_BUFFER; false when it has to wait.
    fn execute(&mut self, h: &mut Hqd, command: &Command, idle: bool) -> Result<bool, PacketError> {
        let Some(&first) = self.executing(h).first() else {
            // The packet is for other XCCs.
            return Ok(true);
        };
        let space = self.space_of(h);
        match command {
            Command::Nop | Command::Buffer { .. } | Command::Predicate { .. } => {}
            Command::Write {
                address,
                same: false,
                data,
            } => space.write_words(*address, data)?,
            Command::Write { address, data, .. } => {
                for word in data {
                    space.store_u32(*address, *word)?;
                }
            }
            Command::Copy { from, to, wide } => {
                let value = match (from, wide) {
                    (Source::Register(at), true) => {
                        let low = self.config_register(first, *at)?;
                        let high = self.config_register(first, at.wrapping_add(1))?;
                        u64::from(low) | (u64::from(high) << 32)
                    }
                    (Source::Register(at), false) => self.config_register(first, *at)?.into(),
                    (Source::Memory(at), true) => space.load_u64(*at)?,
                    (Source::Memory(at), false) => space.load_u32(*at)?.into(),
                    (Source::Immediate(value), _) => *value,
                    (Source::Clock, _) => self.env.clock().now(),
                };
                match wide {
                    true => space.store_u64(*to, value)?,
                    false => space.store_u32(*to, value as u32)?,
                }
            }
            Command::Release(release) if !h.q.aql => {
                if h.launched.len() >= UNDER_WAY {
                    return Ok(false);
                }
                let now = self.env.clock().now();
                let item = Item::of(Work::Release(release.clone()), now);
                h.launched.items.push_back(item);
            }
            Command::Release(_) | Command::Flush if !idle => return Ok(false),
            Command::Release(release) => self.release_mem(h, release)?,
            Command::Flush => {}
            Command::Acquire(Acquire {
                code,
                data,
                write_back,
            }) => {
                fence(Ordering::SeqCst);
                if *write_back {
                    self.units.write_back_of(h.slot.xcc());
                }
                self.units.invalidate_data(*data);
                if *code {
                    self.units.invalidate_code();
                    self.cu.invalidate_code();
                }
            }
            Command::Wait(wait) => {
                if let Some(first) = wait.first {
                    self.write_bus(first, wait.reference)?;
                }
                let value = match wait.place {
                    Place::Memory(address) => space.load_u32(address)?,
                    Place::Register(at) => self.read_bus(at)?,
                };
                let value = value & wait.mask;
                return Ok(command::compares(wait.function, value, wait.reference));
            }
            Command::SetConfig { first, values } => {
                for (register, &value) in (*first..).zip(values) {
                    self.set_config_register(h, UCONFIG.saturating_add(register), value)?;
                }
            }
            Command::SetRegisters { first, values } if enables_counters(*first, values) => {
                self.set_registers(h, *first, values)?;
            }
            Command::SetRegisters { .. } | Command::Launch(_) if h.q.aql => {
                let what = format!(
                    "{} in an AQL packet's buffer is not modelled",
                    command.name()
                );
                return Err(PacketError::bad(code::UNSUPPORTED, what));
            }
            Command::SetRegisters { first, values } => self.set_registers(h, *first, values)?,
            Command::Launch(launch) => return self.launch(h, launch),
        }
        Ok(true)
    }

    /// RELEASE_MEM, when its time has come.
    fn release_mem(&self, h: &Hqd, release: &Release) -> Result<(), PacketError> {
        fence(Ordering::SeqCst);
        if release.write_back {
            self.units.write_back_of(h.slot.xcc());
        }
        let space = self.space_of(h);
        let [_, interrupt, data] = release.select;
        match data {
            DATA_NONE => {}
            DATA_32 => space.store_u32(release.address, release.data as u32)?,
            DATA_64 => space.store_u64(release.address, release.data)?,
            _ => space.store_u64(release.address, self.env.clock().now())?,
        }
        if matches!(interrupt, INT_ONLY | INT_AFTER_WRITE) {
            let data = [release.context, 0, 0, 0];
            self.interrupt(h, client::GRBM_CP, source::CP_EOP, data);
        }
        Ok(())
    }

    fn trace_command(&self, h: &Hqd, at: u64, command: &Command, words: &[u32]) {
        if !self.env.trace().is_on() {
            return;
        }
        let name = h.slot.to_string();
        self.env.trace().event(
            "pm4_user",
            &[
                ("queue", Value::Text(&name)),
                ("address", Value::Hex(at)),
                ("packet", Value::Text(command.name())),
                ("words", Value::Words(words)),
            ],
        );
    }
}

/// Whether SET_SH_REG sets COMPUTE_PERFCOUNT_ENABLE alone, which programs do in an AQL packet's buffer, too.
fn enables_counters(first: u32, values: &[u32]) -> bool {
    let word = Image::COMPUTE_PERFCOUNT_ENABLE.word() as u32;
    values.len() == 1 && first == SH_COMPUTE + word - 1
}
