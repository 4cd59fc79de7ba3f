// SPDX-License-Identifier: GPL-2.0

//! The values of a measurement, of which the same few are shown of every unit.
//!
//! Source: `smu_v13_0_6_get_smu_metrics_data`, `smu_v14_0_2_get_smu_metrics_data`.

use super::{
    levels::Levels,
    place::Place, //
};
use crate::gmc::KernelBuf;
use kernel::prelude::*;

/// Up to so many percent the compute units count as idle (`SMU_14_0_2_BUSY_THRESHOLD`).
const IDLE: u32 = 5;
/// An activity that isn't known counts as none (`smu_safe_u16_nn`).
const NOT_KNOWN: u32 = 0xffff;

/// Where a measurement's values are. What is `None` the unit doesn't report.
pub(super) struct Values {
    pub(super) power: Place,
    /// Power is an average.
    pub(super) is_average: bool,
    pub(super) edge: Option<Place>,
    pub(super) temperature: Place,
    pub(super) memory_temperature: Place,
    pub(super) voltage: Option<Place>,
    /// Turns in a minute, and percent.
    pub(super) fan: Option<(Place, Place)>,
    pub(super) gfx: ByLoad,
    pub(super) memory: Place,
    pub(super) busy: Place,
    pub(super) memory_busy: Place,
}

/// A clock that is measured in two ways: with the time in which it sleeps, for compute units that are idle, and without.
#[derive(Clone, Copy)]
pub(super) struct ByLoad {
    pub(super) busy: Place,
    pub(super) idle: Place,
    pub(super) awake: Place,
}

impl ByLoad {
    /// The clock in MHz.
    ///
    /// # Errors
    ///
    /// EINVAL.
    pub(super) fn read(&self, memory: &KernelBuf) -> Result<u32> {
        match self.busy.rounded(memory)? {
            0..=IDLE | NOT_KNOWN => self.idle.rounded(memory),
            _ => self.awake.rounded(memory),
        }
    }
}

/// A fan.
#[derive(Clone, Copy)]
pub(crate) struct Fan {
    /// Turns in a minute, and the most of them.
    pub(crate) turns: u32,
    pub(crate) most: u32,
    /// Of 255.
    pub(crate) part: u32,
}

/// A measurement.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Milliwatts, and thousandths of a degree.
    pub(crate) power: u32,
    pub(crate) edge: Option<u32>,
    pub(crate) temperature: u32,
    pub(crate) memory_temperature: u32,
    /// Millivolts of the compute units.
    pub(crate) voltage: Option<u32>,
    pub(crate) fan: Option<Fan>,
    /// MHz: of the compute units and of memory.
    pub(crate) gfx: u32,
    pub(crate) gfx_levels: Levels,
    pub(crate) memory: u32,
    pub(crate) memory_levels: Levels,
    /// Percent.
    pub(crate) busy: u32,
    pub(crate) memory_busy: u32,
}

/// Which of a reading's values there are.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    pub(crate) edge: bool,
    pub(crate) voltage: bool,
    pub(crate) fan: bool,
    /// Power is an average.
    pub(crate) is_average: bool,
}

impl Values {
    /// The values of a measurement in memory, on a card with a fan of so many turns at most, and with these levels of
    /// clocks.
    ///
    /// # Errors
    ///
    /// EINVAL.
    pub(super) fn read(
        &self,
        memory: &KernelBuf,
        fan: Option<u32>,
        [gfx_levels, memory_levels]: [Levels; 2],
    ) -> Result<Reading> {
        let thousandths = |place: Place| place.thousandths(memory);
        let whole = |place: Place| place.rounded(memory);
        let fan = match (self.fan, fan) {
            (Some((turns, percent)), Some(most)) => Some(Fan {
                turns: whole(turns)?,
                most,
                part: (whole(percent)?.saturating_mul(255) / 100).min(255),
            }),
            _ => None,
        };
        Ok(Reading {
            power: thousandths(self.power)?,
            edge: self.edge.map(thousandths).transpose()?,
            temperature: thousandths(self.temperature)?,
            memory_temperature: thousandths(self.memory_temperature)?,
            voltage: self.voltage.map(whole).transpose()?,
            fan,
            gfx: self.gfx.read(memory)?,
            gfx_levels,
            memory: whole(self.memory)?,
            memory_levels,
            busy: whole(self.busy)?,
            memory_busy: match whole(self.memory_busy)? {
                NOT_KNOWN => 0,
                percent => percent,
            },
        })
    }
}
