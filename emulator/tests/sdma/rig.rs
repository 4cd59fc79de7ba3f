// SPDX-License-Identifier: MIT OR Apache-2.0

//! A device with an address space for a process, and copy queues mapped by hand: the test is the
//! scheduler.

use rkfd_emulator::chip::{mi308x, navi48, Chip};
use rkfd_emulator::engines::sdma::{Mapping, Slot, Stop};
use rkfd_emulator::memory::{Access, Hub, PAGE};
use rkfd_emulator_testkit::{self as testkit, Guest};
use rkfd_hw::mqd::{v12, v9};
use rkfd_hw::pte;
use rkfd_hw::regs::{nbio_7_9_0, Block, Value};
use rkfd_hw::value::Bounded;
use std::time::{Duration, Instant};

/// The process: its VMID, and where VRAM appears in its address space.
pub const VMID: u8 = 9;
pub const VA: u64 = 0x10_0000_0000;
/// First address of VRAM in VMID 0.
pub const MC: u64 = 0x80_0000_0000;
/// Bytes of the process' memory, of which the start is not for buffers.
pub const SPACE: u64 = 192 << 20;
/// Where page tables, MQDs and the interrupt ring lie in VRAM: not mapped for the process.
const KERNEL: u64 = SPACE;
const IH: u64 = KERNEL + (8 << 20);
pub const IH_SIZE: u64 = 4096;
/// A page of the process that is read-only, and one that is not there.
pub const READ_ONLY: u64 = VA + SPACE - PAGE;
pub const NOWHERE: u64 = VA + SPACE + (1 << 30);
pub const RING: u64 = 4096;
/// SDMA0_UTCL1_CNTL: RESP_MODE 3, REDO_DELAY 9.
const UTCL1: u32 = (3 << 9) | 9;

pub const CHIPS: [&Chip; 2] = [&mi308x::CPX, &navi48::CHIP];

/// A queue and the process' side of it.
pub struct Ring {
    pub mqd: u64,
    pub ring: u64,
    pub rptr: u64,
    pub wptr: u64,
    pub bell: u32,
    pub slot: Slot,
    /// Bytes written.
    pub written: u64,
}

pub struct Rig {
    pub guest: Guest,
    pub chip: &'static Chip,
    ih_read: u64,
}

/// A byte of a pattern that repeats nowhere near.
pub fn byte(at: u64, seed: u64) -> u8 {
    let x = at.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x >> 56) as u8 ^ (x >> 23) as u8
}

/// `udelay(100)` of `sdma_v7_0_soft_reset`.
pub fn settle() {
    std::thread::sleep(std::time::Duration::from_micros(100));
}

impl Rig {
    pub fn new(chip: &'static Chip) -> Self {
        Self::with(chip, &[])
    }

    pub fn with(chip: &'static Chip, rules: &[&str]) -> Self {
        let guest = Guest::of(chip, rules);
        let rig = Self {
            guest,
            chip,
            ih_read: 0,
        };
        let soc = &rig.guest.device.soc;
        for hub in [Hub::Gfx(0), Hub::Mm(0)] {
            testkit::kernel_context(&soc.memory, hub, KERNEL + (16 << 20), 512);
        }
        if rig.is_gfx9() {
            rig.guest.set_up_hdp(MC);
        }
        rig.map_space();
        soc.pasids.bind(VMID, Some(0x8001));
        // Doorbells: the aperture, and the ways to the engines as Linux sets them.
        rig.guest.open_doorbells();
        for engine in 0..u32::from(chip.sdma.engines) {
            let (first, size) = (0x200 + 20 * engine, 20);
            if rig.is_gfx9() {
                let n = engine as usize;
                let range = format!("DOORBELL0_CTRL_ENTRY_{}", n + 1);
                let port = format!("S2A_DOORBELL_ENTRY_{}_CTRL", [1, 2, 5, 6][n]);
                use nbio_7_9_0::DOORBELL0_CTRL_ENTRY_0 as Range;
                let fields = Value::zeroed()
                    .with(Range::BIF_DOORBELL0_RANGE_OFFSET_ENTRY, bounded(first))
                    .with(Range::BIF_DOORBELL0_RANGE_SIZE_ENTRY, bounded(size.into()))
                    .bits();
                rig.guest.write_indirect(Block::Nbio, &range, fields);
                // Number, which is the offset, too, and address (`nbio_v7_9_sdma_doorbell_range`).
                let (id, address) = [(0xe, 1), (8, 2), (9, 8), (0xa, 9)][n];
                let to = rig.port(id, size, (id as u8, address));
                rig.guest.write_indirect(Block::Nbio, &port, to);
            }
        }
        if !rig.is_gfx9() {
            let port = "GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL";
            rig.guest
                .write(Block::Nbio, port, rig.port(0x200, 40, (0xe, 3)));
        }
        for engine in 0..chip.sdma.engines {
            rig.prepare(engine);
            rig.control(engine, 0x3);
        }
        // The interrupt ring.
        for (name, value) in [
            ("IH_RB_BASE", ((MC + IH) >> 8) as u32),
            ("IH_RB_BASE_HI", ((MC + IH) >> 40) as u32),
            // MC_SPACE 4, 4 KiB, enabled.
            ("IH_RB_CNTL", (4 << 28) | (10 << 1) | 1),
        ] {
            rig.guest.write(Block::Osssys, name, value);
        }
        rig
    }

    pub fn is_gfx9(&self) -> bool {
        self.chip.sdma.engines == 4
    }

    /// What an engine's registers have before its first queue (`sdma_v4_4_2_inst_init_golden_registers`,
    /// `sdma_v4_4_2_inst_ctx_switch_enable`, `sdma_v7_0_gfx_resume_instance`).
    fn prepare(&self, engine: u8) {
        if self.is_gfx9() {
            for (name, value) in [
                ("SDMA_GB_ADDR_CONFIG", 4 << 12),
                ("SDMA_GB_ADDR_CONFIG_READ", 4 << 12),
                ("SDMA_UTCL1_TIMEOUT", 0x0080_0080),
            ] {
                let address = self.of_engine(engine, name);
                self.guest.device.write(address.unwrap(), value);
            }
        } else {
            let name = format!("SDMA{engine}_UTCL1_CNTL");
            self.guest.write(Block::Gc, &name, UTCL1);
        }
    }

    /// A port to a client of that number and address.
    pub fn port(&self, first: u32, size: u8, (id, address): (u8, u8)) -> u32 {
        use nbio_7_9_0::S2A_DOORBELL_ENTRY_1_CTRL as Port;
        let bits = Value::zeroed().with(Port::S2A_DOORBELL_PORT1_ENABLE, true);
        let bits = bits.with(Port::S2A_DOORBELL_PORT1_RANGE_OFFSET, bounded(first));
        let bits = bits.with(Port::S2A_DOORBELL_PORT1_RANGE_SIZE, size).bits();
        // AWID from bit 1 on, AWADDR_31_28_VALUE from bit 28 on.
        bits | (u32::from(id) << 1) | (u32::from(address) << 28)
    }

    /// Where a register of an engine of gfx9 is.
    pub fn of_engine(&self, engine: u8, name: &str) -> Option<u64> {
        let router = rkfd_emulator::chip::router::Router::new(self.chip);
        router.address_in(Block::Sdma, engine, name)
    }

    /// Where the register is that lies so many words behind a queue's RB_CNTL (`get_sdma_rlc_reg_offset`).
    pub fn at_queue(&self, Slot { engine, queue }: Slot, place: u64) -> u64 {
        let first = match self.is_gfx9() {
            true => self.of_engine(engine, "SDMA_RLC0_RB_CNTL"),
            false => {
                let name = format!("SDMA{engine}_QUEUE0_RB_CNTL");
                self.guest.find(Block::Gc, &name)
            }
        };
        first.unwrap() + 4 * (0x58 * u64::from(queue) + place)
    }

    /// Reads that register, through the bridge's window where BAR5 does not reach.
    pub fn of_queue(&self, slot: Slot, place: u64) -> u32 {
        let at = self.at_queue(slot, place);
        if at < self.chip.mmio_size {
            return self.guest.device.read(at);
        }
        let index = "BIF_BX0_PCIE_INDEX2";
        self.guest.write(Block::Nbio, index, at as u32);
        self.guest.read(Block::Nbio, "BIF_BX0_PCIE_DATA2")
    }

    /// Takes a queue off by registers: that of gfx9 as `kgd_gfx_v9_4_3_hqd_sdma_destroy` does, the other
    /// by a reset of its engine as `sdma_v7_0_soft_reset`.
    pub fn take_off(&self, Slot { engine, queue }: Slot) {
        let device = &self.guest.device;
        if self.is_gfx9() {
            let at = |what: &str| self.of_engine(engine, &format!("SDMA_RLC{queue}_{what}"));
            device.write(at("RB_CNTL").unwrap(), 0);
            self.wait(|| device.read(at("CONTEXT_STATUS").unwrap()) & 4 != 0);
            device.write(at("DOORBELL").unwrap(), 0);
        } else {
            let bit = 1 << (23 + engine);
            let control = format!("SDMA{engine}_MCU_CNTL");
            self.guest.write(Block::Gc, &control, 3);
            settle();
            self.guest.write(Block::Gc, "GRBM_SOFT_RESET", bit);
            settle();
            self.guest.write(Block::Gc, "GRBM_SOFT_RESET", 0);
            self.guest.write(Block::Gc, &control, 0);
        }
    }

    /// Writes `CNTL` of an engine. Bit 0 is TRAP_ENABLE; bit 1 is there on gfx9 only.
    pub fn control(&self, engine: u8, value: u32) {
        let address = if self.is_gfx9() {
            self.of_engine(engine, "SDMA_CNTL")
        } else {
            self.guest.find(Block::Gc, &format!("SDMA{engine}_CNTL"))
        };
        // AUTO_CTXSW_ENABLE, without which gfx9 has no turn for processes.
        let value = match self.is_gfx9() {
            true => value | (1 << 18),
            false => value & !2,
        };
        self.guest.device.write(address.unwrap(), value);
    }

    /// Maps VRAM from 0 on at [`VA`], by big pages, the last one by a small read-only one.
    fn map_space(&self) {
        let soc = &self.guest.device.soc;
        let vram = soc.memory.vram;
        let put = |at: u64, value: u64| testkit::put(vram, at, value);
        // Where nothing is mapped: `amdgpu_vm_pt_clear`.
        let fill = |tables: &[u64], entry: u64| {
            for &table in tables {
                (0..512u64).for_each(|n| put(table + n * 8, entry));
            }
        };
        let root = KERNEL + (1 << 20);
        let rights = pte::VALID | pte::READABLE | pte::WRITEABLE;
        let hub = (self.chip.sdma.generation.hub)(0);
        if self.is_gfx9() {
            // Two directories, then a block of 2^18 pages with entries of 512 pages.
            let (pdb1, block, small) = (root + PAGE, root + 2 * PAGE, root + 3 * PAGE);
            fill(&[root, pdb1], pte::PDE_PTE);
            fill(&[block], PAGE);
            put(root + (VA >> 39) * 8, pdb1 | pte::VALID);
            let bfs = 9u64 << 59;
            put(pdb1 + ((VA >> 30) & 0x1ff) * 8, block | pte::VALID | bfs);
            for big in 0..SPACE >> 21 {
                put(block + big * 8, (big << 21) | rights);
            }
            let last = (SPACE >> 21) - 1;
            put(block + last * 8, small | pte::VALID | (1 << 56));
            for page in 0..512u64 {
                let mut entry = ((last << 21) + page * PAGE) | rights;
                if page == 511 {
                    entry &= !pte::WRITEABLE;
                }
                put(small + page * 8, entry);
            }
            testkit::user_context(&soc.memory, hub, VMID, root);
        } else {
            let (pdb1, pdb0, small) = (root + PAGE, root + 2 * PAGE, root + 3 * PAGE);
            let leaf = 1u64 << 63;
            fill(&[root, pdb1, pdb0], leaf);
            put(root + (VA >> 39) * 8, pdb1 | pte::VALID);
            put(pdb1 + ((VA >> 30) & 0x1ff) * 8, pdb0 | pte::VALID);
            for big in 0..SPACE >> 21 {
                put(pdb0 + big * 8, (big << 21) | rights | leaf);
            }
            let last = (SPACE >> 21) - 1;
            put(pdb0 + last * 8, small | pte::VALID);
            for page in 0..512u64 {
                let mut entry = ((last << 21) + page * PAGE) | rights | leaf;
                if page == 511 {
                    entry &= !pte::WRITEABLE;
                }
                put(small + page * 8, entry);
            }
            let mut r = soc.memory.hub(hub).registers();
            let n = usize::from(VMID);
            // ENABLE_CONTEXT, PAGE_TABLE_DEPTH 3, faults to the default page.
            r.cntl[n] = 1 | (3 << 1) | 0x00aa_a800;
            r.base[n] = [root as u32 | 1, (root >> 32) as u32];
            r.start[n] = [0, 0];
            r.end[n] = [0xffff_ffff, 0xf];
        }
        soc.memory.flush_hdp();
    }

    fn space(&self) -> rkfd_emulator::memory::Space<'_> {
        let memory = &self.guest.device.soc.memory;
        memory.space((self.chip.sdma.generation.hub)(0), VMID)
    }

    pub fn read(&self, va: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        self.space().read(va, &mut out).unwrap();
        out
    }

    /// Writes where the process may not, too.
    pub fn write(&self, va: u64, bytes: &[u8]) {
        let _ = self.space().page(va, Access::Read).unwrap();
        let vram = self.guest.device.soc.memory.vram;
        assert!(vram.part(va - VA, bytes.len()).unwrap().write(0, bytes));
    }

    pub fn word(&self, va: u64) -> u32 {
        u32::from_le_bytes(self.read(va, 4).try_into().unwrap())
    }

    pub fn wide(&self, va: u64) -> u64 {
        u64::from_le_bytes(self.read(va, 8).try_into().unwrap())
    }

    /// A pattern at an address.
    pub fn pattern(&self, va: u64, bytes: u64, seed: u64) {
        let all: Vec<u8> = (0..bytes).map(|at| byte(at, seed)).collect();
        self.write(va, &all);
    }

    /// The MQD that Linux fills in for a ring (`update_mqd_sdma` of v9 and v12).
    pub fn mqd(&self, r: &Ring) -> Vec<u32> {
        let (base, size) = (r.ring >> 8, (RING / 4).ilog2());
        let mut m = vec![0u32; 128];
        let mut put = |word: usize, value: u32| m[word] = value;
        if self.is_gfx9() {
            use v9::SdmaMqd as M;
            put(
                M::SDMAX_RLCX_RB_CNTL.word(),
                (size << 1) | (1 << 12) | (6 << 16),
            );
            put(M::SDMAX_RLCX_RB_BASE.word(), base as u32);
            put(M::SDMAX_RLCX_RB_BASE.word() + 1, (base >> 32) as u32);
            put(M::SDMAX_RLCX_RB_RPTR_ADDR_LO.word(), r.rptr as u32);
            put(M::SDMAX_RLCX_RB_RPTR_ADDR_HI.word(), (r.rptr >> 32) as u32);
            put(M::SDMAX_RLCX_DOORBELL_OFFSET.word(), r.bell << 2);
            put(M::SDMAX_RLCX_DUMMY_REG.word(), 0xf);
            put(M::SDMAX_RLCX_IB_CNTL.word(), 0x100);
        } else {
            use v12::SdmaMqd as M;
            let control = (size << 1) | (1 << 12) | (6 << 16) | (1 << 11);
            put(M::SDMAX_RLCX_RB_CNTL.word(), control);
            put(M::SDMAX_RLCX_RB_BASE.word(), base as u32);
            put(M::SDMAX_RLCX_RB_BASE.word() + 1, (base >> 32) as u32);
            put(M::SDMAX_RLCX_RB_RPTR_ADDR.word(), r.rptr as u32);
            put(M::SDMAX_RLCX_RB_RPTR_ADDR.word() + 1, (r.rptr >> 32) as u32);
            put(M::SDMAX_RLCX_RB_WPTR_POLL_ADDR.word(), r.wptr as u32);
            put(
                M::SDMAX_RLCX_RB_WPTR_POLL_ADDR.word() + 1,
                (r.wptr >> 32) as u32,
            );
            put(M::SDMAX_RLCX_DOORBELL_OFFSET.word(), r.bell << 2);
            put(M::SDMAX_RLCX_SCHED_CNTL.word(), 32 << 8);
            put(M::SDMAX_RLCX_DUMMY_REG.word(), 0xf);
            put(M::SDMAX_RLCX_IB_CNTL.word(), 0x100);
        }
        put(126, r.slot.engine.into());
        put(127, r.slot.queue.into());
        m
    }

    pub fn mapping(&self, r: &Ring) -> Mapping {
        Mapping {
            engine: Some(r.slot.engine),
            mqd: r.mqd,
            doorbell: r.bell,
            wptr: r.wptr,
            wptr_vmid: VMID,
            vmid: VMID,
            pasid: 0x8001,
        }
    }

    pub fn put_mqd(&self, r: &Ring, words: &[u32]) {
        let vram = self.guest.device.soc.memory.vram;
        for (i, word) in words.iter().enumerate() {
            let at = r.mqd - MC + 4 * i as u64;
            assert!(vram.part(at, 4).unwrap().write(0, &word.to_le_bytes()));
        }
        self.guest.device.soc.memory.flush_hdp();
    }

    pub fn mqd_word(&self, r: &Ring, word: usize) -> u32 {
        let vram = self.guest.device.soc.memory.vram;
        testkit::get_words::<1>(vram, r.mqd - MC + 4 * word as u64)[0]
    }

    /// A queue of an engine that is not mapped. Its doorbell is Linux's (`allocate_doorbell`), in
    /// the doorbells of the third process.
    pub fn ring(&self, engine: u8, queue: u8) -> Ring {
        let n = u64::from(engine) * 8 + u64::from(queue);
        let at = VA + (1 << 20) + n * 4 * PAGE;
        let base = 0x100 + 10 * u32::from(engine);
        let base = if self.is_gfx9() {
            base.next_multiple_of(4)
        } else {
            base
        };
        let id = base + u32::from(queue & 1) * 512 + u32::from(queue >> 1);
        let ring = Ring {
            mqd: MC + KERNEL + (2 << 20) + n * PAGE,
            ring: at,
            rptr: at + PAGE + 0x10,
            wptr: at + PAGE + 0x08,
            bell: 3 * 2048 + 2 * id,
            slot: Slot { engine, queue },
            written: 0,
        };
        self.put_mqd(&ring, &self.mqd(&ring));
        ring
    }

    pub fn map(&self, r: &Ring) {
        let sdma = &self.guest.device.sdma;
        assert_eq!(sdma.map(&self.mapping(r)), Ok(r.slot));
    }

    pub fn mapped(&self, engine: u8, queue: u8) -> Ring {
        let ring = self.ring(engine, queue);
        self.map(&ring);
        ring
    }

    pub fn unmap(&self, r: &Ring, stop: Stop) {
        let sdma = &self.guest.device.sdma;
        sdma.stop(r.slot, stop);
        self.wait(|| sdma.state(r.slot).is_none());
    }

    /// Puts packets into the ring, without a doorbell.
    pub fn put(&self, r: &mut Ring, words: &[u32]) {
        for word in words {
            self.write(r.ring + r.written % RING, &word.to_le_bytes());
            r.written += 4;
        }
        self.write(r.wptr, &r.written.to_le_bytes());
    }

    pub fn ring_bell(&self, r: &Ring) {
        self.guest.device.soc.doorbells.store(r.bell, r.written);
    }

    /// Puts packets into the ring and waits until the engine has read them.
    pub fn run(&self, r: &mut Ring, words: &[u32]) {
        self.put(r, words);
        self.ring_bell(r);
        self.wait(|| self.wide(r.rptr) == r.written);
    }

    pub fn wait(&self, done: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(600);
        while !done() {
            assert!(
                Instant::now() < until,
                "timeout; violations: {:?}",
                self.guest.findings()
            );
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// The next interrupt, if there is one.
    pub fn interrupt(&mut self) -> Option<[u32; 8]> {
        let wptr = u64::from(self.guest.read(Block::Osssys, "IH_RB_WPTR"));
        if wptr == self.ih_read {
            return None;
        }
        let vram = self.guest.device.soc.memory.vram;
        let entry = testkit::get_words(vram, IH + self.ih_read);
        self.ih_read = (self.ih_read + 32) % IH_SIZE;
        Some(entry)
    }

    /// The violations so far are these, no other ones.
    pub fn expect(&self, texts: &[&str]) {
        let all = self.guest.findings();
        let fits = all.len() == texts.len() && all.iter().zip(texts).all(|(v, t)| v.contains(t));
        assert!(fits, "{all:?} instead of {texts:?}");
    }
}

pub fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// A number that a test knows to fit.
fn bounded<const W: u32>(value: u32) -> Bounded<W> {
    Bounded::try_new(value.into()).expect("the number fits")
}
