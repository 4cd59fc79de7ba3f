// SPDX-License-Identifier: MIT OR Apache-2.0

//! Halts and resets, which take effect a while after they were stored.
//!
//! Linux waits for 50 µs or 100 µs before it goes on (`gfx_v9_4_3_xcc_cp_compute_enable`, `gfx_v9_4_3_soft_reset`,
//! `sdma_v7_0_soft_reset`). Where a driver doesn't, the chip may still be at work. A guest's clock is as fast as the
//! host's, so that a driver which waits is never found to be too early; on a busy host one that doesn't may be late
//! enough.

use std::time::{Duration, Instant};

/// A little less than Linux waits for.
const TIME: Duration = Duration::from_micros(45);

/// Since when something settles.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Settling(Option<Instant>);

impl Settling {
    /// It begins now.
    pub fn begin(&mut self) {
        self.0 = Some(Instant::now());
    }

    /// Whether it has taken effect.
    pub fn is_done(self) -> bool {
        self.0.is_none_or(|since| since.elapsed() >= TIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_its_time() {
        let mut settling = Settling::default();
        assert!(settling.is_done(), "nothing has begun");
        settling.begin();
        std::thread::sleep(TIME);
        assert!(settling.is_done());
    }
}
