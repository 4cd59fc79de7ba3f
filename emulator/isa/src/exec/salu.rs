// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar arithmetic, comparison and moves (SOP1, SOP2, SOPC).

use super::context::{Context, Step};
use super::sfloat;
use super::sopp::{barrier_state, set_index, signal, signal_first};
use crate::decode::Op;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::{Wave, Wide};

/// s_sendmsg_rtn's MSG_RTN_GET_REALTIME.
const MESSAGE_REALTIME: u16 = 131;

/// What a function of scalars reads.
struct Operands<'a, const L: usize> {
    w: &'a Wave<L>,
    i: &'a Inst,
}

impl<const L: usize> Operands<'_, L> {
    #[inline]
    fn word(&self, n: usize) -> u32 {
        self.w.scalar(self.i.src[n], self.i.imm)
    }

    #[inline]
    fn wide(&self, n: usize) -> u64 {
        self.w.scalar64(self.i.src[n], self.i.imm, Wide::Unsigned)
    }

    /// A literal of 32 bits is sign-extended.
    #[inline]
    fn signed(&self, n: usize) -> u64 {
        self.w.scalar64(self.i.src[n], self.i.imm, Wide::Signed)
    }
}

/// d = f, 32 bits.
#[inline]
fn set<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(Operands<'_, L>) -> u32) {
    let r = f(Operands { w, i });
    w.set(i.dst, r);
}

/// d = f, 64 bits.
#[inline]
fn set64<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(Operands<'_, L>) -> u64) {
    let r = f(Operands { w, i });
    w.set_pair(i.dst, r);
}

/// d = f, 32 bits; SCC when it is not zero.
#[inline]
fn flag<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(Operands<'_, L>) -> u32) {
    let r = f(Operands { w, i });
    w.set(i.dst, r);
    w.scc = r != 0;
}

/// d = f, 64 bits; SCC when it is not zero.
#[inline]
fn flag64<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(Operands<'_, L>) -> u64) {
    let r = f(Operands { w, i });
    w.set_pair(i.dst, r);
    w.scc = r != 0;
}

/// d, SCC = f: a result with a carry, borrow or overflow.
#[inline]
fn carry<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(Operands<'_, L>) -> (u32, bool)) {
    let (r, scc) = f(Operands { w, i });
    w.set(i.dst, r);
    w.scc = scc;
}

/// SCC = f.
#[inline]
fn compare<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(Operands<'_, L>) -> bool) {
    w.scc = f(Operands { w, i });
}

/// d = EXEC, EXEC = f(source, EXEC): a mask of 64 lanes.
#[inline]
fn saveexec<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u64, u64) -> u64) {
    let (s, exec) = (Operands { w, i }.wide(0), w.pair(code::EXEC));
    let new = f(s, exec);
    w.set_known_pair(i.dst, exec);
    w.set_known_pair(code::EXEC, new);
    w.scc = new != 0;
}

/// The same of 32 lanes.
#[inline]
fn saveexec32<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32, u32) -> u32) {
    let (s, exec) = (Operands { w, i }.word(0), w.s[code::EXEC as usize]);
    let new = f(s, exec);
    w.set(i.dst, exec);
    w.set(code::EXEC, new);
    w.scc = new != 0;
}

/// d = EXEC = f(source, EXEC): a mask of 64 lanes.
#[inline]
fn wrexec<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u64, u64) -> u64) {
    let new = f(Operands { w, i }.wide(0), w.pair(code::EXEC));
    w.set_known_pair(code::EXEC, new);
    w.set_known_pair(i.dst, new);
    w.scc = new != 0;
}

/// The same of 32 lanes.
#[inline]
fn wrexec32<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32, u32) -> u32) {
    let new = f(Operands { w, i }.word(0), w.s[code::EXEC as usize]);
    w.set(code::EXEC, new);
    w.set(i.dst, new);
    w.scc = new != 0;
}

/// SOP1, SOP2 and SOPC.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<(), FaultKind> {
    use Op::*;
    if let Some(step) = step(i.op) {
        step(w, i);
        return Ok(());
    }
    let a = |w: &Wave<L>| w.scalar(i.src[0], i.imm);
    let wa = |w: &Wave<L>| w.scalar64(i.src[0], i.imm, Wide::Unsigned);
    match i.op {
        SMovrelsB32 => {
            let from = relative(w, i, i.src[0], 1)?;
            {
                let value = w.scalar(from, 0);
                w.set(i.dst, value)
            }
        }
        SMovrelsB64 => {
            let from = relative(w, i, i.src[0], 2)?;
            {
                let value = w.pair(from);
                w.set_pair(i.dst, value)
            }
        }
        SMovreldB32 => {
            let (to, x) = (relative(w, i, i.dst, 1)?, a(w));
            w.set(to, x)
        }
        SMovreldB64 => {
            let (to, x) = (relative(w, i, i.dst, 2)?, wa(w));
            w.set_pair(to, x)
        }
        SBarrierSignal => signal(w, i, c)?,
        SBarrierSignalIsfirst => signal_first(w, i, c)?,
        SGetBarrierState => barrier_state(w, i, c)?,
        SRfeB64 | SRfeRestoreB64 if w.trap.privileged => return Err(FaultKind::Return(wa(w))),
        SSendmsgRtnB32 | SSendmsgRtnB64 => {
            let answer = match i.src[0] {
                MESSAGE_REALTIME => c.env.clock(),
                message => match c.env.reply(message).or_else(|| w.trap_reply(message)) {
                    Some(answer) => answer,
                    None => return Err(FaultKind::Unsupported("this message")),
                },
            };
            if i.op == SSendmsgRtnB32 {
                w.set(i.dst, answer as u32)
            } else {
                w.set_pair(i.dst, answer)
            }
        }
        SMovrelsd2B32 => {
            let m0 = w.s[code::M0 as usize];
            let from = indexed(i, i.src[0], m0 & 0x3ff)?;
            let to = indexed(i, i.dst, (m0 >> 16) & 0x3ff)?;
            let value = w.scalar(from, 0);
            w.set(to, value)
        }

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
        // A trap handler makes sure that its vector operations are executed; programs can't have them skipped.
        SSetvskip if w.trap.privileged && (a(w) >> (w.scalar(i.src[1], i.imm) & 31)) & 1 == 0 => {}
        // Other waves get their turns anyway.
        SSleepVar => {}
        SGetpcB64 => w.set_pair(i.dst, w.pc),
        // Instructions are whole dwords: the program counter has no lower bits (RDNA4 ISA, section 3.1).
        SSetpcB64 => w.pc = wa(w) & !3,
        SSwappcB64 => {
            let (to, back) = (wa(w), w.pc);
            w.set_pair(i.dst, back);
            w.pc = to & !3
        }
        _ if sfloat::execute(w, i)? => {}
        _ => return Err(FaultKind::Illegal),
    }
    Ok(())
}

/// The function of an operation on scalars that nothing can refuse.
pub fn step<const L: usize>(op: Op) -> Option<Step<L>> {
    use Op::*;
    let step: Step<L> = match op {
        SAddU32 => |w, i| carry(w, i, |o| o.word(0).overflowing_add(o.word(1))),
        SSubU32 => |w, i| carry(w, i, |o| o.word(0).overflowing_sub(o.word(1))),
        SAddI32 => |w, i| {
            carry(w, i, |o| {
                let (r, o) = (o.word(0) as i32).overflowing_add(o.word(1) as i32);
                (r as u32, o)
            })
        },
        SSubI32 => |w, i| {
            carry(w, i, |o| {
                let (r, o) = (o.word(0) as i32).overflowing_sub(o.word(1) as i32);
                (r as u32, o)
            })
        },
        SAddcU32 => |w, i| {
            carry(w, i, |o| {
                let r = u64::from(o.word(0)) + u64::from(o.word(1)) + u64::from(o.w.scc);
                (r as u32, r >> 32 != 0)
            })
        },
        SSubbU32 => |w, i| {
            carry(w, i, |o| {
                let (x, y) = (
                    u64::from(o.word(0)),
                    u64::from(o.word(1)) + u64::from(o.w.scc),
                );
                (x.wrapping_sub(y) as u32, y > x)
            })
        },
        SMinI32 => |w, i| {
            carry(w, i, |o| {
                let (x, y) = (o.word(0) as i32, o.word(1) as i32);
                (x.min(y) as u32, x < y)
            })
        },
        SMinU32 => |w, i| {
            carry(w, i, |o| {
                let (x, y) = (o.word(0), o.word(1));
                (x.min(y), x < y)
            })
        },
        SMaxI32 => |w, i| {
            carry(w, i, |o| {
                let (x, y) = (o.word(0) as i32, o.word(1) as i32);
                (x.max(y) as u32, x > y)
            })
        },
        SMaxU32 => |w, i| {
            carry(w, i, |o| {
                let (x, y) = (o.word(0), o.word(1));
                (x.max(y), x > y)
            })
        },
        SCselectB32 => |w, i| set(w, i, |o| if o.w.scc { o.word(0) } else { o.word(1) }),
        SCselectB64 => |w, i| set64(w, i, |o| if o.w.scc { o.wide(0) } else { o.wide(1) }),
        SAndB32 => |w, i| flag(w, i, |o| o.word(0) & o.word(1)),
        SAndB64 => |w, i| flag64(w, i, |o| o.wide(0) & o.wide(1)),
        SOrB32 => |w, i| flag(w, i, |o| o.word(0) | o.word(1)),
        SOrB64 => |w, i| flag64(w, i, |o| o.wide(0) | o.wide(1)),
        SXorB32 => |w, i| flag(w, i, |o| o.word(0) ^ o.word(1)),
        SXorB64 => |w, i| flag64(w, i, |o| o.wide(0) ^ o.wide(1)),
        SAndn2B32 => |w, i| flag(w, i, |o| o.word(0) & !o.word(1)),
        SAndn2B64 => |w, i| flag64(w, i, |o| o.wide(0) & !o.wide(1)),
        SOrn2B32 => |w, i| flag(w, i, |o| o.word(0) | !o.word(1)),
        SOrn2B64 => |w, i| flag64(w, i, |o| o.wide(0) | !o.wide(1)),
        SNandB32 => |w, i| flag(w, i, |o| !(o.word(0) & o.word(1))),
        SNandB64 => |w, i| flag64(w, i, |o| !(o.wide(0) & o.wide(1))),
        SNorB32 => |w, i| flag(w, i, |o| !(o.word(0) | o.word(1))),
        SNorB64 => |w, i| flag64(w, i, |o| !(o.wide(0) | o.wide(1))),
        SXnorB32 => |w, i| flag(w, i, |o| !(o.word(0) ^ o.word(1))),
        SXnorB64 => |w, i| flag64(w, i, |o| !(o.wide(0) ^ o.wide(1))),
        SLshlB32 => |w, i| flag(w, i, |o| o.word(0) << (o.word(1) & 31)),
        SLshlB64 => |w, i| flag64(w, i, |o| o.wide(0) << (o.word(1) & 63)),
        SLshrB32 => |w, i| flag(w, i, |o| o.word(0) >> (o.word(1) & 31)),
        SLshrB64 => |w, i| flag64(w, i, |o| o.wide(0) >> (o.word(1) & 63)),
        SAshrI32 => |w, i| flag(w, i, |o| (o.word(0) as i32 >> (o.word(1) & 31)) as u32),
        SAshrI64 => |w, i| flag64(w, i, |o| (o.signed(0) as i64 >> (o.word(1) & 63)) as u64),
        SBfmB32 => |w, i| {
            set(w, i, |o| {
                ((1u32 << (o.word(0) & 31)) - 1) << (o.word(1) & 31)
            })
        },
        SBfmB64 => |w, i| {
            set64(w, i, |o| {
                ((1u64 << (o.word(0) & 63)) - 1) << (o.word(1) & 63)
            })
        },
        SAddNcU64 => |w, i| set64(w, i, |o| o.wide(0).wrapping_add(o.wide(1))),
        SSubNcU64 => |w, i| set64(w, i, |o| o.wide(0).wrapping_sub(o.wide(1))),
        SMulU64 => |w, i| set64(w, i, |o| o.wide(0).wrapping_mul(o.wide(1))),
        SMulI32 => |w, i| set(w, i, |o| o.word(0).wrapping_mul(o.word(1))),
        SMulHiU32 => |w, i| {
            set(w, i, |o| {
                ((u64::from(o.word(0)) * u64::from(o.word(1))) >> 32) as u32
            })
        },
        SMulHiI32 => |w, i| {
            set(w, i, |o| {
                ((i64::from(o.word(0) as i32) * i64::from(o.word(1) as i32)) >> 32) as u32
            })
        },
        SBfeU32 => |w, i| {
            flag(w, i, |o| {
                let (at, n) = field(o.word(1), 31);
                unsigned_field(u64::from(o.word(0)), at, n) as u32
            })
        },
        SBfeI32 => |w, i| {
            flag(w, i, |o| {
                let (at, n) = field(o.word(1), 31);
                signed_field(u64::from(o.word(0)), at, n.min(32 - at)) as u32
            })
        },
        SBfeU64 => |w, i| {
            flag64(w, i, |o| {
                let (at, n) = field(o.word(1), 63);
                unsigned_field(o.wide(0), at, n)
            })
        },
        SBfeI64 => |w, i| {
            flag64(w, i, |o| {
                let (at, n) = field(o.word(1), 63);
                signed_field(o.signed(0), at, n.min(64 - at))
            })
        },
        SAbsdiffI32 => |w, i| {
            flag(w, i, |o| {
                (o.word(0) as i32)
                    .wrapping_sub(o.word(1) as i32)
                    .wrapping_abs() as u32
            })
        },
        SLshl1AddU32 => |w, i| carry(w, i, |o| shift_add(o.word(0), o.word(1), 1)),
        SLshl2AddU32 => |w, i| carry(w, i, |o| shift_add(o.word(0), o.word(1), 2)),
        SLshl3AddU32 => |w, i| carry(w, i, |o| shift_add(o.word(0), o.word(1), 3)),
        SLshl4AddU32 => |w, i| carry(w, i, |o| shift_add(o.word(0), o.word(1), 4)),
        SPackLlB32B16 => |w, i| set(w, i, |o| o.word(0) & 0xffff | (o.word(1) << 16)),
        SPackLhB32B16 => |w, i| set(w, i, |o| o.word(0) & 0xffff | o.word(1) & 0xffff_0000),
        SPackHlB32B16 => |w, i| set(w, i, |o| (o.word(0) >> 16) | (o.word(1) << 16)),
        SPackHhB32B16 => |w, i| set(w, i, |o| (o.word(0) >> 16) | o.word(1) & 0xffff_0000),
        SMovB32 => |w, i| set(w, i, |o| o.word(0)),
        SMovB64 => |w, i| set64(w, i, |o| o.wide(0)),
        SNotB32 => |w, i| flag(w, i, |o| !o.word(0)),
        SNotB64 => |w, i| flag64(w, i, |o| !o.wide(0)),
        SWqmB32 => |w, i| flag(w, i, |o| whole_quads(u64::from(o.word(0))) as u32),
        SWqmB64 => |w, i| flag64(w, i, |o| whole_quads(o.wide(0))),
        SQuadmaskB32 => |w, i| flag(w, i, |o| quad_mask(u64::from(o.word(0))) as u32),
        SQuadmaskB64 => |w, i| flag64(w, i, |o| quad_mask(o.wide(0))),
        SBrevB32 => |w, i| set(w, i, |o| o.word(0).reverse_bits()),
        SBrevB64 => |w, i| set64(w, i, |o| o.wide(0).reverse_bits()),
        SBcnt0I32B32 => |w, i| flag(w, i, |o| o.word(0).count_zeros()),
        SBcnt0I32B64 => |w, i| flag(w, i, |o| o.wide(0).count_zeros()),
        SBcnt1I32B32 => |w, i| flag(w, i, |o| o.word(0).count_ones()),
        SBcnt1I32B64 => |w, i| flag(w, i, |o| o.wide(0).count_ones()),
        SFf0I32B32 => |w, i| set(w, i, |o| first(u64::from(!o.word(0)))),
        SFf0I32B64 => |w, i| set(w, i, |o| first(!o.wide(0))),
        SFf1I32B32 => |w, i| set(w, i, |o| first(u64::from(o.word(0)))),
        SFf1I32B64 => |w, i| set(w, i, |o| first(o.wide(0))),
        SFlbitI32B32 => |w, i| {
            set(w, i, |o| match o.word(0) {
                0 => u32::MAX,
                x => x.leading_zeros(),
            })
        },
        SFlbitI32B64 => |w, i| {
            set(w, i, |o| match o.wide(0) {
                0 => u32::MAX,
                x => x.leading_zeros(),
            })
        },
        SFlbitI32 => |w, i| {
            set(w, i, |o| {
                let x = o.word(0);
                let y = x ^ (x as i32 >> 31) as u32;
                if y == 0 {
                    u32::MAX
                } else {
                    y.leading_zeros()
                }
            })
        },
        SFlbitI32I64 => |w, i| {
            set(w, i, |o| {
                let x = o.signed(0);
                let y = x ^ (x as i64 >> 63) as u64;
                if y == 0 {
                    u32::MAX
                } else {
                    y.leading_zeros()
                }
            })
        },
        SSextI32I8 => |w, i| set(w, i, |o| o.word(0) as i8 as u32),
        SSextI32I16 => |w, i| set(w, i, |o| o.word(0) as i16 as u32),
        SBitset0B32 => |w, i| {
            set(w, i, |o| {
                let bit = 1 << (o.word(0) & 31);
                o.w.scalar(o.i.dst, 0) & !bit
            })
        },
        SBitset1B32 => |w, i| {
            set(w, i, |o| {
                let bit = 1 << (o.word(0) & 31);
                o.w.scalar(o.i.dst, 0) | bit
            })
        },
        SBitset0B64 => |w, i| {
            set64(w, i, |o| {
                let bit = 1 << (o.word(0) & 63);
                o.w.pair(o.i.dst) & !bit
            })
        },
        SBitset1B64 => |w, i| {
            set64(w, i, |o| {
                let bit = 1 << (o.word(0) & 63);
                o.w.pair(o.i.dst) | bit
            })
        },
        SBitreplicateB64B32 => |w, i| {
            set64(w, i, |o| {
                let x = u64::from(o.word(0));
                (0..32).fold(0, |r, n| r | ((((x >> n) & 1) * 3) << (2 * n)))
            })
        },
        SAbsI32 => |w, i| flag(w, i, |o| (o.word(0) as i32).wrapping_abs() as u32),
        SAndSaveexecB64 => |w, i| saveexec(w, i, |s, e| s & e),
        SAndSaveexecB32 => |w, i| saveexec32(w, i, |s, e| s & e),
        SOrSaveexecB64 => |w, i| saveexec(w, i, |s, e| s | e),
        SOrSaveexecB32 => |w, i| saveexec32(w, i, |s, e| s | e),
        SXorSaveexecB64 => |w, i| saveexec(w, i, |s, e| s ^ e),
        SXorSaveexecB32 => |w, i| saveexec32(w, i, |s, e| s ^ e),
        SAndn1SaveexecB64 => |w, i| saveexec(w, i, |s, e| !s & e),
        SAndn1SaveexecB32 => |w, i| saveexec32(w, i, |s, e| !s & e),
        SAndn2SaveexecB64 => |w, i| saveexec(w, i, |s, e| s & !e),
        SAndn2SaveexecB32 => |w, i| saveexec32(w, i, |s, e| s & !e),
        SOrn1SaveexecB64 => |w, i| saveexec(w, i, |s, e| !s | e),
        SOrn1SaveexecB32 => |w, i| saveexec32(w, i, |s, e| !s | e),
        SOrn2SaveexecB64 => |w, i| saveexec(w, i, |s, e| s | !e),
        SOrn2SaveexecB32 => |w, i| saveexec32(w, i, |s, e| s | !e),
        SNandSaveexecB64 => |w, i| saveexec(w, i, |s, e| !(s & e)),
        SNandSaveexecB32 => |w, i| saveexec32(w, i, |s, e| !(s & e)),
        SNorSaveexecB64 => |w, i| saveexec(w, i, |s, e| !(s | e)),
        SNorSaveexecB32 => |w, i| saveexec32(w, i, |s, e| !(s | e)),
        SXnorSaveexecB64 => |w, i| saveexec(w, i, |s, e| !(s ^ e)),
        SXnorSaveexecB32 => |w, i| saveexec32(w, i, |s, e| !(s ^ e)),
        SAndn1WrexecB64 => |w, i| wrexec(w, i, |s, e| !s & e),
        SAndn1WrexecB32 => |w, i| wrexec32(w, i, |s, e| !s & e),
        SAndn2WrexecB64 => |w, i| wrexec(w, i, |s, e| s & !e),
        SAndn2WrexecB32 => |w, i| wrexec32(w, i, |s, e| s & !e),
        SCmpEqU32 | SCmpEqI32 => |w, i| compare(w, i, |o| o.word(0) == o.word(1)),
        SCmpLgU32 | SCmpLgI32 => |w, i| compare(w, i, |o| o.word(0) != o.word(1)),
        SCmpEqU64 => |w, i| compare(w, i, |o| o.wide(0) == o.wide(1)),
        SCmpLgU64 => |w, i| compare(w, i, |o| o.wide(0) != o.wide(1)),
        SCmpGtU32 => |w, i| compare(w, i, |o| o.word(0) > o.word(1)),
        SCmpGeU32 => |w, i| compare(w, i, |o| o.word(0) >= o.word(1)),
        SCmpLtU32 => |w, i| compare(w, i, |o| o.word(0) < o.word(1)),
        SCmpLeU32 => |w, i| compare(w, i, |o| o.word(0) <= o.word(1)),
        SCmpGtI32 => |w, i| compare(w, i, |o| o.word(0) as i32 > o.word(1) as i32),
        SCmpGeI32 => |w, i| compare(w, i, |o| o.word(0) as i32 >= o.word(1) as i32),
        SCmpLtI32 => |w, i| compare(w, i, |o| (o.word(0) as i32) < o.word(1) as i32),
        SCmpLeI32 => |w, i| compare(w, i, |o| o.word(0) as i32 <= o.word(1) as i32),
        SBitcmp0B32 => |w, i| compare(w, i, |o| (o.word(0) >> (o.word(1) & 31)) & 1 == 0),
        SBitcmp1B32 => |w, i| compare(w, i, |o| (o.word(0) >> (o.word(1) & 31)) & 1 == 1),
        SBitcmp0B64 => |w, i| compare(w, i, |o| (o.wide(0) >> (o.word(1) & 63)) & 1 == 0),
        SBitcmp1B64 => |w, i| compare(w, i, |o| (o.wide(0) >> (o.word(1) & 63)) & 1 == 1),
        SCmovB32 => |w, i| {
            if w.scc {
                set(w, i, |o| o.word(0))
            }
        },
        SCmovB64 => |w, i| {
            if w.scc {
                set64(w, i, |o| o.wide(0))
            }
        },
        _ => return None,
    };
    Some(step)
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

/// How many s registers a program has: gfx9 has s0 to s101, gfx12 s0 to s105 (LLVM, SGPR_32's
/// addressable registers).
fn count(i: &Inst) -> u32 {
    if i.ocp {
        106
    } else {
        102
    }
}

/// An s register indexed by M0.
fn relative<const L: usize>(
    w: &Wave<L>,
    i: &Inst,
    base: u16,
    width: u32,
) -> Result<u16, FaultKind> {
    let at = u32::from(base).saturating_add(w.s[code::M0 as usize]);
    let end = at.saturating_add(width);
    if u32::from(base) < count(i) && end <= count(i) {
        return Ok(at as u16);
    }
    // A trap handler reaches the whole allocation: VCC too, and gfx9's blocks of 16, behind which nothing is.
    let allocated = if i.ocp { 108 } else { 112 };
    match end {
        ..=108 if w.trap.privileged => Ok(at as u16),
        _ if w.trap.privileged && end <= allocated => Ok(code::NOWHERE),
        _ => Err(FaultKind::Register),
    }
}

fn indexed(i: &Inst, base: u16, by: u32) -> Result<u16, FaultKind> {
    match u32::from(base) + by {
        at if at < count(i) => Ok(at as u16),
        _ => Err(FaultKind::Register),
    }
}
