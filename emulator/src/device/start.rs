// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a chip is like when it has started.

use crate::rules::{is_cold, mes_revision, was_used, Rules};

/// What a start leaves for drivers to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Nobody has loaded firmware yet: only that in the chip's flash runs.
    pub cold: bool,
    /// Registers that are a driver's to set hold what another driver left there.
    pub used: bool,
    /// The revision of the micro engine scheduler's firmware, if it is another than usual.
    pub mes_revision: Option<u32>,
    /// It was a function-level reset: the security processor is no part of the function, and its OS lives on.
    pub keeps_os: bool,
}

impl Start {
    /// As from power-on, whatever rules say: after a reset of the whole chip.
    pub const COLD: Self = Self {
        cold: true,
        used: false,
        mes_revision: None,
        keeps_os: false,
    };

    /// As rules say. Without one the device is warm: another driver has loaded all firmware.
    pub fn by(rules: &Rules) -> Self {
        Self {
            cold: is_cold(rules),
            used: was_used(rules),
            mes_revision: mes_revision(rules),
            keeps_os: false,
        }
    }

    /// After a function-level reset of a chip that had started like this.
    pub fn of_function(self) -> Self {
        Self {
            keeps_os: true,
            ..self
        }
    }
}
