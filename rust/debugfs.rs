// SPDX-License-Identifier: GPL-2.0

//! debugfs: how many of each thing there are, to see that nothing leaks.

use kernel::{
    debugfs, fmt,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
};

/// How many things of a kind exist.
pub(crate) struct Counter {
    name: &'static str,
    value: Atomic<i64>,
}

impl Counter {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            value: Atomic::new(0),
        }
    }
}

pub(crate) static PROCESSES: Counter = Counter::new("processes");
pub(crate) static QUEUES: Counter = Counter::new("queues");
pub(crate) static BUFFERS: Counter = Counter::new("buffers");
pub(crate) static DMABUFS: Counter = Counter::new("dmabufs");
pub(crate) static EVENTS: Counter = Counter::new("events");
pub(crate) static RENDER_FILES: Counter = Counter::new("render_files");

/// Counts the thing that holds it.
pub(crate) struct Count(&'static Counter);

impl Count {
    /// One more.
    pub(crate) fn new(counter: &'static Counter) -> Self {
        counter.value.fetch_add(1, Relaxed);
        Self(counter)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.value.fetch_sub(1, Relaxed);
    }
}

fn show(_: &Counts, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for counter in [
        &PROCESSES,
        &QUEUES,
        &BUFFERS,
        &DMABUFS,
        &EVENTS,
        &RENDER_FILES,
    ] {
        writeln!(f, "{} {}", counter.name, counter.value.load(Relaxed))?;
    }
    Ok(())
}

/// What the file reads from: the statics above.
struct Counts;

/// The folder `rkfd` in debugfs.
#[pin_data]
pub(crate) struct DebugFs {
    #[pin]
    counts: debugfs::File<Counts>,
    _dir: debugfs::Dir,
}

impl DebugFs {
    /// Makes the files. Without debugfs in the kernel there are none, which is no error.
    pub(crate) fn new() -> impl PinInit<Self> {
        let dir = debugfs::Dir::new(c"rkfd");
        pin_init!(Self {
            counts <- dir.read_callback_file(c"counts", Counts, &show),
            _dir: dir,
        })
    }
}
