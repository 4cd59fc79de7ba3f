// SPDX-License-Identifier: MIT OR Apache-2.0

//! The targets with seeded bytes: the same in each run, so that what fails fails again.

mod files;
mod programs;
mod roms;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rkfd_hw::pm4::{header, op};
use rkfd_hw::sdma::op as sdma;

/// Source of the code object that is damaged, in `tests/kernels`.
const CODE: &str = "vadd";

/// Runs a target on bytes of a strategy.
fn run(target: fn(&[u8]), cases: u32, bytes: impl Strategy<Value = Vec<u8>>) {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 500,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let done = runner.run(&bytes, |bytes| {
        target(&bytes);
        Ok(())
    });
    done.unwrap_or_else(|why| panic!("{why}"));
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Mostly empty words, as packets have them.
fn sparse() -> impl Strategy<Value = u32> {
    let bits = (0u32..32, 0u32..32).prop_map(|(a, b)| (1 << a) | (1 << b));
    prop_oneof![4 => Just(0), 2 => bits, 1 => any::<u32>()]
}

/// A header that a decoder knows, with a body that may fit.
fn packets(headers: Vec<u32>) -> impl Strategy<Value = Vec<u8>> {
    let header = prop_oneof![8 => prop::sample::select(headers), 1 => any::<u32>()];
    (header, vec(sparse(), 0..70)).prop_map(|(header, body)| {
        let mut words = vec![header];
        words.extend(body);
        bytes(&words)
    })
}

fn pm4_headers() -> Vec<u32> {
    let opcodes = (0..=u8::MAX).filter(|op| rkfd_hw::pm4::name(*op).is_some());
    let sized = |op| (1..24).map(move |words| header(op, words));
    opcodes.chain([op::NOP]).flat_map(sized).collect()
}

/// What libFuzzer once found worth keeping (`tests/decoders/run`), each target with its own.
#[test]
fn inputs_that_were_kept() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut count = 0;
    for (name, target) in rkfd_decoders::TARGETS {
        let Ok(inputs) = std::fs::read_dir(corpus.join(name)) else {
            continue;
        };
        for input in inputs {
            let path = input.expect("an input").path();
            target(&std::fs::read(path).expect("an input can be read"));
            count += 1;
        }
    }
    assert!(count > 100, "the inputs are there: {count}");
}

#[test]
fn fields_of_layouts() {
    run(rkfd_decoders::layouts, 60, vec(any::<u8>(), 0..2100));
}

#[test]
fn packets_of_kernel_queues() {
    run(rkfd_decoders::pm4, 40_000, packets(pm4_headers()));
}

#[test]
fn commands_of_programs() {
    run(rkfd_decoders::commands, 40_000, packets(pm4_headers()));
}

#[test]
fn packets_of_copy_engines() {
    let opcodes = (0..=u8::MAX).filter(|op| rkfd_hw::sdma::name(*op).is_some());
    let headers = opcodes.flat_map(|op| (0..8).map(move |sub| u32::from(op) | (sub << 8)));
    let headers = headers.chain([u32::from(sdma::WRITE)]);
    run(rkfd_decoders::sdma, 40_000, packets(headers.collect()));
}

#[test]
fn frames_of_mes() {
    let headers = (0..=u8::MAX).map(rkfd_hw::mes::header).collect();
    run(rkfd_decoders::frames, 40_000, packets(headers));
}

/// Entries of a few kinds and lengths, most of which say how many words follow.
#[test]
fn what_was_saved() {
    let entry = (0u32..5, vec(any::<u32>(), 0..16), 0u32..8).prop_map(|(kind, words, wrong)| {
        let said = words.len() as u32 + u32::from(wrong == 0);
        [&[kind, said][..], &words].concat()
    });
    let area = (any::<u64>(), vec(entry, 0..6)).prop_map(|(base, entries)| {
        let words = bytes(&entries.concat());
        [&base.to_le_bytes()[..], &words].concat()
    });
    run(rkfd_decoders::saved, 40_000, area);
}

#[test]
fn headers_of_aql() {
    let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    rkfd_decoders::aql(&all);
}

#[test]
fn rules_and_commands() {
    let word = prop::sample::select(vec![
        "add",
        "remove",
        "list",
        "all",
        "every",
        "at the",
        "from the",
        "3rd",
        "1st",
        "18446744073709551616",
        "of",
        "queue",
        "pasid",
        "vmid",
        "packet",
        "frame",
        "page walk",
        "doorbell",
        "dispatch",
        "any register read",
        "read of",
        "write of",
        "power-on",
        ":",
        "drop",
        "hang",
        "fail 3",
        "storm 9",
        "garbage",
        "read 0x1",
        "from now on",
        "stale page",
        "\u{fffd}",
        "\n",
        "0x",
    ]);
    let text = vec(word, 0..12).prop_map(|words| words.join(" ").into_bytes());
    let when = prop::sample::select(vec![
        "at the 2nd",
        "at the 2000th",
        "from the 3rd",
        "every 7th",
    ]);
    let event = prop::sample::select(vec![
        "ADD_QUEUE",
        "dispatch",
        "page walk",
        "queue stop of queue 1",
        "any register access",
        "IH entry of source 181",
        "read of GRBM_STATUS",
    ]);
    let effect = prop::sample::select(vec![
        "drop",
        "hang",
        "wedge",
        "fail",
        "late 1 ms",
        "read 0x10 from now on",
    ]);
    let rule = (when, event, effect)
        .prop_map(|(when, event, effect)| format!("{when} {event}: {effect}").into_bytes());
    let text = prop_oneof![text, rule, vec(any::<u8>(), 0..500)];
    run(rkfd_decoders::rules, 20_000, text);
}

#[test]
fn messages_of_vfio_user() {
    run(rkfd_decoders::device, 4000, vec(any::<u8>(), 0..200));
}

/// Bits of a section that holds instructions (`SHF_EXECINSTR`).
const EXECUTED: u64 = 4;

/// A number of an ELF file, of `N` bytes.
fn number<const N: usize>(elf: &[u8], at: usize) -> usize {
    let bytes = elf[at..at + N].iter().rev();
    bytes.fold(0, |number, byte| (number << 8) | usize::from(*byte))
}

/// The words of an ELF file by which it is read (`Elf64_Ehdr`, `Elf64_Phdr`, `Elf64_Shdr`, and what
/// sections hold but instructions). Most bytes of a file are none of them.
fn words_of_tables(elf: &[u8]) -> Vec<usize> {
    let (segments, sections) = (number::<8>(elf, 0x20), number::<8>(elf, 0x28));
    let (segment, count) = (number::<2>(elf, 0x36), number::<2>(elf, 0x38));
    let mut tables = vec![(0, 0x40), (segments, segment * count)];
    let (section, count) = (number::<2>(elf, 0x3a), number::<2>(elf, 0x3c));
    tables.push((sections, section * count));
    for at in (0..count).map(|n| sections + n * section) {
        /// `SHT_NOBITS`: nothing of it is in the file.
        const NOBITS: usize = 8;
        let executed = number::<8>(elf, at + 8) as u64 & EXECUTED != 0;
        if !executed && number::<4>(elf, at + 4) != NOBITS {
            tables.push((number::<8>(elf, at + 0x18), number::<8>(elf, at + 0x20)));
        }
    }
    let words = tables.into_iter();
    let words = words.flat_map(|(at, bytes)| (at..at + bytes).step_by(4));
    words.filter(|at| at + 8 <= elf.len()).collect()
}

/// Numbers at which sums and comparisons go wrong, in a file of `len` bytes.
fn extremes(len: usize) -> Vec<u64> {
    let near = [0, 1, 63, 64, 0x1000, len as u64, 1 << 31, 1 << 32, 1 << 63];
    let around = near.into_iter().flat_map(|n| [n.wrapping_sub(1), n, n + 1]);
    around.chain([u64::MAX - 63, u64::MAX - 0xfff]).collect()
}

/// Damage where the file is read: one or two words of its tables become numbers of the extreme kind, some by
/// sums with what is there; and any bytes.
#[test]
fn code_objects() {
    let object = rkfd_emulator_testkit::code::elf(CODE, "gfx942");
    let (words, numbers) = (words_of_tables(&object), extremes(object.len()));
    assert!(words.len() > 100, "the code object has tables");
    let number = (prop::sample::select(numbers), any::<bool>());
    let change = (prop::sample::select(words), number, any::<bool>());
    let tables = vec(change, 0..3);
    let bytes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let cut = any::<prop::sample::Index>();
    let damaged = (tables, bytes, cut).prop_map(move |(tables, changes, cut)| {
        let mut bytes = object.clone();
        for (at, (number, add), wide) in tables {
            let field = &mut bytes[at..at + if wide { 8 } else { 4 }];
            let old = field
                .iter()
                .rev()
                .fold(0, |old, byte| (old << 8) | u64::from(*byte));
            let new = if add {
                old.wrapping_add(number)
            } else {
                number
            };
            field.copy_from_slice(&new.to_le_bytes()[..field.len()]);
        }
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            if let Some(old) = bytes.get_mut(at) {
                *old = byte;
            }
        }
        // Most keep their end.
        if cut.index(8) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes
    });
    run(rkfd_decoders::code, 20_000, damaged);
}
