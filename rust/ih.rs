// SPDX-License-Identifier: GPL-2.0

//! The interrupt handler block (IH): a ring of 32-byte entries that the device writes.
//!
//! The ring lies in system memory and is given by bus address. The device stores entries, then
//! its write pointer (to memory as well), then raises the MSI. The hard handler only queues a
//! work item; that walks the ring up to the write pointer, tells the user half by way of
//! [`crate::upcall`], and hands the room back by ringing IH's doorbell. Set-up follows
//! `vega20_ih.c` for version 4.4.2.
//!
//! Entries are the device's: everything in them is checked before use.

use crate::{
    bo::kernel_mem::Words,
    doorbell,
    glue::workqueue::WorkQueue,
    gmc,
    gpu::{Gpu, Hw},
    hw::{
        ih::{client, source, Entry, ENTRY_SIZE},
        regs::{gc_9_4_3 as gc, nbio_7_9_0 as nbio, osssys_4_4_2 as oss, Block},
    },
    ring::{self, Slot},
    upcall::{self, Pasid, QueueError, VmFault},
};
use core::num::NonZeroU16;
use kernel::{
    device::{self, Bound},
    irq, new_mutex, new_work, pci,
    prelude::*,
    sync::{Arc, Mutex},
    time::{delay::fsleep, Delta},
    workqueue::{impl_has_work, Work, WorkItem},
};

/// `IH_RING_SIZE`.
const RING_BYTES: usize = 256 << 10;
const ENTRY_WORDS: usize = ENTRY_SIZE / 4;
/// Entries handled before the room is handed back.
const BATCH: usize = 32;
/// `SOC15_IH_CLIENTID_SE0SH` to `SE3SH` are consecutive.
const SHADER_ENGINES: u8 = 4;

/// The ring's memory and where reading stands.
struct Ring {
    entries: Words,
    /// The device stores its write pointer here, in bytes.
    wptr: Words,
    /// In bytes.
    rptr: usize,
}

/// Handles the entries, in a work item.
#[pin_data]
struct Handler {
    gpu: Arc<Gpu>,
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
                dev_err!(
                    this.gpu.device(),
                    "reading the interrupt ring failed ({:?})\n",
                    error
                );
            }
        }
    }
}

/// The hard interrupt handler.
#[pin_data]
struct Hard {
    handler: Arc<Handler>,
    queue: Arc<WorkQueue>,
}

impl irq::Handler for Hard {
    fn handle(&self, _: &device::Device<Bound>) -> irq::IrqReturn {
        // Already queued: that run sees the new entries too.
        let _ = self.queue.queue().enqueue(self.handler.clone());
        irq::IrqReturn::Handled
    }
}

/// Interrupts are on; dropped, they are off and no work item runs any more.
pub(crate) struct Enabled {
    hw: Arc<Hw>,
    irq: Option<Pin<KBox<irq::Registration<Hard>>>>,
    queue: Arc<WorkQueue>,
    _handler: Arc<Handler>,
}

impl Enabled {
    /// Sets the ring up and turns interrupts on.
    pub(crate) fn new(pdev: &pci::Device<Bound>, gpu: &Arc<Gpu>) -> Result<Self> {
        let hw = gpu.hw().clone();
        let ring = Ring {
            entries: Words::new(&hw, RING_BYTES / 4)?,
            wptr: Words::new(&hw, 1024)?,
            rptr: 0,
        };
        let queue = Arc::new(WorkQueue::new_ordered(c"rkfd-ih")?, GFP_KERNEL)?;
        let (bus, wptr_bus) = (ring.entries.bus(), ring.wptr.bus());
        let for_work = gpu.clone();
        let handler = Arc::pin_init(
            pin_init!(Handler {
                gpu: for_work,
                ring <- new_mutex!(ring, "rkfd IH"),
                work <- new_work!("rkfd IH"),
            }),
            GFP_KERNEL,
        )?;
        let types = pci::IrqTypes::default().with(pci::IrqType::Msi);
        let vector = *pdev
            .alloc_irq_vectors(1, 1, types)
            .inspect_err(|_| dev_err!(pdev, "the device gets no MSI\n"))?
            .start();
        let mut enabled = Self {
            hw,
            irq: None,
            queue: queue.clone(),
            _handler: handler.clone(),
        };
        init(&enabled.hw, bus, wptr_bus);
        let hard = try_pin_init!(Hard { handler, queue }? Error);
        enabled.irq = Some(KBox::pin_init(
            pdev.request_irq(vector, irq::Flags::TRIGGER_NONE, c"rkfd", hard),
            GFP_KERNEL,
        )?);
        toggle(&enabled.hw, true);
        gmc::set_fault_interrupts(&enabled.hw, true);
        cp_interrupts(&enabled.hw, true);
        Ok(enabled)
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        cp_interrupts(&self.hw, false);
        gmc::set_fault_interrupts(&self.hw, false);
        toggle(&self.hw, false);
        // As `vega20_ih_irq_disable`: entries on their way arrive.
        fsleep(Delta::from_millis(1));
        // No hard handler after this, so nothing is queued after the flush.
        self.irq = None;
        self.queue.flush();
    }
}

/// `vega20_ih_toggle_ring_interrupts`.
fn toggle(hw: &Hw, on: bool) {
    use oss::IH_RB_CNTL as F;
    let regs = &hw.regs;
    let mut cntl = regs.read(oss::IH_RB_CNTL);
    cntl = F::RB_ENABLE.set(cntl, u32::from(on));
    cntl = F::RB_GPU_TS_ENABLE.set(cntl, 1);
    if on {
        // The overflow flag is cleared by an edge.
        cntl = F::WPTR_OVERFLOW_CLEAR.set(cntl, 0);
        regs.write(oss::IH_RB_CNTL, cntl);
        cntl = F::WPTR_OVERFLOW_CLEAR.set(cntl, 1);
        regs.write(oss::IH_RB_CNTL, cntl);
        cntl = F::WPTR_OVERFLOW_CLEAR.set(cntl, 0);
    }
    cntl = F::ENABLE_INTR.set(cntl, u32::from(on));
    regs.write(oss::IH_RB_CNTL, cntl);
    if !on {
        regs.write(oss::IH_RB_RPTR, 0);
        regs.write(oss::IH_RB_WPTR, 0);
    }
}

/// `vega20_ih_irq_init`, ring 0 only: rings 1 and 2 carry retry faults and overflow.
fn init(hw: &Hw, bus: u64, wptr_bus: u64) {
    use oss::{IH_CHICKEN as Chicken, IH_DOORBELL_RPTR as Bell, IH_RB_CNTL as F};
    let regs = &hw.regs;
    toggle(hw, false);
    // `nbio_v7_9_ih_control`.
    regs.write(
        nbio::BIF_BX0_INTERRUPT_CNTL2,
        (hw.dummy_page.bus() >> 8) as u32,
    );
    regs.set(
        nbio::BIF_BX0_INTERRUPT_CNTL,
        nbio::BIF_BX0_INTERRUPT_CNTL::IH_DUMMY_RD_OVERRIDE,
        0,
    );
    regs.set(
        nbio::BIF_BX0_INTERRUPT_CNTL,
        nbio::BIF_BX0_INTERRUPT_CNTL::IH_REQ_NONSNOOP_EN,
        0,
    );
    regs.set(oss::IH_CHICKEN, Chicken::MC_SPACE_GPA_ENABLE, 1);

    regs.write(oss::IH_RB_BASE, (bus >> 8) as u32);
    regs.write(oss::IH_RB_BASE_HI, (bus >> 40) as u32 & 0xff);
    let size = (RING_BYTES / 4).ilog2();
    let cntl = [
        // Bus addresses.
        (F::MC_SPACE, 1),
        (F::WPTR_OVERFLOW_CLEAR, 1),
        (F::WPTR_OVERFLOW_ENABLE, 1),
        (F::RB_SIZE, size),
        (F::WPTR_WRITEBACK_ENABLE, 1),
        (F::MC_SNOOP, 1),
        (F::MC_RO, 0),
        (F::MC_VMID, 0),
        // With MSI.
        (F::RPTR_REARM, 1),
    ]
    .iter()
    .fold(regs.read(oss::IH_RB_CNTL), |value, (field, bits)| {
        field.set(value, *bits)
    });
    regs.write(oss::IH_RB_CNTL, cntl);
    regs.write(oss::IH_RB_WPTR_ADDR_LO, wptr_bus as u32);
    regs.write(oss::IH_RB_WPTR_ADDR_HI, (wptr_bus >> 32) as u32 & 0xffff);
    regs.write(oss::IH_RB_WPTR, 0);
    regs.write(oss::IH_RB_RPTR, 0);
    regs.write(
        oss::IH_DOORBELL_RPTR,
        Bell::ENABLE.set(Bell::OFFSET.set(0, doorbell::IH), 1),
    );

    // `nbio_v7_9_ih_doorbell_range`.
    use nbio::{DOORBELL0_CTRL_ENTRY_0 as Range, S2A_DOORBELL_ENTRY_1_CTRL as Port};
    const SIZE: u32 = 8;
    let range = Range::BIF_DOORBELL0_RANGE_SIZE_ENTRY.set(
        Range::BIF_DOORBELL0_RANGE_OFFSET_ENTRY.set(0, doorbell::IH),
        SIZE,
    );
    let port =
        Port::S2A_DOORBELL_PORT1_RANGE_SIZE.set(Port::S2A_DOORBELL_PORT1_ENABLE.set(0, 1), SIZE);
    regs.write(nbio::DOORBELL0_CTRL_ENTRY_0, range);
    regs.write(nbio::S2A_DOORBELL_ENTRY_3_CTRL, port);
}

/// Interrupts of the command processors' pipes: end of pipe and bad opcodes
/// (`kgd_gfx_v9_init_interrupts`).
fn cp_interrupts(hw: &Hw, on: bool) {
    use gc::CP_INT_CNTL_RING0 as F;
    let value = if on {
        F::TIME_STAMP_INT_ENABLE.mask() | F::OPCODE_ERROR_INT_ENABLE.mask()
    } else {
        0
    };
    for xcc in hw.regs.instances(Block::Gc) {
        for pipe in 0..hw.chip.family.mec_pipes {
            let slot = Slot {
                me: 1,
                pipe,
                queue: 0,
            };
            ring::select(hw, xcc, slot, |regs| {
                regs.write_at(xcc, gc::CPC_INT_CNTL, value)
            });
        }
    }
}

impl Handler {
    /// Handles everything up to the write pointer.
    fn drain(&self) -> Result {
        loop {
            let mut batch = [Entry::zeroed(); BATCH];
            let count = self.take(&mut batch)?;
            if count == 0 {
                return Ok(());
            }
            // Outside of the ring's lock: the user half takes its own.
            for entry in batch.iter().take(count) {
                self.handle(entry);
            }
        }
    }

    /// Copies entries out and hands their room back.
    fn take(&self, batch: &mut [Entry; BATCH]) -> Result<usize> {
        let mut ring = self.ring.lock();
        let wptr = self.write_pointer(&mut ring)?;
        let mut count = 0;
        while ring.rptr != wptr && count < BATCH {
            let mut words = [0u32; ENTRY_WORDS];
            for (i, word) in words.iter_mut().enumerate() {
                *word = ring.entries.read(ring.rptr / 4 + i)?;
            }
            if let Some(slot) = batch.get_mut(count) {
                *slot = Entry(words);
            }
            ring.rptr = (ring.rptr + ENTRY_SIZE) % RING_BYTES;
            count += 1;
        }
        if count > 0 {
            self.gpu
                .hw()
                .doorbells
                .ring32(doorbell::IH, ring.rptr as u32);
        }
        Ok(count)
    }

    /// `vega20_ih_get_wptr`.
    fn write_pointer(&self, ring: &mut Ring) -> Result<usize> {
        use oss::{IH_RB_CNTL as Cntl, IH_RB_WPTR as F};
        let regs = &self.gpu.hw().regs;
        let mut wptr = ring.wptr.read(0)?;
        // Entries are read after the pointer that covers them.
        kernel::sync::barrier::smp_rmb();
        if F::RB_OVERFLOW.get(wptr) == 1 {
            wptr = regs.read(oss::IH_RB_WPTR);
            if wptr == u32::MAX {
                self.gpu.alive()?;
            }
            if F::RB_OVERFLOW.get(wptr) == 1 {
                wptr = F::RB_OVERFLOW.set(wptr, 0);
                // The oldest entry that was not overwritten.
                ring.rptr = (wptr as usize + ENTRY_SIZE) % RING_BYTES / ENTRY_SIZE * ENTRY_SIZE;
                dev_warn!(
                    self.gpu.device(),
                    "the interrupt ring overflowed; events were lost\n"
                );
                regs.set(oss::IH_RB_CNTL, Cntl::WPTR_OVERFLOW_CLEAR, 1);
                regs.set(oss::IH_RB_CNTL, Cntl::WPTR_OVERFLOW_CLEAR, 0);
            }
        }
        Ok(wptr as usize % RING_BYTES / ENTRY_SIZE * ENTRY_SIZE)
    }

    /// `event_interrupt_wq_v9` for what is known here; other entries mean nothing to KFD.
    fn handle(&self, entry: &Entry) {
        let field = |field| entry.get(field) as u32;
        let client_id = field(Entry::CLIENT_ID) as u8;
        let source_id = field(Entry::SOURCE_ID) as u8;
        let Some(pasid) = NonZeroU16::new(field(Entry::PASID) as u16).map(Pasid) else {
            return;
        };
        let Some(sink) = upcall::sink() else { return };
        let (data0, data1) = (field(Entry::DATA_0), field(Entry::DATA_1));
        match (client_id, source_id) {
            (client::GRBM_CP, source::CP_EOP) => sink.signal(&self.gpu, pasid, data0, 32),
            (client::GRBM_CP, source::CP_BAD_OPCODE) => sink.queue_error(
                &self.gpu,
                &QueueError {
                    pasid,
                    doorbell_id: data0 & 0x3ff,
                    code: data0 >> 10 & 0xffff,
                },
            ),
            (id, source::SQ_MESSAGE)
                if (client::SE0SH..client::SE0SH + SHADER_ENGINES).contains(&id) =>
            {
                // 24 bits of a shader's message (`KFD_CONTEXT_ID_GET_SQ_INT_DATA`).
                let data = data0 & 0xfff | data0 >> 16 & 0xf000 | (data1 & 0xff) << 16;
                sink.signal(&self.gpu, pasid, data, 24);
            }
            (client::UTCL2 | client::VMC | client::VMC1, source::VM_FAULT) => {
                self.fault(pasid, field(Entry::RING_ID), data0, data1)
            }
            _ => {}
        }
    }

    /// `kfd_process_vm_fault`: the process' queues are taken off, then it is told.
    fn fault(&self, pasid: Pasid, ring_id: u32, data0: u32, data1: u32) {
        let va = u64::from(data0) << 12 | u64::from(data1 & 0xf) << 44;
        let fault = VmFault {
            pasid,
            va,
            not_present: ring_id & 0x08 != 0,
            write: ring_id & 0x20 != 0,
            // gfx942 doesn't tell.
            execute: false,
        };
        gmc::report_fault(self.gpu.hw(), &fault);
        if let Err(error) = self.gpu.scheduler().evict_pasid(pasid) {
            dev_err!(
                self.gpu.device(),
                "stopping a faulting process failed ({:?})\n",
                error
            );
        }
        if let Some(sink) = upcall::sink() {
            sink.vm_fault(&self.gpu, &fault);
        }
    }
}
