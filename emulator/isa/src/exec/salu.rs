// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar arithmetic, comparison and moves (SOP1, SOP2, SOPC).

use super::sopp::{barrier_state, set_index, signal, signal_first};
use super::{sfloat, Context};
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::target::Op;
use crate::wave::{mode, Wave, Wide};

/// s_sendmsg_rtn's MSG_RTN_GET_REALTIME.
const MESSAGE_REALTIME: u16 = 131;

/// SOP1, SOP2 and SOPC.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<(), FaultKind> {
    use Op::*;
    let a = |w: &Wave<L>| w.scalar(i.src[0], i.imm);
    let b = |w: &Wave<L>| w.scalar(i.src[1], i.imm);
    let wa = |w: &Wave<L>| w.scalar64(i.src[0], i.imm, Wide::Unsigned);
    let wb = |w: &Wave<L>| w.scalar64(i.src[1], i.imm, Wide::Unsigned);
    // A result, and SCC when it is not zero; and the two without SCC.
    macro_rules! set {
        ($value:expr) => {{
            let r: u32 = $value;
            w.set(i.dst, r)
        }};
    }
    macro_rules! set64 {
        ($value:expr) => {{
            let r: u64 = $value;
            w.set_pair(i.dst, r)
        }};
    }
    macro_rules! flag {
        ($value:expr) => {{
            let r: u32 = $value;
            w.set(i.dst, r);
            w.scc = r != 0
        }};
    }
    macro_rules! flag64 {
        ($value:expr) => {{
            let r: u64 = $value;
            w.set_pair(i.dst, r);
            w.scc = r != 0
        }};
    }
    // A result with a carry, borrow or overflow in SCC.
    macro_rules! carry {
        ($value:expr) => {{
            let (r, scc) = $value;
            w.set(i.dst, r);
            w.scc = scc
        }};
    }
    macro_rules! compare {
        ($value:expr) => {
            w.scc = $value
        };
    }
    // A mask of 64 lanes, and one of 32.
    macro_rules! saveexec {
        ($f:expr) => {{
            let (s, exec) = (wa(w), w.pair(code::EXEC));
            let new: u64 = $f(s, exec);
            w.set_pair(i.dst, exec);
            w.set_pair(code::EXEC, new);
            w.scc = new != 0;
        }};
    }
    macro_rules! saveexec32 {
        ($f:expr) => {{
            let (s, exec) = (a(w), w.s[code::EXEC as usize]);
            let new: u32 = $f(s, exec);
            w.set(i.dst, exec);
            w.set(code::EXEC, new);
            w.scc = new != 0;
        }};
    }
    macro_rules! wrexec {
        ($f:expr) => {{
            let new: u64 = $f(wa(w), w.pair(code::EXEC));
            w.set_pair(code::EXEC, new);
            w.set_pair(i.dst, new);
            w.scc = new != 0;
        }};
    }
    macro_rules! wrexec32 {
        ($f:expr) => {{
            let new: u32 = $f(a(w), w.s[code::EXEC as usize]);
            w.set(code::EXEC, new);
            w.set(i.dst, new);
            w.scc = new != 0;
        }};
    }
    match i.op {
        SAddU32 => carry!(a(w).overflowing_add(b(w))),
        SSubU32 => carry!(a(w).overflowing_sub(b(w))),
        SAddI32 => {
            let (r, o) = (a(w) as i32).overflowing_add(b(w) as i32);
            carry!((r as u32, o))
        }
        SSubI32 => {
            let (r, o) = (a(w) as i32).overflowing_sub(b(w) as i32);
            carry!((r as u32, o))
        }
        SAddcU32 => {
            let r = u64::from(a(w)) + u64::from(b(w)) + u64::from(w.scc);
            carry!((r as u32, r >> 32 != 0))
        }
        SSubbU32 => {
            let (x, y) = (u64::from(a(w)), u64::from(b(w)) + u64::from(w.scc));
            carry!((x.wrapping_sub(y) as u32, y > x))
        }
        SMinI32 => {
            let (x, y) = (a(w) as i32, b(w) as i32);
            carry!((x.min(y) as u32, x < y))
        }
        SMinU32 => {
            let (x, y) = (a(w), b(w));
            carry!((x.min(y), x < y))
        }
        SMaxI32 => {
            let (x, y) = (a(w) as i32, b(w) as i32);
            carry!((x.max(y) as u32, x > y))
        }
        SMaxU32 => {
            let (x, y) = (a(w), b(w));
            carry!((x.max(y), x > y))
        }
        SCselectB32 => set!(if w.scc { a(w) } else { b(w) }),
        SCselectB64 => set64!(if w.scc { wa(w) } else { wb(w) }),
        SAndB32 => flag!(a(w) & b(w)),
        SAndB64 => flag64!(wa(w) & wb(w)),
        SOrB32 => flag!(a(w) | b(w)),
        SOrB64 => flag64!(wa(w) | wb(w)),
        SXorB32 => flag!(a(w) ^ b(w)),
        SXorB64 => flag64!(wa(w) ^ wb(w)),
        SAndn2B32 => flag!(a(w) & !b(w)),
        SAndn2B64 => flag64!(wa(w) & !wb(w)),
        SOrn2B32 => flag!(a(w) | !b(w)),
        SOrn2B64 => flag64!(wa(w) | !wb(w)),
        SNandB32 => flag!(!(a(w) & b(w))),
        SNandB64 => flag64!(!(wa(w) & wb(w))),
        SNorB32 => flag!(!(a(w) | b(w))),
        SNorB64 => flag64!(!(wa(w) | wb(w))),
        SXnorB32 => flag!(!(a(w) ^ b(w))),
        SXnorB64 => flag64!(!(wa(w) ^ wb(w))),
        SLshlB32 => flag!(a(w) << (b(w) & 31)),
        SLshlB64 => flag64!(wa(w) << (b(w) & 63)),
        SLshrB32 => flag!(a(w) >> (b(w) & 31)),
        SLshrB64 => flag64!(wa(w) >> (b(w) & 63)),
        SAshrI32 => flag!((a(w) as i32 >> (b(w) & 31)) as u32),
        SAshrI64 => {
            let x = w.scalar64(i.src[0], i.imm, Wide::Signed) as i64;
            flag64!((x >> (b(w) & 63)) as u64)
        }
        SBfmB32 => set!(((1u32 << (a(w) & 31)) - 1) << (b(w) & 31)),
        SBfmB64 => set64!(((1u64 << (a(w) & 63)) - 1) << (b(w) & 63)),
        SAddNcU64 => set64!(wa(w).wrapping_add(wb(w))),
        SSubNcU64 => set64!(wa(w).wrapping_sub(wb(w))),
        SMulU64 => set64!(wa(w).wrapping_mul(wb(w))),
        SMulI32 => set!(a(w).wrapping_mul(b(w))),
        SMulHiU32 => set!(((u64::from(a(w)) * u64::from(b(w))) >> 32) as u32),
        SMulHiI32 => set!(((i64::from(a(w) as i32) * i64::from(b(w) as i32)) >> 32) as u32),
        SBfeU32 => {
            let (at, n) = field(b(w), 31);
            flag!(unsigned_field(u64::from(a(w)), at, n) as u32)
        }
        SBfeI32 => {
            let (at, n) = field(b(w), 31);
            flag!(signed_field(u64::from(a(w)), at, n.min(32 - at)) as u32)
        }
        SBfeU64 => {
            let (at, n) = field(b(w), 63);
            flag64!(unsigned_field(wa(w), at, n))
        }
        SBfeI64 => {
            let (at, n) = field(b(w), 63);
            flag64!(signed_field(wa(w), at, n.min(64 - at)))
        }
        SAbsdiffI32 => flag!((a(w) as i32).wrapping_sub(b(w) as i32).wrapping_abs() as u32),
        SLshl1AddU32 => carry!(shift_add(a(w), b(w), 1)),
        SLshl2AddU32 => carry!(shift_add(a(w), b(w), 2)),
        SLshl3AddU32 => carry!(shift_add(a(w), b(w), 3)),
        SLshl4AddU32 => carry!(shift_add(a(w), b(w), 4)),
        SPackLlB32B16 => set!(a(w) & 0xffff | (b(w) << 16)),
        SPackLhB32B16 => set!(a(w) & 0xffff | b(w) & 0xffff_0000),
        SPackHlB32B16 => set!((a(w) >> 16) | (b(w) << 16)),
        SPackHhB32B16 => set!((a(w) >> 16) | b(w) & 0xffff_0000),

        SMovB32 => set!(a(w)),
        SMovB64 => set64!(wa(w)),
        SCmovB32 => {
            if w.scc {
                set!(a(w))
            }
        }
        SCmovB64 => {
            if w.scc {
                set64!(wa(w))
            }
        }
        SNotB32 => flag!(!a(w)),
        SNotB64 => flag64!(!wa(w)),
        SWqmB32 => flag!(whole_quads(u64::from(a(w))) as u32),
        SWqmB64 => flag64!(whole_quads(wa(w))),
        SQuadmaskB32 => flag!(quad_mask(u64::from(a(w))) as u32),
        SQuadmaskB64 => flag64!(quad_mask(wa(w))),
        SBrevB32 => set!(a(w).reverse_bits()),
        SBrevB64 => set64!(wa(w).reverse_bits()),
        SBcnt0I32B32 => flag!(a(w).count_zeros()),
        SBcnt0I32B64 => flag!(wa(w).count_zeros()),
        SBcnt1I32B32 => flag!(a(w).count_ones()),
        SBcnt1I32B64 => flag!(wa(w).count_ones()),
        SFf0I32B32 => set!(first(u64::from(!a(w)))),
        SFf0I32B64 => set!(first(!wa(w))),
        SFf1I32B32 => set!(first(u64::from(a(w)))),
        SFf1I32B64 => set!(first(wa(w))),
        SFlbitI32B32 => set!(match a(w) {
            0 => u32::MAX,
            x => x.leading_zeros(),
        }),
        SFlbitI32B64 => set!(match wa(w) {
            0 => u32::MAX,
            x => x.leading_zeros(),
        }),
        SFlbitI32 => {
            let x = a(w);
            let y = x ^ (x as i32 >> 31) as u32;
            set!(if y == 0 { u32::MAX } else { y.leading_zeros() })
        }
        SFlbitI32I64 => {
            let x = wa(w);
            let y = x ^ (x as i64 >> 63) as u64;
            set!(if y == 0 { u32::MAX } else { y.leading_zeros() })
        }
        SSextI32I8 => set!(a(w) as i8 as u32),
        SSextI32I16 => set!(a(w) as i16 as u32),
        SBitset0B32 => {
            let bit = 1 << (a(w) & 31);
            set!(w.scalar(i.dst, 0) & !bit)
        }
        SBitset1B32 => {
            let bit = 1 << (a(w) & 31);
            set!(w.scalar(i.dst, 0) | bit)
        }
        SBitset0B64 => {
            let bit = 1 << (a(w) & 63);
            set64!(w.pair(i.dst) & !bit)
        }
        SBitset1B64 => {
            let bit = 1 << (a(w) & 63);
            set64!(w.pair(i.dst) | bit)
        }
        SBitreplicateB64B32 => {
            let x = u64::from(a(w));
            set64!((0..32).fold(0, |r, n| r | ((((x >> n) & 1) * 3) << (2 * n))))
        }
        SAbsI32 => flag!((a(w) as i32).wrapping_abs() as u32),
        SGetpcB64 => set64!(w.pc),
        SSetpcB64 => w.pc = wa(w),
        SSwappcB64 => {
            let to = wa(w);
            set64!(w.pc);
            w.pc = to
        }
        SMovrelsB32 => {
            let from = relative(w, i.src[0], 1)?;
            set!(w.scalar(from, 0))
        }
        SMovrelsB64 => {
            let from = relative(w, i.src[0], 2)?;
            set64!(w.pair(from))
        }
        SMovreldB32 => {
            let (to, x) = (relative(w, i.dst, 1)?, a(w));
            w.set(to, x)
        }
        SMovreldB64 => {
            let (to, x) = (relative(w, i.dst, 2)?, wa(w));
            w.set_pair(to, x)
        }
        SAndSaveexecB64 => saveexec!(|s: u64, e: u64| s & e),
        SAndSaveexecB32 => saveexec32!(|s: u32, e: u32| s & e),
        SOrSaveexecB64 => saveexec!(|s: u64, e: u64| s | e),
        SOrSaveexecB32 => saveexec32!(|s: u32, e: u32| s | e),
        SXorSaveexecB64 => saveexec!(|s: u64, e: u64| s ^ e),
        SXorSaveexecB32 => saveexec32!(|s: u32, e: u32| s ^ e),
        SAndn1SaveexecB64 => saveexec!(|s: u64, e: u64| !s & e),
        SAndn1SaveexecB32 => saveexec32!(|s: u32, e: u32| !s & e),
        SAndn2SaveexecB64 => saveexec!(|s: u64, e: u64| s & !e),
        SAndn2SaveexecB32 => saveexec32!(|s: u32, e: u32| s & !e),
        SOrn1SaveexecB64 => saveexec!(|s: u64, e: u64| !s | e),
        SOrn1SaveexecB32 => saveexec32!(|s: u32, e: u32| !s | e),
        SOrn2SaveexecB64 => saveexec!(|s: u64, e: u64| s | !e),
        SOrn2SaveexecB32 => saveexec32!(|s: u32, e: u32| s | !e),
        SNandSaveexecB64 => saveexec!(|s: u64, e: u64| !(s & e)),
        SNandSaveexecB32 => saveexec32!(|s: u32, e: u32| !(s & e)),
        SNorSaveexecB64 => saveexec!(|s: u64, e: u64| !(s | e)),
        SNorSaveexecB32 => saveexec32!(|s: u32, e: u32| !(s | e)),
        SXnorSaveexecB64 => saveexec!(|s: u64, e: u64| !(s ^ e)),
        SXnorSaveexecB32 => saveexec32!(|s: u32, e: u32| !(s ^ e)),
        SAndn1WrexecB64 => wrexec!(|s: u64, e: u64| !s & e),
        SAndn1WrexecB32 => wrexec32!(|s: u32, e: u32| !s & e),
        SAndn2WrexecB64 => wrexec!(|s: u64, e: u64| s & !e),
        SAndn2WrexecB32 => wrexec32!(|s: u32, e: u32| s & !e),

        SCmpEqU32 | SCmpEqI32 => compare!(a(w) == b(w)),
        SCmpLgU32 | SCmpLgI32 => compare!(a(w) != b(w)),
        SCmpEqU64 => compare!(wa(w) == wb(w)),
        SCmpLgU64 => compare!(wa(w) != wb(w)),
        SCmpGtU32 => compare!(a(w) > b(w)),
        SCmpGeU32 => compare!(a(w) >= b(w)),
        SCmpLtU32 => compare!(a(w) < b(w)),
        SCmpLeU32 => compare!(a(w) <= b(w)),
        SCmpGtI32 => compare!(a(w) as i32 > b(w) as i32),
        SCmpGeI32 => compare!(a(w) as i32 >= b(w) as i32),
        SCmpLtI32 => compare!((a(w) as i32) < b(w) as i32),
        SCmpLeI32 => compare!(a(w) as i32 <= b(w) as i32),
        SBitcmp0B32 => compare!((a(w) >> (b(w) & 31)) & 1 == 0),
        SBitcmp1B32 => compare!((a(w) >> (b(w) & 31)) & 1 == 1),
        SBitcmp0B64 => compare!((wa(w) >> (b(w) & 63)) & 1 == 0),
        SBitcmp1B64 => compare!((wa(w) >> (b(w) & 63)) & 1 == 1),
        SBarrierSignal => signal(w, i)?,
        SBarrierSignalIsfirst => signal_first(w, i, c)?,
        SGetBarrierState => barrier_state(w, i, c)?,
        SRfeB64 | SRfeRestoreB64 if w.trap.privileged => return Err(FaultKind::Return(wa(w))),
        // There is no trap handler's privilege to give up.
        SRfeB64 | SRfeRestoreB64 => w.pc = wa(w) & !3,
        SSetGprIdxOn => {
            let index = a(w) & 0xff;
            set_index(w, 0xf0ff, index | (u32::from(i.src[1] & 15) << 12));
            w.mode |= mode::GPR_INDEX;
        }
        SSetGprIdxIdx => {
            let index = a(w) & 0xff;
            set_index(w, 0xff, index);
        }
        // Others run meanwhile anyway.
        SSleepVar => {}
        SSendmsgRtnB32 | SSendmsgRtnB64 => {
            let answer = match i.src[0] {
                MESSAGE_REALTIME => c.env.clock(),
                message => match c.env.reply(message).or_else(|| w.trap_reply(message)) {
                    Some(answer) => answer,
                    None => return Err(FaultKind::Unsupported("this message")),
                },
            };
            if i.op == SSendmsgRtnB32 {
                set!(answer as u32)
            } else {
                set64!(answer)
            }
        }
        SMovrelsd2B32 => {
            let m0 = w.s[code::M0 as usize];
            let from = indexed(i.src[0], m0 & 0x3ff)?;
            let to = indexed(i.dst, (m0 >> 16) & 0x3ff)?;
            let value = w.scalar(from, 0);
            w.set(to, value)
        }
        _ if sfloat::execute(w, i)? => {}
        _ => return Err(FaultKind::Illegal),
    }
    Ok(())
}

/// s_bfe's second source: position, and width in bits 22:16.
fn field(control: u32, mask: u32) -> (u32, u32) {
    (control & mask, (control >> 16) & 0x7f)
}

fn unsigned_field(value: u64, at: u32, width: u32) -> u64 {
    let shifted = value >> at;
    if width >= 64 {
        shifted
    } else {
        shifted & ((1 << width) - 1)
    }
}

fn signed_field(value: u64, at: u32, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let up = 64 - width.min(64);
    (((value >> at) << up) as i64 >> up) as u64
}

fn shift_add(a: u32, b: u32, by: u32) -> (u32, bool) {
    let sum = (u64::from(a) << by) + u64::from(b);
    (sum as u32, sum >> 32 != 0)
}

fn first(value: u64) -> u32 {
    if value == 0 {
        u32::MAX
    } else {
        value.trailing_zeros()
    }
}

fn whole_quads(value: u64) -> u64 {
    (0..16).fold(0, |r, q| {
        if (value >> (4 * q)) & 15 != 0 {
            r | (15 << (4 * q))
        } else {
            r
        }
    })
}

fn quad_mask(value: u64) -> u64 {
    (0..16).fold(0, |r, q| r | (u64::from((value >> (4 * q)) & 15 != 0) << q))
}

/// An s register indexed by M0.
fn relative<const L: usize>(w: &Wave<L>, base: u16, width: u32) -> Result<u16, FaultKind> {
    let at = u32::from(base).saturating_add(w.s[code::M0 as usize]);
    if base > 101 || at + width > 102 {
        Err(FaultKind::Register)
    } else {
        Ok(at as u16)
    }
}

fn indexed(base: u16, by: u32) -> Result<u16, FaultKind> {
    match u32::from(base) + by {
        at @ 0..=101 => Ok(at as u16),
        _ => Err(FaultKind::Register),
    }
}
