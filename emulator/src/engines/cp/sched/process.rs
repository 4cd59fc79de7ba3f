// SPDX-License-Identifier: MIT OR Apache-2.0

//! Processes that a scheduler runs, and the VMIDs that they have meanwhile.

use crate::engines::cp::front::registers::Vmid;
use crate::engines::cp::launch::cleaning::{Cleaning, Shader};
use crate::engines::cp::mec::process::Bank;
use crate::engines::cp::mec::process::Listed;
use crate::engines::cp::mec::process::Process;
use crate::engines::cp::mec::{Mec, Owner};
use crate::memory::Hub;
use crate::trace::Value;
use rkfd_isa::Handler;
use std::sync::Arc;
use std::time::Instant;

impl Mec {
    /// Gives a process a VMID. `None` when there is none, or for an error, which is recorded.
    pub fn map_process(&mut self, p: &Listed) -> Option<Owner> {
        let (pasid, base) = (p.pasid, p.page_table_base);
        let vmid = self.vmids.take()? as u8;
        let Some(tag) = self.tag(pasid) else {
            self.vmids.give(vmid.into());
            // The interpreter has no more names: a limit of the model that programs reach.
            let what = format_args!("more than 255 processes take turns, which is not modelled");
            self.env.report().fault(what);
            return None;
        };
        if let Some(control) = p.control {
            let mut hub = self.env.memory().hub(Hub::Gfx(0)).registers();
            if let Some(place) = hub.cntl.get_mut(usize::from(vmid)) {
                *place = control;
            }
        }
        for hub in self.env.memory().hubs() {
            self.env.memory().hub(hub).bind(vmid, base);
        }
        self.env.pasids().bind(vmid, Some(pasid));
        let bank = match p.bank {
            Bank::Whole(bank) => bank,
            Bank::Debug(spi_gdbg, watch) => Vmid {
                spi_gdbg,
                watch,
                ..self.regs.vmid(vmid)
            },
        };
        let bank = Vmid {
            handler: p.handler,
            ..bank
        };
        self.regs.set_vmid(vmid, bank);
        for &(name, bits, wanted) in self.generation.shader_memory {
            if bank.sh_mem_config & bits != wanted {
                self.env.report().violation(format_args!(
                    "a process runs with {:#x} in SH_MEM_CONFIG: that {name} is not modelled",
                    bank.sh_mem_config
                ));
            }
        }
        self.clean(p);
        let bases = bank.sh_mem_bases;
        self.env.trace().event(
            "vmid_assign",
            &[
                ("vmid", Value::Num(vmid.into())),
                ("pasid", Value::Num(pasid.into())),
                ("page_table_base", Value::Hex(base)),
                ("sh_mem_bases", Value::Hex(bases.into())),
            ],
        );
        let owner = Owner { vmid, pasid, tag };
        self.processes.push(Process {
            owner,
            queues: 0,
            since: Instant::now(),
            quantum: p.quantum,
            leaving: false,
        });
        Some(owner)
    }

    /// Clears registers and LDS of the compute units before a process' waves, as the scheduler was told.
    fn clean(&self, p: &Listed) {
        for (xcc, cleaner) in (0..).zip(&self.cleaners) {
            match (p.cleans, cleaner) {
                (false, _) if self.turns.cleans => self.units.clean(xcc, Cleaning::Firmware),
                (false, _) => {}
                (true, 0) => self.violation(format_args!(
                    "MAP_PROCESS: EXEC_CLEANER_SHADER, and SET_RESOURCES of the KIQ on XCC {xcc} named no cleaner shader"
                )),
                (true, entry) => {
                    match Shader::read(&self.env, &self.space_on(xcc, 0), *entry) {
                        Ok(shader) => self.units.clean(xcc, Cleaning::Shader(Arc::new(shader))),
                        Err(fault) => self.env.vm_fault(&fault),
                    }
                }
            }
        }
        if p.cleans && self.turns.concurrent != 1 {
            self.violation(format_args!(
                "MAP_PROCESS: EXEC_CLEANER_SHADER where {} processes run at a time",
                self.turns.concurrent
            ));
        }
    }

    /// Sets SPI_GDBG_PER_VMID_CNTL and TCP_WATCH0_CNTL to 3 of a process that has a VMID.
    pub fn set_debug(&self, pasid: u16, spi_gdbg: u32, watch: [u32; 4]) {
        let mapped = self.processes.iter().filter(|p| p.owner.pasid == pasid);
        for vmid in mapped.map(|p| p.owner.vmid) {
            let bank = Vmid {
                spi_gdbg,
                watch,
                ..self.regs.vmid(vmid)
            };
            self.regs.set_vmid(vmid, bank);
        }
    }

    /// Sets the trap handler of a process that has a VMID, if it comes with one: a queue may, of a
    /// process whose first ones had none.
    pub(crate) fn set_handler(&self, vmid: u8, handler: Handler) {
        if handler.entry != 0 {
            let bank = Vmid {
                handler,
                ..self.regs.vmid(vmid)
            };
            self.regs.set_vmid(vmid, bank);
        }
    }

    /// Takes the VMID of a process back.
    pub fn release_process(&mut self, at: usize) {
        let Process { owner, .. } = self.processes.remove(at);
        self.vmids.give(owner.vmid.into());
        self.env.pasids().bind(owner.vmid, None);
        let members = [
            ("vmid", Value::Num(owner.vmid.into())),
            ("pasid", Value::Num(owner.pasid.into())),
        ];
        self.env.trace().event("vmid_release", &members);
        if !self.turns.has_process(owner.pasid) {
            self.tags.remove(&owner.pasid);
        }
    }

    /// Tells the memory which VMIDs are those of processes whose queues run.
    pub(super) fn show_users(&self) {
        let running = self.processes.iter().filter(|p| p.queues > 0);
        let vmids = running.fold(0, |all, p| all | (1 << (p.owner.vmid & 0xf)));
        self.env.memory().set_users(vmids);
    }

    /// The interpreter's name for a process.
    fn tag(&mut self, pasid: u16) -> Option<u8> {
        if let Some(&tag) = self.tags.get(&pasid) {
            return Some(tag);
        }
        let tag = (1..=u8::MAX).find(|tag| !self.tags.values().any(|used| used == tag))?;
        self.tags.insert(pasid, tag);
        // Another process may have had it.
        self.units.acquire();
        self.cu.invalidate_code();
        Some(tag)
    }
}
