// SPDX-License-Identifier: GPL-2.0

//! A debugger's file, by which it is woken. It is written to by a work item of its own, since it is a program's: nobody
//! who raises an exception waits for it.
//!
//! Source: Linux, `debug_event_write_work_handler` of `amdkfd/kfd_debug.c`.

use crate::glue::event_file::EventFile;
use kernel::{
    impl_has_work,
    new_work,
    prelude::*,
    sync::Arc,
    workqueue::{
        Work,
        WorkItem, //
    }, //
};

/// A debugger's file, and the work item that writes to it.
#[pin_data]
pub(crate) struct Bell {
    file: EventFile,
    #[pin]
    work: Work<Bell>,
}

impl_has_work! {
    impl HasWork<Self> for Bell { self.work }
}

impl WorkItem for Bell {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        this.file.ring();
    }
}

impl Bell {
    /// Of the caller's file.
    ///
    /// # Errors
    ///
    /// EBADF without such a descriptor, ENOMEM.
    pub(crate) fn new(descriptor: u32) -> Result<Arc<Self>> {
        let file = EventFile::of(descriptor)?;
        Arc::pin_init(
            pin_init!(Self { file, work <- new_work!("rkfd bell") }),
            GFP_KERNEL_ACCOUNT,
        )
    }
}
