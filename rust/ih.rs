// SPDX-License-Identifier: GPL-2.0

//! The interrupt handler block (IH): a ring of 32-byte entries that the device writes.
//!
//! The ring lies in system memory and is given by bus address, or by its address in the GART. The
//! device stores entries, then its write pointer (to memory as well), then raises the MSI. The
//! hard handler only queues a work item; that walks the ring up to the write pointer, publishes what
//! it decoded ([`Event`]) to a [`Sink`], and hands the room back by ringing IH's doorbell. What
//! follows from an event is decided above. Set-up follows `vega20_ih.c` and `ih_v7_0.c`; what
//! differs between them is in [`Hal`], and what entries mean in [`Clients`].

use crate::{
    bo::Words,
    device::Handle,
    doorbell::Doorbells,
    glue::ratelimit::ratelimited,
    glue::{
        irq::Msi,
        trace,
        workqueue::WorkQueue, //
    },
    gmc::{
        Gart,
        KernelBuf, //
    },
    hw::{
        ih::{
            Entry,
            ENTRY_SIZE, //
        },
        value::Bounded, //
    },
    nbio,
    regs::Regs,
    types::{
        BusAddr,
        Pasid, //
    }, //
};
use kernel::{
    device::Bound,
    irq::{
        self,
        IrqReturn, //
    },
    new_mutex,
    new_work,
    pci,
    prelude::*,
    sync::{
        barrier,
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

/// `IH_RING_SIZE`.
const RING_BYTES: usize = 256 << 10;
const ENTRY_WORDS: usize = ENTRY_SIZE / 4;
/// Entries handled before the room is handed back.
const BATCH: usize = 32;

/// Takes what the ring reports, from its work item. All processes' signals come by there: so it must
/// not wait for the lock of a process, for a scheduler or for a program.
pub(crate) trait Sink: Send + Sync {
    /// The device reported something about a process.
    fn event(&self, pasid: Pasid, event: &Event);
}

/// The ring's memory and where reading stands.
struct Ring {
    entries: KernelBuf,
    /// The device stores its write pointer here, in bytes.
    wptr: KernelBuf,
    /// In bytes.
    rptr: usize,
}

/// Where the device finds what it needs, as the registers take it.
struct Places {
    entries: u64,
    wptr: u64,
    /// Where dummy loads go.
    stray_page: BusAddr,
}

/// Walks the ring, in a work item.
#[pin_data]
pub(crate) struct Handler {
    dev: Arc<Handle>,
    regs: Arc<Regs>,
    doorbells: Arc<Doorbells>,
    hal: &'static dyn Hal,
    nbio: &'static dyn nbio::Hal,
    clients: &'static dyn Clients,
    sink: Arc<dyn Sink>,
    places: Places,
    #[pin]
    ring: Mutex<Ring>,
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

impl irq::Handler for Hard {
    fn handle(&self) -> IrqReturn {
        // Already queued: that run sees the new entries too.
        let _ = self.queue.queue().enqueue(self.handler.clone());
        IrqReturn::Handled
    }
}

/// What the ring is made of.
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
    /// Sets the ring up and turns interrupts on, which go to a sink from now on.
    pub(crate) fn new(
        pdev: &'bound pci::Device<Bound>,
        parts: Parts<'_>,
        sink: Arc<dyn Sink>,
    ) -> Result<impl PinInit<Self, Error> + 'bound> {
        let ring = Ring {
            entries: KernelBuf::new(parts.gart, RING_BYTES)?,
            wptr: KernelBuf::new(parts.gart, 4096)?,
            rptr: 0,
        };
        let queue = Arc::new(WorkQueue::new_ordered(c"rkfd-ih")?, GFP_KERNEL)?;
        let address = |buffer: &KernelBuf| match parts.hal.bus_addresses() {
            true => buffer.bus().get(),
            false => buffer.gpu_addr().get(),
        };
        let places = Places {
            entries: address(&ring.entries),
            wptr: address(&ring.wptr),
            stray_page: parts.stray_page.bus(),
        };
        let handler = Arc::pin_init(
            pin_init!(Handler {
                dev: parts.dev.clone(),
                regs: parts.regs.clone(),
                doorbells: parts.doorbells.clone(),
                hal: parts.hal,
                nbio: parts.nbio,
                clients: parts.clients,
                sink,
                places,
                ring <- new_mutex!(ring, "rkfd IH"),
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
                toggle(&handler.regs, handler.hal, true);
            },
        }))
    }
}

impl Enabled<'_> {
    /// Who walks the ring.
    pub(crate) fn handler(&self) -> &Arc<Handler> {
        &self.handler
    }
}

#[pinned_drop]
impl PinnedDrop for Enabled<'_> {
    fn drop(self: Pin<&mut Self>) {
        toggle(&self.handler.regs, self.handler.hal, false);
        // As `vega20_ih_irq_disable`: entries on their way arrive.
        fsleep(Delta::from_millis(1));
    }
}

/// `vega20_ih_toggle_ring_interrupts`.
fn toggle(regs: &Regs, hal: &dyn Hal, on: bool) {
    let table = hal.registers();
    let reg = table.cntl.reg();
    let cntl = table.cntl_on.set(regs.read(reg), on);
    let cntl = hal.toggle(regs, cntl, on);
    regs.write(reg, table.cntl_interrupt.set(cntl, on));
    if !on {
        regs.write(table.rptr, 0);
        regs.write(table.wptr_overflow.reg(), 0);
    }
}

impl Handler {
    /// Sets the ring up again, empty, after the device has lost everything.
    ///
    /// # Errors
    ///
    /// None but of memory that can't be reached.
    pub(crate) fn renew(&self) -> Result {
        {
            let mut ring = self.ring.lock();
            ring.wptr.write(0, 0)?;
            ring.rptr = 0;
        }
        self.init();
        toggle(&self.regs, self.hal, true);
        Ok(())
    }

    /// `vega20_ih_irq_init`, ring 0 only: rings 1 and 2 carry retry faults and overflow.
    fn init(&self) {
        let (regs, hal, nbio, places) = (&self.regs, self.hal, self.nbio, &self.places);
        let table = hal.registers();
        toggle(regs, hal, false);
        nbio.prepare_interrupts(regs, places.stray_page);
        hal.before(regs);

        regs.write(table.base, (places.entries >> 8) as u32);
        regs.write(table.base_high, (places.entries >> 40) as u32 & 0xff);
        let size = Bounded::new::<{ (RING_BYTES / 4).ilog2() as u64 }>();
        regs.update(table.cntl.reg(), |old| {
            table.cntl_size.set(table.cntl.apply(old), size)
        });
        regs.write(table.wptr_addr_low, places.wptr as u32);
        regs.write(table.wptr_addr_high, (places.wptr >> 32) as u32 & 0xffff);
        regs.write(table.wptr_overflow.reg(), 0);
        regs.write(table.rptr, 0);
        let doorbell = table.doorbell_offset.set(0, hal.doorbell().widened());
        regs.write(
            table.doorbell_enable.reg(),
            table.doorbell_enable.set(doorbell, true),
        );
        nbio.route_interrupts(regs, hal.doorbell());
        hal.after(regs);
    }

    /// Handles everything up to the write pointer.
    fn drain(&self) -> Result {
        loop {
            let mut batch = [Entry::zeroed(); BATCH];
            let count = self.take(&mut batch)?;
            if count == 0 {
                return Ok(());
            }
            // Outside of the ring's lock: the sink takes its own.
            for entry in batch.iter().take(count) {
                trace::ih_entry_taken(&entry.0);
                if let Some((pasid, event)) = decode::decode(self.clients, entry) {
                    self.sink.event(pasid, &event);
                }
            }
        }
    }

    /// Copies entries out and hands their room back.
    fn take(&self, batch: &mut [Entry; BATCH]) -> Result<usize> {
        let mut ring = self.ring.lock();
        let wptr = self.write_pointer(&mut ring)?;
        let mut count = 0usize;
        while ring.rptr != wptr && count < BATCH {
            let mut words = [0u32; ENTRY_WORDS];
            for (at, word) in (ring.rptr / 4..).zip(words.iter_mut()) {
                *word = ring.entries.read(at)?;
            }
            if let Some(slot) = batch.get_mut(count) {
                *slot = Entry(words);
            }
            ring.rptr = after(ring.rptr);
            count = count.saturating_add(1);
        }
        if count > 0 {
            self.doorbells
                .ring32(self.hal.doorbell().into(), ring.rptr as u32);
        }
        Ok(count)
    }

    /// `vega20_ih_get_wptr`.
    fn write_pointer(&self, ring: &mut Ring) -> Result<usize> {
        let (regs, table) = (&self.regs, self.hal.registers());
        let mut wptr = ring.wptr.read(0)?;
        // Entries are read after the pointer that covers them.
        barrier::smp_mb(barrier::Read);
        if table.wptr_overflow.get(wptr) == 1 {
            wptr = regs.read(table.wptr_overflow.reg());
            if wptr == u32::MAX {
                self.dev.alive()?;
            }
            if table.wptr_overflow.get(wptr) == 1 {
                wptr = table.wptr_overflow.set(wptr, false);
                // The oldest entry that was not overwritten.
                ring.rptr = after(at_entry(wptr));
                ratelimited!(
                    dev_warn,
                    self.dev.device(),
                    "the interrupt ring overflowed; events were lost\n"
                );
                for edge in [true, false] {
                    regs.update(table.cntl_clear.reg(), |old| {
                        table.cntl_clear.set(old, edge)
                    });
                }
            }
        }
        Ok(at_entry(wptr))
    }
}

/// The place of an entry that the device's pointer, in bytes, names.
fn at_entry(pointer: u32) -> usize {
    pointer as usize % RING_BYTES & !(ENTRY_SIZE - 1)
}

/// The place after an entry's.
fn after(place: usize) -> usize {
    place.wrapping_add(ENTRY_SIZE) % RING_BYTES
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
