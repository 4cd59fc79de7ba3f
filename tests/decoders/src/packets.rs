// SPDX-License-Identifier: MIT OR Apache-2.0

//! Packets and frames: the device's decoders, and what `hw/` offers for both sides.

use crate::words;
use rkfd_emulator::engines::cp::packet::{command, pm4 as kernel};
use rkfd_emulator::engines::mes::frame;
use rkfd_emulator::engines::sdma::packet;
use rkfd_hw::aql::Header;
use rkfd_hw::mes::FRAME_WORDS;

/// A packet that is taken apart lies in the words that its header counts: others don't matter, and
/// with fewer it is refused.
fn holds_together<T, E>(
    words: &[u32],
    len: usize,
    parse: impl Fn(&[u32]) -> Result<T, E>,
    same: impl Fn(&T, &T) -> bool,
) {
    let Ok(packet) = parse(words) else { return };
    assert!(len >= 1 && words.len() >= len, "{len} of {}", words.len());
    let Some(alone) = words.get(..len) else {
        return;
    };
    let again = parse(alone).ok();
    assert!(again.is_some_and(|again| same(&packet, &again)));
}

/// PM4 of the kernel's queues.
pub fn pm4(bytes: &[u8]) {
    let words = words(bytes);
    let Some(&header) = words.first() else {
        return;
    };
    let Ok((opcode, len)) = kernel::size(header) else {
        assert!(kernel::parse(&words, false).is_err());
        return;
    };
    assert!(!kernel::name(opcode).is_empty());
    for kiq in [false, true] {
        // NOP has no content.
        if opcode != rkfd_hw::pm4::op::NOP {
            let parse = |words: &[u32]| kernel::parse(words, kiq);
            let same =
                |a: &kernel::Packet, b: &kernel::Packet| format!("{a:?}") == format!("{b:?}");
            holds_together(&words, len, parse, same);
        }
    }
}

/// PM4 of programs.
pub fn commands(bytes: &[u8]) {
    let words = words(bytes);
    let Some(&header) = words.first() else {
        return;
    };
    for dialect in [&command::GFX9, &command::GFX10] {
        let parse = |words: &[u32]| command::parse(words, dialect);
        match command::size(header) {
            Err(_) => assert!(parse(&words).is_err()),
            Ok(len) => {
                let parsed = parse(&words);
                if parsed.is_ok_and(|command| command != command::Command::Nop) {
                    holds_together(&words, len, parse, |a, b| a == b);
                }
            }
        }
    }
}

/// Copy engines' packets.
pub fn sdma(bytes: &[u8]) {
    let words = words(bytes);
    let gfx9 = packet::Dialect {
        long_copies: false,
        gcr: false,
        register_unit: 4,
    };
    let gfx12 = packet::Dialect {
        long_copies: true,
        gcr: true,
        register_unit: 1,
    };
    type Parse = fn(&[u32]) -> Result<packet::Packet, packet::Bad>;
    let dialects: [(_, Parse); 2] = [(gfx9, packet::v4_4::parse), (gfx12, packet::v7_0::parse)];
    for (dialect, parse) in dialects {
        let _ = parse(&words);
        let Ok(Some(len)) = packet::size(dialect, &words) else {
            continue;
        };
        // The engine hands over what the size says, no more and no less.
        let Some(whole) = words.get(..len) else {
            continue;
        };
        if let Ok(packet::Packet::Write { data, .. }) = parse(whole) {
            // Its fourth word has one less in bits 19:0 (`DW_3_count`).
            let count = whole.get(3).map_or(0, |word| word & 0xf_ffff) as usize + 1;
            assert_eq!(data.len(), count);
            assert_eq!(Some(&data[..]), whole.get(packet::WRITE_HEAD..));
        }
    }
}

/// Frames for MES.
pub fn frames(bytes: &[u8]) {
    let words = words(bytes);
    let mut frame = [0; FRAME_WORDS];
    for (to, from) in frame.iter_mut().zip(words) {
        *to = from;
    }
    let opcode = frame::opcode(&frame);
    match frame::parse(&frame) {
        Ok(_) => assert!(!frame::name(opcode).is_empty()),
        Err(malformed) => assert_eq!(malformed.opcode, opcode),
    }
}

/// Headers of AQL packets: one that is taken apart and put together is the same.
pub fn aql(bytes: &[u8]) {
    for pair in bytes.chunks_exact(2) {
        let bits = pair
            .iter()
            .rev()
            .fold(0, |all, b| (all << 8) | u16::from(*b));
        if let Some(header) = Header::parse(bits) {
            assert_eq!(header.bits(), bits);
        }
    }
}
