// SPDX-License-Identifier: MIT OR Apache-2.0

//! The assembled device, and the way of a register access to a block.
//!
//! ```text
//! BAR5 offset --Router--> (block, register) --Device--> IpBlock::{read, write}
//! ```
//!
//! Register accesses come from the transport's thread and must be answered at once: a block that
//! has work to do hands it to a thread of its own.

use super::away::Away;
use super::blocks::Blocks;
use super::router::{Place, Router, Target};
use super::soc::Soc;
use super::window::{self, Behind};
use super::Chip;
use crate::blocks::discovery;
use crate::device::facts::Facts;
use crate::device::start::Start;
use crate::device::{IpBlock, Refused, Registers, Services as _};
use crate::engines::sdma::Engines;
use crate::memory::hub::Client;
use crate::report::Report;
use crate::rules::{Effect, Event, Kind, Rules};
use crate::trace::{Trace, Value};
use rkfd_hw::regs::{Block, RegInfo};
pub use rkfd_isa::Checks;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How a device is made.
pub struct Config {
    /// The chip.
    pub chip: &'static Chip,
    /// Bytes of VRAM.
    pub vram_size: u64,
    /// Its serial number, which the management unit reports.
    pub serial: u64,
    /// The rules by which it misbehaves.
    pub rules: Arc<Rules>,
    /// Where violations and faults go.
    pub report: Arc<Report>,
    /// Where events go.
    pub trace: Arc<Trace>,
    /// What its compute units look for in programs.
    pub checks: Checks,
}

/// The assembled device.
pub struct Device {
    /// What the blocks share.
    pub soc: Arc<Soc>,
    /// The SDMA engines as schedulers see them.
    pub sdma: Arc<Engines>,
    router: Router,
    blocks: Blocks,
    off_the_bus: AtomicBool,
    away: Away,
    /// Held over a reset.
    resets: Mutex<()>,
}

/// Nothing: there Linux looks for `BIOS_SCRATCH_7` while it doesn't know where that is, and takes what it finds
/// for a chip that its own firmware has not initialized (`amdgpu_device_need_post`, asked by
/// `amdgpu_read_bios_from_vram`).
const SCRATCH_7_AT_FIRST: u64 = 7 * 4;
/// The exit status of a process that a rule ends.
const DEATH: i32 = 9;

/// Who accesses a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The host, by the BAR.
    Host,
    /// The device's own firmware, which runs on what it accesses.
    Firmware,
}

impl Device {
    /// A device in its start-up state.
    ///
    /// # Errors
    /// The host has no memory for it.
    pub fn new(config: Config) -> io::Result<Arc<Self>> {
        let Config {
            chip,
            vram_size,
            serial,
            rules,
            report,
            trace,
            checks,
        } = config;
        let soc = Soc::new((chip, serial), vram_size, rules, report, trace)?;
        let sdma = Arc::new(Engines::new(soc.clone(), chip.sdma));
        let copies: Arc<dyn Client> = sdma.clone();
        let hubs = (soc.memory.hubs()).filter(|hub| {
            let mut behind = (0..chip.sdma.engines).map(chip.sdma.generation.hub);
            behind.any(|its| its == *hub)
        });
        for hub in hubs {
            soc.memory.hub(hub).add_client(Arc::downgrade(&copies));
        }
        let facts = Facts {
            checks,
            ..chip.facts()
        };
        let cores = (chip.scheduler)(soc.clone(), facts, sdma.clone());
        let device = Arc::new(Self {
            router: Router::new(chip),
            blocks: Blocks::new(&soc, cores, &sdma),
            soc,
            sdma,
            off_the_bus: AtomicBool::new(false),
            away: Away::default(),
            resets: Mutex::new(()),
        });
        device.start_up();
        let registers: Arc<dyn Registers> = device.clone();
        let weak = Arc::downgrade(&device);
        device.soc.connect(&registers, move || {
            if let Some(device) = weak.upgrade() {
                device.reset_chip();
            }
        });
        let weak = Arc::downgrade(&device);
        device.soc.rules.set_sink(move |effect, at| {
            if let Some(device) = weak.upgrade() {
                device.suffer(effect, at);
            }
        });
        Ok(device)
    }

    /// Reads the register at a byte offset in BAR5.
    pub fn read(&self, offset: u64) -> u32 {
        self.read_by(By::Host, offset)
    }

    fn read_by(&self, by: By, offset: u64) -> u32 {
        if self.is_gone() {
            self.missed(by, "read", offset);
            return u32::MAX;
        }
        match self.router.resolve(offset) {
            Target::Register(at) => self.read_register(by, at),
            Target::Index(behind) => self.router.window(behind).low(),
            Target::IndexHigh(behind) => self.router.window(behind).high(),
            Target::Data(Behind::Memory) => self.read_memory(),
            Target::Data(behind) => match self.router.indirect(behind) {
                Some(at) => self.read_register(by, at),
                None => {
                    let at = self.router.window(behind).address();
                    let of_queue = self.read_unnamed(at);
                    of_queue.unwrap_or_else(|| self.unknown("indirect read", at))
                }
            },
            Target::Unknown if self.blocks.nbio.is_hdp_flush(offset) => 0,
            Target::Unknown if self.blocks.nbio.is_empty_hole(offset) => 0,
            Target::Unknown if offset == SCRATCH_7_AT_FIRST => 0,
            Target::Unknown if self.is_programs(offset) => self.strayed("read"),
            Target::Unknown => {
                let of_queue = self.read_unnamed(offset);
                of_queue.unwrap_or_else(|| self.unknown("read", offset))
            }
        }
    }

    /// What no table names among the registers of hardware queues.
    fn read_unnamed(&self, at: u64) -> Option<u32> {
        if self.router.is_hole(at) {
            return Some(0);
        }
        let of_queue = self.router.unnamed_of_queue(at)?;
        Some(self.sdma.read_unnamed(of_queue))
    }

    /// Writes the register at a byte offset in BAR5.
    pub fn write(&self, offset: u64, value: u32) {
        self.write_by(By::Host, offset, value);
    }

    fn write_by(&self, by: By, offset: u64, value: u32) {
        if self.is_gone() {
            self.missed(by, "write", offset);
            return;
        }
        match self.router.resolve(offset) {
            Target::Register(at) => self.write_register(by, at, value),
            Target::Index(behind) => self.router.window(behind).set_low(value),
            Target::IndexHigh(behind) => self.router.window(behind).set_high(value),
            Target::Data(Behind::Memory) => self.write_memory(value),
            Target::Data(behind) => match self.router.indirect(behind) {
                Some(at) => self.write_register(by, at, value),
                None => {
                    let at = self.router.window(behind).address();
                    self.unknown("indirect write", at);
                }
            },
            Target::Unknown if self.blocks.nbio.is_hdp_flush(offset) => self.soc.memory.flush_hdp(),
            Target::Unknown if self.blocks.nbio.is_empty_hole(offset) => {}
            Target::Unknown if self.is_programs(offset) => {
                self.strayed("write");
            }
            Target::Unknown => {
                self.unknown("write", offset);
            }
        }
    }

    /// A function-level reset, or one by the bus: everything returns to its start-up state, and engines need their
    /// firmware again if they came without. But the OS of the security processor goes on: Linux looks for one
    /// where a hypervisor has just reset the function (`soc15_need_reset_on_init`). VRAM keeps its content, apart
    /// from what firmware puts there.
    pub fn reset_function(&self) {
        self.soc.trace.event("reset", &[]);
        let _one_at_a_time = self.resets.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop_all(self.soc.start().of_function());
        self.start_up();
    }

    /// Returns to the state at power-on, as rules say. VRAM keeps its content, apart from what firmware puts there.
    pub fn reset(&self) {
        self.soc.trace.event("power_on", &[]);
        let _one_at_a_time = self.resets.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop_all(Start::by(&self.soc.rules));
        self.start_up();
    }

    /// Resets the whole chip, as its management unit does when a driver asks for it (mode 1). It is gone
    /// from the bus for a while: reads give ffffffff, and writes are lost. Then it is as from power-on,
    /// whatever rules say: only the firmware in its flash runs, and nothing of what was in video memory
    /// can be relied on, which is why all of it is changed here. Configuration space stays as it is.
    ///
    /// Sources: Linux, `amdgpu_device_mode1_reset`, `amdgpu_device_check_vram_lost`.
    pub fn reset_chip(self: &Arc<Self>) {
        if !self.away.begin() {
            return;
        }
        self.soc.trace.event("mode1_reset", &[]);
        let device = self.clone();
        let reset = move || {
            let one_at_a_time = device.resets.lock().unwrap_or_else(PoisonError::into_inner);
            device.stop_all(Start::COLD);
            device.soc.rules.chip_was_reset();
            device.soc.memory.vram.spoil();
            device.start_up();
            drop(one_at_a_time);
            device.away.wait();
            device.soc.trace.event("mode1_done", &[]);
            device.away.end();
        };
        // Whoever asked is a thread that the reset waits for.
        if let Err(why) = thread::Builder::new().name("mode1".into()).spawn(reset) {
            eprintln!("the host refuses a thread: {why}");
        }
    }

    /// Everything ends, and all registers have the values with which the chip starts.
    fn stop_all(&self, start: Start) {
        // Engines ask for their firmware.
        self.soc.start_like(start);
        self.blocks.reset();
        self.soc.memory.reset_hdp();
        for hub in self.soc.memory.hubs() {
            self.soc.memory.hub(hub).reset();
        }
        self.soc.doorbells.reset();
        self.soc.interrupts.reset();
        self.soc.pasids.reset();
        self.router.reset();
    }

    /// What firmware does before the host may use the device: it puts the discovery binary
    /// into VRAM.
    fn start_up(&self) {
        let binary = self.soc.chip.discovery(&self.soc.rules);
        discovery::install(&*self.soc, &binary);
    }

    /// A word of video memory through `MM_DATA`. Registers of BAR5 are not modelled there.
    fn read_memory(&self) -> u32 {
        let place = self.router.window(Behind::Memory).place();
        let mut word = [0; 4];
        let read = match place {
            window::Place::Memory(at) if at % 4 == 0 => {
                let part = self.soc.memory.vram.part(at, word.len());
                part.is_some_and(|part| part.read(0, &mut word))
            }
            _ => false,
        };
        if !read {
            self.no_memory("read", place);
        }
        u32::from_le_bytes(word)
    }

    fn write_memory(&self, value: u32) {
        let place = self.router.window(Behind::Memory).place();
        let bytes = value.to_le_bytes();
        let written = match place {
            window::Place::Memory(at) if at % 4 == 0 => {
                let part = self.soc.memory.vram.part(at, bytes.len());
                part.is_some_and(|part| part.write(0, &bytes))
            }
            _ => false,
        };
        if !written {
            self.no_memory("write", place);
        }
    }

    fn no_memory(&self, what: &str, place: window::Place) {
        self.soc.report.violation(format_args!(
            "{what} through MM_DATA of {place:x?}, which is no word of video memory"
        ));
    }

    fn read_register(&self, by: By, at: Place) -> u32 {
        let reg = at.reg;
        let effect = self.ask(Kind::Read, reg);
        if self.is_gone() {
            return u32::MAX;
        }
        let block = self.block(by, at);
        let value = block
            .and_then(|block| block.read(reg))
            .unwrap_or_else(|why| {
                self.refused("read", reg, None, &why);
                0
            });
        let value = match effect {
            Some(Effect::Read(value)) => value,
            // Every bit is wrong, so nothing that checks one may believe it.
            Some(Effect::Garbage) => !value,
            _ => value,
        };
        self.trace_register("reg_read", reg, value);
        value
    }

    fn write_register(&self, by: By, at: Place, value: u32) {
        let reg = at.reg;
        let effect = self.ask(Kind::Write, reg);
        if effect == Some(Effect::Drop) || self.is_gone() {
            return;
        }
        self.trace_register("reg_write", reg, value);
        let block = self.block(by, at);
        if let Err(why) = block.and_then(|block| block.write(reg, value)) {
            self.refused("write", reg, Some(value), &why);
        }
    }

    /// The block that answers for a register.
    fn block(&self, by: By, at: Place) -> Result<&dyn IpBlock, Refused> {
        let is_graphics = by == By::Host && at.block == Block::Gc;
        if is_graphics && self.soc.load.is_graphics_off() {
            let why = "the graphics core may be switched off while it is idle (GFXOFF), and is";
            return Err(Refused::Undefined(why.into()));
        }
        self.blocks.get(at).ok_or(Refused::NotModelled)
    }

    /// What the rules make of an access to a register.
    fn ask(&self, kind: Kind, reg: &RegInfo) -> Option<Effect> {
        self.soc.rules.ask(&Event::named(kind, reg.reg.name))
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

    /// An access to a chip that is not there. While it is being reset that is the driver's mistake; programs may
    /// go on to use what they have mapped, which is no register.
    fn missed(&self, by: By, what: &str, offset: u64) {
        let is_drivers = by == By::Host && !self.is_off_the_bus();
        if !is_drivers || !self.away.is_early() {
            return;
        }
        let name = match self.router.resolve(offset) {
            Target::Register(at) => at.reg.reg.name,
            Target::Index(_) | Target::IndexHigh(_) | Target::Data(_) => "an index pair",
            Target::Unknown => return,
        };
        self.soc.report.violation(format_args!(
            "{what} of {name} while the whole chip is being reset (mode 1)"
        ));
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
        let nbio = &self.blocks.nbio;
        nbio.is_hdp_page(offset) || nbio.is_empty_hole(offset)
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
        self.soc.report.close();
        self.soc.trace.event("off_the_bus", &[]);
        self.reset();
    }

    /// What a rule does to the whole device. Who asks the rules may be a thread that a reset waits for,
    /// so the end comes on another one; nothing is answered from now on.
    fn suffer(self: &Arc<Self>, effect: Effect, at: &str) {
        match effect {
            Effect::Pause => self.soc.pause.stop(at),
            Effect::Death => std::process::exit(DEATH),
            // Asked for by the control socket, on whose thread nobody waits.
            Effect::PowerCycle => self.reset(),
            _ if self.off_the_bus.swap(true, Ordering::AcqRel) => {}
            _ => {
                self.soc.report.close();
                let device = self.clone();
                let end = move || device.fall_off_the_bus();
                let thread = thread::Builder::new().name("removal".into()).spawn(end);
                if let Err(why) = thread {
                    eprintln!("the host refuses a thread: {why}");
                }
            }
        }
    }

    /// Whether the device answers no access now: it is reset, or gone for good.
    fn is_gone(&self) -> bool {
        self.away.is_away() || self.is_off_the_bus()
    }

    /// Whether the device answers no access any more.
    pub fn is_off_the_bus(&self) -> bool {
        self.off_the_bus.load(Ordering::Acquire)
    }
}

impl Registers for Device {
    fn read(&self, offset: u64) -> u32 {
        match self.router.beyond(offset) {
            Some(at) => self.read_register(By::Firmware, at),
            None => self.read_by(By::Firmware, offset),
        }
    }

    fn write(&self, offset: u64, value: u32) {
        match self.router.beyond(offset) {
            Some(at) => self.write_register(By::Firmware, at, value),
            None => self.write_by(By::Firmware, offset, value),
        }
    }
}
