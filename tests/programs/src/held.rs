// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver, held at a place by the module of `tests/qemu/hold-call`.

use crate::{Failure, PATIENCE};
use std::fs::{self, File};
use std::io::Read;
use std::thread::sleep;
use std::time::{Duration, Instant};

const HELD: &str = "/sys/module/hold_call/parameters/held";
const WAIT: &str = "/sys/module/hold_call/parameters/wait";

/// Whether it is held. Takes no memory from the process, which may have none to give where it is held at a page.
///
/// # Errors
/// The module isn't loaded.
pub fn is_held() -> Result<bool, Failure> {
    let mut held = [0];
    let file = File::open(HELD).map_err(Failure::new)?;
    (&file).read_exact(&mut held).map_err(Failure::new)?;
    Ok(held == *b"1")
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

/// Has it held at the next call, where the module was loaded with `wait=1`.
///
/// # Errors
/// As of [`is_held`].
pub fn hold_next() -> Result<(), Failure> {
    fs::write(WAIT, "0").map_err(Failure::new)
}
