// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races between the waves of a workgroup for memory: two waves access the same bytes by plain loads and stores of
//! vector memory, one of them stores something else than was there, and nothing orders the two.
//!
//! It finds fewer races than there are, and none that isn't one. A barrier orders what comes before it, on gfx12 as
//! far as the wave has waited for it; gfx942's waves share a vector cache that keeps their order (LLVM, AMDGPUUsage,
//! "Memory Model gfx942": a release of a workgroup waits for no vector memory). Anything by which a program could order
//! accesses itself counts as if it did: atomic operations, accesses of a scope wider than the wave's, as volatile
//! and atomic ones are, maintenance of caches, stores to LDS (for who loads from it later) and global wave
//! synchronisation. Such accesses race with nobody, and each comes behind all those before it, of whatever address.
//! Bytes to which two waves store the same are looked at no more before the next barrier.
//!
//! Scalar loads, buffers, loads and stores of blocks, scratch, and what other workgroups do are not looked at.

use super::Clocks;
use crate::decode::kind::Kind;
use crate::decode::order::Order;
use crate::decode::uses::Uses;
use crate::decode::Inst;
use crate::exec::flat::{self, Place};
use crate::exec::lanes::active;
use crate::exec::{touched, Context};
use crate::fault::{FaultKind, Space};
use crate::kernel::InOrder;
use crate::waits::{Pending, Sequence};
use crate::wave::{Barrier, Wave};
use std::collections::HashMap;

/// Bytes of a line: one for each bit of a mask.
const LINE: u64 = 128;
/// The most lines of which accesses are kept. When there are more, all are forgotten.
const MOST: usize = 1024;
/// The most accesses that are kept of a line.
const KEPT: usize = 4;

/// What vector memory counts, each with a clock of its own.
const SEQUENCES: [Sequence; 2] = [Sequence::Loads, Sequence::Stores];

/// The place of a wave's clock of one sequence among all.
fn clock_of(wave: usize, sequence: Sequence) -> usize {
    SEQUENCES.len() * wave + usize::from(sequence == Sequence::Stores)
}

/// A plain access to bytes of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Access {
    /// A bit for each byte; none if there is no access.
    bytes: u128,
    wave: usize,
    /// Which of the wave's clocks counts it, and what that shows.
    clock: (usize, u32),
    pc: u64,
    writes: bool,
}

/// Who accessed a line last.
#[derive(Clone, Debug, Default)]
struct Line {
    accesses: [Access; KEPT],
    /// Bytes to which several waves stored the same.
    same: u128,
}

impl Line {
    /// An access of another wave that is not before this one, with the bytes that both access.
    fn unordered(&self, now: &Access, known: &Clocks) -> Option<Access> {
        self.accesses.iter().find_map(|other| {
            let bytes = other.bytes & now.bytes & !self.same;
            let (clock, at) = other.clock;
            let races = bytes != 0
                && other.wave != now.wave
                && (other.writes || now.writes)
                && at > known.of(clock);
            races.then_some(Access { bytes, ..*other })
        })
    }

    /// Keeps an access that comes behind all others of its bytes. For who comes later a store stands for all before it,
    /// and a load for those of its wave.
    fn keep(&mut self, now: Access) {
        let is_same = |old: &Access| old.bytes != 0 && (old.pc, old.clock) == (now.pc, now.clock);
        if let Some(old) = self.accesses.iter_mut().find(|old| is_same(old)) {
            // Other lanes of the same instruction.
            old.bytes |= now.bytes;
        }
        let mut kept = false;
        for old in &mut self.accesses {
            if is_same(old) {
                kept = true;
            } else if now.writes || (!old.writes && old.wave == now.wave) {
                old.bytes &= !now.bytes;
            }
        }
        if !kept {
            let place = |which: fn(&Access) -> bool| self.accesses.iter().position(which);
            let free = place(|old| old.bytes == 0).or_else(|| place(|old| !old.writes));
            self.accesses[free.unwrap_or(0)] = now;
        }
    }
}

/// What is known of a workgroup's accesses to memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    lines: HashMap<u64, Line>,
    /// For each wave which operations are before its next one.
    waves: Vec<Clocks>,
    /// What those that have arrived at the barrier tell, and what they learn when all have.
    arrived: Clocks,
    released: Clocks,
    /// What waves have told by other means.
    told: Clocks,
    /// Whether an operation is before those of others only if it was waited for.
    waits: bool,
    /// Somebody has arrived at the barrier with operations for which it had not waited.
    left: bool,
}

impl Memory {
    /// Nothing yet, of so many waves. `None` where nothing could be found.
    pub fn new(waves: usize, in_order: InOrder) -> Option<Self> {
        if waves < 2 || in_order == InOrder::Unknown {
            return None;
        }
        Some(Self {
            lines: HashMap::new(),
            waves: vec![Clocks(vec![0; SEQUENCES.len() * waves]); waves],
            arrived: Clocks::default(),
            released: Clocks::default(),
            told: Clocks::default(),
            waits: in_order == InOrder::Waited,
            left: false,
        })
    }

    /// An instruction that has to do with the order of accesses, before it is executed.
    ///
    /// # Errors
    /// [`FaultKind::Race`].
    #[inline(never)]
    pub fn check<const L: usize>(
        &mut self,
        w: &Wave<L>,
        me: usize,
        (i, uses): (&Inst, &Uses),
        pending: &Pending,
        c: &mut Context<'_>,
    ) -> Result<(), FaultKind> {
        // Handlers save and restore waves, each at a place of its own.
        if w.trap.privileged {
            return Ok(());
        }
        match uses.order {
            Order::Arrives => {
                self.note(me, pending);
                if let Some(clocks) = self.waves.get(me) {
                    self.arrived.join(clocks);
                }
                let all = |s: &Sequence| pending.completed(*s) == pending.issued(*s);
                self.left |= self.waits && !SEQUENCES.iter().all(all);
            }
            Order::Waits if w.barrier == Barrier::Complete => self.learn(me),
            Order::None | Order::Waits => {}
            Order::Access => return self.access(w, me, (i, uses), pending, c),
            Order::Tells => self.tell(me, pending),
            Order::Learns => self.hear(me),
            Order::Both => {
                self.tell(me, pending);
                self.hear(me);
            }
        }
        Ok(())
    }

    /// All waves have arrived at the barrier but those that have ended; those of `waiting` go on.
    pub fn release(
        &mut self,
        waiting: impl Iterator<Item = usize>,
        ended: impl Iterator<Item = usize>,
    ) {
        self.released = std::mem::take(&mut self.arrived);
        for clock in ended.flat_map(|wave| SEQUENCES.map(|s| clock_of(wave, s))) {
            self.released.set(clock, u32::MAX);
        }
        waiting.for_each(|wave| self.learn(wave));
        if !std::mem::take(&mut self.left) {
            // All of it is before whatever comes.
            self.lines.clear();
        }
    }

    fn learn(&mut self, wave: usize) {
        if let Some(clocks) = self.waves.get_mut(wave) {
            clocks.join(&self.released);
        }
    }

    /// Sets a wave's own clocks to those of its operations that are before what others do once they know of them.
    fn note(&mut self, me: usize, pending: &Pending) {
        let Some(clocks) = self.waves.get_mut(me) else {
            return;
        };
        for sequence in SEQUENCES {
            let before = match self.waits {
                true => pending.completed(sequence),
                false => pending.issued(sequence),
            };
            clocks.set(clock_of(me, sequence), before);
        }
    }

    fn tell(&mut self, me: usize, pending: &Pending) {
        self.note(me, pending);
        if let Some(clocks) = self.waves.get(me) {
            self.told.join(clocks);
        }
    }

    fn hear(&mut self, me: usize) {
        if let Some(clocks) = self.waves.get_mut(me) {
            clocks.join(&self.told);
        }
    }

    /// A plain access of an instruction whose address is flat, or that of memory.
    fn access<const L: usize>(
        &mut self,
        w: &Wave<L>,
        me: usize,
        (i, uses): (&Inst, &Uses),
        pending: &Pending,
        c: &mut Context<'_>,
    ) -> Result<(), FaultKind> {
        let (size, writes) = match (i.kind, touched::size(i.kind)) {
            (Kind::LoadLds(bytes, _), _) => (bytes.into(), false),
            (_, Some((bytes, writes, _))) => (bytes, writes),
            _ => return Ok(()),
        };
        if writes && w.trap.stores_fail() {
            return Ok(());
        }
        let a = flat::addresses(w, i);
        let place = |l: usize| flat::place(w, i.op_sel, a[l]);
        if active(w).any(|l| matches!(place(l), Place::Lds(_))) {
            match writes {
                true => self.tell(me, pending),
                false => self.hear(me),
            }
        }
        let sequence = uses.counted.sequence();
        let access = |bytes| Access {
            bytes,
            wave: me,
            clock: (clock_of(me, sequence), pending.issued(sequence)),
            pc: w.pc,
            writes,
        };
        // What the lanes before access in one line.
        let mut open: (u64, u128) = (0, 0);
        for l in active(w).filter(|&l| matches!(place(l), Place::Memory(_))) {
            let (mut at, mut left) = (a[l], size);
            while left > 0 {
                let from = at % LINE;
                let here = left.min(LINE - from);
                let bytes: u128 = ((1 << here) - 1) << from;
                if open.0 == at / LINE {
                    open.1 |= bytes;
                } else {
                    self.touch(w, i, (&a, size), open.0, access(open.1), c)?;
                    open = (at / LINE, bytes);
                }
                at = at.wrapping_add(here);
                left -= here;
            }
        }
        self.touch(w, i, (&a, size), open.0, access(open.1), c)
    }

    /// An access to bytes of one line.
    fn touch<const L: usize>(
        &mut self,
        w: &Wave<L>,
        i: &Inst,
        lanes: (&[u64; L], u64),
        number: u64,
        access: Access,
        c: &mut Context<'_>,
    ) -> Result<(), FaultKind> {
        let Some(known) = self.waves.get(access.wave).filter(|_| access.bytes != 0) else {
            return Ok(());
        };
        if self.lines.len() >= MOST && !self.lines.contains_key(&number) {
            self.lines.clear();
        }
        let line = self.lines.entry(number).or_default();
        while let Some(other) = line.unordered(&access, known) {
            let at = match access.writes {
                true => changed(w, i, lanes, (number, other.bytes), c),
                false => Some(number * LINE + u64::from(other.bytes.trailing_zeros())),
            };
            let Some(at) = at else {
                line.same |= other.bytes;
                continue;
            };
            return Err(FaultKind::Race {
                space: Space::Memory,
                at,
                pc: other.pc,
                wave: other.wave as u8,
                wrote: other.writes,
                writes: access.writes,
            });
        }
        line.keep(access);
        Ok(())
    }
}

/// The first of some bytes of a line to which a store of `size` bytes from each lane's address on stores something else
/// than is there.
fn changed<const L: usize>(
    w: &Wave<L>,
    i: &Inst,
    (a, size): (&[u64; L], u64),
    (number, bytes): (u64, u128),
    c: &mut Context<'_>,
) -> Option<u64> {
    let half = match i.kind {
        Kind::StoreSmall(_, true) => 2,
        _ => 0,
    };
    let each = active(w).flat_map(|l| (0..size).map(move |n| (l, n)));
    let mut those = each.filter_map(|(l, n)| {
        let at = a[l].wrapping_add(n);
        let meant = at / LINE == number && (bytes >> (at % LINE)) & 1 == 1;
        meant.then_some((l, n + half, at))
    });
    those.find_map(|(l, n, at)| {
        let register = w.v.get(w.slot(i.src[1] + n as u16 / 4))?;
        let value = (register[l] >> (8 * (n % 4))) as u8;
        let there = c.look(at)?;
        (there != value).then_some(at)
    })
}
