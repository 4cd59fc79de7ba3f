// SPDX-License-Identifier: MIT OR Apache-2.0

//! What MES needs and a driver may leave out.
//!
//! Sources: Linux, `amdgpu/mes_v12_0.c` (`mes_v12_0_set_hw_resources`, `_set_hw_resources_1`,
//! `_enable_unmapped_doorbell_handling`, `_init_aggregated_doorbell`, `_enable`, `_reset_queue_mmio`,
//! `_reset_compute_pipe_mmio`), `amdgpu/gfx_v12_0.c` (`gfx_v12_0_init_compute_vmid`, `_cp_compute_enable`),
//! `amdgpu/amdgpu_mes.c` (`amdgpu_mes_detect_and_reset_hung_queues`, `amdgpu_mes_flush_shader_debugger`).

use crate::process::{Process, Queue};
use crate::queues::start;
use crate::rig::*;
use rkfd_hw::mes::v12::{SetHwResources as R, SetHwResources1};
use rkfd_hw::mes::{header, op};

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
