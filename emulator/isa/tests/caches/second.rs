// SPDX-License-Identifier: MIT OR Apache-2.0
//! The second level: what a program has stored is in memory once it was released to a scope that reaches beyond the
//! cache. What does that is LLVM's AMDGPUUsage:
//!
//! * gfx942: "a buffer_wbl2 sc1 ... will writeback dirty L2 cache lines if configured to have multiple L2 caches", for
//!   the agent; "buffer_wbl2 sc0 sc1" for the system. Stores of these scopes have the same bits.
//! * gfx12, which has one: "global_wb scope:SCOPE_SYS", and stores with scope:SCOPE_SYS.

use super::{Machine, NEW};
use rkfd_isa::*;
use std::sync::Arc;

/// Compute units of a device: two of one XCC, and one of another.
struct Device {
    machine: Machine,
    one: [ComputeUnit; 2],
    other: ComputeUnit,
}

impl Device {
    fn new(target: &'static Target, several: bool) -> Self {
        let mut machine = Machine::new();
        machine.device.flat.held_back = true;
        let second = || Some(Arc::new(SecondLevel::new(several, 16)));
        let unit = |second: &Option<_>| ComputeUnit::for_target(target).above(second.clone());
        let (one, other) = (second(), second());
        Self {
            machine,
            one: [unit(&one), unit(&one)],
            other: unit(&other),
        }
    }

    /// Runs a program on the first compute unit.
    fn run(&mut self, text: &str) {
        self.machine.run(&mut self.one[0], text);
    }

    /// The data's first word as the other compute unit of the same XCC has it, and that of the other XCC.
    fn seen(&mut self) -> [u32; 2] {
        let [_, beside] = &mut self.one;
        [beside, &mut self.other].map(|cu| {
            let copy = match cu.target().name {
                "gfx942" => {
                    "v_mov_b32 v1, 0\nglobal_load_dword v2, v1, s[0:1] sc0 sc1\ns_waitcnt vmcnt(0)\n\
                     global_store_dword v1, v2, s[0:1] offset:1024 sc0 sc1"
                }
                _ => {
                    "v_mov_b32 v1, 0\nglobal_load_b32 v2, v1, s[0:1] scope:SCOPE_SYS\ns_wait_loadcnt 0x0\n\
                     global_store_b32 v1, v2, s[0:1] offset:1024 scope:SCOPE_SYS"
                }
            };
            self.machine.run(cu, copy);
            self.machine.word(256)
        })
    }
}

/// Stores 7 to the data, and says something about it.
fn stored(target: &Target, bits: &str, about: &str) -> String {
    let store = match target.name {
        "gfx942" => "global_store_dword",
        _ => "global_store_b32",
    };
    format!("v_mov_b32 v1, 0\nv_mov_b32 v3, {NEW}\n{store} v1, v3, s[0:1] {bits}\n{about}")
}

#[test]
fn a_store_is_held_back_until_a_release_reaches_beyond_the_cache() {
    let gfx942: &[_] = &[
        // Instruction, of several caches, and of one.
        ("s_nop 0", [false, false]),
        ("buffer_wbl2", [false, false]),
        ("buffer_wbl2 sc1", [true, false]),
        ("buffer_wbl2 sc0 sc1", [true, true]),
        // An acquire is no release.
        ("buffer_inv sc0 sc1", [false, false]),
    ];
    let gfx12: &[_] = &[
        ("s_nop 0", [false, false]),
        ("global_wb scope:SCOPE_SE", [false, false]),
        ("global_wb scope:SCOPE_DEV", [true, false]),
        ("global_wb scope:SCOPE_SYS", [true, true]),
        ("global_wbinv scope:SCOPE_SYS", [true, true]),
        ("global_inv scope:SCOPE_SYS", [false, false]),
    ];
    for (target, cases) in [(&GFX942, gfx942), (&GFX1201, gfx12)] {
        for &(about, expected) in cases {
            for (several, written) in [true, false].into_iter().zip(expected) {
                let mut device = Device::new(target, several);
                device.run(&stored(target, "", about));
                let what = format!("{}, several: {several}: {about}", target.name);
                let beyond = if written { NEW } else { 0 };
                assert_eq!(device.machine.word(0), beyond, "memory, {what}");
                assert_eq!(device.seen(), [NEW, beyond], "{what}");
            }
        }
    }
}

#[test]
fn a_store_of_a_wide_scope_is_not_held_back() {
    for (target, bits, expected) in [
        (&GFX942, "", [0, 0]),
        (&GFX942, "sc0", [0, 0]),
        (&GFX942, "sc1", [NEW, 0]),
        (&GFX942, "sc0 sc1", [NEW, NEW]),
        (&GFX1201, "", [0, 0]),
        (&GFX1201, "scope:SCOPE_DEV", [NEW, 0]),
        (&GFX1201, "scope:SCOPE_SYS", [NEW, NEW]),
    ] {
        for (several, expected) in [true, false].into_iter().zip(expected) {
            let mut device = Device::new(target, several);
            device.run(&stored(target, bits, ""));
            let what = format!("{}, several: {several}: {bits}", target.name);
            assert_eq!(device.machine.word(0), expected, "{what}");
        }
    }
}

#[test]
fn memory_that_may_not_be_held_back_is_not() {
    for target in [&GFX942, &GFX1201] {
        let mut device = Device::new(target, true);
        device.machine.device.flat.held_back = false;
        device.run(&stored(target, "", ""));
        assert_eq!(device.machine.word(0), NEW, "{}", target.name);
    }
}

#[test]
fn without_caches_nothing_is_held_back() {
    for target in [&GFX942, &GFX1201] {
        let mut machine = Machine::new();
        machine.device.flat.held_back = true;
        let second = Some(Arc::new(SecondLevel::new(true, 16)));
        let mut cu = ComputeUnit::with_checks(target, Checks::NONE).above(second);
        machine.run(&mut cu, &stored(target, "", ""));
        assert_eq!(machine.word(0), NEW, "{}", target.name);
    }
}

#[test]
fn an_atomic_adds_to_what_was_held_back() {
    for (target, add) in [
        (&GFX942, "global_atomic_add v1, v4, s[0:1]"),
        (&GFX1201, "global_atomic_add_u32 v1, v4, s[0:1]"),
    ] {
        let mut device = Device::new(target, true);
        device.run(&stored(target, "", &format!("v_mov_b32 v4, 5\n{add}")));
        assert_eq!(device.machine.word(0), NEW + 5, "{}", target.name);
    }
}

#[test]
fn two_xccs_write_back_only_the_bytes_that_they_have_stored() {
    let [first, second] = [
        "v_mov_b32 v1, 0\nv_mov_b32 v3, 1\nglobal_store_byte v1, v3, s[0:1]\n\
         global_store_dword v1, v3, s[0:1] offset:8\n",
        "v_mov_b32 v1, 0\nv_mov_b32 v3, 2\nglobal_store_byte v1, v3, s[0:1] offset:1\n\
         global_store_dword v1, v3, s[0:1] offset:16\n",
    ];
    let mut device = Device::new(&GFX942, true);
    device
        .machine
        .device
        .flat
        .write(device.machine.device.data, &[9; 32]);
    device.run(first);
    device.machine.run(&mut device.other, second);
    assert_eq!(device.machine.word(0), 0x0909_0909);
    device.run("buffer_wbl2 sc1");
    device.machine.run(&mut device.other, "buffer_wbl2 sc1");
    let words = [0, 1, 2, 3, 4, 6].map(|at| device.machine.word(at));
    assert_eq!(
        words,
        [0x0909_0201, 0x0909_0909, 1, 0x0909_0909, 2, 0x0909_0909]
    );
}
