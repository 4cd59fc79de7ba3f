// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the blocks of a device share: the [`Env`] that they are made with.

use super::Chip;
use crate::blocks::ih::Interrupts;
use crate::blocks::vmhub;
use crate::device::clock::Clock;
use crate::device::doorbell::Doorbells;
use crate::device::firmware::Inventory;
use crate::device::interrupt::Interrupt;
use crate::device::load::Load;
use crate::device::pasids::Pasids;
use crate::device::start::Start;
use crate::device::views::Views;
use crate::device::{Env, Registers, Services};
use crate::memory::{Hub, Memory, VmFault};
use crate::pause::Pause;
use crate::report::Report;
use crate::rules::Rules;
use crate::trace::{Trace, Value};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// What the blocks share.
pub struct Soc {
    /// The chip's constants.
    pub chip: &'static Chip,
    serial: u64,
    /// VRAM, guest RAM, address spaces.
    pub memory: Arc<Memory>,
    /// The doorbell BAR.
    pub doorbells: Arc<Doorbells>,
    /// The interrupt handler.
    pub interrupts: Arc<Interrupts>,
    /// Which process (PASID) each VMID serves.
    pub pasids: Pasids,
    /// Which firmware the engines have.
    pub firmware: Inventory,
    start: Mutex<Start>,
    /// How busy it is.
    pub load: Arc<Load>,
    /// The device's clock.
    pub clock: Clock,
    /// The rules by which the device misbehaves.
    pub rules: Arc<Rules>,
    /// Whether the device stands still.
    pub pause: Arc<Pause>,
    /// What can be looked into meanwhile.
    pub views: Views,
    /// Where violations and faults go.
    pub report: Arc<Report>,
    /// Where events go.
    pub trace: Arc<Trace>,
    /// The whole device: firmware's way to registers of other blocks.
    registers: OnceLock<Weak<dyn Registers>>,
    /// Who resets the whole device.
    reset: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Soc {
    /// What the blocks of a chip with a serial number share, in its start-up state.
    ///
    /// # Errors
    /// The host has no memory for it.
    pub fn new(
        (chip, serial): (&'static Chip, u64),
        vram_size: u64,
        rules: Arc<Rules>,
        report: Arc<Report>,
        trace: Arc<Trace>,
    ) -> io::Result<Arc<Self>> {
        report.show_in(&trace);
        let memory = Memory::new(
            &chip.layout(vram_size, &rules),
            rules.clone(),
            report.clone(),
        )?;
        let pause = Arc::<Pause>::default();
        let doorbells = Arc::new(Doorbells::new(chip.doorbell_size, report.clone())?);
        let interrupts = Arc::new(Interrupts::new(
            memory.clone(),
            doorbells.clone(),
            report.clone(),
            trace.clone(),
            (rules.clone(), pause.clone()),
            chip.xcc_nodes,
        ));
        let start = Start::by(&rules);
        Ok(Arc::new(Self {
            chip,
            serial,
            memory,
            doorbells,
            interrupts,
            pasids: Pasids::default(),
            firmware: Inventory::new(!start.cold),
            start: Mutex::new(start),
            load: Arc::default(),
            clock: Clock::new(chip.clock_hz),
            rules,
            pause,
            views: Views::default(),
            report,
            trace,
            registers: OnceLock::new(),
            reset: OnceLock::new(),
        }))
    }

    /// Connects the registers of all blocks, and who resets all of them, once the device is made.
    pub(super) fn connect(
        &self,
        registers: &Arc<dyn Registers>,
        reset: impl Fn() + Send + Sync + 'static,
    ) {
        let _ = self.registers.set(Arc::downgrade(registers));
        let _ = self.reset.set(Box::new(reset));
    }

    /// Bus mastering is switched on or off. The trace has what is still on then: a driver that gives the device back has
    /// turned it off.
    pub fn set_master(&self, on: bool) {
        let [contexts, l1, l2] = vmhub::still_on(&self.memory);
        let interrupts = self.interrupts.is_on();
        let members = [
            ("on", Value::Num(on.into())),
            ("contexts", Value::Num(contexts)),
            ("l1", Value::Num(l1)),
            ("l2", Value::Num(l2)),
            ("interrupts", Value::Num(interrupts.into())),
            ("doorbells", Value::Num(self.doorbells.is_enabled().into())),
            ("self_ring", Value::Num(self.memory.bus.self_rings().into())),
        ];
        self.trace.event("bus_master", &members);
        self.memory.bus.set_master(on);
    }

    /// The chip starts anew, and is like this then: blocks ask when they are reset.
    pub(super) fn start_like(&self, start: Start) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = start;
        self.firmware.reset(!start.cold);
    }
}

impl Services for Soc {
    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn doorbells(&self) -> &Doorbells {
        &self.doorbells
    }

    fn pasids(&self) -> &Pasids {
        &self.pasids
    }

    fn firmware(&self) -> &Inventory {
        &self.firmware
    }

    fn start(&self) -> Start {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serial(&self) -> u64 {
        self.serial
    }

    fn load(&self) -> &Arc<Load> {
        &self.load
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn report(&self) -> &Report {
        &self.report
    }

    fn trace(&self) -> &Trace {
        &self.trace
    }

    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn pause(&self) -> &Pause {
        &self.pause
    }

    fn views(&self) -> &Views {
        &self.views
    }
}

impl Env for Soc {
    fn interrupt(&self, what: &Interrupt) {
        let pasid = self
            .pasids
            .of_interrupt(what.vmid, matches!(what.hub, Hub::Mm(_)));
        self.interrupts.raise(what, pasid, self.clock.now());
    }

    fn poll_interrupts(&self) {
        self.interrupts.poll();
    }

    fn vm_fault_of(&self, fault: &VmFault, client: u32) {
        vmhub::capture(self, fault, client);
    }

    fn registers(&self) -> Option<Arc<dyn Registers>> {
        self.registers.get()?.upgrade()
    }

    fn reset_chip(&self) {
        if let Some(reset) = self.reset.get() {
            reset();
        }
    }
}
