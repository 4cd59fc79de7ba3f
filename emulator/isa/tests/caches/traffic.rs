// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waves ask of caches is counted by lines of 128 bytes, once for an instruction. Expected are numbers by hand: how
//! many lines a wave's addresses lie in, and which of them were asked for before.

use super::Machine;
use rkfd_isa::Lookup::*;
use rkfd_isa::*;
use std::sync::Arc;

const ALL: [Lookup; 8] = [
    ReadHit,
    ReadMiss,
    WriteHit,
    WriteMiss,
    AtomicHit,
    AtomicMiss,
    ReturningHit,
    ReturningMiss,
];

/// Look-ups by kind, of the vector cache and of all channels, that a program of a whole wave causes. v1 is four
/// times the lane, and the data's address is in s[0:1].
fn counted(target: &'static Target, checks: Checks, cached: bool, text: &str) -> [[u64; 8]; 2] {
    let mut machine = Machine::new();
    machine.items = if target.name == "gfx942" { 64 } else { 32 };
    machine.device.flat.held_back = cached;
    let second = Arc::new(SecondLevel::new(false, 16));
    let mut cu = ComputeUnit::with_checks(target, checks).above(Some(second));
    cu.begin_traffic();
    // gfx942 has the lane alone in v0, gfx12 three numbers.
    let lane = "v_and_b32 v1, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v1";
    machine.run(&mut cu, &format!("{lane}\n{text}"));
    let traffic = cu.end_traffic().expect("it counts");
    let channels = traffic.channels();
    let vector = ALL.map(|kind| traffic.vector().of(&[kind]));
    [
        vector,
        ALL.map(|kind| channels.iter().map(|c| c.of(&[kind])).sum()),
    ]
}

/// So many of some kinds, and nothing of others.
fn only(wanted: &[(Lookup, u64)]) -> [u64; 8] {
    ALL.map(|kind| wanted.iter().filter(|w| w.0 == kind).map(|w| w.1).sum())
}

/// Of a program, with caches that are checked and without; `vector` and `second` are what is expected.
fn expect(name: &str, text: &str, vector: &[(Lookup, u64)], second: &[(Lookup, u64)]) {
    let target = match name {
        "gfx942" => &GFX942,
        _ => &GFX1201,
    };
    for checks in [Checks::default(), Checks::NONE] {
        let found = counted(target, checks, true, text);
        assert_eq!(found, [only(vector), only(second)], "{name}: {text}");
    }
}

#[test]
fn loads_ask_for_the_lines_that_their_lanes_lie_in() {
    let again = "global_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\nglobal_load_dword v3, v1, s[0:1]\ns_waitcnt vmcnt(0)";
    let (hit, miss) = ((ReadHit, 2), (ReadMiss, 2));
    expect("gfx942", again, &[hit, miss], &[miss]);
    // One line for each of 32 lanes, which a page has; the others' lie there, too.
    let apart = "v_lshlrev_b32 v1, 5, v1\nv_and_b32 v1, 0xfff, v1\nglobal_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)";
    expect("gfx942", apart, &[(ReadMiss, 32)], &[(ReadMiss, 32)]);
    let wide =
        "v_lshlrev_b32 v1, 2, v1\nglobal_load_dwordx4 v[4:7], v1, s[0:1]\ns_waitcnt vmcnt(0)";
    expect("gfx942", wide, &[(ReadMiss, 8)], &[(ReadMiss, 8)]);
    let once = "global_load_b32 v2, v1, s[0:1]\ns_wait_loadcnt 0x0";
    expect("gfx1201", once, &[(ReadMiss, 1)], &[(ReadMiss, 1)]);
}

#[test]
fn loads_of_a_wider_scope_go_past_the_vector_cache() {
    let text = "global_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\nglobal_load_dword v3, v1, s[0:1] sc1\ns_waitcnt vmcnt(0)";
    let second = [(ReadMiss, 2), (ReadHit, 2)];
    expect("gfx942", text, &[(ReadMiss, 4)], &second);
    let text = "global_load_b32 v2, v1, s[0:1]\ns_wait_loadcnt 0x0\nglobal_load_b32 v3, v1, s[0:1] scope:SCOPE_DEV\n\
                s_wait_loadcnt 0x0";
    expect(
        "gfx1201",
        text,
        &[(ReadMiss, 2)],
        &[(ReadMiss, 1), (ReadHit, 1)],
    );
}

#[test]
fn stores_and_atomics_go_on_to_the_second_level() {
    let text = "global_store_dword v1, v1, s[0:1]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v1, s[0:1]\ns_waitcnt vmcnt(0)";
    let second = [(WriteMiss, 2), (WriteHit, 2)];
    expect("gfx942", text, &[(WriteMiss, 4)], &second);
    // All lanes add to one word, first without an answer.
    let text = "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\nglobal_atomic_add v1, v2, s[0:1]\nglobal_atomic_add v3, v1, v2, s[0:1] sc0\n\
                s_waitcnt vmcnt(0)";
    let vector = [(AtomicMiss, 1), (ReturningMiss, 1)];
    expect(
        "gfx942",
        text,
        &vector,
        &[(AtomicMiss, 1), (ReturningHit, 1)],
    );
    let text = "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\nglobal_atomic_add_u32 v1, v2, s[0:1]\n\
                global_atomic_add_u32 v3, v1, v2, s[0:1] th:TH_ATOMIC_RETURN\ns_wait_loadcnt 0x0\ns_wait_storecnt 0x0";
    expect(
        "gfx1201",
        text,
        &vector,
        &[(AtomicMiss, 1), (ReturningHit, 1)],
    );
}

#[test]
fn of_the_scalar_cache_only_misses_are_seen() {
    let text = "s_load_dword s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_load_dword s5, s[0:1], 0x20\ns_waitcnt lgkmcnt(0)\n\
                s_load_dword s6, s[0:1], 0x40\ns_waitcnt lgkmcnt(0)";
    // Its lines have 64 bytes.
    expect("gfx942", text, &[], &[(ReadMiss, 1), (ReadHit, 1)]);
}

#[test]
fn uncached_memory_is_never_there() {
    let text = "global_load_dword v2, v1, s[0:1] sc1\ns_waitcnt vmcnt(0)\nglobal_load_dword v3, v1, s[0:1] sc1\ns_waitcnt vmcnt(0)";
    let [_, second] = counted(&GFX942, Checks::default(), false, text);
    assert_eq!(second, only(&[(ReadMiss, 4)]));
}

#[test]
fn what_was_held_back_while_somebody_counted_is_there_for_those_who_are_not() {
    let mut machine = Machine::new();
    machine.device.flat.held_back = true;
    let second = Arc::new(SecondLevel::new(false, 16));
    let mut cu = ComputeUnit::with_checks(&GFX942, Checks::NONE).above(Some(second));
    cu.begin_traffic();
    machine.run(
        &mut cu,
        "v_mov_b32 v1, 0\nv_mov_b32 v2, 7\nglobal_store_dword v1, v2, s[0:1]\ns_waitcnt vmcnt(0)",
    );
    assert_eq!(machine.word(0), 0, "it is held back");
    assert!(cu.end_traffic().is_some());
    machine.run(&mut cu, "v_mov_b32 v1, 0\nglobal_load_dword v2, v1, s[0:1]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[0:1] offset:4\ns_waitcnt vmcnt(0)");
    assert_eq!((machine.word(0), machine.word(1)), (7, 7));
}
