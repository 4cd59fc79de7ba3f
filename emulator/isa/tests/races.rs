// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races of two waves for LDS. That compiled kernels with their barriers have none is kernels.rs' to show.

use rkfd_isa::*;
use rkfd_isa_testkit::*;

const RACES: Checks = Checks {
    waits: true,
    caches: true,
    races: true,
    memory_races: true,
    seed: Some(Checks::SEED),
};

fn ran(target: &'static Target, waves: u16, text: &str) -> Ran {
    let hand = Hand {
        target,
        checks: RACES,
        waves,
        text,
    };
    hand.run()
}

/// Each program and whether it has a race, with `wait` and `barrier` as the chip writes them.
fn hold(target: &'static Target, wait: &str, barrier: &str, names: [&str; 3]) {
    let [load, store, add] = names;
    // v1 is the place of a wave's first lane, v2 the work item's own place, v3 a value.
    let start = "v_lshlrev_b32 v2, 2, v0\nv_mov_b32 v1, 0\nv_mov_b32 v3, 7\n";
    let cases = [
        // Each its own place, and then another wave's.
        (
            format!("{store} v2, v3\n{wait}\n{load} v4, v2\n{wait}"),
            false,
        ),
        (
            format!("{store} v2, v3\n{wait}\n{barrier}\n{load} v4, v1\n{wait}"),
            false,
        ),
        (
            format!("{store} v2, v3\n{wait}\n{load} v4, v1\n{wait}"),
            true,
        ),
        // The barrier does not wait for LDS.
        (
            format!("{store} v2, v3\n{barrier}\n{load} v4, v1\n{wait}"),
            true,
        ),
        (
            format!("{load} v4, v1\n{barrier}\n{store} v2, v3\n{wait}"),
            true,
        ),
        (
            format!("{load} v4, v1\n{wait}\n{barrier}\n{store} v2, v3\n{wait}"),
            false,
        ),
        // A barrier before, and none behind.
        (
            format!("{barrier}\n{store} v2, v3\n{wait}\n{load} v4, v1\n{wait}"),
            true,
        ),
        // Reads, and atomic operations.
        (
            format!("{load} v4, v1\n{wait}\n{load} v5, v1\n{wait}"),
            false,
        ),
        (format!("{add} v1, v3\n{wait}\n{add} v1, v3\n{wait}"), false),
        (format!("{add} v1, v3\n{wait}\n{load} v4, v1\n{wait}"), true),
        (
            format!("{add} v1, v3\n{wait}\n{barrier}\n{load} v4, v1\n{wait}"),
            false,
        ),
        // All to one place, with the same value.
        (format!("{store} v1, v3\n{wait}"), true),
    ];
    for (text, races) in cases {
        let text = format!("{start}{text}");
        let ran_ = ran(target, 2, &text);
        match ran_.outcome {
            Outcome::Done => assert!(!races, "{}: no race in {text}", target.name),
            Outcome::Fault(fault) => {
                assert!(races, "{}: {text}: {fault}", target.name);
                let FaultKind::Race { pc, .. } = fault.kind else {
                    panic!("{}: {text}: {fault}", target.name);
                };
                // Both instructions are accesses of LDS, and named.
                let (other, text) = fault.other.expect("the other one");
                assert_eq!(other, pc);
                let both = [fault.text.expect("text"), text];
                assert!(
                    both.iter().all(|t| t.mnemonic().starts_with("ds_")),
                    "{fault}"
                );
                assert!([pc, fault.pc].iter().all(|pc| ran_.addresses.contains(pc)));
            }
            Outcome::Budget => panic!("{}: {text}", target.name),
        }
        // A wave alone races with nobody.
        assert_eq!(ran(target, 1, &text).outcome, Outcome::Done, "{text}");
    }
}

#[test]
fn gfx942() {
    let names = ["ds_read_b32", "ds_write_b32", "ds_add_u32"];
    hold(&GFX942, "s_waitcnt lgkmcnt(0)", "s_barrier", names);
}

#[test]
fn gfx1201() {
    let names = ["ds_load_b32", "ds_store_b32", "ds_add_u32"];
    let barrier = "s_barrier_signal -1\ns_barrier_wait -1";
    hold(&GFX1201, "s_wait_dscnt 0x0", barrier, names);
}
