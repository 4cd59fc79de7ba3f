// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver, held at a place by the module of `tests/qemu/hold-call`.

use crate::{Failure, PATIENCE};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

const HELD: &str = "/sys/module/hold_call/parameters/held";

/// Whether it is held.
///
/// # Errors
/// The module isn't loaded.
pub fn is_held() -> Result<bool, Failure> {
    let held = fs::read_to_string(HELD);
    Ok(held.map_err(Failure::new)?.trim() == "1")
}

/// Waits until it is held.
///
/// # Errors
/// As of [`is_held`].
pub fn wait() -> Result<(), Failure> {
    let start = Instant::now();
    while !is_held()? {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new("the driver isn't held"));
        }
        sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Lets it go on.
///
/// # Errors
/// As of [`is_held`].
pub fn release() -> Result<(), Failure> {
    fs::write(HELD, "0").map_err(Failure::new)
}
