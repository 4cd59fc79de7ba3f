// SPDX-License-Identifier: MIT OR Apache-2.0

//! Instructions and programs that nobody compiled.

use crate::{bytes, run};
use proptest::collection::vec;
use proptest::prelude::*;
use rkfd_isa::{Target, GFX1201, GFX942};
use rkfd_isa_testkit::descriptor_gfx1201;

/// Where code begins: behind the descriptor, at the alignment that entries have.
const ENTRY: usize = 256;

#[test]
fn words_of_instructions() {
    let words = vec(any::<u32>(), 3..24).prop_map(|words| bytes(&words));
    run(rkfd_decoders::instructions, 20_000, words);
}

/// The words that are instructions of the chip, one after the other, with what follows them in place.
fn decodable(target: &Target, words: Vec<[u32; 3]>) -> Vec<u32> {
    let sizes = words.into_iter().filter_map(|words| {
        let inst = target.decode(words).ok()?;
        Some(words.into_iter().take(usize::from(inst.size) / 4))
    });
    sizes.flatten().collect()
}

/// A descriptor with few registers: gfx942's accumulation registers begin behind 32 others.
fn descriptor(target: &Target, lanes: usize) -> Vec<u8> {
    let mut descriptor = descriptor_gfx1201(lanes, ENTRY as u32);
    if target.name == GFX942.name {
        let words = [
            (44, 7),
            (48, 7 | (0xf0 << 12) | (1 << 21) | (1 << 23)),
            (56, 8),
        ];
        for (at, word) in words {
            descriptor[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
        }
    }
    descriptor.to_vec()
}

/// Code of one chip behind a descriptor of its own, of which a few bits may be others. The other chip's
/// compute unit takes the same bytes as it finds them.
#[test]
fn programs_of_any_instructions() {
    let chip = prop::sample::select(vec![(&GFX942, 64), (&GFX1201, 32), (&GFX1201, 64)]);
    let words = vec(any::<[u32; 3]>(), 1..120);
    let flips = vec((0..64usize, 0..8u32), 0..2);
    let all = (chip, words, flips).prop_map(|((target, lanes), words, flips)| {
        let mut program = descriptor(target, lanes);
        for (at, bit) in flips {
            program[at] ^= 1 << bit;
        }
        program.resize(ENTRY, 0);
        program.extend(bytes(&decodable(target, words)));
        program
    });
    run(rkfd_decoders::programs, 10_000, all);
}
