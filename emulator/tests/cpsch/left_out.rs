// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the scheduling firmware and the KIQ need and a driver may leave out.
//!
//! Sources: Linux, `gfx_v9_4_3_xcc_kiq_init_register`, `gfx_v9_4_3_xcc_q_fini_register`,
//! `pm_config_dequeue_wait_counts_v9`, `pm_map_process_aldebaran`, `pm_runlist_v9`.

use crate::packets::*;
use crate::queues::*;
use crate::rig::*;
use rkfd_hw::pm4::{MapProcess, RunList};
use rkfd_hw::regs::gc_9_4_3 as gc;

#[test]
fn a_dequeue_request_stays_until_it_is_taken_back() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.select(KIQ);
    rig.write(gc::CP_HQD_DEQUEUE_REQUEST, 1);
    rig.wait("the KIQ is off", || rig.read(gc::CP_HQD_ACTIVE) & 1 == 0);
    assert_eq!(rig.read(gc::CP_HQD_DEQUEUE_REQUEST), 1);
    rig.write(gc::CP_HQD_ACTIVE, 1);
    rig.violated("CP_HQD_DEQUEUE_REQUEST is set");
    rig.write(gc::CP_HQD_DEQUEUE_REQUEST, 0);
    rig.write(gc::CP_HQD_ACTIVE, 1);
    assert_eq!(rig.read(gc::CP_HQD_ACTIVE) & 1, 1);
    assert_eq!(rig.report.findings().len(), 1);
}

#[test]
fn registers_that_connect_a_queue_have_what_its_mqd_has() {
    for reg in [
        gc::CP_HQD_EOP_BASE_ADDR.any(),
        gc::CP_HQD_EOP_CONTROL.any(),
        gc::CP_HQD_PQ_RPTR_REPORT_ADDR.any(),
        gc::CP_HQD_PQ_WPTR_POLL_ADDR.any(),
    ] {
        let rig = Rig::bare(&[]);
        rig.start_kiq();
        rig.select(KIQ);
        rig.write(gc::CP_HQD_ACTIVE, 0);
        let value = rig.read(reg) ^ 8;
        rig.write(reg, value);
        rig.write(gc::CP_HQD_ACTIVE, 1);
        rig.violated(&format!(
            "a queue that registers connect has {value:#x} in {}",
            reg.name
        ));
    }
}

#[test]
fn a_driver_before_has_left_its_kiq_and_what_went_with_it() {
    let rig = Rig::bare(&["at power-on: used"]);
    assert!(rig.is_active(KIQ));
    rig.select(KIQ);
    rig.write(gc::CP_HQD_PQ_BASE, 5);
    rig.violated("write of CP_HQD_PQ_BASE = 0x5: the queue is active");
    rig.write(gc::CP_HQD_DEQUEUE_REQUEST, 1);
    rig.wait("the queue is off", || rig.read(gc::CP_HQD_ACTIVE) & 1 == 0);
    // `gc_9_4_3_sh_mask.h`: EN is bit 31. No doorbell is in the range.
    assert_eq!(rig.read(gc::CP_PQ_WPTR_POLL_CNTL) >> 31, 1);
    assert!(rig.read(gc::CP_MEC_DOORBELL_RANGE_LOWER) > rig.read(gc::CP_MEC_DOORBELL_RANGE_UPPER));
}

#[test]
fn a_process_has_a_quantum() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let mut words = p.map(1);
    let quantum = MapProcess::PROCESS_QUANTUM;
    words[quantum.word()] &= !(0x7f << (quantum.bit() % 32));
    words.extend(q.map());
    rig.run_list(&words, 1);
    rig.violated("MAP_PROCESS: PROCESS_QUANTUM is 0");
}

#[test]
fn a_list_is_chained_for_as_long_as_it_is_idle() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let packets = list(&[(&p, &[&q])]);
    let words = packets.len() + 4;
    let ib = rig.alloc(words as u64 * 4);
    let run = run_list(ib, words, 1);
    let chain = run.with(RunList::CHAIN, true);
    rig.put_words(ib, &[packets.as_slice(), &chain.0].concat());
    rig.hiq(&run.0);
    rig.violated("a chain without CHAINED_RUNLIST_IDLE_DISABLE");
}

/// From power-on it is 0x40.
#[test]
fn queues_that_leave_are_looked_at_again_soon() {
    let rig = Rig::new();
    rig.write(gc::CP_IQ_WAIT_TIME2, 0x4040_4040);
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    rig.run_list(&list(&[(&p, &[&q])]), 1);
    rig.violated("RUN_LIST with 0x40 in CP_IQ_WAIT_TIME2.QUE_SLEEP");
}
