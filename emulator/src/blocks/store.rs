// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers that are plain storage: what is written is what is read.

use crate::device::Refused;
use rkfd_hw::regs::RegInfo;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A set of such registers, named one by one.
pub struct Store {
    power_on: Vec<(&'static str, u32)>,
    values: Mutex<HashMap<&'static str, u32>>,
}

impl Store {
    /// Registers and their values at start-up.
    pub fn new(registers: &[(&'static str, u32)]) -> Self {
        Self {
            power_on: registers.to_vec(),
            values: Mutex::new(registers.iter().copied().collect()),
        }
    }

    /// Registers that are zero at start-up.
    pub fn zeroed(names: &[&'static str]) -> Self {
        Self::new(&names.iter().map(|name| (*name, 0)).collect::<Vec<_>>())
    }

    /// Reads a register.
    ///
    /// # Errors
    /// It is not one of these.
    pub fn read(&self, reg: &RegInfo) -> Result<u32, Refused> {
        self.get(reg.reg.name).ok_or(Refused::NotModelled)
    }

    /// Writes a register.
    ///
    /// # Errors
    /// It is not one of these.
    pub fn write(&self, reg: &RegInfo, value: u32) -> Result<(), Refused> {
        self.put(reg.reg.name, value)
    }

    /// Writes a register by name.
    ///
    /// # Errors
    /// It is not one of these.
    pub fn put(&self, name: &str, value: u32) -> Result<(), Refused> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        *values.get_mut(name).ok_or(Refused::NotModelled)? = value;
        Ok(())
    }

    /// A register's value by name.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.values
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .copied()
    }

    /// Sets a register by name, if it is one of these: what hardware does by itself.
    pub fn set(&self, name: &str, value: u32) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = values.get_mut(name) {
            *slot = value;
        }
    }

    /// Start-up values.
    pub fn reset(&self) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        *values = self.power_on.iter().copied().collect();
    }
}
