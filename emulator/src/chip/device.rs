// SPDX-License-Identifier: MIT OR Apache-2.0

//! The device: what its blocks share ([`Soc`]), and the way of a register access to a block.
//!
//! ```text
//! BAR5 offset --Router--> (block, register) --Device--> IpBlock::{read, write}
//! ```
//!
//! Register accesses come from the transport's thread and must be answered at once: a block that
//! has work to do hands it to a thread of its own.

use super::router::{Place, Router, Target};
use crate::blocks;
use crate::blocks::ih::{self, Interrupts};
use crate::chip::Chip;
use crate::device::clock::Clock;
use crate::device::doorbell::Doorbells;
use crate::device::Refused;
use crate::engines::sdma::Engines;
use crate::inject::{Fault, Faults};
use crate::memory::{Hub, Memory, VmFault};
use crate::report::Report;
use crate::trace::{Trace, Value};
use rkfd_hw::regs::RegInfo;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// What the blocks share.
pub struct Soc {
    /// The chip's constants.
    pub chip: &'static Chip,
    /// VRAM, guest RAM, address spaces.
    pub memory: Arc<Memory>,
    /// The doorbell BAR.
    pub doorbells: Arc<Doorbells>,
    /// The way to the interrupt ring.
    pub interrupts: Interrupts,
    /// Which process (PASID) each VMID serves (ATHUB, IH).
    pub pasids: blocks::athub::Pasids,
    /// The SDMA engines.
    pub sdma: Engines,
    /// The device's clock.
    pub clock: Clock,
    /// Injected faults.
    pub faults: Faults,
    /// Where violations go.
    pub report: Arc<Report>,
    /// Where events go.
    pub trace: Arc<Trace>,
    /// The whole device: firmware's way to registers of other blocks.
    device: OnceLock<Weak<Device>>,
}

impl Soc {
    /// The registers of all blocks; `None` while the device is made or ends.
    pub fn registers(&self) -> Option<Arc<Device>> {
        self.device.get()?.upgrade()
    }

    /// Raises an interrupt: the handler adds the time and the VMID's process.
    pub fn interrupt(&self, what: &ih::Interrupt) {
        let pasid = self.pasids.of_interrupt(what.vmid, what.hub == Hub::Mm);
        self.interrupts.raise(what, pasid, self.clock.now());
    }

    /// Tells a hub that an access of one of its clients failed: status and address are captured,
    /// and the fault interrupt is raised if the context enables it.
    pub fn vm_fault(&self, fault: &VmFault) {
        blocks::vmhub::capture(self, fault, 0);
    }

    /// The same, where the status register names the client of the hub (CID).
    pub fn vm_fault_of(&self, fault: &VmFault, cid: u32) {
        blocks::vmhub::capture(self, fault, cid);
    }
}

/// How a device is made.
pub struct Config {
    /// The chip.
    pub chip: &'static Chip,
    /// Bytes of VRAM.
    pub vram_size: u64,
    /// Injected faults.
    pub faults: Faults,
    /// Where violations go.
    pub report: Arc<Report>,
    /// Where events go.
    pub trace: Arc<Trace>,
}

/// The assembled device.
pub struct Device {
    /// What the blocks share.
    pub soc: Arc<Soc>,
    router: Router,
    blocks: super::blocks::Blocks,
    accesses: AtomicU64,
}

/// Accesses after which an injected dead bus sets in.
const DEAD_AFTER: u64 = 2000;

impl Device {
    /// A device in its start-up state.
    ///
    /// # Errors
    /// The host has no memory for it.
    pub fn new(config: Config) -> io::Result<Arc<Self>> {
        let Config {
            chip,
            vram_size,
            faults,
            report,
            trace,
        } = config;
        let memory = Memory::new(chip, vram_size, &faults, report.clone())?;
        let doorbells = Arc::new(Doorbells::new(chip.doorbell_size, report.clone())?);
        let interrupts = Interrupts::new(
            memory.clone(),
            doorbells.clone(),
            report.clone(),
            trace.clone(),
        );
        let soc = Arc::new(Soc {
            chip,
            doorbells,
            interrupts,
            pasids: blocks::athub::Pasids::default(),
            sdma: Engines::new(chip.sdma),
            clock: Clock::new(chip.clock_hz),
            memory,
            faults,
            report,
            trace,
            device: OnceLock::new(),
        });
        let cores = (chip.scheduler)(soc.clone());
        let device = Self {
            router: Router::new(chip),
            blocks: super::blocks::Blocks::new(&soc, cores),
            soc,
            accesses: AtomicU64::new(0),
        };
        device.start_up();
        let device = Arc::new(device);
        let _ = device.soc.device.set(Arc::downgrade(&device));
        Ok(device)
    }

    /// Reads the register at a byte offset in BAR5.
    pub fn read(&self, offset: u64) -> u32 {
        if self.is_dead() {
            return u32::MAX;
        }
        match self.router.resolve(offset) {
            Target::Register(at) => self.read_register(at),
            Target::Index => self.router.index(),
            Target::IndexHigh => self.router.index_high(),
            Target::Data => match self.router.indirect() {
                Some(at) => self.read_register(at),
                None => self.unknown("indirect read", self.router.indirect_address()),
            },
            Target::Unknown if self.blocks.nbio.is_hdp_flush(offset) => 0,
            Target::Unknown => self.unknown("read", offset),
        }
    }

    /// Writes the register at a byte offset in BAR5.
    pub fn write(&self, offset: u64, value: u32) {
        if self.is_dead() {
            return;
        }
        match self.router.resolve(offset) {
            Target::Register(at) => self.write_register(at, value),
            Target::Index => self.router.set_index(value),
            Target::IndexHigh => self.router.set_index_high(value),
            Target::Data => match self.router.indirect() {
                Some(at) => self.write_register(at, value),
                None => {
                    self.unknown("indirect write", self.router.indirect_address());
                }
            },
            Target::Unknown if self.blocks.nbio.is_hdp_flush(offset) => {}
            Target::Unknown => {
                self.unknown("write", offset);
            }
        }
    }

    /// Returns to the start-up state (reset by the bus or by function-level reset). VRAM keeps its
    /// content, apart from what firmware puts there.
    pub fn reset(&self) {
        self.soc.trace.event("reset", &[]);
        self.blocks.reset();
        for hub in self.soc.memory.hubs() {
            self.soc.memory.hub(hub).reset();
        }
        self.soc.doorbells.reset();
        self.soc.interrupts.reset();
        self.soc.pasids.reset();
        self.router.reset();
        self.start_up();
    }

    /// What firmware does before the host may use the device: it puts the discovery binary
    /// into VRAM.
    fn start_up(&self) {
        crate::blocks::discovery::install(&self.soc);
    }

    fn read_register(&self, at: Place) -> u32 {
        let reg = at.reg;
        let block = self.blocks.get(at).ok_or(Refused::NotModelled);
        let value = block
            .and_then(|block| block.read(reg))
            .unwrap_or_else(|why| {
                self.refused("read", reg, None, &why);
                0
            });
        self.trace_register("reg_read", reg, value);
        value
    }

    fn write_register(&self, at: Place, value: u32) {
        let reg = at.reg;
        self.trace_register("reg_write", reg, value);
        let block = self.blocks.get(at).ok_or(Refused::NotModelled);
        if let Err(why) = block.and_then(|block| block.write(reg, value)) {
            self.refused("write", reg, Some(value), &why);
        }
    }

    fn trace_register(&self, what: &str, reg: &RegInfo, value: u32) {
        if self.soc.trace.is_on() {
            let block = format!("{:?}", reg.reg.block);
            let members = [
                ("block", Value::Text(&block)),
                ("reg", Value::Text(reg.reg.name)),
                ("value", Value::Hex(value.into())),
            ];
            self.soc.trace.event(what, &members);
        }
    }

    fn refused(&self, what: &str, reg: &RegInfo, value: Option<u32>, why: &Refused) {
        // Both hubs have registers of the same names.
        let (block, name) = (reg.reg.block, reg.reg.name);
        let why = match why {
            Refused::NotModelled => "not modelled",
            Refused::ReadOnly => "read-only",
            Refused::Undefined(text) => text,
        };
        match value {
            Some(v) => self
                .soc
                .report
                .violation(format_args!("{block:?}: {what} of {name} = {v:#x}: {why}")),
            None => self
                .soc
                .report
                .violation(format_args!("{block:?}: {what} of {name}: {why}")),
        }
    }

    fn unknown(&self, what: &str, offset: u64) -> u32 {
        self.soc.report.violation(format_args!(
            "{what} of unknown register at {offset:#x} (word {:#x})",
            offset / 4
        ));
        0
    }

    fn is_dead(&self) -> bool {
        self.soc.faults.has(Fault::DeadReads)
            && self.accesses.fetch_add(1, Ordering::Relaxed) >= DEAD_AFTER
    }
}
