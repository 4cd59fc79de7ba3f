// SPDX-License-Identifier: MIT OR Apache-2.0

//! A device that is pulled out of its slot while it works ([`Fault::PulledOut`]): registers read as all
//! ones, what was in progress ends, and nobody was asked before.
//!
//! When that happens is counted in interrupts, which only work raises.

use super::device::Device;
use crate::inject::Fault;
use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// Interrupts after which it happens.
const AFTER: u64 = 100;
/// How often they are counted.
const PERIOD: Duration = Duration::from_millis(1);

/// Pulls the device out when its time has come, if that was asked for.
///
/// # Errors
/// The host refuses a thread.
pub fn watch(device: &Arc<Device>) -> io::Result<()> {
    if !device.soc.faults.has(Fault::PulledOut) {
        return Ok(());
    }
    let device = Arc::downgrade(device);
    let watch = move || {
        while stays(&device) {
            thread::sleep(PERIOD);
        }
    };
    thread::Builder::new().name("removal".into()).spawn(watch)?;
    Ok(())
}

/// Looks once; false when the device is out.
fn stays(device: &Weak<Device>) -> bool {
    let Some(device) = device.upgrade() else {
        return false;
    };
    if device.soc.interrupts.raised() < AFTER {
        return true;
    }
    device.fall_off_the_bus();
    false
}
