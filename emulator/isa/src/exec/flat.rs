// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector memory: flat, global and scratch loads, stores and atomics.
//!
//! A flat address in the shared aperture is LDS, one in the private aperture is scratch, any other
//! is memory (CDNA3 ISA, section 9.3). Scratch is memory too: each lane has dwords of its own,
//! lane by lane, from the wave's base on (the swizzle of ADD_TID_ENABLE with 4-byte elements).

use super::atomics::{apply32, apply64};
use super::context::Context;
use super::lanes::active;
use super::lds;
use super::lds::lds_address;
use super::stride::{gather, scatter};
use crate::cache::{Caches, VECTOR_LINE};
use crate::decode::atomic::Atomic;
use crate::decode::kind::Kind;
use crate::decode::{code, Inst, Scope};
use crate::fault::Access;
use crate::fault::FaultKind;
use crate::memory::{HostPage, PAGE};
use crate::second::{Stores, LINE};
use crate::wave::Wave;

mod address;

use address::private;
pub(crate) use address::{addresses, each_place, place, places, Place};

/// FLAT, GLOBAL and SCRATCH.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<(), FaultKind> {
    match i.kind {
        Kind::Hint => {
            c.maintain(i);
            return Ok(());
        }
        Kind::Plain => return Err(FaultKind::Illegal),
        _ => {}
    }
    c.vector(i);
    if w.trap.stores_fail() && matches!(i.kind, Kind::Store(_) | Kind::StoreSmall(..)) {
        return Ok(());
    }
    let a = addresses(w, i);
    match i.kind {
        Kind::Load(count) => {
            if i.op_sel == 2 {
                return load_global(w, i, c, &a, count);
            }
            for l in active(w) {
                for n in 0..u16::from(count) {
                    let value = load(w, i.op_sel, l, a[l].wrapping_add(4 * u64::from(n)), 4, c)?;
                    put(w, i.dst + n, l, value);
                }
            }
        }
        Kind::LoadSmall {
            bytes,
            signed,
            half,
        } => {
            for l in active(w) {
                let value = load(w, i.op_sel, l, a[l], bytes, c)?;
                let at = w.slot(i.dst);
                w.v[at][l] = lds::narrow(value, bytes, signed, half, w.v[at][l]);
            }
        }
        Kind::Store(count) => {
            if i.op_sel == 2 {
                return store_global(w, i, c, &a, count);
            }
            for l in active(w) {
                for n in 0..u16::from(count) {
                    let value = w.v[w.slot(i.src[1] + n)][l];
                    store(
                        w,
                        i.op_sel,
                        l,
                        a[l].wrapping_add(4 * u64::from(n)),
                        value,
                        4,
                        c,
                    )?;
                }
            }
        }
        Kind::StoreSmall(bytes, high) => {
            for l in active(w) {
                let value = w.v[w.slot(i.src[1])][l] >> if high { 16 } else { 0 };
                store(w, i.op_sel, l, a[l], value, bytes, c)?;
            }
        }
        Kind::Atomic(op, wide) => {
            for l in active(w) {
                atomic(w, i, c, l, place(w, i.op_sel, a[l]), op, wide)?;
            }
        }
        Kind::LoadLds(bytes, signed) => {
            for l in active(w) {
                let value = load(w, i.op_sel, l, a[l], bytes, c)?;
                let value = lds::narrow(value, bytes, signed, 0, 0);
                lds::store(c.lds, lds_address(w, i, l), value, 4)?;
            }
        }
        Kind::Block(is_store) => block(w, i, c, &a, is_store)?,
        _ => return Err(FaultKind::Illegal),
    }
    Ok(())
}

/// Up to 32 registers, of which M0's bits choose; each has its place in memory.
fn block<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
    a: &[u64; L],
    is_store: bool,
) -> Result<(), FaultKind> {
    let mask = w.s[code::M0 as usize];
    let first = w.slot(if is_store { i.src[1] } else { i.dst });
    let registers = usize::from(w.registers());
    for n in (0..32).filter(|n| (mask >> n) & 1 == 1) {
        for l in active(w) {
            let address = a[l].wrapping_add(4 * n as u64);
            // Dword by dword: beyond the allocation v0 is stored, and nothing is loaded (RDNA4 ISA,
            // section 11.5.1).
            let there = first + n < registers;
            if is_store {
                let from = if there { first + n } else { 0 };
                store(w, i.op_sel, l, address, w.v[from][l], 4, c)?;
            } else if there {
                w.v[first + n][l] = load(w, i.op_sel, l, address, 4, c)?;
            }
        }
    }
    Ok(())
}

/// Write one lane of a register.
#[inline]
pub fn put<const L: usize>(w: &mut Wave<L>, operand: u16, lane: usize, value: u32) {
    let at = w.slot(operand);
    w.v[at][lane] = value;
}

/// The lowest active address, and the bits in which any active one differs from it.
fn spread<const L: usize>(w: &Wave<L>, a: &[u64; L]) -> Option<(u64, u64)> {
    let exec = w.exec() & Wave::<L>::FULL;
    let first = *a.get(exec.trailing_zeros() as usize)?;
    let apart = if exec == Wave::<L>::FULL {
        a.iter().fold(0, |apart, va| apart | (va ^ first))
    } else {
        active(w).fold(0, |apart, l| apart | (a[l] ^ first))
    };
    Some((first, apart))
}

/// The first lane's address, if all lanes are active, their aligned dwords follow one another, and all are in one page.
fn row<const L: usize>(w: &Wave<L>, a: &[u64; L]) -> Option<u64> {
    let first = a[0];
    let mut apart = first % 4;
    for (n, va) in a.iter().enumerate() {
        apart |= va ^ first.wrapping_add(4 * n as u64);
    }
    let fits = first as usize % PAGE + 4 * L <= PAGE;
    (apart == 0 && fits && w.exec() & Wave::<L>::FULL == Wave::<L>::FULL).then_some(first)
}

/// The page that has all active lanes' aligned dwords, and which dword of it each lane has.
fn common_page<'a, const L: usize>(
    w: &Wave<L>,
    c: &'a mut Context<'_>,
    a: &[u64; L],
    access: Access,
) -> Result<Option<(&'a HostPage, [u32; L])>, FaultKind> {
    match spread(w, a) {
        Some((first, apart)) if apart < PAGE as u64 && (first | apart) % 4 == 0 => {
            let page = c.tlb.page(c.env, c.vmid, first, access)?;
            // Lanes that are off may be anywhere.
            let dwords = std::array::from_fn(|l| a[l] as u32 % PAGE as u32 / 4);
            Ok(Some((page, dwords)))
        }
        _ => Ok(None),
    }
}

/// Loads from memory alone, with the page looked up once for neighbouring lanes.
fn load_global<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
    a: &[u64; L],
    count: u8,
) -> Result<(), FaultKind> {
    let size = 4 * count as usize;
    let to = w.slot(i.dst);
    if c.watching.on {
        for l in active(w) {
            for n in 0..count as usize {
                w.v[to + n][l] = c.load_u32(a[l].wrapping_add(4 * n as u64))?;
            }
        }
        return Ok(());
    }
    if c.caches.is_some() {
        return load_cached(w, i, c, a, count);
    }
    if count == 1 {
        if let Some(first) = row(w, a) {
            let page = c.tlb.page(c.env, c.vmid, first, Access::Read)?;
            page.load_row(first as usize % PAGE / 4, &mut w.v[to]);
            return Ok(());
        }
        if let Some((page, dwords)) = common_page(w, c, a, Access::Read)? {
            let load = |at: u32| page.load_u32(4 * at as usize);
            if w.exec() & Wave::<L>::FULL != Wave::<L>::FULL {
                active(w).for_each(|l| w.v[to][l] = load(dwords[l]));
            } else {
                w.v[to] = gather::<L, 1>(&dwords, load, |at, row| page.load_row(at as usize, row));
            }
            return Ok(());
        }
    }
    let mut page: Option<(u64, &HostPage)> = None;
    for l in active(w) {
        let (number, at) = (a[l] / PAGE as u64, a[l] as usize % PAGE);
        if at + size > PAGE {
            page = None;
            for n in 0..count as usize {
                w.v[to + n][l] = c.load_u32(a[l].wrapping_add(4 * n as u64))?;
            }
            continue;
        }
        let host = match page {
            Some((known, host)) if known == number => host,
            _ => c.tlb.page(c.env, c.vmid, a[l], Access::Read)?,
        };
        if count == 2 {
            let value = host.load_u64(at);
            w.v[to][l] = value as u32;
            w.v[to + 1][l] = (value >> 32) as u32;
        } else {
            for n in 0..count as usize {
                w.v[to + n][l] = host.load_u32(at + 4 * n);
            }
        }
        page = Some((number, host));
    }
    Ok(())
}

/// Loads from memory alone, through the vector cache, with a line looked up once for neighbouring lanes.
fn load_cached<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
    a: &[u64; L],
    count: u8,
) -> Result<(), FaultKind> {
    const LINE: u64 = VECTOR_LINE as u64;
    let (to, size) = (w.slot(i.dst), 4 * u64::from(count));
    let inside = |l: usize| a[l] % 4 == 0 && a[l] % LINE + size <= LINE;
    if i.scope != Scope::Wave || !active(w).all(inside) {
        for l in active(w) {
            for n in 0..count as usize {
                w.v[to + n][l] = c.load_u32(a[l].wrapping_add(4 * n as u64))?;
            }
        }
        return Ok(());
    }
    let Some(caches) = c.caches.as_deref_mut() else {
        return Ok(());
    };
    let mut known = None;
    for l in active(w) {
        let line = match known {
            Some((number, line)) if number == a[l] / LINE => line,
            _ => {
                let page = c.tlb.page(c.env, c.vmid, a[l], Access::Read)?;
                caches.line(page, a[l] as usize % PAGE)
            }
        };
        let from = (a[l] % LINE) as usize;
        let dwords = line[from..from + size as usize].chunks_exact(4);
        for (n, bytes) in dwords.enumerate() {
            w.v[to + n][l] = bytes.iter().rev().fold(0, |v, b| (v << 8) | u32::from(*b));
        }
        known = Some((a[l] / LINE, line));
    }
    Ok(())
}

/// Drops the vector cache's lines that a store to memory is about to change. Where it does not translate, the
/// store finds the fault.
fn drop_lines<const L: usize>(w: &Wave<L>, c: &mut Context<'_>, a: &[u64; L], size: usize) {
    let Some(caches) = c.caches.as_deref_mut() else {
        return;
    };
    let mut known = None;
    for l in active(w) {
        let (at, line) = (a[l] as usize % PAGE, a[l] / VECTOR_LINE as u64);
        let inside = at % VECTOR_LINE + size <= VECTOR_LINE;
        if inside && known == Some(line) {
            continue;
        }
        if let Ok(page) = c.tlb.page(c.env, c.vmid, a[l], Access::Write) {
            caches.changed(page, at, size);
        }
        known = inside.then_some(line);
    }
}

/// Stores to memory alone above a second-level cache, which gets what goes to one line at once.
fn store_held<const L: usize>(
    w: &Wave<L>,
    from: usize,
    c: &mut Context<'_>,
    a: &[u64; L],
    count: u8,
) -> Result<(), FaultKind> {
    let size = 4 * usize::from(count);
    // The line that the lanes before have stored to, and what.
    let mut open: Option<(u64, Stores)> = None;
    for l in active(w) {
        let (line, at) = (a[l] / LINE as u64, a[l] as usize % LINE);
        if open.as_ref().is_none_or(|(known, _)| *known != line) || at + size > LINE {
            close(c, open.take())?;
            let page = c.tlb.page(c.env, c.vmid, a[l], Access::Write)?;
            let held = c.caches.as_deref().is_some_and(|caches| caches.hold(page));
            if !held || at + size > LINE {
                for n in 0..usize::from(count) {
                    c.store_u32(a[l].wrapping_add(4 * n as u64), w.v[from + n][l])?;
                }
                continue;
            }
        }
        let (_, stores) = open.get_or_insert((line, Stores::NONE));
        for n in 0..usize::from(count) {
            stores.put(at + 4 * n, &w.v[from + n][l].to_le_bytes());
        }
    }
    close(c, open)
}

/// Gives the second-level cache what lanes have stored to a line.
fn close(c: &mut Context<'_>, open: Option<(u64, Stores)>) -> Result<(), FaultKind> {
    let Some((line, stores)) = open else {
        return Ok(());
    };
    let va = line.wrapping_mul(LINE as u64);
    let page = c.tlb.page(c.env, c.vmid, va, Access::Write)?;
    if let Some(caches) = c.caches.as_deref_mut() {
        caches.store_line(page, va as usize % PAGE, &stores);
    }
    Ok(())
}

fn store_global<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
    a: &[u64; L],
    count: u8,
) -> Result<(), FaultKind> {
    let size = 4 * count as usize;
    let from = w.slot(i.src[1]);
    if c.watching.on {
        for l in active(w) {
            for n in 0..count as usize {
                c.store_u32(a[l].wrapping_add(4 * n as u64), w.v[from + n][l])?;
            }
        }
        return Ok(());
    }
    if c.caches.as_deref().is_some_and(Caches::has_second) {
        return store_held(w, from, c, a, count);
    }
    drop_lines(w, c, a, size);
    if count == 1 {
        if let Some(first) = row(w, a) {
            let page = c.tlb.page(c.env, c.vmid, first, Access::Write)?;
            page.store_row(first as usize % PAGE / 4, &w.v[from]);
            return Ok(());
        }
        if let Some((page, dwords)) = common_page(w, c, a, Access::Write)? {
            let data = &w.v[from];
            if w.exec() & Wave::<L>::FULL == Wave::<L>::FULL {
                scatter::<L, 1>(&dwords, data, |at, row| page.store_row(at as usize, row));
            } else {
                active(w).for_each(|l| page.store_u32(4 * dwords[l] as usize, data[l]));
            }
            return Ok(());
        }
    }
    let mut page: Option<(u64, &HostPage)> = None;
    for l in active(w) {
        let (number, at) = (a[l] / PAGE as u64, a[l] as usize % PAGE);
        if at + size > PAGE {
            page = None;
            for n in 0..count as usize {
                c.store_u32(a[l].wrapping_add(4 * n as u64), w.v[from + n][l])?;
            }
            continue;
        }
        let host = match page {
            Some((known, host)) if known == number => host,
            _ => c.tlb.page(c.env, c.vmid, a[l], Access::Write)?,
        };
        if count == 2 {
            host.store_u64(
                at,
                u64::from(w.v[from][l]) | (u64::from(w.v[from + 1][l]) << 32),
            );
        } else {
            for n in 0..count as usize {
                host.store_u32(at + 4 * n, w.v[from + n][l]);
            }
        }
        page = Some((number, host));
    }
    Ok(())
}

fn load<const L: usize>(
    w: &Wave<L>,
    segment: u8,
    lane: usize,
    address: u64,
    bytes: u8,
    c: &mut Context<'_>,
) -> Result<u32, FaultKind> {
    match place(w, segment, address) {
        Place::Memory(va) => load_memory(c, va, bytes),
        Place::Lds(at) => lds::load(c.lds, at, bytes),
        Place::Private(offset) if offset % 4 + u64::from(bytes) <= 4 => {
            load_memory(c, private(w, lane, offset)?, bytes)
        }
        Place::Private(offset) => (0..u64::from(bytes)).try_fold(0, |value, n| {
            let byte = c.load_u8(private(w, lane, offset + n)?)?;
            Ok(value | (u32::from(byte) << (8 * n)))
        }),
    }
}

/// Load 1, 2 or 4 bytes.
pub fn load_memory(c: &mut Context<'_>, va: u64, bytes: u8) -> Result<u32, FaultKind> {
    Ok(match bytes {
        1 => c.load_u8(va)?.into(),
        2 => c.load_u16(va)?.into(),
        _ => c.load_u32(va)?,
    })
}

fn store<const L: usize>(
    w: &Wave<L>,
    segment: u8,
    lane: usize,
    address: u64,
    value: u32,
    bytes: u8,
    c: &mut Context<'_>,
) -> Result<(), FaultKind> {
    match place(w, segment, address) {
        Place::Memory(va) => store_memory(c, va, value, bytes),
        Place::Lds(at) => lds::store(c.lds, at, value, bytes),
        Place::Private(offset) if offset % 4 + u64::from(bytes) <= 4 => {
            store_memory(c, private(w, lane, offset)?, value, bytes)
        }
        Place::Private(offset) => (0..u64::from(bytes))
            .try_for_each(|n| c.store_u8(private(w, lane, offset + n)?, (value >> (8 * n)) as u8)),
    }
}

/// Store 1, 2 or 4 bytes.
pub fn store_memory(c: &mut Context<'_>, va: u64, value: u32, bytes: u8) -> Result<(), FaultKind> {
    match bytes {
        1 => c.store_u8(va, value as u8),
        2 => c.store_u16(va, value as u16),
        _ => c.store_u32(va, value),
    }
}

/// Data of a compare-and-swap: the new value first, then the value to compare with.
pub fn atomic<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
    l: usize,
    at: Place,
    op: Atomic,
    wide: bool,
) -> Result<(), FaultKind> {
    let from = w.slot(i.src[1]);
    let word = |n: usize| w.v.get(from + n).map_or(0, |v| v[l]);
    let long = |n: usize| u64::from(word(n)) | (u64::from(word(n + 1)) << 32);
    let returns = i.cache & 1 == 1;
    if wide {
        let (data, compare) = (long(0), long(2));
        let f = |old| apply64(op, old, data, compare);
        let old = match at {
            Place::Memory(va) => c.update_u64(va, f)?,
            Place::Lds(at) => lds::update64(c.lds, at, f)?,
            // The two dwords lie apart, with other lanes' between them: a violation of memory (RDNA4
            // ISA, chapter 11: in scratch atomics have 4 bytes).
            Place::Private(offset) => {
                private(w, l, offset)?;
                return Err(FaultKind::Violation("a 64-bit atomic in scratch"));
            }
        };
        if returns {
            put(w, i.dst, l, old as u32);
            put(w, i.dst + 1, l, (old >> 32) as u32);
        }
    } else {
        let (data, compare) = (word(0), word(1));
        let f = |old| apply32(op, old, data, compare);
        let old = match at {
            Place::Memory(va) => c.update_u32(va, f)?,
            Place::Lds(at) => lds::update32(c.lds, at, f)?,
            Place::Private(offset) => c.update_u32(private(w, l, offset)?, f)?,
        };
        if returns {
            put(w, i.dst, l, old);
        }
    }
    Ok(())
}
