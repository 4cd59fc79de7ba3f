// SPDX-License-Identifier: GPL-2.0

//! What a GPU's management unit measures, as files: a device of the kernel's hwmon class, and files of the PCI device,
//! by amdgpu's names and in its units (`pm/amdgpu_pm.c`), which `sensors` and rocm-smi know.
//!
//! Which of amdgpu's files there are is what it shows of this generation (`hwmon_attributes_visible`: no edge
//! temperature, no voltage, no average of power) and what the driver can back. Nothing can be set.
//!
//! Lock order: the list's lock is taken with none held and above those of the management unit.

use crate::{
    glue::{
        attributes::{
            Files,
            Values, //
        },
        kobject::Text, //
    },
    gpu::Gpu,
    smu::Reading,
    types::GpuId, //
};
use core::fmt::Write;
use kernel::{
    new_mutex,
    prelude::*,
    str::CStr,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// The name of the hwmon device.
const NAME: &CStr = c"amdgpu";

/// Files of the hwmon device.
static SENSORS: [&CStr; 10] = [
    c"temp2_input",
    c"temp2_label",
    c"temp3_input",
    c"temp3_label",
    c"power1_input",
    c"power1_label",
    c"freq1_input",
    c"freq1_label",
    c"freq2_input",
    c"freq2_label",
];

/// Files of the PCI device, numbered behind the others.
static OWN: [&CStr; 5] = [
    c"gpu_busy_percent",
    c"mem_busy_percent",
    c"pp_dpm_sclk",
    c"pp_dpm_mclk",
    c"gpu_metrics",
];

/// The number of the file that is bytes, all of a measurement.
const METRICS: usize = 14;

/// Two clocks within 25 MHz of each other are the same (`SMU_DPM_FREQ_MATCH` of `smu_cmn_freqs_match`).
const CLOSE: u32 = 25;

/// The sensors of a GPU.
struct Sensors(Arc<Gpu>);

impl Values for Sensors {
    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        let label = match file {
            1 => Some("junction"),
            3 => Some("mem"),
            5 => Some("PPT"),
            7 => Some("sclk"),
            9 => Some("mclk"),
            _ => None,
        };
        if let Some(label) = label {
            return writeln!(out, "{label}").map_err(|_| EINVAL);
        }
        if file == METRICS {
            return self.0.metrics(&mut |bytes| out.bytes(bytes));
        }
        let now = self.0.measure()?;
        let value: u64 = match file {
            0 => now.temperature.into(),
            2 => now.memory_temperature.into(),
            // Microwatts, and Hz.
            4 => u64::from(now.power).saturating_mul(1000),
            6 => u64::from(now.gfx).saturating_mul(1_000_000),
            8 => u64::from(now.memory).saturating_mul(1_000_000),
            10 => now.busy.into(),
            11 => now.memory_busy.into(),
            12 => return gfx_levels(&now, out),
            _ => return memory_levels(&now, out),
        };
        writeln!(out, "{value}").map_err(|_| EINVAL)
    }
}

fn is_close(one: u32, other: u32) -> bool {
    one.abs_diff(other) <= CLOSE
}

/// A line of a clock (`smu_cmn_print_dpm_clk_levels`).
fn line(out: &mut Text<'_>, index: usize, mhz: u32, is_now: bool) -> Result {
    let mark = if is_now { "*" } else { "" };
    writeln!(out, "{index}: {mhz}Mhz {mark}").map_err(|_| EINVAL)
}

/// A clock that sleeps has a line in front of the others; how many lines that are.
fn asleep(out: &mut Text<'_>, now: u32, least: u32) -> Result<usize> {
    if now >= least / 2 {
        return Ok(0);
    }
    writeln!(out, "S: {now}Mhz *").map_err(|_| EINVAL)?;
    Ok(1)
}

/// The least and the most of the compute units' clock, and where it is between them.
fn gfx_levels(now: &Reading, out: &mut Text<'_>) -> Result {
    let (least, most) = now.gfx_range;
    let first = asleep(out, now.gfx, least)?;
    let (low, high) = (is_close(now.gfx, least), is_close(now.gfx, most));
    if first != 0 || low || high {
        line(out, first, least, first == 0 && low)?;
        return line(out, first.saturating_add(1), most, first == 0 && !low);
    }
    line(out, 0, least, false)?;
    line(out, 1, now.gfx, true)?;
    line(out, 2, most, false)
}

/// The levels of memory's clock.
fn memory_levels(now: &Reading, out: &mut Text<'_>) -> Result {
    let least = now.memory_levels.first().copied().unwrap_or(0);
    let first = asleep(out, now.memory, least)?;
    for (index, &mhz) in (first..).zip(now.memory_levels.iter()) {
        let is_now = first == 0 && is_close(now.memory, mhz);
        line(out, index, mhz, is_now)?;
    }
    Ok(())
}

/// The files of all GPUs.
#[pin_data]
pub(crate) struct AllSensors {
    #[pin]
    list: Mutex<KVec<(GpuId, Files<Sensors>)>>,
}

impl AllSensors {
    /// Those of none.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self { list <- new_mutex!(KVec::new(), "rkfd sensors") })
    }

    /// Makes the files of a GPU, if its management unit measures for the driver.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV.
    pub(crate) fn add(&self, gpu: &Arc<Gpu>) -> Result {
        if matches!(gpu.measure(), Err(EOPNOTSUPP)) {
            return Ok(());
        }
        let files = gpu
            .while_bound(|device| Files::new(device, NAME, &SENSORS, &OWN, Sensors(gpu.clone())))?;
        Ok(self.list.lock().push((gpu.id(), files), GFP_KERNEL)?)
    }

    /// Removes those of a GPU, and waits for their readers.
    pub(crate) fn remove(&self, gpu: &Gpu) {
        let mut list = self.list.lock();
        let Some(at) = list.iter().position(|(id, _)| *id == gpu.id()) else {
            return;
        };
        let files = list.remove(at);
        drop(list);
        drop(files);
    }
}
