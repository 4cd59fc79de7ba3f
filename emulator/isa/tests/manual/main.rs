// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results that AMD's manuals and LLVM's encoder define and that other tests do not reach. Each case
//! names where its value comes from; none is worked out by the interpreter's formulas.

mod constants;
mod floats;
mod forbidden;
mod halves;
mod integers;
mod layouts;
mod memory;
mod registers;

use rkfd_isa::wave::Wave;
use rkfd_isa::*;
use rkfd_isa_testkit::*;

/// The instructions of `text`, each in words as llvm-mc encodes it.
fn encoded(target: &Target, lanes: usize, text: &[&str]) -> Vec<Vec<u8>> {
    let each = assemble_each(target, lanes, &text.join("\n"));
    assert_eq!(each.len(), text.len(), "{text:?}");
    each
}

/// A wave after one instruction. `set` fills registers before it.
fn after<const L: usize>(
    target: &Target,
    bytes: &[u8],
    set: impl FnOnce(&mut Wave<L>),
) -> Result<Wave<L>, FaultKind> {
    let mut wave = blank::<L>(32);
    set(&mut wave);
    let mut memory = Flat::new(1 << 16);
    step(target, &mut wave, bytes, &mut memory, &mut [0; 1024])?;
    Ok(wave)
}

/// Whether a word is a NaN of half precision, single or double (of which it is the upper word).
fn is_nan(word: u32, bits: u32) -> bool {
    match bits {
        16 => word & 0x7fff > 0x7c00,
        32 => f32::from_bits(word).is_nan(),
        _ => word & 0x7fff_ffff > 0x7ff0_0000,
    }
}
