// SPDX-License-Identifier: GPL-2.0

//! Telling the user half that the GPU hangs.
//!
//! Whoever finds out holds locks, and maybe a process' locks too; so the news go by way of a
//! work item.

use crate::{glue::workqueue::WorkQueue, gpu::Gpu, upcall::Upcalls};
use kernel::{
    impl_has_work, new_work,
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc,
    },
    workqueue::{Work, WorkItem},
};

/// What hangs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hang {
    /// Single queues; their processes are noted, and only they are told.
    Queues,
    /// The scheduler, and with it the GPU: every process on it is told.
    Gpu,
}

/// The work item.
#[pin_data]
pub(crate) struct Notice {
    gpu: Arc<Gpu>,
    sink: Arc<dyn Upcalls>,
    queue: Arc<WorkQueue>,
    /// The whole GPU hangs.
    whole: Atomic<u32>,
    #[pin]
    work: Work<Notice>,
}

impl_has_work! {
    impl HasWork<Self> for Notice { self.work }
}

impl WorkItem for Notice {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        let hang = match this.whole.xchg(0, Relaxed) {
            0 => Hang::Queues,
            _ => Hang::Gpu,
        };
        this.sink.gpu_hang(&this.gpu, hang);
    }
}

impl Notice {
    /// Queues the news.
    pub(crate) fn send(self: &Arc<Self>, hang: Hang) {
        if hang == Hang::Gpu {
            self.whole.store(1, Relaxed);
        }
        // Already queued: once is enough.
        let _ = self.queue.queue().enqueue(self.clone());
    }
}

/// Hangs are told; dropped, no more, and no work item runs.
pub(super) struct Watch {
    gpu: Arc<Gpu>,
    queue: Arc<WorkQueue>,
}

impl Watch {
    pub(super) fn new(gpu: &Arc<Gpu>, sink: Arc<dyn Upcalls>) -> Result<Self> {
        let queue = Arc::new(WorkQueue::new_ordered(c"rkfd-hang")?, GFP_KERNEL)?;
        let (for_work, for_item) = (gpu.clone(), queue.clone());
        let notice = Arc::pin_init(
            pin_init!(Notice {
                gpu: for_work,
                sink,
                queue: for_item,
                whole: Atomic::new(0),
                work <- new_work!("rkfd hang"),
            }),
            GFP_KERNEL,
        )?;
        gpu.hw().set_hang_notice(Some(notice));
        Ok(Self {
            gpu: gpu.clone(),
            queue,
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let notice = self.gpu.hw().set_hang_notice(None);
        self.queue.flush();
        drop(notice);
    }
}
