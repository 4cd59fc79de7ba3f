// SPDX-License-Identifier: GPL-2.0

//! What follows from what the device reports.
//!
//! Signals go to the user half at once, from the work item that walks the interrupt ring: so they
//! wait for no process, no scheduler and no program. A signal whose process is busy with its events,
//! and all the rest, is [`Trouble`], and each has a work item of its own. What asks something of the
//! scheduler is done in order; what waits for a process or for its runtime is done side by side, so
//! that no process waits for another.
//!
//! Troubles of one kind and queue that nobody has acted on yet are one: their errors are joined. So
//! nothing is lost, and no more can wait than processes have queues, whatever programs do. If there is no memory for
//! a work item, the one that walks the ring acts by itself.
//!
//! A debugger hears of a page fault before it hears of errors that came later, as upstream, where one work item takes
//! all of a GPU's interrupts in turn. AMD's debugger library relies on it: of a wave that it lets go on with a memory
//! violation it passes the fault on only if it has heard of it (ROCdbgapi, `wave_t::set_state`), and ROCr tells
//! a program of such a wave by the fault alone.
//!
//! Lock order: telling -> the debugger's session. The waiting troubles' mutex is a leaf, held for a look only.

use super::{
    Gpu,
    Upcalls, //
};
use crate::{
    glue::{
        ratelimit::ratelimited,
        workqueue::WorkQueue, //
    },
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
    new_mutex,
    new_work,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode, //
    },
    sync::{
        Arc,
        Mutex, //
    },
    workqueue::{
        Work,
        WorkItem, //
    }, //
};

/// What is wrong, and what to do.
#[derive(Clone, Copy)]
enum Trouble {
    /// A signal of which the low bits of the event's id are known; with 0 bits any event may be meant.
    Signal { pasid: Pasid, id: u32, bits: u32 },
    /// A process is to be taken off the GPU for a page fault.
    Evict(VmFault),
    /// A queue is to be taken off for its packets.
    Stop(QueueError),
    /// An error of a queue, to be reported to its process' runtime.
    Report(QueueError),
    /// The same, or if there is no runtime, an event is to be signalled: the low bits of its id.
    ReportOrSignal(QueueError, u32, u32),
}

/// By what troubles are one: the kind, the process, and the queue's doorbell.
type Key = (u8, Pasid, u32);

/// The kind of page faults.
const FAULT: u8 = 1;

impl Trouble {
    fn key(&self) -> Key {
        match self {
            Self::Signal { pasid, .. } => (0, *pasid, 0),
            Self::Evict(fault) => (FAULT, fault.pasid, 0),
            Self::Stop(error) => (2, error.pasid, error.doorbell_id),
            Self::Report(error) => (3, error.pasid, error.doorbell_id),
            Self::ReportOrSignal(error, ..) => (4, error.pasid, error.doorbell_id),
        }
    }

    /// Adds one of the same key.
    fn join(&mut self, more: Self) {
        match (self, more) {
            (Self::Signal { id, bits, .. }, Self::Signal { id: i, bits: b, .. }) => {
                join_ids(id, bits, i, b);
            }
            // The process gets an event for the first fault only.
            (Self::Evict(_), _) => {}
            (Self::Stop(error) | Self::Report(error), Self::Stop(more) | Self::Report(more)) => {
                error.exceptions |= more.exceptions;
            }
            (Self::ReportOrSignal(error, id, bits), Self::ReportOrSignal(more, i, b)) => {
                error.exceptions |= more.exceptions;
                join_ids(id, bits, i, b);
            }
            // Keys differ.
            _ => {}
        }
    }
}

/// Two signals in one: of different events any may be meant, and the signal page shows which.
fn join_ids(id: &mut u32, bits: &mut u32, more: u32, more_bits: u32) {
    if (*id, *bits) != (more, more_bits) {
        (*id, *bits) = (0, 0);
    }
}

/// The troubles that wait.
#[pin_data]
struct Waiting {
    #[pin]
    troubles: Mutex<RBTree<Key, Trouble>>,
    /// Held while a debugger is told of a page fault.
    #[pin]
    telling: Mutex<()>,
}

impl Waiting {
    /// Joins a trouble with one that waits: false when none does.
    fn join(&self, trouble: Trouble) -> bool {
        let mut troubles = self.troubles.lock();
        match troubles.get_mut(&trouble.key()) {
            Some(first) => {
                first.join(trouble);
                true
            }
            None => false,
        }
    }

    fn take(&self, key: &Key) -> Option<Trouble> {
        let removed = self.troubles.lock().remove_node(key);
        Some(removed?.to_key_value().1)
    }

    fn look(&self, key: &Key) -> Option<Trouble> {
        self.troubles.lock().get(key).copied()
    }
}

/// The work item of the troubles with a key.
#[pin_data]
struct Case {
    gpu: Arc<Gpu>,
    user: Arc<dyn Upcalls>,
    waiting: Arc<Waiting>,
    key: Key,
    #[pin]
    work: Work<Case>,
}

impl_has_work! {
    impl HasWork<Self> for Case { self.work }
}

impl WorkItem for Case {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        this.tell_debugger();
        // What comes from here on makes a case of its own.
        if let Some(trouble) = this.waiting.take(&this.key) {
            act(&this.gpu, &*this.user, trouble);
        }
    }
}

impl Case {
    /// If the process has a debugger that wants to hear of page faults, tells it of the one that waits, if one does.
    /// Nothing more is to be done for that then.
    fn tell_debugger(&self) {
        let key = (FAULT, self.key.1, 0);
        let _telling = self.waiting.telling.lock();
        if let Some(Trouble::Evict(fault)) = self.waiting.look(&key) {
            if self.user.is_debugged_fault(&self.gpu, &fault) {
                self.waiting.take(&key);
            }
        }
    }
}

fn act(gpu: &Gpu, user: &dyn Upcalls, trouble: Trouble) {
    match trouble {
        Trouble::Signal { pasid, id, bits } => user.signal(gpu, pasid, id, bits),
        // `kfd_process_vm_fault`: the process' queues are taken off, then it hears of it.
        Trouble::Evict(fault) => {
            if let Err(error) = gpu.scheduler().evict_pasid(fault.pasid) {
                ratelimited!(
                    dev_err,
                    gpu.device(),
                    "stopping a faulting process failed ({:?})\n",
                    error
                );
            }
            user.vm_fault(gpu, &fault);
        }
        Trouble::Stop(error) => {
            let stopped = gpu
                .scheduler()
                .stop_bad_queue(error.pasid, error.doorbell_id);
            if let Err(error) = stopped {
                ratelimited!(
                    dev_err,
                    gpu.device(),
                    "taking off a queue with an error failed ({:?})\n",
                    error
                );
            }
        }
        Trouble::Report(error) => {
            user.queue_error(gpu, &error);
        }
        // As upstream: whoever hears of the error gets no event as well.
        Trouble::ReportOrSignal(error, id, bits) => {
            if !user.queue_error(gpu, &error) {
                user.signal(gpu, error.pasid, id, bits);
            }
        }
    }
}

/// Takes the events of a GPU.
struct Sink {
    gpu: Arc<Gpu>,
    /// The user half.
    user: Arc<dyn Upcalls>,
    waiting: Arc<Waiting>,
    /// For what asks something of the scheduler.
    in_order: WorkQueue,
    /// For what waits for processes.
    side_by_side: WorkQueue,
    /// For signals, which wait for their process' events only.
    signals: WorkQueue,
}

impl Sink {
    /// Has somebody act on a trouble. Without memory for that it is acted on here, and what comes behind it in the
    /// interrupt ring waits, since whoever waits for a signal would do so for ever.
    fn open(&self, queue: &WorkQueue, trouble: Trouble) {
        if self.waiting.join(trouble) || self.begin(queue, trouble).is_ok() {
            return;
        }
        let is_debuggers = match &trouble {
            Trouble::Evict(fault) => self.user.is_debugged_fault(&self.gpu, fault),
            _ => false,
        };
        if !is_debuggers {
            act(&self.gpu, &*self.user, trouble);
        }
    }

    /// Begins a case. Only the work item that walks the interrupt ring does, so the key is still free.
    ///
    /// # Errors
    ///
    /// ENOMEM: nothing was done.
    fn begin(&self, queue: &WorkQueue, trouble: Trouble) -> Result {
        let key = trouble.key();
        let case = Arc::pin_init(
            pin_init!(Case {
                gpu: self.gpu.clone(),
                user: self.user.clone(),
                waiting: self.waiting.clone(),
                key,
                work <- new_work!("rkfd trouble"),
            }),
            GFP_KERNEL,
        )?;
        let node = RBTreeNode::new(key, trouble, GFP_KERNEL)?;
        let replaced = self.waiting.troubles.lock().insert(node);
        drop(replaced);
        let _ = queue.queue().enqueue(case);
        Ok(())
    }
}

impl ih::Sink for Sink {
    fn event(&self, pasid: Pasid, event: &Event) {
        match *event {
            Event::Signal { data: id, bits } => {
                if !self.user.try_signal(&self.gpu, pasid, id, bits) {
                    self.open(&self.signals, Trouble::Signal { pasid, id, bits });
                }
            }
            Event::WaveError { error, data } => {
                let trouble = Trouble::ReportOrSignal(error, data, MESSAGE_BITS);
                self.open(&self.side_by_side, trouble);
            }
            Event::PacketError(error) => {
                ratelimited!(
                    dev_err,
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
                let hub = gmc::report_fault(&self.gpu.dev, &self.gpu.hubs, &fault);
                self.open(&self.in_order, Trouble::Evict(VmFault { hub, ..fault }));
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
        let troubles = RBTree::new();
        let waiting = Arc::pin_init(
            pin_init!(Waiting {
                troubles <- new_mutex!(troubles, "rkfd troubles"),
                telling <- new_mutex!((), "rkfd telling"),
            }),
            GFP_KERNEL,
        )?;
        let sink = Sink {
            gpu: gpu.clone(),
            user: user.clone(),
            waiting,
            in_order: WorkQueue::new_ordered(c"rkfd-trouble")?,
            side_by_side: WorkQueue::new_concurrent(c"rkfd-report")?,
            signals: WorkQueue::new_concurrent(c"rkfd-signal")?,
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
        self.sink.signals.flush();
    }
}
