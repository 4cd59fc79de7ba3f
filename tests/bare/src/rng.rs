// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers that a seed repeats: SplitMix64.

/// A generator.
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits().checked_rem(end).unwrap_or(0)
    }

    /// True in `n` of `of` cases.
    pub fn chance(&mut self, n: u64, of: u64) -> bool {
        self.below(of) < n
    }

    /// One of `all`, which is not empty.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// One of `all`, or nothing if there is none.
    pub fn maybe<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len() as u64) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_splitmix64_s() {
        // From the reference implementation, https://prng.di.unimi.it/splitmix64.c, seed 1234567.
        let mut rng = Rng::new(1_234_567);
        let first: [u64; 3] = [rng.bits(), rng.bits(), rng.bits()];
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}
