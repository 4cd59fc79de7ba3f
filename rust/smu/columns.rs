// SPDX-License-Identifier: GPL-2.0

//! The file `gpu_metrics` in format 1.3 ([`crate::uapi::metrics::v1_3`]).
//!
//! Source: `smu_v14_0_2_get_gpu_metrics`.

use super::{
    place::Place,
    reading::ByLoad, //
};
use crate::{
    glue::user::boottime_ns,
    gmc::KernelBuf,
    uapi::metrics::v1_3::{
        self as abi,
        Column, //
    }, //
};
use kernel::prelude::*;

/// Tenths of GT/s of each generation of PCI Express (`link_speed`); Linux knows no more of them here.
const SPEEDS: [u32; 4] = [25, 50, 80, 160];

/// Where the value of a column comes from.
pub(super) enum From {
    Table(Place),
    /// The larger one.
    Larger(Place, Place),
    /// The same, but all bits of 16 say that it is 0 (`smu_safe_u16_nn`).
    OrNone(Place),
    Clock(ByLoad),
    /// A bit for each percentage that isn't 0, the first of which is here.
    Throttlers(Place),
    /// The same, by the bits of all chips.
    IndependentThrottlers(Place),
    /// The link's generation.
    Link(Place),
    /// The time since the machine's start.
    Uptime,
}

/// A column that the unit reports.
pub(super) struct Reported {
    pub(super) column: Column,
    pub(super) from: From,
    /// The first version of the firmware that does.
    pub(super) since: u32,
}

impl Reported {
    /// What every firmware reports.
    pub(super) const fn new(column: Column, from: From) -> Self {
        Self {
            column,
            from,
            since: 0,
        }
    }
}

/// What a unit reports in this format.
pub(super) struct Columns {
    pub(super) reported: &'static [Reported],
    /// How many percentages there are.
    pub(super) throttlers: u32,
    /// Their bits, and those of all chips.
    pub(super) bits: &'static [(u32, u32)],
}

impl Columns {
    /// The bits of percentages that aren't 0.
    fn throttling(&self, first: Place, memory: &KernelBuf) -> Result<u64> {
        let mut status = 0u64;
        for number in 0..self.throttlers {
            // Four bytes in each word.
            let at = first.behind(usize::try_from(number / 4).map_err(|_| EINVAL)?);
            let bytes = memory.read(at.word())?.to_le_bytes();
            let byte = bytes.get(usize::try_from(number % 4).map_err(|_| EINVAL)?);
            if byte.is_some_and(|&percent| percent != 0) {
                status |= 1u64.checked_shl(number).unwrap_or(0);
            }
        }
        Ok(status)
    }

    fn value(&self, from: &From, memory: &KernelBuf) -> Result<u64> {
        Ok(match from {
            From::Table(place) => place.bits(memory)?.into(),
            From::Larger(one, other) => one.bits(memory)?.max(other.bits(memory)?).into(),
            From::OrNone(place) => match place.bits(memory)? {
                0xffff => 0,
                value => value.into(),
            },
            From::Clock(clock) => clock.read(memory)?.into(),
            From::Throttlers(first) => self.throttling(*first, memory)?,
            From::IndependentThrottlers(first) => {
                let status = self.throttling(*first, memory)?;
                let set = |bit: u32| status.checked_shr(bit).unwrap_or(0) & 1;
                let bits = self.bits.iter();
                bits.fold(0, |all, &(own, bit)| {
                    all | set(own).checked_shl(bit).unwrap_or(0)
                })
            }
            From::Link(place) => {
                let generation = usize::try_from(place.bits(memory)?).map_err(|_| EINVAL)?;
                let [first, ..] = SPEEDS;
                let speed = SPEEDS.get(generation.saturating_sub(1)).copied();
                speed.unwrap_or(first).into()
            }
            From::Uptime => boottime_ns(),
        })
    }

    /// Puts the file's bytes, of a unit whose firmware has this version.
    ///
    /// # Errors
    ///
    /// EINVAL, and those of `put`.
    pub(super) fn put(
        &self,
        memory: &KernelBuf,
        version: u32,
        put: &mut dyn FnMut(&[u8]) -> Result,
    ) -> Result {
        // All bits of what isn't known (`smu_cmn_init_soft_gpu_metrics`).
        let mut file = [0xff; abi::SIZE];
        let mut set = |at: usize, bytes: &[u8]| {
            let end = at.checked_add(bytes.len()).ok_or(EINVAL)?;
            file.get_mut(at..end).ok_or(EINVAL)?.copy_from_slice(bytes);
            Ok::<(), Error>(())
        };
        set(
            0,
            &u16::try_from(abi::SIZE).map_err(|_| EINVAL)?.to_le_bytes(),
        )?;
        set(2, &[abi::REVISION.0, abi::REVISION.1])?;
        for Reported {
            column,
            from,
            since,
        } in self.reported
        {
            if version >= *since {
                let bytes = self.value(from, memory)?.to_le_bytes();
                let bytes = bytes.get(..column.kind.bytes()).ok_or(EINVAL)?;
                set(column.offset, bytes)?;
            }
        }
        put(&file)
    }
}
