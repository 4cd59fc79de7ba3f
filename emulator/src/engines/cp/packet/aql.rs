// SPDX-License-Identifier: MIT OR Apache-2.0

//! AQL packets: what their fields must hold, and their events in the trace.
//!
//! Source: HSA Platform System Architecture 1.2, section 2.9.

use super::command;
use crate::engines::cp::front::hqd::AQL_WORDS;
use crate::engines::cp::launch::dispatch::Counts;
use crate::engines::cp::mec::inflight::Condition;
use crate::engines::cp::mec::loads::Gang;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::run::commands::Buffer;
use crate::engines::cp::run::errors::{code, PacketError};
use crate::trace::Value;
use rkfd_hw::aql::{self, Barrier, BarrierValue, Header, KernelDispatch, Pm4Ib, Vendor};

/// Largest LDS of a workgroup.
const LDS: u64 = 64 << 10;

impl Mec {
    pub(crate) fn trace_packet(&self, h: &Hqd, at: u64, header: &Header, words: &[u32]) {
        let kind = match header.packet_type {
            aql::TYPE_KERNEL_DISPATCH => "KERNEL_DISPATCH",
            aql::TYPE_BARRIER_AND => "BARRIER_AND",
            aql::TYPE_BARRIER_OR => "BARRIER_OR",
            aql::TYPE_VENDOR_SPECIFIC => match Vendor::FORMAT.get(words) as u8 {
                aql::VENDOR_PM4_IB => "PM4_IB",
                aql::VENDOR_BARRIER_VALUE => "BARRIER_VALUE",
                _ => "other",
            },
            _ => "other",
        };
        let name = h.slot.to_string();
        self.env.trace().event(
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

    pub(crate) fn trace_start(&self, h: &Hqd, at: u64, packet: &KernelDispatch, d: &Gang) {
        let name = h.slot.to_string();
        self.env.trace().event(
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
                ("workgroups", Value::Num(d.total())),
                (
                    "waves_per_workgroup",
                    Value::Num(d.waves_per_group().into()),
                ),
                ("start_ts", Value::Num(d.started())),
            ],
        );
    }

    /// A dispatch of a PM4 queue.
    pub(crate) fn trace_launch(&self, h: &Hqd, program: u64, d: &Gang) {
        let name = h.slot.to_string();
        self.env.trace().event(
            "dispatch_start",
            &[
                ("queue", Value::Text(&name)),
                ("program", Value::Hex(program)),
                ("workgroups", Value::Num(d.total())),
                (
                    "waves_per_workgroup",
                    Value::Num(d.waves_per_group().into()),
                ),
                ("start_ts", Value::Num(d.started())),
            ],
        );
    }

    /// The end of a dispatch, the `nth` of those that the queue has launched.
    pub(crate) fn trace_end(&self, h: &Hqd, nth: usize, d: &Gang, end: u64) {
        let (name, counts) = (h.slot.to_string(), d.counts());
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum();
        let xccs: Vec<u32> = counts.iter().map(|c| c.workgroups as u32).collect();
        self.env.trace().event(
            "dispatch_end",
            &[
                ("queue", Value::Text(&name)),
                ("index", Value::Num(h.q.rptr / h.q.unit() + nth as u64)),
                ("workgroups", Value::Num(sum(|c| c.workgroups))),
                ("xcc_workgroups", Value::Words(&xccs)),
                ("waves", Value::Num(sum(|c| c.waves))),
                ("instructions", Value::Num(sum(|c| c.instructions))),
                ("start_ts", Value::Num(d.started())),
                ("end_ts", Value::Num(end)),
            ],
        );
    }
}

/// Checks a kernel-dispatch packet's fields against the standard.
pub(crate) fn check_dispatch(p: &KernelDispatch) -> Result<(), PacketError> {
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

/// Checks a barrier packet's fields against the standard.
pub(crate) fn check_barrier(p: &Barrier) -> Result<(), PacketError> {
    let reserved = [
        Barrier::RESERVED0.is::<0>(),
        Barrier::RESERVED1.is::<0>(),
        Barrier::RESERVED2.is::<0>(),
    ];
    if !reserved.into_iter().all(|zero| p.has(zero)) {
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

/// Checks a barrier on a value: what it waits for.
pub(crate) fn check_barrier_value(p: &BarrierValue) -> Result<Condition, PacketError> {
    use BarrierValue as B;
    // The reserved words are not looked at: HIP leaves in them what was in its memory, and it runs on
    // hardware.
    if p.get(B::RESERVED) != 0 {
        return Err(PacketError::bad(
            code::RESERVED,
            "AQL barrier on a value: reserved bits are set",
        ));
    }
    let compare = match p.get(B::COND) as u32 {
        aql::CONDITION_EQ => i64::eq,
        aql::CONDITION_NE => i64::ne,
        aql::CONDITION_LT => i64::lt,
        aql::CONDITION_GTE => i64::ge,
        other => {
            return Err(PacketError::bad(
                code::RESERVED,
                format!("AQL barrier on a value: unknown condition {other}"),
            ))
        }
    };
    check_signal(p.get(B::SIGNAL))?;
    check_signal(p.get(B::COMPLETION_SIGNAL))?;
    Ok(Condition::Value {
        signal: p.get(B::SIGNAL),
        value: p.get(B::VALUE) as i64,
        mask: p.get(B::MASK),
        compare,
    })
}

/// Checks a packet that names PM4 commands: which ones.
pub(crate) fn check_pm4_ib(p: &Pm4Ib) -> Result<Buffer, PacketError> {
    use Pm4Ib as P;
    let fail = |what: &str| Err(PacketError::bad(code::RESERVED, what));
    let reserved = [
        P::RESERVED.is::<0>(),
        P::RESERVED0.is::<0>(),
        P::RESERVED1.is::<0>(),
        P::RESERVED2.is::<0>(),
        P::RESERVED3.is::<0>(),
    ];
    if !reserved.into_iter().all(|zero| p.has(zero)) {
        return fail("AQL packet of PM4: reserved bits are set");
    }
    if p.get(P::DW_CNT_REMAIN) != aql::PM4_IB_REMAIN {
        return fail("AQL packet of PM4: wrong count of the words that remain");
    }
    check_signal(p.get(P::COMPLETION_SIGNAL))?;
    let first = P::IB_JUMP_CMD_0.word();
    match command::indirect_buffer(p.0.get(first..first + 4).unwrap_or_default())? {
        (address, words, false) => Ok(Buffer::new(address, words)),
        _ => fail("AQL packet of PM4: a chain, but it is in no buffer"),
    }
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
