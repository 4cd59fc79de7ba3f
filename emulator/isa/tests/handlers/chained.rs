// SPDX-License-Identifier: MIT OR Apache-2.0
//! What isn't for saving goes on to the program's handler, and without one ends as Linux's handlers end it.

use super::machine::*;
use rkfd_isa::wave::State;
use rkfd_isa::*;
use rkfd_isa_testkit::*;
use std::process::Command;

/// The program's handler finds the number in TTMP1, the state in TTMP12, its memory in TTMP14 and 15, and the
/// debugger's mark.
#[test]
fn the_programs_handler_gets_what_it_expects() {
    for target in TARGETS {
        let mut m = Machine::<64>::new(
            target,
            64,
            512,
            "s_cmp_eq_u32 s40, s40\ns_trap 5\ns_mov_b32 s20, 9",
        );
        let second = m.memory.alloc(4096);
        let (state, mark, number) = match target.name {
            "gfx942" => (2, 13, 16),
            _ => (4, 11, 28),
        };
        let text = format!(
            "s_mov_b64 s[10:11], ttmp[0:1]\ns_mov_b32 s12, ttmp12\ns_mov_b64 s[14:15], ttmp[14:15]\n\
            s_mov_b32 s16, ttmp{mark}\ns_add_u32 ttmp0, ttmp0, 4\ns_addc_u32 ttmp1, ttmp1, 0\n\
            s_and_b32 ttmp1, ttmp1, 0xffff\ns_setreg_b32 hwreg({state}), ttmp12\ns_rfe_b64 ttmp[0:1]"
        );
        m.memory.write(second, &assemble(target, 64, &text));
        m.second(second, 0x7abc_0000_1230);
        let flag = m.handler.memory + 16;
        m.memory.write(flag, &1u64.to_le_bytes());
        assert_eq!(m.run(1_000), Outcome::Done, "{}", target.name);
        let s = &m.group.waves()[0].s;
        let name = target.name;
        let pc = m.program + 4;
        assert_eq!(s[10], pc as u32, "{name}");
        assert_eq!(
            s[11],
            (pc >> 32) as u32 | (5 << number),
            "{name}: the trap's number"
        );
        let scc = if state == 2 { 0 } else { 9 };
        assert_eq!((s[12] >> scc) & 1, 1, "{name}: SCC as it was");
        assert_eq!([s[14], s[15]], [0x1230, 0x7abc], "{name}: its memory");
        assert_eq!((s[16] >> 23) & 1, 1, "{name}: there is a debugger");
        assert_eq!(s[20], 9, "{name}: the program goes on");
    }
}

/// A trap without a handler does nothing; an exception halts the wave, 8 bytes before.
#[test]
fn without_a_handler_of_the_programs_a_trap_is_nothing_and_an_exception_halts() {
    for target in TARGETS {
        let mut m = Machine::<64>::new(target, 64, 512, "s_trap 5\ns_mov_b32 s20, 9");
        assert_eq!(m.run(1_000), Outcome::Done, "{}", target.name);
        assert_eq!(m.group.waves()[0].s[20], 9, "{}", target.name);

        let program = "v_mov_b32 v0, 0x4000\nds_add_u32 v0, v1\ns_mov_b32 s20, 9";
        let mut m = Machine::<64>::new(target, 64, 512, program);
        assert_eq!(m.run(1_000), Outcome::Budget, "{}", target.name);
        let wave = &m.group.waves()[0];
        assert_eq!(
            (wave.state, wave.s[20]),
            (State::Halted, 0),
            "{}",
            target.name
        );
        assert_eq!(wave.pc, m.program, "{}", target.name);
        // It can be saved and comes back halted.
        let saved = m.save();
        m.restore(&saved);
        assert_eq!(m.group.waves()[0].state, State::Halted, "{}", target.name);
    }
}

/// With an exception and a request to save, the program's handler is first; then the wave is saved.
#[test]
fn an_exception_is_seen_before_the_wave_is_saved() {
    for target in TARGETS {
        let program = "v_mov_b32 v0, 0x4000\nds_add_u32 v0, v1\ns_nop 0\ns_branch -2";
        let mut m = Machine::<64>::new(target, 64, 512, program);
        let second = m.memory.alloc(4096);
        let (flags, bit) = if target.name == "gfx942" {
            (3, 8)
        } else {
            (17, 4)
        };
        let text = format!(
            "s_mov_b32 s30, 77\ns_setreg_imm32_b32 hwreg({flags}, {bit}, 1), 0\n\
            s_add_u32 ttmp0, ttmp0, 8\ns_addc_u32 ttmp1, ttmp1, 0\ns_rfe_b64 ttmp[0:1]"
        );
        m.memory.write(second, &assemble(target, 64, &text));
        m.second(second, 0);
        // The exception has entered the handler, which is asked to save then.
        while !m.group.waves()[0].trap.privileged {
            assert_eq!(m.run(1), Outcome::Budget);
        }
        let saved = m.save();
        m.restore(&saved);
        let wave = &m.group.waves()[0];
        assert_eq!(wave.s[30], 77, "{}", target.name);
        assert_eq!(wave.trap.flags, 0, "{}", target.name);
    }
}

/// Each handler fits into the first of the two pages that a process has for it, and half of the next
/// (KFD_CWSR_TMA_OFFSET).
#[test]
fn the_handlers_fit() {
    for target in TARGETS {
        assert!(handler(target.name).len() <= 4096 + 2048, "{}", target.name);
    }
}

/// The words that the module has are those of the source.
#[test]
fn the_modules_words_are_those_of_the_source() {
    let out = Command::new("sh")
        .arg(format!("{FOLDER}/assemble.sh"))
        .output();
    let out = out.expect("assemble.sh runs");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let words = std::fs::read(format!("{FOLDER}.rs")).expect("handlers.rs");
    assert!(out.stdout == words, "run assemble.sh again");
}
