// SPDX-License-Identifier: GPL-2.0

//! The interrupt handler block (IH): rings of 32-byte entries that the device writes.
//!
//! A ring ([`ring`]) lies in system memory and is given by bus address, or by its address in the GART. The
//! device stores entries, then its write pointer (to memory as well), then raises the MSI. The
//! hard handler only queues a work item; that walks the ring up to the write pointer, publishes what
//! it decoded ([`Event`]) to a [`Sink`], and hands the room back by ringing IH's doorbell. What
//! follows from an event is decided above. Set-up follows `vega20_ih.c` and `ih_v7_0.c`; what
//! differs between them is in [`Hal`], and what entries mean in [`Clients`].
//!
//! On IH 7.0 page faults of the graphics hub go to a second ring, so that a flood of them takes no room from
//! signals. It raises no interrupt: an entry in the first ring tells of it. An error in the first ring may follow from a
//! fault, so the second is read before one is published.

use crate::{
    bo::Words,
    device::Handle,
    doorbell::Doorbells,
    glue::{
        linux::{
            Msi,
            OnInterrupt, //
        },
        ratelimit::ratelimited,
        trace,
        workqueue::WorkQueue, //
    },
    gmc::Gart,
    hw::ih::Entry,
    nbio,
    regs::Regs,
    types::{
        BusAddr,
        Pasid, //
    }, //
};
use kernel::{
    device::Bound,
    new_mutex,
    new_work,
    pci,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
    workqueue::{
        impl_has_work,
        Work,
        WorkItem, //
    }, //
};

mod decode;
mod hal;
mod ring;

pub(crate) use decode::{
    Event,
    MESSAGE_BITS, //
};
pub(crate) use hal::{
    clients,
    hal,
    Clients,
    Hal, //
};

use ring::{
    toggle,
    Ring,
    BATCH, //
};

/// Takes what the ring reports, from its work item. All processes' signals come by there: so it must
/// not wait for the lock of a process, for a scheduler or for a program.
pub(crate) trait Sink: Send + Sync {
    /// The device reported something about a process.
    fn event(&self, pasid: Pasid, event: &Event);
}

/// Walks the rings, in a work item.
#[pin_data]
pub(crate) struct Handler {
    dev: Arc<Handle>,
    regs: Arc<Regs>,
    doorbells: Arc<Doorbells>,
    hal: &'static dyn Hal,
    nbio: &'static dyn nbio::Hal,
    clients: &'static dyn Clients,
    sink: Arc<dyn Sink>,
    /// Where dummy loads go.
    stray_page: BusAddr,
    #[pin]
    first: Mutex<Ring>,
    second: Option<Pin<KBox<Mutex<Ring>>>>,
    #[pin]
    work: Work<Handler>,
}

impl_has_work! {
    impl HasWork<Self> for Handler { self.work }
}

impl WorkItem for Handler {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        if let Err(error) = this.drain() {
            if error != ENODEV {
                ratelimited!(
                    dev_err,
                    this.dev.device(),
                    "reading the interrupt ring failed ({:?})\n",
                    error
                );
            }
        }
    }
}

/// The hard interrupt handler.
struct Hard {
    handler: Arc<Handler>,
    queue: Arc<WorkQueue>,
}

impl OnInterrupt for Hard {
    fn interrupt(&self) {
        // Already queued: that run sees the new entries too.
        let _ = self.queue.queue().enqueue(self.handler.clone());
    }
}

/// What the rings are made of.
pub(crate) struct Parts<'a> {
    pub(crate) dev: &'a Arc<Handle>,
    pub(crate) regs: &'a Arc<Regs>,
    pub(crate) gart: &'a Arc<Gart>,
    pub(crate) doorbells: &'a Arc<Doorbells>,
    pub(crate) hal: &'static dyn Hal,
    pub(crate) clients: &'static dyn Clients,
    pub(crate) nbio: &'static dyn nbio::Hal,
    /// Where dummy loads go.
    pub(crate) stray_page: &'a Words,
}

/// Interrupts are on; dropped, they are off and no work item runs any more.
#[pin_data(PinnedDrop)]
pub(crate) struct Enabled<'bound> {
    // Fields are dropped in this order: without the hard handler nothing is queued, and the queue
    // runs what it has before it goes.
    #[pin]
    irq: Msi<'bound, Hard>,
    queue: Arc<WorkQueue>,
    handler: Arc<Handler>,
}

impl<'bound> Enabled<'bound> {
    /// Sets the rings up and turns interrupts on, which go to a sink from now on.
    pub(crate) fn new(
        pdev: &'bound pci::Device<Bound>,
        parts: Parts<'_>,
        sink: Arc<dyn Sink>,
    ) -> Result<impl PinInit<Self, Error> + 'bound> {
        let first = Ring::first(parts.gart, parts.hal)?;
        let second = match parts.hal.second() {
            Some(registers) => {
                let ring = Ring::second(parts.gart, registers)?;
                let ring = new_mutex!(ring, "rkfd IH, second");
                Some(KBox::pin_init(ring, GFP_KERNEL)?)
            }
            None => None,
        };
        let queue = Arc::new(WorkQueue::new_ordered(c"rkfd-ih")?, GFP_KERNEL)?;
        let handler = Arc::pin_init(
            pin_init!(Handler {
                dev: parts.dev.clone(),
                regs: parts.regs.clone(),
                doorbells: parts.doorbells.clone(),
                hal: parts.hal,
                nbio: parts.nbio,
                clients: parts.clients,
                sink,
                stray_page: parts.stray_page.bus(),
                first <- new_mutex!(first, "rkfd IH"),
                second,
                work <- new_work!("rkfd IH"),
            }),
            GFP_KERNEL,
        )?;
        handler.init();
        let hard = Hard {
            handler: handler.clone(),
            queue: queue.clone(),
        };
        Ok(try_pin_init!(Self {
            handler,
            queue,
            irq <- Msi::new(pdev, c"rkfd", hard),
            _: {
                handler.toggle(true);
            },
        }))
    }
}

impl Enabled<'_> {
    /// Who walks the rings.
    pub(crate) fn handler(&self) -> &Arc<Handler> {
        &self.handler
    }
}

#[pinned_drop]
impl PinnedDrop for Enabled<'_> {
    fn drop(self: Pin<&mut Self>) {
        self.handler.toggle(false);
        // As `vega20_ih_irq_disable`: entries on their way arrive.
        fsleep(Delta::from_millis(1));
    }
}

impl Handler {
    /// Sets the rings up again, empty, after the device has lost everything.
    ///
    /// # Errors
    ///
    /// None but of memory that can't be reached.
    pub(crate) fn renew(&self) -> Result {
        self.first.lock().forget()?;
        self.init();
        self.toggle(true);
        Ok(())
    }

    /// Turns the rings on or off. Nobody reads ring 1's pointer meanwhile, which begins at 0 again.
    fn toggle(&self, on: bool) {
        let mut second = self.second.as_ref().map(|second| second.lock());
        toggle(&self.regs, self.hal, on);
        if let (false, Some(second)) = (on, &mut second) {
            second.turned_off();
        }
    }

    /// `vega20_ih_irq_init`, `ih_v7_0_irq_init`. What IH 4.4 has further rings for, faults that are retried, isn't
    /// turned on.
    fn init(&self) {
        let (regs, hal, nbio) = (&self.regs, self.hal, self.nbio);
        let table = hal.registers();
        self.toggle(false);
        nbio.prepare_interrupts(regs, self.stray_page);
        hal.before(regs);

        {
            let first = self.first.lock();
            first.set_up(regs, hal);
            let wptr = first.pointer_place(hal).unwrap_or(0);
            regs.write(table.wptr_addr_low, wptr as u32);
            regs.write(table.wptr_addr_high, (wptr >> 32) as u32 & 0xffff);
        }
        let doorbell = table.doorbell_offset.set(0, hal.doorbell().widened());
        regs.write(
            table.doorbell_enable.reg(),
            table.doorbell_enable.set(doorbell, true),
        );
        if let Some(second) = &self.second {
            second.lock().set_up(regs, hal);
        }
        nbio.route_interrupts(regs, hal.doorbell());
        hal.after(regs);
    }

    /// Handles everything up to the write pointers.
    fn drain(&self) -> Result {
        let mut told = false;
        loop {
            let count = self.handle(&self.first, |entry| {
                told |= decode::tells_of_second(entry);
                self.publish_in_order(entry)
            })?;
            if count > 0 {
                self.doorbells
                    .ring32(self.hal.doorbell().into(), self.first.lock().read_pointer());
            }
            // As much of the one as of the other, so that neither waits for a flood of the other.
            told = told && self.handle_second()? > 0;
            if count == 0 && !told {
                return Ok(());
            }
        }
    }

    /// Handles some entries of the second ring, and returns how many.
    fn handle_second(&self) -> Result<usize> {
        let Some(second) = &self.second else {
            return Ok(0);
        };
        let count = self.handle(second, |entry| {
            self.publish(entry, decode::decode(self.clients, entry));
            Ok(())
        })?;
        second.lock().hand_back(&self.regs);
        Ok(count)
    }

    /// Has some entries of a ring handled, and returns how many.
    fn handle(&self, ring: &Mutex<Ring>, mut each: impl FnMut(&Entry) -> Result) -> Result<usize> {
        let mut batch = [Entry::zeroed(); BATCH];
        let count = ring.lock().take(&self.regs, &self.dev, &mut batch)?;
        // Outside of the ring's lock: the sink takes its own.
        for entry in batch.iter().take(count) {
            each(entry)?;
        }
        Ok(count)
    }

    /// Publishes an entry of ring 0. An error may follow from a page fault, which is in ring 1 already, and goes first
    /// then with all that is there.
    fn publish_in_order(&self, entry: &Entry) -> Result {
        let meaning = decode::decode(self.clients, entry);
        let is_error = meaning.is_some_and(|(_, event)| event.is_error());
        if let Some(second) = self.second.as_ref().filter(|_| is_error) {
            let mut left = second.lock().unread(&self.regs, &self.dev)?;
            while left > 0 {
                left = match self.handle_second()? {
                    0 => 0,
                    count => left.saturating_sub(count),
                };
            }
        }
        self.publish(entry, meaning);
        Ok(())
    }

    /// Passes on what an entry means, to whom it is for.
    fn publish(&self, entry: &Entry, meaning: Option<(Pasid, Event)>) {
        trace::ih_entry_taken(&entry.0);
        if let Some((pasid, event)) = meaning {
            self.sink.event(pasid, &event);
        }
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
