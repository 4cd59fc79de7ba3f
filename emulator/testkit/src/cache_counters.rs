// SPDX-License-Identifier: MIT OR Apache-2.0

//! Performance counters of caches as AMD's aqlprofile 7.2.4 programs and reads them.
//!
//! The words are those that its `aqlprofile_pmc_create_packets` returns for a gfx942 of four XCCs and a gfx1201.

use crate::counters::{begin, copy, set, ALL, FLUSH, INDEX, STATE};

/// A block that has an instance for each compute unit, or for each channel.
pub struct Block {
    /// The chip is a gfx942.
    gfx942: bool,
    /// SELECT of each counter.
    selects: [u32; 4],
    /// The lower half of the first counter. Those of the others follow it, each behind its upper half.
    value: u32,
    /// What GRBM_GFX_INDEX is where its counters are chosen.
    written: Vec<u32>,
    /// The same where they are read, instance by instance.
    pub read: Vec<u32>,
}

const FIRST: [u32; 4] = [0x1b40, 0x1b42, 0x1b44, 0x1b45];

/// The channels of the second-level cache of each XCC of a gfx942 (TCC), or of a gfx1201 (GL2C).
pub fn channels(gfx942: bool) -> Block {
    let all: Vec<u32> = (0..if gfx942 { 16 } else { 32 })
        .map(|channel| 0xa000_0000 | channel)
        .collect();
    let selects = match gfx942 {
        true => [0x1b80, 0x1b82, 0x1b84, 0x1b85],
        false => [0x1b80, 0x1b82, 0x1b84, 0x1b86],
    };
    Block {
        gfx942,
        selects,
        value: 0xd380,
        written: all.clone(),
        read: all,
    }
}

/// Compute units' vector caches (TCP).
pub fn vector(gfx942: bool) -> Block {
    let engines = 0..4;
    let (written, read) = if gfx942 {
        let units = engines.flat_map(|engine| (0..10).map(move |unit| (engine, unit)));
        let read = units.map(|(engine, unit)| 0x2000_0000 | (engine << 16) | unit);
        let written = (0..10).map(|unit| 0xa000_0000 | unit);
        (written.collect(), read.collect())
    } else {
        let arrays =
            engines.flat_map(|engine| (0..2).map(move |array| (engine << 16) | (array << 8)));
        let units = arrays.flat_map(|array| (0..8).map(move |unit| (array, unit)));
        let read = units.map(|(array, unit)| array | (unit / 2 * 4) | (unit % 2));
        (vec![0xe000_0000], read.collect())
    };
    Block {
        gfx942,
        selects: FIRST,
        value: 0xd340,
        written,
        read,
    }
}

impl Block {
    /// The program that starts events, four at most.
    pub fn start(&self, events: &[u32]) -> Vec<u32> {
        let mut words = [&FLUSH[..], &ALL].concat();
        if self.gfx942 {
            words.extend(set(0x1cbf, 1));
        }
        words.extend(set(STATE, 0));
        if self.gfx942 {
            words.extend(set(0x19e0, 0xffff_007f));
        } else {
            words.extend([set(0x19e0, 0x55), set(0x19e2, 0x1_ffff)].concat());
        }
        for (event, select) in events.iter().zip(self.selects) {
            for index in &self.written {
                words.extend([set(INDEX, *index), set(select, *event)].concat());
            }
        }
        words.extend(begin());
        words
    }

    /// The program that reads so many of them: 64 bits by XCC, event and instance.
    pub fn read(&self, xccs: u32, events: usize, to: u64) -> Vec<u32> {
        let mut words = set(STATE, 0x401).to_vec();
        let select = if self.gfx942 {
            0x0200_2500
        } else {
            0x0600_6200
        };
        let mut at = to;
        for xcc in 0..xccs {
            let mut own = [&ALL[..], &FLUSH, &ALL].concat();
            for event in 0..events as u32 {
                for index in &self.read {
                    own.extend(set(INDEX, *index));
                    for half in 0..2 {
                        own.extend(copy(select, self.value + 2 * event + half, at));
                        at += 4;
                    }
                }
            }
            own.extend(ALL);
            if self.gfx942 {
                // PRED_EXEC.
                words.extend([0xc000_2300, (1 << (24 + xcc)) | own.len() as u32]);
            }
            words.extend(own);
        }
        words
    }
}

/// The sum of each event over XCCs and instances, of the words that were read.
pub fn sums(words: &[u32], events: usize, instances: usize) -> Vec<u64> {
    let mut sums = vec![0; events];
    let values = words
        .chunks(2)
        .map(|both| u64::from(both[0]) | (u64::from(both[1]) << 32));
    for (n, value) in values.enumerate() {
        sums[n / instances % events] += value;
    }
    sums
}
