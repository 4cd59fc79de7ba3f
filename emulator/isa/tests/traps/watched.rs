// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a debugger chooses for waves: watched addresses, and how waves begin. Bits of exceptions are those of
//! Linux's `cwsr_trap_handler_gfx9.asm` and `cwsr_trap_handler_gfx12.asm`, of watches those of its register
//! headers.

use super::machine::*;
use rkfd_isa::Launch;
use rkfd_isa::*;

/// EXCP_EN and TRAP_CTRL: ADDR_WATCH.
const ADDR_WATCH: u32 = 1 << 7;
/// TCP_WATCH0_CNTL: VALID, and MODE from bit 29 on.
const VALID: u32 = 1 << 31;
const ALL: u32 = 3 << 29;

fn launch(exceptions: u32) -> Launch {
    Launch {
        exceptions,
        ..Launch::default()
    }
}

/// A chip's bits of the four watches, the register that says which exceptions trap, where its bits begin, the
/// bits of a mask, and instructions that load, store and add.
fn of(chip: &Chip) -> ([u32; 4], u32, u32, u32, [&'static str; 3]) {
    match chip.target.name {
        "gfx942" => (
            [7, 12, 13, 14],
            1,
            12,
            24,
            [
                "global_load_dword v1, v0, s[8:9]",
                "global_store_dword v0, v2, s[8:9]",
                "global_atomic_add v0, v2, s[8:9]",
            ],
        ),
        _ => (
            [0, 1, 2, 3],
            19,
            0,
            23,
            [
                "global_load_b32 v1, v0, s[8:9]",
                "global_store_b32 v0, v2, s[8:9]",
                "global_atomic_add_u32 v0, v2, s[8:9]",
            ],
        ),
    }
}

/// Notes the flags and where the wave was, clears the flags, and goes on.
fn handler(chip: &Chip) -> String {
    let flags = chip.flags;
    format!(
        "s_add_u32 s15, s15, 1\ns_mov_b32 s10, ttmp0\ns_getreg_b32 s13, hwreg({flags})\n\
        s_setreg_imm32_b32 hwreg({flags}), 0\ns_rfe_b64 [ttmp0, ttmp1]"
    )
}

/// What stands before the access.
const BEFORE: &str = "s_mov_b64 exec, 1\ns_getpc_b64 s[8:9]\nv_mov_b32 v0, 0x400\nv_mov_b32 v2, 1";

/// Runs an access to the word 1,024 bytes behind the program's page, with watch `n` there or elsewhere.
fn meet(chip: &Chip, access: &str, n: usize, control: u32, away: u64, enabled: u32) -> Machine {
    let (_, _, _, mask_bits, _) = of(chip);
    let program = format!("{BEFORE}\n{access}\ns_mov_b32 s5, 9");
    let text = handler(chip);
    let mut m = machine_begun(chip, 64, &program, Some(&text), launch(enabled));
    // Behind s_mov_b64 and s_getpc_b64.
    let at = m.program + 8 + 0x400;
    m.memory.watches[n] = Watch::from_registers((at & !0x7f) ^ away, control, mask_bits);
    m.done();
    m
}

#[test]
fn a_watched_address_traps_behind_the_access() {
    for chip in &CHIPS {
        let (bits, _, _, mask_bits, [load, store, add]) = of(chip);
        let name = chip.target.name;
        let exact = VALID | ALL | ((1 << mask_bits) - 1);
        for (n, bit) in bits.into_iter().enumerate() {
            let m = meet(chip, load, n, exact, 0, ADDR_WATCH);
            assert_eq!(
                [m.s(15), m.s(13), m.s(5)],
                [1, 1 << bit, 9],
                "{name} watch {n}"
            );
            // The load, behind four instructions.
            let before = code(chip.target, BEFORE).len() as u64;
            let (met, pc) = (1 << n, m.program + before);
            assert_eq!(m.memory.traps, [FaultKind::Watched { met, pc }], "{name}");
        }
        // Neighbours of 128 bytes, unless the mask leaves their bit out; and far away.
        for (away, mask, met) in [
            (0x80, u32::MAX, 0),
            (0x80, !1, 1),
            (0x100, !1, 0),
            (1 << 40, 0, 0),
        ] {
            let control = VALID | ALL | (mask & ((1 << mask_bits) - 1));
            let m = meet(chip, load, 1, control, away, ADDR_WATCH);
            assert_eq!([m.s(15), m.s(5)], [met, 9], "{name} {away:#x} {mask:#x}");
        }
        // Reads, others, atomics, all: what a load, a store and an atomic meet.
        for (mode, met) in [
            (0, [1, 0, 0]),
            (1, [0, 1, 1]),
            (2, [0, 0, 1]),
            (3, [1, 1, 1]),
        ] {
            for (access, met) in [load, store, add].into_iter().zip(met) {
                let control = (exact & !ALL) | (mode << 29);
                let m = meet(chip, access, 2, control, 0, ADDR_WATCH);
                assert_eq!(m.s(15), met, "{name} mode {mode}: {access}");
            }
        }
        let m = meet(chip, load, 0, exact & !VALID, 0, ADDR_WATCH);
        assert_eq!(m.s(15), 0, "{name}: it isn't valid");
        let m = meet(chip, load, 0, exact, 0, 0);
        assert_eq!(m.s(15), 0, "{name}: the exception isn't enabled");
    }
}

/// The flag is there without a trap, too.
#[test]
fn what_traps_is_in_a_register() {
    for chip in &CHIPS {
        let (bits, register, at, mask_bits, [load, ..]) = of(chip);
        let exact = VALID | ALL | ((1 << mask_bits) - 1);
        let access = format!("s_getreg_b32 s20, hwreg({register}, {at}, 9)\n{load}");
        let m = meet(chip, &access, 3, exact, 0, ADDR_WATCH);
        assert_eq!(m.s(20), ADDR_WATCH, "{}", chip.target.name);
        let m = meet(chip, load, 3, exact, 0, 0);
        let flags = m.group.waves()[0].trap.flags;
        assert_eq!(flags, 1 << bits[3], "{}", chip.target.name);
    }
}

#[test]
fn waves_begin_halted_or_in_their_handler() {
    for chip in &CHIPS {
        let name = chip.target.name;
        let start = if name == "gfx942" { 23 } else { 8 };
        let text = handler(chip);
        let begun = |halted, trapped| {
            let launch = Launch {
                halted,
                trapped,
                ..Launch::default()
            };
            machine_begun(chip, 64, "s_mov_b32 s5, 9", Some(&text), launch)
        };
        let mut m = begun(true, false);
        assert_eq!(m.outcome(), Outcome::Budget, "{name}");
        assert!(m.group.is_halted(), "{name}");
        assert_eq!([m.s(5), m.s(15)], [0, 0], "{name}");
        let mut m = begun(false, true);
        m.done();
        assert_eq!([m.s(5), m.s(15)], [9, 1], "{name}");
        assert_eq!([m.s(10), m.s(13)], [m.program as u32, 1 << start], "{name}");
        // In this order: the handler first.
        let mut m = begun(true, true);
        assert_eq!(m.outcome(), Outcome::Budget, "{name}");
        assert_eq!([m.s(5), m.s(15)], [0, 1], "{name}");
    }
}
