// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waves that go on by single instructions. The bits are those of Linux's `cwsr_trap_handler_gfx9.asm` (MODE.DEBUG_EN,
//! TRAPSTS.TRAP_AFTER_INST) and `cwsr_trap_handler_gfx12.asm` (TRAP_CTRL, EXCP_FLAG_PRIV).

use super::machine::*;
use rkfd_isa::Launch;
use rkfd_isa::*;

/// The bit of the register that has a wave trap behind each instruction, and the flag that it then finds.
fn of(chip: &Chip) -> (&'static str, u32) {
    match chip.target.name {
        "gfx942" => ("hwreg(1, 11, 1)", 1 << 25),
        _ => ("hwreg(19, 9, 1)", 1 << 11),
    }
}

/// Notes each instruction's end in a sum of addresses, and goes on; the third time without further traps.
fn handler(chip: &Chip) -> String {
    let ((enable, _), flags) = (of(chip), chip.flags);
    format!(
        "s_add_u32 s15, s15, 1\ns_add_u32 s14, s14, ttmp0\ns_getreg_b32 s13, hwreg({flags})\n\
        s_setreg_imm32_b32 hwreg({flags}), 0\ns_cmp_lg_u32 s15, 3\ns_cbranch_scc1 1\n.long {}\n\
        s_rfe_b64 [ttmp0, ttmp1]",
        // `s_setreg_b32` of a zero takes one word.
        word(chip, &format!("s_setreg_b32 {enable}, s16"))
    )
}

/// An instruction's only word.
fn word(chip: &Chip, text: &str) -> String {
    let bytes = code(chip.target, text);
    let word = bytes
        .iter()
        .rev()
        .fold(0u32, |word, byte| (word << 8) | u32::from(*byte));
    format!("{word:#010x}")
}

/// The first trap asks for single instructions; then each of the next three traps behind it, and the rest run on.
#[test]
fn each_instruction_traps_behind_it() {
    for chip in &CHIPS {
        let (enable, flag) = of(chip);
        let name = chip.target.name;
        // Nothing is set before the handler is left.
        let text = format!(
            "s_cmp_eq_u32 s12, 0\ns_cbranch_scc0 6\ns_mov_b32 s12, 1\ns_mov_b32 s16, 1\n.long {}\ns_mov_b32 s16, 0\n\
            s_add_u32 ttmp0, ttmp0, 4\ns_rfe_b64 [ttmp0, ttmp1]\n{}",
            word(chip, &format!("s_setreg_b32 {enable}, s16")),
            handler(chip)
        );
        let program = "s_mov_b32 s12, 0\ns_mov_b32 s14, 0\ns_mov_b32 s15, 0\ns_trap 3\ns_mov_b32 s4, 4\ns_add_u32 s5, s4, 1\n\
            s_mov_b32 s6, 0x12345678\ns_mov_b32 s7, 7";
        let mut m = machine(chip, program, &text);
        m.done();
        assert_eq!(
            [m.s(4), m.s(5), m.s(6), m.s(7)],
            [4, 5, 0x1234_5678, 7],
            "{name}"
        );
        assert_eq!([m.s(15), m.s(13)], [3, flag], "{name}");
        // Behind instructions of 4, 4 and 8 bytes, of which the first begins behind s_trap.
        let behind = [20u32, 24, 32].map(|at| (m.program as u32).wrapping_add(at));
        let sum = behind.into_iter().fold(0, u32::wrapping_add);
        assert_eq!(m.s(14), sum, "{name}");
        let traps = [
            FaultKind::Trap(3),
            FaultKind::Stepped,
            FaultKind::Stepped,
            FaultKind::Stepped,
        ];
        assert_eq!(m.memory.traps, traps, "{name}");
    }
}

/// A debugger has waves begin so: each of the first three instructions traps, and the rest run on.
#[test]
fn waves_begin_by_single_instructions() {
    for chip in &CHIPS {
        let name = chip.target.name;
        let launch = Launch {
            stepped: true,
            ..Launch::default()
        };
        let program =
            "s_mov_b32 s4, 4\ns_add_u32 s5, s4, 1\ns_mov_b32 s6, 0x12345678\ns_mov_b32 s7, 7";
        let mut m = machine_begun(chip, 64, program, Some(&handler(chip)), launch);
        m.done();
        assert_eq!(
            [m.s(4), m.s(5), m.s(6), m.s(7)],
            [4, 5, 0x1234_5678, 7],
            "{name}"
        );
        assert_eq!([m.s(15), m.s(13)], [3, of(chip).1], "{name}");
        let behind = [4u32, 8, 16].map(|at| (m.program as u32).wrapping_add(at));
        assert_eq!(
            m.s(14),
            behind.into_iter().fold(0, u32::wrapping_add),
            "{name}"
        );
    }
}
