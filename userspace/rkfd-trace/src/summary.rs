// SPDX-License-Identifier: MIT OR Apache-2.0

//! The nine facts of a trace of ROCm, counted: launches, HSA queues, memory operations, signals, doorbells,
//! ioctls, the scheduler, the kernels' duration, and how queues were made.

use crate::{device, driver};
use std::collections::BTreeMap;
use std::fmt;

/// Ticks of the device's clock in a microsecond (Linux, `kfd_chardev.c`: 100 MHz, both chips).
const TICKS: u64 = 100;

/// The facts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Dispatch packets.
    pub launches: usize,
    /// Queues of programs that were made: ring size, type, percentage, priority as given.
    pub queues: Vec<String>,
    /// Requests of the driver, with how often each failed.
    pub ioctls: BTreeMap<&'static str, (usize, usize)>,
    /// Completion signals that were decremented, and those that raised an interrupt.
    pub signals: (usize, usize),
    /// Doorbells that programs rang, and that the driver rang.
    pub doorbells: (usize, usize),
    /// Run lists and MES frames that the driver wrote.
    pub scheduled: (usize, usize),
    /// Ticks of the device's clock that kernels ran.
    pub ticks: Vec<u64>,
    /// What only the device can tell isn't known.
    pub of_driver_alone: bool,
}

/// MES' frames have this many words (Linux, `include/mes_v12_api_def.h`).
const FRAME: usize = 64;

impl Summary {
    /// Counts what the driver alone can tell.
    pub fn of_driver(driver: &[driver::Event]) -> Self {
        let mut all = Self::new(&[], driver);
        all.of_driver_alone = true;
        all.signals.1 = driver.iter().filter(|event| event.kind == "signal").count();
        all
    }

    /// Counts.
    pub fn new(device: &[device::Event], driver: &[driver::Event]) -> Self {
        let mut all = Self::default();
        for event in device {
            let is_users = event.text("queue").starts_with("me1");
            match event.kind.as_str() {
                "aql" if event.text("type") == "KERNEL_DISPATCH" => all.launches += 1,
                "signal" => {
                    all.signals.0 += 1;
                    all.signals.1 += usize::from(event.number("event").is_some_and(|id| id != 0));
                }
                "doorbell" if is_users => all.doorbells.0 += 1,
                "dispatch_end" => {
                    let ticks = |name| event.number(name);
                    all.ticks.extend(
                        ticks("end_ts")
                            .zip(ticks("start_ts"))
                            .map(|(end, start)| end - start),
                    );
                }
                _ => {}
            }
        }
        for event in driver {
            match event.kind.as_str() {
                "ioctl_exit" => all.request(event),
                "doorbell" => all.doorbells.1 += 1,
                "run_list" => all.scheduled.0 += 1,
                "packet" if event.numbers("words").len() == FRAME => all.scheduled.1 += 1,
                _ => {}
            }
        }
        all
    }

    fn request(&mut self, event: &driver::Event) {
        let Some(request) = event.request() else {
            return;
        };
        let (made, failed) = self.ioctls.entry(request.name).or_default();
        let error = event.number("error") != Some(0);
        *made += 1;
        *failed += usize::from(error);
        if request.name == "CREATE_QUEUE" && !error {
            let shown = [
                "ring_size",
                "queue_type",
                "queue_percentage",
                "queue_priority",
            ];
            let argument = event
                .argument()
                .into_iter()
                .filter(|(name, _)| shown.contains(name));
            let words = argument.map(|(name, value)| format!("{name} {value}"));
            self.queues.push(words.collect::<Vec<_>>().join(", "));
        }
    }

    fn requests(&self, wanted: &[&str]) -> usize {
        let counts = wanted.iter().filter_map(|name| self.ioctls.get(name));
        counts.map(|(made, _)| made).sum()
    }

    /// How often memory was allocated or freed, and mapped to the GPU or unmapped.
    pub fn memory_operations(&self) -> (usize, usize) {
        let memory = self.requests(&["ALLOC_MEMORY_OF_GPU", "FREE_MEMORY_OF_GPU"]);
        (
            memory,
            self.requests(&["MAP_MEMORY_TO_GPU", "UNMAP_MEMORY_FROM_GPU"]),
        )
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (memory, maps) = self.memory_operations();
        let calls: usize = self.ioctls.values().map(|(made, _)| made).sum();
        let failed: usize = self.ioctls.values().map(|(_, failed)| failed).sum();
        if !self.of_driver_alone {
            writeln!(f, "launches              {}", self.launches)?;
        }
        writeln!(f, "HSA queues            {}", self.queues.len())?;
        writeln!(
            f,
            "memory operations     {memory} allocated or freed, {maps} mapped or unmapped"
        )?;
        let ((signals, interrupts), (users, drivers)) = (self.signals, self.doorbells);
        match self.of_driver_alone {
            true => {
                writeln!(f, "signals               {interrupts} with an interrupt")?;
                writeln!(f, "doorbells             {drivers} by the driver")?;
            }
            false => {
                writeln!(
                    f,
                    "signals               {signals}, {interrupts} of them with an interrupt"
                )?;
                writeln!(
                    f,
                    "doorbells             {users} by programs, {drivers} by the driver"
                )?;
            }
        }
        writeln!(f, "ioctls                {calls}, {failed} failed")?;
        for (name, (made, failed)) in &self.ioctls {
            writeln!(f, "  {name:<38} {made:>5} {failed:>5} failed")?;
        }
        match self.scheduled {
            (0, 0) => writeln!(f, "scheduler             nothing was scheduled")?,
            (0, frames) => writeln!(f, "scheduler             MES, {frames} frames")?,
            (lists, _) => writeln!(f, "scheduler             CPSCH, {lists} run lists")?,
        }
        let ticks: u64 = self.ticks.iter().sum();
        let least = self.ticks.iter().min().copied().unwrap_or(0);
        if !self.of_driver_alone {
            writeln!(
                f,
                "kernel duration       {} us in all, {} us the shortest",
                ticks / TICKS,
                least / TICKS
            )?;
        }
        for queue in &self.queues {
            writeln!(f, "queue configuration   {queue}")?;
        }
        Ok(())
    }
}
