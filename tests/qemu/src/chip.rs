// SPDX-License-Identifier: MIT OR Apache-2.0
//! The GPUs that the emulator can be, as far as runs differ by them.

use anyhow::{bail, Result};
use std::fmt;

/// Who hands queues to the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// Firmware that is given run lists of PM4 packets through HIQ.
    Cpsch,
    /// The micro engine scheduler, which is given queues one by one.
    Mes,
}

/// A GPU.
#[derive(Debug)]
pub struct Chip {
    /// The emulator's name for it.
    pub name: &'static str,
    /// Its instruction set, as clang calls it.
    pub target: &'static str,
    /// Lanes of a wave, as clang compiles for it.
    pub lanes: u64,
    /// Its compute units.
    pub compute_units: u32,
    /// The dies that they are on, and that share a dispatch.
    pub xccs: u32,
    /// Who schedules on it.
    pub scheduler: Scheduler,
}

/// All of them, in the order in which they run. Those behind [`USUAL`] are other shapes of the same
/// chips: unless one is named, only scenarios to which the shape matters run on it.
pub static ALL: [Chip; 4] = [
    Chip {
        name: "mi308x",
        target: "gfx942",
        lanes: 64,
        compute_units: 80,
        xccs: 4,
        scheduler: Scheduler::Cpsch,
    },
    Chip {
        name: "navi48",
        target: "gfx1201",
        lanes: 32,
        compute_units: 64,
        xccs: 1,
        scheduler: Scheduler::Mes,
    },
    Chip {
        name: "mi308x-cpx",
        target: "gfx942",
        lanes: 64,
        compute_units: 20,
        xccs: 1,
        scheduler: Scheduler::Cpsch,
    },
    Chip {
        name: "navi48-xl",
        target: "gfx1201",
        lanes: 32,
        compute_units: 56,
        xccs: 1,
        scheduler: Scheduler::Mes,
    },
];

/// How many of them are one of each kind.
const USUAL: usize = 2;

impl Chip {
    /// The chips that a name stands for: one, or one of each kind for `all` or no name.
    pub fn chosen(name: &str) -> Result<&'static [Self]> {
        Ok(Self::named(name)?.unwrap_or(ALL.split_at(USUAL).0))
    }

    /// The chips that scenarios are tested on: one that is named, or all, of which those that
    /// aren't usual have only the scenarios that are about their shape.
    pub fn tested(name: &str) -> Result<&'static [Self]> {
        Ok(Self::named(name)?.unwrap_or(&ALL))
    }

    /// Whether it is the one of its kind that everything runs on.
    pub fn is_usual(&self) -> bool {
        ALL.split_at(USUAL)
            .0
            .iter()
            .any(|chip| chip.name == self.name)
    }

    /// The one chip of a name; `None` for `all` or no name.
    fn named(name: &str) -> Result<Option<&'static [Self]>> {
        if matches!(name, "" | "all") {
            return Ok(None);
        }
        match ALL.iter().find(|chip| chip.name == name) {
            Some(chip) => Ok(Some(std::slice::from_ref(chip))),
            None => bail!(
                "no chip is called '{name}': {}, or all",
                ALL.each_ref().map(|chip| chip.name).join(", ")
            ),
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_chip_or_all() {
        for all in ["", "all"] {
            assert_eq!(names(all), ["mi308x", "navi48"]);
            let tested = Chip::tested(all).unwrap().iter();
            let other: Vec<_> = tested.filter(|chip| !chip.is_usual()).collect();
            assert!(other.iter().all(|chip| chip.xccs == 1) && !other.is_empty());
        }
        assert_eq!(Chip::tested("mi308x-cpx").unwrap().len(), 1);
        assert_eq!(names("navi48"), ["navi48"]);
        assert!(Chip::chosen("navi4").is_err());
    }

    fn names(text: &str) -> Vec<&'static str> {
        let chips = Chip::chosen(text).unwrap();
        chips.iter().map(|chip| chip.name).collect()
    }
}
