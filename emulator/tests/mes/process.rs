// SPDX-License-Identifier: MIT OR Apache-2.0

//! Processes and their queues: page tables of gfx12, MQDs, packets, signals, and the frames that
//! KFD hands them over with (`add_queue_mes`, `remove_queue_mes_on_reset_option`).

use crate::rig::{mc, Rig};
use rkfd_emulator::chip::device::Device;
use rkfd_emulator_testkit::packets::{bytes, dispatch, map_page, signal, Tables};
use rkfd_emulator_testkit::{code, get, put, TRAP_HANDLERS};
use rkfd_hw::aql::KernelDispatch;
use rkfd_hw::mes::v12::AddQueue;
use rkfd_hw::mes::{header, op};
use rkfd_hw::mqd::v12::ComputeMqd as Mqd;
use rkfd_hw::pte;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PAGE: u64 = 4096;
/// Bytes of a queue's context save area, unless a test sets another size.
const AREA: u64 = 0x10_0000;
/// First place in VRAM that is free.
const FREE: u64 = 0x100_0000;
/// `GCVM_CONTEXT1_CNTL` as `gfxhub_v12_0_setup_vmid_config` has it: enabled, depth 3, faults
/// to the default page and with interrupts.
pub const CONTROL: u32 = 1 | (3 << 1) | (0x3fff << 10);

/// VRAM, given out page by page.
pub struct Memory {
    pub device: Arc<Device>,
    next: Cell<u64>,
}

impl Memory {
    pub fn new(rig: &Rig) -> Rc<Self> {
        Rc::new(Self {
            device: rig.guest.device.clone(),
            next: Cell::new(FREE),
        })
    }

    pub fn alloc(&self, bytes: u64) -> u64 {
        let bytes = bytes.next_multiple_of(PAGE);
        self.next.replace(self.next.get() + bytes)
    }

    pub fn put(&self, at: u64, bytes: &[u8]) {
        let part = self.device.soc.memory.vram.part(at, bytes.len());
        assert!(part.unwrap().write(0, bytes));
    }

    pub fn words(&self, at: u64, n: usize) -> Vec<u32> {
        let mut bytes = vec![0; n * 4];
        let part = self.device.soc.memory.vram.part(at, bytes.len());
        assert!(part.unwrap().read(0, &mut bytes));
        let words = bytes.chunks(4);
        words
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
            .collect()
    }

    pub fn u64(&self, at: u64) -> u64 {
        get(self.device.soc.memory.vram, at)
    }

    pub fn set_u64(&self, at: u64, value: u64) {
        put(self.device.soc.memory.vram, at, value);
        self.device.soc.memory.flush_hdp();
    }

    pub fn wait(&self, what: &str, mut done: impl FnMut() -> bool) {
        let until = Instant::now() + Duration::from_secs(600);
        while !done() {
            let lines = self.device.soc.report.findings();
            assert!(Instant::now() < until, "waited for {what}: {lines:?}");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Tables for Memory {
    fn load(&self, at: u64) -> u64 {
        self.u64(at)
    }

    fn store(&self, at: u64, value: u64) {
        self.set_u64(at, value);
    }

    fn new_page(&self, entry: u64) -> u64 {
        let at = self.alloc(PAGE);
        self.put(at, &entry.to_le_bytes().repeat(512));
        at
    }

    const EMPTY: u64 = pte::gfx12::PDE_PTE;
}

pub struct Process {
    pub memory: Rc<Memory>,
    pub pasid: u16,
    pub root: u64,
    /// Place of MES's memory for it.
    pub context: u64,
    /// Its trap handler and that one's memory.
    pub handler: Cell<(u64, u64)>,
    next: Cell<u64>,
    pages: RefCell<HashMap<u64, u64>>,
}

impl Process {
    pub fn new(memory: &Rc<Memory>, pasid: u16) -> Rc<Self> {
        Rc::new(Self {
            memory: memory.clone(),
            pasid,
            root: memory.new_page(Memory::EMPTY),
            context: memory.alloc(PAGE),
            handler: Cell::default(),
            next: Cell::new(0x7f00_0000_0000),
            pages: RefCell::default(),
        })
    }

    /// One whose waves can be saved: with a trap handler that does it.
    pub fn saving(memory: &Rc<Memory>, pasid: u16) -> Rc<Self> {
        let process = Self::new(memory, pasid);
        process.set_handler(0, 0);
        process
    }

    /// Gives it a trap handler that saves waves and calls the program's at this address, with that one's memory.
    pub fn set_handler(&self, program: u64, memory: u64) {
        let code = self.new_words(TRAP_HANDLERS[1]);
        let words = [program, program >> 32, memory, memory >> 32].map(|word| word as u32);
        self.handler.set((code, self.new_words(&words)));
    }

    fn map_page(&self, va: u64, at: u64, mtype: pte::Mtype) {
        // AMDGPU_PTE_DEFAULT of gfx12: valid, all rights, marked as a leaf.
        let rights = pte::VALID | pte::EXECUTABLE | pte::READABLE | pte::WRITEABLE;
        let entry = at | rights | pte::gfx12::PDE_PTE | pte::gfx12::mtype(mtype);
        map_page(&*self.memory, self.root, va, entry);
        self.pages.borrow_mut().insert(va / PAGE, at);
    }

    /// Memory: its address in the process. It is contiguous in VRAM.
    pub fn alloc(&self, bytes: u64) -> u64 {
        let bytes = bytes.next_multiple_of(PAGE);
        let va = self.next.replace(self.next.get() + bytes + PAGE);
        let at = self.memory.alloc(bytes);
        for offset in (0..bytes).step_by(PAGE as usize) {
            self.map_page(va + offset, at + offset, pte::Mtype::Uc);
        }
        va
    }

    /// Lets the second-level cache hold back what is stored in a page.
    pub fn hold_back(&self, va: u64) {
        self.map_page(va, self.at(va), pte::Mtype::Nc);
    }

    /// Place in VRAM.
    pub fn at(&self, va: u64) -> u64 {
        self.pages.borrow()[&(va / PAGE)] + va % PAGE
    }

    pub fn put(&self, va: u64, bytes: &[u8]) {
        self.memory.put(self.at(va), bytes);
    }

    pub fn new_words(&self, words: &[u32]) -> u64 {
        let va = self.alloc(words.len() as u64 * 4);
        self.put(va, &bytes(words));
        va
    }

    pub fn words(&self, va: u64, n: usize) -> Vec<u32> {
        self.memory.words(self.at(va), n)
    }

    pub fn u64(&self, va: u64) -> u64 {
        self.memory.u64(self.at(va))
    }

    /// A signal of value 1. With an event: its mailbox is the second half of its page.
    pub fn signal(&self, event: u32) -> u64 {
        let va = self.alloc(PAGE);
        self.put(va, &signal(va, event));
        va
    }

    pub fn value(&self, signal: u64) -> i64 {
        self.u64(signal + 8) as i64
    }

    pub fn wait(&self, signal: u64) {
        let done = || self.value(signal) <= 0;
        self.memory.wait("a signal", done);
    }

    /// Loads a code object; the address of a symbol.
    pub fn load(&self, name: &str, symbol: &str) -> u64 {
        self.load_for(name, symbol, "gfx1201")
    }

    pub fn load_for(&self, name: &str, symbol: &str, target: &str) -> u64 {
        let code = code::code(name, target);
        let base = self.alloc(code.image.len() as u64);
        self.put(base, &code.image);
        base + code.symbols[symbol]
    }

    pub fn arguments(&self, explicit: &[u8], grid: u32, group: u16) -> u64 {
        let bytes = code::arguments(explicit, grid, group);
        let va = self.alloc(bytes.len() as u64);
        self.put(va, &bytes);
        va
    }

    /// A vadd of `n` floats: its packet, where the sums go, and what they are.
    pub fn vadd(&self, n: u32, seed: u32, signal: u64) -> (KernelDispatch, u64, Vec<u32>) {
        let kernel = self.load("vadd", "vadd.kd");
        let input = |k: u32| -> Vec<f32> {
            let value = |i: u32| i.wrapping_mul(k).wrapping_add(seed) % 10_007;
            (0..n).map(|i| value(i) as f32 * 0.25).collect()
        };
        let bits = |v: &[f32]| v.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
        let (a, b) = (input(7), input(13));
        let sums = a.iter().zip(&b).map(|(a, b)| (a + b).to_bits()).collect();
        let out = self.alloc(u64::from(n) * 4);
        let places = [self.new_words(&bits(&a)), self.new_words(&bits(&b)), out];
        let mut explicit = code::pointers(&places);
        explicit.extend(n.to_le_bytes());
        let grid = n.next_multiple_of(256);
        let args = self.arguments(&explicit, grid, 256);
        (dispatch(kernel, args, grid, 256, signal), out, sums)
    }

    /// A dispatch of spin, which ends when its flag is not 0: packet, and where the flag is.
    pub fn spin(&self, signal: u64) -> (KernelDispatch, u64) {
        let (flag, out) = (self.new_words(&[0; 4]), self.alloc(64));
        let args = self.arguments(&code::pointers(&[flag, out]), 64, 64);
        let kernel = self.load("loops", "spin.kd");
        (dispatch(kernel, args, 64, 64, signal), flag)
    }

    /// Waits until the waves of spin run.
    pub fn begun(&self, flag: u64) {
        self.memory
            .wait("the first wave", || self.words(flag + 8, 1) == [1]);
    }
}

pub struct Queue {
    pub process: Rc<Process>,
    pub ring: u64,
    pub packets: u64,
    /// Place of its MQD.
    pub mqd: u64,
    /// Place of MES's memory for its gang.
    pub gang: u64,
    /// The page of amd_queue_t: the read index is at 0x80.
    pub page: u64,
    /// Its context save area, and its bytes.
    area: (u64, u64),
    pub bell: u32,
    index: Cell<u64>,
}

impl Queue {
    /// An AQL queue as `kfd_mqd_manager_v12.c` describes it, with a context save area.
    pub fn new(process: &Rc<Process>, bell: u32, packets: u64) -> Self {
        Self::with_area(process, bell, packets, AREA)
    }

    pub fn with_area(process: &Rc<Process>, bell: u32, packets: u64, bytes: u64) -> Self {
        let memory = &process.memory;
        let queue = Self {
            ring: process.alloc(packets * 64),
            page: process.alloc(PAGE),
            area: (process.alloc(bytes), bytes),
            mqd: memory.alloc(PAGE),
            gang: memory.alloc(PAGE),
            process: process.clone(),
            packets,
            bell,
            index: Cell::new(0),
        };
        for slot in 0..packets {
            process.put(queue.ring + slot * 64, &1u16.to_le_bytes());
        }
        // read_dispatch_id_field_base_byte_offset.
        process.put(queue.page + 0x88, &0x80u32.to_le_bytes());
        queue.set_mqd(&queue.fresh());
        queue
    }

    /// `init_mqd` and `update_mqd`.
    pub fn fresh(&self) -> Mqd {
        // UNORD_DISPATCH, NO_UPDATE_RPTR, SLOT_BASED_WPTR 2, QUEUE_FULL_EN, RPTR_BLOCK_SIZE 5.
        let size = (self.packets * 16).ilog2() - 1;
        let control = (1 << 28) | (1 << 27) | (2 << 18) | (1 << 14) | (5 << 8) | size;
        let mut m = Mqd::zeroed()
            .with(Mqd::HEADER, 0xc031_0800)
            .with(Mqd::COMPUTE_PIPELINESTAT_ENABLE, 1)
            .with(Mqd::CP_MQD_BASE_ADDR, mc(self.mqd))
            .with(Mqd::CP_HQD_PERSISTENT_STATE, 1 | (0x55 << 8) | (1 << 30))
            .with(Mqd::CP_MQD_CONTROL, 1 << 8)
            .with(Mqd::CP_HQD_QUANTUM, 0x111)
            .with(Mqd::CP_HQD_HQ_STATUS0, 1 << 14)
            .with(Mqd::CP_HQD_AQL_CONTROL, 1)
            .with(Mqd::CP_HQD_IB_CONTROL, 3 << 20)
            .with(Mqd::CP_HQD_PQ_CONTROL, control)
            .with(Mqd::CP_HQD_PQ_BASE, self.ring >> 8)
            .with(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR, self.read_index())
            .with(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR, self.write_index())
            .with(Mqd::CP_HQD_PQ_DOORBELL_CONTROL, (self.bell << 2) | 2)
            .with(Mqd::CP_HQD_CTX_SAVE_BASE_ADDR, self.area.0)
            .with(Mqd::CP_HQD_CTX_SAVE_SIZE, self.area.1 as u32)
            .with(Mqd::CP_HQD_CNTL_STACK_SIZE, 0x2000)
            .with(Mqd::CP_HQD_CNTL_STACK_OFFSET, 0x2000)
            .with(Mqd::CP_HQD_WG_STATE_OFFSET, 0x2000);
        for se in [23, 24, 26, 27, 44, 45, 46, 47] {
            m.0[se] = u32::MAX;
        }
        m
    }

    /// Without QSWITCH_MODE its waves can't be saved.
    pub fn cannot_save(&self) {
        let m = self
            .fresh()
            .with(Mqd::CP_HQD_PERSISTENT_STATE, 1 | (0x55 << 8))
            .with(Mqd::CP_HQD_CTX_SAVE_BASE_ADDR, 0u64);
        self.set_mqd(&m);
    }

    pub fn set_mqd(&self, m: &Mqd) {
        self.process.memory.put(self.mqd, &bytes(&m.0));
    }

    pub fn image(&self) -> Mqd {
        Mqd::read(&self.process.memory.words(self.mqd, 512)).unwrap()
    }

    pub fn read_index(&self) -> u64 {
        self.page + 0x80
    }

    pub fn write_index(&self) -> u64 {
        self.page + 0x38
    }

    /// `add_queue_mes`.
    pub fn add(&self) -> AddQueue {
        use AddQueue as A;
        let p = &self.process;
        let mut frame = A::zeroed()
            .with(A::PROCESS_ID, p.pasid.into())
            .with(A::PAGE_TABLE_BASE_ADDR, p.root | pte::VALID)
            .with(A::PROCESS_VA_END, (1 << 36) - 1)
            .with(A::PROCESS_QUANTUM, 100_000)
            .with(A::PROCESS_CONTEXT_ADDR, mc(p.context))
            .with(A::GANG_QUANTUM, 10_000)
            .with(A::GANG_CONTEXT_ADDR, mc(self.gang))
            .with(A::INPROCESS_GANG_PRIORITY, 1)
            .with(A::GANG_GLOBAL_PRIORITY_LEVEL, 1)
            .with(A::DOORBELL_OFFSET, self.bell)
            .with(A::MQD_ADDR, mc(self.mqd))
            .with(A::WPTR_ADDR, mc(p.at(self.write_index())))
            .with(A::QUEUE_TYPE, 1)
            .with(A::KFD_QUEUE_SIZE, self.packets as u32 * 16)
            .with(A::VM_CONTEXT_CNTL, CONTROL)
            .with(A::IS_KFD_PROCESS, true)
            .with(A::TRAP_EN, true)
            .with(A::TRAP_HANDLER_ADDR, self.process.handler.get().0)
            .with(A::TMA_ADDR, self.process.handler.get().1)
            .with(A::IS_AQL_QUEUE, true);
        frame.0[0] = header(op::ADD_QUEUE);
        frame
    }

    /// Adds 300 floats, and compares the sums with the CPU's.
    pub fn add_vectors(&self) {
        let p = &self.process;
        let done = p.signal(0);
        let (packet, sums, expected) = p.vadd(300, 2, done);
        self.push(packet.0);
        p.wait(done);
        assert_eq!(p.words(sums, 300), expected);
    }

    /// Writes a packet, and rings.
    pub fn push(&self, words: [u32; 16]) {
        let index = self.write(words);
        let doorbells = &self.process.memory.device.soc.doorbells;
        doorbells.store(self.bell, index);
    }

    /// Writes a packet, header last: its index.
    pub fn write(&self, words: [u32; 16]) -> u64 {
        let p = &self.process;
        let index = self.index.replace(self.index.get() + 1);
        p.memory.wait("a free slot", || {
            index - p.u64(self.read_index()) < self.packets
        });
        let at = self.ring + index % self.packets * 64;
        p.memory.set_u64(p.at(self.write_index()), index + 1);
        let bytes = bytes(&words);
        p.put(at + 2, &bytes[2..]);
        p.put(at, &bytes[..2]);
        index
    }
}
