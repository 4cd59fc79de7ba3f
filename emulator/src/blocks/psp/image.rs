// SPDX-License-Identifier: MIT OR Apache-2.0

//! Images as the security processor takes them: a header, a body, a signature.
//!
//! No source of Linux names the header; all of AMD's own files for these chips (Debian's `firmware-amd-graphics`) have it:
//! a mark at 0x10, behind it the body's size, and a version at 0x60. Header and signature take 0x300 bytes of an image for
//! gfx942 and 0x200 of one for gfx1201, whose signatures are shorter. So an image for another chip, one that is cut short, and
//! what is no image at all can be told, as the processor tells them; signatures can't be checked here.

use crate::memory::{Space, VmFault};

/// Bytes of the header that are looked at.
const HEADER: usize = 0x64;
const MARK: (usize, &[u8; 4]) = (0x10, b"$PS1");
const BODY_AT: usize = 0x14;
const VERSION_AT: usize = 0x60;

/// A header.
pub(super) struct Header {
    /// Bytes of the body.
    body: u64,
    /// The version.
    pub(super) version: u32,
}

/// Why an image isn't taken.
pub(super) enum Bad {
    /// It can't be read.
    Fault(VmFault),
    /// It is none.
    NoImage,
}

impl Header {
    /// Reads that of the image at an address.
    ///
    /// # Errors
    /// It can't be read, or is none.
    pub(super) fn read(space: &Space<'_>, at: u64) -> Result<Self, Bad> {
        let mut bytes = [0; HEADER];
        space.read(at, &mut bytes).map_err(Bad::Fault)?;
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
            word.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let (place, mark) = MARK;
        if !bytes
            .get(place..)
            .is_some_and(|rest| rest.starts_with(mark))
        {
            return Err(Bad::NoImage);
        }
        Ok(Self {
            body: word(BODY_AT).into(),
            version: word(VERSION_AT),
        })
    }

    /// Whether an image whose header and signature take `overhead` bytes has `size` in all. Data of an engine may be followed by
    /// more, which isn't signed.
    pub(super) fn has_size(&self, size: u64, overhead: u64, is_data: bool) -> bool {
        let own = self.body + overhead;
        size == own || is_data && size > own
    }
}
