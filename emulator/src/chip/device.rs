// SPDX-License-Identifier: MIT OR Apache-2.0

//! The assembled device, and the way of a register access to a block.
//!
//! ```text
//! BAR5 offset --Router--> (block, register) --Device--> IpBlock::{read, write}
//! ```
//!
//! Register accesses come from the transport's thread and must be answered at once: a block that
//! has work to do hands it to a thread of its own.

use super::blocks::Blocks;
use super::router::{Place, Router, Target};
use super::soc::Soc;
use super::Chip;
use crate::blocks::discovery;
use crate::device::{Refused, Registers};
use crate::engines::sdma::Engines;
use crate::inject::{Fault, Faults};
use crate::report::Report;
use crate::trace::{Trace, Value};
use rkfd_hw::regs::typed::RegInfo;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// How a device is made.
pub struct Config {
    /// The chip.
    pub chip: &'static Chip,
    /// Bytes of VRAM.
    pub vram_size: u64,
    /// Injected faults.
    pub faults: Faults,
    /// Where violations and faults go.
    pub report: Arc<Report>,
    /// Where events go.
    pub trace: Arc<Trace>,
}

/// The assembled device.
pub struct Device {
    /// What the blocks share.
    pub soc: Arc<Soc>,
    /// The SDMA engines as schedulers see them.
    pub sdma: Arc<Engines>,
    router: Router,
    blocks: Blocks,
    accesses: AtomicU64,
    off_the_bus: AtomicBool,
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
        let soc = Soc::new(chip, vram_size, faults, report, trace)?;
        let sdma = Arc::new(Engines::new(soc.clone(), chip.sdma));
        let cores = (chip.scheduler)(soc.clone(), chip.facts(), sdma.clone());
        let device = Arc::new(Self {
            router: Router::new(chip),
            blocks: Blocks::new(&soc, cores, &sdma),
            soc,
            sdma,
            accesses: AtomicU64::new(0),
            off_the_bus: AtomicBool::new(false),
        });
        device.start_up();
        let registers: Arc<dyn Registers> = device.clone();
        device.soc.connect(&registers);
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
            Target::Unknown if self.is_programs(offset) => self.strayed("read"),
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
            Target::Unknown if self.is_programs(offset) => {
                self.strayed("write");
            }
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
        let binary = self.soc.chip.discovery(&self.soc.faults);
        discovery::install(&*self.soc, &binary);
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

    /// Whether a byte offset of BAR5 is in a page that programs map.
    pub fn is_programs(&self, offset: u64) -> bool {
        self.blocks.nbio.is_hdp_page(offset)
    }

    fn strayed(&self, what: &str) -> u32 {
        self.soc.report.fault(format_args!(
            "{what} of a word in the page of HDP flushes that is none of them"
        ));
        0
    }

    /// Ends what is in progress, and answers no access any more.
    pub fn fall_off_the_bus(&self) {
        self.off_the_bus.store(true, Ordering::Release);
        self.soc.trace.event("off_the_bus", &[]);
        self.reset();
    }

    /// Whether the device answers no access any more.
    pub fn is_off_the_bus(&self) -> bool {
        self.off_the_bus.load(Ordering::Acquire)
    }

    fn is_dead(&self) -> bool {
        if self.is_off_the_bus() {
            return true;
        }
        self.soc.faults.has(Fault::DeadReads)
            && self.accesses.fetch_add(1, Ordering::Relaxed) >= DEAD_AFTER
    }
}

impl Registers for Device {
    fn read(&self, offset: u64) -> u32 {
        Device::read(self, offset)
    }

    fn write(&self, offset: u64, value: u32) {
        Device::write(self, offset, value);
    }
}
