// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder against LLVM: mnemonic and size of every line of LLVM's own disassembler tests for
//! the chips whose encodings ours share. LLVM, asked for our chip, is the referee.

#[path = "common/suite.rs"]
mod suite;
use rkfd_isa::{Target, GFX1201, GFX942};
use std::collections::BTreeSet;
use suite::{folder, inputs, plain, referee, relatives, words};

#[test]
fn llvm_disassembler_suite_gfx942() {
    agree(&GFX942, 40_000);
}

#[test]
fn llvm_disassembler_suite_gfx1201() {
    agree(&GFX1201, 28_000);
}

fn agree(target: &Target, at_least: usize) {
    let inputs: Vec<Vec<u8>> = inputs(&folder(), relatives(target)).into_iter().collect();
    let verdicts = referee(target, &inputs);
    let (mut same, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut mnemonics = BTreeSet::new();
    for (bytes, verdict) in inputs.iter().zip(&verdicts) {
        let Some((mnemonic, size)) = verdict else {
            refused += 1;
            continue;
        };
        // Of a pair, both.
        let (first, second) = match mnemonic.split_once("::") {
            Some((first, second)) => (first, Some(second)),
            None => (mnemonic.as_str(), None),
        };
        match target.decode(words(bytes)) {
            Ok(i)
                if i.name() == plain(first)
                    && i.second_name() == second
                    && i.size as usize == *size =>
            {
                same += 1;
                mnemonics.insert(i.name());
            }
            other => wrong.push(format!(
                "{bytes:02x?}: LLVM {mnemonic} {size}, here {:?}",
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
