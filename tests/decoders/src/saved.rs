// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a program may have put in its save area in the place of what the device saved there.

use crate::words;
use rkfd_emulator::engines::cp::run::record::Share;

/// Bytes of an address.
const ADDRESS: usize = 8;

/// What is accepted says the same when it is written again, and is read back alike.
pub fn saved(bytes: &[u8]) {
    let Some((base, bytes)) = bytes.split_first_chunk::<ADDRESS>() else {
        return;
    };
    let (base, words) = (u64::from_le_bytes(*base), words(bytes));
    let Some(share) = Share::of(&words, base) else {
        return;
    };
    let again = share.words(base);
    // Only one set of semaphores is kept of several.
    assert!(again.len() <= words.len());
    assert_eq!(Share::of(&again, base), Some(share));
}
