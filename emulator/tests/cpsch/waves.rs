// SPDX-License-Identifier: MIT OR Apache-2.0

//! Waves in their slots, as SQ_IND_INDEX and SQ_IND_DATA show them
//! (Linux, `gfx_v9_4_3_read_wave_data`, `amdgpu_debugfs_wave_read`).

use crate::commands::start;
use crate::dispatches::vadd;
use crate::kernels::{arguments, load};
use crate::preemption::{begun, spin};
use crate::queues::*;
use crate::rig::Rig;
use crate::vendor::release;
use rkfd_emulator_testkit::code::pointers;
use rkfd_hw::aql::KernelDispatch as K;
use rkfd_hw::ih::source;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::MapProcess;
use rkfd_hw::regs::gc_9_4_3 as gc;

/// `ixSQ_WAVE_*` of `gc_9_4_3_offset.h`.
const STATUS: u32 = 0x12;
const TRAPSTS: u32 = 0x13;
const HW_ID: u32 = 0x14;
const PC: [u32; 2] = [0x18, 0x19];
const INST_DW0: u32 = 0x1a;
const EXEC: [u32; 2] = [0x27e, 0x27f];
/// All that `gfx_v9_4_3_read_wave_data` reads.
const ALL: [u32; 15] = [
    0x12, 0x18, 0x19, 0x27e, 0x27f, 0x14, 0x1a, 0x1b, 0x15, 0x16, 0x13, 0x17, 0x1c, 0x27c, 0x11,
];
/// `SQ_WAVE_STATUS` of `gc_9_4_3_sh_mask.h`.
const PRIV: u32 = 1 << 5;
const HALT: u32 = 1 << 13;
const VALID: u32 = 1 << 16;
const FATAL_HALT: u32 = 1 << 23;

/// Shader engine, compute unit, SIMD, slot.
type Place = [u32; 4];

/// A wave's register (`wave_read_ind`, `gfx_v9_4_3_xcc_select_se_sh`).
fn read(rig: &Rig, [se, cu, simd, slot]: Place, index: u32) -> u32 {
    rig.write(gc::GRBM_GFX_INDEX, (se << 16) | cu);
    rig.write(
        gc::SQ_IND_INDEX,
        slot | (simd << 4) | (1 << 13) | (index << 16),
    );
    let value = rig.read(gc::SQ_IND_DATA);
    // All of them again.
    rig.write(gc::GRBM_GFX_INDEX, 0xe000_0000);
    value
}

fn read64(rig: &Rig, place: Place, [low, high]: [u32; 2]) -> u64 {
    u64::from(read(rig, place, low)) | (u64::from(read(rig, place, high)) << 32)
}

/// Slots with a wave whose STATUS has these bits: four SIMDs of each unit, eight slots of each SIMD.
fn found(rig: &Rig, bits: u32) -> Vec<Place> {
    let places = (0..4 * 10 * 4 * 8).map(|n| [n / 320, n / 32 % 10, n / 8 % 4, n % 8]);
    let has = |place: &Place| read(rig, *place, STATUS) & (VALID | bits) == VALID | bits;
    places.filter(has).collect()
}

/// A dispatch of one work-group of four waves that execute these words, and where they begin.
fn executing(p: &Process<'_>, words: &[u32]) -> (K, u64) {
    let (packet, ..) = vadd(p, 256, 1, 0);
    let entry = entry(p, packet.get(K::KERNEL_OBJECT));
    p.rig.put_words(p.at(entry), words);
    (packet, entry)
}

/// Where a kernel begins: its descriptor has how far behind it.
fn entry(p: &Process<'_>, kernel: u64) -> u64 {
    kernel + u64::from(p.words(kernel + 16, 1)[0])
}

/// While MEC1 is halted nobody passes messages on: waves that send them wait for room, and go on later.
#[test]
fn waves_that_send_messages_wait_until_they_are_taken() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let count = p.new_words(&[0]);
    let [low, high] = [count as u32, (count >> 32) as u32];
    let words = [
        [0xbefe_0181, 0x7e04_0281], // s_mov_b64 exec, 1; v_mov_b32 v2, 1
        [0xbe84_00ff, low],         // s_mov_b32 s4, low
        [0x7e00_0204, 0xbefc_0080], // v_mov_b32 v0, s4; s_mov_b32 m0, 0
        [0xbe84_00ff, high],        // s_mov_b32 s4, high
        [0x7e02_0204, 0xbf90_0001], // v_mov_b32 v1, s4; s_sendmsg sendmsg(MSG_INTERRUPT)
        [0xdd08_8000, 0x007f_0200], // global_atomic_add v[0:1], v2, off
        [0xbf8c_0000, 0xbf82_fffb], // s_waitcnt 0; s_branch to s_sendmsg
    ];
    let (packet, _) = executing(&p, words.as_flattened());
    run(&rig, &[(&p, &[&q])]);
    q.push(packet.0);
    let sent = || p.words(count, 1)[0];
    rig.wait("messages", || sent() > 0 && rig.interrupt().is_some());
    rig.write(gc::CP_MEC_CNTL, gc::CP_MEC_CNTL::MEC_ME1_HALT.mask());
    rig.wait("a wave that waits", || {
        let before = sent();
        std::thread::sleep(std::time::Duration::from_millis(50));
        sent() == before
    });
    let before = sent();
    rig.write(gc::CP_MEC_CNTL, 0);
    rig.wait("a wave that goes on", || sent() > before);
    rig.clean();
}

/// A dispatch doesn't end before what its waves have sent has arrived.
#[test]
fn every_message_of_a_wave_arrives() {
    const WAVES: u32 = 64;
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    let (mut packet, _) = executing(
        &p,
        &[
            0xbefc_0080, // s_mov_b32 m0, 0
            0xbf90_0001, // s_sendmsg sendmsg(MSG_INTERRUPT)
            0xbf81_0000, // s_endpgm
        ],
    );
    let signal = p.signal(0);
    packet.set(K::GRID_SIZE_X, WAVES * 64);
    packet.set(K::COMPLETION_SIGNAL, signal);
    run(&rig, &[(&p, &[&q])]);
    for n in 0..400 {
        p.set_value(signal, 1);
        q.push(packet.0);
        p.wait(signal);
        let arrived = std::iter::from_fn(|| rig.interrupt())
            .filter(|found| found.1 == source::SQ_MESSAGE)
            .count();
        assert_eq!(arrived, WAVES as usize, "of dispatch {n}");
    }
    rig.clean();
}

#[test]
fn a_wave_that_an_illegal_instruction_stopped_is_at_it() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let (q, without) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    // s_sethalt 1, s_rfe_b64 ttmp[0:1]: the program's handler.
    p.set_handler(p.new_words(&[0xbf8d_0001, 0xbe80_1f6c]), 0);
    q.change(|m| m.set(Mqd::COMPUTE_PGM_RSRC2, 1 << 6));
    without.change(|m| m.set(Mqd::COMPUTE_PGM_RSRC2, 0));
    run(&rig, &[(&p, &[&q, &without])]);
    for place in [[0, 0, 0, 0], [3, 4, 3, 7]] {
        assert_eq!(ALL.map(|index| read(&rig, place, index)), [0; 15]);
    }

    // `illegal` of tests/kernels, and where in it the word is that no GPU has.
    let reached = p.new_words(&[0]);
    let args = arguments(&p, &pointers(&[reached]), 64, 64);
    let kernel = load(&p, "illegal")["illegal.kd"];
    let entry = entry(&p, kernel);
    let code = p.words(entry, 64);
    let at = code.iter().position(|word| *word == 0xbfff_0000).unwrap();
    assert!(at > 0, "it is not the first");
    let pc = entry + at as u64 * 4;

    q.push(dispatch(kernel, args, 64, 64, 0).0);
    rig.wait("a halted wave", || {
        let halted = found(&rig, HALT);
        halted
            .iter()
            .any(|place| read(&rig, *place, STATUS) & PRIV == 0)
    });
    let halted = found(&rig, HALT);
    let [place] = halted[..] else {
        panic!("{halted:?}")
    };
    assert_eq!(read64(&rig, place, PC), pc);
    assert_eq!(read64(&rig, place, EXEC), u64::MAX);
    assert_eq!(read(&rig, place, INST_DW0), 0xbfff_0000);
    // TRAP_EN, VALID and HALT; ILLEGAL_INST.
    let status = read(&rig, place, STATUS) & (PRIV | FATAL_HALT | HALT | VALID | (1 << 6));
    assert_eq!(status, HALT | VALID | (1 << 6));
    assert_eq!(read(&rig, place, TRAPSTS), 1 << 11);
    // Its place; VMID 3, micro engine 1, and the HQD that its queue is on.
    let [se, cu, simd, slot] = place;
    let id = slot | (simd << 4) | (cu << 8) | (se << 13) | (3 << 20) | (1 << 30);
    assert_eq!(read(&rig, place, HW_ID) & !((7 << 24) | (3 << 6)), id);
    rig.faulted("shader: illegal instruction");

    // Without a handler the wave stops all the same, for ever.
    without.push(dispatch(kernel, args, 64, 64, 0).0);
    rig.wait("another one", || !found(&rig, FATAL_HALT).is_empty());
    let failed = found(&rig, FATAL_HALT);
    let [other] = failed[..] else {
        panic!("{failed:?}")
    };
    assert_eq!((read64(&rig, other, PC), other == place), (pc, false));
    rig.faulted("shader: illegal instruction");
    rig.unmap();
    rig.fence();
    assert_eq!(found(&rig, 0), Vec::<Place>::new(), "they have left");
}

/// The address is each XCC's own, the rest comes with the process in the run list.
#[test]
fn waves_meet_what_a_debugger_watches() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    p.set_handler(p.new_words(&[0xbf8d_0001, 0xbe80_1f6c]), 0);
    q.change(|m| m.set(Mqd::COMPUTE_PGM_RSRC2, 1 << 6));
    let (packet, sums, wanted) = vadd(&p, 256, 1, 0);
    rig.write(gc::TCP_WATCH3_ADDR_H, (sums >> 32) as u32 & 0xffff);
    rig.write(gc::TCP_WATCH3_ADDR_L, sums as u32);
    let listed = |control: u64, watch: u64| {
        let mut map = MapProcess::read(&p.map(1)).unwrap();
        for (field, value) in [
            (MapProcess::SPI_GDBG_PER_VMID_CNTL, control),
            (MapProcess::TCP_WATCH_CNTL_3, watch),
        ] {
            map = map.try_with(field, value).unwrap();
        }
        let words: Vec<u32> = map.0.iter().chain(&q.map()).copied().collect();
        rig.run_list(&words, 1);
        rig.fence();
    };
    // SPI_GDBG_PER_VMID_CNTL: TRAP_EN, EXCP_EN of watched addresses; VALID, what doesn't read, all bits compared.
    let (trap, exception, launch_halted) = (1 << 3, 1 << (4 + 7), 1 << 1);
    listed(trap | exception, (1 << 31) | (1 << 29) | 0xff_ffff);
    q.push(packet.0);
    let held = || {
        let places = found(&rig, HALT).into_iter();
        let out = places.filter(|place| read(&rig, *place, STATUS) & PRIV == 0);
        out.collect::<Vec<_>>()
    };
    // 64 lanes of 4 bytes: of the first wave half store in the 128 bytes.
    rig.wait("a halted wave", || {
        held().len() == 1 && found(&rig, 0).len() == 1
    });
    // EXCP_HI: watch 3.
    assert_eq!(read(&rig, held()[0], TRAPSTS), 1 << 14);
    assert!(p.words(sums, 256) == wanted, "every store was executed");
    rig.unmap();
    rig.fence();

    // LAUNCH_MODE: halted. The saved wave comes back.
    listed(trap | launch_halted, 0);
    let (packet, sums, _) = vadd(&p, 256, 2, 0);
    let entry = entry(&p, packet.get(K::KERNEL_OBJECT));
    q.push(packet.0);
    rig.wait("four more", || held().len() == 5);
    let new = held()
        .into_iter()
        .filter(|new| read64(&rig, *new, PC) == entry);
    assert_eq!(new.count(), 4);
    assert_eq!(p.words(sums, 256), [0; 256], "none has stored");
    rig.unmap();
    rig.fence();
}

/// COMPUTE_PGM_RSRC2.EXCP_EN_MSB of `gc_9_4_3_sh_mask.h`: 0x6000, of which the lower bit is for watched addresses; EXCP_EN:
/// 0x7f000000. A PM4 dispatch may have both, an AQL packet's descriptor only the latter.
#[test]
fn a_pm4_dispatch_enables_its_own_exceptions() {
    const WATCH: u32 = 1 << 13;
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::pm4(&p, 0x800, 1024);
    p.set_handler(p.new_words(&[0xbf8d_0001, 0xbe80_1f6c]), 0);
    let (packet, sums, wanted) = vadd(&p, 256, 1, 0);
    rig.write(gc::TCP_WATCH3_ADDR_H, (sums >> 32) as u32 & 0xffff);
    rig.write(gc::TCP_WATCH3_ADDR_L, sums as u32);
    // All but reads, all bits compared. The debugger has no exception trap.
    let map = MapProcess::read(&p.map(1)).unwrap();
    let watch = (1 << 31) | (1 << 29) | 0xff_ffff;
    let map = map.try_with(MapProcess::TCP_WATCH_CNTL_3, watch).unwrap();
    let words: Vec<u32> = map.0.iter().chain(&q.map()).copied().collect();
    rig.run_list(&words, 1);
    rig.fence();
    let descriptor = packet.get(K::KERNEL_OBJECT);
    let rsrc2 = p.words(descriptor + 52, 1)[0];
    let at = p.alloc(4096);
    for (n, exceptions) in [(1, 0), (2, WATCH << 1), (3, WATCH)] {
        p.put(sums, &[0; 1024]);
        p.put(descriptor + 52, &(rsrc2 | exceptions).to_le_bytes());
        let mut commands = start(&p, &packet);
        commands.extend(release(at, n, 0));
        q.submit(&commands);
        if exceptions != WATCH {
            rig.wait("the end of pipe", || p.u64(at) == n);
            assert_eq!(found(&rig, 0), Vec::<Place>::new(), "nobody has halted");
        }
    }
    rig.wait("a halted wave", || {
        let halted = found(&rig, HALT).into_iter();
        let mut out = halted.map(|place| read(&rig, place, STATUS) & PRIV == 0);
        found(&rig, 0).len() == 1 && out.next() == Some(true)
    });
    // EXCP_HI: watch 3.
    let [place] = found(&rig, HALT)[..] else {
        panic!("one of four waves stores there")
    };
    assert_eq!(read(&rig, place, TRAPSTS), 1 << 14);
    assert!(p.words(sums, 256) == wanted, "every store was executed");
    assert_eq!(p.u64(at), 2);
    rig.unmap();
    rig.fence();
    rig.clean();
}

#[test]
fn waves_that_halt_themselves_are_behind_their_s_sethalt() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    // Two times s_nop 0, s_sethalt 1, s_endpgm.
    let (packet, entry) = executing(&p, &[0xbf80_0000, 0xbf80_0000, 0xbf8d_0001, 0xbf81_0000]);
    q.push(packet.0);
    rig.wait("four halted waves", || found(&rig, HALT).len() == 4);
    let halted = found(&rig, HALT);
    for place in &halted {
        assert_eq!(read64(&rig, *place, PC), entry + 12);
        assert_eq!(&place[..2], &halted[0][..2], "they are in one compute unit");
    }
    let mut simds: Vec<u32> = halted.iter().map(|place| place[2]).collect();
    simds.sort_unstable();
    assert_eq!(simds, [0, 1, 2, 3]);
    assert_eq!(found(&rig, 0).len(), 4);

    // Their queue leaves and comes back with them.
    rig.unmap();
    rig.fence();
    assert_eq!(found(&rig, 0), Vec::<Place>::new());
    run(&rig, &[(&p, &[&q])]);
    rig.wait("the same", || {
        let halted = found(&rig, HALT);
        let back = halted
            .iter()
            .filter(|place| read(&rig, **place, STATUS) & PRIV == 0);
        back.count() == 4
    });
    for place in found(&rig, HALT) {
        assert_eq!(read64(&rig, place, PC), entry + 12);
    }
    rig.unmap();
    rig.fence();
    rig.clean();
}

#[test]
fn running_waves_are_seen_and_not_disturbed() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let signal = p.signal(0);
    let (packet, flag) = spin(&p, signal);
    let entry = entry(&p, packet.get(K::KERNEL_OBJECT));
    q.push(packet.0);
    begun(&p, flag);
    let running = found(&rig, 0);
    let [place] = running[..] else {
        panic!("{running:?}")
    };
    for _ in 0..100 {
        let pc = read64(&rig, place, PC);
        assert!((entry..entry + 256).contains(&pc), "{pc:#x} of {entry:#x}");
        assert_eq!(read(&rig, place, STATUS) & (VALID | HALT), VALID);
    }
    p.put(flag, &[1, 0, 0, 0]);
    p.wait(signal);
    rig.wait("nobody there", || found(&rig, 0).is_empty());
    rig.clean();
}

#[test]
fn what_is_not_modelled_of_a_wave_is_refused() {
    let rig = Rig::bare(&[]);
    // SQIND_WAVE_SGPRS_OFFSET of Linux's `soc21_enum.h`: scalar registers.
    assert_eq!(read(&rig, [0, 0, 0, 0], 0x200), 0);
    rig.violated("SQ_IND_INDEX chooses register 0x200 of a wave");
    // AUTO_INCR.
    rig.write(gc::SQ_IND_INDEX, 1 << 12);
    rig.violated("one at a time");
    rig.write(gc::SQ_IND_DATA, 1);
    rig.violated("not modelled to be set");
}

/// Shader engines and compute units on which work-groups of a queue ran. COMPUTE_STATIC_THREAD_MGMT_SE0 to SE3 are words
/// 23, 24, 26 and 27 of its MQD; `SQ_WAVE_HW_ID` has CU_ID in bits 11:8 and SE_ID in 15:13.
fn units_of(p: &Process<'_>, q: &Queue<'_>) -> Vec<[u32; 2]> {
    const GROUPS: u32 = 64;
    let out = p.new_words(&[0; 2 * GROUPS as usize]);
    let args = arguments(p, &pointers(&[out]), GROUPS * 64, 64);
    let kernel = load(p, "where")["where_am_i.kd"];
    let signal = p.signal(1);
    q.push(dispatch(kernel, args, GROUPS * 64, 64, signal).0);
    p.wait(signal);
    let words = p.words(out, 2 * GROUPS as usize);
    let mut units: Vec<_> = words
        .chunks_exact(2)
        .map(|of| [(of[0] >> 13) & 7, (of[0] >> 8) & 15])
        .collect();
    units.sort_unstable();
    units.dedup();
    units
}

#[test]
fn waves_run_where_their_queue_s_mask_allows_it() {
    let rig = Rig::new();
    let p = Process::saving(&rig, 0x8001);
    let (all, some) = (Queue::new(&p, 0x800, 16), Queue::new(&p, 0x802, 16));
    let allow = |masks: [u32; 4]| {
        some.change(|m| {
            for (at, mask) in [23, 24, 26, 27].into_iter().zip(masks) {
                m.0[at] = mask;
            }
        });
    };
    allow([0b10010, 1, 0, 0]);
    run(&rig, &[(&p, &[&all, &some])]);
    // Which of an engine's ten units work. A mask's bits are those (`mqd_symmetrically_map_cu_mask`).
    let work = [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
        [1, 3, 5, 7, 9],
        [0, 2, 4, 6, 8],
    ];
    let twenty: Vec<_> = (0..20usize)
        .map(|n| [n as u32 / 5, work[n / 5][n % 5]])
        .collect();
    assert_eq!(units_of(&p, &all), twenty);
    assert_eq!(units_of(&p, &some), [[0, 1], [0, 4], [1, 5]]);
    // Another mask, which the queue is connected with.
    rig.unmap();
    rig.fence();
    allow([0, 0, 0, 0b100]);
    run(&rig, &[(&p, &[&all, &some])]);
    assert_eq!(units_of(&p, &some), [[3, 4]]);
    rig.unmap();
    rig.fence();
}
