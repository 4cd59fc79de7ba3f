// SPDX-License-Identifier: MIT OR Apache-2.0

//! Instructions: what programs may have anything in, in place of code.

use crate::words;
use rkfd_isa::{
    Apertures, Checks, ComputeUnit, Dispatch, Run, Scratch, Target, Workgroup, GFX1201,
};
use rkfd_isa_testkit::{Flat, TARGETS};

/// Bytes of an instruction, at most.
const LONGEST: usize = 12;

/// Words are an instruction of one to three words, whatever follows it, which has a text; or they are none.
pub fn instructions(bytes: &[u8]) {
    let all = words(bytes);
    for target in TARGETS {
        for at in 0..all.len() {
            let word = |n: usize| all.get(at + n).copied().unwrap_or(0);
            let words = [word(0), word(1), word(2)];
            let Ok(inst) = target.decode(words) else {
                continue;
            };
            let size = usize::from(inst.size);
            assert!(size % 4 == 0 && (4..=LONGEST).contains(&size), "{inst:?}");
            let alone = [0, 1, 2].map(|n| if n < size / 4 { words[n] } else { !words[n] });
            let again = target.decode(alone).map(|again| format!("{again:?}"));
            assert_eq!(
                again,
                Ok(format!("{inst:?}")),
                "what follows doesn't matter"
            );
            for lanes in [32, 64] {
                let text = target.text(words, lanes);
                let text = text.map(|text| text.to_string());
                assert!(text.is_some_and(|text| !text.is_empty()), "{words:x?}");
            }
        }
    }
}

/// Where programs have their memory: kernel arguments, scratch, LDS' and scratch's apertures.
const BYTES: usize = 1 << 16;
const APERTURES: Apertures = Apertures {
    shared: 1 << 48,
    private: 2 << 48,
};
/// Bytes of a kernel's descriptor, of LDS, and of a wave's scratch.
const DESCRIPTOR: usize = 64;
const LDS: u32 = 1024;
const SCRATCH: u64 = 4096;
/// Instructions that a program may execute: enough for a loop to come round.
const BUDGET: u64 = 2000;

/// A descriptor and what it takes for code: the workgroup isn't launched, or it ends, goes on or faults. What
/// no device could do (reach other memory, stop the emulator) it can't either.
pub fn programs(bytes: &[u8]) {
    for (n, target) in TARGETS.into_iter().enumerate() {
        launch::<64>(target, bytes, n);
        if target.name == GFX1201.name {
            launch::<32>(target, bytes, n);
        }
    }
}

fn launch<const L: usize>(target: &'static Target, bytes: &[u8], seed: usize)
where
    Workgroup<L>: Run,
{
    if bytes.len() < DESCRIPTOR || bytes.len() > BYTES / 4 {
        return;
    }
    let mut memory = Flat::new(BYTES);
    let code = memory.alloc(bytes.len());
    memory.write(code, bytes);
    let data = memory.alloc(4096);
    let scratch = memory.alloc(2 * SCRATCH as usize);
    let mut cu = ComputeUnit::with_checks(target, Checks::seeded(seed as u64));
    let Ok(kernel) = cu.kernel(&mut memory, 0, code) else {
        return;
    };
    let items = 2 * L as u16;
    let dispatch = Dispatch {
        workgroup_size: [items, 1, 1],
        grid_size: [items.into(), 1, 1],
        group_segment_size: LDS,
        private_segment_size: SCRATCH as u32 / 64,
        kernarg_address: data,
        apertures: APERTURES,
        ..Dispatch::default()
    };
    let scratch = Scratch {
        base: scratch,
        wave_size: SCRATCH,
    };
    let arguments = [0; 16];
    let launched = Workgroup::<L>::launch(&mut cu, &kernel, &dispatch, [0; 3], scratch, &arguments);
    if let Ok(mut workgroup) = launched {
        workgroup.run(&mut cu, &mut memory, BUDGET);
    }
}
