// SPDX-License-Identifier: GPL-2.0

//! What follows from what the device reports.
//!
//! Signals go to the user half at once, from the work item that walks the interrupt ring: so they
//! wait for no process, no scheduler and no program. The rest is [`Trouble`], and each has a work item
//! of its own. What asks something of the scheduler is done in order; what waits for a process or for
//! its runtime is done side by side, so that no process waits for another.

use super::{
    Gpu,
    Upcalls, //
};
use crate::{
    glue::workqueue::WorkQueue,
    gmc,
    ih::{
        self,
        Event,
        MESSAGE_BITS, //
    },
    types::{
        Pasid,
        QueueError,
        VmFault, //
    }, //
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

/// Troubles that wait at a time: a bound to the memory that a program with many faults takes.
const MAX_WAITING: u32 = 4096;

/// What is wrong, and what to do.
enum Trouble {
    /// A process is to be taken off the GPU for a page fault.
    Evict(VmFault),
    /// A queue is to be taken off for its packets.
    Stop(QueueError),
    /// An error of a queue, to be reported to its process' runtime.
    Report(QueueError),
    /// The same, or if there is no runtime, an event is to be signalled with this data.
    ReportOrSignal(QueueError, u32),
}

/// A trouble and its work item.
#[pin_data(PinnedDrop)]
struct Case {
    gpu: Arc<Gpu>,
    user: Arc<dyn Upcalls>,
    waiting: Arc<Atomic<u32>>,
    trouble: Trouble,
    #[pin]
    work: Work<Case>,
}

impl_has_work! {
    impl HasWork<Self> for Case { self.work }
}

#[pinned_drop]
impl PinnedDrop for Case {
    fn drop(self: Pin<&mut Self>) {
        self.waiting.fetch_sub(1, Relaxed);
    }
}

impl WorkItem for Case {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        let (gpu, user) = (&this.gpu, &this.user);
        match &this.trouble {
            // `kfd_process_vm_fault`: the process' queues are taken off, then it hears of it.
            Trouble::Evict(fault) => {
                if let Err(error) = gpu.scheduler().evict_pasid(fault.pasid) {
                    dev_err!(
                        gpu.device(),
                        "stopping a faulting process failed ({:?})\n",
                        error
                    );
                }
                user.vm_fault(gpu, fault);
            }
            Trouble::Stop(error) => {
                let stopped = gpu
                    .scheduler()
                    .stop_bad_queue(error.pasid, error.doorbell_id);
                if let Err(error) = stopped {
                    dev_err!(
                        gpu.device(),
                        "taking off a queue with an error failed ({:?})\n",
                        error
                    );
                }
            }
            Trouble::Report(error) => {
                user.queue_error(gpu, error);
            }
            // As upstream: whoever hears of the error gets no event as well.
            Trouble::ReportOrSignal(error, data) => {
                if !user.queue_error(gpu, error) {
                    user.signal(gpu, error.pasid, *data, MESSAGE_BITS);
                }
            }
        }
    }
}

/// Takes the events of a GPU.
struct Sink {
    gpu: Arc<Gpu>,
    /// The user half.
    user: Arc<dyn Upcalls>,
    waiting: Arc<Atomic<u32>>,
    /// For what asks something of the scheduler.
    in_order: Arc<WorkQueue>,
    /// For what waits for processes.
    side_by_side: Arc<WorkQueue>,
}

impl Sink {
    fn open(&self, queue: &WorkQueue, trouble: Trouble) {
        if self.waiting.fetch_add(1, Relaxed) >= MAX_WAITING {
            self.waiting.fetch_sub(1, Relaxed);
            return;
        }
        let case = Arc::pin_init(
            pin_init!(Case {
                gpu: self.gpu.clone(),
                user: self.user.clone(),
                waiting: self.waiting.clone(),
                trouble,
                work <- new_work!("rkfd trouble"),
            }),
            GFP_KERNEL,
        );
        match case {
            Ok(case) => {
                let _ = queue.queue().enqueue(case);
            }
            Err(_) => {
                self.waiting.fetch_sub(1, Relaxed);
            }
        }
    }
}

impl ih::Sink for Sink {
    fn event(&self, pasid: Pasid, event: &Event) {
        match *event {
            Event::Signal { data, bits } => {
                self.user.signal(&self.gpu, pasid, data, bits);
            }
            Event::WaveError { error, data } => {
                self.open(&self.side_by_side, Trouble::ReportOrSignal(error, data));
            }
            Event::PacketError(error) => {
                dev_err!(
                    self.gpu.device(),
                    "a queue of PASID {} was stopped: errors {:#x}, doorbell {:#x}\n",
                    pasid.get(),
                    error.exceptions,
                    error.doorbell_id
                );
                self.open(&self.side_by_side, Trouble::Report(error));
                self.open(&self.in_order, Trouble::Stop(error));
            }
            Event::Fault(fault) => {
                gmc::report_fault(&self.gpu.dev, &self.gpu.hubs, &fault);
                self.open(&self.in_order, Trouble::Evict(fault));
            }
        }
    }
}

/// Events are acted on; dropped, when none can come any more, the last of them was.
pub(super) struct Acting {
    sink: Arc<Sink>,
}

impl Acting {
    /// Prepares for the events of a GPU.
    pub(super) fn new(gpu: &Arc<Gpu>, user: &Arc<dyn Upcalls>) -> Result<Self> {
        let sink = Sink {
            gpu: gpu.clone(),
            user: user.clone(),
            waiting: Arc::new(Atomic::new(0), GFP_KERNEL)?,
            in_order: Arc::new(WorkQueue::new_ordered(c"rkfd-trouble")?, GFP_KERNEL)?,
            side_by_side: Arc::new(WorkQueue::new_concurrent(c"rkfd-report")?, GFP_KERNEL)?,
        };
        Ok(Self {
            sink: Arc::new(sink, GFP_KERNEL)?,
        })
    }

    /// Where the interrupt handler publishes them.
    pub(super) fn sink(&self) -> Arc<dyn ih::Sink> {
        self.sink.clone()
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        self.sink.in_order.flush();
        self.sink.side_by_side.flush();
    }
}
