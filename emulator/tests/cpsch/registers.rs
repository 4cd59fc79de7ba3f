// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers, and the KIQ that is set up by them.

use crate::packets::{nop, unmap};
use crate::rig::{Rig, GOLDEN, HIQ, HIQ_BELL, KIQ};
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::commands::DST_MEMORY;
use rkfd_hw::pm4::{header, op, SELECT_DOORBELL, UNMAP_RESET};
use rkfd_hw::regs::gc_9_4_3 as gc;

#[test]
fn banks_follow_grbm_gfx_cntl() {
    let rig = Rig::bare(&[]);
    for vmid in [3u32, 9] {
        rig.write(gc::GRBM_GFX_CNTL, vmid << 4);
        rig.write(gc::SH_MEM_BASES, 0x1000 + vmid);
    }
    rig.write(gc::GRBM_GFX_CNTL, 3 << 4);
    assert_eq!(rig.read(gc::SH_MEM_BASES), 0x1003);
    rig.select((1, 2, 3));
    rig.write(gc::CP_HQD_PQ_BASE, 77);
    rig.select((1, 2, 4));
    assert_eq!(rig.read(gc::CP_HQD_PQ_BASE), 0);
    assert_eq!(rig.read(gc::CP_HQD_PQ_CONTROL), 0x0030_8509);
    rig.select((1, 2, 3));
    assert_eq!(rig.read(gc::CP_HQD_PQ_BASE), 77);
    // A pipe's interrupts have two names.
    rig.write(gc::CPC_INT_CNTL, 1 << 26);
    assert_eq!(
        (
            rig.read(gc::CP_ME1_PIPE2_INT_CNTL),
            rig.read(gc::CP_ME1_PIPE1_INT_CNTL)
        ),
        (1 << 26, 0)
    );
    rig.clean();
}

#[test]
fn constants_and_the_clock_are_the_chips() {
    let rig = Rig::bare(&[]);
    assert_eq!(rig.read(gc::GRBM_STATUS), 0);
    let fused: u32 = (0..4u32)
        .map(|se| {
            rig.write(gc::GRBM_GFX_INDEX, (se << 16) | (1 << 30));
            (rig.read(gc::CC_GC_SHADER_ARRAY_CONFIG) >> 16).count_ones()
        })
        .sum();
    assert_eq!(40 - fused, 20, "an MI308X has 20 compute units an XCC");
    let now = || {
        rig.write(gc::RLC_CAPTURE_GPU_CLOCK_COUNT, 1);
        u64::from(rig.read(gc::RLC_GPU_CLOCK_COUNT_LSB))
            | (u64::from(rig.read(gc::RLC_GPU_CLOCK_COUNT_MSB)) << 32)
    };
    let first = now();
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(now() - first >= 2_000_000, "100 MHz");
    rig.write(gc::RLC_SAFE_MODE, 3);
    assert_eq!(
        rig.read(gc::RLC_SAFE_MODE) & 1,
        0,
        "the request is acknowledged"
    );
    rig.clean();
}

/// `gfx_v9_4_3_xcc_update_gfx_clock_gating`: in RLC's safe mode, and "CGCG/CGLS should be enabled after MGCG/MGLS".
#[test]
fn clocks_are_gated_in_order_and_in_the_safe_mode() {
    const OVERRIDES: u32 = 0x36e;
    use gc::CP_INT_CNTL_RING0 as idle;
    const TELLS: u32 = idle::CNTX_BUSY_INT_ENABLE.mask()
        | idle::CNTX_EMPTY_INT_ENABLE.mask()
        | idle::CMP_BUSY_INT_ENABLE.mask();
    let rig = Rig::bare(&[]);
    let old = rig.read(gc::RLC_CGTT_MGCG_OVERRIDE);
    assert_eq!(old & OVERRIDES, OVERRIDES, "clocks run at start-up");
    rig.write(gc::RLC_CGTT_MGCG_OVERRIDE, old & !OVERRIDES);
    rig.violated(
        "RLC_CGTT_MGCG_OVERRIDE = 0xfffffc91: clocks are gated while the run list controller",
    );
    rig.write(gc::RLC_SAFE_MODE, 3);
    rig.write(gc::RLC_CGCG_CGLS_CTRL, 1);
    rig.violated("RLC_CGCG_CGLS_CTRL = 0x1: the coarse gates are on before the medium ones");
    rig.write(gc::RLC_CGTT_MGCG_OVERRIDE, old & !OVERRIDES);
    rig.write(gc::RLC_CGCG_CGLS_CTRL, 1);
    rig.violated("the coarse gates are on, and CP_INT_CNTL_RING0 doesn't tell them");
    // CNTX_BUSY, CNTX_EMPTY and CMP_BUSY (`gfx_v9_4_3_xcc_enable_gui_idle_interrupt`).
    rig.write(gc::CP_INT_CNTL_RING0, TELLS);
    rig.write(gc::RLC_CGCG_CGLS_CTRL, 1);
    rig.write(gc::RLC_SAFE_MODE, 1);
    // To have them run again needs nothing.
    rig.write(gc::RLC_CGCG_CGLS_CTRL, 0);
    rig.write(gc::RLC_CGTT_MGCG_OVERRIDE, old);
    assert_eq!(rig.report.violations(), 3);
}

#[test]
fn undefined_accesses_are_recorded_by_name() {
    let rig = Rig::bare(&[]);
    rig.write(gc::GRBM_STATUS, 1);
    rig.violated("GRBM_STATUS = 0x1: read-only");
    rig.read(gc::CP_HQD_GFX_CONTROL);
    rig.violated("read of CP_HQD_GFX_CONTROL: not modelled");
    rig.write(gc::CP_HQD_ACTIVE, 1);
    rig.violated("CP_HQD_ACTIVE = 0x1: GRBM_GFX_CNTL selects no compute queue");
    rig.write(gc::GRBM_GFX_CNTL, 1 << 31);
    rig.violated("GRBM_GFX_CNTL = 0x80000000: reserved bits");
    rig.select((1, 0, 0));
    rig.write(gc::CP_HQD_PIPE_PRIORITY, 4);
    rig.violated("CP_HQD_PIPE_PRIORITY = 0x4: bits 0x4, which the register lacks");
    rig.write(gc::CP_HQD_ACTIVE, 1);
    rig.violated("CP_HQD_ACTIVE = 0x1: CP_HQD_PQ_BASE is 0");
    assert!(!rig.is_active((1, 0, 0)));
    rig.write(gc::CP_PQ_WPTR_POLL_CNTL, 1 << 31);
    rig.violated("polling of the write pointer is not modelled");
    rig.write(gc::GRBM_SOFT_RESET, 1);
    rig.violated("only a reset of CP with GFX is modelled");
    rig.write(gc::CP_MEC_CNTL, 1 << 31);
    rig.violated("single stepping is not modelled");
}

#[test]
fn the_kiq_passes_the_ring_test() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    for round in 0..300u32 {
        rig.write(gc::SCRATCH_REG0, 0xcafe_dead);
        // SET_UCONFIG_REG SCRATCH_REG0, and fillers so that the ring wraps.
        rig.kiq(&[
            0xc001_7900,
            0x40,
            0xdead_0000 + round,
            nop(),
            nop(),
            nop(),
            nop(),
        ]);
        rig.wait("the scratch register", || {
            rig.read(gc::SCRATCH_REG0) == 0xdead_0000 + round
        });
    }
    let at = (300 * 7) % 512;
    rig.wait("the read pointer", || rig.words(rig.kiq.rptr, 1)[0] == at);
    rig.select(KIQ);
    assert_eq!(rig.read(gc::CP_HQD_PQ_RPTR), at);
    assert_eq!(rig.read(gc::CP_HQD_PQ_WPTR_LO), 2100);
    rig.clean();
}

#[test]
fn a_halted_engine_waits_and_no_doorbell_passes_before_it_is_enabled() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.write(gc::CP_MEC_CNTL, 1 << 28);
    rig.kiq(&[0xc001_7900, 0x40, 1]);
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(rig.read(gc::SCRATCH_REG0), 0);
    rig.write(gc::CP_MEC_CNTL, 0);
    rig.wait("the packet", || rig.read(gc::SCRATCH_REG0) == 1);
    rig.write(gc::CP_PQ_STATUS, 0);
    rig.kiq(&[0xc001_7900, 0x40, 2]);
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(rig.read(gc::SCRATCH_REG0), 1);
    rig.write(gc::CP_PQ_STATUS, 2);
    rig.wait("the packet", || rig.read(gc::SCRATCH_REG0) == 2);
    rig.clean();
}

#[test]
fn write_data_reaches_memory_and_the_cps_registers() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    let to = rig.fence;
    let memory = ((DST_MEMORY as u32) << 8) | (1 << 20);
    rig.kiq(&[
        header(op::WRITE_DATA, 6),
        memory,
        to as u32,
        (to >> 32) as u32,
        11,
        22,
    ]);
    rig.wait("the words", || rig.words(to, 2) == [11, 22]);
    // KFD_DEQUEUE_WAIT_INIT: CP_IQ_WAIT_TIME2.QUE_SLEEP.
    let at = 0x2000 + gc::CP_IQ_WAIT_TIME2.any().offset;
    rig.kiq(&[header(op::WRITE_DATA, 5), 1 << 16, at, 0, 0x4040_4001]);
    rig.wait("the register", || {
        rig.read(gc::CP_IQ_WAIT_TIME2) == 0x4040_4001
    });
    // A KIQ fence's interrupt, enabled by GENERIC2.
    rig.select(KIQ);
    rig.write(gc::CPC_INT_CNTL, 1 << 29);
    let status = 0x2000 + gc::CPC_INT_STATUS.any().offset;
    rig.kiq(&[header(op::WRITE_DATA, 5), 1 << 20, status, 0, 0x2000_0000]);
    let mut entry = None;
    rig.wait("the interrupt", || {
        entry = rig.interrupt();
        entry.is_some()
    });
    assert_eq!(entry.map(|e| (e.0, e.1, e.2)), Some((0x14, 178, 0x09)));
    rig.clean();
    rig.kiq(&[header(op::WRITE_DATA, 5), 0, 0x1234, 0, 1]);
    rig.violated("0x48d0");
}

/// WAIT_REG_MEM of `gfx_v9_4_3_wait_reg_mem`: equal, with an interval of 0x20.
fn wait_reg_mem(space: u32, operation: u32, at: [u32; 2], reference: u32, mask: u32) -> [u32; 7] {
    let control = (space << 4) | (operation << 6) | 3;
    [0xc005_3c00, control, at[0], at[1], reference, mask, 0x20]
}

#[test]
fn the_kiq_flushes_hdp_and_a_tlb_and_waits_as_linux_has_it() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    let to = rig.fence;
    let fence = |value: u32| {
        let [low, high] = [to as u32, (to >> 32) as u32];
        [header(op::WRITE_DATA, 5), 5 << 8, low, high, value]
    };
    // gfx_v9_4_3_ring_emit_hdp_flush: NBIO_BASE__INST0_SEG2 and regBIF_BX_PF0_GPU_HDP_FLUSH_REQ, _DONE.
    let flush = wait_reg_mem(0, 1, [0xd20 + 0x106, 0xd20 + 0x107], 1 << 2, 1 << 2);
    rig.kiq(&[&flush[..], &fence(1)].concat());
    rig.wait("the fence behind the HDP flush", || rig.words(to, 1) == [1]);
    // amdgpu_gmc_fw_reg_write_reg_wait: VMID 8 at engine 17 of the graphics hub.
    // gfxhub_v1_2_xcc_program_invalidation has set its range.
    rig.write(gc::VM_INVALIDATE_ENG17_ADDR_RANGE_LO32, u32::MAX);
    rig.write(gc::VM_INVALIDATE_ENG17_ADDR_RANGE_HI32, 0x1f);
    let request = 0x2000 + gc::VM_INVALIDATE_ENG17_REQ.any().offset;
    let done = 0x2000 + gc::VM_INVALIDATE_ENG17_ACK.any().offset;
    let write = [
        header(op::WRITE_DATA, 5),
        1 << 20,
        request,
        0,
        (1 << 8) | (0x1f << 18),
    ];
    let wait = wait_reg_mem(0, 0, [done, 0], 1 << 8, 1 << 8);
    rig.kiq(&[&write[..], &wait, &fence(2)].concat());
    rig.wait("the fence behind the TLB flush", || rig.words(to, 1) == [2]);
    // A word of memory, which holds up what is behind.
    let at = to + 64;
    let wait = wait_reg_mem(1, 0, [at as u32, (at >> 32) as u32], 0x50, 0xf0);
    rig.kiq(&[&wait[..], &fence(3)].concat());
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(rig.words(to, 1), [2]);
    rig.put_words(at, &[0x15a]);
    rig.wait("the fence behind the wait", || rig.words(to, 1) == [3]);
    rig.clean();
    // Two registers have no place in memory.
    rig.kiq(&wait_reg_mem(1, 1, [0, 0], 0, 0));
    rig.violated("WAIT_REG_MEM: space 1, operation 1");
}

#[test]
fn bad_packets_stop_the_kiq_with_an_interrupt() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.select(KIQ);
    rig.write(gc::CPC_INT_CNTL, 1 << 24);
    rig.kiq(&[header(0x22, 2), 0]);
    rig.violated("Kiq queue: unknown PM4 opcode 0x22");
    rig.wait("the interrupt", || {
        rig.interrupt().is_some_and(|e| (e.0, e.1) == (0x14, 183))
    });
    rig.kiq(&[0xc001_7900, 0x40, 1]);
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(rig.read(gc::SCRATCH_REG0), 0, "the queue has stopped");
}

#[test]
fn packets_of_other_queues_and_halves_of_packets_are_recorded() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.kiq(&[header(op::RUN_LIST, 4), 0, 0, 0]);
    rig.violated("Kiq queue: RUN_LIST is not for this queue");
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.kiq(&[header(op::WRITE_DATA, 5), 0]);
    rig.violated("WRITE_DATA of 5 words runs past the write pointer");
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.ring_bell(0, 10_000);
    rig.violated(
        "doorbell 0x0 of a kernel's queue has 0x2710, more than a ring ahead of the read pointer",
    );
}

#[test]
fn the_kiq_maps_and_unmaps_the_hiq() {
    let rig = Rig::new();
    rig.fence();
    assert!(rig.is_active(HIQ));
    rig.kiq(&unmap(SELECT_DOORBELL, UNMAP_RESET, HIQ_BELL << 2));
    rig.wait("the HIQ is off", || !rig.is_active(HIQ));
    // The pointers were written back; 8 words of SET_RESOURCES, 7 of QUERY_STATUS.
    let m = Mqd::read(&rig.words(rig.hiq.mqd, 512)).unwrap();
    assert_eq!(
        (m.get(Mqd::CP_HQD_PQ_RPTR), m.get(Mqd::CP_HQD_PQ_WPTR)),
        (15, 15)
    );
    assert_eq!(m.get(Mqd::CP_HQD_ACTIVE), 0);
    // The same MQD goes on where it was.
    rig.kiq(&rig.map_hiq());
    rig.fence();
    rig.clean();
    rig.kiq(&rig.map_hiq());
    rig.violated("there is an HIQ already");
    rig.kiq(&unmap(SELECT_DOORBELL, UNMAP_RESET, 0x40));
    rig.violated("UNMAP_QUEUES: doorbell 0x10 is of no connected queue");
}

#[test]
fn the_kiq_maps_nothing_before_its_resources() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.kiq(&rig.map_hiq());
    rig.violated("MAP_QUEUES of the KIQ before SET_RESOURCES");
    assert!(!rig.is_active(HIQ));
}

#[test]
fn the_kiq_dequeues_on_request_and_can_be_set_up_again() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.kiq(&[0xc001_7900, 0x40, 1]);
    rig.wait("the packet", || rig.read(gc::SCRATCH_REG0) == 1);
    rig.select(KIQ);
    rig.write(gc::CP_HQD_PQ_BASE, 5);
    rig.violated("write of CP_HQD_PQ_BASE = 0x5: the queue is active");
    rig.write(gc::CP_HQD_DEQUEUE_REQUEST, 1);
    rig.wait("the KIQ is off", || rig.read(gc::CP_HQD_ACTIVE) & 1 == 0);
    rig.write(gc::CP_HQD_DEQUEUE_REQUEST, 0);
    rig.write(gc::CP_HQD_PQ_RPTR, 0);
    rig.device.reset();
    assert_eq!(rig.read(gc::SCRATCH_REG0), 0);
    assert_eq!(rig.read(gc::CP_IQ_WAIT_TIME2), 0x4040_4040);
}

#[test]
fn the_kiq_goes_on_only_when_what_it_unmaps_is_off() {
    for _ in 0..20 {
        let rig = Rig::new();
        // The driver frees the HIQ's MQD as soon as it sees what is behind the unmap.
        let mut packets = unmap(SELECT_DOORBELL, UNMAP_RESET, HIQ_BELL << 2).to_vec();
        packets.extend([0xc001_7900, 0x40, 0x55]);
        rig.kiq(&packets);
        rig.wait("the word behind the unmap", || {
            rig.read(gc::SCRATCH_REG0) == 0x55
        });
        assert!(!rig.is_active(HIQ));
        rig.clean();
    }
}

/// `gfx_v9_4_3_init_golden_registers`.
#[test]
fn the_first_queue_needs_golden_registers() {
    let rig = Rig::bare(&[]);
    rig.golden.set([GOLDEN[0], 0]);
    rig.start_kiq();
    rig.violated("TCP_UTCL1_CNTL2.SPARE is not 1");
    assert!(!rig.is_active(KIQ));
    // As it is before a driver has written it.
    let rig = Rig::bare(&[]);
    rig.golden.set([rig.read(gc::GB_ADDR_CONFIG), GOLDEN[1]]);
    rig.start_kiq();
    rig.violated("GB_ADDR_CONFIG is not the chip's golden value");
    rig.golden.set(GOLDEN);
    // Somebody has looked at a shader engine.
    rig.write(gc::GRBM_GFX_INDEX, 0x6000_0000);
    rig.start_kiq();
    rig.violated("GRBM_GFX_INDEX is left at 0x60000000");
    rig.write(gc::GRBM_GFX_INDEX, 0xe000_0000);
    rig.start_kiq();
    assert!(rig.is_active(KIQ));
}

/// `gfx_v9_4_3_xcc_kiq_init_register` sets the range before the queue is active.
#[test]
fn the_kiqs_doorbell_is_in_the_range() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.select(KIQ);
    rig.write(gc::CP_HQD_ACTIVE, 0);
    rig.write(gc::CP_MEC_DOORBELL_RANGE_UPPER, 0);
    rig.write(gc::CP_HQD_ACTIVE, 1);
    rig.violated("leaves the KIQ's doorbell out");
    // The firmware may still be about to begin, and then to end, what was asked for first.
    rig.wait("the KIQ to be off", || !rig.is_active(KIQ));
}

/// `gfx_v9_0_ring_set_wptr_compute` stores the pointer, then rings.
#[test]
fn a_kernel_queues_pointer_is_in_memory_before_its_doorbell() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    rig.ring_early(&rig.kiq, 8);
    rig.violated("which its write pointer in memory has not reached");
}

/// What `amdgpu_ib_schedule` puts into a ring, and `gfx_v9_4_3_ring_test_ib` into the buffer.
#[test]
fn a_compute_queue_of_the_kernel_takes_buffers_and_fences() {
    let rig = Rig::bare(&[]);
    rig.start_kiq();
    let slot = (1, 0, 0);
    rig.select(slot);
    // TIME_STAMP_INT_ENABLE.
    rig.write(gc::CPC_INT_CNTL, 1 << 26);
    rig.start_compute(slot);
    let (to, seq, buffer) = (rig.alloc(0x1000), rig.alloc(0x1000), rig.alloc(0x1000));
    let halves = |at: u64| [at as u32, (at >> 32) as u32];
    let [low, high] = halves(to);
    let write = [
        header(op::WRITE_DATA, 5),
        (5 << 8) | (1 << 20),
        low,
        high,
        0xdead_beef,
    ];
    rig.put_words(buffer, &write);
    let [low, high] = halves(buffer);
    // gfx_v9_4_3_emit_mem_sync, gfx_v9_4_3_ring_emit_ib_compute, gfx_v9_4_3_ring_emit_fence.
    let sync = [0xc005_5800, 0x0840_0000, u32::MAX, 0xff_ffff, 0, 0, 10];
    let call = [0xc002_3f00, low, high, (1 << 23) | 5];
    let [low, high] = halves(seq);
    let fence = [
        0xc006_4900,
        0x14 | (5 << 8) | (1 << 17) | (1 << 15),
        (1 << 29) | (2 << 24),
        low,
        high,
        7,
        0,
        0,
    ];
    rig.submit(&rig.hiq, &[&sync[..], &call, &fence].concat());
    rig.wait("the fence", || rig.words(seq, 1) == [7]);
    assert_eq!(rig.words(to, 1), [0xdead_beef]);
    let mut entry = None;
    rig.wait("the interrupt", || {
        entry = rig.interrupt();
        entry.is_some()
    });
    // SOC15_IH_CLIENTID_GRBM_CP, CP_EOP, and me 1, pipe 0, queue 0 (`gfx_v9_4_3_eop_irq`).
    assert_eq!(entry.map(|e| (e.0, e.1, e.2)), Some((0x14, 181, 0x04)));
    // A ring test, which is the KIQ's kind of packet.
    rig.submit(&rig.hiq, &[0xc001_7900, 0x40, 0x1234]);
    rig.wait("the scratch register", || {
        rig.read(gc::SCRATCH_REG0) == 0x1234
    });
    rig.clean();
}
