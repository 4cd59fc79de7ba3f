// SPDX-License-Identifier: MIT OR Apache-2.0

//! How evenly queues get on that all have work: what they did until the first of them was done.

use std::fmt;
use std::path::Path;

/// Packets of each queue, one after the other, and rounds of `churn` in each.
pub const PACKETS: u64 = 8;
pub const ROUNDS: u32 = 3000;
/// No queue may be slower than this part of the mean.
pub const BOUND: f64 = 0.5;

/// What `churn` leaves for the first work-items.
pub fn churned(items: u32) -> Vec<u32> {
    let step = |x: u32, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (0..items)
        .map(|item| (0..ROUNDS).fold(item, step))
        .collect()
}

/// Packets that queues have completed.
pub struct Progress(pub Vec<u64>);

impl Progress {
    /// Whether a queue has no work left: the window in which all have some is over.
    pub fn is_over(&self) -> bool {
        self.0.iter().any(|done| *done >= PACKETS)
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub fn mean(&self) -> f64 {
        self.total() as f64 / self.0.len() as f64
    }

    /// The slowest queue's share: its part of the mean.
    pub fn share(&self) -> f64 {
        let slowest = self.0.iter().min().copied().unwrap_or_default();
        slowest as f64 / self.mean()
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slowest, fastest) = (self.0.iter().min(), self.0.iter().max());
        write!(
            f,
            "when the first queue had done its {PACKETS} dispatches: slowest {}, fastest {}, mean \
             {:.2}; the slowest queue's share {:.2}",
            slowest.unwrap_or(&0),
            fastest.unwrap_or(&0),
            self.mean(),
            self.share()
        )
    }
}

/// Lines of a trace that report that a queue was switched in.
pub fn switches(trace: &Path) -> usize {
    let text = std::fs::read_to_string(trace).unwrap();
    let lines = text.lines().filter(|line| line.contains("\"switch\""));
    lines.filter(|line| line.contains("\"in\"")).count()
}
