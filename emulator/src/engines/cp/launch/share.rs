// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which workgroups of a dispatch an XCC runs.

/// Which workgroups of a dispatch an XCC runs: of each `of`, the one at `index`.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The XCC.
    pub xcc: u8,
    /// Its turn.
    pub index: u64,
    /// XCCs that have turns.
    pub of: u64,
}

impl Share {
    /// All of them.
    pub fn whole(xcc: u8) -> Self {
        let (index, of) = (0, 1);
        Self { xcc, index, of }
    }

    /// How many of so many workgroups.
    pub fn count(&self, all: u64) -> u64 {
        all.saturating_sub(self.index).div_ceil(self.of.max(1))
    }

    /// Which one of all the `n`th of these is.
    pub fn nth(&self, n: u64) -> u64 {
        n.saturating_mul(self.of).saturating_add(self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn shares_are_all_workgroups_once() {
        for (all, of) in [
            (0u64, 4u64),
            (1, 4),
            (3, 4),
            (4, 4),
            (4096, 4),
            (17, 3),
            (5, 1),
        ] {
            let mut seen: Vec<u64> = (0..of)
                .flat_map(|index| {
                    let share = Share { xcc: 0, index, of };
                    (0..share.count(all)).map(move |n| share.nth(n))
                })
                .collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..all).collect::<Vec<_>>());
        }
    }
}
