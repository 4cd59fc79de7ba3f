// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which lines a second-level cache has, as long as somebody counts its hits.
//!
//! A channel has 256 KiB of lines of 128 bytes in sets of 16 ways (AMD, "AMD CDNA 3 Architecture", section "Cache
//! hierarchy"; 32 channels of the same size are Navi 48's 8 MiB). Which channel an address belongs to is inferred:
//! 256 bytes each in turn.

use crate::traffic::LINE;
use std::sync::{Mutex, PoisonError};

const WAYS: usize = 16;
const SETS: usize = (256 << 10) / LINE / WAYS;
/// Lines in a row that belong to one channel.
const RUN: usize = 2;

/// The lines of a set, the one that was used last first. 0 is none: nothing is mapped at the host's lowest page.
type Set = [usize; WAYS];

/// The tags of all channels.
pub(crate) struct Tags {
    // A channel's sets are made when it is asked for the first time.
    channels: Vec<Mutex<Vec<Set>>>,
}

impl Tags {
    /// Those of an empty cache of so many channels.
    pub(crate) fn new(channels: usize) -> Self {
        Self {
            channels: (0..channels.max(1)).map(|_| Mutex::default()).collect(),
        }
    }

    /// Looks a line up by its address, and puts it there if it is `kept` and wasn't. The channel, and whether it was.
    pub(crate) fn look(&self, address: usize, kept: bool) -> (usize, bool) {
        let line = address / LINE;
        let (run, channels) = (line / RUN, self.channels.len());
        let channel = run % channels;
        if !kept {
            return (channel, false);
        }
        let own = run / channels * RUN + line % RUN;
        let mut sets = self.channels[channel]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if sets.is_empty() {
            sets.resize(SETS, [0; WAYS]);
        }
        let set = &mut sets[own % SETS];
        let at = set.iter().position(|&other| other == line);
        // The last one goes where none is equal.
        set[..=at.unwrap_or(WAYS - 1)].rotate_right(1);
        set[0] = line;
        (channel, at.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_there_until_others_take_its_place() {
        let tags = Tags::new(16);
        let line = 0x10_0000;
        assert_eq!(tags.look(line, true), (0, false));
        assert_eq!(tags.look(line + LINE - 1, true), (0, true));
        // Lines of one set lie this far apart.
        let apart = 16 * SETS * LINE;
        for n in 1..WAYS {
            assert_eq!(tags.look(line + n * apart, true), (0, false));
        }
        assert!(tags.look(line, true).1, "16 of them fit");
        assert!(!tags.look(line + WAYS * apart, true).1);
        assert!(tags.look(line, true).1, "it was used later than others");
        assert!(!tags.look(line + apart, true).1, "the one that wasn't used");
    }

    #[test]
    fn channels_have_runs_of_256_bytes() {
        let tags = Tags::new(16);
        let channels = (0..64).map(|n| tags.look(0x10_0000 + n * LINE, true).0);
        let wanted = (0..64).map(|n| n / 2 % 16);
        assert!(channels.eq(wanted));
        assert_eq!(tags.look(0x10_0000, false), (0, false), "uncached");
    }
}
