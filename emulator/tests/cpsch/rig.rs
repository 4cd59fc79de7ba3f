// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rig: a device, its memory, the KIQ and HIQ as Linux sets them up.

use rkfd_emulator::blocks::ih::Which;
use rkfd_emulator::chip::device::{Checks, Config, Device};
use rkfd_emulator::chip::{Chip, Name};
use rkfd_emulator::memory::PAGE;
use rkfd_emulator::report::{Report, Whose};
use rkfd_emulator::rules::Rules;
use rkfd_emulator::trace::Trace;
use rkfd_emulator_testkit::{hub_set_up, FAULT_DEFAULTS};
use rkfd_hw::pm4::*;
use rkfd_hw::regs::{gc_9_4_3 as gc, hdp_4_4_2 as hdp, nbio_7_9_0 as nbio};
use rkfd_hw::regs::{osssys_4_4_2 as oss, sdma_4_4_2 as sdma, AnyReg, Value};
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
    pub ring: u64,
    pub words: u64,
    pub rptr: u64,
    pub wptr: u64,
    pub written: Cell<u64>,
    pub bell: u32,
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
    pub fences: Cell<u64>,
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
        Self::checking(Name::Mi308xCpx, rules, trace, Checks::default())
    }

    /// Of a chip, which looks in programs for some faults.
    fn checking(name: Name, rules: &[&str], trace: Arc<Trace>, checks: Checks) -> Self {
        let (chip, report) = (name.chip(), Report::new(None));
        let config = Config {
            chip,
            vram_size: VRAM,
            serial: 0,
            rules: Rules::of(rules).unwrap(),
            report: report.clone(),
            trace,
            checks,
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
        Self::checking(Name::Mi308x, &[], Trace::off(), Checks::default())
    }

    pub fn spx() -> Self {
        Self::spx_checking(Checks::default())
    }

    pub fn spx_checking(checks: Checks) -> Self {
        let bare = Self::checking(Name::Mi308x, &[], Trace::off(), checks);
        bare.scheduling(0xfff8, 0xffff_ffff)
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

    /// Where queues hang: after half a second the HIQ gives an unmap up.
    pub fn hasty(rules: &[&str]) -> Self {
        Self::bare(rules).with_resources(0xfff8, 0xffff_ffff, 5)
    }

    /// Starts KIQ and HIQ, with these resources. The HIQ gives an unmap up as late as it can, so that
    /// a busy host makes no queue look hung.
    pub fn scheduling(self, vmids: u32, queues: u64) -> Self {
        self.with_resources(vmids, queues, 255)
    }

    /// As [`Self::scheduling`], with a latency of unmaps in units of 100 ms.
    fn with_resources(self, vmids: u32, queues: u64, latency: u32) -> Self {
        let rig = self;
        rig.start_kiq();
        rig.start_hiq();
        // `KFD_DEQUEUE_WAIT_INIT`.
        rig.on_each_xcc(|_| {
            let times = rig.read(gc::CP_IQ_WAIT_TIME2);
            let times = Value::<gc::CP_IQ_WAIT_TIME2>::new(times);
            let times = times.having(gc::CP_IQ_WAIT_TIME2::QUE_SLEEP.is::<1>());
            rig.write(gc::CP_IQ_WAIT_TIME2, times.bits());
        });
        let resources = SetResources::zeroed()
            .with(SetResources::HEADER, header(op::SET_RESOURCES, 8))
            .try_with(SetResources::VMID_MASK, vmids.into())
            .unwrap()
            .try_with(SetResources::UNMAP_LATENCY, latency.into())
            .unwrap()
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
        let mut ring = soc.interrupts.ring(Which::Zero);
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
        // `sdma_v4_4_2_inst_init_golden_registers`, `sdma_v4_4_2_inst_ctx_switch_enable`.
        for engine in 0..2 {
            for (reg, value) in [
                (sdma::SDMA_GB_ADDR_CONFIG.any(), 4 << 12),
                (sdma::SDMA_GB_ADDR_CONFIG_READ.any(), 4 << 12),
                (sdma::SDMA_UTCL1_TIMEOUT.any(), 0x0080_0080),
                // TRAP_ENABLE, UTC_L1_ENABLE, AUTO_CTXSW_ENABLE.
                (sdma::SDMA_CNTL.any(), 1 | (1 << 1) | (1 << 18)),
            ] {
                self.device.write(self.offset(reg, engine), value);
            }
        }
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
        let wptr = u64::from(self.device.soc.interrupts.ring(Which::Zero).wptr & !3);
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
