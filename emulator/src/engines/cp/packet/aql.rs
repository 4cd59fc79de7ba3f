// SPDX-License-Identifier: MIT OR Apache-2.0

//! AQL packets: what their fields must hold, checked against the standard.
//!
//! Source: HSA Platform System Architecture 1.2, section 2.9.

use super::command;
use super::error::{code, PacketError};
use rkfd_hw::aql::{self, Barrier, BarrierValue, KernelDispatch, Pm4Ib};

/// Largest LDS of a workgroup.
const LDS: u64 = 64 << 10;

/// What a barrier waits for; addresses of signals, 0 for none.
#[derive(Clone, Copy)]
pub(crate) enum Condition {
    /// All of them are 0.
    All([u64; 5]),
    /// One of them is 0.
    Any([u64; 5]),
    /// A masked value compares.
    Value {
        signal: u64,
        value: i64,
        mask: u64,
        compare: fn(&i64, &i64) -> bool,
    },
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

/// Checks a packet that names PM4 commands: address and words of their buffer.
pub(crate) fn check_pm4_ib(p: &Pm4Ib) -> Result<(u64, u32), PacketError> {
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
        (address, words, false) => Ok((address, words)),
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
