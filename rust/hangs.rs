// SPDX-License-Identifier: GPL-2.0

//! Where schedulers and copy engines report that something hangs.
//!
//! Whoever finds out holds locks, and maybe a process' locks too; so a sink must not take any, nor wait.

use crate::types::Hang;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Takes reports of hangs. Called with locks held: passes them on and returns.
pub(crate) trait HangSink: Send + Sync {
    /// Something hangs.
    fn hang(&self, hang: Hang);

    /// The driver's own queue of a copy engine gets no further.
    fn copier_hangs(&self);
}

/// The place for a sink.
#[pin_data]
pub(crate) struct Hangs {
    #[pin]
    sink: Mutex<Option<Arc<dyn HangSink>>>,
}

impl Hangs {
    /// Without a sink.
    pub(crate) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self { sink <- new_mutex!(None, "rkfd hangs") }),
            GFP_KERNEL,
        )
    }

    /// Sets or removes the sink. Once this returned, the one before isn't called any more.
    pub(crate) fn set_sink(&self, sink: Option<Arc<dyn HangSink>>) {
        let old = core::mem::replace(&mut *self.sink.lock(), sink);
        drop(old);
    }

    /// Reports a hang.
    pub(crate) fn report(&self, hang: Hang) {
        if let Some(sink) = &*self.sink.lock() {
            sink.hang(hang);
        }
    }

    /// Reports that the driver's own queue of a copy engine gets no further.
    pub(crate) fn report_copier(&self) {
        if let Some(sink) = &*self.sink.lock() {
            sink.copier_hangs();
        }
    }
}
