// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counters of memory operations that have not completed: in which an operation is counted, and
//! for which of them an instruction waits.
//!
//! From AMD's CDNA3 ISA, section 4.4, RDNA4 ISA, section 5.2, and LLVM's SIInsertWaitcnts.cpp, which puts
//! the waits into compiled programs.

use super::kind::Kind;
use super::table::Family;
use super::{bits, Inst, Op};
use std::fmt;

/// A counter. gfx9 has the first three, gfx12 the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the manuals'")]
pub enum Counter {
    Vmcnt,
    Lgkmcnt,
    Expcnt,
    Loadcnt,
    Storecnt,
    Samplecnt,
    Bvhcnt,
    Kmcnt,
    Dscnt,
}

impl Counter {
    /// How many there are.
    pub const COUNT: usize = 9;

    /// The most operations that it counts: the next one waits until there are fewer.
    pub(crate) fn most(self) -> u8 {
        match self {
            Self::Vmcnt | Self::Loadcnt | Self::Storecnt | Self::Samplecnt | Self::Dscnt => 63,
            Self::Kmcnt => 31,
            Self::Lgkmcnt => 15,
            Self::Expcnt | Self::Bvhcnt => 7,
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vmcnt => "vmcnt",
            Self::Lgkmcnt => "lgkmcnt",
            Self::Expcnt => "expcnt",
            Self::Loadcnt => "loadcnt",
            Self::Storecnt => "storecnt",
            Self::Samplecnt => "samplecnt",
            Self::Bvhcnt => "bvhcnt",
            Self::Kmcnt => "kmcnt",
            Self::Dscnt => "dscnt",
        })
    }
}

/// Operations that complete one after the other, as far as they are counted by the same counter. Nothing
/// is known of the order between two classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Vector memory.
    Vector,
    /// LDS.
    Lds,
    /// Scalar memory and messages: in no order, not even among themselves.
    Scalar,
    /// Global wave synchronisation.
    Global,
}

/// Where an operation is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Nowhere, or where it makes no difference.
    Not,
    /// In one counter.
    By(Counter, Class),
    /// In two: that of vector memory, and that of LDS. Which of them shows that the data has arrived depends
    /// on its address.
    Flat {
        /// Of vector memory.
        vector: Counter,
        /// Of LDS.
        lds: Counter,
        /// It keeps its place among the others in both of them: not on gfx9 (CDNA3 ISA, section 10.2; LLVM,
        /// hasFlatLgkmVMemCountInOrder).
        in_order: bool,
    },
    /// gfx9's global wave synchronisation: the second counter shows that it has read its register.
    Global(Counter, Counter),
}

/// The most operations of each counter that may be left after a wait; `ANY` where it does not wait.
pub(crate) type Waits = [u8; Counter::COUNT];
/// No wait.
pub(crate) const ANY: u8 = u8::MAX;

/// What an instruction waits for.
fn waits(i: &Inst, gfx12: bool) -> Option<Waits> {
    use Counter::*;
    let mut left = [ANY; Counter::COUNT];
    let mut set = |counter: Counter, count: u32| left[counter as usize] = count as u8;
    let (imm, low, high) = (i.imm, bits(i.imm, 0, 6), bits(i.imm, 8, 6));
    match i.op {
        Op::SWaitcnt if gfx12 => {
            // The fields as gfx11 has them.
            let (vector, other) = (bits(imm, 10, 6), bits(imm, 4, 6));
            [Loadcnt, Samplecnt, Bvhcnt].map(|counter| set(counter, vector));
            [Dscnt, Kmcnt].map(|counter| set(counter, other));
            set(Expcnt, bits(imm, 0, 3));
        }
        Op::SWaitcnt => {
            set(Vmcnt, bits(imm, 0, 4) | (bits(imm, 14, 2) << 4));
            set(Expcnt, bits(imm, 4, 3));
            set(Lgkmcnt, bits(imm, 8, 4));
        }
        Op::SWaitIdle => left = [0; Counter::COUNT],
        Op::SWaitLoadcnt => set(Loadcnt, low),
        Op::SWaitStorecnt => set(Storecnt, low),
        Op::SWaitSamplecnt => set(Samplecnt, low),
        Op::SWaitBvhcnt => set(Bvhcnt, bits(imm, 0, 3)),
        Op::SWaitKmcnt => set(Kmcnt, bits(imm, 0, 5)),
        Op::SWaitDscnt => set(Dscnt, low),
        Op::SWaitExpcnt => set(Expcnt, bits(imm, 0, 3)),
        Op::SWaitLoadcntDscnt => {
            set(Loadcnt, high);
            set(Dscnt, low);
        }
        Op::SWaitStorecntDscnt => {
            set(Storecnt, high);
            set(Dscnt, low);
        }
        _ => return None,
    }
    Some(left)
}

/// Whether an operation of vector memory answers with something, which gfx12 counts apart.
pub(crate) fn returns(i: &Inst) -> bool {
    match i.kind {
        Kind::Store(_) | Kind::StoreSmall(..) | Kind::StoreLds | Kind::Block(true) => false,
        Kind::Formatted(data) => !data.store,
        Kind::Atomic(..) if i.family == Family::Ds => i.row.widths[0] > 0,
        Kind::Atomic(..) => i.cache & 1 == 1,
        _ => true,
    }
}

/// gfx9.
pub(crate) fn gfx9(i: &Inst) -> (Option<Waits>, Counted) {
    use Counter::{Expcnt, Lgkmcnt, Vmcnt};
    let counted = match i.family {
        Family::Smem if i.kind != Kind::Hint => Counted::By(Lgkmcnt, Class::Scalar),
        Family::Ds if i.op == Op::DsNop => Counted::Not,
        Family::Ds if i.op.name().starts_with("ds_gws_") => Counted::Global(Lgkmcnt, Expcnt),
        Family::Ds => Counted::By(Lgkmcnt, Class::Lds),
        Family::Flat if i.op_sel == 0 => Counted::Flat {
            vector: Vmcnt,
            lds: Lgkmcnt,
            in_order: false,
        },
        Family::Flat => Counted::By(Vmcnt, Class::Vector),
        Family::Mubuf | Family::Mtbuf if i.kind != Kind::Hint || i.op == Op::BufferWbl2 => {
            Counted::By(Vmcnt, Class::Vector)
        }
        _ => Counted::Not,
    };
    (waits(i, false), counted)
}

/// gfx12.
pub(crate) fn gfx12(i: &Inst) -> (Option<Waits>, Counted) {
    use Counter::{Dscnt, Kmcnt, Loadcnt, Storecnt};
    let vector = if returns(i) { Loadcnt } else { Storecnt };
    let counted = match (i.family, i.op) {
        (Family::Smem, _) if i.kind != Kind::Hint => Counted::By(Kmcnt, Class::Scalar),
        (_, Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64 | Op::SGetBarrierState) => {
            Counted::By(Kmcnt, Class::Scalar)
        }
        (Family::Ds, Op::DsNop) => Counted::Not,
        (Family::Ds, _) => Counted::By(Dscnt, Class::Lds),
        (Family::Flat, Op::GlobalInv) => Counted::By(Loadcnt, Class::Vector),
        (Family::Flat, Op::GlobalWb | Op::GlobalWbinv) => Counted::By(Storecnt, Class::Vector),
        (Family::Flat, _) if i.op_sel == 0 => Counted::Flat {
            vector,
            lds: Dscnt,
            in_order: true,
        },
        (Family::Flat | Family::Mubuf | Family::Mtbuf, _) if i.kind != Kind::Hint => {
            Counted::By(vector, Class::Vector)
        }
        _ => Counted::Not,
    };
    (waits(i, true), counted)
}
