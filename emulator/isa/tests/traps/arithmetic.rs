// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions of arithmetic: which are noted, and which trap, by the kernel's wish (COMPUTE_PGM_RSRC2.EXCP_EN) and a
//! debugger's. The bits are those of Linux's `kfd_ioctl.h` (`KFD_DBG_TRAP_MASK_FP_*`); what raises them is IEEE 754.

use super::machine::*;
use rkfd_isa::{FaultKind, Launch};

const INVALID: u32 = 1;
const DIVIDE_BY_ZERO: u32 = 4;
const OVERFLOW: u32 = 8;
const INEXACT: u32 = 32;
const INT_DIVIDE_BY_ZERO: u32 = 64;

/// The register that has the flags.
fn flags(chip: &Chip) -> u32 {
    match chip.target.name {
        "gfx942" => 3,
        _ => 18,
    }
}

/// Notes how often it came, the flags, and where the wave was last; clears the flags, and goes on.
fn handler(chip: &Chip) -> String {
    let flags = flags(chip);
    format!(
        "s_add_u32 s15, s15, 1\ns_mov_b32 s10, ttmp0\ns_getreg_b32 s12, hwreg({flags}, 0, 7)\n\
        s_or_b32 s13, s13, s12\ns_setreg_imm32_b32 hwreg({flags}, 0, 7), 0\ns_rfe_b64 [ttmp0, ttmp1]"
    )
}

/// Runs a program with exceptions that its kernel enables and that a debugger chooses; how often the handler came, and
/// what it found.
fn ran(chip: &Chip, program: &str, exceptions: (u32, Launch)) -> (Machine, [u32; 2]) {
    let mut m = machine_enabling(chip, 64, program, Some(&handler(chip)), exceptions);
    m.done();
    let found = [m.s(15), m.s(13)];
    (m, found)
}

fn chosen(exceptions: u32) -> Launch {
    Launch {
        exceptions,
        ..Launch::default()
    }
}

#[test]
fn what_arithmetic_raises_traps_behind_it() {
    for chip in &CHIPS {
        let name = chip.target.name;
        let (max, zero) = ("v_mov_b32 v1, 0x7f7fffff\n", "v_mov_b32 v1, 0\n");
        for (operation, set_up, flag) in [
            ("v_rcp_f32 v2, v1", zero, DIVIDE_BY_ZERO),
            ("v_rcp_iflag_f32 v2, v1", zero, INT_DIVIDE_BY_ZERO),
            ("v_rsq_f32 v2, v1", zero, DIVIDE_BY_ZERO),
            ("v_sqrt_f32 v2, v1", "v_mov_b32 v1, -1.0\n", INVALID),
            ("v_add_f32 v2, v1, v1", max, OVERFLOW | INEXACT),
            ("v_mul_f32 v2, v1, v1", max, OVERFLOW | INEXACT),
            (
                "v_add_f32 v2, 1.0, v1",
                "v_mov_b32 v1, 0x00800000\n",
                INEXACT,
            ),
            ("v_add_f32 v2, 1.0, v1", "v_mov_b32 v1, 2.0\n", 0),
            (
                "v_cvt_i32_f32 v2, v1",
                "v_mov_b32 v1, 0x3fc00000\n",
                INEXACT,
            ),
            ("v_cvt_i32_f32 v2, v1", max, INVALID),
        ] {
            let program = format!("{set_up}{operation}\ns_mov_b32 s5, 9");
            let (m, found) = ran(chip, &program, (0, chosen(0x7f)));
            let times = u32::from(flag != 0);
            assert_eq!(found, [times, flag], "{name}: {operation}");
            assert_eq!(m.s(5), 9, "{name}: {operation}");
            if flag != 0 {
                // Behind the operation, of 4 bytes.
                let words = code(chip.target, set_up.trim_end()).len() as u32 + 4;
                assert_eq!(m.s(10), m.program as u32 + words, "{name}: {operation}");
                // What is told of it names the operation.
                let (flags, pc) = (flag, m.program + u64::from(words) - 4);
                let told = [FaultKind::Arithmetic { flags, pc }];
                assert_eq!(m.memory.traps, told, "{name}: {operation}");
                let told = m.memory.trapped.expect("it trapped");
                let mnemonic = told.mnemonic().expect("an instruction");
                assert!(operation.starts_with(mnemonic), "{name}: {told}");
                assert_eq!(told.pc, pc, "{name}: {operation}");
            }
        }
    }
}

#[test]
fn only_what_is_enabled_traps_and_all_is_noted() {
    for chip in &CHIPS {
        let (name, flags) = (chip.target.name, flags(chip));
        let program = format!(
            "v_mov_b32 v1, 0\nv_rcp_f32 v2, v1\ns_getreg_b32 s6, hwreg({flags}, 0, 7)\n\
            s_setreg_imm32_b32 hwreg({flags}, 0, 7), 0x20\ns_getreg_b32 s7, hwreg({flags}, 0, 7)"
        );
        let (m, found) = ran(chip, &program, (0, chosen(INVALID)));
        assert_eq!((found, m.s(6)), ([0, 0], DIVIDE_BY_ZERO), "{name}");
        assert_eq!(m.s(7), INEXACT, "{name}: the program's own");
        // By the kernel's wish, beside a debugger's and instead of it.
        let (_, found) = ran(chip, &program, (DIVIDE_BY_ZERO, chosen(INVALID)));
        assert_eq!(found, [1, DIVIDE_BY_ZERO], "{name}");
        let replaced = Launch {
            replaces: true,
            ..chosen(INVALID)
        };
        let (_, found) = ran(chip, &program, (DIVIDE_BY_ZERO, replaced));
        assert_eq!(found, [0, 0], "{name}");
    }
}

#[test]
fn lanes_that_are_off_raise_nothing() {
    for chip in &CHIPS {
        let program = "v_mov_b32 v1, 0\ns_mov_b64 exec, 0\nv_rcp_f32 v2, v1\ns_mov_b64 exec, 1\nv_rcp_f32 v2, v1";
        let (_, found) = ran(chip, program, (0, chosen(DIVIDE_BY_ZERO)));
        assert_eq!(found, [1, DIVIDE_BY_ZERO], "{}", chip.target.name);
    }
}
