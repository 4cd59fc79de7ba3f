// SPDX-License-Identifier: MIT OR Apache-2.0

//! What MES needs and a driver may leave out.
//!
//! Sources: Linux, `amdgpu/mes_v12_0.c` (`mes_v12_0_set_hw_resources`, `_set_hw_resources_1`,
//! `_enable_unmapped_doorbell_handling`, `_init_aggregated_doorbell`, `_enable`, `_reset_queue_mmio`,
//! `_reset_compute_pipe_mmio`), `amdgpu/gfx_v12_0.c` (`gfx_v12_0_init_compute_vmid`, `_cp_compute_enable`),
//! `amdgpu/amdgpu_mes.c` (`amdgpu_mes_detect_and_reset_hung_queues`, `amdgpu_mes_flush_shader_debugger`).

use crate::process::{Process, Queue};
use crate::queues::{start, HQDS};
use crate::rig::*;
use rkfd_emulator::memory::tlb::Flush;
use rkfd_emulator::memory::Hub;
use rkfd_hw::mes::v12::{Reset, SetHwResources as R, SetHwResources1};
use rkfd_hw::mes::{header, op};
use rkfd_hw::pte;

#[test]
fn resources_without_a_timer_or_traps_are_refused() {
    let (mut rig, _memory) = start();
    let frame = Rig::resources(0).with(R::OVERSUBSCRIPTION_TIMER, 0);
    assert_ne!(rig.submit(0, &frame.0, 50), 1);
    rig.guest.expect_violation("oversubscription_timer 0");
    let mut patience = SetHwResources1::zeroed().with(
        SetHwResources1::CLEANER_SHADER_FENCE_MC_ADDR,
        mc(CONTEXT + 16),
    );
    patience.0[0] = header(op::SET_HW_RSRC_1);
    assert_ne!(rig.submit(0, &patience.0, 2), 1);
    rig.guest.expect_violation("mes_kiq_unmap_timeout 0");
    rig.gc("GRBM_GFX_CNTL", 9 << 4);
    rig.gc("SPI_GDBG_PER_VMID_CNTL", 0);
    assert_ne!(rig.submit(0, &Rig::resources(0).0, 50), 1);
    rig.guest
        .expect_violation("SPI_GDBG_PER_VMID_CNTL of VMID 9 lacks TRAP_EN");
}

#[test]
fn doorbells_of_queues_without_an_hqd_are_told_of() {
    // DB_UPDATED_MSG_EN is bit 15.
    for (unmapped, messages, why) in [
        (0xd00, 1 << 15, "CP_UNMAPPED_DOORBELL is not enabled"),
        (0xc01, 1 << 15, "CP_UNMAPPED_DOORBELL.PROC_LSB is not 13"),
        (0xd01, 0, "CP_HQD_GFX_CONTROL lacks DB_UPDATED_MSG_EN"),
    ] {
        let (mut rig, memory) = start();
        let basic_plus = R::UNMAPPED_DOORBELL_HANDLING.is::<2>();
        let frame = Rig::resources(0).having(basic_plus);
        assert_eq!(rig.submit(0, &frame.0, 50), 1);
        rig.gc("CP_UNMAPPED_DOORBELL", 0xd01);
        rig.gc("CP_HQD_GFX_CONTROL", 1 << 15);
        let p = Process::saving(&memory, 0x8001);
        let q = Queue::new(&p, 0x1000, 16);
        rig.add(&q);
        rig.clean();
        rig.gc("CP_UNMAPPED_DOORBELL", unmapped);
        rig.gc("CP_HQD_GFX_CONTROL", messages);
        rig.add(&Queue::new(&p, 0x1002, 16));
        rig.guest.expect_violation(why);
    }
    let (mut rig, memory) = start();
    let off = R::UNMAPPED_DOORBELL_HANDLING.is::<0>();
    let frame = Rig::resources(0).having(off);
    assert_eq!(rig.submit(0, &frame.0, 50), 1);
    let p = Process::saving(&memory, 0x8001);
    rig.add(&Queue::new(&p, 0x1000, 16));
    rig.guest
        .expect_violation("doorbells that unmapped_doorbell_handling ignores");
}

#[test]
fn a_level_s_doorbell_is_that_of_the_resources() {
    let (mut rig, memory) = start();
    rig.gc("CP_MES_DOORBELL_CONTROL2", (1 << 30) | (0x402 << 2));
    let p = Process::saving(&memory, 0x8001);
    rig.add(&Queue::new(&p, 0x1000, 16));
    rig.guest.expect_violation(
        "CP_MES_DOORBELL_CONTROL2 enables doorbell 0x402, which SET_HW_RSRC doesn't name",
    );
}

#[test]
fn the_list_of_hung_queues_is_empty_before() {
    let (mut rig, _memory) = start();
    rig.set(BUFFER, u64::MAX);
    rig.set(BUFFER + 8, (0x1000 << 32) | 0xffff_ffff);
    let mut detect = Reset::zeroed()
        .with(Reset::HANG_DETECT_ONLY, true)
        .with(Reset::QUEUE_TYPE, 1)
        .with(Reset::DOORBELL_OFFSET_ADDR, mc(BUFFER));
    detect.0[0] = header(op::RESET);
    assert_ne!(rig.submit(0, &detect.0, 28), 1);
    rig.guest
        .expect_violation("the list at doorbell_offset_addr has something in it");
}

#[test]
fn engines_that_are_halted_for_good_forget_their_programs() {
    // MES_PIPE0_RESET, MES_PIPE1_RESET, MES_HALT; INVALIDATE_ICACHE is bit 4 of both.
    let rig = Rig::started(&[]);
    rig.gc("CP_MES_CNTL", (3 << 16) | (1 << 30));
    rig.guest
        .expect_violation("MES is halted for good, with its program in the instruction cache");
    let rig = Rig::started(&[]);
    rig.gc("CP_MEC_RS64_CNTL", (0xf << 16) | (1 << 30));
    rig.guest
        .expect_violation("MEC is halted for good, with its program in the instruction cache");
}

#[test]
fn memory_of_a_process_stays_until_it_is_flushed() {
    let (mut rig, memory) = start();
    let debug = |context: u64, flags: u32| {
        let at = [context as u32, (context >> 32) as u32];
        frame(op::MISC, &[(1, 5), (6, at[0]), (7, at[1]), (8, flags)])
    };
    // The second page of the GART.
    const GART: u64 = 0x1000;
    let rights = pte::VALID | pte::READABLE | pte::WRITEABLE | pte::gfx12::PDE_PTE;
    let entry = BUFFER | rights | pte::gfx12::mtype(pte::Mtype::Uc);
    rig.set(TABLE + 8, entry);
    let flush = |rig: &Rig| {
        rig.guest
            .device
            .soc
            .memory
            .flush(Hub::Gfx(0), 1, Flush::Heavy)
    };
    flush(&rig);
    assert_eq!(rig.submit(0, &debug(GART, 0), 2), 1);
    rig.set(TABLE + 8, 0);
    flush(&rig);
    let p = Process::saving(&memory, 0x8001);
    rig.add(&Queue::new(&p, 0x1000, 16));
    rig.guest.expect_violation("where it still keeps a process");
}

#[test]
fn a_pipe_that_is_reset_alone_leaves_its_hqds_active() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    rig.add(&Queue::new(&p, 0x1000, 16));
    assert!(rig.is_active(HQDS[0]));
    let running = rig.read("CP_MEC_RS64_CNTL");
    // MEC_PIPE0_RESET.
    rig.gc("CP_MEC_RS64_CNTL", running | (1 << 16));
    assert!(rig.is_active(HQDS[0]));
    rig.gc("CP_MEC_RS64_CNTL", running);
    rig.guest
        .expect_violation("the reset of a pipe ends while one of its HQDs is active");
}
