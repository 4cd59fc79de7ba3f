// SPDX-License-Identifier: MIT OR Apache-2.0

//! MQDs that no driver may hand over. Word numbers are those of `struct v9_mqd` in Linux,
//! `include/v9_structs.h`; what each word has is from `amdkfd/kfd_mqd_manager_v9.c`.

use crate::kernel_queues::kiq_resources;
use crate::queues::*;
use crate::rig::{Rig, HIQ};
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;

/// Makes something wrong.
type Spoil = fn(&mut Mqd);

#[test]
fn malformed_mqds_are_not_mapped() {
    let cases: &[(&str, Spoil)] = &[
        ("header 0x1, not 0xc0310800", |m| m.0[0] = 1),
        ("reserved word 50 is set", |m| m.0[50] = 1),
        ("reserved word 144 is set", |m| m.0[144] = 1),
        ("CP_MQD_BASE_ADDR is not its own address", |m| {
            m.0[128] += 4096
        }),
        (
            "COMPUTE_DIM_X is set, which the packet processor fills",
            |m| m.0[2] = 1,
        ),
        ("COMPUTE_PGM_RSRC2 has more than TRAP_PRESENT", |m| {
            m.0[20] = 1
        }),
        ("COMPUTE_TG_CHUNK_SIZE of an AQL queue is not 1", |m| {
            m.0[41] = 0
        }),
        (
            "COMPUTE_CURRENT_LOGIC_XCC_ID are not 0 to the number of XCCs, each once",
            |m| m.0[39] = 1,
        ),
        ("CP_MQD_STRIDE_SIZE is no multiple of an MQD's size", |m| {
            m.0[226] = 512
        }),
        (
            "CP_HQD_PIPE_PRIORITY has bits 0x4 that the register lacks",
            |m| m.0[133] = 4,
        ),
        ("CP_HQD_VMID is set", |m| m.0[131] = 3),
        ("CP_HQD_PERSISTENT_STATE.PRELOAD_SIZE is not 0x53", |m| {
            m.0[132] &= !(0xff << 8)
        }),
        ("CP_HQD_EOP_CONTROL.EOP_SIZE is above 0xa", |m| {
            m.0[167] = 11
        }),
        ("CP_HQD_DEQUEUE_REQUEST is set", |m| m.0[152] = 1),
        ("CP_MQD_CONTROL.VMID is not 0", |m| m.0[162] |= 1),
        ("CP_HQD_PQ_CONTROL.TMZ is not modelled", |m| {
            m.0[145] |= 1 << 22
        }),
        ("QUEUE_SIZE 2: no ring of 2^3 words", |m| {
            m.0[145] = m.0[145] & !0x3f | 2
        }),
        ("CP_HQD_PQ_BASE is 0", |m| m.0[136..138].fill(0)),
        ("doorbell 0x801 is not on a 64-bit boundary", |m| {
            m.0[143] += 4
        }),
        ("DOORBELL_MODE is for virtual functions", |m| m.0[143] |= 1),
        ("CP_HQD_AQL_CONTROL 0x0 with SLOT_BASED_WPTR 2", |m| {
            m.0[181] = 0
        }),
        ("PRIV_STATE and KMD_QUEUE do not fit", |m| {
            m.0[145] |= 3 << 30
        }),
        (
            "CP_HQD_PQ_CONTROL.QUEUE_FULL_EN of an AQL queue is 0",
            |m| m.0[145] &= !(1 << 14),
        ),
        ("QSWITCH_MODE without a context save area", |m| m.0[177] = 0),
        (
            "CP_HQD_CNTL_STACK_OFFSET is beyond CP_HQD_CNTL_STACK_SIZE",
            |m| m.0[174] += 4,
        ),
        ("CP_HQD_CNTL_STACK_OFFSET is 0", |m| m.0[174] = 0),
        (
            "a context save area without CP_HQD_PERSISTENT_STATE.QSWITCH_MODE",
            |m| m.0[132] &= !(1 << 30),
        ),
        (
            "CP_HQD_WG_STATE_OFFSET is outside the context save area",
            |m| m.0[176] = 0,
        ),
        ("CP_HQD_PQ_WPTR is beyond what a queue can reach", |m| {
            m.0[183] = 1 << 28
        }),
        ("CP_HQD_PQ_WPTR of an AQL queue is inside a packet", |m| {
            m.0[182] = 8
        }),
        ("CP_HQD_PERSISTENT_STATE.PRELOAD_REQ has 0x0", |m| {
            m.0[132] &= !1
        }),
        ("CP_MQD_CONTROL.PRIV_STATE has 0x0", |m| m.0[162] &= !0x100),
        ("CP_HQD_QUANTUM.QUANTUM_EN has 0x0", |m| m.0[135] &= !1),
        ("CP_HQD_QUANTUM.QUANTUM_SCALE has 0x0", |m| {
            m.0[135] &= !0x10
        }),
        ("CP_HQD_QUANTUM.QUANTUM_DURATION is 0", |m| {
            m.0[135] &= !0x3f00
        }),
        ("CP_HQD_HQ_STATUS0 for DISPATCH_PTR has 0x0", |m| {
            m.0[160] = 0
        }),
        ("CP_HQD_PQ_CONTROL.UNORD_DISPATCH has 0x0", |m| {
            m.0[145] &= !(1 << 28)
        }),
        ("RPTR_BLOCK_SIZE has 0x400, not 0x500", |m| {
            m.0[145] ^= 1 << 8
        }),
        ("DOORBELL_BIF_DROP has 0x0, not 0x2", |m| m.0[143] &= !2),
        ("CP_HQD_IB_CONTROL.MIN_IB_AVAIL_SIZE has 0x0", |m| {
            m.0[149] &= !(3 << 20)
        }),
        (
            "CP_HQD_IB_CONTROL.IB_EXE_DISABLE of an AQL queue is 0",
            |m| m.0[149] &= !(1 << 23),
        ),
        ("COMPUTE_PIPELINESTAT_ENABLE has 0x0, not 0x1", |m| {
            m.0[11] = 0
        }),
    ];
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let good = q.image();
    for (what, spoil) in cases {
        let mut m = good;
        spoil(&mut m);
        rig.put_words(q.mqd, &m.0);
        run(&rig, &[(&p, &[&q])]);
        rig.violated(what);
        assert!(!rig.is_active((1, 0, 0)), "{what}");
    }
    // A process without a queue has no VMID.
    assert_eq!(rig.device.soc.pasids.vmids_of(0x8001), 0);
    rig.put_words(q.mqd, &good.0);
    run(&rig, &[(&p, &[&q])]);
    assert!(rig.is_active((1, 0, 0)));
}

/// `init_mqd` makes the HIQ's, too, and all compute units are a kernel queue's.
#[test]
fn a_malformed_mqd_of_the_hiq_is_not_mapped() {
    let cases: &[(&str, Spoil)] = &[
        (
            "COMPUTE_STATIC_THREAD_MGMT of a kernel's queue is not all ones",
            |m| m.0[26] = 0,
        ),
        ("CP_HQD_QUANTUM.QUANTUM_EN has 0x0", |m| m.0[135] &= !1),
        ("CP_HQD_PERSISTENT_STATE.PRELOAD_REQ has 0x0", |m| {
            m.0[132] &= !1
        }),
    ];
    for (what, spoil) in cases {
        let rig = Rig::bare(&[]);
        rig.start_kiq();
        let mut m = rig.kernel_mqd(&rig.hiq);
        spoil(&mut m);
        rig.put_words(rig.hiq.mqd, &m.0);
        rig.kiq(&kiq_resources());
        rig.kiq(&rig.map_hiq());
        rig.violated(what);
        assert!(!rig.is_active(HIQ), "{what}");
    }
}

/// `init_mqd_v9_4_3`, `update_mqd_v9_4_3`: what PM4 commands begin isn't spread over XCCs.
#[test]
fn a_pm4_queue_is_not_spread() {
    for word in [39, 41] {
        let rig = Rig::new();
        let p = Process::saving(&rig, 0x8001);
        let q = Queue::pm4(&p, 0x800, 1024);
        let mut m = q.image();
        m.0[word] = 1;
        rig.put_words(q.mqd, &m.0);
        run(&rig, &[(&p, &[&q])]);
        rig.violated("of a PM4 queue is not 0");
        assert!(!rig.is_active((1, 0, 0)));
    }
}
