// SPDX-License-Identifier: GPL-2.0

//! What a GPU's management unit measures, as files: a device of the kernel's hwmon class, and files of the PCI device,
//! by amdgpu's names and in its units (`pm/amdgpu_pm.c`), which `sensors` and rocm-smi know.
//!
//! Which of amdgpu's files there are is what it shows of a generation (`hwmon_attributes_visible`: of gfx942 no edge
//! temperature, no voltage, no average of power, no fan; of gfx1201 no power but the average) and what the driver can
//! back. Nothing can be set.
//!
//! Lock order: the list's lock is taken with none held and above those of the management unit.

use crate::{
    glue::{
        attributes::{
            Files,
            Values, //
        },
        kobject::Text,
        linux::ENODATA, //
    },
    gpu::Gpu,
    smu::{
        Kinds,
        Levels,
        Reading, //
    },
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

/// What a file shows.
enum What {
    Label(&'static str),
    /// What is the same of all.
    Fixed(u32),
    /// A number; ENODATA where the reading has none.
    Number(fn(&Reading) -> Option<u64>),
    Levels(fn(&Reading) -> (u32, &Levels)),
    /// Bytes, all of a measurement.
    Metrics,
}

/// A file, and whether a unit backs it.
struct File {
    name: &'static CStr,
    what: What,
    backed: fn(&Kinds) -> bool,
}

impl File {
    const fn new(name: &'static CStr, what: What) -> Self {
        Self::of(name, what, |_| true)
    }

    const fn of(name: &'static CStr, what: What, backed: fn(&Kinds) -> bool) -> Self {
        Self { name, what, backed }
    }
}

/// Files of the hwmon device. Units: thousandths of a degree, millivolts, microwatts, Hz, turns in a minute.
static SENSORS: [File; 19] = [
    File::of(
        c"temp1_input",
        What::Number(|now| now.edge.map(u64::from)),
        |kinds| kinds.edge,
    ),
    File::of(c"temp1_label", What::Label("edge"), |kinds| kinds.edge),
    File::new(
        c"temp2_input",
        What::Number(|now| Some(now.temperature.into())),
    ),
    File::new(c"temp2_label", What::Label("junction")),
    File::new(
        c"temp3_input",
        What::Number(|now| Some(now.memory_temperature.into())),
    ),
    File::new(c"temp3_label", What::Label("mem")),
    File::of(c"power1_average", What::Number(power), |kinds| {
        kinds.is_average
    }),
    File::of(c"power1_input", What::Number(power), |kinds| {
        !kinds.is_average
    }),
    File::new(c"power1_label", What::Label("PPT")),
    File::of(
        c"in0_input",
        What::Number(|now| now.voltage.map(u64::from)),
        |kinds| kinds.voltage,
    ),
    File::of(c"in0_label", What::Label("vddgfx"), |kinds| kinds.voltage),
    File::new(c"freq1_input", What::Number(|now| Some(hz(now.gfx)))),
    File::new(c"freq1_label", What::Label("sclk")),
    File::new(c"freq2_input", What::Number(|now| Some(hz(now.memory)))),
    File::new(c"freq2_label", What::Label("mclk")),
    File::of(
        c"fan1_input",
        What::Number(|now| now.fan.map(|fan| fan.turns.into())),
        |kinds| kinds.fan,
    ),
    File::of(
        c"fan1_max",
        What::Number(|now| now.fan.map(|fan| fan.most.into())),
        |kinds| kinds.fan,
    ),
    File::of(
        c"pwm1",
        What::Number(|now| now.fan.map(|fan| fan.part.into())),
        |kinds| kinds.fan,
    ),
    // Of so many parts (`amdgpu_hwmon_get_pwm1_max`).
    File::of(c"pwm1_max", What::Fixed(255), |kinds| kinds.fan),
];

/// Files of the PCI device, numbered behind the others.
static OWN: [File; 5] = [
    File::new(
        c"gpu_busy_percent",
        What::Number(|now| Some(now.busy.into())),
    ),
    File::new(
        c"mem_busy_percent",
        What::Number(|now| Some(now.memory_busy.into())),
    ),
    File::new(
        c"pp_dpm_sclk",
        What::Levels(|now| (now.gfx, &now.gfx_levels)),
    ),
    File::new(
        c"pp_dpm_mclk",
        What::Levels(|now| (now.memory, &now.memory_levels)),
    ),
    File::new(c"gpu_metrics", What::Metrics),
];

fn power(now: &Reading) -> Option<u64> {
    Some(u64::from(now.power).saturating_mul(1000))
}

fn hz(mhz: u32) -> u64 {
    u64::from(mhz).saturating_mul(1_000_000)
}

/// Two clocks within 25 MHz of each other are the same (`SMU_DPM_FREQ_MATCH` of `smu_cmn_freqs_match`).
const CLOSE: u32 = 25;

/// The sensors of a GPU.
struct Sensors(Arc<Gpu>);

impl Values for Sensors {
    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        let file = Iterator::chain(SENSORS.iter(), &OWN)
            .nth(file)
            .ok_or(EINVAL)?;
        let value = match file.what {
            What::Label(label) => return writeln!(out, "{label}").map_err(|_| EINVAL),
            What::Metrics => return self.0.metrics(&mut |bytes| out.bytes(bytes)),
            What::Fixed(value) => value.into(),
            What::Number(of) => of(&self.0.measure()?).ok_or(ENODATA)?,
            What::Levels(of) => {
                let reading = self.0.measure()?;
                let (now, levels) = of(&reading);
                return show_levels(now, levels, out);
            }
        };
        writeln!(out, "{value}").map_err(|_| EINVAL)
    }
}

fn is_close(one: u32, other: u32) -> bool {
    one.abs_diff(other) <= CLOSE
}

/// A line of a clock.
fn line(out: &mut Text<'_>, index: usize, mhz: u32, is_now: bool) -> Result {
    let mark = if is_now { "*" } else { "" };
    writeln!(out, "{index}: {mhz}Mhz {mark}").map_err(|_| EINVAL)
}

/// The levels of a clock, and where it is among them (`smu_cmn_print_dpm_clk_levels`). A clock that sleeps has a line in
/// front of the others.
fn show_levels(now: u32, levels: &Levels, out: &mut Text<'_>) -> Result {
    let least = levels.least();
    let is_asleep = now < least / 2;
    let first = usize::from(is_asleep);
    if is_asleep {
        writeln!(out, "S: {now}Mhz *").map_err(|_| EINVAL)?;
    }
    let most = match levels.most() {
        Some(most) if levels.is_fine && levels.all().len() > 1 => most,
        _ => {
            for (index, &mhz) in (first..).zip(levels.all()) {
                line(out, index, mhz, !is_asleep && is_close(now, mhz))?;
            }
            return Ok(());
        }
    };
    let (low, high) = (is_close(now, least), is_close(now, most));
    if is_asleep || low || high {
        line(out, first, least, !is_asleep && low)?;
        return line(out, first.saturating_add(1), most, !is_asleep && !low);
    }
    line(out, 0, least, false)?;
    line(out, 1, now, true)?;
    line(out, 2, most, false)
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
        let Some(kinds) = gpu.kinds() else {
            return Ok(());
        };
        let backed = |files: &'static [File], first: usize| {
            let mut names = KVec::with_capacity(files.len(), GFP_KERNEL)?;
            for (number, file) in (first..).zip(files) {
                if (file.backed)(&kinds) {
                    names.push((number, file.name), GFP_KERNEL)?;
                }
            }
            Ok::<_, Error>(names)
        };
        let (sensors, own) = (backed(&SENSORS, 0)?, backed(&OWN, SENSORS.len())?);
        let files = gpu
            .while_bound(|device| Files::new(device, NAME, &sensors, &own, Sensors(gpu.clone())))?;
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
