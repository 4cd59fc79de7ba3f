// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that a program uses before it has waited for the memory operation that writes them. What is
//! right and what is wrong comes from the manuals (CDNA3 ISA, section 4.4; RDNA4 ISA, section 5.2) and
//! from where LLVM's SIInsertWaitcnts puts waits; that compiled programs are right is kernels.rs' and
//! extended.rs' to show.

use rkfd_isa::decode::counters::Counter;
use rkfd_isa::decode::Register;
use rkfd_isa::*;
use rkfd_isa_testkit::*;

/// A program, and what is wrong with it: the register, the counter, the number of the instruction that writes
/// it, and of the one that comes too early.
type Case = (&'static str, Option<(&'static str, Counter, usize, usize)>);

fn ran(target: &'static Target, text: &str, checks: Checks) -> Ran {
    let hand = Hand {
        target,
        checks,
        waves: 1,
        text,
    };
    hand.run()
}

fn hold(target: &'static Target, cases: &[Case]) {
    for (text, wrong) in cases {
        let ran_ = ran(target, text, Checks::default());
        match (ran_.outcome, wrong) {
            (Outcome::Done, None) => {}
            (Outcome::Fault(fault), Some((name, counter, from, at))) => {
                let FaultKind::Unwaited {
                    register,
                    counter: found,
                    pc,
                } = fault.kind
                else {
                    panic!("{}: {text}: {fault}", target.name);
                };
                assert_eq!(
                    (Register(register).to_string().as_str(), found, pc, fault.pc),
                    (*name, *counter, ran_.addresses[*from], ran_.addresses[*at]),
                    "{}: {text}: {fault}",
                    target.name
                );
            }
            (Outcome::Fault(fault), None) => panic!("{}: {text}: {fault}", target.name),
            (outcome, _) => panic!("{}: {text}: {outcome:?}", target.name),
        }
        let unchecked = ran(target, text, Checks::NONE).outcome;
        assert_eq!(unchecked, Outcome::Done, "{}: {text}", target.name);
    }
}

#[test]
fn gfx942() {
    use Counter::{Expcnt, Lgkmcnt, Vmcnt};
    const LOAD: &str = "v_mov_b32 v1, 0\nglobal_load_dword v2, v1, s[0:1]\n";
    let after = |rest: &str| -> &'static str { format!("{LOAD}{rest}").leak() };
    hold(
        &GFX942,
        &[
            (after("v_add_u32 v3, v2, v1"), Some(("v2", Vmcnt, 1, 2))),
            (after("s_waitcnt vmcnt(0)\nv_add_u32 v3, v2, v1"), None),
            (after("s_waitcnt lgkmcnt(0)\nv_add_u32 v3, v2, v1"), Some(("v2", Vmcnt, 1, 3))),
            // The address is read when the load is issued, the data of a store as well.
            (after("v_mov_b32 v1, 5\ns_nop 0"), None),
            ("v_mov_b32 v1, 0\nglobal_store_dword v1, v1, s[0:1]\nv_mov_b32 v1, 5", None),
            // Written by both, in an order that nobody knows.
            (after("v_mov_b32 v2, 5"), Some(("v2", Vmcnt, 1, 2))),
            (after("global_load_dword v2, v1, s[0:1] offset:4"), None),
            (after("ds_read_b32 v2, v1"), Some(("v2", Vmcnt, 1, 2))),
            // As data, and as part of a pair.
            (after("global_store_dword v1, v2, s[0:1]"), Some(("v2", Vmcnt, 1, 2))),
            (after("v_lshlrev_b64 v[4:5], 1, v[2:3]"), Some(("v2", Vmcnt, 1, 2))),
            // Loads and stores of vector memory complete in order.
            (after("global_load_dword v3, v1, s[0:1]\ns_waitcnt vmcnt(1)\nv_mov_b32 v4, v2"), None),
            (
                after("global_load_dword v3, v1, s[0:1]\ns_waitcnt vmcnt(1)\nv_mov_b32 v4, v3"),
                Some(("v3", Vmcnt, 2, 4)),
            ),
            (after("global_store_dword v1, v1, s[0:1]\ns_waitcnt vmcnt(1)\nv_mov_b32 v4, v2"), None),
            // What waits for nothing: barriers, other counters, the end.
            (after("s_barrier\nv_mov_b32 v4, v2"), Some(("v2", Vmcnt, 1, 3))),
            (after("s_nop 7"), None),
            // Lanes that are off load nothing.
            (
                "s_mov_b64 exec, 0\nglobal_load_dword v2, v1, s[0:1]\ns_mov_b64 exec, -1\nv_mov_b32 v3, v2",
                None,
            ),
            ("v_mov_b32 v1, 0\nglobal_load_dword a2, v1, s[0:1]\nv_accvgpr_read_b32 v3, a2", Some(("a2", Vmcnt, 1, 2))),
            // LDS in order, scalar memory in none, and in none with each other.
            ("v_mov_b32 v1, 0\nds_read_b32 v2, v1\nv_mov_b32 v3, v2", Some(("v2", Lgkmcnt, 1, 2))),
            ("v_mov_b32 v1, 0\nds_read_b32 v2, v1\nds_read_b32 v3, v1\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v2", None),
            ("s_load_dword s4, s[0:1], 0\ns_mov_b32 s5, s4", Some(("s4", Lgkmcnt, 0, 1))),
            ("s_load_dword s4, s[0:1], 0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s5, s4", None),
            (
                "s_load_dword s4, s[0:1], 0\ns_load_dword s5, s[0:1], 4\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s6, s4",
                Some(("s4", Lgkmcnt, 0, 3)),
            ),
            (
                "v_mov_b32 v1, 0\nds_read_b32 v2, v1\ns_load_dword s4, s[0:1], 0\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v3, v2",
                Some(("v2", Lgkmcnt, 1, 4)),
            ),
            ("s_load_dwordx2 vcc, s[0:1], 0\ns_cbranch_vccnz 0", Some(("vcc_lo", Lgkmcnt, 0, 1))),
            ("s_memtime s[4:5]\ns_mov_b32 s6, s5", Some(("s5", Lgkmcnt, 0, 1))),
            // A flat load shows in both counters, its data only in that of where it went.
            (
                "v_mov_b32 v2, s0\nv_mov_b32 v3, s1\nflat_load_dword v4, v[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32 v5, v4",
                None,
            ),
            (
                "v_mov_b32 v2, s0\nv_mov_b32 v3, s1\nflat_load_dword v4, v[2:3]\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v5, v4",
                Some(("v4", Vmcnt, 2, 4)),
            ),
            (
                "v_mov_b32 v2, 0\nv_mov_b32 v3, 0x10000\nflat_load_dword v4, v[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32 v5, v4",
                Some(("v4", Lgkmcnt, 2, 4)),
            ),
            // Global wave synchronisation reads its register late.
            ("v_mov_b32 v2, 0\nds_gws_barrier v2 gds\nv_mov_b32 v2, 1", Some(("v2", Expcnt, 1, 2))),
            ("v_mov_b32 v2, 0\nds_gws_barrier v2 gds\nv_mov_b32 v3, v2", None),
            ("v_mov_b32 v2, 0\nds_gws_barrier v2 gds\ns_waitcnt expcnt(0)\nv_mov_b32 v2, 1", None),
        ],
    );
}

#[test]
fn gfx1201() {
    use Counter::{Dscnt, Kmcnt, Loadcnt};
    const LOAD: &str = "v_mov_b32 v1, 0\nglobal_load_b32 v2, v1, s[0:1]\n";
    let after = |rest: &str| -> &'static str { format!("{LOAD}{rest}").leak() };
    const USE: &str = "\nv_mov_b32 v4, v2";
    let used = |rest: &str| -> &'static str { format!("{LOAD}{rest}{USE}").leak() };
    let early = |at| Some(("v2", Loadcnt, 1, at));
    const LOAD_V0_THEN_MOVES: &str = "v_mov_b32 v1, 0\nglobal_load_b32 v0, v1, s[0:1]\n\
        v_dual_mov_b32 v4, s0 :: v_dual_mov_b32 v5, s1";
    const LOAD_V0_THEN_ADDS: &str = "v_mov_b32 v1, 0\nglobal_load_b32 v0, v1, s[0:1]\n\
        v_dual_add_f32 v4, s0, v0 :: v_dual_mov_b32 v5, s1";
    hold(
        &GFX1201,
        &[
            (used("s_nop 0"), early(3)),
            // The bits of a move's second source are those of v0.
            (LOAD_V0_THEN_MOVES, None),
            (LOAD_V0_THEN_ADDS, Some(("v0", Loadcnt, 1, 2))),
            (used("s_wait_loadcnt 0x0"), None),
            (used("s_wait_idle"), None),
            (used("s_wait_loadcnt_dscnt 0x3f"), None),
            (used("s_wait_loadcnt_dscnt 0x100"), early(3)),
            // None of these counts it.
            (used("s_wait_dscnt 0x0"), early(3)),
            (used("s_wait_kmcnt 0x0"), early(3)),
            (used("s_wait_storecnt 0x0"), early(3)),
            (used("s_wait_samplecnt 0x0"), early(3)),
            (used("s_wait_alu 0x0"), early(3)),
            (used("s_barrier_signal -1\ns_barrier_wait -1"), early(4)),
            // Stores are counted apart, invalidations with loads.
            (used("global_store_b32 v1, v1, s[0:1]\ns_wait_loadcnt 0x1"), early(4)),
            (used("global_load_b32 v3, v1, s[0:1]\ns_wait_loadcnt 0x1"), None),
            (used("global_inv scope:SCOPE_DEV\ns_wait_loadcnt 0x1"), None),
            (used("global_wb scope:SCOPE_DEV\ns_wait_loadcnt 0x1"), early(4)),
            // An atomic that returns is a load, another one is a store.
            ("v_mov_b32 v1, 0\nglobal_atomic_add_u32 v2, v1, v1, s[0:1] th:TH_ATOMIC_RETURN\ns_wait_storecnt 0x0\nv_mov_b32 v3, v2", early(3)),
            ("v_mov_b32 v1, 0\nglobal_atomic_add_u32 v1, v1, s[0:1]\nv_mov_b32 v1, 1", None),
            (after("v_mov_b32 v1, 5"), None),
            (after("v_mov_b32 v2, 5"), early(2)),
            (after("v_dual_mov_b32 v4, v1 :: v_dual_mov_b32 v5, v2"), early(2)),
            ("v_mov_b32 v1, 0\nds_load_b32 v2, v1\ns_wait_loadcnt 0x0\nv_mov_b32 v3, v2", Some(("v2", Dscnt, 1, 3))),
            ("v_mov_b32 v1, 0\nds_load_b32 v2, v1\nds_load_b32 v3, v1\ns_wait_dscnt 0x1\nv_mov_b32 v4, v2", None),
            ("v_mov_b32 v1, 0\nds_load_b32 v2, v1\ns_wait_storecnt_dscnt 0x3f00\nv_mov_b32 v4, v2", None),
            // Scalar memory has a counter of its own, and no order.
            ("s_load_b32 s4, s[0:1], 0x0\ns_wait_dscnt 0x0\ns_mov_b32 s5, s4", Some(("s4", Kmcnt, 0, 2))),
            ("s_load_b32 s4, s[0:1], 0x0\ns_wait_kmcnt 0x0\ns_mov_b32 s5, s4", None),
            (
                "s_load_b32 s4, s[0:1], 0x0\ns_load_b32 s5, s[0:1], 0x4\ns_wait_kmcnt 0x1\ns_mov_b32 s6, s4",
                Some(("s4", Kmcnt, 0, 3)),
            ),
            ("s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_REALTIME)\ns_mov_b32 s6, s5", Some(("s5", Kmcnt, 0, 1))),
            // A flat load completes in two counters, its data in that of where it went.
            (
                "v_mov_b32 v2, s0\nv_mov_b32 v3, s1\nflat_load_b32 v4, v[2:3]\ns_wait_dscnt 0x0\nv_mov_b32 v5, v4",
                Some(("v4", Loadcnt, 2, 4)),
            ),
            (
                "v_mov_b32 v2, 0\nv_mov_b32 v3, 0x10000\nflat_load_b32 v4, v[2:3]\ns_wait_loadcnt 0x0\nv_mov_b32 v5, v4",
                Some(("v4", Dscnt, 2, 4)),
            ),
        ],
    );
}

/// More loads than the counter has room for: the first ones have completed when the last is issued.
#[test]
fn a_full_counter_shows_something() {
    let loads: Vec<_> = (3..18).map(|n| format!("ds_read_b32 v{n}, v1\n")).collect();
    let loads = loads.concat();
    let text =
        |more: &str| format!("v_mov_b32 v1, 0\nds_read_b32 v2, v1\n{loads}{more}v_mov_b32 v20, v2");
    let early = ran(&GFX942, &text(""), Checks::default()).outcome;
    assert_eq!(early, Outcome::Done, "lgkmcnt counts to 15");
    let fewer = text("").replace("ds_read_b32 v17, v1\n", "");
    let outcome = ran(&GFX942, &fewer, Checks::default()).outcome;
    assert!(matches!(outcome, Outcome::Fault(_)), "{outcome:?}");
}

/// The report has both instructions.
#[test]
fn the_report_names_both_instructions() {
    let text = "v_mov_b32 v1, 0\nglobal_load_dword v2, v1, s[0:1]\nv_add_u32_e32 v3, v2, v1";
    let ran = ran(&GFX942, text, Checks::default());
    let Outcome::Fault(fault) = ran.outcome else {
        panic!("{:?}", ran.outcome);
    };
    let report = fault.to_string();
    for part in [
        "v2 is used before a wait for vmcnt",
        "v_add_u32_e32 v3, v2, v1",
        "global_load_dword v2, v1, s[0:1]",
        &format!("{:#x}", ran.addresses[1]),
        &format!("{:#x}", ran.addresses[2]),
    ] {
        assert!(report.contains(part), "{part} in {report}");
    }
}
