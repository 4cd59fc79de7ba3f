// SPDX-License-Identifier: GPL-2.0

//! The levels of a clock: some units write them into each measurement, others are asked for them.
//!
//! Source: `smu_v14_0_set_single_dpm_table`.

use super::{
    place::Place,
    Smu, //
};
use crate::gmc::KernelBuf;
use kernel::prelude::*;

/// The most that a clock has (`SMU_MAX_DPM_LEVELS`).
const MOST: usize = 16;
/// Beside the number of levels: only the least and the most are.
const FINE: u32 = 1 << 31;

/// Levels in MHz, the least first. There may be none.
#[derive(Clone, Copy, Default)]
pub(crate) struct Levels {
    mhz: [u32; MOST],
    count: usize,
    /// The clock can be anything between the least and the most.
    pub(crate) is_fine: bool,
}

impl Levels {
    pub(crate) fn all(&self) -> &[u32] {
        self.mhz.get(..self.count).unwrap_or(&[])
    }

    /// The least; 0 of none.
    pub(crate) fn least(&self) -> u32 {
        self.all().first().copied().unwrap_or(0)
    }

    /// The most.
    pub(crate) fn most(&self) -> Option<u32> {
        self.all().last().copied()
    }

    /// Adds one. Linux refuses more than it has room for.
    fn add(&mut self, mhz: u32) -> Result {
        *self.mhz.get_mut(self.count).ok_or(EINVAL)? = mhz;
        self.count = self.count.checked_add(1).ok_or(EINVAL)?;
        Ok(())
    }

    /// Lowers the highest, if it is higher.
    pub(super) fn cap(&mut self, mhz: u32) {
        if let Some(last) = self
            .count
            .checked_sub(1)
            .and_then(|at| self.mhz.get_mut(at))
        {
            *last = (*last).min(mhz);
        }
    }
}

/// A clock in messages, and the bit of the feature by which it has levels.
pub(super) struct Clock {
    pub(super) number: u32,
    pub(super) feature: u32,
}

/// Where the levels of the compute units' clock and of memory's come from.
pub(super) enum Source {
    /// From each measurement.
    Table { gfx: [Place; 2], memory: [Place; 4] },
    /// From the unit once its features run, of which `features` asks: bits 63:32 and 31:0.
    Asked {
        features: [u32; 2],
        frequency: u32,
        /// The level that asks for how many there are.
        count: u32,
        gfx: Clock,
        memory: Clock,
    },
}

impl Source {
    /// Levels that a measurement has, of compute units and memory; `None` where it has none.
    ///
    /// # Errors
    ///
    /// EINVAL.
    pub(super) fn read(&self, table: &KernelBuf) -> Result<Option<[Levels; 2]>> {
        let Self::Table { gfx, memory } = self else {
            return Ok(None);
        };
        let all = |places: &[Place], is_fine| {
            let mut levels = Levels {
                is_fine,
                ..Levels::default()
            };
            for place in places {
                levels.add(place.rounded(table)?)?;
            }
            Ok::<_, Error>(levels)
        };
        Ok(Some([all(gfx, true)?, all(memory, false)?]))
    }
}

impl Smu {
    /// Asks for levels, of compute units and memory. A clock whose feature doesn't run has none.
    ///
    /// # Errors
    ///
    /// EINVAL when there are more than Linux knows of; ETIME, those of refusals, ENODEV.
    pub(super) fn levels(&self, source: &Source) -> Result<[Levels; 2]> {
        let Source::Asked {
            features,
            frequency,
            count,
            gfx,
            memory,
        } = source
        else {
            return Ok([Levels::default(); 2]);
        };
        let [high, low] = *features;
        let running = (u64::from(self.ask(high, 0)?) << 32) | u64::from(self.ask(low, 0)?);
        let of = |clock: &Clock| {
            let mut levels = Levels::default();
            if running.checked_shr(clock.feature).unwrap_or(0) & 1 == 0 {
                return Ok(levels);
            }
            let ask = |level: u32| self.ask(*frequency, (clock.number << 16) | level);
            let there = ask(*count)?;
            levels.is_fine = there & FINE != 0;
            for level in 0..there & !FINE {
                levels.add(ask(level)? & !FINE)?;
            }
            Ok::<_, Error>(levels)
        };
        Ok([of(gfx)?, of(memory)?])
    }
}
