// SPDX-License-Identifier: MIT OR Apache-2.0

//! AQL packets: what their fields must hold, and their events in the trace.
//!
//! Source: HSA Platform System Architecture 1.2, section 2.9.

use super::dispatch::Dispatch;
use super::error::{code, PacketError};
use super::hqd::AQL_WORDS;
use super::mec::{Hqd, Mec};
use crate::trace::Value;
use rkfd_hw::aql::{self, Barrier, Header, KernelDispatch};

/// Largest LDS of a workgroup.
const LDS: u64 = 64 << 10;

impl Mec {
    pub(super) fn trace_packet(&self, h: &Hqd, at: u64, header: &Header, words: &[u32]) {
        let kind = match header.packet_type {
            aql::TYPE_KERNEL_DISPATCH => "KERNEL_DISPATCH",
            aql::TYPE_BARRIER_AND => "BARRIER_AND",
            aql::TYPE_BARRIER_OR => "BARRIER_OR",
            _ => "other",
        };
        let name = h.slot.to_string();
        self.soc.trace.event(
            "aql",
            &[
                ("queue", Value::Text(&name)),
                ("doorbell", Value::Num(h.q.doorbell.into())),
                ("index", Value::Num(at / AQL_WORDS)),
                ("type", Value::Text(kind)),
                ("barrier", Value::Num(header.barrier.into())),
                ("acquire", Value::Num(header.acquire.into())),
                ("release", Value::Num(header.release.into())),
                ("words", Value::Words(words)),
            ],
        );
    }

    pub(super) fn trace_start(&self, h: &Hqd, at: u64, packet: &KernelDispatch, d: &Dispatch) {
        let name = h.slot.to_string();
        self.soc.trace.event(
            "dispatch_start",
            &[
                ("queue", Value::Text(&name)),
                ("index", Value::Num(at / AQL_WORDS)),
                (
                    "kernel",
                    Value::Hex(packet.get(KernelDispatch::KERNEL_OBJECT)),
                ),
                (
                    "kernarg",
                    Value::Hex(packet.get(KernelDispatch::KERNARG_ADDRESS)),
                ),
                ("workgroups", Value::Num(d.total)),
                (
                    "waves_per_workgroup",
                    Value::Num(d.waves_per_group().into()),
                ),
                ("start_ts", Value::Num(d.started)),
            ],
        );
    }

    pub(super) fn trace_end(&self, h: &Hqd, nth: usize, d: &Dispatch, end: u64) {
        let (name, counts) = (h.slot.to_string(), d.counts());
        self.soc.trace.event(
            "dispatch_end",
            &[
                ("queue", Value::Text(&name)),
                ("index", Value::Num(h.q.rptr / AQL_WORDS + nth as u64)),
                ("workgroups", Value::Num(counts.workgroups)),
                ("waves", Value::Num(counts.waves)),
                ("instructions", Value::Num(counts.instructions)),
                ("start_ts", Value::Num(d.started)),
                ("end_ts", Value::Num(end)),
            ],
        );
    }
}

/// Checks what the standard says of a kernel-dispatch packet's fields.
pub(super) fn check_dispatch(p: &KernelDispatch) -> Result<(), PacketError> {
    use KernelDispatch as K;
    let fail = |code, what: &str| Err(PacketError::bad(code, format!("AQL dispatch: {what}")));
    let dims = p.get(K::SETUP) & 3;
    if p.get(K::SETUP) > 3 || p.get(K::RESERVED0) != 0 || p.get(K::RESERVED2) != 0 {
        return fail(code::RESERVED, "reserved bits are set");
    }
    if dims == 0 {
        return fail(code::DIM, "0 dimensions");
    }
    let group = [
        K::WORKGROUP_SIZE_X,
        K::WORKGROUP_SIZE_Y,
        K::WORKGROUP_SIZE_Z,
    ]
    .map(|f| p.get(f));
    let grid = [K::GRID_SIZE_X, K::GRID_SIZE_Y, K::GRID_SIZE_Z].map(|f| p.get(f));
    if grid.contains(&0) {
        return fail(code::DIM, "a grid size of 0");
    }
    if group.contains(&0) || group.iter().product::<u64>() > 1024 {
        return fail(
            code::GROUP_SIZE,
            "a workgroup size of 0, or more than 1024 work-items",
        );
    }
    for unused in dims as usize..3 {
        if group.get(unused) != Some(&1) || grid.get(unused) != Some(&1) {
            return fail(code::DIM, "the size in an unused dimension is not 1");
        }
    }
    if p.get(K::GROUP_SEGMENT_SIZE) > LDS {
        return fail(code::LDS, "more than 64 KiB of group segment");
    }
    let kernel = p.get(K::KERNEL_OBJECT);
    if kernel == 0 || kernel % 64 != 0 {
        return fail(code::CODE, "the kernel object is 0 or not a multiple of 64");
    }
    if p.get(K::KERNARG_ADDRESS) % 16 != 0 {
        return fail(
            code::RESERVED,
            "the kernel arguments' address is not a multiple of 16",
        );
    }
    check_signal(p.get(K::COMPLETION_SIGNAL))
}

/// Checks what the standard says of a barrier packet's fields.
pub(super) fn check_barrier(p: &Barrier) -> Result<(), PacketError> {
    if [Barrier::RESERVED0, Barrier::RESERVED1, Barrier::RESERVED2]
        .iter()
        .any(|&f| p.get(f) != 0)
    {
        return Err(PacketError::bad(
            code::RESERVED,
            "AQL barrier: reserved bits are set",
        ));
    }
    for signal in p.0.chunks_exact(2).skip(1).take(5) {
        if let [low, high] = *signal {
            check_signal(u64::from(low) | (u64::from(high) << 32))?;
        }
    }
    check_signal(p.get(Barrier::COMPLETION_SIGNAL))
}

fn check_signal(at: u64) -> Result<(), PacketError> {
    if at % 64 == 0 {
        Ok(())
    } else {
        Err(PacketError::bad(
            code::RESERVED,
            "AQL: a signal's address is not a multiple of 64",
        ))
    }
}
