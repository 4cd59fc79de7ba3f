// SPDX-License-Identifier: MIT OR Apache-2.0

//! The thermal monitor of gfx1201: it interrupts where the chip gets hotter or cooler than a driver wants it.
//!
//! The emulated chip gets neither as hot nor as cold as drivers choose, so there are no interrupts. Limits that it would
//! reach aren't modelled, and are refused. Source: Linux, `pm/swsmu/smu14/smu_v14_0.c` (`smu_v14_0_set_irq_state`).

use super::store::Store;
use crate::device::{IpBlock, Refused};
use rkfd_hw::regs::thm_14_0_2::THM_THERMAL_INT_CTRL as Control;
use rkfd_hw::regs::{RegInfo, Value};

/// Degrees that it always has, and that it never reaches.
const COOLEST: u32 = 20;
const HOTTEST: u32 = 100;

/// The block.
pub struct Thm(Store);

impl Default for Thm {
    /// Start-up state: nothing interrupts.
    fn default() -> Self {
        let masked = Value::<Control>::zeroed()
            .with(Control::THERM_INTH_MASK, true)
            .with(Control::THERM_INTL_MASK, true)
            .with(Control::THERM_TRIGGER_MASK, true);
        Self(Store::new(&[
            ("THM_THERMAL_INT_CTRL", masked.bits()),
            ("THM_THERMAL_INT_ENA", 0),
            ("THM_THERMAL_INT_STATUS", 0),
        ]))
    }
}

impl IpBlock for Thm {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        self.0.read(reg)
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        match reg.reg.name {
            "THM_THERMAL_INT_STATUS" => return Err(Refused::ReadOnly),
            "THM_THERMAL_INT_CTRL" => {
                let control = Value::<Control>::new(value);
                let hot = !control.is_set(Control::THERM_INTH_MASK)
                    && control.get(Control::DIG_THERM_INTH) < HOTTEST;
                let cold = !control.is_set(Control::THERM_INTL_MASK)
                    && control.get(Control::DIG_THERM_INTL) > COOLEST;
                if hot || cold {
                    let what = "an interrupt at a temperature that the chip reaches";
                    return Err(Refused::Undefined(format!("{what} is not modelled")));
                }
            }
            _ => {}
        }
        self.0.write(reg, value)
    }

    fn reset(&self) {
        self.0.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rkfd_hw::regs::thm_14_0_2::TABLE;

    #[test]
    fn limits_that_it_reaches_are_refused() {
        let found = TABLE
            .regs
            .iter()
            .find(|info| info.reg.name == "THM_THERMAL_INT_CTRL");
        let control = found.expect("the register");
        let of = |high: u32, low: u32| high | (low << 8);
        let thm = Thm::default();
        // What amdgpu writes: 118 degrees, and 0.
        assert!(thm.write(control, of(118, 0)).is_ok());
        assert!(thm.read(control).is_ok_and(|value| value == of(118, 0)));
        assert!(thm.write(control, of(60, 0)).is_err());
        assert!(thm.write(control, of(118, 40)).is_err());
        // Both masked (bits 24 and 25).
        assert!(thm.write(control, of(60, 40) | (3 << 24)).is_ok());
    }
}
