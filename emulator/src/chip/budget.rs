// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much of the host's memory the VRAM may take.
//!
//! VRAM takes memory from the host where it is written, by the guest's processors through the BAR
//! as well as by the device, and only the kernel sees both. So the memory file is asked now and
//! then how much it holds. Past the limit the device falls off the bus, as one that loses its
//! power: registers read as all ones, what was in progress ends, and the content of VRAM is gone.
//! That is in the report. The guest can go on to write into the BAR, so the file is emptied again
//! whenever it has come past the limit anew.

use super::device::Device;
use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// The limit that holds unless another one is given.
pub const DEFAULT_MIB: u64 = 3 << 10;
/// How often the file is looked at: what can be written meanwhile comes on top of the limit.
const PERIOD: Duration = Duration::from_millis(10);

/// Watches a device's VRAM until the device ends.
///
/// # Errors
/// The host refuses a thread.
pub fn watch(device: &Arc<Device>, limit: u64) -> io::Result<()> {
    let device = Arc::downgrade(device);
    let watch = move || {
        while look(&device, limit) {
            thread::sleep(PERIOD);
        }
    };
    thread::Builder::new().name("budget".into()).spawn(watch)?;
    Ok(())
}

/// Looks once; false when the device is gone.
fn look(device: &Weak<Device>, limit: u64) -> bool {
    let Some(device) = device.upgrade() else {
        return false;
    };
    let vram = device.soc.memory.vram;
    if vram.held() > limit {
        if !device.is_off_the_bus() {
            device.soc.report.violation(format_args!(
                "VRAM takes more than {} MiB of the host's memory (--host-memory): the device is off \
                 the bus",
                limit >> 20
            ));
            device.fall_off_the_bus();
        }
        vram.give_back(0, vram.size());
    }
    true
}
