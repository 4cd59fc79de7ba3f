// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder and the text against LLVM: every line of LLVM's own disassembler tests for the chips
//! whose encodings ours share, and every encoding of the tables with no bits set but its own. LLVM,
//! asked for our chip, is the referee.

use rkfd_isa::{Target, GFX1201, GFX942};
use rkfd_isa_testkit::suite::{folder, inputs, plain, referee, relatives, words};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn llvm_disassembler_suite_gfx942() {
    agree(&GFX942, 40_000);
}

#[test]
fn llvm_disassembler_suite_gfx1201() {
    agree(&GFX1201, 28_000);
}

#[test]
fn text_gfx942() {
    texts(&GFX942, 64, &[], &[], 53_000, 1120);
}

/// Graphics, and the one instruction that LLVM names by halves of registers.
const BARE: [&str; 6] = [
    "image_",
    "export",
    "v_interp_",
    "ds_direct_",
    "ds_param_",
    "v_mov_b16",
];

#[test]
fn text_gfx1201() {
    texts(&GFX1201, 32, &BARE, &[], 34_000, 1110);
}

/// The table has wave32's widths of what transposes.
#[test]
fn text_gfx1201_wave64() {
    let other = ["global_load_tr_", "v_wmma_", "v_swmmac_"];
    texts(&GFX1201, 64, &BARE, &other, 30_000, 1100);
}

/// Compare what is written. `without` are the mnemonics that are written without operands, `other`
/// those that may differ; both by how they begin.
fn texts(
    target: &'static Target,
    lanes: u32,
    without: &[&str],
    other: &[&str],
    at_least: usize,
    names_at_least: usize,
) {
    let mut inputs: BTreeSet<Vec<u8>> = inputs(&folder(), relatives(target));
    for row in target.rows {
        inputs.insert([row.value.to_le_bytes().as_slice(), &[0; 4]].concat());
    }
    let inputs: Vec<Vec<u8>> = inputs.into_iter().collect();
    let mut same = 0;
    let mut names = BTreeSet::new();
    let (mut bare, mut differ) = (BTreeMap::new(), BTreeMap::new());
    let (mut malformed, mut wrong) = (0, Vec::new());
    for (bytes, verdict) in inputs.iter().zip(referee(target, lanes, &inputs)) {
        let Some(verdict) = verdict else { continue };
        // So LLVM marks an operand that the encoding does not allow.
        if verdict.text.contains("/*Invalid") {
            malformed += 1;
            continue;
        }
        let name = plain(verdict.mnemonics().0);
        let begins = |list: &[&str]| list.iter().any(|prefix| name.starts_with(prefix));
        let text = target.text(words(bytes), lanes);
        let written = text.map(|text| text.to_string()).unwrap_or_default();
        if written.trim_end() == verdict.text {
            same += 1;
            names.insert(name.to_string());
        } else if begins(without) && text.is_some_and(|text| !text.is_whole()) {
            *bare.entry(name.to_string()).or_insert(0) += 1;
        } else if begins(other) {
            *differ.entry(name.to_string()).or_insert(0) += 1;
        } else {
            wrong.push(format!(
                "{bytes:02x?}: LLVM {:?}, here {written:?}",
                verdict.text
            ));
        }
    }
    println!(
        "{} with {lanes} lanes: {same} texts equal over {} mnemonics, {malformed} malformed, {} differ",
        target.name,
        names.len(),
        wrong.len()
    );
    let encodings: usize = bare.values().sum();
    println!("{encodings} without operands: {:?}", bare.keys());
    println!("differ as is known: {differ:?}");
    for line in wrong.iter().take(40) {
        println!("  {line}");
    }
    assert!(wrong.is_empty(), "{} texts differ from LLVM's", wrong.len());
    assert!(malformed < 100, "{malformed} malformed");
    let enough = same > at_least && names.len() > names_at_least;
    assert!(enough, "only {same} texts, {} mnemonics", names.len());
}

fn agree(target: &Target, at_least: usize) {
    let inputs: Vec<Vec<u8>> = inputs(&folder(), relatives(target)).into_iter().collect();
    let lanes = if target.name == "gfx942" { 64 } else { 32 };
    let verdicts = referee(target, lanes, &inputs);
    let (mut same, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut mnemonics = BTreeSet::new();
    for (bytes, verdict) in inputs.iter().zip(&verdicts) {
        let Some(verdict) = verdict else {
            refused += 1;
            continue;
        };
        let (first, second) = verdict.mnemonics();
        match target.decode(words(bytes)) {
            Ok(i)
                if i.name() == plain(first)
                    && i.second_name() == second
                    && i.size as usize == verdict.size =>
            {
                same += 1;
                mnemonics.insert(i.name());
            }
            other => wrong.push(format!(
                "{bytes:02x?}: LLVM {:?} {}, here {:?}",
                verdict.text,
                verdict.size,
                other.map(|i| (i.name(), i.size))
            )),
        }
    }
    println!(
        "{} inputs, {same} agree over {} mnemonics, {refused} are not {}, {} differ",
        inputs.len(),
        mnemonics.len(),
        target.name,
        wrong.len()
    );
    for line in wrong.iter().take(40) {
        println!("  {line}");
    }
    assert!(
        wrong.is_empty(),
        "{} encodings differ from LLVM",
        wrong.len()
    );
    assert!(same > at_least, "only {same} encodings compared");
}
