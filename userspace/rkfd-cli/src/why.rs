// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd why`: why a queue does not move.

mod packet;
pub(crate) mod queue;
mod reason;
mod wave;

use std::fmt;
use std::str::FromStr;

use crate::machine::Machine;
use crate::Failure;
use queue::{Process, Queue};

/// What the driver shows of queues.
const FILE: &str = "sys/kernel/debug/rkfd/queues";
/// The same with the queues' halted waves, for which it looks at thousands of registers.
const WAVES: &str = "sys/kernel/debug/rkfd/waves";

/// `rkfd why`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The number of a process, or PROCESS/QUEUE; without, every queue is explained.
    #[arg(value_name = "PROCESS[/QUEUE]")]
    queue: Option<Chosen>,
}

/// The queues that are asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Chosen {
    process: u32,
    /// Its id in the process; `None` for all.
    queue: Option<u32>,
}

impl FromStr for Chosen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse()
                .map_err(|e| format!("`{text}` is no number: {e}"))
        };
        let (process, queue) = match text.split_once('/') {
            Some((process, queue)) => (process, Some(number(queue)?)),
            None => (text, None),
        };
        Ok(Self {
            process: number(process)?,
            queue,
        })
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.queue {
            Some(queue) => write!(f, "{}/{queue}", self.process),
            None => write!(f, "{}", self.process),
        }
    }
}

/// Explains the queues.
pub(crate) fn explain(options: &Options) -> Result<(), Failure> {
    print!("{}", on(&Machine::here(), options.queue)?);
    Ok(())
}

/// A line for each queue that is asked about.
fn on(machine: &Machine, chosen: Option<Chosen>) -> Result<String, Failure> {
    let asked = |process: &Process, queue: &Queue| {
        chosen.is_none_or(|chosen| {
            chosen.process == process.id && chosen.queue.is_none_or(|id| id == queue.id)
        })
    };
    let mut processes = read(machine, FILE)?;
    let mut queues = processes
        .iter()
        .flat_map(|process| process.queues.iter().map(move |queue| (process, queue)));
    if queues.any(|(process, queue)| asked(process, queue) && queue.has_waves()) {
        processes = read(machine, WAVES)?;
    }
    let mut lines = String::new();
    for process in processes {
        if chosen.is_some_and(|chosen| chosen.process != process.id) {
            continue;
        }
        if process.busy {
            lines += &format!("{}: {BUSY}\n", process.id);
        }
        for queue in process.queues.iter().filter(|queue| asked(&process, queue)) {
            lines += &line(&process, queue);
        }
    }
    match chosen {
        Some(chosen) if lines.is_empty() => Err(Failure::NoQueue {
            queue: chosen.to_string(),
        }),
        None if lines.is_empty() => Ok("no process has a queue\n".into()),
        _ => Ok(lines),
    }
}

/// What a file of the driver's shows.
fn read(machine: &Machine, file: &str) -> Result<Vec<Process>, Failure> {
    let path = machine.path(file);
    let text = std::fs::read_to_string(&path).map_err(|error| Failure::File {
        path: path.display().to_string(),
        error,
    })?;
    Ok(queue::parse(&text))
}

/// The driver has more important things to do than to show a process.
const BUSY: &str = "the driver is at work for this process, and may wait for the GPU; ask again";

fn line(process: &Process, queue: &Queue) -> String {
    let (id, name, gpu) = (process.id, &process.name, queue.gpu);
    format!(
        "{id}/{} ({name}, {}, GPU {gpu}): {}\n",
        queue.id,
        queue.kind,
        reason::of(queue)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::made::Made;

    const TEXT: &str = "process 7 busy-one\n  busy\nprocess 812 vectoradd\n  queue 0 gpu 26711\n    \
        type aql\n    state disabled\n    ring 0x7f0000000000 4096\n    share 0\n    doorbell 0x800\n    \
        read 0x7f0000001080 0\n    write 0x7f0000001038 1\n  queue 3 gpu 26711\n    type sdma\n    busy\n";

    #[test]
    fn queues_are_chosen_by_process_and_number() {
        let machine = Made::new().file(FILE, TEXT);
        let ask = |text: &str| on(&machine, Some(text.parse().unwrap()));
        let disabled =
            "812/0 (vectoradd, AQL, GPU 26711): it is disabled: its share of time is 0\n";
        assert_eq!(ask("812/0").unwrap(), disabled);
        assert_eq!(ask("812").unwrap().lines().count(), 2);
        assert_eq!(ask("7").unwrap(), format!("7: {BUSY}\n"));
        assert_eq!(on(&machine, None).unwrap().lines().count(), 3);
        for none in ["9", "812/1"] {
            assert!(matches!(ask(none), Err(Failure::NoQueue { .. })), "{none}");
        }
        for text in ["", "x", "1/", "/1", "-1", "1/2/3"] {
            assert!(text.parse::<Chosen>().is_err(), "{text}");
        }
    }

    #[test]
    fn waves_are_looked_at_where_a_dispatch_is_on_the_hardware() {
        let queue = "process 812 a\n  queue 0 gpu 7\n    type aql\n    state mapped\n    ring 0x1000 4096\n    \
            hqd 0 0 0 vmid 8 read 0 write 16\n    read 0x10 0\n    write 0x18 1\n";
        let wave = "    wave 0 0 0 0 0 0 pc 0x2000 status 0x2000 code 0xbf8d0001\n";
        let with = |header: &str| {
            let packet = format!("    packet {header}{}\n", " 00000000".repeat(15));
            let machine = Made::new().file(FILE, format!("{queue}{packet}"));
            let machine = machine.file(WAVES, format!("{queue}{packet}{wave}"));
            on(&machine, None).unwrap()
        };
        assert!(with("00000002").contains("halted at 0x2000"));
        // A barrier.
        assert!(!with("00000003").contains("halted"));
    }

    #[test]
    fn without_the_file_its_name_is_printed() {
        let Err(Failure::File { path, .. }) = on(&Made::new(), None) else {
            panic!("there is no file");
        };
        assert!(path.ends_with(FILE));
    }
}
