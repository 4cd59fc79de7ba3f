// SPDX-License-Identifier: MIT OR Apache-2.0

//! RUN_LIST: processes and queues to run, from an indirect buffer.
//!
//! Source: Linux, `amdkfd/kfd_packet_manager.c` (`pm_create_runlist_ib`),
//! `amdkfd/kfd_packet_manager_v9.c` (`pm_map_process_aldebaran`, `pm_map_queues_v9`).
//!
//! The whole list is checked before any of it runs. What does not fit the VMIDs and HQDs takes
//! turns ([`crate::engines::cp::sched::turns`]) if the list is chained to itself, and is recorded otherwise.

use super::firmware::{Chain, Firmware};
use crate::engines::cp::front::hqd::Role;
use crate::engines::cp::front::registers::Vmid;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::copying::Engine;
use crate::engines::cp::mec::line::{Entry, Pointer, QueueMap, Turns};
use crate::engines::cp::mec::process::{Bank, Listed};
use crate::engines::cp::mec::Stop;
use crate::engines::cp::packet::pm4::{self, Bad, Packet};
use rkfd_hw::pm4::{MapProcess, MapQueues, RunList};
use rkfd_isa::Handler;
use std::time::{Duration, Instant};

/// The largest run list that is read, in words: the most that IB_SIZE can hold.
const LARGEST: u64 = 1 << 20;
/// MAP_QUEUES' queue types: a normal one, and static ones.
const TYPE_NORMAL: u64 = 0;
const TYPE_STATIC: u64 = 2;

/// The unit of MAP_PROCESS' quantum.
const QUANTUM_UNIT: Duration = Duration::from_millis(1);

/// How often a chained list is read again.
const READ_AGAIN: Duration = Duration::from_millis(50);

/// A process and its queues as the list names them.
struct Part {
    process: MapProcess,
    queues: Vec<MapQueues>,
}

/// A run list as it was read.
struct List {
    entries: Vec<Part>,
    chained: bool,
    at: u64,
    words: Vec<u32>,
}

impl Firmware {
    pub(crate) fn run_list(&mut self, p: &RunList) {
        if !self.resources_set {
            return self.violation(format_args!("RUN_LIST before SET_RESOURCES"));
        }
        if p.get(RunList::VALID) != 1 {
            return self.violation(format_args!("RUN_LIST: VALID is 0"));
        }
        if p.get(RunList::OFFLOAD_POLLING) != 0 {
            return self.violation(format_args!("RUN_LIST: OFFLOAD_POLLING is not modelled"));
        }
        // "Wait count for dequeue retry" (`pm_config_dequeue_wait_counts_v9`): 64 times as long from power-on.
        if let Some(sleep) = self
            .shared
            .xccs()
            .map(|xcc| self.shared.regs(xcc).que_sleep())
            .find(|&sleep| sleep > 1)
        {
            self.violation(format_args!(
                "RUN_LIST with {sleep:#x} in CP_IQ_WAIT_TIME2.QUE_SLEEP: retries that late are not modelled"
            ));
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
            .mec
            .hqds
            .iter()
            .flatten()
            .filter(|h| h.role == Role::User)
            .map(|h| h.slot)
            .collect();
        let copies = !self.mec.copies.is_empty();
        if !old.is_empty() || copies || self.mec.turns.is_on() {
            self.violation(format_args!(
                "RUN_LIST while queues of another one are mapped"
            ));
            self.mec.forget(Stop::Save, |_| true);
        }
        if !old.is_empty() || copies {
            self.next_list = Some(*p);
            self.mec.stop_copies(Stop::Save, |_| true);
            return self.unmap(old, Stop::Save);
        }
        let mut entries = Vec::new();
        for Part { process, queues } in &list.entries {
            for queue in queues {
                match self.entry(process, queue) {
                    Ok(entry) => entries.push(entry),
                    Err(what) => self.violation(format_args!("{what}")),
                }
            }
        }
        let concurrent = p.get(RunList::PROCESS_CNT) as usize;
        // Linux doesn't chain a list for processes that run alone (`pm_calc_rlib_size`, `pm_runlist_v9`): they take turns.
        let alone = concurrent == 1 && entries.iter().all(|entry| entry.process.cleans);
        self.mec.turns = Turns::new(entries, concurrent, list.chained || alone);
        self.chain = list.chained.then(|| Chain {
            at: list.at,
            words: list.words,
            read_again: Instant::now() + READ_AGAIN,
        });
        self.mec.fill();
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
        if let Err(fault) = self.mec.space(0).read_words(at, &mut words) {
            self.env.vm_fault(&fault);
            return Err(None);
        }
        let mut list: Vec<Part> = Vec::new();
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
                    list.push(Part {
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
                    if !next.is_set(RunList::CHAINED_RUNLIST_IDLE_DISABLE) {
                        return bad(
                            "a chain without CHAINED_RUNLIST_IDLE_DISABLE: it ends when all are idle, and who has no HQD then \
                             is not looked at again",
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

    /// The end of a chained list leads to its start, so it is read for ever: it must not change.
    pub(crate) fn read_again(&mut self) {
        let now = Instant::now();
        if !self.mec.turns.is_on() {
            return;
        }
        let Some(chain) = self.chain.as_mut().filter(|c| now >= c.read_again) else {
            return;
        };
        chain.read_again = now + READ_AGAIN;
        let mut words = vec![0; chain.words.len()];
        if let Err(fault) = self.mec.space(0).read_words(chain.at, &mut words) {
            self.env.vm_fault(&fault);
        } else if words != chain.words {
            chain.words = words;
            self.violation(format_args!("run list: changed while it is chained"));
        }
    }

    /// A queue as the list describes it.
    fn entry(&self, process: &MapProcess, queue: &MapQueues) -> Result<Entry, String> {
        use MapProcess as P;
        for (name, zero) in [
            ("SINGLE_MEMOPS", P::SINGLE_MEMOPS.is::<0>()),
            ("DEBUG_VMID", P::DEBUG_VMID.is::<0>()),
            ("NEW_DEBUG", P::NEW_DEBUG.is::<0>()),
            ("TMZ", P::TMZ.is::<0>()),
            ("DIQ_ENABLE", P::DIQ_ENABLE.is::<0>()),
            ("NUM_OAC", P::NUM_OAC.is::<0>()),
            ("GDS_SIZE", P::GDS_SIZE.is::<0>()),
            ("GDS_SIZE_HI", P::GDS_SIZE_HI.is::<0>()),
        ] {
            if !process.has(zero) {
                return Err(format!("MAP_PROCESS: {name} is not modelled"));
            }
        }
        if process.get(P::PROCESS_QUANTUM) == 0 {
            return Err("MAP_PROCESS: PROCESS_QUANTUM is 0".into());
        }
        if process.get(P::PAGE_TABLE_BASE) & 1 == 0 {
            return Err("MAP_PROCESS: the page table base is not valid".into());
        }
        let wrong = [
            ("QUEUE_SEL", queue.get(MapQueues::QUEUE_SEL), 1),
            ("NUM_QUEUES", queue.get(MapQueues::NUM_QUEUES), 1),
            ("CHECK_DISABLE", queue.get(MapQueues::CHECK_DISABLE), 0),
        ];
        for (name, value, must) in wrong {
            if value != must {
                return Err(format!(
                    "MAP_QUEUES of a run list: {name} is {value}, not {must}"
                ));
            }
        }
        let engine = engine(
            queue.get(MapQueues::EXTENDED_ENGINE_SEL),
            queue.get(MapQueues::ENGINE_SEL),
        )
        .ok_or("MAP_QUEUES: no such engine")?;
        if engine != Engine::Compute && process.get(P::SDMA_ENABLE) == 0 {
            return Err("MAP_QUEUES: an SDMA queue of a process without SDMA_ENABLE".into());
        }
        let kind = queue.get(MapQueues::QUEUE_TYPE);
        if kind != TYPE_NORMAL && kind != TYPE_STATIC {
            return Err(format!("MAP_QUEUES: queue type {kind} is not modelled"));
        }
        let gws = match queue.get(MapQueues::GWS_CONTROL_QUEUE) {
            0 => 0,
            _ => process.get(P::NUM_GWS) as u32,
        };
        if queue.get(MapQueues::GWS_CONTROL_QUEUE) == 1 && gws == 0 {
            return Err("MAP_QUEUES: GWS_CONTROL_QUEUE of a process with NUM_GWS 0".into());
        }
        if gws > self.mec.gws {
            return Err(format!(
                "MAP_PROCESS: NUM_GWS is {gws}, and SET_RESOURCES allows {}",
                self.mec.gws
            ));
        }
        let process = Listed {
            pasid: process.get(P::PASID) as u16,
            page_table_base: process.get(P::PAGE_TABLE_BASE),
            quantum: QUANTUM_UNIT * process.get(P::PROCESS_QUANTUM) as u32,
            control: None,
            cleans: process.is_set(P::EXEC_CLEANER_SHADER),
            bank: Bank::Whole(Vmid {
                sh_mem_bases: process.get(P::SH_MEM_BASES) as u32,
                sh_mem_config: process.get(P::SH_MEM_CONFIG) as u32,
                spi_gdbg: process.get(P::SPI_GDBG_PER_VMID_CNTL) as u32,
                watch: [
                    process.get(P::TCP_WATCH_CNTL_0) as u32,
                    process.get(P::TCP_WATCH_CNTL_1) as u32,
                    process.get(P::TCP_WATCH_CNTL_2) as u32,
                    process.get(P::TCP_WATCH_CNTL_3) as u32,
                ],
                ..Vmid::default()
            }),
            handler: Handler::from_registers(
                process.get(P::SQ_SHADER_TBA),
                process.get(P::SQ_SHADER_TMA),
            ),
        };
        let map = QueueMap {
            engine,
            gws,
            ..queue_map(queue)
        };
        Ok(Entry::new(process, map))
    }
}

/// The engine that ENGINE_SEL names by itself (2 and 3 are the first SDMA engines) or, extended, of
/// SDMA engines 0 to 7 or 8 to 15.
fn engine(extended: u64, select: u64) -> Option<Engine> {
    match (extended, select) {
        (0, 0) => Some(Engine::Compute),
        (0, 2 | 3) => Some(Engine::Sdma(Some(select as u8 - 2))),
        (1, _) => Some(Engine::Sdma(Some(select as u8))),
        (2, _) => Some(Engine::Sdma(Some(select as u8 + 8))),
        _ => None,
    }
}

/// The queue that a MAP_QUEUES names.
pub(crate) fn queue_map(p: &MapQueues) -> QueueMap {
    QueueMap {
        by: "MAP_QUEUES",
        engine: Engine::Compute,
        mqd: p.get(MapQueues::MQD_ADDR),
        doorbell: p.get(MapQueues::DOORBELL_OFFSET) as u32,
        wptr: Pointer::Process(p.get(MapQueues::WPTR_ADDR)),
        is_static: p.get(MapQueues::QUEUE_TYPE) == TYPE_STATIC,
        level: 0,
        quantum: None,
        gws: 0,
    }
}
