// SPDX-License-Identifier: GPL-2.0

//! How many things of each kind exist, so that a test can see that nothing is left over.
//!
//! Each thing that is counted holds a [`Count`]. The numbers are shown by `debugfs`.

use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

mod usage;
mod work;

pub(crate) use usage::{
    Usage,
    VramUse, //
};
pub(crate) use work::{
    Deed,
    Work, //
};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Thing {
    Process,
    Queue,
    Buffer,
    /// A GEM object.
    Object,
    Event,
    RenderFile,
    /// A context of such a file.
    Context,
}

impl Thing {
    /// Every kind with its name, in the order in which they are shown.
    const ALL: [(Self, &'static str); 7] = [
        (Self::Process, "processes"),
        (Self::Queue, "queues"),
        (Self::Buffer, "buffers"),
        (Self::Object, "objects"),
        (Self::Event, "events"),
        (Self::RenderFile, "render_files"),
        (Self::Context, "contexts"),
    ];
}

/// The numbers of the module.
pub(crate) struct Counts([Atomic<i64>; Thing::ALL.len()]);

impl Counts {
    /// Nothing exists yet.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let counts = Self(core::array::from_fn(|_| Atomic::new(0)));
        Ok(Arc::new(counts, GFP_KERNEL)?)
    }

    fn of(&self, thing: Thing) -> Option<&Atomic<i64>> {
        // CAST: The discriminant.
        self.0.get(thing as usize)
    }

    /// Counts one more thing, until the result is dropped.
    pub(crate) fn count(self: &Arc<Self>, thing: Thing) -> Count {
        if let Some(value) = self.of(thing) {
            value.fetch_add(1, Relaxed);
        }
        Count {
            counts: self.clone(),
            thing,
        }
    }

    /// The names and numbers, in a fixed order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, i64)> + '_ {
        let number = |thing| self.of(thing).map_or(0, |value| value.load(Relaxed));
        Thing::ALL
            .iter()
            .map(move |(thing, name)| (*name, number(*thing)))
    }
}

/// Counts the thing that holds it.
pub(crate) struct Count {
    counts: Arc<Counts>,
    thing: Thing,
}

impl Drop for Count {
    fn drop(&mut self) {
        if let Some(value) = self.counts.of(self.thing) {
            value.fetch_sub(1, Relaxed);
        }
    }
}
