// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether instructions compute what LLVM computes: make isa-conformance
//!
//! Each row of the table is an instruction of one chip or both and the same operation in LLVM's intermediate
//! language. Operands are edges of their types and random; each lane of a wave has its own. llvm-mc encodes the
//! instruction, LLVM's `opt` folds the operation on the same operands into a constant (with its own integers
//! and its own floats, APInt and APFloat), and both are compared bit by bit, NaNs as such.
//!
//! --plant exchanges the instruction of each row with the next row's of its types, which must be noticed.

mod fold;
mod table;

use rkfd_isa::{Target, GFX1201, GFX942};
use rkfd_isa_testkit::{assemble_each, blank, step, Flat, Random};
use std::process::ExitCode;
use table::rows::ROWS;
use table::{Row, Type};

/// Fewer cases than this are a defect of the table.
const ENOUGH: usize = 3000;

/// One lane's operands, and what they should give.
struct Case {
    operands: [u64; 3],
    expected: u64,
}

/// Operands of a row, one set for each lane of 64: all pairs of some edges first, then what comes.
fn operands(row: &Row, random: &mut Random) -> Vec<[u64; 3]> {
    let lanes = 0..64usize;
    let pick = |random: &mut Random, n: usize, lane: usize| {
        let Some(ty) = row.from.get(n) else { return 0 };
        let edges = ty.edges();
        match (lane, n) {
            (0..=19, 0) => edges[lane % edges.len()],
            (0..=19, 1) => edges[(lane * 5 + lane / edges.len()) % edges.len()],
            _ if random.u32() % 4 == 0 => edges[random.u32() as usize % edges.len()],
            _ => ty.number(random.u64()),
        }
    };
    lanes
        .map(|lane| std::array::from_fn(|n| pick(random, n, lane)))
        .collect()
}

/// What the lanes of a wave compute; registers 2, 4 and 6 on have the operands, 0 on the result.
fn computed<const L: usize>(target: &Target, row: &Row, code: &[u8], cases: &[Case]) -> Vec<u64> {
    let mut wave = blank::<L>(32);
    // Denormals are kept, results are rounded to nearest, no IEEE mode.
    wave.mode = 0xf0;
    for n in 0..3 {
        for (lane, case) in cases.iter().take(L).enumerate() {
            wave.v[2 + 2 * n][lane] = case.operands[n] as u32;
            wave.v[3 + 2 * n][lane] = (case.operands[n] >> 32) as u32;
        }
    }
    if let Err(why) = step(target, &mut wave, code, &mut Flat::new(4096), &mut []) {
        println!("{}: {}: {why}", target.name, row.text(target));
        return Vec::new();
    }
    let vcc = wave.vcc();
    let result = |lane: usize| match row.to {
        Type::Bit => (vcc >> lane) & 1,
        Type::I64 | Type::F64 => u64::from(wave.v[0][lane]) | (u64::from(wave.v[1][lane]) << 32),
        Type::I16 | Type::F16 => u64::from(wave.v[0][lane] as u16),
        Type::I32 | Type::F32 => wave.v[0][lane].into(),
    };
    (0..L).map(result).collect()
}

/// Compares a chip's results with LLVM's; the number of lanes, and of those that differ.
fn compare<const L: usize>(target: &Target, rows: &[(&Row, Vec<Case>)], plant: bool) -> [usize; 2] {
    let there: Vec<_> = rows
        .iter()
        .filter(|(row, _)| !row.text(target).is_empty())
        .collect();
    let text: Vec<&str> = there.iter().map(|(row, _)| row.text(target)).collect();
    let codes = assemble_each(target, L, &text.join("\n"));
    assert_eq!(codes.len(), text.len(), "llvm-mc encodes every row");
    let (mut count, mut wrong, mut missed) = (0, 0, 0);
    for (n, (row, cases)) in there.iter().enumerate() {
        let other = |m: &usize| {
            let (other, _) = there[*m];
            *m != n && (other.from, other.to) == (row.from, row.to)
        };
        // Those that are alone of their types have nobody to change places with.
        let exchanged = (n + 1..there.len())
            .chain(0..n)
            .find(other)
            .filter(|_| plant);
        let code = &codes[exchanged.unwrap_or(n)];
        let results = computed::<L>(target, row, code, cases);
        count += L;
        let differ = |lane: &usize| {
            let got = results.get(*lane).copied();
            got.is_none_or(|got| !row.to.same(got, cases[*lane].expected))
        };
        let lanes: Vec<usize> = (0..L).filter(differ).collect();
        wrong += lanes.len();
        for lane in lanes.iter().take(if plant { 0 } else { 3 }) {
            let Case { operands, expected } = cases[*lane];
            let got = results.get(*lane).copied().unwrap_or_default();
            let text = row.text(target);
            println!(
                "{}: {text}: {operands:x?}: {got:#x}, LLVM {expected:#x}",
                target.name
            );
        }
        if exchanged.is_some() && lanes.is_empty() {
            missed += 1;
            println!(
                "{}: {}: an exchange is not noticed",
                target.name,
                row.text(target)
            );
        }
    }
    println!(
        "{}: {count} cases of {} instructions, {wrong} differ",
        target.name,
        there.len()
    );
    if plant {
        println!("{}: {missed} exchanges are not noticed", target.name);
    }
    [count, wrong]
}

fn main() -> ExitCode {
    let plant = std::env::args().any(|argument| argument == "--plant");
    let mut random = Random(2026);
    let all: Vec<_> = ROWS.iter().map(|row| operands(row, &mut random)).collect();
    let folded = fold::fold(ROWS, &all);
    let rows: Vec<(&Row, Vec<Case>)> = ROWS
        .iter()
        .zip(all.into_iter().zip(folded))
        .map(|(row, (operands, expected))| {
            let cases = operands.into_iter().zip(expected);
            let case = |(operands, expected)| Case { operands, expected };
            (row, cases.map(case).collect())
        })
        .collect();
    let chips = [
        compare::<64>(&GFX942, &rows, plant),
        compare::<32>(&GFX1201, &rows, plant),
    ];
    let [count, wrong] = [0, 1].map(|n| chips[0][n] + chips[1][n]);
    println!("{count} cases, {wrong} differ from LLVM's");
    assert!(count >= ENOUGH, "too few cases");
    match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
