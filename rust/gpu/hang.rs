// SPDX-License-Identifier: GPL-2.0

//! What follows when a scheduler finds that something hangs: reports to the user half, and a reset.
//!
//! Whoever finds out holds locks, and maybe a process' locks too; so it goes by way of a work item,
//! which holds none.

use super::reset::Engines;
use crate::{
    glue::workqueue::WorkQueue,
    gmc::{
        Tlb,
        Unanswered, //
    },
    hangs::{
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
    engines: Engines,
    /// The whole GPU hangs.
    whole: Atomic<u32>,
    /// Queues of processes hang.
    queues: Atomic<u32>,
    /// The driver's own copy queue gets no further.
    copier: Atomic<u32>,
    /// A flush of TLBs was not acknowledged, which no scheduler may have noticed.
    deaf: Atomic<u32>,
    /// A reset goes on, or one has failed: flushes that aren't acknowledged are no news.
    known: Atomic<u32>,
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
        let Engines { gpu, user, .. } = &this.engines;
        if this.lost.load(Relaxed) != 0 {
            user.gpu_hang(gpu, Hang::Lost);
        } else if this.whole.xchg(0, Relaxed) != 0 {
            if this.known.xchg(1, Relaxed) != 0 {
                // One has failed, and another wouldn't do better.
                return;
            }
            let deaf = this.deaf.xchg(0, Relaxed) != 0;
            // The reset covers both.
            this.queues.store(0, Relaxed);
            this.copier.store(0, Relaxed);
            if this.engines.recover(deaf) {
                this.known.store(0, Relaxed);
            }
        } else {
            if this.copier.xchg(0, Relaxed) != 0 {
                // A failure is reported as a hang of the GPU.
                let _ = gpu.scheduler().revive_copier();
            }
            if this.queues.xchg(0, Relaxed) != 0 {
                user.gpu_hang(gpu, Hang::Queues);
            }
        }
    }
}

/// Queues the work item.
struct Notice {
    news: Arc<News>,
    queue: Arc<WorkQueue>,
}

impl Notice {
    fn run(&self) {
        // Already queued: once is enough.
        let _ = self.queue.queue().enqueue(self.news.clone());
    }
}

impl HangSink for Notice {
    fn hang(&self, hang: Hang) {
        match hang {
            Hang::Queues => self.news.queues.store(1, Relaxed),
            Hang::Gpu => self.news.whole.store(1, Relaxed),
            Hang::Lost if self.news.lost.xchg(1, Relaxed) != 0 => return,
            Hang::Lost => {}
        }
        self.run();
    }

    fn copier_hangs(&self) {
        self.news.copier.store(1, Relaxed);
        self.run();
    }
}

impl Unanswered for Notice {
    fn unanswered(&self) {
        if self.news.known.load(Relaxed) == 0 {
            self.news.deaf.store(1, Relaxed);
            self.hang(Hang::Gpu);
        }
    }
}

/// Hangs are acted on; dropped, they aren't any more, and no reset is on its way.
pub(super) struct Watch {
    hangs: Arc<Hangs>,
    tlb: Arc<Tlb>,
    queue: Arc<WorkQueue>,
}

impl Watch {
    /// Acts on the hangs that a GPU's scheduler finds, and on flushes of TLBs that aren't acknowledged.
    pub(super) fn new(hangs: &Arc<Hangs>, engines: Engines) -> Result<Self> {
        let tlb = engines.tlb.clone();
        let queue = Arc::new(WorkQueue::new_ordered(c"rkfd-hang")?, GFP_KERNEL)?;
        let news = Arc::pin_init(
            pin_init!(News {
                engines,
                whole: Atomic::new(0),
                queues: Atomic::new(0),
                copier: Atomic::new(0),
                deaf: Atomic::new(0),
                known: Atomic::new(0),
                lost: Atomic::new(0),
                work <- new_work!("rkfd hang"),
            }),
            GFP_KERNEL,
        )?;
        let notice = Notice {
            news,
            queue: queue.clone(),
        };
        let notice = Arc::new(notice, GFP_KERNEL)?;
        hangs.set_sink(Some(notice.clone()));
        tlb.set_listener(Some(notice));
        Ok(Self {
            hangs: hangs.clone(),
            tlb,
            queue,
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.hangs.set_sink(None);
        self.tlb.set_listener(None);
        self.queue.flush();
    }
}
