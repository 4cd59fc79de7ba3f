// SPDX-License-Identifier: GPL-2.0

//! Reports to the user half that the GPU hangs.
//!
//! Whoever finds out holds locks, and maybe a process' locks too; so the news go by way of a
//! work item.

use super::{
    Gpu,
    Upcalls, //
};
use crate::{
    glue::workqueue::WorkQueue,
    sched::{
        HangSink,
        Hangs, //
    },
    types::Hang, //
};
use kernel::{
    impl_has_work,
    new_work,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
    workqueue::{
        Work,
        WorkItem, //
    }, //
};

/// The work item.
#[pin_data]
struct News {
    gpu: Arc<Gpu>,
    user: Arc<dyn Upcalls>,
    /// The whole GPU hangs.
    whole: Atomic<u32>,
    /// The device is gone, which is reported once.
    lost: Atomic<u32>,
    #[pin]
    work: Work<News>,
}

impl_has_work! {
    impl HasWork<Self> for News { self.work }
}

impl WorkItem for News {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        if this.lost.load(Relaxed) != 0 {
            return this.user.gpu_hang(&this.gpu, Hang::Lost);
        }
        let hang = match this.whole.xchg(0, Relaxed) {
            0 => Hang::Queues,
            _ => Hang::Gpu,
        };
        this.user.gpu_hang(&this.gpu, hang);
    }
}

/// Queues the work item.
struct Notice {
    news: Arc<News>,
    queue: Arc<WorkQueue>,
}

impl HangSink for Notice {
    fn hang(&self, hang: Hang) {
        match hang {
            Hang::Queues => {}
            Hang::Gpu => self.news.whole.store(1, Relaxed),
            Hang::Lost if self.news.lost.xchg(1, Relaxed) != 0 => return,
            Hang::Lost => {}
        }
        // Already queued: once is enough.
        let _ = self.queue.queue().enqueue(self.news.clone());
    }
}

/// Hangs are reported; dropped, they aren't any more, and no work item runs.
pub(super) struct Watch {
    hangs: Arc<Hangs>,
    queue: Arc<WorkQueue>,
}

impl Watch {
    /// Reports the hangs of a GPU's scheduler.
    pub(super) fn new(gpu: &Arc<Gpu>, user: &Arc<dyn Upcalls>, hangs: &Arc<Hangs>) -> Result<Self> {
        let queue = Arc::new(WorkQueue::new_ordered(c"rkfd-hang")?, GFP_KERNEL)?;
        let (gpu, user) = (gpu.clone(), user.clone());
        let news = Arc::pin_init(
            pin_init!(News {
                gpu,
                user,
                whole: Atomic::new(0),
                lost: Atomic::new(0),
                work <- new_work!("rkfd hang"),
            }),
            GFP_KERNEL,
        )?;
        let notice = Notice {
            news,
            queue: queue.clone(),
        };
        hangs.set_sink(Some(Arc::new(notice, GFP_KERNEL)?));
        Ok(Self {
            hangs: hangs.clone(),
            queue,
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.hangs.set_sink(None);
        self.queue.flush();
    }
}
