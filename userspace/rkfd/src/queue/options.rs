// SPDX-License-Identifier: MIT OR Apache-2.0

//! What kind of queue to make.

/// How a GPU's scheduler prefers a queue, from 0 to 15.
///
/// ```
/// use rkfd::Priority;
///
/// assert!(Priority::HIGHEST > Priority::NORMAL);
/// assert_eq!(Priority::new(15), Some(Priority::HIGHEST));
/// assert_eq!(Priority::new(16), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Priority(u8);

impl Priority {
    /// 0.
    pub const LOWEST: Self = Self(0);
    /// 7, which other runtimes give to their queues.
    pub const NORMAL: Self = Self(7);
    /// 15.
    pub const HIGHEST: Self = Self(15);

    /// A priority by its number; `None` for numbers above 15.
    pub const fn new(number: u8) -> Option<Self> {
        match number {
            0..=15 => Some(Self(number)),
            _ => None,
        }
    }

    /// Its number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

/// What kind of queue to make: by default one of 1,024 packets and normal priority.
///
/// ```
/// use rkfd::{Priority, QueueOptions};
///
/// let (gpu, _driver) = rkfd::fake::open();
/// let options = QueueOptions::new().packets(64).priority(Priority::HIGHEST);
/// let queue = gpu.queue(options)?;
/// assert_eq!(queue.packets(), 64);
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "options do nothing until a queue is made with them"]
pub struct QueueOptions {
    pub(crate) packets: u32,
    pub(crate) priority: Priority,
    pub(crate) save_in_system_memory: bool,
    pub(crate) timestamps: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl QueueOptions {
    /// The defaults.
    pub const fn new() -> Self {
        Self {
            packets: 1024,
            priority: Priority::NORMAL,
            save_in_system_memory: false,
            timestamps: false,
        }
    }

    /// Slots of the ring: a power of two from 64 to 4,194,304.
    pub const fn packets(mut self, packets: u32) -> Self {
        self.packets = packets;
        self
    }

    /// How the scheduler prefers it.
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Puts the area that preempted waves are saved to into system memory. Otherwise it is in
    /// device memory, if there is room.
    pub const fn save_in_system_memory(mut self, system: bool) -> Self {
        self.save_in_system_memory = system;
        self
    }

    /// Has the packet processor record when each dispatch begins and ends, for
    /// [`Submission::times`](crate::Submission::times).
    pub const fn timestamps(mut self, record: bool) -> Self {
        self.timestamps = record;
        self
    }
}
