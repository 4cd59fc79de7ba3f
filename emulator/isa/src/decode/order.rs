// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction has to do with the order in which the waves of a workgroup access memory.
//!
//! From LLVM's AMDGPUUsage ("Memory Model gfx942", "Memory Model gfx12") and SIMemoryLegalizer.cpp: loads and stores of
//! memory that are volatile or atomic for more than the wave have a scope, so those without one are plain. LDS has no
//! scopes: any access may be to a flag there.

use super::kind::Kind;
use super::table::Family;
use super::{Inst, Op, Scope};

/// What an instruction has to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Nothing.
    None,
    /// It is a plain access of memory; or of LDS, if its address is flat and that of LDS.
    Access,
    /// It arrives at the workgroup's barrier.
    Arrives,
    /// It waits at the barrier, at which the wave has arrived before.
    Waits,
    /// It may tell other waves what the wave has done.
    Tells,
    /// It may learn what others have told.
    Learns,
    /// It may do both.
    Both,
}

/// What an instruction has to do with it.
pub(crate) fn of(i: &Inst) -> Order {
    const SCRATCH: u8 = 1;
    match (i.family, i.kind) {
        (Family::Sopp | Family::Sop1, _) => match i.op {
            Op::SBarrier | Op::SBarrierSignal | Op::SBarrierSignalIsfirst => Order::Arrives,
            Op::SBarrierWait => Order::Waits,
            _ => Order::None,
        },
        // Maintenance of caches.
        (Family::Flat | Family::Mubuf | Family::Mtbuf | Family::Smem, Kind::Hint) => Order::Both,
        (Family::Smem, Kind::Store(_) | Kind::Atomic(..)) => Order::Both,
        (Family::Flat, _) if i.op_sel == SCRATCH => Order::None,
        (Family::Flat | Family::Mubuf | Family::Mtbuf, _)
            if i.scope != Scope::Wave || matches!(i.kind, Kind::Atomic(..)) =>
        {
            Order::Both
        }
        (
            Family::Flat,
            Kind::Load(_)
            | Kind::LoadSmall { .. }
            | Kind::Store(_)
            | Kind::StoreSmall(..)
            | Kind::LoadLds(..),
        ) => Order::Access,
        (Family::Ds, Kind::Load(_) | Kind::LoadSmall { .. }) => Order::Learns,
        (Family::Ds, Kind::Store(_) | Kind::StoreSmall(..)) => Order::Tells,
        // Lanes of one wave.
        (Family::Ds, _) if i.op.name().contains("permute") || i.op == Op::DsSwizzleB32 => {
            Order::None
        }
        // Two places, counters, exchanges, and global wave synchronisation.
        (Family::Ds, _) => Order::Both,
        _ => Order::None,
    }
}
