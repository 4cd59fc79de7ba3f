// SPDX-License-Identifier: GPL-2.0

//! Room in a ring (`kq_acquire_packet_buffer`), against a ring of which each word is known.

use super::filler;
use crate::kunit::Random;
use kernel::prelude::*;

const WORDS: usize = 64;

#[kunit_tests(rkfd_ring)]
mod tests {
    use super::*;

    /// A writer and a reader at random: no packet wraps, none is written over words that weren't
    /// read, and all is read in order.
    #[test]
    fn packets_stay_whole_and_in_order() -> Result {
        let mut random = Random::new();
        // What was written and not read: a packet's number, or 0 for filler.
        let mut ring = [None::<u32>; WORDS];
        let (mut wptr, mut rptr) = (0, 0);
        let (mut written, mut read, mut refused, mut wrapped, mut padded) = (0, 0, 0, 0, 0);
        for _ in 0..5000 {
            if random.below(2) == 0 {
                let len = 1 + random.below(24) as usize;
                let boundary = if random.below(4) == 0 { 8 } else { 1 };
                let used = ring.iter().flatten().count();
                let Ok(fill) = filler(WORDS, wptr, rptr, len, boundary) else {
                    // There was no room behind, nor in front.
                    let pad = boundary - 1;
                    let short = len + pad >= WORDS - wptr;
                    let behind = if short { WORDS - wptr } else { 0 };
                    assert!(used + behind + pad + len >= WORDS);
                    refused += 1;
                    continue;
                };
                written += 1;
                wrapped += usize::from(wptr + fill >= WORDS);
                padded += usize::from(boundary > 1 && fill > 0);
                assert_eq!((wptr + fill + len) % boundary, 0);
                for i in 0..fill + len {
                    let at = (wptr + i) % WORDS;
                    // The packet itself ends before the end of the ring.
                    assert!(i < fill || at + 1 < WORDS);
                    let word = ring.get_mut(at).ok_or(EINVAL)?;
                    assert!(word.is_none());
                    *word = Some(if i < fill { 0 } else { written });
                }
                wptr = (wptr + fill + len) % WORDS;
                // Never full: that would look empty.
                assert!(wptr != rptr);
            } else {
                for _ in 0..random.below(40) {
                    let Some(number) = ring.get_mut(rptr).and_then(Option::take) else {
                        break;
                    };
                    assert!(number == 0 || number == read || number == read + 1);
                    read = read.max(number);
                    rptr = (rptr + 1) % WORDS;
                }
            }
        }
        assert!(refused > 50 && wrapped > 50 && padded > 50 && read > 500);
        Ok(())
    }

    #[test]
    fn a_packet_to_the_last_word_starts_over() {
        assert_eq!(filler(WORDS, WORDS - 7, 20, 6, 1), Ok(0));
        assert_eq!(filler(WORDS, WORDS - 7, 20, 7, 1), Ok(7));
        assert_eq!(filler(WORDS, WORDS - 7, 20, 8, 1), Ok(7));
        // Its room in front is not read yet.
        assert_eq!(filler(WORDS, WORDS - 7, 8, 7, 1), Ok(7));
        assert_eq!(filler(WORDS, WORDS - 7, 7, 7, 1), Err(ENOMEM));
    }

    /// The numbers of `sdma_v4_4_2_ring_emit_ib`: (2 - wptr) & 7 words before a packet of six.
    #[test]
    fn a_packet_ends_on_its_boundary() {
        for at in 0..WORDS - 16 {
            let linux = 2_usize.wrapping_sub(at) & 7;
            assert_eq!(filler(WORDS, at, at, 6, 8), Ok(linux));
        }
        // It would reach the last word: the rest of the ring, and two words at its start.
        assert_eq!(filler(WORDS, WORDS - 10, WORDS - 10, 6, 8), Ok(12));
        assert_eq!(filler(WORDS, WORDS - 8, WORDS - 8, 6, 8), Ok(10));
    }
}
