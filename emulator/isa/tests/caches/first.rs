// SPDX-License-Identifier: MIT OR Apache-2.0
//! First-level caches: a program that does not invalidate what another agent has changed reads what was there
//! before. What invalidates is LLVM's AMDGPUUsage, "Memory Model gfx942" and "Memory Model gfx12":
//!
//! * gfx942: "buffer_inv sc1=1: agent scope", "buffer_inv sc0=1 sc1=1: system scope"; loads of agent scope have
//!   sc1=1 and of system scope sc0=1 sc1=1; "The vector memory operations of the wavefronts of the same work-group
//!   use the same L1".
//! * gfx12: "global_inv scope:SCOPE_DEV" and "SCOPE_SYS"; loads have the scope of the operation.
//! * Both: scalar loads use a cache that vector stores don't change; "constant memory ... scalar memory
//!   operations are only used if it doesn't change during the kernel".

use super::{Machine, NEW};
use rkfd_isa::*;

/// What instructions of a chip are called.
struct Names {
    target: &'static Target,
    /// Loads the dword at s[0:1] to v2, v3.
    load: [&'static str; 2],
    wait: &'static str,
    scalar_wait: &'static str,
    store: &'static str,
    message: &'static str,
}

static GFX9: Names = Names {
    target: &GFX942,
    load: [
        "global_load_dword v2, v1, s[0:1]",
        "global_load_dword v3, v1, s[0:1]",
    ],
    wait: "s_waitcnt vmcnt(0)",
    scalar_wait: "s_waitcnt lgkmcnt(0)",
    store: "global_store_dword v1, v3, s[0:1] offset:256",
    message: "s_sendmsg sendmsg(MSG_INTERRUPT)",
};

static GFX12: Names = Names {
    target: &GFX1201,
    load: [
        "global_load_b32 v2, v1, s[0:1]",
        "global_load_b32 v3, v1, s[0:1]",
    ],
    wait: "s_wait_loadcnt 0x0",
    scalar_wait: "s_wait_kmcnt 0x0",
    store: "global_store_b32 v1, v3, s[0:1] offset:256",
    message: "s_sendmsg sendmsg(MSG_INTERRUPT)",
};

/// What the program has stored.
fn result(target: &'static Target, checks: Checks, text: &str) -> u32 {
    let mut machine = Machine::new();
    machine.run(&mut ComputeUnit::with_checks(target, checks), text);
    machine.word(64)
}

/// A load, a change by another agent, what is done about it, and another load.
fn reloaded(names: &Names, checks: Checks, about: &str, scope: &str) -> u32 {
    let Names {
        target,
        load: [first, second],
        wait,
        store,
        message,
        ..
    } = names;
    let text = format!(
        "v_mov_b32 v1, 0\n{first}\n{wait}\n{message}\n{about}\n{wait}\n{second} {scope}\n{wait}\n{store}"
    );
    result(target, checks, &text)
}

#[test]
fn a_vector_load_is_old_until_it_or_an_invalidation_reaches_beyond_the_compute_unit() {
    let cases = [
        (&GFX9, "s_nop 0", "", 0),
        (&GFX9, "s_nop 0", "nt", 0),
        (&GFX9, "s_nop 0", "sc1", NEW),
        (&GFX9, "s_nop 0", "sc0 sc1", NEW),
        (&GFX9, "buffer_inv", "", 0),
        (&GFX9, "buffer_inv sc1", "", NEW),
        (&GFX9, "buffer_inv sc0 sc1", "", NEW),
        // Writing back and the scalar cache's invalidation are no help.
        (&GFX9, "buffer_wbl2 sc0 sc1", "", 0),
        (&GFX9, "s_dcache_inv", "", 0),
        (&GFX12, "s_nop 0", "", 0),
        (&GFX12, "s_nop 0", "scope:SCOPE_DEV", NEW),
        (&GFX12, "s_nop 0", "scope:SCOPE_SYS", NEW),
        (&GFX12, "global_inv scope:SCOPE_CU", "", 0),
        (&GFX12, "global_inv scope:SCOPE_DEV", "", NEW),
        (&GFX12, "global_inv scope:SCOPE_SYS", "", NEW),
        (&GFX12, "global_wb scope:SCOPE_SYS", "", 0),
        (&GFX12, "s_dcache_inv", "", 0),
    ];
    for (names, about, scope, expected) in cases {
        let name = names.target.name;
        let got = reloaded(names, Checks::default(), about, scope);
        assert_eq!(got, expected, "{name}: {about}, then a load {scope}");
        let got = reloaded(names, Checks::NONE, about, scope);
        assert_eq!(got, NEW, "{name}: {about}, without caches");
    }
}

#[test]
fn a_scalar_load_is_old_until_the_scalar_cache_is_invalidated() {
    for (names, about, expected) in [
        (&GFX9, "s_nop 0", 0),
        (&GFX9, "buffer_inv sc0 sc1", 0),
        (&GFX9, "s_dcache_inv", NEW),
        (&GFX12, "s_nop 0", 0),
        (&GFX12, "global_inv scope:SCOPE_SYS", 0),
        (&GFX12, "s_dcache_inv", NEW),
    ] {
        let Names {
            target,
            wait,
            scalar_wait,
            store,
            message,
            ..
        } = names;
        let load = "s_load_b32";
        let load = if target.name == "gfx942" {
            "s_load_dword"
        } else {
            load
        };
        let text = format!(
            "{load} s4, s[0:1], 0x0\n{scalar_wait}\n{message}\n{about}\n{wait}\n{scalar_wait}\n\
             {load} s5, s[0:1], 0x0\n{scalar_wait}\nv_mov_b32 v1, 0\nv_mov_b32 v3, s5\n{store}"
        );
        let got = result(target, Checks::default(), &text);
        assert_eq!(got, expected, "{}: {about}", target.name);
    }
}

#[test]
fn stores_and_atomics_of_the_compute_unit_are_seen_by_its_loads() {
    for (names, change) in [
        (&GFX9, "global_store_dword v1, v4, s[0:1]"),
        (&GFX9, "global_store_byte v1, v4, s[0:1]"),
        (&GFX9, "global_atomic_add v1, v4, s[0:1]"),
        (&GFX12, "global_store_b32 v1, v4, s[0:1]"),
        (&GFX12, "global_store_b8 v1, v4, s[0:1]"),
        (&GFX12, "global_atomic_add_u32 v1, v4, s[0:1]"),
    ] {
        let about = format!("v_mov_b32 v4, 1\n{change}");
        let silent = Names {
            message: "s_nop 0",
            ..*names
        };
        let wait = match names.target.name {
            "gfx942" => "s_nop 0",
            _ => "s_wait_storecnt 0x0",
        };
        let got = reloaded(&silent, Checks::default(), &format!("{about}\n{wait}"), "");
        assert_eq!(got, 1, "{}: {change}", names.target.name);
    }
}

#[test]
fn the_next_dispatch_inherits_what_no_acquire_has_dropped() {
    for names in [&GFX9, &GFX12] {
        let Names {
            target,
            load: [_, load],
            wait,
            scalar_wait,
            store,
            ..
        } = names;
        let scalar = match target.name {
            "gfx942" => "s_load_dword s4, s[0:1], 0x0",
            _ => "s_load_b32 s4, s[0:1], 0x0",
        };
        let vector = format!("v_mov_b32 v1, 0\n{load}\n{wait}\n{store}");
        let scalar = format!("{scalar}\n{scalar_wait}\nv_mov_b32 v1, 0\nv_mov_b32 v3, s4\n{store}");
        for (text, counts) in [(vector, [1, 0]), (scalar, [0, 1])] {
            let mut machine = Machine::new();
            let mut cu = ComputeUnit::for_target(target);
            machine.run(&mut cu, &text);
            machine.device.interrupt(0, 0, false);
            machine.run(&mut cu, &text);
            assert_eq!(machine.word(64), 0, "{}: {text}", target.name);
            let [vector, scalar] = counts;
            cu.acquired([scalar, vector]);
            machine.run(&mut cu, &text);
            assert_eq!(machine.word(64), 0, "{}: of the other: {text}", target.name);
            cu.acquired([1, 1]);
            machine.run(&mut cu, &text);
            assert_eq!(machine.word(64), NEW, "{}: {text}", target.name);
        }
    }
}
