// SPDX-License-Identifier: MIT OR Apache-2.0
//! The local data share: loads, stores, atomics and lane permutations.
//!
//! Beyond the workgroup's allocation a load is zero, dword by dword, and of a store the bytes inside are
//! written (RDNA4 ISA, section 3.3.3; CDNA3 ISA, chapter 11); an atomic there is a violation of memory.

use super::atomics::{apply32_by_mode, apply64_by_mode};
use super::context::{Context, Next};
use super::lanes::active;
use super::stride::{self, GROUP};
use crate::decode::kind::Kind;
use crate::decode::Op;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::memory::{Gws, GwsAnswer, GwsRequest};
use crate::wave::Wave;

fn range(lds: &[u8], at: u64, bytes: u64) -> Result<std::ops::Range<usize>, FaultKind> {
    match at.checked_add(bytes) {
        Some(end) if end <= lds.len() as u64 => Ok(at as usize..end as usize),
        _ => Err(FaultKind::Lds(at)),
    }
}

/// What a load finds: 0 if any of it lies outside.
#[inline]
pub fn find(lds: &[u8], at: u64, bytes: u8) -> u32 {
    load(lds, at, bytes).unwrap_or(0)
}

/// Store those bytes that lie inside.
#[inline]
pub fn put(lds: &mut [u8], at: u64, value: u32, bytes: u8) {
    if store(lds, at, value, bytes).is_err() {
        for (n, byte) in value.to_le_bytes()[..bytes as usize].iter().enumerate() {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            if let Some(to) = lds.get_mut(at.saturating_add(n)) {
                *to = *byte;
            }
        }
    }
}

/// A dword of each active lane's address plus `offset`; 0 for the others.
fn gather<const L: usize>(lds: &[u8], exec: u64, base: &[u32; L], offset: u64) -> [u32; L] {
    if let Some(at) = all_inside(lds, exec, base, offset) {
        let one = |at: u32| find(lds, at.into(), 4);
        let row = |at: u32, row: &mut [u32; GROUP]| {
            let bytes = lds.get(at as usize..).unwrap_or_default();
            for (to, dword) in row.iter_mut().zip(bytes.chunks_exact(4)) {
                *to = dword
                    .first_chunk()
                    .map_or(0, |dword| u32::from_le_bytes(*dword));
            }
        };
        return stride::gather::<L, 4>(&at, one, row);
    }
    let mut r = [0; L];
    for (l, (r, base)) in r.iter_mut().zip(base).enumerate() {
        if (exec >> l) & 1 == 1 {
            *r = find(lds, u64::from(*base) + offset, 4);
        }
    }
    r
}

/// Store a dword of each active lane.
fn scatter<const L: usize>(
    lds: &mut [u8],
    exec: u64,
    base: &[u32; L],
    offset: u64,
    values: &[u32; L],
) {
    if let Some(at) = all_inside(lds, exec, base, offset) {
        return stride::scatter::<L, 4>(&at, values, |at, row| {
            let bytes = lds.get_mut(at as usize..).unwrap_or_default();
            for (to, value) in bytes.chunks_exact_mut(4).zip(row) {
                to.copy_from_slice(&value.to_le_bytes());
            }
        });
    }
    for (l, (value, base)) in values.iter().zip(base).enumerate() {
        if (exec >> l) & 1 == 1 {
            put(lds, u64::from(*base) + offset, *value, 4);
        }
    }
}

/// Where the lanes' dwords are, if all lanes are active and all of it is inside.
fn all_inside<const L: usize>(
    lds: &[u8],
    exec: u64,
    base: &[u32; L],
    offset: u64,
) -> Option<[u32; L]> {
    let highest = base.iter().fold(0, |highest, base| (*base).max(highest));
    let inside = u64::from(highest) + offset + 4 <= lds.len() as u64;
    // LDS is small: no sum of what lies inside is beyond 32 bits.
    let all = inside && exec & Wave::<L>::FULL == Wave::<L>::FULL;
    all.then(|| std::array::from_fn(|l| base[l] + offset as u32))
}

/// Load 1, 2 or 4 bytes.
#[inline]
pub fn load(lds: &[u8], at: u64, bytes: u8) -> Result<u32, FaultKind> {
    let mut value = [0; 4];
    value[..bytes as usize].copy_from_slice(&lds[range(lds, at, bytes.into())?]);
    Ok(u32::from_le_bytes(value))
}

/// Store 1, 2 or 4 bytes.
#[inline]
pub fn store(lds: &mut [u8], at: u64, value: u32, bytes: u8) -> Result<(), FaultKind> {
    let range = range(lds, at, bytes.into())?;
    lds[range].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
    Ok(())
}

/// Read, modify, write 32 bits. One workgroup runs on one thread: nothing can come between.
pub fn update32(lds: &mut [u8], at: u64, f: impl Fn(u32) -> u32) -> Result<u32, FaultKind> {
    if at % 4 != 0 {
        return Err(FaultKind::Unsupported("an unaligned LDS atomic"));
    }
    let old = load(lds, at, 4)?;
    store(lds, at, f(old), 4)?;
    Ok(old)
}

/// Read, modify, write 64 bits.
pub fn update64(lds: &mut [u8], at: u64, f: impl Fn(u64) -> u64) -> Result<u64, FaultKind> {
    if at % 8 != 0 {
        return Err(FaultKind::Unsupported("an unaligned LDS atomic"));
    }
    let old = u64::from(load(lds, at, 4)?) | (u64::from(load(lds, at + 4, 4)?) << 32);
    let new = f(old);
    store(lds, at, new as u32, 4)?;
    store(lds, at + 4, (new >> 32) as u32, 4)?;
    Ok(old)
}

/// A loaded byte or short as a register: extended, or in one half of the old value.
pub fn narrow(value: u32, bytes: u8, signed: bool, half: u8, old: u32) -> u32 {
    let value = match (bytes, signed) {
        (1, true) => value as i8 as u32,
        (2, true) => value as i16 as u32,
        _ => value,
    };
    match half {
        0 => value,
        1 => old & 0xffff_0000 | value & 0xffff,
        _ => old & 0xffff | (value << 16),
    }
}

/// DS.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<Next, FaultKind> {
    use Op::*;
    if let Some(operation) = synchronisation(i.op) {
        return synchronise(w, i, c, operation);
    }
    if i.cache & 1 == 1 {
        return Err(FaultKind::Unsupported("global data share"));
    }
    match i.op {
        DsNop => {}
        DsBpermuteB32 | DsPermuteB32 | DsSwizzleB32 => permute(w, i)?,
        DsRead2B32 => two(w, i, c, 4, 1, Way::Read)?,
        DsRead2st64B32 => two(w, i, c, 4, 64, Way::Read)?,
        DsRead2B64 => two(w, i, c, 8, 1, Way::Read)?,
        DsRead2st64B64 => two(w, i, c, 8, 64, Way::Read)?,
        DsWrite2B32 => two(w, i, c, 4, 1, Way::Write)?,
        DsWrite2st64B32 => two(w, i, c, 4, 64, Way::Write)?,
        DsWrite2B64 => two(w, i, c, 8, 1, Way::Write)?,
        DsWrite2st64B64 => two(w, i, c, 8, 64, Way::Write)?,
        DsWrxchg2RtnB32 | DsStorexchg2addrRtnB32 => two(w, i, c, 4, 1, Way::Exchange)?,
        DsWrxchg2st64RtnB32 | DsStorexchg2addrStride64RtnB32 => two(w, i, c, 4, 64, Way::Exchange)?,
        DsWrxchg2RtnB64 | DsStorexchg2addrRtnB64 => two(w, i, c, 8, 1, Way::Exchange)?,
        DsWrxchg2st64RtnB64 | DsStorexchg2addrStride64RtnB64 => two(w, i, c, 8, 64, Way::Exchange)?,
        DsAppend => count(w, i, c, u32::wrapping_add)?,
        DsConsume => count(w, i, c, u32::wrapping_sub)?,
        DsReadAddtidB32 | DsLoadAddtidB32 | DsWriteAddtidB32 | DsStoreAddtidB32 => {
            for l in active(w) {
                let base = u64::from(w.s[code::M0 as usize] & 0xffff);
                let at = base + u64::from(i.imm) + 4 * l as u64;
                if matches!(i.op, DsReadAddtidB32 | DsLoadAddtidB32) {
                    let to = w.slot(i.dst);
                    w.v[to][l] = find(c.lds, at, 4);
                } else {
                    put(c.lds, at, w.v[w.slot(i.src[1])][l], 4);
                }
            }
        }
        _ => each(w, i, c)?,
    }
    Ok(Next::Go)
}

/// Operations with one address, lane by lane.
fn each<const L: usize>(w: &mut Wave<L>, i: &Inst, c: &mut Context<'_>) -> Result<(), FaultKind> {
    if i.kind == Kind::Plain && i.op != Op::DsCondxchg32RtnB64 {
        return Err(FaultKind::Illegal);
    }
    let exec = w.exec();
    let base = w.v[w.slot(i.src[0])];
    match i.kind {
        Kind::Load(count) => {
            for n in 0..u16::from(count) {
                let offset = u64::from(i.imm) + 4 * u64::from(n);
                let value = gather(c.lds, exec, &base, offset);
                w.put(i.dst + n, &value);
            }
            return Ok(());
        }
        Kind::Store(count) => {
            for n in 0..u16::from(count) {
                let offset = u64::from(i.imm) + 4 * u64::from(n);
                let value = &w.v[w.slot(i.src[1] + n)];
                scatter(c.lds, exec, &base, offset, value);
            }
            return Ok(());
        }
        _ => {}
    }
    let returns = matches!(i.kind, Kind::Atomic(..)) && i.op.name().contains("_rtn_");
    for l in (0..L).filter(|l| (exec >> l) & 1 == 1) {
        let at = u64::from(base[l]) + u64::from(i.imm);
        match i.kind {
            Kind::LoadSmall {
                bytes,
                signed,
                half,
            } => {
                let to = w.slot(i.dst);
                w.v[to][l] = narrow(find(c.lds, at, bytes), bytes, signed, half, w.v[to][l]);
            }
            Kind::StoreSmall(bytes, high) => {
                let value = w.v[w.slot(i.src[1])][l] >> if high { 16 } else { 0 };
                put(c.lds, at, value, bytes);
            }
            Kind::Atomic(op, false) => {
                let (first, second) = (w.v[w.slot(i.src[1])][l], second(w, i, l));
                // A compare-and-swap has the value to compare with first.
                let (data, compare) = if op.compares_first() {
                    (second, first)
                } else {
                    (first, second)
                };
                let old = update32(c.lds, at, |old| {
                    apply32_by_mode(w.mode, op, old, data, compare)
                })?;
                if returns {
                    let to = w.slot(i.dst);
                    w.v[to][l] = old;
                }
            }
            Kind::Atomic(op, true) => {
                let pair =
                    |operand: u16| match (w.v.get(w.slot(operand)), w.v.get(w.slot(operand) + 1)) {
                        (Some(low), Some(high)) => u64::from(low[l]) | (u64::from(high[l]) << 32),
                        _ => 0,
                    };
                let (first, second) = (pair(i.src[1]), pair(i.src[2]));
                let (data, compare) = if op.compares_first() {
                    (second, first)
                } else {
                    (first, second)
                };
                let old = update64(c.lds, at, |old| {
                    apply64_by_mode(w.mode, op, old, data, compare)
                })?;
                if returns {
                    let to = w.slot(i.dst);
                    w.v[to][l] = old as u32;
                    w.v[to + 1][l] = (old >> 32) as u32;
                }
            }
            // Each dword is replaced by its operand's lower 31 bits if the highest is set.
            _ => {
                for n in 0..2u16 {
                    let data = w.v[w.slot(i.src[1] + n)][l];
                    let at = (at & !7) + 4 * u64::from(n);
                    let old = load(c.lds, at, 4)?;
                    if data >> 31 == 1 {
                        store(c.lds, at, data & 0x7fff_ffff, 4)?;
                    }
                    let to = w.slot(i.dst + n);
                    w.v[to][l] = old;
                }
            }
        }
    }
    Ok(())
}

/// The number of active lanes is added to, or taken from, a counter that M0 and the offset name;
/// all lanes get its old value.
fn count<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
    f: impl Fn(u32, u32) -> u32,
) -> Result<(), FaultKind> {
    let at = u64::from(w.s[code::M0 as usize] & 0xffff) + u64::from(i.imm);
    let lanes = (w.exec() & Wave::<L>::FULL).count_ones();
    let old = update32(c.lds, at & !3, |old| f(old, lanes))?;
    w.put(i.dst, &[old; L]);
    Ok(())
}

/// The operation on a global semaphore or barrier.
fn synchronisation(op: Op) -> Option<Gws> {
    Some(match op {
        Op::DsGwsInit => Gws::Init,
        Op::DsGwsBarrier => Gws::Barrier,
        Op::DsGwsSemaV => Gws::Release,
        Op::DsGwsSemaP => Gws::Acquire,
        Op::DsGwsSemaBr => Gws::ReleaseMany,
        Op::DsGwsSemaReleaseAll => Gws::ReleaseAll,
        _ => return None,
    })
}

/// Global wave synchronisation: the device decides whether the wave goes on.
fn synchronise<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
    operation: Gws,
) -> Result<Next, FaultKind> {
    let resource = ((w.s[code::M0 as usize] >> 16) + i.imm) & 0x3f;
    // The first active lane's value.
    let lane = active(w).next().unwrap_or(0);
    let value = w.v[w.slot(i.gws_data())][lane];
    let request = GwsRequest {
        operation,
        resource,
        value,
        ticket: w.ticket.take(),
    };
    match c.env.synchronise(c.vmid, &request) {
        GwsAnswer::Go => Ok(Next::Go),
        // Ask again at the next turn.
        GwsAnswer::Wait(ticket) => {
            w.ticket = Some(ticket);
            w.pc = w.pc.wrapping_sub(i.size.into());
            Ok(Next::Yield)
        }
        GwsAnswer::Refused => Err(FaultKind::Gws(resource)),
    }
}

/// What the forms with two addresses do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
    Exchange,
}

/// The second data register; instructions without one name v0, which may not be allocated.
fn second<const L: usize>(w: &Wave<L>, i: &Inst, lane: usize) -> u32 {
    w.v.get(w.slot(i.src[2])).map_or(0, |v| v[lane])
}

/// The forms with two addresses: two 8-bit offsets in units of the element, or of 64 elements.
fn two<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
    size: u64,
    unit: u64,
    way: Way,
) -> Result<(), FaultKind> {
    let exec = w.exec();
    let base = w.v[w.slot(i.src[0])];
    let offsets = [
        u64::from(i.imm & 0xff) * size * unit,
        u64::from((i.imm >> 8) & 0xff) * size * unit,
    ];
    let dwords = (size / 4) as u16;
    if way != Way::Exchange {
        for (which, offset) in (0..).zip(offsets) {
            for n in 0..dwords {
                let offset = offset + 4 * u64::from(n);
                if way == Way::Read {
                    let value = gather(c.lds, exec, &base, offset);
                    w.put(i.dst + which * dwords + n, &value);
                } else {
                    let value = &w.v[w.slot(i.src[1 + usize::from(which)] + n)];
                    scatter(c.lds, exec, &base, offset, value);
                }
            }
        }
        return Ok(());
    }
    for l in (0..L).filter(|l| (exec >> l) & 1 == 1) {
        for (which, offset) in offsets.into_iter().enumerate() {
            let at = u64::from(base[l]) + offset;
            for n in 0..dwords {
                let at = at + 4 * u64::from(n);
                let old = load(c.lds, at, 4)?;
                store(c.lds, at, w.v[w.slot(i.src[1 + which] + n)][l], 4)?;
                let to = w.slot(i.dst + which as u16 * dwords + n);
                w.v[to][l] = old;
            }
        }
    }
    Ok(())
}

fn permute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    let exec = w.exec();
    let valid = |l: usize| (exec >> l) & 1 == 1;
    let address = w.v[w.slot(i.src[0])];
    let lane = |l: usize| (address[l].wrapping_add(i.imm) / 4) as usize % L;
    let mut r = [0; L];
    match i.op {
        Op::DsBpermuteB32 => {
            let data = w.v[w.slot(i.src[1])];
            for (l, r) in r.iter_mut().enumerate() {
                if valid(lane(l)) || i.op_sel != 0 {
                    *r = data[lane(l)];
                }
            }
        }
        Op::DsPermuteB32 => {
            let data = w.v[w.slot(i.src[1])];
            // The highest source wins.
            for l in (0..L).filter(|l| valid(*l)) {
                r[lane(l)] = data[l];
            }
        }
        _ => {
            let pattern = i.imm as usize;
            for (l, r) in r.iter_mut().enumerate() {
                let from = if pattern >= 0xe000 {
                    // The order of a Fourier transform: bits the other way round above those of the mask.
                    let mask = pattern & 0x1f;
                    let reversed = (l as u8 & 0x1f).reverse_bits() as usize >> 3;
                    (reversed >> mask.count_ones()) | l & mask | l & 0x20
                } else if pattern >= 0xc000 {
                    // Rotate within groups of lanes that the mask keeps apart.
                    let (mask, by) = (pattern & 0x1f, (pattern >> 5) & 0x1f);
                    let turned = if pattern & 0x400 != 0 {
                        l + 32 - by
                    } else {
                        l + by
                    };
                    l & (mask | 0x20) | turned & !mask & 0x1f
                } else if pattern & 0x8000 != 0 {
                    l & !3 | (pattern >> (2 * (l & 3))) & 3
                } else {
                    ((l & pattern & 0x1f | (pattern >> 5) & 0x1f) ^ ((pattern >> 10) & 0x1f))
                        | l & 0x20
                };
                if valid(from) {
                    *r = address[from];
                }
            }
        }
    }
    w.put(i.dst, &r);
    Ok(())
}

/// Where a lane's data goes in LDS: M0 and the instruction's offset, then lane by lane.
pub fn lds_address<const L: usize>(w: &Wave<L>, i: &Inst, lane: usize) -> u64 {
    let base = u64::from(w.s[code::M0 as usize] & 0xffff);
    base + u64::from(i.imm & 0xfff) + 4 * lane as u64
}
