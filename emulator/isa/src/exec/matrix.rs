// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrix operations: gfx942's MFMA and SMFMAC, gfx1201's WMMA and SWMMAC.
//!
//! D = A * B + C on a whole wave; EXEC has no effect. Where an element lies is in the layouts below
//! (CDNA3 ISA, section 7; RDNA4 ISA, section 7.9); the sparse forms have two of every four elements
//! of A, and an index that selects them. A sum of floats begins with C and adds product after product
//! in single precision (double for f64), each step fused; results of 16 bits round once at the end.
//! How silicon rounds between is not documented.

use super::exact::{from_bf16, to_bf16, Exact, Format};
use super::float::{from_f16, to_f16, Round};
use super::integer::limit;
use crate::decode::matrix::{Element, Matrix};
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::wave::{Wave, Wide};

impl Matrix {
    /// Where a row and column of a block's result lie: lane and element of the lane.
    fn result(&self, lanes: usize, block: usize, row: usize, column: usize) -> (usize, usize) {
        let (rows, columns, blocks) = (
            self.rows as usize,
            self.columns as usize,
            self.blocks as usize,
        );
        let groups = lanes / columns;
        // Rows that lie in one lane, one after the other.
        let together = if self.wave {
            rows / groups
        } else if self.d == Element::F64 {
            1
        } else {
            4
        };
        let chunk = if self.d == Element::F64 {
            row * blocks + block
        } else {
            block * (rows / together) + row / together
        };
        let (group, turn) = (chunk % groups, chunk / groups);
        (column + columns * group, turn * together + row % together)
    }
}

/// A source's elements, lane by lane, as numbers. Integers are exact as doubles.
struct Source<'a, const L: usize> {
    w: &'a Wave<L>,
    operand: u16,
    element: Element,
    signed: bool,
    ocp: bool,
    negate: [bool; 2],
}

impl<const L: usize> Source<'_, L> {
    fn raw(&self, lane: usize, n: usize) -> u64 {
        let bits = self.element.bits();
        let at = self.w.slot(self.operand) + n * bits / 32;
        let word = |at: usize| u64::from(self.w.v[at][lane]);
        match bits {
            64 => word(at) | (word(at + 1) << 32),
            32 => word(at),
            _ => (word(at) >> (n * bits % 32)) & ((1 << bits) - 1),
        }
    }

    fn value(&self, lane: usize, n: usize) -> f64 {
        let x = number(self.element, self.raw(lane, n), self.signed, self.ocp);
        if self.negate[n % 2] {
            -x
        } else {
            x
        }
    }
}

fn number(element: Element, raw: u64, signed: bool, ocp: bool) -> f64 {
    match element {
        Element::F64 => f64::from_bits(raw),
        Element::F32 => f32::from_bits(raw as u32).into(),
        Element::Xf32 => f32::from_bits(short(raw as u32)).into(),
        Element::F16 => from_f16(raw as u16).into(),
        Element::Bf16 => f32::from_bits(from_bf16(raw as u16)).into(),
        Element::Fp8 if ocp => Format::FP8_OCP.value(raw),
        Element::Fp8 => Format::FP8_FNUZ.value(raw),
        Element::Bf8 if ocp => Format::BF8_OCP.value(raw),
        Element::Bf8 => Format::BF8_FNUZ.value(raw),
        Element::I32 => (raw as u32 as i32).into(),
        Element::I8 if signed => (raw as u8 as i8).into(),
        Element::I4 if signed => (((raw as i32) << 28) >> 28).into(),
        Element::I8 | Element::I4 => raw as f64,
    }
}

/// The ten highest fraction bits, rounded to nearest even.
fn short(x: u32) -> u32 {
    if x & 0x7f80_0000 == 0x7f80_0000 {
        return x;
    }
    let rounded = x.wrapping_add(0xfff + ((x >> 13) & 1));
    rounded & !0x1fff
}

/// The lane that B's lane reads: blgp.
fn permuted(lane: usize, pattern: u8) -> usize {
    match pattern {
        0 => lane,
        1 => lane % 32,
        2 => 32 + lane % 32,
        3 => (lane + 16) % 64,
        quarter => 16 * (quarter as usize - 4) + lane % 16,
    }
}

/// A matrix operation.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst, m: Matrix) -> Result<(), FaultKind> {
    let (rows, columns, blocks) = (m.rows as usize, m.columns as usize, m.blocks as usize);
    let inner = m.inner as usize;
    if L / rows / blocks == 0 {
        return Err(FaultKind::Unsupported("a matrix operation of wider waves"));
    }
    let double = m.d == Element::F64;
    // gfx9 has cbsz and abid where VOP3P has neg_hi and op_sel, and blgp where it has neg; for
    // doubles that is negation after all.
    let (cbsz, abid) = (
        i.abs as usize,
        i.op_sel as usize | ((i.op_sel_hi as usize & 4) << 1),
    );
    let pattern = if m.wave || double { 0 } else { i.neg };
    let negated = |n: u8| match (m.wave, double) {
        (true, _) if m.a.is_integer() => [false; 2],
        (true, _) => [(i.neg >> n) & 1 == 1, (i.abs >> n) & 1 == 1],
        (false, true) => [(i.neg >> n) & 1 == 1; 2],
        _ => [false; 2],
    };
    let source = |n: u8, element: Element| Source {
        w,
        operand: i.src[n as usize],
        element,
        signed: !m.wave || (i.neg >> n) & 1 == 1,
        ocp: i.ocp,
        negate: negated(n),
    };
    let (a, b) = (source(0, m.a), source(1, m.b));
    // Elements of the inner dimension in one lane.
    let mut groups = L / rows / blocks;
    if m.wave {
        // A lane has a dword at least: of 4-bit elements 16 columns fill 32 lanes, and the others are not
        // read (RDNA4 ISA, section 7.12: V_WMMA_I32_16X16X16_IU4 in waves of 64).
        groups = groups.min(inner * m.b.bits() / 32);
    }
    let in_lane = inner / groups;
    let mut left = vec![0.0; blocks * rows * inner];
    let mut right = vec![0.0; blocks * inner * columns];
    for block in 0..blocks {
        let from = if m.sparse || m.wave {
            block
        } else {
            // Blocks in groups of 2^cbsz share one of their A's.
            let group = (1usize << cbsz.min(4)) - 1;
            block & !group | abid & group
        };
        for k in 0..inner {
            for row in 0..rows {
                let lane = row + rows * (from % blocks + blocks * (k / in_lane));
                if !m.sparse {
                    left[(block * rows + row) * inner + k] = a.value(lane, k % in_lane);
                }
            }
            for column in 0..columns {
                let lane = column + columns * (block + blocks * (k / in_lane));
                let lane = if L == 64 {
                    permuted(lane, pattern)
                } else {
                    lane
                };
                right[(block * inner + k) * columns + column] = b.value(lane, k % in_lane);
            }
        }
    }
    if m.sparse {
        // Each lane has an index of two bits for each of its elements of A.
        let there = in_lane / 2;
        let index = &w.v[w.slot(i.src[2])];
        let set = if m.wave {
            i.op_sel as usize
        } else if cbsz & 3 == 0 {
            abid
        } else {
            0
        };
        let low = set * 2 * there % 32;
        for row in 0..rows {
            for group in 0..groups {
                let lane = row + rows * group;
                for n in 0..there {
                    let position = (index[lane] >> (low + 2 * n)) as usize & 3;
                    let k = group * in_lane + 4 * (n / 2) + position;
                    left[row * inner + k] += a.value(lane, n);
                }
            }
        }
    }
    let third = if m.sparse { i.dst } else { i.src[2] };
    let c = Source {
        operand: third,
        negate: [false; 2],
        signed: true,
        ..source(2, m.d)
    };
    let mut results = Vec::with_capacity(blocks * rows * columns);
    for block in 0..blocks {
        for row in 0..rows {
            for column in 0..columns {
                let (lane, n) = m.result(L, block, row, column);
                let start = if third >= code::VGPR {
                    c.value(lane, n)
                } else {
                    constant(w, i, m.d)
                };
                let start = match (m.sparse, negated(2)) {
                    (false, [true, _]) if double => -start,
                    (false, [neg, abs]) if m.wave => {
                        let x = if abs { start.abs() } else { start };
                        if neg {
                            -x
                        } else {
                            x
                        }
                    }
                    _ => start,
                };
                let products = (0..inner).map(|k| {
                    let x = left[(block * rows + row) * inner + k];
                    (x, right[(block * inner + k) * columns + column])
                });
                results.push((lane, n, sum(m.d, start, products, i.clamp && m.wave)));
            }
        }
    }
    let to = w.slot(i.dst);
    for (lane, n, r) in results {
        match m.d.bits() {
            64 => {
                w.v[to + 2 * n][lane] = r as u32;
                w.v[to + 2 * n + 1][lane] = (r >> 32) as u32;
            }
            32 => w.v[to + n][lane] = r as u32,
            _ => {
                let (word, shift) = (&mut w.v[to + n / 2][lane], 16 * (n % 2));
                *word = *word & !(0xffff << shift) | ((r as u32) << shift);
            }
        }
    }
    Ok(())
}

/// C, where it is a constant.
fn constant<const L: usize>(w: &Wave<L>, i: &Inst, element: Element) -> f64 {
    let operand = i.src[2];
    let raw = match element {
        Element::F64 => w.scalar64(operand, i.imm, Wide::Float),
        Element::F16 => w.scalar16(operand, i.imm).into(),
        Element::Bf16 => (w.scalar(operand, i.imm) >> 16).into(),
        _ => w.scalar(operand, i.imm).into(),
    };
    number(element, raw, true, i.ocp)
}

fn sum(d: Element, start: f64, products: impl Iterator<Item = (f64, f64)>, clamp: bool) -> u64 {
    if d == Element::I32 {
        let exact = products.fold(start as i128, |sum, (a, b)| sum + (a * b) as i128);
        return if clamp {
            limit(exact, 32, true) as u32
        } else {
            exact as u32
        }
        .into();
    }
    if d == Element::F64 {
        return products
            .fold(start, |sum, (a, b)| a.mul_add(b, sum))
            .to_bits();
    }
    let sum = products.fold(start as f32, |sum, (a, b)| {
        (a as f32).mul_add(b as f32, sum)
    });
    match d {
        Element::F16 => to_f16(sum.into()).into(),
        Element::Bf16 if sum.is_nan() => Exact::Nan.round(&Format::BF16, Round::Nearest),
        Element::Bf16 => to_bf16(sum.into()).into(),
        _ => sum.to_bits().into(),
    }
}
