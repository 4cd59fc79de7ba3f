// SPDX-License-Identifier: MIT OR Apache-2.0

//! What an XCC saved of a queue behind its waves' states, as words: the queue's semaphores and barriers, the
//! packets that were begun, and how far each one's workgroups had come.
//!
//! The layout is the model's own, since the firmware's isn't published: the number of words, then entries, each
//! of what it is, how many words follow, and these. The words lie in the program's memory, so whoever reads them
//! back must be ready for any.

use crate::engines::cp::launch::dispatch::Progress;
use crate::engines::cp::launch::saved::{SavedGroup, ENTRY};
use crate::engines::cp::mec::inflight::UNDER_WAY;

/// What an entry is: a packet that was begun, one of its workgroups, or the queue's semaphores and barriers.
const BEGUN: u32 = 1;
const GROUP: u32 = 2;
const GWS: u32 = 3;
/// Words before the entries: the number of theirs.
pub(crate) const HEAD: usize = 1;

/// A packet that was begun: what it is and how far, and its workgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub(crate) words: Vec<u32>,
    pub(crate) groups: Vec<SavedGroup>,
}

impl Record {
    pub(crate) fn progress(&self) -> Progress {
        let mut progress = Progress::default();
        let values = self.words.chunks_exact(2).skip(1);
        for (value, words) in progress.0.iter_mut().zip(values) {
            if let [low, high] = words {
                *value = u64::from(*low) | (u64::from(*high) << 32);
            }
        }
        progress
    }
}

/// An XCC's share of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The words of its semaphores and barriers, if it used any.
    pub(crate) gws: Option<Vec<u32>>,
    /// The packets that were begun, the oldest first.
    pub(crate) records: Vec<Record>,
}

impl Share {
    /// As words; places are counted from the save area's base.
    pub fn words(&self, base: u64) -> Vec<u32> {
        let mut entries = Vec::new();
        let mut entry = |kind: u32, words: &[u32]| {
            entries.extend([kind, words.len() as u32]);
            entries.extend(words);
        };
        if let Some(gws) = &self.gws {
            entry(GWS, gws);
        }
        for record in &self.records {
            entry(BEGUN, &record.words);
            for group in &record.groups {
                entry(GROUP, &group.words(base));
            }
        }
        entries
    }

    /// One of the words that follow their number. `None` if they are not a share's.
    pub fn of(words: &[u32], base: u64) -> Option<Self> {
        let (mut share, mut rest) = (Self::default(), words);
        while let Some((&[kind, size], words)) = rest.split_first_chunk::<ENTRY>() {
            let (words, after) = words.split_at_checked(size as usize)?;
            rest = after;
            match kind {
                GWS => share.gws = Some(words.to_vec()),
                BEGUN if share.records.len() == UNDER_WAY => return None,
                BEGUN => share.records.push(Record {
                    words: words.to_vec(),
                    groups: Vec::new(),
                }),
                GROUP => {
                    let group = SavedGroup::of(words, base)?;
                    share.records.last_mut()?.groups.push(group);
                }
                _ => return None,
            }
        }
        rest.is_empty().then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_packets_come_back_than_can_be_under_way() {
        let packets = |n: usize| {
            let entries: Vec<u32> = (0..n).flat_map(|_| [BEGUN, 1, 7]).collect();
            Share::of(&entries, 0).map(|share| share.records.len())
        };
        assert_eq!(packets(UNDER_WAY), Some(UNDER_WAY));
        assert_eq!(packets(UNDER_WAY + 1), None);
    }
}
