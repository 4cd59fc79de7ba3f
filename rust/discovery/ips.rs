// SPDX-License-Identifier: GPL-2.0

//! The list of IP blocks: dies, and what each is made of.
//!
//! Blocks have 8 bytes and their base addresses, so that each begins where the one before ends.

use super::{
    table,
    Reason, //
};
use crate::{
    hw::discovery::{
        u16_at,
        u32_at,
        IP_SIGNATURE,
        TABLE_IP, //
    },
    types::IpVersion, //
};
use kernel::prelude::*;

const MAX_DIES: usize = 16;
/// More entries than a binary has room for: a bound for untrusted counts.
const MAX_ENTRIES: usize = 2048;
/// Bytes from the start of the IP table to its flag for 64-bit base addresses.
const WIDE_FLAG_OFFSET: usize = 78;
/// Bytes of an entry in front of its base addresses.
const HEAD: usize = 8;

const CUT: Reason = "the IP table is cut short";

/// An entry of the list.
pub(crate) struct Entry<'a> {
    /// Number of its die, and how many entries that has.
    pub(crate) die: u16,
    pub(crate) siblings: u16,
    pub(crate) hw_id: u16,
    pub(crate) instance: u8,
    pub(crate) version: IpVersion,
    bases: &'a [u8],
    /// Bytes of a base address: 4 or 8.
    base_size: usize,
}

impl Entry<'_> {
    /// Base addresses of its segments, in words.
    pub(crate) fn bases(&self) -> impl Iterator<Item = u32> + '_ {
        self.bases.chunks_exact(self.base_size).map(|base| {
            let low = u32_at(base, 0).unwrap_or(0);
            // Of a 64-bit base the upper half names the die; words have 30 bits.
            match self.base_size {
                8 => low & 0x3fff_ffff,
                _ => low,
            }
        })
    }
}

/// Calls `f` with each entry of a binary, die by die. The outer error is `f`'s, the inner one the device's.
pub(super) fn each(
    binary: &[u8],
    mut f: impl FnMut(&Entry<'_>) -> Result,
) -> Result<Result<(), Reason>> {
    let (head, dies, base_size) = match start(binary) {
        Ok(start) => start,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut entries = 0usize;
    for die in 0..dies {
        let place = usize::from(die).saturating_mul(4).saturating_add(16);
        let place = u16_at(head, place).map(usize::from);
        let count = place.and_then(|at| u16_at(binary, at.checked_add(2)?));
        let (Some(place), Some(count)) = (place, count) else {
            return Ok(Err(CUT));
        };
        let mut rest = binary.get(place.saturating_add(4)..).unwrap_or_default();
        for _ in 0..count {
            let Some((entry, behind)) = take(rest, (die, count), base_size) else {
                return Ok(Err(CUT));
            };
            entries = entries.saturating_add(1);
            if entries > MAX_ENTRIES {
                return Ok(Err("the IP table has too many entries"));
            }
            f(&entry)?;
            rest = behind;
        }
    }
    Ok(Ok(()))
}

/// The table, the number of its dies, and bytes of a base address.
fn start(binary: &[u8]) -> Result<(&[u8], u16, usize), Reason> {
    let head = table(binary, TABLE_IP)?.ok_or("no IP table")?;
    if u32_at(head, 0) != Some(IP_SIGNATURE) {
        return Err("wrong signature of the IP table");
    }
    let version = u16_at(head, 4).unwrap_or(0);
    let is_wide = version >= 4 && u16_at(head, WIDE_FLAG_OFFSET).unwrap_or(0) & 1 == 1;
    let dies = u16_at(head, 12).ok_or(CUT)?;
    if dies == 0 || usize::from(dies) > MAX_DIES {
        return Err("the IP table has an impossible number of dies");
    }
    Ok((head, dies, if is_wide { 8 } else { 4 }))
}

/// The first entry of a die's list, and what follows it.
fn take(rest: &[u8], (die, siblings): (u16, u16), base_size: usize) -> Option<(Entry<'_>, &[u8])> {
    let (head, rest) = rest.split_at_checked(HEAD)?;
    let byte = |i: usize| head.get(i).copied().unwrap_or(0);
    let size = usize::from(byte(3)).checked_mul(base_size)?;
    let (bases, rest) = rest.split_at_checked(size)?;
    let entry = Entry {
        die,
        siblings,
        hw_id: u16_at(head, 0)?,
        instance: byte(2),
        version: IpVersion::new(byte(4), byte(5), byte(6)),
        bases,
        base_size,
    };
    Some((entry, rest))
}
