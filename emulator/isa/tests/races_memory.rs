// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races of two waves for memory, and programs that have none: what orders accesses is from LLVM's AMDGPUUsage ("Memory
//! Model gfx942", "Memory Model gfx12").

use rkfd_isa::*;
use rkfd_isa_testkit::*;

/// Some seeds, since a wave may be through before the other begins.
const SEEDS: u64 = 8;

fn ran(target: &'static Target, seed: u64, text: &str) -> Ran {
    let hand = Hand {
        target,
        checks: Checks {
            memory_races: true,
            ..Checks::seeded(seed)
        },
        waves: 2,
        text,
    };
    hand.run()
}

/// What a chip calls things.
struct Names {
    target: &'static Target,
    load: &'static str,
    load_byte: &'static str,
    store: &'static str,
    store_byte: &'static str,
    add: &'static str,
    lds_load: &'static str,
    lds_store: &'static str,
    /// The scope of a workgroup, and of the device.
    group: &'static str,
    device: &'static str,
    wait: &'static str,
    barrier: &'static str,
    fence: &'static str,
}

/// The chips.
fn chips() -> [Names; 2] {
    let gfx942 = Names {
        target: &GFX942,
        load: "global_load_dword",
        load_byte: "global_load_ubyte",
        store: "global_store_dword",
        store_byte: "global_store_byte",
        add: "global_atomic_add",
        lds_load: "ds_read_b32",
        lds_store: "ds_write_b32",
        group: "sc0",
        device: "sc1",
        wait: "s_waitcnt vmcnt(0) lgkmcnt(0)",
        barrier: "s_barrier",
        fence: "buffer_inv sc1",
    };
    let gfx1201 = Names {
        target: &GFX1201,
        load: "global_load_b32",
        load_byte: "global_load_u8",
        store: "global_store_b32",
        store_byte: "global_store_b8",
        add: "global_atomic_add_u32",
        lds_load: "ds_load_b32",
        lds_store: "ds_store_b32",
        group: "scope:SCOPE_SE",
        device: "scope:SCOPE_DEV",
        wait: "s_wait_loadcnt 0x0\ns_wait_storecnt 0x0\ns_wait_dscnt 0x0",
        barrier: "s_barrier_signal -1\ns_barrier_wait -1",
        fence: "global_inv scope:SCOPE_DEV",
    };
    [gfx942, gfx1201]
}

impl Names {
    fn lanes(&self) -> usize {
        match self.target.name {
            "gfx942" => 64,
            _ => 32,
        }
    }

    /// v2 is the work item's own place of 4 bytes, v3 another value for each, which is nowhere in memory, v1 the first
    /// place, v5 one behind all, v6 a byte of its own. SCC is set in the first wave.
    fn start(&self) -> String {
        format!(
            "v_lshlrev_b32 v2, 2, v0\nv_mov_b32 v1, 0\nv_xor_b32 v3, 0x5555, v0\nv_mov_b32 v5, 0x8000\n\
             v_mov_b32 v6, v0\nv_mov_b32 v7, 7\nv_readfirstlane_b32 s4, v0\ns_cmp_lt_u32 s4, {}\n",
            self.lanes()
        )
    }

    /// How many dwords a program has.
    fn dwords(&self, text: &str) -> usize {
        assemble(self.target, self.lanes(), text).len() / 4
    }

    /// A program of which the first wave does one thing and the other one another.
    fn apart(&self, first: &str, other: &str) -> String {
        let [over, beyond] = [first, other].map(|text| self.dwords(text));
        format!(
            "s_cbranch_scc0 {}\n{first}\ns_branch {beyond}\n{other}\ns_nop 0",
            over + 1
        )
    }

    /// Does something over and over until it makes v4 something else than 0.
    fn again(&self, text: &str) -> String {
        let text = format!("{text}\nv_readfirstlane_b32 s5, v4\ns_cmp_eq_u32 s5, 0");
        let back = 0x1_0000 - (self.dwords(&text) + 1);
        format!("{text}\ns_cbranch_scc1 {back}")
    }
}

/// How many seeds show a race. Both instructions must be named.
fn races(names: &Names, text: &str) -> u64 {
    let target = names.target;
    let text = format!("{}{text}", names.start());
    let mut found = 0;
    for seed in 0..SEEDS {
        let ran_ = ran(target, seed, &text);
        match ran_.outcome {
            Outcome::Done => {}
            Outcome::Fault(fault) => {
                let FaultKind::Race { space, pc, .. } = fault.kind else {
                    panic!("{}: {text}: {fault}", target.name);
                };
                assert_eq!(space, Space::Memory, "{fault}");
                let (at, other) = fault.other.expect("the other one");
                assert_eq!(at, pc);
                let both = [fault.text.expect("text"), other];
                assert!(
                    both.iter().all(|t| t.mnemonic().starts_with("global_")),
                    "{fault}"
                );
                assert!([pc, fault.pc].iter().all(|pc| ran_.addresses.contains(pc)));
                let written = fault.to_string();
                assert!(written.contains("race for memory at 0x"), "{written}");
                assert!(
                    both.iter().all(|t| written.contains(&t.to_string())),
                    "{written}"
                );
                found += 1;
            }
            Outcome::Budget => panic!("{}: {text}", target.name),
        }
    }
    // Nobody looks.
    let unchecked = Hand {
        target,
        checks: Checks::NONE,
        waves: 2,
        text: &text,
    };
    assert_eq!(unchecked.run().outcome, Outcome::Done, "{text}");
    found
}

fn hold(names: &Names) {
    let Names {
        load,
        load_byte,
        store,
        store_byte,
        add,
        lds_load,
        lds_store,
        group,
        device,
        wait,
        barrier,
        fence,
        ..
    } = names;
    let right = [
        // Each its own place; reads of one; neighbours in one dword.
        format!("{store} v2, v3, s[0:1]\n{load} v4, v2, s[0:1]\n{wait}"),
        format!("{load} v4, v1, s[0:1]\n{wait}"),
        format!("{store_byte} v6, v3, s[0:1]\n{load_byte} v4, v6, s[0:1]\n{wait}"),
        // The same to one place, once more, and read.
        format!("{store} v1, v7, s[0:1]\n{store} v1, v7, s[0:1]\n{load} v4, v1, s[0:1]\n{wait}"),
        // Barriers between them, in both directions.
        format!("{store} v2, v3, s[0:1]\n{wait}\n{barrier}\n{load} v4, v1, s[0:1]\n{wait}"),
        format!(
            "{load} v4, v1, s[0:1]\n{wait}\n{barrier}\n{store} v2, v3, s[0:1]\n{wait}\n{barrier}\n\
             {load} v4, v1, s[0:1]\n{wait}"
        ),
        // Atomic operations, also beside plain loads; accesses of a scope.
        format!("{add} v1, v3, s[0:1]\n{wait}\n{load} v4, v1, s[0:1]\n{wait}"),
        format!("{store} v1, v3, s[0:1] {group}\n{wait}\n{load} v4, v1, s[0:1] {group}\n{wait}"),
        // A wave that has ended before the other one passes the barrier.
        names.apart(
            &format!("{store} v1, v3, s[0:1]\n{wait}"),
            &format!("{barrier}\n{load} v4, v1, s[0:1]\n{wait}"),
        ),
    ];
    for text in right {
        assert_eq!(races(names, &text), 0, "{}: {text}", names.target.name);
    }
    // A flag for which a wave waits before it reads what the other one has stored: by an atomic operation, of the
    // workgroup's scope, of the device's with a fence, and in LDS.
    let flags = [
        (
            format!("{add} v5, v7, s[0:1]"),
            format!("{load} v4, v5, s[0:1] {device}"),
        ),
        (
            format!("{store} v5, v7, s[0:1] {group}"),
            format!("{load} v4, v5, s[0:1] {group}"),
        ),
        (
            format!("{store} v5, v7, s[0:1] {device}"),
            format!("{load} v4, v5, s[0:1] {device}\n{wait}\n{fence}"),
        ),
        (format!("{lds_store} v1, v7"), format!("{lds_load} v4, v1")),
    ];
    for (set, look) in flags {
        // The flag is cleared first: memory and LDS begin with something else.
        let clear = format!("{lds_store} v1, v1\n{store} v5, v1, s[0:1]\n{wait}\n{barrier}\n");
        let look = names.again(&format!("{look}\n{wait}"));
        let text = names.apart(
            &format!("{store} v2, v3, s[0:1]\n{wait}\n{set}\n{wait}"),
            &format!("{look}\n{load} v4, v1, s[0:1]\n{wait}"),
        );
        // The comparison of the start is kept over the barrier.
        let text = clear + &text;
        assert_eq!(races(names, &text), 0, "{}: {text}", names.target.name);
    }
    let wrong = [
        // One wave's place is read by the other, or written; a byte of a dword is.
        format!("{store} v2, v3, s[0:1]\n{wait}\n{load} v4, v1, s[0:1]\n{wait}"),
        format!("{load} v4, v1, s[0:1]\n{wait}\n{store} v2, v3, s[0:1]\n{wait}"),
        format!("{store} v1, v3, s[0:1]\n{wait}"),
        format!("{store_byte} v2, v3, s[0:1]\n{wait}\n{load} v4, v1, s[0:1]\n{wait}"),
        // A barrier before, and none behind.
        format!("{barrier}\n{store} v2, v3, s[0:1]\n{wait}\n{load} v4, v1, s[0:1]\n{wait}"),
        // An atomic operation of one wave alone orders nothing.
        names.apart(
            &format!("{store} v1, v3, s[0:1]\n{wait}"),
            &format!("{add} v5, v3, s[0:1]\n{wait}\n{load} v4, v1, s[0:1]\n{wait}"),
        ),
    ];
    for text in wrong {
        let found = races(names, &text);
        assert!(found > SEEDS / 2, "{}: {found}: {text}", names.target.name);
    }
}

#[test]
fn what_nothing_orders_is_a_race() {
    chips().iter().for_each(hold);
}

/// Between the waves of a workgroup gfx942's barrier orders stores that nobody has waited for. On gfx1201, whose waves
/// may be on two compute units, each must be waited for in its own counter.
#[test]
fn a_barrier_orders_what_was_waited_for() {
    for names in chips() {
        let Names {
            load,
            store,
            wait,
            barrier,
            ..
        } = names;
        let stored = |wait: &str| {
            format!("{store} v2, v3, s[0:1]\n{wait}\n{barrier}\n{load} v4, v1, s[0:1]")
        };
        let loaded = |wait: &str| {
            format!("{load} v4, v1, s[0:1]\n{wait}\n{barrier}\n{store} v2, v3, s[0:1]")
        };
        let found = |text: String| races(&names, &format!("{text}\n{wait}"));
        if names.target.name == "gfx942" {
            assert_eq!(found(stored("s_nop 0")), 0);
            assert_eq!(found(loaded("s_nop 0")), 0);
            continue;
        }
        assert!(found(stored("s_nop 0")) > 0);
        assert!(found(stored("s_wait_loadcnt 0x0")) > 0);
        assert_eq!(found(stored("s_wait_storecnt 0x0")), 0);
        assert!(found(loaded("s_nop 0")) > 0);
        assert!(found(loaded("s_wait_storecnt 0x0")) > 0);
        assert_eq!(found(loaded("s_wait_loadcnt 0x0")), 0);
    }
}
