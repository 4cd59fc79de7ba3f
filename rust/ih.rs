// SPDX-License-Identifier: GPL-2.0

//! The interrupt handler block (IH): a ring of 32-byte entries that the device writes.
//!
//! The ring lies in system memory and is given by bus address, or by its address in the GART. The
//! device stores entries, then its write pointer (to memory as well), then raises the MSI. The
//! hard handler only queues a work item; that walks the ring up to the write pointer, tells the
//! user half by way of [`crate::upcall`], and hands the room back by ringing IH's doorbell. Set-up
//! follows `vega20_ih.c` and `ih_v7_0.c`; what differs between them is in [`Hal`].
//!
//! Entries are the device's: everything in them is checked before use.

use crate::{
    bo::kernel_mem::KernelBuf,
    glue::{
        irq::{self, Msi},
        workqueue::WorkQueue,
    },
    gmc,
    gpu::{Gpu, Hw},
    hw::{
        ih::{source, Entry, ENTRY_SIZE},
        regs::{Bits, Block, Reg},
    },
    ring::{self, Slot},
    uapi::debug,
    upcall::{Pasid, QueueError, Upcalls, VmFault},
};
use core::num::NonZeroU16;
use kernel::{
    device::Bound,
    new_mutex, new_work, pci,
    prelude::*,
    sync::{barrier, Arc, Mutex},
    time::{delay::fsleep, Delta},
    workqueue::{impl_has_work, Work, WorkItem},
};

pub(crate) mod v4_4;
pub(crate) mod v7_0;

/// What differs between chips.
pub(crate) struct Hal {
    cntl: Reg,
    /// The ring is given by bus addresses, not by those of the GART.
    bus_addresses: bool,
    /// Fields and values of IH_RB_CNTL, but for its size.
    cntl_values: &'static [(Bits, u32)],
    cntl_on: &'static [Bits],
    cntl_interrupt: Bits,
    cntl_size: Bits,
    cntl_clear: Bits,
    /// What is set when the ring is turned on or off.
    toggle: &'static [(Bits, u32)],
    /// The overflow flag is cleared by an edge when the ring is turned on.
    toggle_clears: bool,
    rptr: Reg,
    wptr: Reg,
    wptr_overflow: Bits,
    base: Reg,
    base_high: Reg,
    wptr_addr_low: Reg,
    wptr_addr_high: Reg,
    /// Register that enables the doorbell, and its value.
    doorbell_rptr: (Reg, u32),
    /// Word of the doorbell on the BAR.
    doorbell: u32,
    /// Fields of other registers that are set before the ring.
    before: &'static [(Reg, Bits, u32)],
    /// And after.
    after: &'static [(Reg, Bits, u32)],
    /// What an entry is about, for clients that number things in their own way.
    is_fault: fn(u8, u8) -> bool,
    is_processor: fn(u8) -> bool,
    is_copy_trap: fn(u8, u8) -> bool,
    shader_message: fn(u8, u8, u32, u32) -> Option<Message>,
}

/// A shader's message (s_sendmsg).
struct Message {
    /// The low 24 bits of its M0.
    data: u32,
    /// What a trap handler says so of the queue that the data names, a bit for each exception.
    exceptions: u32,
}

/// What encodes a message of a wave, and not one of the hardware's (`SQ_INTERRUPT_WORD_ENCODING_INST`).
const ENCODING_WAVE: u32 = 1;
/// Bits of a message or of an error that have a queue's doorbell; behind them lies what is wrong.
const DOORBELL_BITS: u32 = 10;

/// `IH_RING_SIZE`.
const RING_BYTES: usize = 256 << 10;
const ENTRY_WORDS: usize = ENTRY_SIZE / 4;
/// Entries handled before the room is handed back.
const BATCH: usize = 32;

/// The ring's memory and where reading stands.
struct Ring {
    entries: KernelBuf,
    /// The device stores its write pointer here, in bytes.
    wptr: KernelBuf,
    /// In bytes.
    rptr: usize,
}

/// Handles the entries, in a work item.
#[pin_data]
struct Handler {
    gpu: Arc<Gpu>,
    sink: Arc<dyn Upcalls>,
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
struct Hard {
    handler: Arc<Handler>,
    queue: Arc<WorkQueue>,
}

impl irq::Handler for Hard {
    fn handle(&self) {
        // Already queued: that run sees the new entries too.
        let _ = self.queue.queue().enqueue(self.handler.clone());
    }
}

/// Interrupts are on; dropped, they are off and no work item runs any more.
pub(crate) struct Enabled {
    hw: Arc<Hw>,
    irq: Option<Msi<Hard>>,
    queue: Arc<WorkQueue>,
    _handler: Arc<Handler>,
}

impl Enabled {
    /// Sets the ring up and turns interrupts on.
    pub(crate) fn new(
        pdev: &pci::Device<Bound>,
        gpu: &Arc<Gpu>,
        sink: Arc<dyn Upcalls>,
    ) -> Result<Self> {
        let hw = gpu.hw().clone();
        let ring = Ring {
            entries: KernelBuf::new(&hw, RING_BYTES)?,
            wptr: KernelBuf::new(&hw, 4096)?,
            rptr: 0,
        };
        let queue = Arc::new(WorkQueue::new_ordered(c"rkfd-ih")?, GFP_KERNEL)?;
        let address = |buffer: &KernelBuf| match hw.chip.family.ih.bus_addresses {
            true => buffer.bus(),
            false => buffer.gpu_addr(),
        };
        let (base, wptr_addr) = (address(&ring.entries), address(&ring.wptr));
        let for_work = gpu.clone();
        let handler = Arc::pin_init(
            pin_init!(Handler {
                gpu: for_work,
                sink,
                ring <- new_mutex!(ring, "rkfd IH"),
                work <- new_work!("rkfd IH"),
            }),
            GFP_KERNEL,
        )?;
        let mut enabled = Self {
            hw,
            irq: None,
            queue: queue.clone(),
            _handler: handler.clone(),
        };
        init(&enabled.hw, base, wptr_addr);
        let irq = Msi::new(pdev, c"rkfd", Hard { handler, queue })
            .inspect_err(|_| dev_err!(pdev, "the device gets no MSI\n"))?;
        enabled.irq = Some(irq);
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
    let (regs, hal) = (&hw.regs, hw.chip.family.ih);
    let set = |start: u32, fields: &[(Bits, u32)]| {
        fields
            .iter()
            .fold(start, |value, (field, bits)| field.set(value, *bits))
    };
    let mut cntl = hal
        .cntl_on
        .iter()
        .fold(regs.read(hal.cntl), |value, field| {
            field.set(value, u32::from(on))
        });
    cntl = set(cntl, hal.toggle);
    if on && hal.toggle_clears {
        for edge in [0, 1] {
            cntl = hal.cntl_clear.set(cntl, edge);
            regs.write(hal.cntl, cntl);
        }
        cntl = hal.cntl_clear.set(cntl, 0);
    }
    regs.write(hal.cntl, hal.cntl_interrupt.set(cntl, u32::from(on)));
    if !on {
        regs.write(hal.rptr, 0);
        regs.write(hal.wptr, 0);
    }
}

/// `vega20_ih_irq_init`, ring 0 only: rings 1 and 2 carry retry faults and overflow.
fn init(hw: &Hw, base: u64, wptr_addr: u64) {
    let (regs, hal, nbio) = (&hw.regs, hw.chip.family.ih, hw.chip.family.nbio);
    toggle(hw, false);
    // `ih_control` of NBIO.
    regs.write(nbio.interrupt_dummy, (hw.dummy_page.bus() >> 8) as u32);
    let (cntl, values) = nbio.interrupt_cntl;
    for &(field, value) in values {
        regs.set(cntl, field, value);
    }
    for &(reg, field, value) in hal.before {
        regs.set(reg, field, value);
    }

    regs.write(hal.base, (base >> 8) as u32);
    regs.write(hal.base_high, (base >> 40) as u32 & 0xff);
    let size = (RING_BYTES / 4).ilog2();
    let cntl = hal
        .cntl_values
        .iter()
        .fold(regs.read(hal.cntl), |value, (field, bits)| {
            field.set(value, *bits)
        });
    let cntl = hal.cntl_size.set(cntl, size);
    regs.write(hal.cntl, cntl);
    regs.write(hal.wptr_addr_low, wptr_addr as u32);
    regs.write(hal.wptr_addr_high, (wptr_addr >> 32) as u32 & 0xffff);
    regs.write(hal.wptr, 0);
    regs.write(hal.rptr, 0);
    regs.write(hal.doorbell_rptr.0, hal.doorbell_rptr.1);
    for &(reg, value) in nbio.interrupt_routes {
        regs.write(reg, value);
    }
    for &(reg, field, value) in hal.after {
        regs.set(reg, field, value);
    }
}

/// Interrupts of the command processors' pipes: end of pipe and bad opcodes
/// (`init_interrupts` of KFD).
fn cp_interrupts(hw: &Hw, on: bool) {
    let (reg, wanted) = hw.chip.family.core.pipe_interrupts;
    let value = if on { wanted } else { 0 };
    for xcc in hw.regs.instances(Block::Gc) {
        for pipe in 0..hw.chip.family.mec_pipes {
            let slot = Slot {
                me: 1,
                pipe,
                queue: 0,
            };
            ring::select(hw, xcc, slot, |regs| regs.write_at(xcc, reg, value));
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
            ring.rptr = after(ring.rptr);
            count += 1;
        }
        if count > 0 {
            let hw = self.gpu.hw();
            hw.doorbells
                .ring32(hw.chip.family.ih.doorbell, ring.rptr as u32);
        }
        Ok(count)
    }

    /// `vega20_ih_get_wptr`.
    fn write_pointer(&self, ring: &mut Ring) -> Result<usize> {
        let hw = self.gpu.hw();
        let (regs, hal) = (&hw.regs, hw.chip.family.ih);
        let mut wptr = ring.wptr.read(0)?;
        // Entries are read after the pointer that covers them.
        barrier::smp_mb(barrier::Read);
        if hal.wptr_overflow.get(wptr) == 1 {
            wptr = regs.read(hal.wptr);
            if wptr == u32::MAX {
                self.gpu.alive()?;
            }
            if hal.wptr_overflow.get(wptr) == 1 {
                wptr = hal.wptr_overflow.set(wptr, 0);
                // The oldest entry that was not overwritten.
                ring.rptr = after(at_entry(wptr));
                dev_warn!(
                    self.gpu.device(),
                    "the interrupt ring overflowed; events were lost\n"
                );
                regs.set(hal.cntl, hal.cntl_clear, 1);
                regs.set(hal.cntl, hal.cntl_clear, 0);
            }
        }
        Ok(at_entry(wptr))
    }

    fn handle(&self, entry: &Entry) {
        let Some((pasid, told)) = decode(self.gpu.chip().family.ih, entry) else {
            return;
        };
        let sink = &self.sink;
        match told {
            Told::Signal { data, bits } => sink.signal(&self.gpu, pasid, data, bits),
            // As upstream: who is told of the error isn't told of an event as well.
            Told::WaveError { error, data } => {
                if !sink.queue_error(&self.gpu, &error) {
                    sink.signal(&self.gpu, pasid, data, MESSAGE_BITS);
                }
            }
            Told::PacketError(error) => {
                dev_err!(
                    self.gpu.device(),
                    "a queue of PASID {} was stopped: errors {:#x}, doorbell {:#x}\n",
                    pasid.get(),
                    error.exceptions,
                    error.doorbell_id
                );
                sink.queue_error(&self.gpu, &error);
                let scheduler = self.gpu.scheduler();
                if let Err(error) = scheduler.stop_bad_queue(pasid, error.doorbell_id) {
                    dev_err!(
                        self.gpu.device(),
                        "taking off a queue with an error failed ({:?})\n",
                        error
                    );
                }
            }
            Told::Fault(fault) => self.fault(&fault),
        }
    }

    /// `kfd_process_vm_fault`: the process' queues are taken off, then it is told.
    fn fault(&self, fault: &VmFault) {
        gmc::report_fault(self.gpu.hw(), fault);
        if let Err(error) = self.gpu.scheduler().evict_pasid(fault.pasid) {
            dev_err!(
                self.gpu.device(),
                "stopping a faulting process failed ({:?})\n",
                error
            );
        }
        self.sink.vm_fault(&self.gpu, fault);
    }
}

/// The place of an entry that the device's pointer, in bytes, names.
fn at_entry(pointer: u32) -> usize {
    pointer as usize % RING_BYTES / ENTRY_SIZE * ENTRY_SIZE
}

/// The place after an entry's.
fn after(place: usize) -> usize {
    (place + ENTRY_SIZE) % RING_BYTES
}

/// Bits of an event's id that a shader's message has.
const MESSAGE_BITS: u32 = 24;

/// What an entry tells.
#[derive(PartialEq, Eq, Debug)]
enum Told {
    /// An event was signalled, of whose id the low `bits` are known.
    Signal {
        data: u32,
        bits: u32,
    },
    /// The firmware stopped a queue.
    PacketError(QueueError),
    /// A trap handler says what is wrong, if a runtime hears it; else the data is as of a signal.
    WaveError {
        error: QueueError,
        data: u32,
    },
    Fault(VmFault),
}

/// `event_interrupt_wq_v9` for what is known here; other entries mean nothing to KFD.
fn decode(hal: &Hal, entry: &Entry) -> Option<(Pasid, Told)> {
    let client_id = entry.get(Entry::CLIENT_ID) as u32 as u8;
    let source_id = entry.get(Entry::SOURCE_ID) as u32 as u8;
    let pasid = Pasid::new(NonZeroU16::new(entry.get(Entry::PASID) as u32 as u16)?);
    let (data0, data1) = (
        entry.get(Entry::DATA_0) as u32,
        entry.get(Entry::DATA_1) as u32,
    );
    let queue_error = |data: u32, exceptions| QueueError {
        pasid,
        doorbell_id: data & ((1 << DOORBELL_BITS) - 1),
        exceptions,
    };
    let told = if (hal.is_fault)(client_id, source_id) {
        let ring_id = entry.get(Entry::RING_ID) as u32;
        Told::Fault(VmFault {
            pasid,
            va: u64::from(data0) << 12 | u64::from(data1 & 0xf) << 44,
            not_present: ring_id & 0x08 != 0,
            write: ring_id & 0x20 != 0,
            // Not told.
            execute: false,
        })
    } else if let Some(message) = (hal.shader_message)(client_id, source_id, data0, data1) {
        let (data, exceptions) = (message.data, u64::from(message.exceptions));
        // Others with them go along, as upstream.
        match exceptions & debug::EC_MASK_QUEUE {
            0 => Told::Signal {
                data,
                bits: MESSAGE_BITS,
            },
            _ => Told::WaveError {
                error: queue_error(data, exceptions),
                data,
            },
        }
    } else if (hal.is_copy_trap)(client_id, source_id) {
        Told::Signal {
            data: data0 & 0xfff_ffff,
            bits: 28,
        }
    } else if (hal.is_processor)(client_id) {
        match source_id {
            source::CP_EOP => Told::Signal {
                data: data0,
                bits: 32,
            },
            source::CP_BAD_OPCODE => {
                let exceptions = debug::exception_mask(data0 >> DOORBELL_BITS & 0xffff);
                if exceptions & debug::EC_MASK_PACKET == 0 {
                    return None;
                }
                Told::PacketError(queue_error(data0, exceptions))
            }
            _ => return None,
        }
    } else {
        return None;
    };
    Some((pasid, told))
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
