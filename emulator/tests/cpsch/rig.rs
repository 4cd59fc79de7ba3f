// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rig: a device, its memory, the KIQ and HIQ as Linux sets them up.

use crate::packets::{base_mqd, run_list, unmap};
use rkfd_emulator::chip::device::{Checks, Config, Device};
use rkfd_emulator::chip::{Chip, Name};
use rkfd_emulator::memory::PAGE;
use rkfd_emulator::report::{Report, Whose};
use rkfd_emulator::rules::Rules;
use rkfd_emulator::trace::Trace;
use rkfd_emulator_testkit::{hub_set_up, FAULT_DEFAULTS};
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::*;
use rkfd_hw::regs::{gc_9_4_3 as gc, hdp_4_4_2 as hdp, nbio_7_9_0 as nbio};
use rkfd_hw::regs::{osssys_4_4_2 as oss, AnyReg, Value};
use rkfd_hw::value::Bounded;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const VRAM: u64 = 256 << 20;
/// First address of VRAM in VMID 0.
pub const MC: u64 = 0x80_0000_0000;
pub const KIQ: (u32, u32, u32) = (2, 1, 0);
pub const HIQ: (u32, u32, u32) = (2, 0, 0);
pub const HIQ_BELL: u32 = 2;
const IH_SIZE: u64 = 4096;

/// A queue of the kernel: where its parts lie, and how far it was written.
pub struct KernelQueue {
    pub mqd: u64,
    ring: u64,
    words: u64,
    pub rptr: u64,
    wptr: u64,
    written: Cell<u64>,
    bell: u32,
}

pub struct Rig {
    pub device: Arc<Device>,
    pub report: Arc<Report>,
    next: Cell<u64>,
    pub kiq: KernelQueue,
    /// The KIQs of the other XCCs.
    pub kiqs: Vec<KernelQueue>,
    /// The HIQ; its MQDs for the XCCs are a page apart.
    pub hiq: KernelQueue,
    /// The XCC whose registers are accessed.
    pub xcc: Cell<u8>,
    /// GB_ADDR_CONFIG and TCP_UTCL1_CNTL2 when a KIQ is started.
    pub golden: Cell<[u32; 2]>,
    pub fence: u64,
    ih: u64,
    ih_rptr: Cell<u64>,
    fences: Cell<u64>,
}

/// `gfx_v9_4_3_init_golden_registers`.
pub const GOLDEN: [u32; 2] = [0x2a11_4042, 1];

impl Rig {
    /// A device with memory and interrupts set up, and no queue.
    pub fn bare(rules: &[&str]) -> Self {
        let trace = match std::env::var_os("RKFD_TRACE") {
            Some(path) => Trace::to_file(path.as_ref()).unwrap(),
            None => Trace::off(),
        };
        Self::traced(rules, trace)
    }

    /// The same with a trace.
    pub fn traced(rules: &[&str], trace: Arc<Trace>) -> Self {
        Self::reporting(Name::Mi308xCpx, rules, trace, Report::new(None))
    }

    /// Of a chip.
    fn reporting(name: Name, rules: &[&str], trace: Arc<Trace>, report: Arc<Report>) -> Self {
        let chip = name.chip();
        let config = Config {
            chip,
            vram_size: VRAM,
            rules: Rules::of(rules).unwrap(),
            report: report.clone(),
            trace,
            checks: Checks::default(),
        };
        let device = Device::new(config).unwrap();
        let next = Cell::new(1 << 20);
        let take = |bytes: u64| next.replace(next.get() + bytes.next_multiple_of(PAGE));
        let queue = |bell| KernelQueue {
            mqd: MC + take(PAGE * u64::from(chip.xccs())),
            ring: MC + take(PAGE),
            words: 512,
            rptr: MC + take(PAGE),
            wptr: MC + take(PAGE),
            written: Cell::new(0),
            bell,
        };
        let (kiq, hiq) = (queue(0), queue(HIQ_BELL));
        // `AMDGPU_DOORBELL_LAYOUT1_XCC_RANGE`, in doorbells of 64 bits.
        let kiqs = (1..chip.xccs()).map(|xcc| queue(u32::from(xcc) * 0x40));
        let kiqs = kiqs.collect();
        let (fence, ih) = (MC + take(PAGE), MC + take(IH_SIZE));
        let rig = Self {
            device,
            report,
            next,
            kiq,
            kiqs,
            hiq,
            xcc: Cell::new(0),
            golden: Cell::new(GOLDEN),
            fence,
            ih,
            ih_rptr: Cell::new(0),
            fences: Cell::new(0),
        };
        rig.set_up_memory();
        rig
    }

    /// With a running KIQ and an HIQ that has its resources.
    pub fn new() -> Self {
        Self::with(&[], 0xfff8, 0xffff_ffff)
    }

    pub fn with(rules: &[&str], vmids: u32, queues: u64) -> Self {
        Self::bare(rules).scheduling(vmids, queues)
    }

    /// A chip of four XCCs, without queues and with scheduling.
    pub fn bare_spx() -> Self {
        Self::reporting(Name::Mi308x, &[], Trace::off(), Report::new(None))
    }

    pub fn spx() -> Self {
        Self::bare_spx().scheduling(0xfff8, 0xffff_ffff)
    }

    pub fn chip(&self) -> &'static Chip {
        self.device.soc.chip
    }

    /// Does something on every XCC.
    pub fn on_each_xcc(&self, what: impl Fn(u8)) {
        for xcc in 0..self.chip().xccs() {
            self.xcc.set(xcc);
            what(xcc);
        }
        self.xcc.set(0);
    }

    /// Starts KIQ and HIQ, with these resources.
    pub fn scheduling(self, vmids: u32, queues: u64) -> Self {
        let rig = self;
        rig.start_kiq();
        rig.start_hiq();
        let resources = SetResources::zeroed()
            .with(SetResources::HEADER, header(op::SET_RESOURCES, 8))
            .try_with(SetResources::VMID_MASK, vmids.into())
            .unwrap()
            .with(SetResources::UNMAP_LATENCY, 5)
            .having(SetResources::QUEUE_TYPE.is::<RESOURCES_HIQ>())
            .with(SetResources::QUEUE_MASK, queues)
            .with(SetResources::GWS_MASK, u64::MAX);
        rig.hiq(&resources.0);
        rig
    }

    /// Hubs and interrupt ring, by their fields: the driver's way to them is tested elsewhere.
    fn set_up_memory(&self) {
        let soc = &self.device.soc;
        // `hdp_v4_0_init_registers`.
        self.write(hdp::HDP_MISC_CNTL, 1);
        self.write(hdp::HDP_NONSURFACE_BASE, (MC >> 8) as u32);
        for hub in soc.memory.hubs() {
            let mut r = soc.memory.hub(hub).registers();
            r.system = [(MC >> 18) as u32, ((MC + VRAM - 1) >> 18) as u32];
            hub_set_up(&mut r);
            for vmid in 1..16 {
                // Four plain levels, all fault interrupts.
                r.cntl[vmid] = 1 | (3 << 1) | 0x00aa_aa00 | FAULT_DEFAULTS;
                r.end[vmid] = [u32::MAX, 0xf];
            }
        }
        let mut ring = soc.interrupts.ring();
        ring.base = (self.ih >> 8) as u32;
        ring.base_hi = (self.ih >> 40) as u32;
        use oss::IH_RB_CNTL as c;
        ring.cntl = Value::zeroed()
            .with(c::RB_ENABLE, true)
            .having(c::RB_SIZE.is::<10>())
            .having(c::MC_SPACE.is::<4>())
            .with(c::WPTR_OVERFLOW_ENABLE, true)
            .bits();
        drop(ring);
        soc.doorbells.route_graphics(true);
        soc.doorbells.enable(true);
    }

    pub fn read(&self, reg: impl Into<AnyReg>) -> u32 {
        self.device.read(self.reach(reg.into()))
    }

    pub fn write(&self, reg: impl Into<AnyReg>, value: u32) {
        self.device.write(self.reach(reg.into()), value);
    }

    /// The offset in the BAR that is a register of the chosen XCC: its own, or that of the window,
    /// which is pointed at it.
    fn reach(&self, reg: AnyReg) -> u64 {
        let at = self.offset(reg, self.xcc.get());
        if at < self.chip().mmio_size {
            return at;
        }
        self.device
            .write(self.offset(nbio::BIF_BX0_PCIE_INDEX2.any(), 0), at as u32);
        self.device
            .write(self.offset(nbio::BIF_BX0_PCIE_INDEX2_HI.any(), 0), 0);
        self.offset(nbio::BIF_BX0_PCIE_DATA2.any(), 0)
    }

    fn offset(&self, reg: AnyReg, instance: u8) -> u64 {
        let mut ips = self.chip().ips.iter();
        let ip = ips
            .find(|ip| (ip.hw_id, ip.instance) == (reg.block as u16, instance))
            .unwrap();
        u64::from(ip.bases[usize::from(reg.segment)] + reg.offset) * 4
    }

    pub fn select(&self, (me, pipe, queue): (u32, u32, u32)) {
        use gc::GRBM_GFX_CNTL as s;
        let v = Value::zeroed()
            .with(s::QUEUEID, Bounded::low_bits_of(queue.into()))
            .with(s::PIPEID, Bounded::low_bits_of(pipe.into()))
            .with(s::MEID, Bounded::low_bits_of(me.into()))
            .bits();
        self.write(gc::GRBM_GFX_CNTL, v);
    }

    /// VRAM, and its address in VMID 0.
    pub fn alloc(&self, bytes: u64) -> u64 {
        let at = self
            .next
            .replace(self.next.get() + bytes.next_multiple_of(PAGE));
        assert!(self.next.get() <= VRAM, "the rig's VRAM is full");
        MC + at
    }

    pub fn put(&self, at: u64, bytes: &[u8]) {
        let part = self
            .device
            .soc
            .memory
            .vram
            .part(at - MC, bytes.len())
            .unwrap();
        assert!(part.write(0, bytes));
        self.device.soc.memory.flush_hdp();
    }

    pub fn get(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        assert!(self
            .device
            .soc
            .memory
            .vram
            .part(at - MC, len)
            .unwrap()
            .read(0, &mut bytes));
        bytes
    }

    pub fn put_words(&self, at: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.put(at, &bytes);
    }

    pub fn words(&self, at: u64, n: usize) -> Vec<u32> {
        self.get(at, n * 4)
            .chunks(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
            .collect()
    }

    pub fn u64(&self, at: u64) -> u64 {
        self.device
            .soc
            .memory
            .vram
            .part(at - MC, 8)
            .unwrap()
            .u64(0)
            .unwrap()
            .load(std::sync::atomic::Ordering::Acquire)
    }

    pub fn set_u64(&self, at: u64, value: u64) {
        let part = self.device.soc.memory.vram.part(at - MC, 8).unwrap();
        part.u64(0)
            .unwrap()
            .store(value, std::sync::atomic::Ordering::Release);
        self.device.soc.memory.flush_hdp();
    }

    pub fn ring_bell(&self, word: u32, value: u64) {
        let page = self
            .device
            .soc
            .doorbells
            .file()
            .part(u64::from(word) * 4, 8)
            .unwrap();
        page.u64(0)
            .unwrap()
            .store(value, std::sync::atomic::Ordering::Release);
    }

    /// A kernel queue's MQD: `init_mqd` and `init_mqd_hiq`.
    pub fn kernel_mqd(&self, q: &KernelQueue) -> Mqd {
        let mut m = base_mqd(q.mqd);
        m.set(
            Mqd::CP_HQD_PQ_CONTROL,
            0xc000_0000 | (1 << 28) | (5 << 8) | (q.words.ilog2() - 1),
        );
        m.set(Mqd::CP_HQD_PQ_BASE, q.ring >> 8);
        m.set(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR, q.rptr);
        m.set(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR, q.wptr);
        m.set(Mqd::CP_HQD_PQ_DOORBELL_CONTROL, q.bell << 2);
        m
    }

    /// Starts every XCC's KIQ.
    pub fn start_kiq(&self) {
        self.on_each_xcc(|xcc| self.start_kiq_of(self.kiq_of(xcc)));
    }

    pub fn kiq_of(&self, xcc: u8) -> &KernelQueue {
        match xcc {
            0 => &self.kiq,
            _ => &self.kiqs[usize::from(xcc) - 1],
        }
    }

    /// As `gfx_v9_4_3_xcc_kiq_setting` and `_kiq_init_register` do.
    fn start_kiq_of(&self, kiq: &KernelQueue) {
        let (me, pipe, queue) = KIQ;
        self.write(gc::CP_MEC_CNTL, 0);
        let [addresses, caches] = self.golden.get();
        self.write(gc::GB_ADDR_CONFIG, addresses);
        self.write(gc::TCP_UTCL1_CNTL2, caches);
        let schedulers = self.read(gc::RLC_CP_SCHEDULERS) & !0xff;
        self.write(
            gc::RLC_CP_SCHEDULERS,
            schedulers | (me << 5) | (pipe << 3) | queue | 0x80,
        );
        let mut m = self.kernel_mqd(kiq);
        m.set(Mqd::CP_HQD_ACTIVE, 1);
        self.put_words(kiq.mqd, &m.0);
        self.select(KIQ);
        let bell = m.get(Mqd::CP_HQD_PQ_DOORBELL_CONTROL) as u32 | (1 << 30);
        self.write(
            gc::CP_PQ_WPTR_POLL_CNTL,
            self.read(gc::CP_PQ_WPTR_POLL_CNTL) & !(1 << 31),
        );
        assert_eq!(self.read(gc::CP_HQD_ACTIVE) & 1, 0);
        let word = |at: usize, n: usize| m.0[at + n];
        for (reg, value) in [
            (gc::CP_HQD_EOP_CONTROL.any(), 9),
            (
                gc::CP_MQD_BASE_ADDR.any(),
                word(Mqd::CP_MQD_BASE_ADDR.word(), 0),
            ),
            (
                gc::CP_MQD_BASE_ADDR_HI.any(),
                word(Mqd::CP_MQD_BASE_ADDR.word(), 1),
            ),
            (gc::CP_MQD_CONTROL.any(), self.read(gc::CP_MQD_CONTROL)),
            (
                gc::CP_HQD_PQ_BASE.any(),
                word(Mqd::CP_HQD_PQ_BASE.word(), 0),
            ),
            (
                gc::CP_HQD_PQ_BASE_HI.any(),
                word(Mqd::CP_HQD_PQ_BASE.word(), 1),
            ),
            (
                gc::CP_HQD_PQ_CONTROL.any(),
                word(Mqd::CP_HQD_PQ_CONTROL.word(), 0),
            ),
            (
                gc::CP_HQD_PQ_RPTR_REPORT_ADDR.any(),
                word(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR.word(), 0),
            ),
            (
                gc::CP_HQD_PQ_RPTR_REPORT_ADDR_HI.any(),
                word(Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR.word(), 1),
            ),
            (
                gc::CP_HQD_PQ_WPTR_POLL_ADDR.any(),
                word(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR.word(), 0),
            ),
            (
                gc::CP_HQD_PQ_WPTR_POLL_ADDR_HI.any(),
                word(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR.word(), 1),
            ),
            (gc::CP_MEC_DOORBELL_RANGE_LOWER.any(), kiq.bell << 2),
            (
                gc::CP_MEC_DOORBELL_RANGE_UPPER.any(),
                (kiq.bell << 2) + 0xf8,
            ),
            (gc::CP_HQD_PQ_DOORBELL_CONTROL.any(), bell),
            (gc::CP_HQD_PQ_WPTR_LO.any(), 0),
            (gc::CP_HQD_PQ_WPTR_HI.any(), 0),
            (gc::CP_HQD_VMID.any(), 0),
            // The reset value with PRELOAD_SIZE, as Linux reads, changes and writes it.
            (
                gc::CP_HQD_PERSISTENT_STATE.any(),
                self.read(gc::CP_HQD_PERSISTENT_STATE),
            ),
            (gc::CP_HQD_ACTIVE.any(), 1),
        ] {
            self.write(reg, value);
        }
        self.write(gc::CP_PQ_STATUS, self.read(gc::CP_PQ_STATUS) | 2);
        self.select((0, 0, 0));
    }

    /// Starts the HIQ on every XCC.
    pub fn start_hiq(&self) {
        self.on_each_xcc(|xcc| self.start_hiq_of(xcc));
    }

    /// `init_mqd_hiq_v9_4_3`, `kgd_gfx_v9_hiq_mqd_load`, and interrupts of all pipes
    /// (`kgd_gfx_v9_init_interrupts`).
    pub fn start_hiq_of(&self, xcc: u8) {
        let mqd = self.hiq.mqd + PAGE * u64::from(xcc);
        let mut m = self.kernel_mqd(&self.hiq);
        m.set(Mqd::CP_MQD_BASE_ADDR, mqd);
        m.set(Mqd::CP_MQD_STRIDE_SIZE, PAGE as u32);
        if xcc > 0 {
            let control = Value::<gc::CP_HQD_PQ_CONTROL>::new(m.get(Mqd::CP_HQD_PQ_CONTROL) as u32);
            let muted = control
                .with(gc::CP_HQD_PQ_CONTROL::NO_UPDATE_RPTR, true)
                .bits();
            m.set(Mqd::CP_HQD_PQ_CONTROL, muted);
        }
        self.put_words(mqd, &m.0);
        for pipe in 0..4 {
            self.select((1, pipe, 0));
            self.write(gc::CPC_INT_CNTL, (1 << 26) | (1 << 24));
        }
        self.select((0, 0, 0));
        self.submit(self.kiq_of(xcc), &self.map_hiq_at(mqd));
        self.wait("the HIQ is active", || self.is_active(HIQ));
    }

    pub fn map_hiq(&self) -> [u32; 7] {
        self.map_hiq_at(self.hiq.mqd)
    }

    fn map_hiq_at(&self, mqd: u64) -> [u32; 7] {
        let q = &self.hiq;
        let (me, pipe, queue) = HIQ;
        let select = (1 << 29) | (1 << 26) | ((me - 1) << 18) | (pipe << 16) | (queue << 13);
        let [mqd, wptr] = [mqd, q.wptr].map(|a| [a as u32, (a >> 32) as u32]);
        [
            header(op::MAP_QUEUES, 7),
            select,
            q.bell << 2,
            mqd[0],
            mqd[1],
            wptr[0],
            wptr[1],
        ]
    }

    pub fn is_active(&self, slot: (u32, u32, u32)) -> bool {
        self.select(slot);
        let active = self.read(gc::CP_HQD_ACTIVE) & 1 == 1;
        self.select((0, 0, 0));
        active
    }

    pub fn kiq(&self, words: &[u32]) {
        self.submit(&self.kiq, words);
    }

    pub fn hiq(&self, words: &[u32]) {
        self.submit(&self.hiq, words);
    }

    /// Writes words into a kernel queue's ring and rings, as `amdgpu_ring_commit` does.
    pub fn submit(&self, q: &KernelQueue, words: &[u32]) {
        for (i, &word) in words.iter().enumerate() {
            let at = (q.written.get() + i as u64) % q.words;
            self.put_words(q.ring + at * 4, &[word]);
        }
        q.written.set(q.written.get() + words.len() as u64);
        self.set_u64(q.wptr, q.written.get());
        self.ring_bell(q.bell, q.written.get());
    }

    /// Rings without a pointer in memory that has come so far.
    pub fn ring_early(&self, q: &KernelQueue, words: u64) {
        self.ring_bell(q.bell, q.written.get() + words);
    }

    /// QUERY_STATUS on the HIQ and the wait for its fence.
    pub fn fence(&self) {
        let value = self.send_fence();
        self.wait("the fence", || self.u64(self.fence) == value);
    }

    pub fn send_fence(&self) -> u64 {
        self.fences.set(self.fences.get() + 1);
        let query = QueryStatus::zeroed()
            .with(QueryStatus::HEADER, header(op::QUERY_STATUS, 7))
            .having(QueryStatus::COMMAND.is::<QUERY_FENCE_AFTER_ACK>())
            .with(QueryStatus::ADDR, self.fence)
            .with(QueryStatus::DATA, self.fences.get());
        self.hiq(&query.0);
        self.fences.get()
    }

    /// UNMAP_QUEUES of all queues but static ones.
    pub fn unmap(&self) {
        self.hiq(&unmap(SELECT_ALL_NON_STATIC, UNMAP_PREEMPT, 0));
    }

    /// A run list from packets, run by the HIQ.
    pub fn run_list(&self, packets: &[u32], processes: u64) {
        let ib = self.alloc(packets.len() as u64 * 4);
        self.put_words(ib, packets);
        self.hiq(&run_list(ib, packets.len(), processes).0);
    }

    /// Runs a list that goes back to its start at its end, as more queues than fit need.
    pub fn run_chained_list(&self, packets: &[u32], processes: u64) {
        let words = packets.len() + 4;
        let ib = self.alloc(words as u64 * 4);
        let run = run_list(ib, words, processes);
        let chain = run.with(RunList::CHAIN, true);
        self.put_words(ib, &[packets, &chain.0].concat());
        self.hiq(&run.0);
    }

    /// Waits; the fence of a slow host is generous.
    pub fn wait(&self, what: &str, mut done: impl FnMut() -> bool) {
        let until = Instant::now() + Duration::from_secs(600);
        while !done() {
            let findings = self.report.findings();
            assert!(
                Instant::now() < until,
                "waited for {what} in vain; {findings:?}"
            );
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// The next interrupt, if there is one: client, source, ring id, VMID, PASID, data.
    pub fn interrupt(&self) -> Option<(u8, u8, u8, u8, u16, [u32; 4])> {
        let at = self.ih_rptr.get();
        let wptr = u64::from(self.device.soc.interrupts.ring().wptr & !3);
        if at == wptr {
            return None;
        }
        self.ih_rptr.set((at + 32) % IH_SIZE);
        let w = self.words(self.ih + at, 8);
        let byte = |shift: u32| (w[0] >> shift) as u8;
        let data = [w[4], w[5], w[6], w[7]];
        Some((
            byte(0),
            byte(8),
            byte(16),
            byte(24) & 0xf,
            w[3] as u16,
            data,
        ))
    }

    /// Fails if driver or programs did anything undefined.
    pub fn clean(&self) {
        assert_eq!(self.report.findings(), []);
    }

    /// Fails if the driver did anything undefined.
    pub fn driver_is_right(&self) {
        assert_eq!(self.report.violations(), 0, "{:?}", self.report.findings());
    }

    /// Waits for a violation of the driver that contains a text.
    pub fn violated(&self, text: &str) {
        self.recorded(Whose::Driver, text);
    }

    /// Waits for a fault of a program that contains a text.
    pub fn faulted(&self, text: &str) {
        self.recorded(Whose::Program, text);
    }

    fn recorded(&self, whose: Whose, text: &str) {
        let mut found = None;
        self.wait(text, || {
            let mut all = self.report.findings().into_iter();
            found = all.find(|f| f.text.contains(text));
            found.is_some()
        });
        assert_eq!(found.map(|f| f.whose), Some(whose), "{text}");
    }
}
