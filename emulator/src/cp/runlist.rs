// SPDX-License-Identifier: MIT OR Apache-2.0

//! RUN_LIST: processes and queues to run, from an indirect buffer.
//!
//! Source: Linux, `amdkfd/kfd_packet_manager.c` (`pm_create_runlist_ib`),
//! `amdkfd/kfd_packet_manager_v9.c` (`pm_map_process_aldebaran`, `pm_map_queues_v9`).
//!
//! The whole list is checked before any of it runs. What does not fit the VMIDs and HQDs takes
//! turns ([`super::turns`]) if the list is chained to itself, and is recorded otherwise.

use super::firmware::{Firmware, Owner, Process, Stop};
use super::hqd::Role;
use super::pm4::{self, Bad, Packet};
use super::regs::Vmid;
use super::slot::Slot;
use super::turns::{Entry, Turns};
use crate::memory::Hub;
use crate::trace::Value;
use rkfd_hw::pm4::{MapProcess, MapQueues, RunList};
use std::time::{Duration, Instant};

/// The largest run list that is read, in words: all that IB_SIZE can say.
const LARGEST: u64 = 1 << 20;
/// MAP_QUEUES' queue types: a normal one, and static ones.
const TYPE_NORMAL: u64 = 0;
const TYPE_STATIC: u64 = 2;

/// The unit of MAP_PROCESS' quantum.
const QUANTUM_UNIT: Duration = Duration::from_millis(1);

/// A process and its queues as the list names them.
struct Listed {
    process: MapProcess,
    queues: Vec<MapQueues>,
}

/// A run list as it was read.
struct List {
    entries: Vec<Listed>,
    chained: bool,
    at: u64,
    words: Vec<u32>,
}

impl Firmware {
    pub(super) fn run_list(&mut self, p: &RunList) {
        if !self.resources_set {
            return self.violation(format_args!("RUN_LIST before SET_RESOURCES"));
        }
        if p.get(RunList::VALID) != 1 {
            return self.violation(format_args!("RUN_LIST: VALID is 0"));
        }
        if p.get(RunList::OFFLOAD_POLLING) != 0 {
            return self.violation(format_args!("RUN_LIST: OFFLOAD_POLLING is not modelled"));
        }
        let list = match self.read_list(p) {
            Ok(list) => list,
            Err(Some(Bad::Opcode(what) | Bad::Content(what))) => {
                return self.violation(format_args!("run list: {what}"));
            }
            Err(None) => return,
        };
        // A new list takes the place of the old one; Linux unmaps before.
        let old: Vec<Slot> = self
            .hqds
            .iter()
            .flatten()
            .filter(|h| h.role == Role::User)
            .map(|h| h.slot)
            .collect();
        if !old.is_empty() || self.turns.is_on() {
            self.violation(format_args!(
                "RUN_LIST while queues of another one are mapped"
            ));
            self.forget(Stop::Save, |_| true);
        }
        if !old.is_empty() {
            self.next_list = Some(*p);
            return self.unmap(old, Stop::Save);
        }
        let concurrent = p.get(RunList::PROCESS_CNT) as usize;
        let entries = list
            .entries
            .into_iter()
            .flat_map(|Listed { process, queues }| {
                queues
                    .into_iter()
                    .map(move |queue| Entry::new(process, queue))
            });
        self.turns = match list.chained {
            true => Turns::chained(entries.collect(), concurrent, list.at, list.words),
            false => Turns::new(entries.collect(), concurrent),
        };
        self.fill();
    }

    /// Reads the list; an error without a text was a fault, which was reported.
    fn read_list(&mut self, p: &RunList) -> Result<List, Option<Bad>> {
        let bad = |what: &str| Err(Some(Bad::Content(what.to_string())));
        let size = p.get(RunList::IB_SIZE);
        let at = (p.get(RunList::IB_BASE_LO) << 2) | (p.get(RunList::IB_BASE_HI) << 32);
        if size == 0 || size >= LARGEST {
            return bad("no size");
        }
        let mut words = vec![0; size as usize];
        if let Err(fault) = self.space(0).read_words(at, &mut words) {
            self.soc.vm_fault(&fault);
            return Err(None);
        }
        let mut list: Vec<Listed> = Vec::new();
        let mut chained = false;
        let mut rest = words.as_slice();
        while let Some(&header) = rest.first() {
            let (opcode, len) = pm4::size(header).map_err(Some)?;
            let Some((packet, after)) = rest.split_at_checked(len) else {
                return bad(&format!("{} runs past the end", pm4::name(opcode)));
            };
            let parsed = pm4::parse(packet, false).map_err(Some)?;
            self.trace_pm4(Role::User, packet, &parsed);
            match parsed {
                Packet::Nop => {}
                Packet::MapProcess(process) => {
                    let pasid = process.get(MapProcess::PASID);
                    if pasid == 0 {
                        return bad("a process with PASID 0");
                    }
                    if list
                        .iter()
                        .any(|l| l.process.get(MapProcess::PASID) == pasid)
                    {
                        return bad("a process is listed twice");
                    }
                    list.push(Listed {
                        process,
                        queues: Vec::new(),
                    });
                }
                Packet::MapQueues(queue) => match list.last_mut() {
                    Some(listed) => listed.queues.push(queue),
                    None => return bad("MAP_QUEUES before a MAP_PROCESS"),
                },
                Packet::RunList(next) => {
                    let itself = next.get(RunList::CHAIN) == 1
                        && next.get(RunList::VALID) == 1
                        && next.get(RunList::IB_SIZE) == size
                        && next.0.get(1..3) == p.0.get(1..3);
                    if !itself || !after.is_empty() {
                        return bad(
                            "a RUN_LIST inside that does not chain the list to itself at its end",
                        );
                    }
                    chained = true;
                }
                _ => return bad(&format!("{} inside", pm4::name(opcode))),
            }
            rest = after;
        }
        Ok(List {
            entries: list,
            chained,
            at,
            words,
        })
    }

    pub(super) fn map_process(&mut self, p: &MapProcess) -> Option<Owner> {
        use MapProcess as P;
        for (name, field) in [
            ("SINGLE_MEMOPS", P::SINGLE_MEMOPS),
            ("EXEC_CLEANER_SHADER", P::EXEC_CLEANER_SHADER),
            ("DEBUG_VMID", P::DEBUG_VMID),
            ("NEW_DEBUG", P::NEW_DEBUG),
            ("TMZ", P::TMZ),
            ("DIQ_ENABLE", P::DIQ_ENABLE),
            ("NUM_OAC", P::NUM_OAC),
            ("GDS_SIZE", P::GDS_SIZE),
            ("GDS_SIZE_HI", P::GDS_SIZE_HI),
            ("NUM_GWS", P::NUM_GWS),
        ] {
            if p.get(field) != 0 {
                self.violation(format_args!("MAP_PROCESS: {name} is not modelled"));
                return None;
            }
        }
        if p.get(P::PAGE_TABLE_BASE) & 1 == 0 {
            self.violation(format_args!(
                "MAP_PROCESS: the page table base is not valid"
            ));
            return None;
        }
        let pasid = p.get(P::PASID) as u16;
        let vmid = self.vmids.take()? as u8;
        let Some(tag) = self.tag(pasid) else {
            self.vmids.give(vmid.into());
            self.violation(format_args!("more than 255 processes have waves saved"));
            return None;
        };
        self.soc
            .memory
            .hub(Hub::Gfx)
            .bind(vmid, p.get(P::PAGE_TABLE_BASE));
        self.soc
            .memory
            .hub(Hub::Mm)
            .bind(vmid, p.get(P::PAGE_TABLE_BASE));
        self.soc.pasids.bind(vmid, Some(pasid));
        let bank = Vmid {
            sh_mem_bases: p.get(P::SH_MEM_BASES) as u32,
            sh_mem_config: p.get(P::SH_MEM_CONFIG) as u32,
            spi_gdbg: p.get(P::SPI_GDBG_PER_VMID_CNTL) as u32,
        };
        self.shared.regs().set_vmid(vmid, bank);
        self.soc.trace.event(
            "vmid_assign",
            &[
                ("vmid", Value::Num(vmid.into())),
                ("pasid", Value::Num(pasid.into())),
                ("page_table_base", Value::Hex(p.get(P::PAGE_TABLE_BASE))),
                ("sh_mem_bases", Value::Hex(bank.sh_mem_bases.into())),
            ],
        );
        let owner = Owner { vmid, pasid, tag };
        self.processes.push(Process {
            owner,
            queues: 0,
            since: Instant::now(),
            quantum: QUANTUM_UNIT * p.get(P::PROCESS_QUANTUM) as u32,
            leaving: false,
        });
        Some(owner)
    }

    /// Connects a queue; false when it is wrong, which is reported.
    pub(super) fn map_user_queue(&mut self, slot: Slot, owner: Owner, p: &MapQueues) -> bool {
        let wrong = [
            ("QUEUE_SEL", p.get(MapQueues::QUEUE_SEL), 1),
            ("NUM_QUEUES", p.get(MapQueues::NUM_QUEUES), 1),
            ("GWS_CONTROL_QUEUE", p.get(MapQueues::GWS_CONTROL_QUEUE), 0),
            ("CHECK_DISABLE", p.get(MapQueues::CHECK_DISABLE), 0),
        ];
        for (name, value, must) in wrong {
            if value != must {
                self.violation(format_args!(
                    "MAP_QUEUES of a run list: {name} is {value}, not {must}"
                ));
                return false;
            }
        }
        if p.get(MapQueues::ENGINE_SEL) != 0 || p.get(MapQueues::EXTENDED_ENGINE_SEL) != 0 {
            self.violation(format_args!("MAP_QUEUES: SDMA queues are not modelled"));
            return false;
        }
        let kind = p.get(MapQueues::QUEUE_TYPE);
        if kind != TYPE_NORMAL && kind != TYPE_STATIC {
            self.violation(format_args!(
                "MAP_QUEUES: queue type {kind} is not modelled"
            ));
            return false;
        }
        let Some((queue, image)) = self.fetch_mqd(p, Role::User) else {
            return false;
        };
        if !queue.aql {
            self.violation(format_args!("MAP_QUEUES: a PM4 user queue is not modelled"));
            return false;
        }
        if let Some(process) = self.processes.iter_mut().find(|p| p.owner == owner) {
            process.queues += 1;
        }
        self.connect(slot, Role::User, queue, image, owner, true);
        self.hqd(slot)
            .into_iter()
            .for_each(|h| h.is_static = kind == TYPE_STATIC);
        true
    }

    /// An HQD for a user queue.
    pub(super) fn free_slot(&mut self) -> Option<Slot> {
        while let Some(bit) = self.slots.take() {
            // One that the driver set up by registers stays out.
            if let Some(slot) = Slot::from_bit(bit).filter(|slot| self.role(*slot).is_none()) {
                return Some(slot);
            }
        }
        None
    }

    /// The interpreter's name for a process.
    fn tag(&mut self, pasid: u16) -> Option<u8> {
        if let Some(&tag) = self.tags.get(&pasid) {
            return Some(tag);
        }
        let tag = (1..=u8::MAX).find(|tag| !self.tags.values().any(|used| used == tag))?;
        self.tags.insert(pasid, tag);
        // Another process may have had it.
        self.units.invalidate_code();
        self.cu.invalidate_code();
        Some(tag)
    }
}
