// SPDX-License-Identifier: MIT OR Apache-2.0

//! The queue that the kernel's driver sets up by registers, in VMID 0, as Linux does in
//! `sdma_v4_4_2_gfx_resume` and `sdma_v7_0_gfx_resume_instance`.

use crate::rig::{byte, halves, Rig, CHIPS, MC, RING, VA, VMID};
use crate::{copy, fence};
use rkfd_emulator::chip::budget;
use rkfd_emulator::chip::router::Router;
use rkfd_hw::regs::Block;
use std::time::Duration;

/// Where ring and pointers lie in VRAM, and what is copied and filled.
const PLACE: u64 = 2 << 20;
const A: u64 = 16 << 20;
pub(super) const B: u64 = 64 << 20;
/// The engine that it is of.
pub(super) const ENGINE: u8 = 1;

/// The kernel's queue, and the driver's side of it.
pub(super) struct Kernel {
    pub rig: Rig,
    written: u64,
}

impl Kernel {
    pub fn new(rig: Rig) -> Self {
        let mut kernel = Self { rig, written: 0 };
        kernel.start();
        kernel
    }

    pub fn each(test: impl Fn(Self)) {
        CHIPS
            .into_iter()
            .map(|chip| Self::new(Rig::new(chip)))
            .for_each(test);
    }

    fn address(&self, what: &str) -> u64 {
        let (rig, engine) = (&self.rig, ENGINE);
        let address = if rig.is_gfx9() {
            let name = format!("SDMA_GFX_{what}");
            Router::new(rig.chip).address_in(Block::Sdma, engine, &name)
        } else {
            let name = format!("SDMA{engine}_QUEUE0_{what}");
            rig.guest.find(Block::Gc, &name)
        };
        address.expect("the chip has the register")
    }

    pub fn reg(&self, what: &str) -> u32 {
        self.rig.guest.device.read(self.address(what))
    }

    pub fn set(&self, what: &str, value: u32) {
        self.rig.guest.device.write(self.address(what), value);
    }

    fn wide(&self, low: &str, high: &str, value: u64) {
        let [l, h] = halves(value);
        self.set(high, h);
        self.set(low, l);
    }

    fn bell(&self) -> u32 {
        0x200 + 20 * u32::from(ENGINE)
    }

    /// Everything but RB_ENABLE; what RB_CNTL gets with it.
    pub fn prepare(&self) -> u32 {
        let control = self.reg("RB_CNTL") & !0x3f | ((RING / 4).ilog2() << 1);
        let control = if self.rig.is_gfx9() {
            control
        } else {
            control | (1 << 23)
        };
        self.set("RB_CNTL", control);
        let pointers = MC + PLACE + RING;
        self.wide("RB_RPTR_ADDR_LO", "RB_RPTR_ADDR_HI", pointers);
        self.set("RB_BASE", ((MC + PLACE) >> 8) as u32);
        self.set("RB_BASE_HI", ((MC + PLACE) >> 40) as u32);
        self.set("MINOR_PTR_UPDATE", 1);
        self.wide("RB_RPTR", "RB_RPTR_HI", 0);
        self.wide("RB_WPTR", "RB_WPTR_HI", 0);
        self.set("DOORBELL", 1 << 28);
        self.set("DOORBELL_OFFSET", self.bell() << 2);
        self.set("MINOR_PTR_UPDATE", 0);
        self.wide("RB_WPTR_POLL_ADDR_LO", "RB_WPTR_POLL_ADDR_HI", pointers + 8);
        // RPTR_WRITEBACK_ENABLE; gfx12: MCU_WPTR_POLL_ENABLE, too.
        control | (1 << 12) | if self.rig.is_gfx9() { 0 } else { 1 << 11 }
    }

    pub fn start(&mut self) {
        self.put(PLACE + RING, &[0; 16]);
        self.written = 0;
        let control = self.prepare();
        self.set("RB_CNTL", control | 1);
        self.set("IB_CNTL", 0x101);
    }

    pub fn stop(&self) {
        self.set("RB_CNTL", self.reg("RB_CNTL") & !1);
        self.rig.wait(|| self.reg("CONTEXT_STATUS") & 4 != 0);
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        let memory = &self.rig.guest.device.soc.memory;
        assert!(memory.vram.part(at, bytes.len()).unwrap().write(0, bytes));
        memory.flush_hdp();
    }

    fn get(&self, at: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        let vram = self.rig.guest.device.soc.memory.vram;
        assert!(vram.part(at, bytes).unwrap().read(0, &mut out));
        out
    }

    pub fn word(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.get(at, 4).try_into().unwrap())
    }

    fn rptr(&self) -> u64 {
        u64::from_le_bytes(self.get(PLACE + RING, 8).try_into().unwrap())
    }

    /// Puts packets into the ring and the write pointer into memory; rings no doorbell.
    pub fn write(&mut self, words: &[u32]) {
        for word in words {
            self.put(PLACE + self.written % RING, &word.to_le_bytes());
            self.written += 4;
        }
        self.put(PLACE + RING + 8, &self.written.to_le_bytes());
    }

    pub fn ring(&self) {
        self.rig
            .guest
            .device
            .soc
            .doorbells
            .store(self.bell(), self.written);
    }

    pub fn run(&mut self, words: &[u32]) {
        self.write(words);
        self.ring();
        self.rig.wait(|| self.rptr() == self.written);
    }

    /// CONST_FILL as Linux clears VRAM with (`sdma_v4_4_2_emit_fill_buffer`, `sdma_v7_0_...`).
    fn fill(&self, at: u64, bytes: u64) -> Vec<u32> {
        let [low, high] = halves(MC + at);
        let compress = if self.rig.is_gfx9() { 0 } else { 1 << 16 };
        vec![11 | compress, low, high, 0, (bytes - 1) as u32]
    }

    fn pattern(&self, at: u64, bytes: u64) {
        let all: Vec<u8> = (0..bytes).map(|n| byte(n, at)).collect();
        self.put(at, &all);
    }

    fn held(&self) -> u64 {
        self.rig.guest.device.soc.memory.vram.held()
    }
}

#[test]
fn it_copies_fills_and_reports_as_linux_uses_it() {
    Kernel::each(|mut kernel| {
        kernel.pattern(A, 10_000);
        kernel.pattern(B, 20_000);
        let mut packets = kernel.fill(B + 4096, 8192);
        packets.extend(copy(MC + A, MC + B + 12_288, 5000));
        packets.extend(fence(MC + B, 77));
        packets.extend([6, 0, 0]);
        kernel.run(&packets);
        assert_eq!(kernel.word(B), 77);
        assert!(kernel.get(B + 4096, 8192).iter().all(|&b| b == 0));
        assert_eq!(kernel.get(B + 12_288, 5000), kernel.get(A, 5000));
        assert_eq!(kernel.get(B + 4095, 1), [byte(4095, B)]);
        // The trap is of nobody's address space, and of the ring that Linux knows as this one.
        let entry = kernel.rig.interrupt().unwrap();
        let (client, source) = if kernel.rig.is_gfx9() {
            (9, 224)
        } else {
            (10, 49)
        };
        let ring_id = if kernel.rig.is_gfx9() { 0 } else { 0x10 };
        assert_eq!([entry[0] & 0xff, (entry[0] >> 8) & 0xff], [client, source]);
        assert_eq!((entry[0] >> 16) & 0xff, ring_id);
        assert_eq!(((entry[0] >> 24) & 0xf, entry[3] & 0xffff), (0, 0));
        kernel.rig.control(ENGINE, 2);
        kernel.run(&[6, 0]);
        assert_eq!(kernel.rig.interrupt(), None);
        // Pointers go round the ring, and registers show them.
        for n in 0..400 {
            kernel.run(&fence(MC + B, n));
        }
        assert!(kernel.written > RING);
        let shown = (kernel.reg("RB_RPTR"), kernel.reg("RB_WPTR"));
        assert_eq!(shown, (kernel.written as u32, kernel.written as u32));
        kernel.rig.expect(&[]);
    });
}

#[test]
fn what_a_running_process_reaches_by_a_tlb_is_neither_cleared_nor_written() {
    Kernel::each(|mut kernel| {
        let memory = kernel.rig.guest.device.soc.memory.clone();
        let hub = (kernel.rig.chip.sdma.generation.hub)(0);
        let read = |va: u64| memory.space(hub, VMID).load_u64(va).unwrap();
        memory.set_users(1 << VMID);
        // Two fragments, of which the page table has none any more.
        read(VA + A);
        read(VA + B);
        kernel.run(&kernel.fill(A, 4096));
        kernel.rig.expect(&[]);
        memory.hub(hub).registers().base[usize::from(VMID)] = [1, 0];
        for packets in [kernel.fill(A, 4096), copy(MC + A, MC + B, 64)] {
            kernel.run(&packets);
        }
        let finding = |at: u64| {
            format!("violation: {hub} hub VMID {VMID}: VRAM at {at:#x} is written for the kernel")
        };
        // The read pointer may be seen a moment before them.
        (kernel.rig).wait(|| kernel.rig.guest.findings().len() == 2);
        let found = kernel.rig.guest.findings();
        let [cleared, copied] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(
            cleared.starts_with(&finding(A)) && copied.starts_with(&finding(B)),
            "{found:?}"
        );
        memory.hub(hub).invalidate(1 << VMID);
        kernel.run(&kernel.fill(A, 4096));
        assert_eq!(kernel.rig.guest.findings().len(), 2);
    });
}

#[test]
fn far_more_than_the_host_gives_can_be_cleared() {
    Kernel::each(|mut kernel| {
        const LIMIT: u64 = 24 << 20;
        const PIECE: u64 = 12 << 20;
        budget::watch(&kernel.rig.guest.device, LIMIT).unwrap();
        // What nobody wrote costs nothing to clear.
        let before = kernel.held();
        let packet = kernel.fill(B, 96 << 20);
        kernel.run(&packet);
        // But for the pages of the ring.
        assert!(kernel.held() <= before + (1 << 16));
        // What was written is given back: here eight times the limit in all.
        for n in 0..16 {
            let at = A + n % 8 * PIECE;
            kernel.pattern(at, PIECE);
            let packet = kernel.fill(at, PIECE);
            kernel.run(&packet);
            assert!(kernel.held() < before + (1 << 20));
            // A look takes the page from the host again.
            for byte in [0, PIECE / 2 + 5, PIECE - 1] {
                assert_eq!(kernel.get(at + byte, 1), [0]);
            }
        }
        std::thread::sleep(Duration::from_millis(50));
        assert!(!kernel.rig.guest.device.is_off_the_bus());
        kernel.rig.expect(&[]);
    });
}

/// The process' queue of the engine waits meanwhile, and goes on after a reset of the kernel's alone
/// (`mes_v12_0_reset_queue_mmio`), which gfx9 doesn't have.
#[test]
fn a_fill_that_hangs_has_the_engine_until_its_queue_is_reset() {
    for chip in CHIPS {
        let rig = Rig::with(chip, &["at the 1st kernel fill: hang"]);
        let mut kernel = Kernel::new(rig);
        let mut other = kernel.rig.mapped(ENGINE, 3);
        let at = VA + (100 << 20);
        kernel.rig.run(&mut other, &fence(at, 1));
        let fill = kernel.fill(B, 4096);
        kernel.write(&fill);
        kernel.ring();
        std::thread::sleep(Duration::from_millis(50));
        kernel.rig.put(&mut other, &fence(at, 2));
        kernel.rig.ring_bell(&other);
        kernel.set("RB_CNTL", kernel.reg("RB_CNTL") & !1);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!((kernel.rptr(), kernel.rig.word(at)), (0, 1));
        assert_eq!(kernel.reg("CONTEXT_STATUS") & 4, 0, "not idle");
        if kernel.rig.is_gfx9() {
            continue;
        }
        let request = "SDMA1_QUEUE_RESET_REQ";
        kernel.rig.guest.write(Block::Gc, request, 1);
        let request = kernel.rig.guest.find(Block::Gc, request).unwrap();
        let device = &kernel.rig.guest.device;
        kernel.rig.wait(|| device.read(request) == 0);
        kernel.rig.wait(|| kernel.rig.word(at) == 2);
        assert_eq!(kernel.reg("RB_CNTL") & 1, 0);
        kernel.start();
        kernel.run(&fence(MC + B, 3));
        assert_eq!(kernel.word(B), 3);
        // There is no ninth.
        device_refuses(&kernel.rig, request);
    }
}

fn device_refuses(rig: &Rig, request: u64) {
    rig.guest.device.write(request, 1 << 8);
    rig.expect(&["an engine has 8 queues"]);
}

#[test]
fn it_stops_and_starts_anew() {
    Kernel::each(|mut kernel| {
        kernel.run(&fence(MC + B, 1));
        kernel.rig.wait(|| kernel.reg("RB_RPTR") == 16);
        kernel.stop();
        assert_eq!(kernel.reg("RB_RPTR"), 16, "where it was");
        kernel.write(&fence(MC + B, 2));
        kernel.ring();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(kernel.word(B), 1);
        // From the start of its ring again, at once and while it runs.
        kernel.start();
        kernel.run(&fence(MC + B, 3));
        assert_eq!(kernel.word(B), 3);
        let off = kernel.reg("RB_CNTL") & !1;
        kernel.set("RB_CNTL", off);
        kernel.start();
        kernel.run(&fence(MC + B, 4));
        assert_eq!(kernel.word(B), 4);
        // Without MINOR_PTR_UPDATE the write pointer doesn't go back: old packets run again.
        kernel.put(B, &[9; 4]);
        kernel.stop();
        kernel.put(PLACE + RING, &[0; 16]);
        kernel.set("RB_RPTR", 0);
        kernel.set("RB_WPTR", 0);
        assert_eq!(kernel.reg("RB_WPTR"), 16);
        kernel.set("RB_CNTL", off | 1);
        kernel.rig.wait(|| kernel.word(B) == 4);
        kernel.rig.expect(&[]);
        // A reset leaves none.
        kernel.rig.guest.device.reset();
        assert_eq!(kernel.reg("RB_CNTL") & 1, 0);
    });
}

#[test]
fn the_write_pointer_in_memory_is_found_when_it_begins() {
    for chip in CHIPS {
        let mut kernel = Kernel::new(Rig::new(chip));
        kernel.stop();
        kernel.start();
        kernel.stop();
        kernel.written = 0;
        kernel.put(PLACE + RING, &[0; 8]);
        kernel.write(&fence(MC + B, 5));
        // Linux turns this on for guests of a hypervisor (`amdgpu_sriov_vf`), on gfx12 always.
        if kernel.rig.is_gfx9() {
            kernel.set("RB_WPTR_POLL_CNTL", kernel.reg("RB_WPTR_POLL_CNTL") | 4);
        }
        let control = kernel.prepare();
        kernel.set("RB_CNTL", control | 1);
        kernel.rig.wait(|| kernel.word(B) == 5);
        kernel.rig.expect(&[]);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for chip in CHIPS {
        let mut kernel = Kernel::new(Rig::new(chip));
        kernel.stop();
        let cases: [(&str, u32, &str); 5] = [
            ("RB_BASE", 0, "RB_BASE is 0"),
            ("DOORBELL", 0, "without a doorbell"),
            ("DOORBELL_OFFSET", 0x205 << 2, "64-bit boundary"),
            ("RB_RPTR_ADDR_LO", 4, "RB_RPTR_ADDR"),
            ("RB_RPTR", 64, "RB_RPTR and RB_WPTR"),
        ];
        for (n, (what, value, why)) in cases.into_iter().enumerate() {
            let control = kernel.prepare();
            kernel.set(what, value);
            if what == "RB_BASE" {
                kernel.set("RB_BASE_HI", 0);
            }
            kernel.set("RB_CNTL", control | 1);
            let all = kernel.rig.guest.findings();
            assert!(
                all.len() == n + 1 && all[n].contains(why),
                "{all:?}, not {why}"
            );
            assert_eq!(kernel.reg("RB_CNTL") & 1, 0);
        }
        let control = kernel.prepare();
        kernel.set("RB_CNTL", (control & !0x3e) | 1);
        kernel.set("RB_CNTL", control | (1 << 24) | 1);
        // While it runs its registers are not written.
        kernel.start();
        kernel.set("RB_BASE", 1);
        kernel.set("RB_CNTL", control | (1 << 16) | 1);
        let all = kernel.rig.guest.findings().split_off(cases.len());
        let why = [
            "RB_SIZE 0",
            "RB_CNTL has bits 0x1000000",
            "RB_ENABLE",
            "RB_ENABLE",
        ];
        let fits = all.len() == why.len() && all.iter().zip(why).all(|(v, w)| v.contains(w));
        assert!(fits, "{all:?} instead of {why:?}");
        kernel.run(&fence(MC + B, 6));
        assert_eq!(kernel.word(B), 6);
    }
}

#[test]
fn what_it_does_wrong_is_the_drivers_fault_and_processes_go_on() {
    for chip in CHIPS {
        // An address of nothing, an unknown packet.
        for (packet, why) in [
            (fence(1 << 46, 1), "violation: SDMA, the kernel's queue: "),
            (
                vec![99],
                "violation: SDMA, the kernel's queue: unknown packet",
            ),
        ] {
            let mut kernel = Kernel::new(Rig::new(chip));
            let mut ring = kernel.rig.mapped(ENGINE, 2);
            kernel.write(&packet);
            kernel.ring();
            kernel.rig.wait(|| !kernel.rig.guest.findings().is_empty());
            assert!(kernel.rig.guest.findings()[0].contains(why));
            kernel.rig.run(&mut ring, &fence(crate::A, 8));
            assert_eq!(kernel.rig.word(crate::A), 8);
            assert_eq!(kernel.rptr(), 0, "it halted");
        }
    }
}

/// Linux halts the engines and then turns the address translation off, and waits for nothing in between
/// (`sdma_v7_0_hw_fini`, `gmc_v12_0_gart_disable`).
#[test]
fn a_halted_engine_touches_no_memory() {
    Kernel::each(|mut kernel| {
        const MANY: u64 = 32 << 20;
        for n in 0..4 {
            let mut fill = kernel.fill(B + n * MANY, MANY);
            fill[3] = 0x5a5a_5a5a;
            kernel.write(&fill);
        }
        kernel.ring();
        kernel.rig.wait(|| kernel.get(B, 1) == [0x5a]);
        let halt = match kernel.rig.is_gfx9() {
            true => kernel.rig.of_engine(ENGINE, "SDMA_F32_CNTL"),
            false => kernel.rig.guest.find(Block::Gc, "SDMA1_MCU_CNTL"),
        };
        let device = &kernel.rig.guest.device;
        device.write(halt.expect("the chip has the register"), 1);
        let memory = &device.soc.memory;
        memory.hubs().for_each(|hub| memory.hub(hub).reset());
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(kernel.rig.guest.findings(), Vec::<String>::new());
    });
}

/// An engine that hangs has its packet: it doesn't read the ring again, also where Linux leaves it running and turns the
/// address translation off (`sdma_v4_4_2_inst_enable` with firmware of the security processor).
#[test]
fn a_hung_packet_is_not_read_again() {
    for chip in CHIPS {
        let mut kernel = Kernel::new(Rig::with(chip, &["at the 1st kernel fill: hang"]));
        let fill = kernel.fill(B, 4096);
        kernel.write(&fill);
        kernel.ring();
        std::thread::sleep(Duration::from_millis(100));
        let memory = &kernel.rig.guest.device.soc.memory;
        memory.hubs().for_each(|hub| memory.hub(hub).reset());
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(kernel.rig.guest.findings(), Vec::<String>::new());
    }
}

/// `sdma_v4_4_2_vm_set_pte_pde`, `_ring_emit_wreg` and `_ring_emit_hdp_flush` (`sdma_v7_0_...`).
#[test]
fn it_writes_page_tables_and_reaches_registers() {
    Kernel::each(|mut kernel| {
        let [low, high] = halves(MC + A);
        kernel.run(&[12, low, high, 0x71, 0x8000_0000, 0x5000, 1, 0x1000, 0, 2]);
        let bytes = kernel.get(A, 24);
        let entries = bytes.chunks_exact(8);
        let entries = entries.map(|entry| u64::from_le_bytes(entry.try_into().unwrap()));
        let expected = [0x5071, 0x6071, 0x7071].map(|low| low | (1 << 63) | (1 << 32));
        assert_eq!(entries.collect::<Vec<u64>>(), expected);
        let at = |name: &str| kernel.rig.guest.address(Block::Nbio, name) as u32;
        let scratch = at("BIF_BX0_BIOS_SCRATCH_3");
        let flush = [
            at("BIF_BX_PF0_GPU_HDP_FLUSH_DONE"),
            at("BIF_BX_PF0_GPU_HDP_FLUSH_REQ"),
        ];
        // 4.4.2 has the register's number and which bytes are written, 7.0 its address.
        let write = match kernel.rig.chip.name {
            "AMD Instinct MI308X" => [14 | (0xf << 28), scratch / 4],
            _ => [14, scratch],
        };
        kernel.run(&[write[0], write[1], 0x1234_5678]);
        assert_eq!(kernel.rig.guest.device.read(scratch.into()), 0x1234_5678);
        // Waits for a register alone, then asks for a flush and waits for its end.
        kernel.run(&[8 | (3 << 28), scratch, 0, 0x78, 0xff, 0x0fff_000a]);
        let bit = 1 << 10;
        kernel.run(&[0x3400_0008, flush[0], flush[1], bit, bit, 0x0fff_000a]);
        kernel.stop();
        assert_eq!(kernel.rig.guest.findings(), Vec::<String>::new());
    });
}

/// Linux stops the queue, halts the engine where its program is in memory, and only then turns the address translation
/// off (`sdma_v4_4_2_hw_fini`, `sdma_v7_0_hw_fini`).
#[test]
fn its_hub_is_turned_off_after_the_engine() {
    for chip in CHIPS {
        // With the queue on, with the engine running, and with neither.
        for (stop, halt) in [(false, false), (true, false), (true, true)] {
            let kernel = Kernel::new(Rig::new(chip));
            let (rig, gfx9) = (&kernel.rig, kernel.rig.is_gfx9());
            let halts = match gfx9 {
                true => rig.of_engine(ENGINE, "SDMA_F32_CNTL"),
                false => rig.guest.find(Block::Gc, "SDMA1_MCU_CNTL"),
            };
            let halts = halts.expect("the chip has the register");
            rig.guest.device.write(halts, 0);
            if stop {
                kernel.stop();
            }
            if halt {
                rig.guest.device.write(halts, 1);
            }
            match gfx9 {
                true => rig.guest.write(Block::Mmhub, "VM_CONTEXT0_CNTL", 0),
                false => rig.guest.write(Block::Gc, "GCVM_CONTEXT0_CNTL", 0),
            }
            let all = rig.guest.findings();
            // The engine of gfx9 has its program inside.
            let why = match (stop, halt || gfx9) {
                (false, _) => "engine 1 reads its ring (RB_ENABLE) by it",
                (true, false) => "engine 1 isn't halted and reads its program by it",
                (true, true) => {
                    assert_eq!(all, [""; 0]);
                    continue;
                }
            };
            assert!(
                all.first().is_some_and(|one| one.contains(why)),
                "{all:?}, not {why}"
            );
        }
    }
}
