// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a wave's memory operations have yet to do, as far as the program can know: until it has waited for the
//! right counter, a register that a load writes has its old value, its new one, or half of each.
//!
//! Here every operation completes at once, so a program without the wait computes the right thing. This room
//! finds the register that is used too early. It knows what hardware promises and no more: operations of
//! one class in one counter complete in order, so that of `n` that may be left the last `n` are; scalar
//! loads complete in any order, so that only a wait for none shows anything.
//!
//! A register that two loads of one class write needs no wait between them. (On gfx12 it does, which LLVM
//! before version 20 did not know: its programs would be refused.) Stores and atomics of gfx9 and gfx12 read
//! their data when they are issued; of global wave synchronisation gfx9's expcnt shows it.

use crate::decode::counters::{Class, Counted, Counter, Waits};
use crate::decode::uses::{Span, Uses};
use crate::decode::{code, Inst};
use crate::exec::flat;
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::Wave;
use std::collections::VecDeque;

/// Scalar registers, then vector and accumulation registers as the wave has them.
const SCALARS: usize = 128;
const REGISTERS: usize = SCALARS + 512;

/// Registers of a wave, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slots {
    first: u16,
    count: u16,
}

impl Slots {
    const NONE: Self = Self { first: 0, count: 0 };

    fn of<const L: usize>(w: &Wave<L>, span: &Span) -> Self {
        let first = match span.first {
            scalar @ 0..128 => scalar,
            vector => SCALARS as u16 + w.slot(vector) as u16,
        };
        Self {
            first,
            count: span.count,
        }
    }

    fn all(self) -> impl Iterator<Item = usize> {
        let first = usize::from(self.first);
        (first..first + usize::from(self.count)).take_while(|n| *n < REGISTERS)
    }

    fn meets(self, other: Self) -> bool {
        self.first < other.first + other.count && other.first < self.first + self.count
    }
}

/// An operation that may not have completed.
#[derive(Clone, Copy, Debug)]
struct Operation {
    pc: u64,
    class: Class,
    /// The registers that it has yet to write, or to read if the counter is expcnt.
    registers: Slots,
}

/// Operations of one counter, the oldest first.
type Line = VecDeque<Operation>;

/// Operations of a wave that complete one after the other, and are counted in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// Those of LDS.
    Lds,
    /// Those of vector memory; on gfx12 those that answer.
    Loads,
    /// The others of gfx12's vector memory.
    Stores,
}

impl Counted {
    /// The sequence of an operation of vector memory.
    pub(crate) fn sequence(self) -> Sequence {
        let (Self::By(counter, _)
        | Self::Flat {
            vector: counter, ..
        }) = self
        else {
            return Sequence::Loads;
        };
        match counter {
            Counter::Storecnt => Sequence::Stores,
            _ => Sequence::Loads,
        }
    }
}

impl Sequence {
    /// How many there are.
    const COUNT: usize = 3;

    fn of(counter: Counter, class: Class) -> Option<Self> {
        match (class, counter) {
            (Class::Lds, _) => Some(Self::Lds),
            (Class::Vector, Counter::Storecnt) => Some(Self::Stores),
            (Class::Vector, _) => Some(Self::Loads),
            (Class::Scalar | Class::Global, _) => None,
        }
    }
}

/// A wave's operations that may not have completed.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    lines: [Line; Counter::COUNT],
    /// Registers that any of them has yet to write.
    written: [u64; REGISTERS / 64],
    /// How many operations have registers.
    busy: u32,
    /// Operations of each sequence that were ever issued.
    issued: [u32; Sequence::COUNT],
}

impl Default for Pending {
    fn default() -> Self {
        Self {
            lines: Default::default(),
            written: [0; REGISTERS / 64],
            busy: 0,
            issued: [0; Sequence::COUNT],
        }
    }
}

const ALL: [Counter; Counter::COUNT] = [
    Counter::Vmcnt,
    Counter::Lgkmcnt,
    Counter::Expcnt,
    Counter::Loadcnt,
    Counter::Storecnt,
    Counter::Samplecnt,
    Counter::Bvhcnt,
    Counter::Kmcnt,
    Counter::Dscnt,
];

impl Pending {
    /// An instruction, before it is executed: whether what it uses is there.
    ///
    /// # Errors
    /// [`FaultKind::Unwaited`].
    #[inline]
    pub fn check<const L: usize>(
        &mut self,
        w: &Wave<L>,
        i: &Inst,
        uses: &Uses,
    ) -> Result<(), FaultKind> {
        if self.busy == 0 && uses.waits.is_none() && uses.counted == Counted::Not {
            return Ok(());
        }
        self.look(w, i, uses)
    }

    #[inline(never)]
    fn look<const L: usize>(
        &mut self,
        w: &Wave<L>,
        i: &Inst,
        uses: &Uses,
    ) -> Result<(), FaultKind> {
        if self.busy > 0 && w.mode & mode::GPR_INDEX == 0 {
            for span in &uses.spans {
                let slots = Slots::of(w, span);
                if self.is_busy(slots) {
                    self.find(span, slots, uses.counted)?;
                }
            }
        }
        if let Some(waits) = &uses.waits {
            self.wait(waits);
        }
        if uses.counted != Counted::Not {
            self.issue(w, i, uses);
        }
        Ok(())
    }

    /// Everything has completed.
    pub fn clear(&mut self) {
        let issued = self.issued;
        *self = Self {
            issued,
            ..Self::default()
        };
    }

    /// How many operations of a sequence were ever issued.
    pub fn issued(&self, sequence: Sequence) -> u32 {
        self.issued[sequence as usize]
    }

    /// How many of them, the first ones, have completed as far as the program knows.
    pub fn completed(&self, sequence: Sequence) -> u32 {
        let lines = ALL.into_iter().zip(&self.lines);
        let left = lines.map(|(counter, line)| {
            let of = |o: &&Operation| Sequence::of(counter, o.class) == Some(sequence);
            line.iter().filter(of).count() as u32
        });
        self.issued(sequence).saturating_sub(left.sum())
    }

    fn is_busy(&self, slots: Slots) -> bool {
        let reads = !self.lines[Counter::Expcnt as usize].is_empty();
        reads
            || slots
                .all()
                .any(|n| (self.written[n / 64] >> (n % 64)) & 1 == 1)
    }

    /// The operation that has yet to do something with registers, if the instruction must not use them.
    fn find(&self, span: &Span, slots: Slots, counted: Counted) -> Result<(), FaultKind> {
        for (counter, line) in ALL.into_iter().zip(&self.lines) {
            for operation in line.iter().rev().filter(|o| o.registers.meets(slots)) {
                let in_order = counted == Counted::By(counter, operation.class);
                let in_order = in_order && operation.class != Class::Scalar;
                let reads = counter == Counter::Expcnt;
                if span.written && in_order || reads && !span.written {
                    continue;
                }
                let skipped = operation.registers.first.saturating_sub(slots.first);
                return Err(FaultKind::Unwaited {
                    register: span.first + skipped,
                    counter,
                    pc: operation.pc,
                });
            }
        }
        Ok(())
    }

    fn wait(&mut self, waits: &Waits) {
        let mut changed = false;
        for (line, left) in self.lines.iter_mut().zip(waits) {
            changed |= !line.is_empty() && complete(line, *left);
        }
        if changed {
            self.count();
        }
    }

    fn issue<const L: usize>(&mut self, w: &Wave<L>, i: &Inst, uses: &Uses) {
        let back = uses.spans.iter().find(|span| span.written);
        // Nothing comes back to a wave without active lanes, but what a scalar operation reads.
        let scalar = matches!(uses.counted, Counted::By(_, Class::Scalar));
        let active = scalar || w.exec() & Wave::<L>::FULL != 0;
        let registers = match back {
            Some(span) if active && span.first != code::NOWHERE => Slots::of(w, span),
            _ => Slots::NONE,
        };
        match uses.counted {
            Counted::Not => {}
            Counted::By(counter, class) => self.add(w.pc, counter, class, registers),
            Counted::Flat {
                vector,
                lds,
                in_order,
            } => {
                let (to_memory, to_lds) = flat::places(w, i);
                let part = |there: bool| if there { registers } else { Slots::NONE };
                if to_memory || in_order {
                    self.add(w.pc, vector, Class::Vector, part(to_memory));
                }
                if to_lds || in_order {
                    self.add(w.pc, lds, Class::Lds, part(to_lds));
                }
            }
            Counted::Global(counter, read) => {
                let data = uses.spans.first().map_or(Slots::NONE, |s| Slots::of(w, s));
                self.add(w.pc, counter, Class::Global, Slots::NONE);
                self.add(w.pc, read, Class::Global, data);
            }
        }
    }

    fn add(&mut self, pc: u64, counter: Counter, class: Class, registers: Slots) {
        if let Some(sequence) = Sequence::of(counter, class) {
            let issued = &mut self.issued[sequence as usize];
            *issued = issued.saturating_add(1);
        }
        let line = &mut self.lines[counter as usize];
        line.push_back(Operation {
            pc,
            class,
            registers,
        });
        let most = counter.most();
        let mut changed = false;
        if line.len() > usize::from(most) {
            // It was not issued before there was room, which of operations in order shows that the
            // oldest has completed. Of others it shows only that some have.
            changed = complete(line, most);
            changed |= line.len() > 2 * usize::from(most) && line.pop_front().is_some();
        }
        if changed {
            self.count();
        } else if registers.count > 0 {
            self.busy += 1;
            if counter != Counter::Expcnt {
                mark(&mut self.written, registers);
            }
        }
    }

    fn count(&mut self) {
        self.busy = 0;
        self.written = [0; REGISTERS / 64];
        for (counter, line) in ALL.into_iter().zip(&self.lines) {
            for operation in line.iter().filter(|o| o.registers.count > 0) {
                self.busy += 1;
                if counter != Counter::Expcnt {
                    mark(&mut self.written, operation.registers);
                }
            }
        }
    }
}

fn mark(written: &mut [u64; REGISTERS / 64], slots: Slots) {
    slots.all().for_each(|n| written[n / 64] |= 1 << (n % 64));
}

/// Removes the operations that have completed if at most `left` of the line have not; whether there are any.
fn complete(line: &mut Line, left: u8) -> bool {
    let before = line.len();
    if left == 0 {
        line.clear();
        return before > 0;
    }
    // So many of the same class came later: they can't have completed if this one has not.
    let mut later = [0u32; 4];
    for n in (0..before).rev() {
        let Some(operation) = line.get(n) else { break };
        let (class, count) = (operation.class, &mut later[operation.class as usize]);
        if class != Class::Scalar && *count >= u32::from(left) {
            line.remove(n);
        }
        *count += 1;
    }
    line.len() != before
}
