// SPDX-License-Identifier: MIT OR Apache-2.0

//! MES, driven as Linux does (`amdgpu/mes_v12_0.c`): frames of both pipes, and every refusal.

mod caches;
mod copies;
mod counters;
mod debugger;
mod faults;
mod hang;
mod left_out;
mod levels;
mod log;
mod process;
mod programs;
mod queues;
mod refused;
mod rig;
mod scale;
mod user;
mod waves;

use rig::*;
use rkfd_emulator::memory::Hub;
use rkfd_hw::mes::v12::SetHwResources;
use rkfd_hw::mes::{header, op};
use rkfd_hw::mqd::v12::ComputeMqd as Mqd;
use rkfd_hw::regs::Block;
use std::time::{Duration, Instant};

#[test]
fn both_pipes_start_and_tell_their_version() {
    let rig = Rig::started(&[]);
    for select in SELECT {
        rig.gc("GRBM_GFX_CNTL", select);
        // AMDGPU_MES_VERSION_MASK.
        assert_eq!(rig.read("CP_MES_GP3_LO") & 0xfff, 0x8d);
        assert_eq!(rig.read("CP_HQD_ACTIVE") & 1, 1);
    }
    assert_eq!(rig.guest.findings(), [""; 0]);
}

#[test]
fn a_pipe_that_does_not_run_connects_no_ring() {
    let rig = Rig::new(&[]);
    rig.gc("GRBM_GFX_CNTL", SELECT[1]);
    assert_eq!(rig.read("CP_MES_GP3_LO"), 0);
    rig.gc("RLC_CP_SCHEDULERS", 0xe8);
    rig.kernel_ring();
    rig.guest
        .expect_violation("CP_MES_CNTL does not run the queue's pipe");
    // Without firmware, activating a pipe does not make it run.
    let rig = Rig::new(&["at power-on: cold"]);
    rig.enable();
    rig.gc("GRBM_GFX_CNTL", SELECT[1]);
    assert_eq!(rig.read("CP_MES_GP3_LO"), 0);
}

#[test]
fn the_kernel_s_ring_is_the_one_that_rlc_was_told() {
    let rig = Rig::new(&[]);
    rig.enable();
    rig.gc("RLC_CP_SCHEDULERS", 0x80 | (3 << 5));
    rig.kernel_ring();
    rig.guest
        .expect_violation("RLC_CP_SCHEDULERS does not name the queue");
}

#[test]
fn registers_without_a_pipe_are_refused() {
    let rig = Rig::new(&[]);
    rig.read("CP_MES_GP3_LO");
    rig.guest.expect_violation("selects no pipe of the engine");
    rig.gc("CP_MES_CNTL", 1 << 28);
    rig.guest.expect_violation("MES has two pipes");
    rig.gc("GRBM_STATUS", 1);
    rig.guest.expect_violation("GRBM_STATUS = 0x1: read-only");
    // PROC_LSB's default.
    assert_eq!(rig.read("CP_UNMAPPED_DOORBELL"), 0xc00);
    rig.gc("CP_UNMAPPED_DOORBELL", 0xd00 | 1);
    assert_eq!(rig.read("CP_UNMAPPED_DOORBELL"), 0xd01);
}

#[test]
fn frames_complete_in_order_and_the_ring_wraps() {
    let mut rig = Rig::started(&[]);
    // Each writes the same fence: the last value must be the last frame's.
    for round in 0..20u64 {
        for n in 1..=8 {
            rig.append(0, &query(FENCE, round * 8 + n).0);
        }
        rig.ring(0);
        rig.wait(FENCE, round * 8 + 8);
    }
    assert!(rig.wptr[0] > WORDS, "it has wrapped");
    assert_eq!(rig.guest.findings(), [""; 0]);
}

#[test]
fn a_doorbell_beyond_the_ring_is_refused() {
    let mut rig = Rig::started(&[]);
    rig.wptr[0] += WORDS + 64;
    rig.ring(0);
    let until = Instant::now() + Duration::from_secs(600);
    while rig.guest.findings().is_empty() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(1));
    }
    rig.guest
        .expect_violation("not within a ring of the read pointer");
}

#[test]
fn malformed_frames_fail_and_are_recorded() {
    let mut rig = Rig::started(&[]);
    let wrong_size = header(op::SUSPEND) - (1 << 12);
    assert_eq!(
        rig.submit(0, &frame(op::SUSPEND, &[(0, wrong_size)]), 8),
        error(1, op::SUSPEND, 0, 1)
    );
    rig.guest.expect_violation("MES: SUSPEND of 63 words");
    let stray = frame(op::RESUME, &[(1, 1), (40, 1)]);
    assert_eq!(rig.submit(0, &stray, 4), error(1, op::RESUME, 0, 1));
    rig.guest
        .expect_violation("RESUME: reserved bits in word 40");
    // An unknown opcode has no place for a status; the next frame is carried out.
    assert_eq!(rig.submit(0, &frame(99, &[]), 2), NOTHING);
    rig.guest.expect_violation("frame with opcode 99 (unknown)");
}

#[test]
fn nothing_goes_before_the_resources() {
    let mut rig = Rig::new(&[]);
    rig.enable();
    rig.kernel_ring();
    let all = frame(op::SUSPEND, &[(1, 1)]);
    assert_eq!(rig.submit(1, &all, 8), error(3, op::SUSPEND, 0, 1));
    rig.guest.expect_violation("SUSPEND: before SET_HW_RSRC");
}

#[test]
fn resources_are_checked() {
    use SetHwResources as R;
    let good = Rig::resources(0);
    let cases = [
        (good.with(R::VMID_MASK_GFXHUB, 0xff01), "VMID 0"),
        (good.with(R::VMID_MASK_GFXHUB, 0), "nothing is left"),
        (good.with(R::VMID_MASK_MMHUB, 0), "nothing is left"),
        (
            good.with(R::COMPUTE_HQD_MASK_2, 1),
            "HQDs that the chip lacks",
        ),
        (
            good.with(R::COMPUTE_HQD_MASK_0, 0x10),
            "HQDs that the chip lacks",
        ),
        (
            good.with(R::GC_BASE_1, 0xa001),
            "bases of Gc are not the chip's",
        ),
        (
            good.having(R::UNMAPPED_DOORBELL_HANDLING.is::<3>()),
            "no mode 3",
        ),
    ];
    for (frame, what) in cases {
        let mut rig = Rig::started(&[]);
        assert_eq!(rig.submit(0, &frame.0, 50), error(2, op::SET_HW_RSRC, 0, 1));
        rig.guest.expect_violation(what);
    }
    let mut rig = Rig::started(&[]);
    let fences = good.with(R::ENABLE_MES_FENCE_INT, true);
    let status = rig.submit(0, &fences.0, 50);
    assert_eq!(status, error(5, op::SET_HW_RSRC, 0, 2));
    for other in [
        good.with(R::DISABLE_RESET, false),
        good.with(R::DISABLE_MES_LOG, false),
        good.with(R::USE_DIFFERENT_VMID_COMPUTE, false),
        good.with(R::ENABLE_REG_ACTIVE_POLL, false),
        good.with(R::ENABLE_LEVEL_PROCESS_QUANTUM_CHECK, false),
    ] {
        let status = rig.submit(0, &other.0, 50);
        assert_eq!(status, error(5, op::SET_HW_RSRC, 0, 2));
    }
    let nowhere = good.with(R::G_SCH_CTX_GPU_MC_PTR, 0);
    assert_eq!(
        rig.submit(0, &nowhere.0, 50),
        error(6, op::SET_HW_RSRC, 0, 1)
    );
}

#[test]
fn the_scheduler_s_ring_is_mapped_once_and_unmapped() {
    let mut rig = Rig::started(&[]);
    assert_eq!(
        rig.submit(1, &Rig::map_scheduler().0, 38),
        error(3, op::ADD_QUEUE, 0, 1)
    );
    rig.guest.expect_violation("the scheduler's ring is mapped");
    let remove = |doorbell: u32| {
        frame(
            op::REMOVE_QUEUE,
            // doorbell_offset, unmap_legacy_queue, queue_type SCHQ.
            &[(1, doorbell), (4, 1 << 3), (15, 3)],
        )
    };
    assert_eq!(
        rig.submit(1, &remove(0x99), 6),
        error(4, op::REMOVE_QUEUE, 0, 1)
    );
    assert_eq!(rig.submit(1, &remove(DOORBELL[0]), 6), 1);
    rig.gc("GRBM_GFX_CNTL", SELECT[0]);
    assert_eq!(rig.read("CP_HQD_ACTIVE") & 1, 0);
    // A ring that is mapped again starts where its write pointer is, and needs its resources.
    let mqd = Rig::mqd(0).with(Mqd::CP_HQD_PQ_WPTR, 0);
    rig.words(MQD[0], &mqd.0);
    rig.wptr[0] = 0;
    rig.set(WPTR[0], 0);
    assert_eq!(rig.submit(1, &Rig::map_scheduler().0, 38), 1);
    let all = frame(op::RESUME, &[(1, 1)]);
    assert_eq!(rig.submit(0, &all, 4), error(3, op::RESUME, 0, 1));
}

#[test]
fn an_mqd_that_does_not_fit_is_refused() {
    for (change, what) in [
        (Rig::mqd(0).with(Mqd::HEADER, 0), "another header"),
        (
            Rig::mqd(0).with(Mqd::CP_HQD_PQ_BASE, 0),
            "CP_HQD_PQ_BASE is 0",
        ),
        (Rig::mqd(0).with(Mqd::CP_HQD_VMID, 3), "not in VMID 0"),
        (
            Rig::mqd(0).with(Mqd::CP_HQD_ACTIVE, 0),
            "no CP_HQD_ACTIVE, or no DB_UPDATED_MSG_EN",
        ),
        (
            Rig::mqd(0).with(Mqd::CP_HQD_EOP_BASE_ADDR, 0x1000u64),
            "EOP_SIZE and CP_HQD_EOP_BASE_ADDR, one without the other",
        ),
        (
            Rig::mqd(0).with(Mqd::CP_HQD_PQ_DOORBELL_CONTROL, (0x18 << 2) | (1 << 30)),
            "another doorbell",
        ),
    ] {
        let mut rig = Rig::new(&[]);
        rig.enable();
        rig.kernel_ring();
        assert_eq!(rig.submit(1, &Rig::resources(1).0, 50), 1);
        rig.words(MQD[0], &change.0);
        assert_eq!(
            rig.submit(1, &Rig::map_scheduler().0, 38),
            error(2, op::ADD_QUEUE, 0, 1)
        );
        rig.guest.expect_violation(what);
    }
}

#[test]
fn what_was_not_added_is_not_found() {
    let mut rig = Rig::started(&[]);
    let remove = frame(op::REMOVE_QUEUE, &[(1, 0x1000), (15, 1)]);
    assert_eq!(rig.submit(0, &remove, 6), error(4, op::REMOVE_QUEUE, 0, 1));
    let one = frame(op::SUSPEND, &[(2, 0x1000)]);
    assert_eq!(rig.submit(0, &one, 8), error(4, op::SUSPEND, 0, 1));
    let one = frame(op::RESUME, &[(2, 0x1000)]);
    assert_eq!(rig.submit(0, &one, 4), error(4, op::RESUME, 0, 1));
    let reset = frame(op::RESET, &[(1, 1), (4, 0x1000), (8, 1)]);
    assert_eq!(rig.submit(0, &reset, 28), error(4, op::RESET, 0, 1));
}

#[test]
fn all_gangs_are_suspended_and_resumed() {
    let mut rig = Rig::started(&[]);
    rig.set(BUFFER, 0);
    let at = mc(BUFFER);
    let suspend = frame(
        op::SUSPEND,
        &[(1, 1), (4, at as u32), (5, (at >> 32) as u32), (6, 77)],
    );
    assert_eq!(rig.submit(0, &suspend, 8), 1);
    assert_eq!(rig.value(BUFFER), 77);
    assert_eq!(rig.submit(0, &frame(op::RESUME, &[(1, 1)]), 4), 1);
    for word in [0, 8] {
        rig.set(BUFFER + word, u64::MAX);
    }
    // hang_detect_only, queue type compute: no queue hangs.
    let detect = frame(
        op::RESET,
        &[(1, 1 << 2), (6, at as u32), (7, (at >> 32) as u32), (8, 1)],
    );
    assert_eq!(rig.submit(0, &detect, 28), 1);
    assert_eq!(rig.value(BUFFER), u64::MAX, "the array stays as it is");
    assert_eq!(rig.guest.findings(), [""; 0]);
    let both = frame(op::RESET, &[(1, 3 << 1)]);
    assert_eq!(rig.submit(0, &both, 28), error(2, op::RESET, 0, 1));
}

#[test]
fn misc_reads_writes_and_waits_for_registers() {
    let mut rig = Rig::started(&[]);
    let word = |rig: &Rig, name| (rig.guest.address(Block::Gc, name) / 4) as u32;
    let scratch = word(&rig, "SCRATCH_REG0");
    let write = frame(op::MISC, &[(1, 0), (6, scratch), (7, 0xcafe)]);
    assert_eq!(rig.submit(1, &write, 2), 1);
    assert_eq!(rig.read("SCRATCH_REG0"), 0xcafe);
    let at = mc(BUFFER);
    rig.set(BUFFER, u64::MAX);
    let read = frame(
        op::MISC,
        &[(1, 3), (6, scratch), (8, at as u32), (9, (at >> 32) as u32)],
    );
    assert_eq!(rig.submit(1, &read, 2), 1);
    assert_eq!(rig.value(BUFFER), 0xffff_ffff_0000_cafe);
    // WRM_OPERATION__WR_WAIT_WR_REG: a TLB flush of VMID 8 by engine 17.
    let request = word(&rig, "GCVM_INVALIDATE_ENG17_REQ");
    let ack = word(&rig, "GCVM_INVALIDATE_ENG17_ACK");
    rig.gc("GCVM_INVALIDATE_ENG17_ADDR_RANGE_LO32", u32::MAX);
    rig.gc("GCVM_INVALIDATE_ENG17_ADDR_RANGE_HI32", 0x1f);
    let reference = 0x00f8_0000 | (1 << 8);
    let fields = [
        (1, 4),
        (6, 1),
        (7, reference),
        (8, 1 << 8),
        (9, request),
        (10, ack),
    ];
    assert_eq!(rig.submit(1, &frame(op::MISC, &fields), 2), 1);
    assert_eq!(rig.read("GCVM_INVALIDATE_ENG17_ACK"), 1 << 8);
    assert_eq!(rig.guest.findings(), [""; 0]);
}

#[test]
fn a_wait_holds_its_ring_and_no_other() {
    let mut rig = Rig::started(&[]);
    let scratch = (rig.guest.address(Block::Gc, "SCRATCH_REG1") / 4) as u32;
    rig.append(
        1,
        &frame(op::MISC, &[(1, 4), (7, 5), (8, 0xf), (9, scratch)]),
    );
    rig.append(1, &query(BUFFER, 1).0);
    rig.set(BUFFER, 0);
    rig.ring(1);
    assert_eq!(rig.submit(0, &frame(op::RESUME, &[(1, 1)]), 4), 1);
    assert_eq!(rig.value(BUFFER), 0);
    rig.gc("SCRATCH_REG1", 0x15);
    rig.wait(BUFFER, 1);
    assert_eq!(rig.guest.findings(), [""; 0]);
}

#[test]
fn what_misc_does_not_know_fails_with_its_sub_opcode() {
    let mut rig = Rig::started(&[]);
    let launch = frame(op::MISC, &[(1, 10)]);
    assert_eq!(rig.submit(1, &launch, 2), error(5, op::MISC, 10, 2));
    rig.guest
        .expect_violation("MISC: sub-opcode 10, which is not modelled");
}

#[test]
fn translations_go_by_process_or_vmid() {
    let mut rig = Rig::started(&[]);
    let soc = rig.guest.device.soc.clone();
    soc.pasids.bind(9, Some(0x8001));
    let epoch = |hub, vmid| soc.memory.hub(hub).tlb(vmid).epoch();
    let before = [
        epoch(Hub::Gfx(0), 9),
        epoch(Hub::Gfx(0), 8),
        epoch(Hub::Mm(0), 9),
    ];
    // inv_sel 0, flush_type 2, the PASID; hub 0.
    let flush = frame(op::INV_TLBS, &[(6, (2 << 8) | (0x8001 << 16))]);
    assert_eq!(rig.submit(1, &flush, 2), 1);
    let after = [
        epoch(Hub::Gfx(0), 9),
        epoch(Hub::Gfx(0), 8),
        epoch(Hub::Mm(0), 9),
    ];
    assert_eq!(after, [before[0] + 1, before[1], before[2]]);
    assert_eq!(rig.guest.findings(), [""; 0]);
    let hub = frame(op::INV_TLBS, &[(7, 2)]);
    assert_eq!(rig.submit(1, &hub, 2), error(2, op::INV_TLBS, 0, 1));
}

#[test]
fn early_firmware_lacks_what_came_later() {
    let mut rig = Rig::started(&["at power-on: MES revision 0x83"]);
    let flush = frame(op::INV_TLBS, &[(6, (2 << 8) | (0x8001 << 16))]);
    assert_eq!(rig.submit(1, &flush, 2), error(1, op::INV_TLBS, 0, 1));
    let findings = rig.guest.findings();
    assert!(
        findings[0].contains("INV_TLBS: revision 0x83 lacks it"),
        "{findings:?}"
    );
    // What Linux tells revisions by (`AMDGPU_MES_VERSION_MASK`).
    rig.gc("GRBM_GFX_CNTL", SELECT[0]);
    assert_eq!(rig.read("CP_MES_GP3_LO") & 0xfff, 0x83);
}

#[test]
fn rules_are_what_they_say() {
    let mut rig = Rig::started(&["on REMOVE_LEGACY_QUEUE: fail"]);
    let remove = frame(op::REMOVE_QUEUE, &[(1, DOORBELL[0]), (4, 1 << 3), (15, 3)]);
    assert_eq!(
        rig.submit(1, &remove, 6),
        error(0xff, op::REMOVE_QUEUE, 0, 2)
    );
    assert_eq!(rig.submit(0, &frame(op::RESUME, &[(1, 1)]), 4), 1);

    let mut rig = Rig::new(&["on SET_HW_RSRC: fail"]);
    rig.enable();
    rig.kernel_ring();
    assert_eq!(
        rig.submit(1, &Rig::resources(1).0, 50),
        error(0xff, op::SET_HW_RSRC, 0, 2)
    );

    let mut rig = Rig::new(&["on MES frame: no answer"]);
    rig.enable();
    rig.kernel_ring();
    rig.append(1, &query(FENCE, 1).0);
    rig.set(FENCE, 0);
    rig.ring(1);
    rig.gc("GRBM_GFX_CNTL", SELECT[1]);
    let until = Instant::now() + Duration::from_secs(600);
    while rig.read("CP_HQD_PQ_RPTR") != 64 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(rig.value(FENCE), 0);
}

#[test]
fn halting_takes_the_rings_away_and_a_reset_everything() {
    let rig = Rig::started(&[]);
    // `mes_v12_0_enable(false)`: halt, both pipes in reset, instruction cache invalidated.
    rig.gc("CP_MES_CNTL", (1 << 4) | (3 << 16) | (1 << 30));
    for select in SELECT {
        rig.gc("GRBM_GFX_CNTL", select);
        assert_eq!(rig.read("CP_HQD_ACTIVE") & 1, 0);
    }
    rig.gc("SCRATCH_REG0", 5);
    rig.guest.device.reset();
    assert_eq!(rig.read("SCRATCH_REG0"), 0);
    assert_eq!(rig.read("CP_MES_CNTL"), 1 << 30);
    assert_eq!(rig.guest.findings(), [""; 0]);
}

/// Linux sets these before it has a ring.
#[test]
fn a_ring_needs_what_the_command_processor_is_told() {
    for (name, why) in [
        ("CP_DEBUG", "lets a page fault halt"),
        ("CP_MEC_DOORBELL_RANGE_UPPER", "has no doorbell"),
    ] {
        let rig = Rig::new(&[]);
        rig.enable();
        let value = rig.read(name);
        rig.gc(name, 0);
        rig.kernel_ring();
        rig.guest.expect_violation(why);
        rig.gc(name, value);
        rig.kernel_ring();
        assert_eq!(rig.guest.findings().len(), 1);
    }
}

/// `mes_v12_0_queue_init` writes the MQD, and then the registers.
#[test]
fn a_ring_that_registers_connect_has_its_mqd_in_memory_too() {
    let mut rig = Rig::new(&[]);
    rig.enable();
    rig.kernel_ring();
    let answers = rig.submit(1, &Rig::resources(1).0, 50);
    assert_eq!(answers, 1);
    assert_eq!(rig.guest.findings(), [""; 0]);
    // The firmware connects the ring some time after the registers say so.
    rig.gc("GRBM_GFX_CNTL", SELECT[1]);
    rig.gc("CP_HQD_ACTIVE", 0);
    rig.words(MQD[1], &[0]);
    rig.gc("CP_HQD_ACTIVE", 1);
    let until = Instant::now() + Duration::from_secs(60);
    while rig.guest.findings().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    rig.guest.expect_violation("has another header");
}

/// `gfx_v12_0_hw_fini` halts MES, then MEC, and turns the hub off last.
#[test]
fn the_hub_is_turned_off_after_mes_and_mec() {
    let rig = Rig::started(&[]);
    rig.gc("GCVM_CONTEXT0_CNTL", 0);
    rig.guest
        .expect_violation("pipe 0 of MES runs and reads its program by it");
    let halt_mes = |rig: &Rig| rig.gc("CP_MES_CNTL", (1 << 4) | (3 << 16) | (1 << 30));
    let rig = Rig::started(&[]);
    halt_mes(&rig);
    rig.gc("GCVM_CONTEXT0_CNTL", 0);
    rig.guest
        .expect_violation("pipe 0 of MEC runs and reads its program by it");
    let rig = Rig::started(&[]);
    halt_mes(&rig);
    rig.gc("CP_MEC_RS64_CNTL", (1 << 4) | (0xf << 16) | (1 << 30));
    rig.gc("GCVM_CONTEXT0_CNTL", 0);
    assert_eq!(rig.guest.findings(), [""; 0]);
}

/// `gfx_v12_0_rlc_stop`, `_is_rlc_enabled` and `_set_safe_mode`, whose CMD and MESSAGE are bits 0 and 1.
#[test]
fn a_stopped_run_list_controller_answers_nobody() {
    let rig = Rig::started(&[]);
    assert_eq!(rig.read("RLC_CNTL"), 1);
    rig.gc("RLC_SAFE_MODE", 3);
    assert_eq!(rig.read("RLC_SAFE_MODE") & 1, 0);
    rig.gc("RLC_SAFE_MODE", 1);
    rig.gc("RLC_CNTL", 0);
    assert_eq!(rig.read("RLC_CNTL"), 0);
    assert_eq!(rig.guest.findings(), [""; 0]);
    rig.gc("RLC_SAFE_MODE", 3);
    rig.guest.expect_violation("no run list controller runs");
    rig.gc("RLC_CNTL", 1);
    rig.gc("RLC_SAFE_MODE", 3);
    assert_eq!(rig.read("RLC_SAFE_MODE") & 1, 0);
}
