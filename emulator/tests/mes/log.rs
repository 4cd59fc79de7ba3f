// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log: `struct MES_LOG_BUFFER` of `mes_v12_api_def.h`, at the address in SET_HW_RSRC.

use crate::process::{Memory, Process, Queue};
use crate::queues::start;
use crate::rig::*;
use rkfd_hw::mes::op;
use rkfd_hw::mes::v12::SetHwResources as R;

/// AMDGPU_MES_LOG_BUFFER_SIZE.
const SIZE: u64 = 0xc000;

/// The entries so far: gang and state.
fn entries(memory: &Memory, log: u64) -> Vec<(u64, u32)> {
    let header = memory.words(log, 8);
    // As many entries of 32 bytes as fit behind a header of as many.
    assert_eq!(&header[1..], [0, 1535, 0, 0, 0, 0, 0]);
    let words = memory.words(log + 32, header[0] as usize * 8);
    let mut last = 0;
    let entry = |w: &[u32]| {
        let time = u64::from(w[0]) | (u64::from(w[1]) << 32);
        assert!(
            time >= std::mem::replace(&mut last, time),
            "in order of time"
        );
        // MES_LOG_OPERATION_CONTEXT_STATE_CHANGE.
        assert_eq!((w[2], w[3], w[7]), (0, 0, 0));
        (u64::from(w[4]) | (u64::from(w[5]) << 32), w[6])
    };
    words.chunks(8).map(entry).collect()
}

#[test]
fn what_becomes_of_a_gang_is_logged() {
    let (mut rig, memory) = start();
    let log = memory.alloc(SIZE);
    let on = |at: u64| {
        let resources = Rig::resources(0).with(R::ENABLE_MES_EVENT_INT_LOGGING, true);
        resources.with(R::EVENT_INTR_HISTORY_GPU_MC_PTR, at).0
    };
    assert_eq!(rig.submit(0, &on(mc(log)), 50), 1);
    assert_eq!(entries(&memory, log), []);
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    let gang = mc(q.gang);
    let (idle, running, ready) = (0, 1, 2);
    rig.add(&q);
    memory.wait("an entry", || entries(&memory, log).len() == 1);
    assert_eq!(rig.submit(0, &frame(op::SUSPEND, &[(1, 1)]), 8), 1);
    memory.wait("an entry", || entries(&memory, log).len() == 2);
    assert_eq!(rig.submit(0, &frame(op::RESUME, &[(1, 1)]), 4), 1);
    memory.wait("an entry", || entries(&memory, log).len() == 3);
    assert_eq!(rig.remove(&q, 0), 1);
    let last = || entries(&memory, log).last().copied();
    memory.wait("the last entry", || last() == Some((gang, idle)));
    // It left its HQD before it was forgotten.
    let states = [running, ready, running, ready, idle].map(|state| (gang, state));
    assert_eq!(entries(&memory, log), states);
    rig.clean();
    for (at, code) in [(0, 2), (mc(log) + 4, 2), (0x100_0000, 6)] {
        let status = rig.submit(0, &on(at), 50);
        assert_eq!(status, error(code, op::SET_HW_RSRC, 0, 1));
    }
}
