// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector integer and bit operations.

use super::context::Step;
use super::integer::{borrow, field_i32, field_u32, i24, median, permute, sad, u24};
use super::lanes::{
    carry, half_of, one, plain, shift_left, shift_right, three, three16, two, two16,
};
use super::vclamp;
use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::trap::ARITHMETIC;
use crate::wave::{gather, Halves, Wave, Wide};

/// True if the operation is one of these.
#[inline]
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    if i.clamp | (i.omod | i.abs | i.neg | i.op_sel != 0) {
        if i.clamp && (i.omod | i.abs | i.neg == 0) && vclamp::execute(w, i)? {
            return Ok(true);
        }
        let halves = has_halves(i) && !i.clamp && i.abs | i.neg | i.omod == 0;
        if !halves {
            // Floats have modifiers; an integer operation with one is refused by name.
            return if is_integer(i.op) {
                plain(i).map(|()| false)
            } else {
                Ok(false)
            };
        }
    }
    match step(i.op) {
        Some(step) => step(w, i),
        None => return Ok(false),
    }
    Ok(true)
}

/// The function of an operation without modifiers.
pub fn step<const L: usize>(op: Op) -> Option<Step<L>> {
    use Op::*;
    let step: Step<L> = match op {
        VNop | VPipeflush => |_, _| {},
        VClrexcp => |w, _| w.trap.flags &= !ARITHMETIC,
        VMovB32 | VAccvgprMovB32 => |w, i| one(w, i, |a| a),
        VMovB64 => |w, i| {
            let mut s = None;
            let Halves { low, high } = w.halves(i, 0, Wide::Unsigned, &mut s);
            let (low, high) = (*low, *high);
            w.put(i.dst, &low);
            w.put(i.dst + 1, &high);
        },
        VNotB32 => |w, i| one(w, i, |a| !a),
        VBfrevB32 => |w, i| one(w, i, u32::reverse_bits),
        VFfbhU32 => |w, i| one(w, i, |a| if a == 0 { u32::MAX } else { a.leading_zeros() }),
        VFfblB32 => |w, i| one(w, i, |a| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
        VFfbhI32 => |w, i| {
            one(w, i, |a| {
                let x = a ^ (a as i32 >> 31) as u32;
                if x == 0 {
                    u32::MAX
                } else {
                    x.leading_zeros()
                }
            })
        },
        VAndB32 => |w, i| two(w, i, |a, b| a & b),
        VOrB32 => |w, i| two(w, i, |a, b| a | b),
        VXorB32 => |w, i| two(w, i, |a, b| a ^ b),
        VXnorB32 => |w, i| two(w, i, |a, b| !(a ^ b)),
        VLshlrevB32 => |w, i| two(w, i, |a, b| b << (a & 31)),
        VLshrrevB32 => |w, i| two(w, i, |a, b| b >> (a & 31)),
        VAshrrevI32 => |w, i| two(w, i, |a, b| (b as i32 >> (a & 31)) as u32),
        VAddU32 | VAddI32 => |w, i| two(w, i, u32::wrapping_add),
        VSubU32 | VSubI32 => |w, i| two(w, i, u32::wrapping_sub),
        VSubrevU32 => |w, i| two(w, i, |a, b| b.wrapping_sub(a)),
        VMinU32 => |w, i| two(w, i, |a, b| a.min(b)),
        VMaxU32 => |w, i| two(w, i, |a, b| a.max(b)),
        VMinI32 => |w, i| two(w, i, |a, b| (a as i32).min(b as i32) as u32),
        VMaxI32 => |w, i| two(w, i, |a, b| (a as i32).max(b as i32) as u32),
        VMulLoU32 => |w, i| two(w, i, u32::wrapping_mul),
        VMulHiU32 => |w, i| two(w, i, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        VMulHiI32 => |w, i| {
            two(w, i, |a, b| {
                ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
            })
        },
        VMulU32U24 => |w, i| two(w, i, |a, b| (u24(a) * u24(b)) as u32),
        VMulI32I24 => |w, i| two(w, i, |a, b| (i24(a) * i24(b)) as u32),
        VMulHiU32U24 => |w, i| two(w, i, |a, b| ((u24(a) * u24(b)) >> 32) as u32),
        VMulHiI32I24 => |w, i| two(w, i, |a, b| ((i24(a) * i24(b)) >> 32) as u32),
        VBcntU32B32 => |w, i| two(w, i, |a, b| a.count_ones().wrapping_add(b)),
        VBfmB32 => |w, i| two(w, i, |a, b| ((1 << (a & 31)) - 1) << (b & 31)),
        VCvtPkU16U32 => |w, i| two(w, i, |a, b| a.min(0xffff) | (b.min(0xffff) << 16)),
        VCvtPkI16I32 => |w, i| {
            two(w, i, |a, b| {
                let half = |x: u32| u32::from((x as i32).clamp(-32768, 32767) as u16);
                half(a) | (half(b) << 16)
            })
        },
        VAdd3U32 => |w, i| three(w, i, |a, b, c| a.wrapping_add(b).wrapping_add(c)),
        VAddLshlU32 => |w, i| three(w, i, |a, b, c| a.wrapping_add(b) << (c & 31)),
        VLshlAddU32 => |w, i| three(w, i, |a, b, c| (a << (b & 31)).wrapping_add(c)),
        VLshlOrB32 => |w, i| three(w, i, |a, b, c| (a << (b & 31)) | c),
        VAndOrB32 => |w, i| three(w, i, |a, b, c| a & b | c),
        VXor3B32 => |w, i| three(w, i, |a, b, c| a ^ b ^ c),
        VOr3B32 => |w, i| three(w, i, |a, b, c| a | b | c),
        VXadU32 => |w, i| three(w, i, |a, b, c| (a ^ b).wrapping_add(c)),
        VBfeU32 => |w, i| three(w, i, field_u32),
        VBfeI32 => |w, i| three(w, i, field_i32),
        VBfiB32 => |w, i| three(w, i, |a, b, c| a & b | !a & c),
        VAlignbitB32 => |w, i| {
            three(w, i, |a, b, c| {
                (((u64::from(a) << 32) | u64::from(b)) >> (c & 31)) as u32
            })
        },
        VAlignbyteB32 => |w, i| {
            three(w, i, |a, b, c| {
                (((u64::from(a) << 32) | u64::from(b)) >> (8 * (c & 3))) as u32
            })
        },
        VPermB32 => |w, i| three(w, i, permute),
        VMadU32U24 => |w, i| three(w, i, |a, b, c| ((u24(a) * u24(b)) as u32).wrapping_add(c)),
        VMadI32I24 => |w, i| three(w, i, |a, b, c| ((i24(a) * i24(b)) as u32).wrapping_add(c)),
        VMin3U32 => |w, i| three(w, i, |a, b, c| a.min(b).min(c)),
        VMax3U32 => |w, i| three(w, i, |a, b, c| a.max(b).max(c)),
        VMed3U32 => |w, i| three(w, i, median),
        VMin3I32 => |w, i| {
            three(w, i, |a, b, c| {
                (a as i32).min(b as i32).min(c as i32) as u32
            })
        },
        VMax3I32 => |w, i| {
            three(w, i, |a, b, c| {
                (a as i32).max(b as i32).max(c as i32) as u32
            })
        },
        VMed3I32 => |w, i| three(w, i, |a, b, c| median(a as i32, b as i32, c as i32) as u32),
        VSadU32 => |w, i| three(w, i, |a, b, c| a.abs_diff(b).wrapping_add(c)),
        VSadU8 => |w, i| three(w, i, |a, b, c| sad(a, b, 8, false).wrapping_add(c)),
        VLshlrevB64 => shift_left,
        VLshrrevB64 => |w, i| shift_right(w, i, Wide::Unsigned, |x, by| x >> by, |x, by| x >> by),
        VAshrrevI64 => |w, i| {
            let (f, wide) = (
                |x, by| (x as i32 >> by) as u32,
                |x, by| (x as i64 >> by) as u64,
            );
            shift_right(w, i, Wide::Signed, f, wide)
        },
        VLshlAddU64 => |w, i| {
            let (mut s, mut t, mut u) = (None, None, None);
            let a = w.halves(i, 0, Wide::Unsigned, &mut s);
            let c = w.halves(i, 2, Wide::Unsigned, &mut u);
            // A shift of more than 4 is undefined in the manual: only the low three bits count here.
            let f = |a: u64, b: u32, c: u64| (a << (b & 7)).wrapping_add(c);
            let r = match w.uniform(i, 1) {
                Some(b) => std::array::from_fn(|l| f(a.lane(l), b, c.lane(l))),
                None => {
                    let b = w.lanes(i, 1, &mut t);
                    std::array::from_fn(|l| f(a.lane(l), b[l], c.lane(l)))
                }
            };
            w.put64(i.dst, &r);
        },
        VMadU64U32 => |w, i| wide_mad(w, i),
        VMadI64I32 => |w, i| wide_mad_signed(w, i),
        VAddCoU32 => |w, i| carry(w, i, false, |a, b, _| a.overflowing_add(b)),
        VSubCoU32 => |w, i| carry(w, i, false, |a, b, _| a.overflowing_sub(b)),
        VSubrevCoU32 => |w, i| carry(w, i, false, |a, b, _| b.overflowing_sub(a)),
        VAddcCoU32 => |w, i| {
            carry(w, i, true, |a, b, c| {
                let sum = u64::from(a) + u64::from(b) + u64::from(c);
                (sum as u32, sum >> 32 != 0)
            })
        },
        VSubbCoU32 => |w, i| carry(w, i, true, borrow),
        VSubbrevCoU32 => |w, i| carry(w, i, true, |a, b, c| borrow(b, a, c)),
        VAddU16 => |w, i| two16(w, i, u16::wrapping_add),
        VSubU16 => |w, i| two16(w, i, u16::wrapping_sub),
        VSubrevU16 => |w, i| two16(w, i, |a, b| b.wrapping_sub(a)),
        VMulLoU16 => |w, i| two16(w, i, u16::wrapping_mul),
        VLshlrevB16 => |w, i| two16(w, i, |a, b| b << (a & 15)),
        VLshrrevB16 => |w, i| two16(w, i, |a, b| b >> (a & 15)),
        VAshrrevI16 => |w, i| two16(w, i, |a, b| (b as i16 >> (a & 15)) as u16),
        VMinU16 => |w, i| two16(w, i, |a, b| a.min(b)),
        VMaxU16 => |w, i| two16(w, i, |a, b| a.max(b)),
        VMinI16 => |w, i| two16(w, i, |a, b| (a as i16).min(b as i16) as u16),
        VMaxI16 => |w, i| two16(w, i, |a, b| (a as i16).max(b as i16) as u16),
        VMadLegacyU16 | VMadLegacyI16 => {
            |w, i| three16(w, i, true, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
        }
        VMadU16 | VMadI16 => {
            |w, i| three16(w, i, false, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
        }
        VAddI16 => |w, i| two16(w, i, u16::wrapping_add),
        VSubI16 => |w, i| two16(w, i, u16::wrapping_sub),
        VMovB16 => |w, i| two16(w, i, |a, _| a),
        VNotB16 => |w, i| two16(w, i, |a, _| !a),
        VAndB16 => |w, i| two16(w, i, |a, b| a & b),
        VOrB16 => |w, i| two16(w, i, |a, b| a | b),
        VXorB16 => |w, i| two16(w, i, |a, b| a ^ b),
        VMin3U16 => |w, i| three16(w, i, false, |a, b, c| a.min(b).min(c)),
        VMax3U16 => |w, i| three16(w, i, false, |a, b, c| a.max(b).max(c)),
        VMed3U16 => |w, i| three16(w, i, false, median),
        VMin3I16 => |w, i| {
            three16(w, i, false, |a, b, c| {
                (a as i16).min(b as i16).min(c as i16) as u16
            })
        },
        VMax3I16 => |w, i| {
            three16(w, i, false, |a, b, c| {
                (a as i16).max(b as i16).max(c as i16) as u16
            })
        },
        VMed3I16 => |w, i| {
            three16(w, i, false, |a, b, c| {
                median(a as i16, b as i16, c as i16) as u16
            })
        },
        VMadI32I16 => |w, i| {
            wider(w, i, |a, b| {
                (i32::from(a as i16) * i32::from(b as i16)) as u32
            })
        },
        VMadU32U16 => |w, i| wider(w, i, |a, b| u32::from(a) * u32::from(b)),
        VMinmaxU32 => |w, i| three(w, i, |a, b, c| a.min(b).max(c)),
        VMaxminU32 => |w, i| three(w, i, |a, b, c| a.max(b).min(c)),
        VMinmaxI32 => |w, i| {
            three(w, i, |a, b, c| {
                (a as i32).min(b as i32).max(c as i32) as u32
            })
        },
        VMaxminI32 => |w, i| {
            three(w, i, |a, b, c| {
                (a as i32).max(b as i32).min(c as i32) as u32
            })
        },
        VLerpU8 => |w, i| {
            three(w, i, |a, b, c| {
                (0..4).fold(0, |r, n| {
                    let byte = |x: u32| (x >> (8 * n)) & 0xff;
                    r | (((byte(a) + byte(b) + (byte(c) & 1)) >> 1) << (8 * n))
                })
            })
        },
        VSadU16 => |w, i| three(w, i, |a, b, c| sad(a, b, 16, false).wrapping_add(c)),
        VSadHiU8 => |w, i| three(w, i, |a, b, c| (sad(a, b, 8, false) << 16).wrapping_add(c)),
        VMsadU8 => |w, i| three(w, i, |a, b, c| sad(a, b, 8, true).wrapping_add(c)),
        VQsadPkU16U8 => |w, i| sliding(w, i, false),
        VMqsadPkU16U8 => |w, i| sliding(w, i, true),
        VMqsadU32U8 => |w, i| {
            let a = w.lanes64(i, 0, Wide::Unsigned);
            let b = *w.lanes(i, 1, &mut None);
            let old: [[u32; L]; 4] = std::array::from_fn(|n| match i.src[2] {
                v @ crate::decode::code::VGPR.. => w.v[w.slot(v + n as u16)],
                s => [w.scalar(if s < 128 { s + n as u16 } else { s }, i.imm); L],
            });
            for (n, old) in old.iter().enumerate() {
                let r = std::array::from_fn(|l| {
                    sad((a[l] >> (8 * n)) as u32, b[l], 8, true).wrapping_add(old[l])
                });
                w.put(i.dst + n as u16, &r);
            }
        },
        _ => return None,
    };
    Some(step)
}

/// d = f(a, b) + c: halves to a whole register.
fn wider<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u16, u16) -> u32) {
    let [a, b, c] = [0, 1, 2].map(|n| *w.lanes(i, n, &mut None));
    let r = std::array::from_fn(|l| f(half_of(i, 0, a[l]), half_of(i, 1, b[l])).wrapping_add(c[l]));
    w.put(i.dst, &r);
}

/// Four sums of absolute differences, of bytes 0-3, 1-4, 2-5 and 3-6 of a with those of b.
fn sliding<const L: usize>(w: &mut Wave<L>, i: &Inst, masked: bool) {
    let (a, c) = (
        w.lanes64(i, 0, Wide::Unsigned),
        w.lanes64(i, 2, Wide::Unsigned),
    );
    let b = *w.lanes(i, 1, &mut None);
    let r = std::array::from_fn(|l| {
        (0..4).fold(0, |r, n| {
            let sum = sad((a[l] >> (8 * n)) as u32, b[l], 8, masked) as u16;
            r | (u64::from(sum.wrapping_add((c[l] >> (16 * n)) as u16)) << (16 * n))
        })
    });
    w.put64(i.dst, &r);
}

/// Operations of 16 bits that choose halves by op_sel.
fn has_halves(i: &Inst) -> bool {
    use Op::*;
    match i.op {
        VMadU16 | VMadI16 | VMadI32I16 | VMadU32U16 | VAddI16 | VSubI16 => true,
        VMin3U16 | VMax3U16 | VMed3U16 | VMin3I16 | VMax3I16 | VMed3I16 => true,
        VAddU16 | VSubU16 | VSubrevU16 | VMulLoU16 | VLshlrevB16 | VLshrrevB16 | VAshrrevI16
        | VMinU16 | VMaxU16 | VMinI16 | VMaxI16 | VMovB16 | VNotB16 | VAndB16 | VOrB16
        | VXorB16 => i.keep,
        _ => false,
    }
}

/// Operations for which a modifier bit has no meaning.
fn is_integer(op: Op) -> bool {
    let ends = [
        "_u32", "_i32", "_b32", "_b64", "_u64", "_i64", "_u16", "_i16", "_b16",
    ];
    let name = op.name();
    ends.iter().any(|e| name.ends_with(e))
        && !["cvt", "dot", "frexp", "permlane"]
            .iter()
            .any(|part| name.contains(part))
        && !name.starts_with("v_cndmask")
}

/// d, mask = a * b + c, and whether that left 64 bits.
fn wide_mad<const L: usize>(w: &mut Wave<L>, i: &Inst) {
    let (mut s, mut t) = (None, None);
    let a = w.lanes(i, 0, &mut s);
    let (low, high, carries) = match w.uniform(i, 1) {
        Some(b) => multiply_add(w, i, |l| (a[l], b)),
        None => {
            let b = w.lanes(i, 1, &mut t);
            multiply_add(w, i, |l| (a[l], b[l]))
        }
    };
    w.put(i.dst, &low);
    w.put(i.dst + 1, &high);
    w.put_mask(i.sdst, carries);
}

/// Halves of a * b + c, and the lanes in which that left 64 bits.
type Sum<const L: usize> = ([u32; L], [u32; L], u64);

#[inline]
fn multiply_add<const L: usize>(
    w: &Wave<L>,
    i: &Inst,
    factors: impl Fn(usize) -> (u32, u32),
) -> Sum<L> {
    match w.uniform64(i, 2) {
        Some(c) => add_product(factors, |_| c as u32, |_| (c >> 32) as u32),
        None => {
            let mut u = None;
            let c = w.halves(i, 2, Wide::Unsigned, &mut u);
            add_product(factors, |l| c.low[l], |l| c.high[l])
        }
    }
}

/// By halves, which hosts have vectors of.
#[inline]
fn add_product<const L: usize>(
    factors: impl Fn(usize) -> (u32, u32),
    low: impl Fn(usize) -> u32,
    high: impl Fn(usize) -> u32,
) -> Sum<L> {
    let sum: [u32; L] = std::array::from_fn(|l| {
        let (a, b) = factors(l);
        a.wrapping_mul(b).wrapping_add(low(l))
    });
    // A product's upper half is never all ones: the carry fits.
    let carried: [u32; L] = std::array::from_fn(|l| {
        let (a, b) = factors(l);
        let upper = (u64::from(a) * u64::from(b)) >> 32;
        upper as u32 + u32::from(sum[l] < low(l))
    });
    let upper: [u32; L] = std::array::from_fn(|l| carried[l].wrapping_add(high(l)));
    let carries = gather::<L>(|l| upper[l] < carried[l]);
    (sum, upper, carries)
}

/// d, mask = a * b + c: the mask is bit 64 of the sum of 65 bits, its sign (RDNA4 ISA,
/// V_MAD_CO_I64_I32: { D1.i1, D0.i64 } = 65'B(..)).
fn wide_mad_signed<const L: usize>(w: &mut Wave<L>, i: &Inst) {
    let c = w.lanes64(i, 2, Wide::Signed);
    let (mut s, mut t) = (None, None);
    let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
    let mut mask = 0;
    let mut r = [0; L];
    for l in 0..L {
        let product = i64::from(a[l] as i32) * i64::from(b[l] as i32);
        let sum = i128::from(product) + i128::from(c[l] as i64);
        r[l] = sum as u64;
        mask |= u64::from(sum < 0) << l;
    }
    w.put64(i.dst, &r);
    w.put_mask(i.sdst, mask);
}
