// SPDX-License-Identifier: MIT OR Apache-2.0

//! What packets do.

use super::memory::{copy, fill, Abort, Ended};
use super::packet::{Bad, Image, Packet};
use super::queue::{Ib, Loaded};
use super::{Engines, PER_DIE};
use crate::device::interrupt::Interrupt;
use crate::memory::{Space, VmFault};
use rkfd_hw::regs::sdma_4_4_2::SDMA_CNTL;
use rkfd_hw::regs::Value;
use rkfd_hw::sdma::{atomic, func};

/// How a packet ended.
pub(super) enum Done {
    /// It is done; that many words behind it are skipped.
    Next(u64),
    /// It is done, and an indirect buffer comes next.
    Into(Ib),
    /// It waits, and is tried again.
    Waits,
}

/// Why a queue halts.
pub(super) enum Halt {
    /// Undefined, or given up.
    Bad(Bad),
    /// An address does not translate.
    Fault(VmFault),
    /// It is reset.
    Aborted,
}

impl From<Ended> for Halt {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Fault(fault) => Self::Fault(fault),
            Ended::Aborted => Self::Aborted,
        }
    }
}

impl From<VmFault> for Halt {
    fn from(fault: VmFault) -> Self {
        Self::Fault(fault)
    }
}

fn bad(what: &str) -> Halt {
    Halt::Bad(Bad(what.into()))
}

/// Executes a packet of a queue.
///
/// # Errors
/// Why the queue halts at it.
pub(super) fn execute(
    all: &Engines,
    h: &mut Loaded,
    packet: &Packet,
    abort: Abort<'_>,
) -> Result<Done, Halt> {
    let hub = (all.shape.generation.hub)(h.q.slot.engine);
    let space = all.env.memory().space(hub, h.q.vmid);
    match packet {
        // No cache of the graphics core is modelled that GCR would write back or invalidate.
        Packet::Nop | Packet::Gcr => {}
        Packet::HdpFlush => all.env.memory().flush_hdp(),
        Packet::Copy { src, dst, bytes } => {
            for &dst in dst.iter().flatten() {
                let apart = dst.wrapping_sub(*src).min(src.wrapping_sub(dst));
                if apart < *bytes && apart != 0 {
                    return Err(bad("COPY: source and destination overlap"));
                }
                copy(space, *src, dst, *bytes, abort)?;
            }
        }
        Packet::Rect {
            src,
            dst,
            size,
            element,
        } => rect(space, src, dst, *size, *element, abort)?,
        Packet::Write { dst, data } => {
            space.takes(*dst, data.len() as u64 * 4);
            space.write_words(*dst, data)?;
        }
        Packet::WriteIncremented {
            dst,
            bits,
            first,
            step,
            count,
        } => {
            space.takes(*dst, count.saturating_mul(8));
            for n in 0..*count {
                let value = first.wrapping_add(step.wrapping_mul(n)) | bits;
                space.store_u64(dst.wrapping_add(n * 8), value)?;
            }
        }
        Packet::FillWords { dst, word, words } => {
            fill(space, *dst, word.to_le_bytes(), words * 4, abort)?;
        }
        Packet::FillBytes { dst, byte, bytes } => {
            fill(space, *dst, [*byte; 4], *bytes, abort)?;
        }
        Packet::Fence { addr, data } => space.store_u32(*addr, *data)?,
        Packet::Timestamp { addr } => space.store_u64(*addr, all.env.clock().now())?,
        Packet::Trap { context } => {
            if Value::new(all.control(h.q.slot.engine)).get(SDMA_CNTL::TRAP_ENABLE) == 1 {
                interrupt(all, h, all.shape.generation.irq.trap, *context);
            }
        }
        Packet::Atomic { op, addr, src, cmp } => change(space, *op, *addr, *src, *cmp)?,
        Packet::CondExe { addr, value, words } => {
            if space.load_u32(*addr)? != *value {
                return Ok(Done::Next(*words));
            }
        }
        Packet::Poll {
            addr,
            func,
            value,
            mask,
            tries,
        } => {
            let found = space.load_u32(*addr)? & mask;
            if !holds(*func, found, *value) {
                h.tried += 1;
                if tries.is_some_and(|tries| h.tried >= tries) {
                    interrupt(all, h, all.shape.generation.irq.poll_timeout, 0);
                    return Err(bad("POLL_REGMEM: gave up"));
                }
                return Ok(Done::Waits);
            }
        }
        Packet::Indirect { base, words } => {
            if h.q.ib.is_some() {
                return Err(bad("INDIRECT inside an indirect buffer"));
            }
            return Ok(Done::Into(Ib {
                base: *base,
                words: *words,
                at: 0,
            }));
        }
        Packet::PollRegister {
            addr,
            write,
            func,
            value,
            mask,
            tries,
        } => {
            let Some(registers) = all.env.registers().filter(|_| h.q.mqd.is_none()) else {
                return Err(bad("POLL_REGMEM: a process waits for a register"));
            };
            if let Some(write) = write.filter(|_| h.tried == 0) {
                registers.write(write.into(), *value);
            }
            let found = registers.read((*addr).into()) & mask;
            if !holds(*func, found, *value) {
                h.tried += 1;
                if tries.is_some_and(|tries| h.tried >= tries) {
                    interrupt(all, h, all.shape.generation.irq.poll_timeout, 0);
                    return Err(bad("POLL_REGMEM: gave up"));
                }
                return Ok(Done::Waits);
            }
        }
        Packet::SrbmWrite { register, value } if h.q.mqd.is_none() => {
            if let Some(registers) = all.env.registers() {
                let unit = all.shape.generation.packets.register_unit;
                registers.write(u64::from(*register) * unit, *value);
            }
        }
        Packet::SrbmWrite { register, .. } => {
            // The write is dropped; "SDMA gets an Register Write SRBM_WRITE command in
            // non-privilege command buffer" (`sdma_v4_4_2_process_srbm_write_irq`).
            interrupt(all, h, all.shape.generation.irq.srbm_write, 0);
            all.env.report().fault(format_args!(
                "SDMA: SRBM_WRITE of register {register:#x} by a process"
            ));
        }
    }
    Ok(Done::Next(0))
}

/// Copies a box row by row.
fn rect(
    space: Space<'_>,
    src: &Image,
    dst: &Image,
    [columns, rows, slices]: [u64; 3],
    element: u64,
    abort: Abort<'_>,
) -> Result<(), Halt> {
    let start = |image: &Image, y: u64, z: u64| {
        let [x, y0, z0] = image.at;
        let elements = x + (y0 + y) * image.pitch;
        // Slices are up to 2^32 elements apart, and up to 2^15 of them.
        let bytes = (z0 + z)
            .wrapping_mul(image.slice)
            .wrapping_add(elements)
            .wrapping_mul(element);
        image.base.wrapping_add(bytes)
    };
    for z in 0..slices {
        for y in 0..rows {
            copy(
                space,
                start(src, y, z),
                start(dst, y, z),
                columns * element,
                abort,
            )?;
        }
    }
    Ok(())
}

/// POLL_REGMEM's comparison.
fn holds(function: u64, found: u32, value: u32) -> bool {
    match function {
        func::LESS => found < value,
        func::LESS_OR_EQUAL => found <= value,
        func::EQUAL => found == value,
        func::NOT_EQUAL => found != value,
        func::GREATER_OR_EQUAL => found >= value,
        func::GREATER => found > value,
        _ => true,
    }
}

/// ATOMIC. What it returns goes nowhere.
fn change(space: Space<'_>, op: u8, addr: u64, src: u64, cmp: u64) -> Result<(), Halt> {
    let wide = op & atomic::WIDE != 0;
    let code = op & !(atomic::WIDE | atomic::NO_RETURN);
    // At 32 bits, signed and unsigned values are those of the low word, widened.
    let narrow = |value: u64| match code {
        _ if wide => value,
        atomic::SMIN | atomic::SMAX => value as u32 as i32 as i64 as u64,
        _ => u64::from(value as u32),
    };
    let (src, cmp) = (narrow(src), narrow(cmp));
    let new = |old: u64| {
        let old = narrow(old);
        match code {
            atomic::SWAP => src,
            atomic::CMPSWAP if old == cmp => src,
            atomic::CMPSWAP => old,
            atomic::ADD => old.wrapping_add(src),
            atomic::SUB => old.wrapping_sub(src),
            atomic::SMIN => (old as i64).min(src as i64) as u64,
            atomic::UMIN => old.min(src),
            atomic::SMAX => (old as i64).max(src as i64) as u64,
            atomic::UMAX => old.max(src),
            atomic::AND => old & src,
            atomic::OR => old | src,
            atomic::XOR => old ^ src,
            atomic::INC if old >= src => 0,
            atomic::INC => old + 1,
            atomic::DEC if old == 0 || old > src => src,
            atomic::DEC => old - 1,
            _ => old,
        }
    };
    if !matches!(
        code,
        atomic::SWAP | atomic::CMPSWAP | atomic::ADD..=atomic::DEC
    ) {
        return Err(bad("ATOMIC: the operation is not modelled"));
    }
    if addr % if wide { 8 } else { 4 } != 0 {
        return Err(bad("ATOMIC: a misaligned address"));
    }
    if wide {
        space.update_u64(addr, new)?;
    } else {
        space.update_u32(addr, |old| new(old.into()) as u32)?;
    }
    Ok(())
}

/// Raises an interrupt of a queue.
fn interrupt(all: &Engines, h: &Loaded, source: u8, data: u32) {
    let generation = all.shape.generation;
    let (engine, queue) = (h.q.slot.engine, h.q.slot.queue);
    let clients = generation.irq.clients;
    let client = (clients.get(usize::from(engine % PER_DIE))).or(clients.last());
    all.env.interrupt(&Interrupt {
        client: client.copied().unwrap_or(0),
        source,
        ring_id: (generation.irq.ring_id)(engine, queue),
        vmid: h.q.vmid,
        hub: (generation.hub)(engine),
        data: [data, 0, 0, 0],
    });
}
