// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queues: their rings and indirect buffers, how they come and go, what their MQDs may hold.

use crate::rig::{byte, halves, settle, Rig, CHIPS, NOWHERE, RING, VA};
use crate::{copy, fence, A, B};
use rkfd_emulator::engines::sdma::{Slot, Stop};
use rkfd_emulator::report::Whose;
use rkfd_hw::mqd::{v12, v9};
use rkfd_hw::regs::Block;

fn each(test: impl Fn(Rig)) {
    CHIPS.into_iter().map(Rig::new).for_each(test);
}

/// An INDIRECT packet that ends on a boundary of eight words.
fn indirect(written: u64, base: u64, words: u32) -> Vec<u32> {
    let pad = (2u64.wrapping_sub(written / 4) & 7) as usize;
    let mut packets = vec![0; pad];
    packets.push(4);
    packets.extend(halves(base));
    packets.extend([words, 0, 0]);
    packets
}

#[test]
fn packets_go_round_the_ring() {
    each(|rig| {
        let mut ring = rig.mapped(0, 3);
        // Packets of 7 and 4 words against a ring of 1024: some lie across its end.
        for n in 0..400u64 {
            rig.write(A, &n.to_le_bytes());
            let mut packets = copy(A, B + 8 * n, 8);
            packets.extend(fence(B + 8000, n as u32));
            rig.run(&mut ring, &packets);
        }
        assert!(ring.written > 4 * RING);
        for n in 0..400 {
            assert_eq!(rig.wide(B + 8 * n), n);
        }
        rig.expect(&[]);
    });
}

#[test]
fn registers_take_a_queue_off() {
    each(|rig| {
        let mut ring = rig.mapped(1, 3);
        rig.run(&mut ring, &fence(B, 1));
        rig.take_off(ring.slot);
        rig.wait(|| rig.guest.device.sdma.state(ring.slot).is_none());
        // What is rung now nobody hears, and the place is free.
        rig.put(&mut ring, &fence(B, 2));
        rig.ring_bell(&ring);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(rig.word(B), 1);
        rig.write(ring.wptr, &[0; 8]);
        let mut next = rig.mapped(1, 3);
        rig.put(&mut next, &fence(B, 3));
        rig.ring_bell(&next);
        rig.wait(|| rig.word(B) == 3);
        rig.expect(&[]);
    });
}

/// Registers as Linux reads them to show a queue (`kgd_gfx_v9_4_3_hqd_sdma_dump`, `hqd_sdma_dump_v12`): those from
/// RB_CNTL on by their distance from it, of a chip whose tables name few of them.
#[test]
fn all_registers_of_a_queue_can_be_read() {
    each(|rig| {
        let gfx9 = rig.is_gfx9();
        let mut ring = rig.mapped(1, 3);
        rig.run(&mut ring, &fence(B, 1));
        let runs: &[(u64, u64)] = match gfx9 {
            true => &[(0, 19), (0x28, 6), (0x2f, 7), (0x40, 12)],
            false => &[(0, 49)],
        };
        let read = |slot, place| rig.of_queue(slot, place);
        let status = if gfx9 { 0x11 } else { 0x30 };
        // The first queue and the last of each engine, and the one that is mapped.
        for engine in 0..rig.chip.sdma.engines {
            for queue in [3, 7] {
                let slot = Slot { engine, queue };
                let values = runs.iter().flat_map(|(first, count)| {
                    (*first..first + count).map(|place| (place, read(slot, place)))
                });
                let set = values.filter(|(_, value)| *value != 0);
                let set: Vec<(u64, u32)> = set.collect();
                match slot == ring.slot {
                    true => assert!(set.len() > 8, "{set:x?}"),
                    // IDLE.
                    false => assert_eq!(set, [(status, 4)]),
                }
            }
        }
        let [base, base_hi] = halves(ring.ring >> 8);
        let [report, report_hi] = halves(ring.rptr);
        let written = ring.written as u32;
        let mut expected = vec![
            (1, base),
            (2, base_hi),
            (3, written),
            (5, written),
            (status, 4),
        ];
        expected.extend(match gfx9 {
            true => [
                (8, report_hi),
                (9, report),
                (10, 0x100),
                (0x2b, ring.bell << 2),
                (0x31, 0xf),
            ],
            false => [
                (8, report_hi),
                (7, report),
                (9, 0x100),
                (0x11, ring.bell << 2),
                (0x17, 0xf),
            ],
        });
        for (place, value) in expected {
            assert_eq!(read(ring.slot, place), value, "register {place:#x}");
        }
        assert_eq!(read(ring.slot, 0) & 1, 1, "RB_ENABLE");
        rig.expect(&[]);
        // They are not the host's to write.
        let at = rig.at_queue(ring.slot, if gfx9 { 10 } else { 9 });
        rig.guest.device.write(at, 0x101);
        rig.expect(&["write of"]);
    });
}

/// In units of 10 ns: Linux divides by 100 for microseconds (`SDMA_ACTIVITY_DIVISOR`). The registers are
/// SDMA_RLC0_UTILIZATION_LO and _HI, the MQD's words those of `struct v9_sdma_mqd`.
#[test]
fn gfx9_counts_for_how_long_a_queue_was_at_work() {
    let rig = Rig::new(CHIPS[0]);
    let mut ring = rig.mapped(1, 3);
    let slot = ring.slot;
    let idle = Slot { queue: 4, ..slot };
    let count = |slot| {
        let [low, high] = [0x4c, 0x4d].map(|place| u64::from(rig.of_queue(slot, place)));
        (high << 32) | low
    };
    assert_eq!(count(slot), 0);
    let mut seen = Vec::new();
    for _ in 0..2 {
        let began = std::time::Instant::now();
        rig.run(&mut ring, &copy(A, B, 4 << 20));
        let at = |word| u64::from(rig.mqd_word(&ring, word));
        rig.unmap(&ring, Stop::Preempt);
        let units = began.elapsed().as_nanos() as u64 / 10;
        let kept = (at(45) << 32) | at(44);
        let before = seen.last().copied().unwrap_or(0);
        assert!(
            kept > before && kept - before <= units,
            "{before}, {kept}, {units}"
        );
        seen.push(kept);
        assert_eq!(count(slot), 0, "no queue is there");
        rig.map(&ring);
        assert_eq!(count(slot), kept, "it goes on where it was");
    }
    assert_eq!(count(idle), 0);
    rig.expect(&[]);
}

#[test]
fn indirect_buffers_run_in_their_place() {
    each(|rig| {
        let mut ring = rig.mapped(0, 2);
        let mut buffer = fence(B, 1);
        buffer.extend(copy(A, B + 64, 5000));
        buffer.extend(fence(B + 4, 2));
        rig.pattern(A, 5000, 3);
        let bytes: Vec<u8> = buffer.iter().flat_map(|w| w.to_le_bytes()).collect();
        rig.write(VA + (8 << 20), &bytes);
        let mut packets = fence(B, 7);
        packets.extend(indirect(16, VA + (8 << 20), buffer.len() as u32));
        packets.extend(fence(B + 4, 9));
        rig.run(&mut ring, &packets);
        assert_eq!((rig.word(B), rig.word(B + 4)), (1, 9));
        assert_eq!(rig.read(B + 64, 5000), rig.read(A, 5000));
        rig.expect(&[]);
        // A packet that runs past a buffer's end, and a buffer inside of one.
        rig.write(VA + (8 << 20), &4u32.to_le_bytes());
        let packets = indirect(ring.written, VA + (8 << 20), 6);
        rig.put(&mut ring, &packets);
        rig.ring_bell(&ring);
        rig.wait(|| !rig.guest.findings().is_empty());
        assert!(rig.guest.findings()[0].contains("INDIRECT"));
    });
}

#[test]
fn a_preempted_queue_goes_on_where_it_was() {
    each(|rig| {
        let mut ring = rig.mapped(1, 5);
        let [low, high] = halves(A);
        let poll = [
            8 | (1 << 31) | (3 << 28),
            low,
            high,
            1,
            u32::MAX,
            4 | (0xfff << 16),
        ];
        // It waits inside an indirect buffer.
        let mut buffer = fence(B, 1);
        buffer.extend(poll);
        buffer.extend(fence(B, 2));
        let bytes: Vec<u8> = buffer.iter().flat_map(|w| w.to_le_bytes()).collect();
        rig.write(VA + (8 << 20), &bytes);
        let mut packets = indirect(0, VA + (8 << 20), buffer.len() as u32);
        packets.extend(fence(B + 4, 3));
        rig.put(&mut ring, &packets);
        rig.ring_bell(&ring);
        rig.wait(|| rig.word(B) == 1);
        rig.unmap(&ring, Stop::Preempt);
        let rptr = match rig.is_gfx9() {
            true => v9::SdmaMqd::SDMAX_RLCX_RB_RPTR.word(),
            false => v12::SdmaMqd::SDMAX_RLCX_RB_RPTR.word(),
        };
        assert_eq!(rig.mqd_word(&ring, rptr), 8 * 4, "behind INDIRECT");
        assert_eq!(rig.mqd_word(&ring, rptr + 2), ring.written as u32);
        // What is written and rung while it is off is found in memory.
        rig.put(&mut ring, &fence(B + 8, 4));
        rig.ring_bell(&ring);
        rig.write(A, &1u32.to_le_bytes());
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!((rig.word(B), rig.word(B + 8)), (1, 0));
        rig.map(&ring);
        rig.wait(|| rig.wide(ring.rptr) == ring.written);
        assert_eq!([0, 4, 8].map(|at| rig.word(B + at)), [2, 3, 4]);
        // A preemption that is taken back at once, or comes too late, changes nothing.
        let sdma = &rig.guest.device.sdma;
        sdma.go_on(ring.slot);
        rig.run(&mut ring, &fence(B, 5));
        rig.unmap(&ring, Stop::Preempt);
        rig.expect(&[]);
    });
}

#[test]
fn a_reset_ends_what_is_in_progress() {
    each(|rig| {
        let mut ring = rig.mapped(0, 4);
        let mut packets = Vec::new();
        for _ in 0..100 {
            packets.extend(copy(VA + (20 << 20), VA + (100 << 20), 64 << 20));
        }
        packets.extend(fence(B, 1));
        rig.put(&mut ring, &packets);
        rig.ring_bell(&ring);
        rig.wait(|| {
            rig.guest
                .device
                .sdma
                .state(ring.slot)
                .is_some_and(|s| s.busy)
        });
        rig.unmap(&ring, Stop::Reset);
        assert_eq!(rig.word(B), 0);
        // The engine serves others.
        let mut other = rig.mapped(0, 6);
        rig.run(&mut other, &fence(B, 2));
        assert_eq!(rig.word(B), 2);
        rig.expect(&[]);
    });
}

#[test]
fn engines_and_queues_side_by_side() {
    each(|rig| {
        let slots: Vec<(u8, u8)> = (0..rig.chip.sdma.engines)
            .flat_map(|engine| (2..8).map(move |queue| (engine, queue)))
            .collect();
        let mut rings: Vec<_> = slots.iter().map(|&(e, q)| rig.mapped(e, q)).collect();
        // One of them waits for ever.
        let [low, high] = halves(A);
        let poll = [
            8 | (1 << 31) | (3 << 28),
            low,
            high,
            1,
            u32::MAX,
            4 | (0xfff << 16),
        ];
        rig.put(&mut rings[0], &poll);
        rig.ring_bell(&rings[0]);
        for (n, ring) in rings.iter_mut().enumerate().skip(1) {
            let n = n as u64;
            rig.pattern(A + n * 65536, 65536, n);
            rig.put(ring, &copy(A + n * 65536, B + n * 65536, 65536));
            rig.ring_bell(ring);
        }
        for (n, ring) in rings.iter().enumerate().skip(1) {
            rig.wait(|| rig.wide(ring.rptr) == ring.written);
            let n = n as u64;
            let expected = (0..65536).map(|at| byte(at, n));
            assert!(expected.eq(rig.read(B + n * 65536, 65536)));
        }
        rings.iter().for_each(|ring| rig.unmap(ring, Stop::Preempt));
        rig.expect(&[]);
    });
}

#[test]
fn mqds_that_do_not_fit_are_refused() {
    each(|rig| {
        let ring = rig.ring(1, 2);
        let sdma = &rig.guest.device.sdma;
        let good = rig.mqd(&ring);
        let gfx9 = rig.is_gfx9();
        let bell = if gfx9 { 22 } else { 17 };
        let (ib, dummy) = match gfx9 {
            true => (
                v9::SdmaMqd::SDMAX_RLCX_IB_CNTL.word(),
                v9::SdmaMqd::SDMAX_RLCX_DUMMY_REG.word(),
            ),
            false => (
                v12::SdmaMqd::SDMAX_RLCX_IB_CNTL.word(),
                v12::SdmaMqd::SDMAX_RLCX_DUMMY_REG.word(),
            ),
        };
        let cases: [(usize, u32, &str); 13] = [
            (60, 1, "reserved word 60"),
            (0, good[0] | (3 << 24), "RB_CNTL has bits 0x3000000"),
            (0, good[0] | (1 << 23), "RB_CNTL has bits 0x800000"),
            (0, good[0] & !0x3e, "RB_SIZE 0"),
            (0, good[0] & !(1 << 12), "RB_CNTL has 0x60"),
            (0, good[0] & !(7 << 16), "RB_CNTL has 0x1"),
            (ib, 0, "IB_CNTL has 0x0, not 0x100"),
            (dummy, 0, "DUMMY_REG has 0x0, not 0xf"),
            (1, 0, "RB_BASE is 0"),
            (bell, good[bell] + 8, "in the MQD"),
            (126, 0, "the engine is not that of the MQD"),
            (127, 8, "an engine has no queue 8"),
            (3, 8, "RB_RPTR and RB_WPTR"),
        ];
        for (word, value, what) in cases {
            let mut bad = good.clone();
            bad[word] = value;
            rig.put_mqd(&ring, &bad);
            let error = sdma.map(&rig.mapping(&ring)).unwrap_err();
            assert!(error.what.contains(what), "{error} instead of {what}");
            // UPDATE_QUEUE may give a queue a smaller ring than its pointers are apart.
            let whose = match what {
                "RB_RPTR and RB_WPTR" => Whose::Program,
                _ => Whose::Driver,
            };
            assert_eq!(error.whose, whose, "{error}");
        }
        rig.put_mqd(&ring, &good);
        // The write pointer's memory doesn't exist, or has an impossible value.
        let mut mapping = rig.mapping(&ring);
        mapping.wptr = NOWHERE;
        assert!(sdma.map(&mapping).is_err());
        // What stands in it is the program's, which concerns nobody else.
        rig.map(&ring);
        let error = sdma.map(&rig.mapping(&ring)).unwrap_err();
        assert!(error.what.contains("MQD or doorbell"), "{error}");
        // An engine that the chip has not.
        let far = rig.ring(rig.chip.sdma.engines, 0);
        let error = sdma.map(&rig.mapping(&far)).unwrap_err();
        assert!(error.what.contains("is not there"), "{error}");
        assert!(rig.guest.findings().is_empty());
    });
}

#[test]
fn doorbells_reach_their_engine_only() {
    each(|rig| {
        let mut wrong = rig.ring(0, 2);
        // A doorbell of the other engine's range.
        wrong.bell += 2 * 10;
        rig.put_mqd(&wrong, &rig.mqd(&wrong));
        if rig.is_gfx9() {
            rig.map(&wrong);
            rig.put(&mut wrong, &fence(B, 1));
            rig.ring_bell(&wrong);
            rig.wait(|| !rig.guest.findings().is_empty());
            rig.expect(&["is not routed to SDMA engine 0"]);
            assert_eq!(rig.word(B), 0);
        }
        let mut ring = rig.mapped(1, 3);
        rig.put(&mut ring, &fence(B, 1));
        rig.guest
            .device
            .soc
            .doorbells
            .store(ring.bell, ring.written + RING);
        let texts = rig.guest.findings().len();
        rig.wait(|| rig.guest.findings().len() > texts);
        assert!(rig.guest.findings()[texts].contains("more than a ring ahead"));
    });
}

#[test]
fn registers_show_queues_and_halt_engines() {
    each(|rig| {
        let read = |name9: &str, name12: &str| match rig.is_gfx9() {
            true => rig.guest.read(Block::Sdma, name9),
            false => rig.guest.read(Block::Gc, name12),
        };
        let write = |name9: &str, name12: &str, value| match rig.is_gfx9() {
            true => rig.guest.write(Block::Sdma, name9, value),
            false => rig.guest.write(Block::Gc, name12, value),
        };
        let mut ring = rig.mapped(0, 2);
        rig.run(&mut ring, &fence(B, 1));
        rig.wait(|| read("SDMA_RLC2_RB_RPTR", "SDMA0_QUEUE2_RB_RPTR") == 16);
        assert_eq!(read("SDMA_RLC2_RB_CNTL", "SDMA0_QUEUE2_RB_CNTL") & 1, 1);
        let bell = read("SDMA_RLC2_DOORBELL_OFFSET", "SDMA0_QUEUE2_DOORBELL_OFFSET");
        assert_eq!(bell >> 2, ring.bell);
        assert_eq!(read("SDMA_RLC3_RB_CNTL", "SDMA0_QUEUE3_RB_CNTL"), 0);
        assert_eq!(read("SDMA_STATUS_REG", "SDMA0_STATUS_REG") & 1, 1);
        // HALT: nothing moves.
        write("SDMA_F32_CNTL", "SDMA0_MCU_CNTL", 1);
        rig.put(&mut ring, &fence(B, 2));
        rig.ring_bell(&ring);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(rig.word(B), 1);
        write("SDMA_F32_CNTL", "SDMA0_MCU_CNTL", 0);
        rig.wait(|| rig.word(B) == 2);
        rig.expect(&[]);
        write("SDMA_RLC2_RB_RPTR", "SDMA0_QUEUE2_RB_RPTR", 0);
        rig.expect(&["the queue is the scheduler's"]);
        // A reset of the device leaves no queue.
        rig.guest.device.reset();
        assert!(rig.guest.device.sdma.state(ring.slot).is_none());
    });
}

/// Linux halts an engine, has GRBM reset it, and lets it run (`sdma_v7_0_soft_reset`, `sdma_v7_0_start`).
#[test]
fn a_reset_engine_of_gfx12_runs_when_the_host_lets_it() {
    const HALT: u32 = 1;
    const RESET: u32 = 2;
    /// `SOFT_RESET_SDMA0`.
    const SDMA0: u32 = 1 << 23;
    let rig = Rig::new(CHIPS[1]);
    let halted = || rig.guest.read(Block::Gc, "SDMA0_MCU_CNTL") & HALT;
    rig.guest.write(Block::Gc, "SDMA0_MCU_CNTL", 0);
    assert_eq!(halted(), 0);
    rig.guest.write(Block::Gc, "SDMA0_MCU_CNTL", HALT | RESET);
    settle();
    rig.guest.write(Block::Gc, "GRBM_SOFT_RESET", SDMA0);
    settle();
    rig.guest.write(Block::Gc, "GRBM_SOFT_RESET", 0);
    assert_eq!(halted(), HALT);
    rig.guest.write(Block::Gc, "SDMA0_MCU_CNTL", 0);
    assert_eq!(halted(), 0);
    rig.expect(&[]);
    rig.guest.write(Block::Gc, "GRBM_SOFT_RESET", SDMA0);
    rig.guest
        .expect_violation("SDMA engine 0 is reset before a halt has taken effect");
}

/// As Linux finds it and goes on (`kgd_gfx_v9_4_3_hqd_sdma_get_doorbell`, `sdma_v4_4_2_soft_reset_engine`,
/// PPSMC_MSG_ResetSDMA): SELECTED, and a message to the management unit.
#[test]
fn a_packet_that_hangs_has_the_engine_until_that_is_reset() {
    let rig = Rig::with(CHIPS[0], &["at the 1st copy packet: hang"]);
    let status = |queue| rig.guest.read(Block::Sdma, queue) & 5;
    let mut ring = rig.mapped(0, 2);
    rig.put(&mut ring, &fence(B, 1));
    rig.ring_bell(&ring);
    rig.wait(|| status("SDMA_RLC2_CONTEXT_STATUS") == 1);
    let mut other = rig.mapped(0, 4);
    rig.put(&mut other, &fence(B, 2));
    rig.ring_bell(&other);
    let sdma = &rig.guest.device.sdma;
    sdma.stop(ring.slot, Stop::Preempt);
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(sdma.state(ring.slot).is_some(), "it can't be taken off");
    assert_eq!(rig.word(B), 0, "nor does another queue get further");

    let reset = |mask| {
        let [message, argument, answer] = [66, 82, 90].map(|n| format!("MP1_SMN_C2PMSG_{n}"));
        for (name, value) in [(&answer, 0), (&argument, mask), (&message, 0x4d)] {
            rig.guest.write(Block::Mp1, name, value);
        }
        rig.guest.read(Block::Mp1, &answer)
    };
    assert_eq!([0, 1 << 4].map(reset), [0xff; 2], "there are four engines");
    assert_eq!(reset(1), 1);
    assert_eq!(status("SDMA_RLC2_CONTEXT_STATUS"), 4);
    assert!([ring.slot, other.slot].map(|slot| sdma.state(slot).is_none()) == [true; 2]);
    assert_eq!(rig.guest.read(Block::Sdma, "SDMA_F32_CNTL"), 0, "it runs");
    rig.write(ring.wptr, &[0; 8]);
    rig.control(0, rig.guest.read(Block::Sdma, "SDMA_CNTL") | 3);
    rig.guest
        .write(Block::Sdma, "SDMA_UTCL1_TIMEOUT", 0x0080_0080);
    let mut next = rig.mapped(0, 2);
    rig.run(&mut next, &fence(B, 3));
    assert_eq!(rig.word(B), 3);
    rig.expect(&[]);
}

/// The engine of gfx9 stays with the kernel's queue (`sdma_v4_4_2_inst_ctx_switch_enable`).
#[test]
fn gfx9_has_turns_for_processes_only_by_auto_ctxsw_enable() {
    let rig = Rig::new(CHIPS[0]);
    let mut ring = rig.mapped(0, 2);
    let cntl = rig.guest.read(Block::Sdma, "SDMA_CNTL");
    rig.guest.write(Block::Sdma, "SDMA_CNTL", cntl & !(1 << 18));
    rig.put(&mut ring, &fence(B, 1));
    rig.ring_bell(&ring);
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(rig.word(B), 0);
    rig.guest.write(Block::Sdma, "SDMA_CNTL", cntl);
    rig.wait(|| rig.word(B) == 1);
    rig.expect(&[]);
}

/// A port that names another client by number or address leads there (`nbio_v7_9_sdma_doorbell_range`,
/// `nbif_v6_3_1_sdma_doorbell_range`).
#[test]
fn a_port_leads_to_the_client_that_it_names() {
    each(|rig| {
        let (port, right) = match rig.is_gfx9() {
            true => ("S2A_DOORBELL_ENTRY_1_CTRL", rig.port(0xe, 20, (0xe, 1))),
            false => (
                "GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL",
                rig.port(0x200, 40, (0xe, 3)),
            ),
        };
        let set = |value| match rig.is_gfx9() {
            true => rig.guest.write_indirect(Block::Nbio, port, value),
            false => rig.guest.write(Block::Nbio, port, value),
        };
        let reaches = || rig.guest.device.soc.doorbells.reaches_sdma(0, 0x200);
        assert!(reaches());
        // AWID, AWADDR_31_28_VALUE; and the offset, which is the range's beginning in the other.
        for wrong in [0x1f << 1, 0xf << 28, 0x3ff << 7] {
            set(right & !wrong);
            assert!(!reaches(), "{wrong:#x}");
            set(right);
            assert!(reaches());
        }
    });
}
