// SPDX-License-Identifier: MIT OR Apache-2.0

//! Processes and user queues of the rig: page tables, MQDs, packets, signals.

use crate::packets::{base_mqd, RIGHTS};
use crate::rig::{Rig, MC};
use rkfd_emulator::memory::PAGE;
use rkfd_emulator_testkit::packets::{self, map_page, Tables};
pub use rkfd_emulator_testkit::packets::{dispatch, header_of, in_order};
use rkfd_emulator_testkit::TRAP_HANDLERS;
use rkfd_hw::aql::Barrier;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::{header, op, MapProcess, MapQueues};
use rkfd_hw::pte;
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::Value;
use std::cell::Cell;
use std::collections::HashMap;

pub struct Process<'a> {
    pub rig: &'a Rig,
    pub pasid: u16,
    pub root: u64,
    /// Its trap handler and that one's memory.
    pub handler: Cell<(u64, u64)>,
    next: Cell<u64>,
    /// Address in VMID 0 by page.
    pages: std::cell::RefCell<HashMap<u64, u64>>,
}

impl Tables for Rig {
    fn load(&self, at: u64) -> u64 {
        self.u64(MC + at)
    }

    fn store(&self, at: u64, value: u64) {
        self.set_u64(MC + at, value);
    }

    fn new_page(&self, entry: u64) -> u64 {
        let at = self.alloc(PAGE);
        self.put(at, &entry.to_le_bytes().repeat(512));
        at - MC
    }

    const EMPTY: u64 = pte::PDE_PTE;
}

/// A signal: its address in the process.
pub type SignalAt = u64;

impl<'a> Process<'a> {
    pub fn new(rig: &'a Rig, pasid: u16) -> Self {
        let root = rig.new_page(Rig::EMPTY) + MC;
        Self {
            rig,
            pasid,
            root,
            handler: Cell::default(),
            next: Cell::new(0x7f00_0000_0000),
            pages: Default::default(),
        }
    }

    /// One whose waves can be saved: with a trap handler that does it.
    pub fn saving(rig: &'a Rig, pasid: u16) -> Self {
        let process = Self::new(rig, pasid);
        process.set_handler(0, 0);
        process
    }

    /// Gives it a trap handler that saves waves and calls the program's at this address, with that one's memory.
    pub fn set_handler(&self, program: u64, memory: u64) {
        let code = self.new_words(TRAP_HANDLERS[0]);
        let words = [program, program >> 32, memory, memory >> 32].map(|word| word as u32);
        self.handler.set((code, self.new_words(&words)));
    }

    /// Writes the entries for a page; the tables are four plain levels.
    pub fn map_page(&self, va: u64, at: u64, rights: u64) {
        let entry = match rights {
            0 => pte::EXECUTABLE,
            _ => (at - MC) | rights,
        };
        map_page(self.rig, self.root - MC, va, entry);
        self.pages.borrow_mut().insert(va / PAGE, at);
    }

    /// Memory: its address in the process.
    pub fn alloc(&self, bytes: u64) -> u64 {
        let va = self
            .next
            .replace(self.next.get() + bytes.next_multiple_of(PAGE) + PAGE);
        let at = self.rig.alloc(bytes);
        for offset in (0..bytes).step_by(PAGE as usize) {
            self.map_page(va + offset, at + offset, RIGHTS);
        }
        va
    }

    /// The address in VMID 0 of one of the process's.
    pub fn at(&self, va: u64) -> u64 {
        self.pages.borrow()[&(va / PAGE)] + va % PAGE
    }

    pub fn put(&self, va: u64, bytes: &[u8]) {
        for (i, chunk) in bytes.chunks(PAGE as usize).enumerate() {
            assert!(va % PAGE == 0 || bytes.len() <= (PAGE - va % PAGE) as usize);
            self.rig.put(self.at(va + i as u64 * PAGE), chunk);
        }
    }

    pub fn new_words(&self, words: &[u32]) -> u64 {
        let va = self.alloc(words.len() as u64 * 4);
        self.put(va, &packets::bytes(words));
        va
    }

    /// Memory that was allocated at once is contiguous.
    pub fn words(&self, va: u64, n: usize) -> Vec<u32> {
        self.rig.words(self.at(va), n)
    }

    pub fn u64(&self, va: u64) -> u64 {
        self.rig.u64(self.at(va))
    }

    /// A signal of value 1. With an event: its mailbox is the second half of its page.
    pub fn signal(&self, event: u32) -> SignalAt {
        let va = self.alloc(PAGE);
        self.put(va, &packets::signal(va, event));
        va
    }

    pub fn value(&self, signal: SignalAt) -> i64 {
        self.u64(signal + 8) as i64
    }

    pub fn set_value(&self, signal: SignalAt, value: i64) {
        self.rig.set_u64(self.at(signal + 8), value as u64);
    }

    pub fn wait(&self, signal: SignalAt) {
        self.rig.wait("a signal", || self.value(signal) <= 0);
    }

    /// MAP_PROCESS (`pm_map_process_aldebaran`).
    pub fn map(&self, queues: usize) -> Vec<u32> {
        let p = MapProcess::zeroed()
            .with(MapProcess::HEADER, header(op::MAP_PROCESS, 21))
            .with(MapProcess::PASID, self.pasid)
            .having(MapProcess::PROCESS_QUANTUM.is::<10>())
            .with(MapProcess::SDMA_ENABLE, true)
            .try_with(MapProcess::NUM_QUEUES, queues as u64)
            .unwrap()
            .with(MapProcess::SH_MEM_BASES, 0x0001_0002)
            .with(MapProcess::SQ_SHADER_TBA, self.handler.get().0 >> 8)
            .with(MapProcess::SQ_SHADER_TMA, self.handler.get().1 >> 8)
            .with(MapProcess::SH_MEM_CONFIG, (3 << 3) | (1 << 8) | (1 << 12))
            .with(MapProcess::PAGE_TABLE_BASE, (self.root - MC) | pte::VALID);
        p.0.to_vec()
    }
}

/// Bytes of a queue's control stack and of its save area.
pub const STACK: u64 = 0x2000;
pub const AREA: u64 = 0x10_0000;

/// The turn of the first XCC: any may be the first (`current_logical_xcc_start`).
pub const FIRST: u64 = 3;

pub struct Queue<'a> {
    pub process: &'a Process<'a>,
    pub ring: u64,
    pub packets: u64,
    pub mqd: u64,
    /// The page of amd_queue_t: the read index is at 0x80.
    pub page: u64,
    pub bell: u32,
    pub index: Cell<u64>,
}

impl<'a> Queue<'a> {
    /// An AQL queue as `kfd_mqd_manager_v9.c` describes it, with a context save area and, as ROCm
    /// creates it on gfx942, without an end-of-pipe buffer.
    pub fn new(process: &'a Process<'a>, bell: u32, packets: u64) -> Self {
        Self::with_area(process, bell, packets, AREA)
    }

    /// The same with a save area of so many bytes.
    pub fn with_area(process: &'a Process<'a>, bell: u32, packets: u64, bytes: u64) -> Self {
        let rig = process.rig;
        let ring = process.alloc(packets * 64);
        let page = process.alloc(PAGE);
        // The control stack lies behind the MQD.
        let xccs = rig.chip().xccs();
        let mqd = rig.alloc((PAGE + STACK) * u64::from(xccs));
        let area = process.alloc(bytes * u64::from(xccs));
        let queue = Self {
            process,
            ring,
            packets,
            mqd,
            page,
            bell,
            index: Cell::new(0),
        };
        for slot in 0..packets {
            rig.put(process.at(ring + slot * 64), &1u16.to_le_bytes());
        }
        // read_dispatch_id_field_base_byte_offset.
        rig.put_words(process.at(page + 0x88), &[0x80]);
        let control =
            (1 << 28) | (2 << 25) | (1 << 16) | (1 << 14) | (5 << 8) | ((packets * 16).ilog2() - 1);
        for xcc in 0..xccs {
            let (at, area) = (queue.mqd_of(xcc), area + bytes * u64::from(xcc));
            let mut m = base_mqd(at);
            // The first XCC alone reports the read pointer.
            let control = Value::new(control)
                .with(gc::CP_HQD_PQ_CONTROL::NO_UPDATE_RPTR, xcc > 0)
                .bits();
            let logical = (u64::from(xcc) + FIRST) % u64::from(xccs);
            m.set(Mqd::CP_HQD_PQ_CONTROL, control);
            m.set(Mqd::CP_HQD_AQL_CONTROL, 1);
            m.set(Mqd::CP_HQD_PQ_BASE, ring >> 8);
            m.set(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR, queue.read_index());
            m.set(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR, queue.write_index());
            m.set(Mqd::CP_HQD_PQ_DOORBELL_CONTROL, (bell << 2) | 2);
            m.set(Mqd::COMPUTE_TG_CHUNK_SIZE, 1);
            m.set(Mqd::COMPUTE_CURRENT_LOGIC_XCC_ID, logical as u32);
            m.set(Mqd::CP_MQD_STRIDE_SIZE, (PAGE + STACK) as u32);
            m.set(Mqd::CP_HQD_PERSISTENT_STATE, 1 | (0x53 << 8));
            // Without a trap handler waves can't store themselves: `init_mqd` without
            // `cwsr_enabled`.
            if process.handler.get().0 != 0 {
                m.set(Mqd::CP_HQD_PERSISTENT_STATE, 1 | (0x53 << 8) | (1 << 30));
                m.set(Mqd::COMPUTE_PGM_RSRC2, 1 << 6);
                m.set(Mqd::CP_HQD_CTX_SAVE_BASE_ADDR, area);
                m.set(Mqd::CP_HQD_CTX_SAVE_SIZE, bytes as u32);
                m.set(Mqd::CP_HQD_CNTL_STACK_SIZE, STACK as u32);
                m.set(Mqd::CP_HQD_CNTL_STACK_OFFSET, STACK as u32);
                m.set(Mqd::CP_HQD_WG_STATE_OFFSET, STACK as u32);
            }
            rig.put_words(at, &m.0);
        }
        queue
    }

    /// The MQD of an XCC.
    pub fn mqd_of(&self, xcc: u8) -> u64 {
        self.mqd + (PAGE + STACK) * u64::from(xcc)
    }

    /// A PM4 queue with a ring of so many words.
    pub fn pm4(process: &'a Process<'a>, bell: u32, words: u64) -> Self {
        let queue = Self::new(process, bell, words / 16);
        process.rig.put_words(process.at(queue.page + 0x88), &[0]);
        queue.change(|m| {
            let control = (1 << 28) | (5 << 8) | (words.ilog2() - 1);
            m.set(Mqd::CP_HQD_PQ_CONTROL, control);
            m.set(Mqd::CP_HQD_AQL_CONTROL, 0);
            m.set(Mqd::COMPUTE_TG_CHUNK_SIZE, 0);
            m.set(Mqd::COMPUTE_CURRENT_LOGIC_XCC_ID, 0);
        });
        queue
    }

    /// Writes commands into a PM4 queue's ring, and rings.
    pub fn submit(&self, commands: &[u32]) {
        let p = self.process;
        let words = self.packets * 16;
        for word in commands {
            let at = self.index.replace(self.index.get() + 1) % words;
            p.rig.put_words(p.at(self.ring + at * 4), &[*word]);
        }
        p.rig.set_u64(p.at(self.write_index()), self.index.get());
        p.rig.ring_bell(self.bell, self.index.get());
    }

    pub fn read_index(&self) -> u64 {
        self.page + 0x80
    }

    pub fn write_index(&self) -> u64 {
        self.page + 0x38
    }

    pub fn image(&self) -> Mqd {
        self.image_of(0)
    }

    pub fn image_of(&self, xcc: u8) -> Mqd {
        Mqd::read(&self.process.rig.words(self.mqd_of(xcc), 512)).unwrap()
    }

    /// Changes its MQDs.
    pub fn change(&self, change: impl Fn(&mut Mqd)) {
        for xcc in 0..self.process.rig.chip().xccs() {
            self.change_of(xcc, &change);
        }
    }

    pub fn change_of(&self, xcc: u8, change: impl FnOnce(&mut Mqd)) {
        let mut m = self.image_of(xcc);
        change(&mut m);
        self.process.rig.put_words(self.mqd_of(xcc), &m.0);
    }

    /// MAP_QUEUES (`pm_map_queues_v9`).
    pub fn map(&self) -> Vec<u32> {
        let p = MapQueues::zeroed()
            .with(MapQueues::HEADER, header(op::MAP_QUEUES, 7))
            .having(MapQueues::QUEUE_SEL.is::<1>())
            .having(MapQueues::NUM_QUEUES.is::<1>())
            .try_with(MapQueues::DOORBELL_OFFSET, self.bell.into())
            .unwrap()
            .with(MapQueues::MQD_ADDR, self.mqd)
            .with(MapQueues::WPTR_ADDR, self.write_index());
        p.0.to_vec()
    }

    /// Writes a packet, header last, and rings.
    pub fn push(&self, words: [u32; 16]) -> u64 {
        let index = self.write(words);
        self.process.rig.ring_bell(self.bell, index);
        index
    }

    /// Writes a packet without ringing.
    pub fn write(&self, words: [u32; 16]) -> u64 {
        let p = self.process;
        let index = self.index.replace(self.index.get() + 1);
        p.rig.wait("a free slot", || {
            index - p.u64(self.read_index()) < self.packets
        });
        let at = p.at(self.ring) + index % self.packets * 64;
        p.rig.set_u64(p.at(self.write_index()), index + 1);
        p.rig.put_words(at + 4, &words[1..]);
        p.rig.put(at + 2, &((words[0] >> 16) as u16).to_le_bytes());
        p.rig.put(at, &(words[0] as u16).to_le_bytes());
        index
    }
}

/// A run list of processes and their queues.
pub fn list(processes: &[(&Process<'_>, &[&Queue<'_>])]) -> Vec<u32> {
    let mut words = Vec::new();
    for (process, queues) in processes {
        words.extend(process.map(queues.len()));
        queues.iter().for_each(|q| words.extend(q.map()));
    }
    words
}

/// Runs a list and waits until it runs.
pub fn run(rig: &Rig, processes: &[(&Process<'_>, &[&Queue<'_>])]) {
    rig.run_list(&list(processes), processes.len() as u64);
    rig.fence();
}

pub const BARRIER_BIT: u32 = 1 << 8;

pub fn barrier(kind: u8, signals: &[u64], completion: u64) -> [u32; 16] {
    let mut p = Barrier::zeroed()
        .with(Barrier::HEADER, header_of(kind))
        .with(Barrier::COMPLETION_SIGNAL, completion);
    for (n, signal) in signals.iter().enumerate() {
        p.0[2 + 2 * n] = *signal as u32;
        p.0[3 + 2 * n] = (signal >> 32) as u32;
    }
    p.0
}
