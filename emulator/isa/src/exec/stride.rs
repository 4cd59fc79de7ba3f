// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dwords of lanes that lie one behind the other, or are the same one, as in most programs: a group of lanes at a time.

/// Lanes that are looked at together: one row of 64 bytes, if their dwords follow one another.
pub const GROUP: usize = 16;

/// How the places of a group of lanes lie to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// All lanes have the first one's.
    Same,
    /// Each lane's is a step behind that of the lane before.
    Row,
    /// Neither.
    Apart,
}

#[inline(always)]
fn pattern<const STEP: u32>(at: &[u32; GROUP]) -> Pattern {
    let first = at[0];
    // No way out in between, so that the compiler makes vectors of it.
    let (mut row, mut same) = (0, 0);
    for (at, n) in at.iter().zip(0..) {
        row |= at ^ first.wrapping_add(STEP * n);
        same |= at ^ first;
    }
    match (row, same) {
        (0, _) => Pattern::Row,
        (_, 0) => Pattern::Same,
        _ => Pattern::Apart,
    }
}

/// The groups of a wave's lanes, of which it has 32 or 64.
fn groups<const L: usize>(of: &[u32; L]) -> impl Iterator<Item = &[u32; GROUP]> {
    of.chunks_exact(GROUP)
        .filter_map(|group| group.first_chunk())
}

/// Each lane's dword: `one` gives that of a place, `row` those of a group whose places are `STEP` apart from this one on.
#[inline]
pub fn gather<const L: usize, const STEP: u32>(
    at: &[u32; L],
    one: impl Fn(u32) -> u32,
    row: impl Fn(u32, &mut [u32; GROUP]),
) -> [u32; L] {
    let mut found = [0; L];
    for (found, at) in found.chunks_exact_mut(GROUP).zip(groups(at)) {
        let Some(found) = found.first_chunk_mut() else {
            break;
        };
        match pattern::<STEP>(at) {
            Pattern::Row => row(at[0], found),
            Pattern::Same => *found = [one(at[0]); GROUP],
            Pattern::Apart => *found = at.map(&one),
        }
    }
    found
}

/// Stores each lane's dword, the highest lane's last: `store` gets dwords that follow one another, and where the first goes.
#[inline]
pub fn scatter<const L: usize, const STEP: u32>(
    at: &[u32; L],
    values: &[u32; L],
    mut store: impl FnMut(u32, &[u32]),
) {
    for (values, at) in groups(values).zip(groups(at)) {
        if pattern::<STEP>(at) == Pattern::Row {
            store(at[0], values);
        } else {
            let each = at.iter().zip(values.chunks_exact(1));
            each.for_each(|(at, value)| store(*at, value));
        }
    }
}
