// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which wave of a workgroup runs next, and for how many instructions: drawn from a seed, so that a run can be
//! repeated and another seed gives another order.

/// The state of the draws.
#[derive(Clone, Debug)]
pub struct Schedule(u64);

/// Most turns are short, so that others come between two neighbouring instructions; some are long, so that one
/// wave is far ahead of another. Up to 2 to the power of a number below this.
const LENGTHS: u64 = 12;

impl Schedule {
    /// A schedule of its own for each `of`, from a seed.
    pub fn new(seed: u64, of: &[u64]) -> Self {
        let mut schedule = Self(seed);
        for n in of {
            schedule.0 = schedule.draw() ^ n;
        }
        schedule
    }

    /// 64 bits (SplitMix64, which any state suits).
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`, or 0.
    pub fn below(&mut self, count: u64) -> u64 {
        self.draw().checked_rem(count).unwrap_or(0)
    }

    /// The instructions of a turn: 1 to 2,048.
    pub(crate) fn length(&mut self) -> u64 {
        let power = self.below(LENGTHS);
        1 + self.below(1 << power)
    }
}
