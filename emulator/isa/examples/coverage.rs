// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much of LLVM's instruction tables is executed: make isa-coverage
//!
//! Every encoding of LLVM's disassembler tests is executed once by a wave with arbitrary registers.
//! It counts as refused if the compute unit reports it as illegal or not supported; a memory fault,
//! the wave's end or a trap counts as executed. A mnemonic that the tests lack is tried with its table
//! row's fixed bits, the others zero; in addition, typed buffers are tried with a format of one float,
//! and s_setreg with MODE. The device's global semaphores and barriers are open. A mnemonic is
//! implemented if one of its encodings is executed, and whole if all are.

use rkfd_isa::decode::table::Family;
use rkfd_isa::exec::{execute, Context};
use rkfd_isa::memory::Tlb;
use rkfd_isa::wave::{Barrier, State, Wave};
use rkfd_isa::{FaultKind, Target};
use rkfd_isa_testkit::{suite, Flat, Random, APERTURES, TARGETS};
use std::collections::{BTreeMap, BTreeSet};

/// How many of a mnemonic's encodings were executed, and why others were refused.
#[derive(Default)]
struct Count {
    executed: usize,
    refused: BTreeMap<String, usize>,
}

/// Tries a wave that has arrived at its barrier, then one that has not.
fn refused<const L: usize>(target: &Target, words: [u32; 3], memory: &mut Flat) -> Option<String> {
    refused_at::<L>(target, words, memory, Barrier::Signalled)?;
    refused_at::<L>(target, words, memory, Barrier::Idle)
}

/// Executes one instruction on a wave that has every register.
fn refused_at<const L: usize>(
    target: &Target,
    words: [u32; 3],
    memory: &mut Flat,
    barrier: Barrier,
) -> Option<String> {
    let inst = match target.decode(words) {
        Ok(inst) => inst,
        Err(error) => return Some(format!("{error:?}")),
    };
    if let Some(what) = inst.unsupported() {
        return Some(what.into());
    }
    let mut random = Random(7);
    let mut wave = Wave::<L> {
        // Any four are a buffer's descriptor.
        s: std::array::from_fn(|_| random.u32() & 0x3fff_ffff),
        v: vec![[0; L]; 512 + Wave::<L>::STAGES],
        acc_base: 256,
        pc: 0,
        scc: false,
        mode: 0xf0,
        state: State::Running,
        barrier,
        apertures: APERTURES,
        scratch: (memory.next, 4096),
        index: 0,
        ticket: None,
        trap: Default::default(),
    };
    // The word with a buffer's format: one float, which is X.
    let format = if target.name == "gfx942" {
        (4 << 15) | (7 << 12)
    } else {
        22 << 12
    };
    for last in wave.s.iter_mut().skip(3).step_by(4) {
        *last = 4 | format;
    }
    // An index register within bounds.
    wave.s[124] = 1;
    let mut tlb = Tlb::default();
    let mut lds = vec![0; 65536];
    let mut context = Context {
        env: memory,
        caches: None,
        tlb: &mut tlb,
        lds: &mut lds,
        vmid: 0,
        others: Default::default(),
        watching: Default::default(),
    };
    match execute(&mut wave, &inst, &mut context) {
        Err(kind @ (FaultKind::Illegal | FaultKind::Unsupported(_))) => Some(kind.to_string()),
        _ => None,
    }
}

fn measure(target: &'static Target) -> BTreeMap<(String, &'static str), Count> {
    let found: Vec<Vec<u8>> = suite::inputs(&suite::folder(), suite::relatives(target))
        .into_iter()
        .collect();
    let lanes = if target.name == "gfx942" { 64 } else { 32 };
    let verdicts = suite::referee(target, lanes, &found);
    let mut counts: BTreeMap<(String, &'static str), Count> = BTreeMap::new();
    let mut memory = Flat::new(1 << 16);
    let mut one = |words: [u32; 3], family: Family, name: &'static str| {
        let refusal = if target.name == "gfx942" {
            refused::<64>(target, words, &mut memory)
        } else {
            refused::<32>(target, words, &mut memory)
        };
        let count = counts.entry((format!("{family:?}"), name)).or_default();
        match refusal {
            None => count.executed += 1,
            Some(why) => *count.refused.entry(why).or_default() += 1,
        }
    };
    let mut seen = BTreeSet::new();
    for (bytes, verdict) in found.iter().zip(&verdicts) {
        let words = suite::words(bytes);
        if let (Some(_), Some(row)) = (verdict, target.find(words)) {
            seen.insert((format!("{:?}", row.family), row.mnemonic));
            one(words, row.family, row.mnemonic);
        }
    }
    for row in target.rows {
        if !seen.contains(&(format!("{:?}", row.family), row.mnemonic)) {
            let words = [row.value as u32, (row.value >> 32) as u32, 0];
            one(words, row.family, row.mnemonic);
        }
    }
    // MODE is the only hardware register that a program may write. LLVM's tests write it on one chip
    // only, so its four rounding bits are added.
    for row in target
        .rows
        .iter()
        .filter(|row| row.mnemonic.starts_with("s_setreg"))
    {
        let words = [row.value as u32 | (3 << 11) | 1, 0, 0];
        one(words, row.family, row.mnemonic);
    }
    // Most typed buffers in the tests for gfx942 name numbers that are no format, so one float is added.
    for row in target.rows.iter().filter(|row| row.family == Family::Mtbuf) {
        let format = match target.name {
            "gfx942" => 0x74 << 19,
            _ => 22 << 55,
        };
        let word = row.value | format;
        let words = [word as u32, (word >> 32) as u32, 0];
        one(words, row.family, row.mnemonic);
    }
    counts
}

/// Families of graphics: images, interpolation, exports.
fn is_graphics(family: &str) -> bool {
    matches!(family, "Mimg" | "Vintrp" | "Exp")
}

fn main() {
    let verbose = std::env::args().any(|a| a == "--missing");
    for target in TARGETS {
        let counts = measure(target);
        println!(
            "{}: mnemonics implemented / all, encodings executed / all",
            target.name
        );
        let families: BTreeSet<&str> = counts.keys().map(|(f, _)| f.as_str()).collect();
        let mut total = [[0; 4]; 2];
        for family in families {
            let mut row = [0; 4];
            let mut missing = Vec::new();
            for ((_, name), count) in counts.iter().filter(|((f, _), _)| f == family) {
                let refused: usize = count.refused.values().sum();
                row[0] += usize::from(count.executed > 0);
                row[1] += 1;
                row[2] += count.executed;
                row[3] += count.executed + refused;
                if refused > 0 {
                    missing.push(format!("{name} {:?}", count.refused));
                }
            }
            println!(
                "  {family:6} {:5} / {:5} {:7} / {:7}",
                row[0], row[1], row[2], row[3]
            );
            for line in missing.iter().filter(|_| verbose) {
                println!("      {line}");
            }
            for (sum, n) in total[usize::from(is_graphics(family))].iter_mut().zip(row) {
                *sum += n;
            }
        }
        for (what, [done, all, ran, encodings]) in ["compute", "graphics"].iter().zip(total) {
            // gfx942 has no graphics.
            if all == 0 {
                continue;
            }
            let percent = 100.0 * f64::from(done as u32) / f64::from(all as u32);
            println!("  {what}: {done} / {all} mnemonics ({percent:.1} %), {ran} / {encodings} encodings");
        }
    }
}
