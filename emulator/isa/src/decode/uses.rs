// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which registers an instruction reads and writes, and what it has to do with the counters of memory
//! operations.
//!
//! Registers that are found only while a program runs are not among them: those of moves whose register M0
//! chooses, and of loads and stores of blocks.

use super::counters::{returns, Counted, Waits};
use super::kind::Kind;
use super::order::{self, Order};
use super::table::Family;
use super::{buffer, code, families, Inst, Op};

/// Registers that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first, an operand code.
    pub first: u16,
    /// How many.
    pub count: u16,
    /// The instruction writes them.
    pub written: bool,
}

/// What an instruction uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Registers.
    pub spans: Box<[Span]>,
    /// Waits.
    pub waits: Option<Box<Waits>>,
    /// Where it is counted.
    pub counted: Counted,
    /// What it has to do with the order of accesses to memory.
    pub order: Order,
}

impl Uses {
    /// Of an instruction, with what its chip says about counters.
    pub fn new(i: &Inst, of: fn(&Inst) -> (Option<Waits>, Counted)) -> Self {
        let (waits, counted) = of(i);
        Self {
            spans: spans(i).into(),
            waits: waits.map(Box::new),
            counted,
            order: order::of(i),
        }
    }
}

/// Collects spans of registers that exist.
#[derive(Default)]
struct Spans(Vec<Span>);

impl Spans {
    fn add(&mut self, first: u16, count: u16, written: bool) {
        let is_register = first < 128 || (first >= code::VGPR && first != code::NONE);
        if count > 0 && is_register {
            self.0.push(Span {
                first,
                count,
                written,
            });
        }
    }

    fn read(&mut self, first: u16, count: u16) {
        self.add(first, count, false);
    }

    fn write(&mut self, first: u16, count: u16) {
        self.add(first, count, true);
    }
}

fn spans(i: &Inst) -> Vec<Span> {
    let mut to = Spans::default();
    match i.family {
        Family::Smem => scalar_memory(&mut to, i),
        Family::Flat => flat(&mut to, i),
        Family::Ds => lds(&mut to, i),
        Family::Mubuf | Family::Mtbuf => buffers(&mut to, i),
        Family::Sopp => {
            if matches!(i.op, Op::SCbranchVccz | Op::SCbranchVccnz) {
                to.read(code::VCC, 2);
            }
        }
        Family::Vopd => {
            pair_half(&mut to, i.op, &i.src, i.dst);
            if let Some(half) = &i.half {
                pair_half(&mut to, half.op, &half.src, half.dst);
            }
        }
        _ if i.op.name().contains("movrel") => {}
        _ => {
            let [dst, first, second, third, mask] = families::spans(i).map(u16::from);
            to.read(i.src[0], first);
            to.read(i.src[1], second);
            // Lane masks have no width in the records.
            to.read(i.src[2], third.max(families::has_mask_source(i.op).into()));
            if matches!(i.op, Op::VDivFmasF32 | Op::VDivFmasF64) {
                to.read(code::VCC, 1);
            }
            to.write(i.dst, dst);
            let compares = matches!(i.kind, Kind::Compare { .. } | Kind::Class(..));
            let has_mask = compares || families::has_sdst(i.op);
            to.write(i.sdst, mask.max(has_mask.into()));
        }
    }
    to.0
}

/// One of the operations of a pair. A move has no second source, though its encoding has the bits.
fn pair_half(to: &mut Spans, op: Op, src: &[u16], dst: u16) {
    let count = if op == Op::VMovB32 { 1 } else { src.len() };
    src.iter()
        .take(count)
        .for_each(|source| to.read(*source, 1));
    to.write(dst, 1);
}

fn scalar_memory(to: &mut Spans, i: &Inst) {
    let [data, base, ..] = i.row.widths.map(u16::from);
    to.read(i.src[0], base);
    to.read(i.src[1], 1);
    let stores =
        matches!(i.kind, Kind::Store(_)) || (matches!(i.kind, Kind::Atomic(..)) && !returns(i));
    to.add(i.dst, data, !stores);
}

/// Registers of vector data: what comes back, and what goes out.
fn data(i: &Inst) -> (u16, u16) {
    match i.kind {
        Kind::Load(count) => (count.into(), 0),
        Kind::LoadSmall { .. } => (1, 0),
        Kind::Store(count) => (0, count.into()),
        Kind::StoreSmall(..) => (0, 1),
        Kind::Atomic(_, wide) => {
            let old = if wide { 2 } else { 1 };
            let (_, new) = (old, u16::from(i.row.widths[2]).max(old));
            (if returns(i) { old } else { 0 }, new)
        }
        _ => (0, 0),
    }
}

fn flat(to: &mut Spans, i: &Inst) {
    let (back, out) = data(i);
    let scalar = if i.op_sel == 1 { 1 } else { 2 };
    to.read(i.src[0], i.row.widths[1].into());
    to.read(i.src[2], scalar);
    to.read(i.src[1], out);
    to.write(i.dst, back);
}

fn lds(to: &mut Spans, i: &Inst) {
    let [back, address, first, second, _] = i.row.widths.map(u16::from);
    if i.op.name().starts_with("ds_gws_") {
        to.read(i.gws_data(), first);
        return;
    }
    to.read(i.src[0], address);
    to.read(i.src[1], first);
    to.read(i.src[2], second);
    to.write(i.dst, back);
}

fn buffers(to: &mut Spans, i: &Inst) {
    let (data, address) = buffer::widths(i);
    if i.kind != Kind::Hint {
        to.read(i.sdst, 4);
        to.read(i.src[2], 1);
    }
    to.read(i.src[0], address);
    to.add(i.dst, data, returns(i));
}
