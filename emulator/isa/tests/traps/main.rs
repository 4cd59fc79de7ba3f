// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trap handlers: how waves get there, what they find there, and how they return. The bits are those
//! of Linux's `cwsr_trap_handler_gfx9.asm`, `cwsr_trap_handler_gfx12.asm` and register headers.

mod arithmetic;
mod machine;
mod saved;
mod stepped;
mod watched;

use machine::*;
use rkfd_isa::*;

#[test]
fn a_trap_is_entered_and_returned_from() {
    for chip in &CHIPS {
        let (name, flags) = (chip.target.name, chip.flags);
        let handler = format!(
            "s_mov_b32 s10, ttmp0\ns_mov_b32 s11, ttmp1\ns_getreg_b32 s12, hwreg(2)\n\
            s_getreg_b32 s13, hwreg({flags})\ns_mov_b32 ttmp5, 0x77\ns_mov_b32 s14, ttmp5\n\
            s_or_b32 ttmp0, ttmp0, 3\n{BEHIND}"
        );
        let program = "s_getreg_b32 s20, hwreg(2)\ns_mov_b32 s4, 5\ns_trap 7\ns_mov_b32 s5, 9\n\
            s_getreg_b32 s21, hwreg(2)";
        let mut m = machine(chip, program, &handler);
        m.done();
        let pc = m.program + 8;
        assert_eq!(m.s(10), pc as u32, "{name}");
        assert_eq!(m.s(11), (pc >> 32) as u32 | (7 << chip.id), "{name}");
        // PRIV and TRAP_EN.
        assert_eq!(
            [m.s(20), m.s(12), m.s(21)].map(|s| s & 0x60),
            [0x40, 0x60, 0x40],
            "{name}"
        );
        assert_eq!(
            [m.s(13), m.s(14), m.s(4), m.s(5)],
            [0, 0x77, 5, 9],
            "{name}"
        );
        assert_eq!(m.memory.traps, [FaultKind::Trap(7)], "{name}");
        // Four of the program's that are executed once, s_trap, the handler's, and s_endpgm.
        assert_eq!(m.cu.statistics().instructions, 4 + 1 + 11 + 1, "{name}");
    }
}

#[test]
fn an_exception_tells_which_and_traps_until_it_is_cleared() {
    for chip in &CHIPS {
        let (name, flags) = (chip.target.name, chip.flags);
        let cases = [
            (ILLEGAL, chip.illegal, 4, FaultKind::Undecodable),
            (chip.lds, chip.violation, 8, FaultKind::Lds(0x4000)),
            (
                chip.scratch.0,
                chip.violation,
                chip.scratch.1,
                FaultKind::Scratch(0x4000),
            ),
        ];
        for (text, bit, size, kind) in cases {
            // The second time it clears the flag.
            let handler = format!(
                "s_add_u32 s15, s15, 1\ns_mov_b32 s10, ttmp0\ns_mov_b32 s11, ttmp1\n\
                s_getreg_b32 s13, hwreg({flags})\ns_cmp_eq_u32 s15, 2\ns_cbranch_scc1 2\n\
                s_add_u32 ttmp0, ttmp0, {size}\ns_rfe_b64 [ttmp0, ttmp1]\n\
                s_setreg_imm32_b32 hwreg({flags}, {bit}, 1), 0\ns_getreg_b32 s14, hwreg({flags})\n\
                s_rfe_b64 [ttmp0, ttmp1]"
            );
            let program = format!("v_mov_b32 v0, 0x4000\n{text}\ns_mov_b32 s5, 9");
            let mut m = machine(chip, &program, &handler);
            m.done();
            let pc = m.program + 8 + size;
            assert_eq!([m.s(15), m.s(5)], [2, 9], "{name} {text}");
            assert_eq!([m.s(13), m.s(14)], [1 << bit, 0], "{name} {text}");
            // Where it goes on is where it would again be stopped.
            assert_eq!(
                [m.s(10), m.s(11)],
                [pc as u32, (pc >> 32) as u32],
                "{name} {text}"
            );
            assert_eq!(m.memory.traps, [kind], "{name}: once");
        }
    }
}

/// Atomics are the accesses that must lie on a multiple of their size.
#[test]
fn an_unaligned_atomic_is_a_memory_violation() {
    for chip in &CHIPS {
        let [add, add_long, size] = match chip.target.name {
            "gfx942" => ["global_atomic_add", "global_atomic_add_x2", "8"],
            _ => ["global_atomic_add_u32", "global_atomic_add_u64", "12"],
        };
        let handler = format!(
            "s_mov_b32 s10, ttmp0\ns_mov_b32 s11, ttmp1\ns_getreg_b32 s13, hwreg({flags})\n\
            s_setreg_imm32_b32 hwreg({flags}, {bit}, 1), 0\ns_add_u32 ttmp0, ttmp0, {size}\n\
            s_addc_u32 ttmp1, ttmp1, 0\ns_rfe_b64 [ttmp0, ttmp1]",
            flags = chip.flags,
            bit = chip.violation,
        );
        // Where it is in the words behind the program, and what the first of these are then.
        let cases = [
            (add, 0, [1, 0]),
            (add, 4, [0, 1]),
            (add_long, 0, [1, 7]),
            (add, 1, [0, 0]),
            (add, 2, [0, 0]),
            (add, 3, [0, 0]),
            (add_long, 4, [0, 0]),
            (add_long, 2, [0, 0]),
        ];
        for (atomic, offset, words) in cases {
            // One lane, since their sum would hide what one does.
            let program = format!(
                "s_mov_b64 exec, 1\ns_getpc_b64 s[8:9]\nv_mov_b32 v2, {at}\nv_mov_b32 v4, 1\n\
                v_mov_b32 v5, 7\n{atomic} v2, v[4:5], s[8:9]\ns_mov_b32 s5, 9",
                at = 1024 - 8 + offset
            );
            let program = match atomic == add {
                true => program.replace("v[4:5]", "v4"),
                false => program,
            };
            let what = format!("{} {atomic} {offset}", chip.target.name);
            let mut m = machine(chip, &program, &handler);
            m.done();
            let data = m.program + 1024;
            assert_eq!(m.memory.words(data, 2), words, "{what}");
            assert_eq!(m.s(5), 9, "{what}: it goes on");
            if words != [0, 0] {
                assert!(m.memory.traps.is_empty(), "{what}");
                continue;
            }
            let pc = m.program + 24;
            assert_eq!(
                [m.s(10), m.s(11), m.s(13)],
                [pc as u32, (pc >> 32) as u32, 1 << chip.violation],
                "{what}"
            );
            let fault = MemoryFault {
                va: data + offset,
                access: Access::Atomic,
                reason: Reason::Unaligned,
            };
            assert_eq!(m.memory.traps, [FaultKind::Memory(fault)], "{what}");
        }
    }
}

/// MEM_VIOL of SQ_WAVE_TRAPSTS and SQ_WAVE_EXCP_FLAG_PRIV, by which Linux's handlers pass it on to the program's, and
/// XNACK_ERROR, by which AMD's debugger library tells it from an address error.
#[test]
fn an_address_that_does_not_translate_is_a_memory_violation() {
    for chip in &CHIPS {
        let flags = (1 << chip.violation) | (1 << chip.translation);
        let [scalar, load, store, add, size] = match chip.target.name {
            "gfx942" => [
                "s_load_dword s20, s[8:9], 0x10",
                "global_load_dword v1, v0, s[8:9]",
                "global_store_dword v0, v2, s[8:9]",
                "global_atomic_add v0, v2, s[8:9]",
                "8",
            ],
            _ => [
                "s_load_b32 s20, s[8:9], 0x10",
                "global_load_b32 v1, v0, s[8:9]",
                "global_store_b32 v0, v2, s[8:9]",
                "global_atomic_add_u32 v0, v2, s[8:9]",
                "12",
            ],
        };
        let cases = [
            (scalar, "8", Access::Read),
            (load, size, Access::Read),
            (store, size, Access::Write),
            (add, size, Access::Atomic),
        ];
        for (text, size, access) in cases {
            let handler = noting(chip, &format!("s_add_u32 ttmp0, ttmp0, {size}"));
            let program = format!(
                "s_mov_b64 exec, 1\ns_mov_b64 s[8:9], 0\nv_mov_b32 v0, 16\n{text}\ns_mov_b32 s5, 9"
            );
            let mut m = machine(chip, &program, &handler);
            m.done();
            let what = format!("{} {text}", chip.target.name);
            let pc = m.program + 12;
            assert_eq!([m.s(10), m.s(11)], [pc as u32, (pc >> 32) as u32], "{what}");
            assert_eq!([m.s(13), m.s(5)], [flags, 9], "{what}");
            assert_eq!(m.memory.traps, [absent(0x10, access)], "{what}");
        }
        // An instruction can't be fetched: the program counter is where it would be.
        let handler = noting(chip, "s_mov_b64 ttmp[0:1], s[16:17]");
        let program = "s_getpc_b64 s[16:17]\ns_add_u32 s16, s16, 16\ns_mov_b64 s[8:9], 16\n\
            s_setpc_b64 s[8:9]\ns_nop 0\ns_mov_b32 s5, 9";
        let mut m = machine(chip, program, &handler);
        m.done();
        let name = chip.target.name;
        assert_eq!([m.s(10), m.s(11)], [16, 0], "{name}");
        assert_eq!([m.s(13), m.s(5)], [flags, 9], "{name}");
        assert_eq!(m.memory.traps, [absent(0x10, Access::Execute)], "{name}");
        // In the handler itself nothing can help.
        let program = "s_trap 2\ns_mov_b32 s5, 9";
        let mut m = machine(chip, program, "s_mov_b64 s[8:9], 16\ns_setpc_b64 s[8:9]");
        let Outcome::Fault(fault) = m.outcome() else {
            panic!("{name}: no fault");
        };
        assert_eq!(fault.kind, absent(0x10, Access::Execute), "{name}");
    }
}

/// Notes the address, its upper half and the flags, clears the violation, and goes on after these instructions.
fn noting(chip: &Chip, behind: &str) -> String {
    format!(
        "s_mov_b32 s10, ttmp0\ns_mov_b32 s11, ttmp1\ns_getreg_b32 s13, hwreg({flags})\n\
        s_setreg_imm32_b32 hwreg({flags}, {bit}, 1), 0\n{behind}\ns_rfe_b64 [ttmp0, ttmp1]",
        flags = chip.flags,
        bit = chip.violation,
    )
}

fn absent(va: u64, access: Access) -> FaultKind {
    let reason = Reason::NotPresent;
    FaultKind::Memory(MemoryFault { va, access, reason })
}

#[test]
fn a_handler_that_clears_nothing_uses_the_budget() {
    for chip in &CHIPS {
        let mut m = machine(chip, ILLEGAL, "s_rfe_b64 [ttmp0, ttmp1]");
        assert_eq!(m.outcome(), Outcome::Budget);
        assert_eq!(m.memory.traps.len(), 1);
    }
}

#[test]
fn halt_holds_behind_the_handler() {
    for chip in &CHIPS {
        let set = format!(
            "s_setreg_imm32_b32 hwreg({}, {}, 1), 1",
            chip.state, chip.halt
        );
        for halt in ["s_sethalt 1", "s_sendmsghalt sendmsg(MSG_INTERRUPT)", &set] {
            let handler = format!(
                "{halt}\ns_mov_b32 s20, 1\ns_getreg_b32 s21, hwreg({}, {}, 1)\ns_rfe_b64 [ttmp0, ttmp1]",
                chip.state, chip.halt
            );
            let mut m = machine(chip, "s_trap 2\ns_mov_b32 s5, 9", &handler);
            for _ in 0..2 {
                assert_eq!(m.outcome(), Outcome::Budget, "{halt}");
            }
            let wave = &m.group.waves()[0];
            assert_eq!(
                (wave.state, wave.pc),
                (wave::State::Halted, m.program),
                "{halt}"
            );
            assert_eq!([wave.s[20], wave.s[21], wave.s[5]], [1, 1, 0], "{halt}");
            assert!(m.group.is_halted());
        }
        let mut m = machine(
            chip,
            "s_trap 2\ns_mov_b32 s5, 9",
            &format!("s_sethalt 1\ns_sethalt 0\n{BEHIND}"),
        );
        m.done();
        assert_eq!(m.s(5), 9);
        assert!(!m.group.is_halted());
        // SCC is the program's when the handler has set it back.
        let keep = format!(
            "s_getreg_b32 ttmp12, hwreg({0})\ns_cmp_eq_u32 ttmp12, 0x55555\ns_mov_b32 s20, scc\n\
            s_setreg_b32 hwreg({0}), ttmp12\ns_cselect_b32 s21, 1, 0\ns_getreg_b32 s22, hwreg({0}, {1}, 1)\n\
            s_setreg_b32 hwreg({0}), ttmp12\ns_mov_b64 s[24:25], ttmp[0:1]\n",
            chip.state, chip.scc
        );
        let keep = keep.replace("s_mov_b32 s20, scc", "s_cselect_b32 s20, 1, 0");
        let mut m = machine(
            chip,
            "s_cmp_eq_u32 s0, s0\ns_trap 2",
            &(keep + "s_sethalt 1\ns_rfe_b64 [ttmp0, ttmp1]"),
        );
        assert_eq!(m.outcome(), Outcome::Budget);
        assert_eq!(
            [m.s(20), m.s(21), m.s(22)],
            [0, 1, 1],
            "{}",
            chip.target.name
        );
    }
}

#[test]
fn the_handler_sets_what_it_names_and_nothing_else() {
    for chip in &CHIPS {
        let Chip {
            state,
            flags,
            halt,
            scc,
            illegal,
            ..
        } = chip;
        // SCC stays when HALT is set, HALT when SCC is; of the flags, one that sends nobody here stays
        // when the other comes, and when that is cleared.
        let handler = format!(
            "s_add_u32 s15, s15, 1\ns_cmp_eq_u32 s15, 2\ns_cbranch_scc1 10\n\
            s_setreg_imm32_b32 hwreg({flags}, 0, 1), 1\n\
            s_cmp_eq_u32 s0, s0\ns_setreg_imm32_b32 hwreg({state}, {halt}, 1), 1\ns_cselect_b32 s20, 1, 0\n\
            s_setreg_imm32_b32 hwreg({state}, {scc}, 1), 0\ns_getreg_b32 s21, hwreg({state}, {halt}, 1)\n\
            s_branch 4\n\
            s_getreg_b32 s13, hwreg({flags})\ns_setreg_imm32_b32 hwreg({flags}, {illegal}, 1), 0\n\
            s_getreg_b32 s14, hwreg({flags})\ns_sethalt 0\n{BEHIND}"
        );
        let mut m = machine(
            chip,
            &format!("s_trap 2\n{ILLEGAL}\ns_mov_b32 s5, 9"),
            &handler,
        );
        m.done();
        let name = chip.target.name;
        assert_eq!([m.s(15), m.s(5)], [2, 9], "{name}");
        assert_eq!([m.s(20), m.s(21)], [1, 1], "{name}");
        assert_eq!([m.s(13), m.s(14)], [(1 << illegal) | 1, 1], "{name}");
    }
}

/// A workgroup is halted as a whole when its other waves can't go on without the one that halts.
#[test]
fn a_group_is_halted_when_nobody_goes_on() {
    for chip in &CHIPS {
        let barrier = match chip.target.name {
            "gfx942" => "s_barrier",
            _ => "s_barrier_signal -1\ns_barrier_wait -1",
        };
        for (other, halted) in [(barrier, true), ("s_endpgm", true), ("s_branch -1", false)] {
            // The second wave is the other one.
            let program = format!(
                "v_readfirstlane_b32 s2, v0\ns_and_b32 s2, s2, 0x3ff\ns_cmp_eq_u32 s2, 0\n\
                s_cbranch_scc1 {}\n{other}\ns_endpgm\ns_trap 2",
                other.lines().count() + 1
            );
            let handler = "s_sethalt 1\ns_rfe_b64 [ttmp0, ttmp1]";
            let mut m = machine_of(chip, 128, &program, Some(handler));
            assert!(!m.group.is_halted());
            // Several turns, of which one may use it all up.
            for _ in 0..4 {
                assert_eq!(m.outcome(), Outcome::Budget);
            }
            assert_eq!(m.group.waves()[0].state, wave::State::Halted);
            assert_eq!(m.group.is_halted(), halted, "{} {other}", chip.target.name);
        }
    }
}

/// FATAL_HALT, bit 2: gfx12 obeys it in a handler, too.
#[test]
fn a_fatal_halt_holds_in_the_handler() {
    let mut m = machine(
        &CHIPS[1],
        "s_trap 2",
        "s_sethalt 5\ns_mov_b32 s20, 1\ns_rfe_b64 [ttmp0, ttmp1]",
    );
    assert_eq!(m.outcome(), Outcome::Budget);
    let wave = &m.group.waves()[0];
    assert_eq!((wave.state, wave.s[20]), (wave::State::Halted, 0));
    assert_eq!(wave.pc, m.program - 256 + HANDLER + 4);
}

#[test]
fn a_program_learns_nothing_of_its_handler() {
    let [gfx9, gfx12] = &CHIPS;
    let cases = [
        (gfx9, "s_getreg_b32 s4, hwreg(HW_REG_TBA_LO)"),
        (gfx9, "s_getreg_b32 s4, hwreg(HW_REG_TMA_LO)"),
        (gfx12, "s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_TBA)"),
        (gfx12, "s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_TMA)"),
    ];
    for (chip, text) in cases {
        let mut m = machine(chip, text, "s_sethalt 1\ns_rfe_b64 [ttmp0, ttmp1]");
        assert_eq!(m.outcome(), Outcome::Budget, "{text}");
        assert!(
            matches!(m.memory.traps[..], [FaultKind::Unsupported(_)]),
            "{text}: {:?}",
            m.memory.traps
        );
        assert_eq!([m.s(4), m.s(5)], [0, 0], "{text}");
    }
}

/// A barrier of gfx12 that is complete, and one that is not (`SQ_WAVE_STATE_PRIV_BARRIER_COMPLETE`).
#[test]
fn the_handler_sees_a_barrier() {
    let handler = format!("s_mov_b32 s21, s20\ns_getreg_b32 s20, hwreg(4)\n{BEHIND}");
    let program = "s_trap 2\ns_barrier_signal -1\ns_nop 0\ns_trap 2\ns_barrier_wait -1";
    let mut m = machine(&CHIPS[1], program, &handler);
    m.done();
    assert_eq!([m.s(21), m.s(20)].map(|state| state & 0xff), [0, 4]);
}

#[test]
fn an_exception_in_the_handler_stops_the_wave() {
    for chip in &CHIPS {
        for (what, kind) in [
            (ILLEGAL, FaultKind::Undecodable),
            ("s_trap 3", FaultKind::Trap(3)),
        ] {
            let mut m = machine(chip, "s_trap 2", &format!("s_nop 0\n{what}"));
            let at = m.program - 256 + HANDLER + 4;
            match m.outcome() {
                Outcome::Fault(fault) => assert_eq!((fault.kind, fault.pc), (kind, at)),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn without_a_handler_nothing_changes() {
    for chip in &CHIPS {
        for (what, kind) in [
            (ILLEGAL, FaultKind::Undecodable),
            ("s_trap 2", FaultKind::Trap(2)),
        ] {
            let mut m = machine_with(chip, what, None);
            match m.outcome() {
                Outcome::Fault(fault) => assert_eq!((fault.kind, fault.pc), (kind, m.program)),
                other => panic!("{other:?}"),
            }
            assert!(m.memory.traps.is_empty());
        }
        let mut m = machine_with(chip, "s_getreg_b32 s4, hwreg(2)", None);
        m.done();
        assert_eq!(m.s(4) & 0x60, 0, "TRAP_EN");
    }
}

#[test]
fn trap_temporaries_are_the_handlers() {
    for chip in &CHIPS {
        // The handler writes the first time and reads the second time, from the same page of code.
        let handler = format!(
            "s_add_u32 s15, s15, 1\ns_mov_b32 s16, ttmp5\ns_mov_b64 s[18:19], ttmp[10:11]\n\
            s_mov_b32 ttmp5, 0x77\ns_mov_b64 ttmp[10:11], 3\n{BEHIND}"
        );
        let program = "s_mov_b32 ttmp5, 1\ns_trap 2\ns_mov_b32 s20, s16\ns_mov_b32 ttmp5, 2\n\
            s_mov_b64 ttmp[10:11], 5\ns_not_b64 ttmp[10:11], ttmp[10:11]\n\
            v_readfirstlane_b32 ttmp5, v0\nv_cmp_eq_u32 ttmp[10:11], v0, v0\ns_movk_i32 ttmp5, 4\ns_trap 2";
        let mut m = machine(chip, program, &handler);
        m.done();
        assert_eq!(
            [m.s(15), m.s(20), m.s(16)],
            [2, 0, 0x77],
            "{}",
            chip.target.name
        );
        assert_eq!([m.s(18), m.s(19)], [3, 0], "{}", chip.target.name);
        // A program may name them as sources, where others have their destination, too.
        let mut text = "s_trap 2\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 4), ttmp5\n\
            s_getreg_b32 s21, hwreg(HW_REG_MODE, 0, 4)\n"
            .to_string();
        let mut wanted = [7, 0, 0];
        if chip.target.name == "gfx942" {
            text += "s_cmpk_eq_u32 ttmp5, 0x77\ns_cselect_b32 s22, 1, 0\ns_getpc_b64 s[8:9]\n\
                s_store_dword ttmp5, s[8:9], 0x200\ns_dcache_wb\ns_load_dword s23, s[8:9], 0x200\n\
                s_waitcnt lgkmcnt(0)\n";
            wanted = [7, 1, 0x77];
        }
        let mut m = machine(chip, &text, &handler);
        m.done();
        assert_eq!([m.s(21), m.s(22), m.s(23)], wanted, "{}", chip.target.name);
        // The same code of a program doesn't write them, and of the handler does.
        let handler = format!(
            "s_mov_b32 ttmp5, 0x77\ns_mov_b32 s16, s14\ns_mov_b32 s14, ttmp5\n\
            s_add_u32 s15, s15, 1\ns_cmp_eq_u32 s15, 1\ns_cbranch_scc0 2\ns_trap 2\ns_endpgm\n{BEHIND}"
        );
        let program = format!(
            "s_getpc_b64 s[2:3]\ns_add_u32 s2, s2, {}\ns_addc_u32 s3, s3, 0\ns_setpc_b64 s[2:3]",
            HANDLER - 256 - 4
        );
        let mut m = machine(chip, &program, &handler);
        m.done();
        assert_eq!(
            [m.s(15), m.s(16), m.s(14)],
            [2, 0, 0x77],
            "{}",
            chip.target.name
        );
        // A program can't set the state either.
        let text = format!("s_setreg_imm32_b32 hwreg({}), 0", chip.flags);
        let mut m = machine(chip, &text, "s_sethalt 1\ns_rfe_b64 [ttmp0, ttmp1]");
        assert_eq!(m.outcome(), Outcome::Budget);
        assert_eq!(
            m.memory.traps,
            [FaultKind::Unsupported("this hardware register")]
        );
    }
}

#[test]
fn the_handler_learns_its_doorbell_and_memory() {
    let [gfx9, gfx12] = &CHIPS;
    let interrupt =
        "s_mov_b32 m0, 0x4321\ns_nop 0\ns_sendmsg sendmsg(MSG_INTERRUPT)\ns_sethalt 1\n\
        s_rfe_b64 [ttmp0, ttmp1]";
    let ask = "s_mov_b32 exec_lo, 0x80000000\ns_sendmsg sendmsg(MSG_GET_DOORBELL)\ns_mov_b32 s10, exec_lo\n\
        s_getreg_b32 s12, hwreg(HW_REG_TBA_LO)\ns_getreg_b32 s13, hwreg(HW_REG_TBA_HI)\n\
        s_getreg_b32 s14, hwreg(HW_REG_TMA_LO)\ns_getreg_b32 s15, hwreg(HW_REG_TMA_HI)\n";
    let mut m = machine(gfx9, "s_trap 2", &format!("{ask}{interrupt}"));
    assert_eq!(m.outcome(), Outcome::Budget);
    let entry = (m.program - 256 + HANDLER) >> 8;
    let pair = |m: &Machine, n: usize| u64::from(m.s(n)) | (u64::from(m.s(n + 1)) << 32);
    assert_eq!((m.s(10), m.s(126)), (DOORBELL, DOORBELL));
    assert_eq!([pair(&m, 12), pair(&m, 14)], [entry, MEMORY >> 8]);
    assert_eq!(
        (m.memory.messages, m.memory.privileged),
        (vec![(1, 0x4321)], 1)
    );

    let ask = "s_sendmsg_rtn_b32 s10, sendmsg(MSG_RTN_GET_DOORBELL)\n\
        s_sendmsg_rtn_b64 s[12:13], sendmsg(MSG_RTN_GET_TBA)\n\
        s_sendmsg_rtn_b64 s[14:15], sendmsg(MSG_RTN_GET_TMA)\n";
    let mut m = machine(
        gfx12,
        "s_sendmsg sendmsg(MSG_INTERRUPT)\ns_trap 2",
        &format!("{ask}{interrupt}"),
    );
    assert_eq!(m.outcome(), Outcome::Budget);
    let entry = (m.program - 256 + HANDLER) >> 8;
    assert_eq!(m.s(10), DOORBELL);
    assert_eq!(
        [pair(&m, 12), pair(&m, 14)],
        [entry | (1 << 63), MEMORY >> 8]
    );
    assert_eq!(m.memory.messages, [(1, 0), (1, 0x4321)]);
    assert_eq!(
        m.memory.privileged, 1,
        "the program's message is not the handler's"
    );
}

/// Where Linux has its handler: in the upper half of the address space, whose addresses packets name without
/// bits 63:48 (`AMDGPU_VA_RESERVED_TRAP_START`).
#[test]
fn the_registers_have_40_bits_of_an_address() {
    let at = (1u64 << 48) - (4 << 20) - (64 << 10);
    let handler = Handler::from_registers(at >> 8, 0x7abc_0000_1200 >> 8);
    assert_eq!(handler.entry, 0xffff_ffff_ffbf_0000);
    assert_eq!(handler.memory, 0x7abc_0000_1200);
}
