// SPDX-License-Identifier: MIT OR Apache-2.0

//! Saved waves as a debugger finds them: by the control stack, and from the end of the save area down.
//!
//! Source: ROCdbgapi, `src/architecture.cpp` (`control_stack_iterate` and `cwsr_record_t` of gfx9, gfx90a and gfx10),
//! `src/queue.cpp` (`update_waves`).

/// A wave's place in the save area.
#[derive(Debug, PartialEq, Eq)]
pub struct Wave {
    /// The first of its workgroup, which has LDS behind it, and the last.
    pub first: bool,
    pub last: bool,
    /// Where its vector registers begin, and its hardware registers: M0, then its program counter.
    pub vectors: u64,
    pub hardware: u64,
}

fn bits(word: u32, first: u32, last: u32) -> u64 {
    u64::from((word >> first) & (u32::MAX >> (31 - (last - first))))
}

/// The waves that a control stack of gfx942 or gfx12 describes, whose states end at `end`, and where the first state
/// begins.
pub fn waves(gfx12: bool, stack: &[u32], end: u64) -> (Vec<Wave>, u64) {
    let (mut at, mut waves) = (end, Vec::new());
    let mut words = stack.iter().skip(2);
    let mut state = 0;
    while let Some(&word) = words.next() {
        if bits(word, 30, 30) == 1 {
            continue;
        }
        if bits(word, 31, 31) == 1 {
            state = word;
            if gfx12 {
                words.next();
            }
            continue;
        }
        let (vectors, scalars, lds, first, last) = if gfx12 {
            let narrow = bits(state, 24, 24) == 1;
            let (unit, lanes) = if narrow { (8, 32) } else { (4, 64) };
            let vectors = (bits(state, 0, 5) + 1) * unit * lanes * 4;
            (
                vectors,
                128 * 4,
                bits(state, 10, 17),
                bits(word, 12, 12),
                bits(word, 29, 29),
            )
        } else {
            let vectors = (bits(state, 0, 5) + 1) * 8 * 64 * 4;
            let scalars = ((bits(state, 6, 8) + 1) * 16 - 16) * 4;
            (
                vectors,
                scalars,
                bits(state, 9, 16),
                bits(word, 17, 17),
                bits(word, 16, 16),
            )
        };
        let shared = if first == 1 { lds * 512 } else { 0 };
        let hardware = at - 64 - shared - 128;
        at = hardware - scalars - vectors;
        waves.push(Wave {
            first: first == 1,
            last: last == 1,
            vectors: at,
            hardware,
        });
    }
    (waves, at)
}
