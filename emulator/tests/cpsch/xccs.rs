// SPDX-License-Identifier: MIT OR Apache-2.0

//! Four XCCs in one partition: who runs what, and what each has of its own.

use crate::dispatches::vadd;
use crate::kernels::{arguments, load, pointers};
use crate::preemption::{begun, spin};
use crate::queues::*;
use crate::rig::{Rig, HIQ};
use rkfd_emulator::memory::Hub;
use rkfd_hw::aql::KernelDispatch;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::{header, op, InvalidateTlbs};
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::Value;

/// A dispatch of so many workgroups, each of which stores its XCC, and the address of what they store.
fn place(p: &Process<'_>, groups: u32, signal: u64) -> (KernelDispatch, u64) {
    let out = p.new_words(&vec![u32::MAX; groups as usize]);
    let args = arguments(p, &pointers(&[out]), groups * 64, 64);
    let kernel = load(p, "loops")["place.kd"];
    (dispatch(kernel, args, groups * 64, 64, signal), out)
}

#[test]
fn workgroups_go_to_the_xccs_by_turns() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(42);
    let (packet, out) = place(&p, 10, signal);
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    p.wait(signal);
    // Logical XCCs are 3, 0, 1, 2: workgroup 0 is that of XCC 1.
    assert_eq!(p.words(out, 10), [1, 2, 3, 0, 1, 2, 3, 0, 1, 2]);
    rig.wait("the read index", || p.u64(q.read_index()) == 1);
    // One packet, so one signal and one interrupt, of the first XCC, which completes it.
    let entry = rig.interrupt();
    assert_eq!(entry, Some((0x14, 181, 0x04, 3, 0x8001, [42, 0, 0, 0])));
    assert_eq!(rig.interrupt(), None);
    rig.clean();
}

/// As `kgd_gfx_v9_get_cu_occupancy` reads them: by GRBM_GFX_INDEX a shader engine, by GRBM_GFX_CNTL a pipe.
#[test]
fn waves_in_flight_are_counted_on_each_xcc() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    let (flag, out) = (p.new_words(&[0; 4]), p.alloc(4096));
    let args = arguments(&p, &pointers(&[flag, out]), 640, 64);
    let packet = dispatch(load(&p, "loops")["spin.kd"], args, 640, 64, signal);
    run(&rig, &[(&p, &[&q])]);
    // Of each shader engine, those of a queue of the selected pipe.
    let waves = |queue| {
        let engines = (0..4u32).map(|engine| {
            rig.write(gc::GRBM_GFX_INDEX, (1 << 30) | (engine << 16));
            rig.read(gc::SPI_CSQ_WF_ACTIVE_COUNT_0.any().at(queue, 1)) & 0x1ff
        });
        engines.collect::<Vec<u32>>()
    };
    let counts = |expected: [u32; 4]| {
        rig.on_each_xcc(|xcc| {
            rig.select((1, 0, 0));
            rig.wait("its waves", || {
                waves(0).iter().sum::<u32>() == expected[usize::from(xcc)]
            });
            assert!(
                waves(0).iter().all(|count| *count <= 1),
                "each its own engine"
            );
            assert_eq!(waves(1), [0; 4], "another queue");
            rig.select((1, 1, 0));
            assert_eq!(waves(0), [0; 4], "another pipe");
            assert_eq!(
                rig.read(gc::SPI_CSQ_WF_ACTIVE_STATUS),
                1,
                "one queue is there"
            );
        });
    };
    counts([0; 4]);
    q.push(packet.0);
    begun(&p, flag);
    // The ten workgroups of a wave each go to XCCs 1, 2, 3, 0 by turns.
    counts([2, 3, 3, 2]);
    rig.put_words(p.at(flag), &[1]);
    p.wait(signal);
    counts([0; 4]);
    rig.write(gc::SPI_CSQ_WF_ACTIVE_COUNT_0, 0);
    rig.violated("SPI_CSQ_WF_ACTIVE_COUNT_0");
}

#[test]
fn a_queue_is_on_the_same_hqd_of_each_xcc_and_its_sums_are_right() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 64);
    let signal = p.signal(0);
    let (packet, sums, expected) = vadd(&p, 50_000, 1, signal);
    run(&rig, &[(&p, &[&q])]);
    rig.on_each_xcc(|xcc| {
        assert!(rig.is_active((1, 0, 0)));
        rig.select((1, 0, 0));
        assert_eq!(rig.read(gc::CP_MQD_BASE_ADDR), q.mqd_of(xcc) as u32);
        let place = Value::<gc::CP_HYP_XCP_CTL>::new(rig.read(gc::CP_HYP_XCP_CTL));
        assert_eq!(place.get(gc::CP_HYP_XCP_CTL::NUM_XCC_IN_XCP), 4);
        assert_eq!(
            place.get(gc::CP_HYP_XCP_CTL::VIRTUAL_XCC_ID),
            u32::from(xcc)
        );
    });
    q.push(packet.0);
    p.wait(signal);
    assert!(p.words(sums, expected.len()) == expected);
    rig.unmap();
    rig.fence();
    rig.on_each_xcc(|_| assert!(!rig.is_active((1, 0, 0))));
    rig.clean();
}

#[test]
fn each_xcc_saves_its_share_and_goes_on_with_it() {
    let rig = Rig::spx();
    let (p, other) = (Process::saving(&rig, 0x8001), Process::saving(&rig, 0x8002));
    let (q, second) = (Queue::new(&p, 0x800, 16), Queue::new(&other, 0x1000, 16));
    let (n, items) = (20_000u32, 1024u32);
    let out = p.alloc(u64::from(items) * 4);
    let mut explicit = pointers(&[out]);
    explicit.extend(n.to_le_bytes());
    let args = arguments(&p, &explicit, items, 64);
    let signal = p.signal(0);
    run(&rig, &[(&p, &[&q])]);
    q.push(dispatch(load(&p, "loops")["churn.kd"], args, items, 64, signal).0);
    let mut saved = 0;
    for round in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(15));
        rig.unmap();
        rig.fence();
        if p.value(signal) == 1 {
            for xcc in 0..4 {
                let image = q.image_of(xcc);
                let state = Value::<gc::CP_HQD_PERSISTENT_STATE>::new(
                    image.get(Mqd::CP_HQD_PERSISTENT_STATE) as u32,
                );
                assert_eq!(state.get(gc::CP_HQD_PERSISTENT_STATE::RELAUNCH_WAVES), 1);
                assert!(image.get(Mqd::CP_HQD_CNTL_STACK_OFFSET) < STACK);
            }
            saved += 1;
        }
        match round % 2 {
            0 => run(&rig, &[(&other, &[&second]), (&p, &[&q])]),
            _ => run(&rig, &[(&p, &[&q]), (&other, &[&second])]),
        }
    }
    p.wait(signal);
    assert!(saved > 0, "it was never preempted in the middle");
    let expected: Vec<u32> = (0..items)
        .map(|i| {
            (0..n).fold(i, |x, _| {
                x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
            })
        })
        .collect();
    assert!(p.words(out, items as usize) == expected);
    rig.clean();
}

#[test]
fn an_xcc_without_a_workgroup_has_nothing_to_save() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    let (packet, flag) = spin(&p, signal);
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    begun(&p, flag);
    rig.unmap();
    rig.fence();
    run(&rig, &[(&p, &[&q])]);
    rig.put_words(p.at(flag), &[1]);
    p.wait(signal);
    rig.clean();
}

#[test]
fn a_kiq_invalidates_its_own_xccs_translations() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let signal = p.signal(0);
    let (packet, _) = place(&p, 8, signal);
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    p.wait(signal);
    let kept = |xcc| rig.device.soc.memory.hub(Hub::Gfx(xcc)).tlb(3).len();
    assert!((0..4).all(|xcc| kept(xcc) > 0), "each has some");
    let packet = InvalidateTlbs::zeroed()
        .with(InvalidateTlbs::HEADER, header(op::INVALIDATE_TLBS, 2))
        .having(InvalidateTlbs::DST_SEL.is::<1>())
        .having(InvalidateTlbs::FLUSH_TYPE.is::<2>())
        .with(InvalidateTlbs::PASID, 0x8001);
    // A heavy flush is two: `amdgpu_gmc_flush_gpu_tlb_pasid`, `flush_tlb_needs_extra_type_2`.
    rig.submit(rig.kiq_of(2), &packet.0);
    rig.submit(rig.kiq_of(2), &packet.0);
    rig.wait("the invalidation", || kept(2) == 0);
    assert!([0, 1, 3].into_iter().all(|xcc| kept(xcc) > 0));
    rig.clean();
}

#[test]
fn a_pm4_queue_runs_where_its_mqd_says() {
    let rig = Rig::spx();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 1024);
    q.change(|m| m.set(Mqd::PM4_TARGET_XCC_IN_XCP, 2));
    let done = p.new_words(&[0]);
    run(&rig, &[(&p, &[&q])]);
    // WRITE_DATA to memory.
    let words = [
        header(op::WRITE_DATA, 5),
        5 << 8,
        done as u32,
        (done >> 32) as u32,
        77,
    ];
    q.submit(&words);
    rig.wait("the word", || p.words(done, 1)[0] == 77);
    rig.unmap();
    rig.fence();
    let at = |xcc| q.image_of(xcc).get(Mqd::CP_HQD_PQ_RPTR);
    assert!((0..4).all(|xcc| at(xcc) == 5));
    rig.clean();
}

#[test]
fn mqds_that_do_not_fit_each_other_are_refused() {
    type Change = fn(&mut Mqd);
    let wrong: [(Change, &str); 4] = [
        (
            |m| m.set(Mqd::COMPUTE_CURRENT_LOGIC_XCC_ID, 0),
            "COMPUTE_CURRENT_LOGIC_XCC_ID are not 0 to the number of XCCs, each once",
        ),
        (
            |m| {
                let control =
                    Value::<gc::CP_HQD_PQ_CONTROL>::new(m.get(Mqd::CP_HQD_PQ_CONTROL) as u32);
                let control = control
                    .with(gc::CP_HQD_PQ_CONTROL::NO_UPDATE_RPTR, false)
                    .bits();
                m.set(Mqd::CP_HQD_PQ_CONTROL, control);
            },
            "XCC 2 reports the read pointer, too",
        ),
        (
            |m| m.set(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR, 64),
            "XCC 2 has another queue than the first",
        ),
        (
            |m| m.set(Mqd::CP_MQD_BASE_ADDR, 64),
            "CP_MQD_BASE_ADDR is not its own address",
        ),
    ];
    for (change, why) in wrong {
        let rig = Rig::spx();
        let p = Process::saving(&rig, 0x8001);
        let q = Queue::new(&p, 0x800, 16);
        q.change_of(2, change);
        rig.run_list(&list(&[(&p, &[&q])]), 1);
        rig.violated(why);
    }
}

#[test]
fn a_hiq_waits_for_nobody_but_tells_of_an_xcc_without_one() {
    let rig = Rig::bare_spx();
    rig.start_kiq();
    for xcc in 0..3 {
        rig.xcc.set(xcc);
        rig.start_hiq_of(xcc);
    }
    rig.xcc.set(0);
    assert!(rig.is_active(HIQ));
    rig.send_fence();
    rig.violated("HIQ rung while XCC 3 of the partition has no HIQ of the same ring");
}

/// Linux's `kgd_gfx_v9_hiq_mqd_load` submits and does not wait, XCC after XCC, and KFD rings the HIQ then.
#[test]
fn a_hiq_waits_for_what_the_kiqs_have_still_to_map() {
    let rig = Rig::bare_spx();
    rig.start_kiq();
    for xcc in 0..3 {
        rig.xcc.set(xcc);
        rig.start_hiq_of(xcc);
    }
    rig.xcc.set(3);
    rig.write(gc::CP_MEC_CNTL, 1 << 28);
    rig.submit_hiq_of(3);
    rig.xcc.set(0);
    let fence = rig.send_fence();
    // Each packet of the first XCC's KIQ is a round of the firmware.
    for round in 1..=5 {
        rig.kiq(&[0xc001_7900, 0x40, round]);
        rig.wait("the packet", || rig.read(gc::SCRATCH_REG0) == round);
    }
    rig.clean();
    assert_ne!(rig.words(rig.fence, 1), [fence as u32]);
    rig.xcc.set(3);
    rig.write(gc::CP_MEC_CNTL, 0);
    rig.xcc.set(0);
    rig.wait("the fence", || rig.words(rig.fence, 1) == [fence as u32]);
    rig.clean();
}

#[test]
fn a_hiq_that_is_rung_too_early_is_reported_once() {
    let rig = Rig::bare_spx();
    rig.start_kiq();
    rig.xcc.set(0);
    rig.start_hiq_of(0);
    rig.send_fence();
    rig.violated("HIQ rung while XCC 1 of the partition has no HIQ of the same ring");
    for round in 1..=5 {
        rig.kiq(&[0xc001_7900, 0x40, round]);
        rig.wait("the packet", || rig.read(gc::SCRATCH_REG0) == round);
    }
    let findings = rig.report.findings();
    let counts: Vec<_> = findings.iter().map(|f| f.count).collect();
    assert_eq!(counts, [1]);
}
