// SPDX-License-Identifier: MIT OR Apache-2.0

//! Waves in their slots, as SQ_IND_INDEX and SQ_IND_DATA show them (Linux, `gfx_v12_0_read_wave_data`).

use crate::process::{Process, Queue};
use crate::queues::{interrupt, start};
use crate::rig::Rig;
use rkfd_emulator_testkit::code;
use rkfd_emulator_testkit::packets::dispatch;
use rkfd_hw::aql::KernelDispatch;

/// `ixSQ_WAVE_*` of `gc_12_0_0_offset.h`.
const STATUS: u32 = 0x102;
const STATE_PRIV: u32 = 0x104;
const IB_DBG1: u32 = 0x10d;
pub const EXCP_FLAG_PRIV: u32 = 0x111;
const EXCP_FLAG_USER: u32 = 0x112;
const TRAP_CTRL: u32 = 0x113;
const HW_ID: [u32; 2] = [0x117, 0x118];
const PC: [u32; 2] = [0x140, 0x141];
const ACTIVE: u32 = 0xa;
const VALID_AND_IDLE: u32 = 0xb;
/// All that `gfx_v12_0_read_wave_data` reads.
const ALL: [u32; 23] = [
    0x102, 0x140, 0x141, 0x27e, 0x27f, 0x117, 0x118, 0x105, 0x106, 0x107, 0x11c, 0x10d, 0x27d,
    0x101, 0x104, 0x111, 0x112, 0x113, 0xa, 0xb, 0x11f, 0x120, 0x11a,
];
const VALID: u32 = 1 << 16;
const VCCZ: u32 = 1 << 10;
/// SQ_WAVE_STATE_PRIV.
const HALT: u32 = 1 << 14;

/// Shader engine, shader array, WGP, SIMD of the WGP, slot.
pub type Place = [u32; 5];

/// A wave's register (`wave_read_ind`, `gfx_v12_0_select_se_sh`, umr's `scan_waves.c`).
pub fn read(rig: &Rig, [se, sa, wgp, simd, slot]: Place, index: u32) -> u32 {
    rig.gc("GRBM_GFX_INDEX", (se << 16) | (sa << 8) | (wgp << 2) | simd);
    rig.gc("SQ_IND_INDEX", slot | (index << 16));
    let value = rig.read("SQ_IND_DATA");
    rig.gc("GRBM_GFX_INDEX", 0xe000_0000);
    value
}

pub fn pc(rig: &Rig, place: Place) -> u64 {
    let [low, high] = PC.map(|index| u64::from(read(rig, place, index)));
    low | (high << 32)
}

/// Slots with a wave: four engines of two arrays of four WGPs of four SIMDs of 16 slots.
pub fn found(rig: &Rig) -> Vec<Place> {
    let places =
        (0..4 * 2 * 4 * 4 * 16).map(|n| [n / 512, n / 256 % 2, n / 64 % 4, n / 16 % 4, n % 16]);
    let has = |place: &Place| read(rig, *place, STATUS) & VALID != 0;
    places.filter(has).collect()
}

/// Slots whose wave is halted and not in its trap handler.
pub fn halted(rig: &Rig) -> Vec<Place> {
    let is = |place: &Place| {
        read(rig, *place, STATE_PRIV) & HALT != 0 && read(rig, *place, STATUS) & (1 << 5) == 0
    };
    found(rig).into_iter().filter(is).collect()
}

#[test]
fn a_wave_that_an_illegal_instruction_stopped_is_at_it() {
    let (mut rig, memory) = start();
    let p = Process::new(&memory, 0x8001);
    let q = Queue::new(&p, 0x1004, 16);
    // s_sethalt 1, s_rfe_b64 ttmp[0:1]: the program's handler.
    p.set_handler(p.new_words(&[0xbf82_0001, 0xbe80_4a6c]), 0);
    rig.add(&q);
    for place in [[0, 0, 0, 0, 0], [3, 1, 3, 3, 15]] {
        assert_eq!(ALL.map(|index| read(&rig, place, index)), [0; 23]);
    }

    // `illegal` of tests/kernels, and where in it the word is that no GPU has.
    let reached = p.new_words(&[0]);
    let args = p.arguments(&code::pointers(&[reached]), 32, 32);
    let kernel = p.load("illegal", "illegal.kd");
    let entry = kernel + u64::from(p.words(kernel + 16, 1)[0]);
    let words = p.words(entry, 64);
    let at = words.iter().position(|word| *word == 0xbfff_0000).unwrap();
    assert!(at > 0, "it is not the first");
    q.push(dispatch(kernel, args, 32, 32, 0).0);
    let (.., vmid, _, _) = interrupt(&memory, 0);
    memory.wait("a halted wave", || !halted(&rig).is_empty());
    let all = found(&rig);
    let [place] = all[..] else { panic!("{all:?}") };
    assert_eq!(pc(&rig, place), entry + at as u64 * 4);
    // What umr's documentation shows of a halted wave of this chip; VCC is its program's.
    assert_eq!(read(&rig, place, STATUS) & !VCCZ, 0x1001_0040);
    assert_eq!(read(&rig, place, IB_DBG1), 0x0100_0000);
    assert_eq!(read(&rig, place, ACTIVE), 0);
    let [se, sa, wgp, simd, slot] = place;
    assert_eq!(read(&rig, place, VALID_AND_IDLE), 1 << slot);
    // ILLEGAL_INST.
    assert_eq!(read(&rig, place, EXCP_FLAG_PRIV), 1 << 6);
    let [id1, id2] = HW_ID.map(|index| read(&rig, place, index));
    let wanted = slot | (simd << 8) | (wgp << 10) | (sa << 16) | (se << 18);
    assert_eq!(id1, wanted);
    // The VMID of its interrupt, and micro engine 1.
    assert_eq!(id2 & !0x3f, (u32::from(vmid) << 24) | (1 << 8));
    let hqd = ((id2 >> 4) & 3, id2 & 15);
    assert!(rig.is_active(hqd), "its queue is there: {hqd:?}");
    assert_eq!(rig.remove(&q, 0), 1);
    assert_eq!(found(&rig), Vec::<Place>::new(), "it has left");
}

/// ALU_FLOAT_DIV0 of `SQ_WAVE_EXCP_FLAG_USER` and `SQ_WAVE_TRAP_CTRL`, and what its exception is in a descriptor's
/// COMPUTE_PGM_RSRC2 (LLVM, AMDGPUUsage: ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO).
#[test]
fn a_division_by_zero_shows_in_a_wave_s_registers() {
    const DIV0: u32 = 1 << 2;
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    // s_sethalt 1, s_rfe_b64 ttmp[0:1]
    p.set_handler(p.new_words(&[0xbf82_0001, 0xbe80_4a6c]), 0);
    rig.add(&q);
    let (packet, ..) = p.vadd(32, 1, 0);
    let kernel = packet.get(KernelDispatch::KERNEL_OBJECT);
    let entry = kernel + u64::from(p.words(kernel + 16, 1)[0]);
    let rsrc2 = p.words(kernel + 52, 1)[0] | (DIV0 << 24);
    p.put(kernel + 52, &rsrc2.to_le_bytes());
    // v_mov_b32 v0, 0; v_rcp_f32 v0, v0; s_nop 0; s_endpgm.
    let code = [0x7e00_0280u32, 0x7e00_5500, 0xbf80_0000, 0xbfb0_0000];
    for (at, word) in (entry..).step_by(4).zip(code) {
        p.put(at, &word.to_le_bytes());
    }
    q.push(packet.0);
    memory.wait("a halted wave", || !halted(&rig).is_empty());
    let place = halted(&rig)[0];
    assert_eq!(pc(&rig, place), entry + 8);
    assert_eq!(read(&rig, place, EXCP_FLAG_USER), DIV0);
    assert_eq!(read(&rig, place, TRAP_CTRL) & 0x7f, DIV0);
    assert_eq!(read(&rig, place, EXCP_FLAG_PRIV), 0);
    assert_eq!(rig.remove(&q, 0), 1);
}

#[test]
fn waves_that_halt_themselves_are_behind_their_s_sethalt() {
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    rig.add(&q);
    let (packet, ..) = p.vadd(128, 1, 0);
    let packet = packet
        .with(KernelDispatch::GRID_SIZE_X, 128)
        .with(KernelDispatch::WORKGROUP_SIZE_X, 128);
    let kernel = packet.get(KernelDispatch::KERNEL_OBJECT);
    let entry = kernel + u64::from(p.words(kernel + 16, 1)[0]);
    // Two times s_nop 0, s_sethalt 1, s_endpgm.
    let code = [0xbf80_0000u32, 0xbf80_0000, 0xbf82_0001, 0xbfb0_0000];
    for (at, word) in (entry..).step_by(4).zip(code) {
        p.put(at, &word.to_le_bytes());
    }
    q.push(packet.0);
    memory.wait("four halted waves", || halted(&rig).len() == 4);
    let all = found(&rig);
    for place in &all {
        assert_eq!(pc(&rig, *place), entry + 12);
        // All of a work-group are in one WGP.
        assert_eq!(place[..3], all[0][..3]);
    }
    assert_eq!(all.len(), 4);
    // As `kgd_gfx_v12_get_cu_occupancy` counts them.
    let id2 = read(&rig, all[0], HW_ID[1]);
    let (pipe, queue) = ((id2 >> 4) & 3, id2 & 15);
    let counts = |pipe: u32| {
        rig.gc("GRBM_GFX_CNTL", pipe | (1 << 2));
        [0, 1, 2, 3].map(|se| {
            rig.gc("GRBM_GFX_INDEX", (1 << 30) | (se << 16));
            rig.read(&format!("SPI_CSQ_WF_ACTIVE_COUNT_{queue}"))
        })
    };
    let mut wanted = [0; 4];
    wanted[all[0][0] as usize] = 4;
    assert_eq!(counts(pipe), wanted);
    assert_eq!(counts(pipe ^ 1), [0; 4], "another pipe");
    let slotted = rig.read("SPI_CSQ_WF_ACTIVE_STATUS");
    assert_eq!(slotted, 1 << (pipe * 4 + queue), "queues on HQDs");
    rig.gc("GRBM_GFX_INDEX", 0xe000_0000);
    rig.gc("GRBM_GFX_CNTL", 0);
    assert_eq!(rig.remove(&q, 0), 1);
    assert_eq!(found(&rig), Vec::<Place>::new(), "they have left");
}

/// `SQ_WAVE_HW_ID1` has WGP_ID in bits 13:10, SA_ID in 16, SE_ID in 20:18. An array has half of the word of its engine,
/// and a work-group processor two bits of that (Linux, `mqd_symmetrically_map_cu_mask`).
#[test]
fn waves_run_where_their_queue_s_mask_allows_it() {
    const GROUPS: u32 = 256;
    let (mut rig, memory) = start();
    let p = Process::saving(&memory, 0x8001);
    let q = Queue::new(&p, 0x1000, 16);
    let mut m = q.fresh();
    for (at, mask) in [(23, 0x0003_000c), (24, 0), (26, 0x00c0_0000), (27, 0)] {
        m.0[at] = mask;
    }
    q.set_mqd(&m);
    rig.add(&q);
    let out = p.new_words(&[0; 2 * GROUPS as usize]);
    let args = p.arguments(&code::pointers(&[out]), GROUPS * 32, 32);
    let kernel = p.load("where", "where_am_i.kd");
    let signal = p.signal(1);
    q.push(dispatch(kernel, args, GROUPS * 32, 32, signal).0);
    memory.wait("the dispatch", || p.value(signal) == 0);
    let words = p.words(out, 2 * GROUPS as usize);
    let place = |id: u32| [(id >> 18) & 7, (id >> 16) & 1, (id >> 10) & 15];
    let mut seen: Vec<_> = words.chunks_exact(2).map(|of| place(of[0])).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [[0, 0, 1], [0, 1, 0], [2, 1, 3]]);
    assert_eq!(rig.remove(&q, 0), 1);
}
