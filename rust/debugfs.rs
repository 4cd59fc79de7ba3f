// SPDX-License-Identifier: GPL-2.0

//! debugfs: how many of each thing there are, to see that nothing leaks.

use crate::counts::Counts;
use kernel::{
    debugfs,
    fmt,
    prelude::*,
    sync::Arc, //
};

fn show(counts: &Arc<Counts>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (name, number) in counts.iter() {
        writeln!(f, "{name} {number}")?;
    }
    Ok(())
}

/// The folder `rkfd` in debugfs.
#[pin_data]
pub(crate) struct DebugFs {
    #[pin]
    counts: debugfs::File<Arc<Counts>>,
    _dir: debugfs::Dir,
}

impl DebugFs {
    /// Makes the files. Without debugfs in the kernel there are none, which is no error.
    pub(crate) fn new(counts: Arc<Counts>) -> impl PinInit<Self> {
        let dir = debugfs::Dir::new(c"rkfd");
        pin_init!(Self {
            counts <- dir.read_callback_file(c"counts", counts, &show),
            _dir: dir,
        })
    }
}
