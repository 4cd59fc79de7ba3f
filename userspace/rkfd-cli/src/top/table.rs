// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rows, made of two looks.

use std::fmt;

use super::sample::Sample;
use crate::why::queue::{Kind, Process, Queue};

/// What is above the rows.
pub(super) const HEAD: [&str; 9] = [
    "PROCESS",
    "NAME",
    "QUEUE",
    "TYPE",
    "STATE",
    "HQDS",
    "WAITING",
    "PACKETS/S",
    "VRAM MIB",
];
/// How wide the columns are, but the last.
pub(super) const WIDTHS: [usize; 9] = [8, 16, 5, 4, 9, 4, 8, 10, 8];

/// A look at everything.
pub(super) struct Table {
    /// What is counted of all.
    pub(super) summary: String,
    /// A row for each queue; one without a queue for a process without any.
    pub(super) rows: Vec<[String; 9]>,
}

impl Table {
    /// What was between two looks.
    pub(super) fn new(before: &Sample, now: &Sample) -> Self {
        // The first look is compared with itself, and nothing has happened then.
        let seconds = (now.at - before.at).as_secs_f64().max(f64::MIN_POSITIVE);
        let mut rows = Vec::new();
        let mut packets = 0.0;
        for (process, vram) in now.processes.iter().zip(&now.vram) {
            let old = before.processes.iter().find(|old| old.id == process.id);
            // A process' memory stands in its first row only.
            let mut vram = vram.map(|bytes| format!("{:.1}", bytes as f64 / 1048576.0));
            let mut first = [String::new(), String::new()];
            if process.queues.is_empty() {
                let state = if process.busy { "busy" } else { "" };
                let mut row = <[String; 9]>::default();
                (row[0], row[1]) = (process.id.to_string(), process.name.clone());
                row[4] = state.into();
                row[8] = vram.take().unwrap_or_default();
                rows.push(row);
            } else {
                first = [process.id.to_string(), process.name.clone()];
            }
            for queue in &process.queues {
                let rate = old
                    .and_then(|old| taken(old, queue))
                    .map(|packets| packets as f64 / seconds);
                packets += rate.unwrap_or(0.0);
                let [id, name] = std::mem::take(&mut first);
                rows.push([
                    id,
                    name,
                    queue.id.to_string(),
                    queue.kind.to_string(),
                    state(queue),
                    hqds(queue),
                    waiting(queue).map_or(String::new(), |waiting| waiting.to_string()),
                    rate.map_or(String::new(), |rate| format!("{rate:.1}")),
                    vram.take().unwrap_or_default(),
                ]);
            }
        }
        Self {
            summary: summary(before, now, seconds, packets),
            rows,
        }
    }
}

/// What is counted of the whole driver.
fn summary(before: &Sample, now: &Sample, seconds: f64, packets: f64) -> String {
    let counts: Vec<String> = now
        .counts
        .iter()
        .map(|(name, number)| format!("{number} {}", name.replace('_', " ")))
        .collect();
    let interrupts = now.interrupts.saturating_sub(before.interrupts) as f64 / seconds;
    let evictions: u64 = now.evictions.iter().sum();
    let queues = || now.processes.iter().flat_map(|process| &process.queues);
    let faults = now
        .processes
        .iter()
        .filter(|process| process.queues.iter().any(|queue| queue.fault.is_some()))
        .count();
    let errors = queues().filter(|queue| queue.errors != 0).count();
    format!(
        "{}\n{packets:.1} packets/s, {interrupts:.1} interrupts/s, {evictions} evictions, \
         {faults} processes with page faults, {errors} queues with errors",
        counts.join(", ")
    )
}

/// Packets that the GPU has taken since: the queue's read index has gone on by so many.
fn taken(old: &Process, queue: &Queue) -> Option<u64> {
    let before = old.queues.iter().find(|old| old.id == queue.id)?;
    let read = |queue: &Queue| queue.read?.value;
    match (queue.kind, read(before), read(queue)) {
        // One that was made anew under the same number begins at 0.
        (Kind::Aql, Some(before), Some(now)) => Some(now.checked_sub(before).unwrap_or(now)),
        _ => None,
    }
}

/// Packets between the two indices.
fn waiting(queue: &Queue) -> Option<u64> {
    match (queue.kind, queue.read?.value, queue.write?.value) {
        (Kind::Aql, Some(read), Some(write)) => Some(write.saturating_sub(read)),
        _ => None,
    }
}

fn state(queue: &Queue) -> String {
    match (queue.busy, queue.errors, queue.state.as_str()) {
        (true, ..) => "busy".into(),
        (_, 0, state) => state.into(),
        _ => "error".into(),
    }
}

/// On how many hardware queues it is; one for each XCC.
fn hqds(queue: &Queue) -> String {
    match queue.hqds_busy {
        true => "?".into(),
        false => queue.hqds.len().to_string(),
    }
}

/// Cells as wide as their columns.
pub(super) fn line<T: AsRef<str>>(cells: &[T; 9]) -> String {
    let cells = cells.iter().zip(WIDTHS).map(|(cell, width)| {
        let cell: String = cell.as_ref().chars().take(width).collect();
        format!("{cell:<width$}")
    });
    cells.collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.summary)?;
        writeln!(f, "{}", line(&HEAD))?;
        self.rows
            .iter()
            .try_for_each(|row| writeln!(f, "{}", line(row)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::why::queue::parse;
    use std::time::{Duration, Instant};

    /// A process with a queue that has read so many packets of so many, and one without a queue.
    pub(crate) fn sample(at: Instant, read: u64, write: u64) -> Sample {
        let text = format!(
            "process 7 a long name indeed\n  queue 0 gpu 3\n    type aql\n    state mapped\n    \
             hqd 0 0 0 vmid 8 read 1 write 2\n    read 0x1000 {read}\n    write 0x1008 {write}\n\
             \x20 queue 1 gpu 3\n    type sdma\n    state disabled\nprocess 9 idle\n"
        );
        Sample {
            at,
            processes: parse(&text),
            vram: vec![Some(3 << 19), None],
            evictions: vec![2, 0],
            interrupts: read / 2,
            counts: vec![("processes".into(), 2), ("render_files".into(), 3)],
        }
    }

    #[test]
    fn rates_are_those_between_two_looks() {
        let at = Instant::now();
        let (before, now) = (
            sample(at, 100, 100),
            sample(at + Duration::from_secs(2), 400, 403),
        );
        let text = Table::new(&before, &now).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "2 processes, 3 render files");
        assert_eq!(
            lines[1],
            "150.0 packets/s, 75.0 interrupts/s, 2 evictions, 0 processes with page faults, 0 queues with errors"
        );
        let words = |n: usize| lines[n].split_whitespace().collect::<Vec<_>>();
        assert_eq!(
            words(3),
            ["7", "a", "long", "name", "inde", "0", "AQL", "mapped", "1", "3", "150.0", "1.5"]
        );
        assert_eq!(words(4), ["1", "SDMA", "disabled", "0"]);
        assert_eq!(words(5), ["9", "idle"]);
    }

    #[test]
    fn a_queue_that_was_made_anew_begins_at_nothing() {
        let at = Instant::now();
        let (before, now) = (
            sample(at, 100, 100),
            sample(at + Duration::from_secs(1), 40, 40),
        );
        assert_eq!(Table::new(&before, &now).rows[0][7], "40.0");
        let first = Table::new(&now, &now);
        assert!(first.summary.contains("\n0.0 packets/s, 0.0 interrupts/s"));
        assert_eq!(first.rows[0][7], "0.0");
    }
}
