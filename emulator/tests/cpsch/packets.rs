// SPDX-License-Identifier: MIT OR Apache-2.0

//! What Linux writes for the rig's queues: MQDs, packets, page table entries.

use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::{self, *};
use rkfd_hw::pte;
use rkfd_hw::value::Bounded;

/// What `init_mqd` of `kfd_mqd_manager_v9.c` gives every queue.
pub fn base_mqd(at: u64) -> Mqd {
    let mut m = Mqd::zeroed();
    m.0[0] = 0xc031_0800;
    m.0[11] = 1;
    for se in [23, 24, 26, 27, 39, 40, 41, 42] {
        m.0[se] = u32::MAX;
    }
    m.set(Mqd::CP_HQD_PERSISTENT_STATE, 1 | (0x53 << 8));
    m.set(Mqd::CP_MQD_CONTROL, 1 << 8);
    m.set(Mqd::CP_MQD_BASE_ADDR, at);
    m.set(Mqd::CP_HQD_QUANTUM, 0x111);
    m.set(Mqd::CP_HQD_HQ_STATUS0, 1 << 14);
    m.set(Mqd::CP_HQD_IB_CONTROL, (3 << 20) | (1 << 23));
    m
}

pub fn unmap(select: u64, action: u64, operand: u32) -> [u32; 6] {
    let p = UnmapQueues::zeroed()
        .with(UnmapQueues::HEADER, header(op::UNMAP_QUEUES, 6))
        .try_with(UnmapQueues::ACTION, action)
        .unwrap()
        .try_with(UnmapQueues::QUEUE_SEL, select)
        .unwrap()
        .with(UnmapQueues::NUM_QUEUES, (select == SELECT_DOORBELL).into());
    let mut words = p.0;
    words[2] |= operand;
    words
}

pub fn nop() -> u32 {
    pm4::FILLER
}

/// Rights of a page that the second-level cache may hold back (MTYPE RW).
pub const CACHED: u64 =
    pte::VALID | pte::EXECUTABLE | pte::READABLE | pte::WRITEABLE | pte::mtype(pte::Mtype::Rw);

/// Rights of an ordinary page: what a kernel stores is in memory at once.
pub const RIGHTS: u64 = CACHED | pte::mtype(pte::Mtype::Uc);

/// A RUN_LIST of so many words at `ib`.
pub fn run_list(ib: u64, words: usize, processes: u64) -> RunList {
    RunList::zeroed()
        .with(RunList::HEADER, header(op::RUN_LIST, 4))
        .with(RunList::IB_BASE_LO, Bounded::low_bits_of(ib >> 2))
        .with(RunList::IB_BASE_HI, (ib >> 32) as u32)
        .try_with(RunList::IB_SIZE, words as u64)
        .unwrap()
        .with(RunList::VALID, true)
        .try_with(RunList::PROCESS_CNT, processes)
        .unwrap()
}
