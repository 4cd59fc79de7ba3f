// SPDX-License-Identifier: MIT OR Apache-2.0
//! What hardware does for a handler that saves its wave and loads it: the request, the answer, the end and the
//! way back. Bits are of Linux's register headers and handlers, as in the tests beside this one.

use super::machine::*;
use rkfd_isa::wave::State;
use rkfd_isa::*;

/// How a handler says that it is ready, with the answer in EXEC.
fn ready(chip: &Chip) -> &'static str {
    match chip.target.name {
        "gfx942" => "s_mov_b64 exec, 0\ns_sendmsg sendmsg(MSG_SAVEWAVE)",
        _ => "s_sendmsg_rtn_b64 exec, sendmsg(MSG_RTN_SAVE_WAVE)\ns_wait_kmcnt 0",
    }
}

/// The request's bit: SAVECTX of TRAPSTS, SAVE_CONTEXT of EXCP_FLAG_PRIV.
fn request(chip: &Chip) -> u32 {
    match chip.target.name {
        "gfx942" => 10,
        _ => 5,
    }
}

#[test]
fn a_request_enters_the_handler_and_is_answered_once() {
    for chip in &CHIPS {
        let (name, flags, bit) = (chip.target.name, chip.flags, request(chip));
        let handler = format!(
            "s_branch 1\ns_branch 99\ns_getreg_b32 s13, hwreg({flags})\n\
            s_setreg_imm32_b32 hwreg({flags}, {bit}, 1), 0\ns_getreg_b32 s14, hwreg({flags})\n\
            s_mov_b64 s[10:11], ttmp[0:1]\n{}\ns_mov_b64 s[20:21], exec\ns_endpgm_saved",
            ready(chip)
        );
        let mut m = machine_of(chip, 128, "s_nop 0\ns_branch -2", Some(&handler));
        assert_eq!(m.outcome(), Outcome::Budget, "{name}");
        let before: Vec<u64> = m.group.waves().iter().map(|w| w.pc).collect();
        let end = m.group.ask_to_save(chip.target, 0x7123_4567_8000);
        let bytes = m.group.bytes_to_save(chip.target);
        assert_eq!(end, Some(0x7123_4567_8000 + bytes), "{name}");
        m.done();
        for (n, (wave, pc)) in m.group.waves().iter().zip(before).enumerate() {
            assert_eq!(wave.state, State::Saved, "{name}");
            assert_eq!([wave.s[13], wave.s[14]], [1 << bit, 0], "{name}: the flag");
            assert_eq!(wave.pair(10), pc, "{name}: no trap's number");
            // Bit 26 of the upper half: the first wave of its workgroup, which lies behind the others.
            let others = m.group.waves().len() as u64 - 1 - n as u64;
            let registers = wave.registers().into();
            let bytes = stored_bytes(chip.target, 64, registers, None);
            let first = u64::from(n == 0) << 58;
            let place = 0x7123_4567_8000 + others * bytes;
            assert_eq!(wave.pair(20), place | first, "{name}");
        }
    }
}

#[test]
fn a_request_in_the_handler_waits_until_it_returns() {
    for chip in &CHIPS {
        // It counts, and halts the wave the first time.
        let handler = format!(
            "s_branch 1\ns_branch 99\ns_add_u32 s15, s15, 1\ns_cmp_eq_u32 s15, 2\ns_cbranch_scc1 8\n\
            s_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\ns_sethalt 1\ns_rfe_b64 [ttmp0, ttmp1]\n\
            s_getreg_b32 s16, hwreg({}, {}, 1)\ns_endpgm_saved",
            chip.state, chip.halt
        );
        let mut m = machine(chip, "s_trap 2", &handler);
        assert_eq!(m.group.run(&mut m.cu, &mut m.memory, 4), Outcome::Budget);
        assert!(m.group.waves()[0].trap.privileged);
        assert!(m.group.ask_to_save(chip.target, 0x1000).is_some());
        m.done();
        // Twice in all, and the second time it is a halted wave's.
        assert_eq!([m.s(15), m.s(16)], [2, 1], "{}", chip.target.name);
    }
}

#[test]
fn a_wave_comes_back_at_the_second_instruction() {
    for chip in &CHIPS {
        let (name, state) = (chip.target.name, chip.state);
        let handler = format!(
            "s_endpgm\ns_branch 0\ns_mov_b64 s[20:21], exec\ns_getreg_b32 s22, hwreg(5)\n\
            s_getreg_b32 s23, hwreg(6)\ns_getpc_b64 ttmp[0:1]\ns_add_u32 ttmp0, ttmp0, 16\n\
            s_setreg_imm32_b32 hwreg({state}, {}, 1), 1\ns_rfe_b64 [ttmp0, ttmp1]\n\
            s_cselect_b32 s24, 1, 0\ns_getreg_b32 s25, hwreg(2, 5, 1)\ns_endpgm",
            chip.scc
        );
        let mut m = machine(chip, "s_nop 0", &handler);
        let saved = Relaunch {
            id: [1, 2, 3],
            vmid: 0,
            lds: 4096,
            handler: Handler {
                entry: m.program - 256 + HANDLER,
                memory: MEMORY,
            },
            doorbell: DOORBELL,
            apertures: Apertures::default(),
            waves: vec![SavedWave {
                registers: 48,
                acc_base: if name == "gfx942" { 20 } else { 48 },
                scratch: (0, 0),
                index: 0,
                ticket: None,
                place: 0x7123_4567_8000,
            }],
        };
        m.group = Workgroup::relaunch(&mut m.cu, &saved).expect("it comes back");
        m.done();
        assert_eq!(m.group.id(), [1, 2, 3]);
        assert_eq!(
            [m.s(20), m.s(21)],
            [0x4567_8000, 0x0400_7123],
            "{name}: the place"
        );
        // gfx9: (48 / 8 - 1) registers, of which (20 / 4 - 1) aren't for accumulation, and 7 * 16 scalar ones;
        // 16 * 256 bytes of LDS. gfx12: 48 / 4 - 1; 8 * 512 bytes.
        let wanted = match name {
            "gfx942" => [(5 << 6) | (4 << 12) | (6 << 24), 16 << 12],
            _ => [11 << 12, 8 << 12],
        };
        assert_eq!([m.s(22), m.s(23)], wanted, "{name}: what is allocated");
        assert_eq!([m.s(24), m.s(25)], [1, 0], "{name}: SCC, and no PRIV");
    }
}

#[test]
fn nobody_is_saved_without_a_handler() {
    for chip in &CHIPS {
        let mut m = machine_with(chip, "s_nop 0\ns_branch -2", None);
        assert_eq!(m.outcome(), Outcome::Budget);
        assert!(m.group.ask_to_save(chip.target, 0x1000).is_none());
        assert_eq!(
            m.outcome(),
            Outcome::Budget,
            "{}: it goes on",
            chip.target.name
        );
        assert_eq!(m.group.waves()[0].trap.flags, 0);
    }
}

/// A program's own message asks for nothing, and its end is an ordinary one.
#[test]
fn a_program_saves_nothing() {
    let [gfx9, gfx12] = &CHIPS;
    let mut m = machine(
        gfx9,
        "s_sendmsg sendmsg(MSG_SAVEWAVE)\ns_mov_b64 s[20:21], exec\ns_endpgm_saved",
        "s_endpgm",
    );
    m.done();
    assert_eq!((m.s(20), m.group.waves()[0].state), (u32::MAX, State::Done));
    let mut m = machine(
        gfx12,
        "s_sendmsg_rtn_b64 s[20:21], sendmsg(MSG_RTN_SAVE_WAVE)\ns_endpgm_saved",
        "s_endpgm",
    );
    m.done();
    assert_eq!(
        ([m.s(20), m.s(21)], m.group.waves()[0].state),
        ([0, 0], State::Done)
    );
}
