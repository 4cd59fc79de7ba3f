// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interrupt ring: entries, wrap, overflow, the message and when it is sent again.

use rkfd_emulator::device::interrupt::Interrupt;
use rkfd_emulator::device::Env as _;
use rkfd_emulator::memory::{Access, FaultReason, Hub, VmFault};
use rkfd_emulator_testkit::{get_words, put, Guest, FAULT_DEFAULTS, RAM};
use rkfd_hw::regs::Block;
use rustix::event::{eventfd, EventfdFlags};
use std::fs::File;
use std::io::Read;

const RING: u64 = 0x1000;
const WPTR: u64 = 0x3000;
/// 256 bytes: eight entries.
const SIZE_FIELD: u32 = 6;
const SIZE: u32 = 4 << SIZE_FIELD;

const ENABLE: u32 = 1;
const TIME: u32 = 1 << 7;
const WRITEBACK: u32 = 1 << 8;
const OVERFLOW_ENABLE: u32 = 1 << 16;
const ENABLE_INTR: u32 = 1 << 17;
const REARM: u32 = 1 << 21;
const BUS: u32 = 1 << 28;
const SNOOP: u32 = 1 << 20;
const OVERFLOW_CLEAR: u32 = 1 << 31;
const CNTL: u32 = ENABLE
    | (SIZE_FIELD << 1)
    | TIME
    | WRITEBACK
    | OVERFLOW_ENABLE
    | ENABLE_INTR
    | SNOOP
    | REARM
    | BUS;

struct Handler {
    guest: Guest,
    msi: File,
}

impl Handler {
    /// The ring in system memory by bus address, as Linux sets it up.
    fn new() -> Self {
        let guest = Guest::new(&[]);
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap();
        let msi = File::from(fd);
        guest
            .device
            .soc
            .interrupts
            .set_msi(Some(msi.try_clone().unwrap()));
        guest.write(Block::Osssys, "IH_CHICKEN", 1 << 4);
        guest.write(Block::Osssys, "IH_RB_BASE", ((RAM + RING) >> 8) as u32);
        guest.write(Block::Osssys, "IH_RB_BASE_HI", ((RAM + RING) >> 40) as u32);
        guest.write(Block::Osssys, "IH_RB_WPTR_ADDR_LO", (RAM + WPTR) as u32);
        guest.write(
            Block::Osssys,
            "IH_RB_WPTR_ADDR_HI",
            ((RAM + WPTR) >> 32) as u32,
        );
        guest.write(Block::Osssys, "IH_RB_CNTL", CNTL);
        Self { guest, msi }
    }

    fn raise(&self, data: u32) {
        self.guest.device.soc.interrupt(&Interrupt {
            client: 0x14,
            source: 181,
            ring_id: 5,
            vmid: 8,
            hub: Hub::Gfx(0),
            data: [data, 2, 3, 4],
        });
    }

    /// How many messages were sent since the last call.
    fn messages(&self) -> u64 {
        let mut bytes = [0; 8];
        match (&self.msi).read_exact(&mut bytes) {
            Ok(()) => u64::from_ne_bytes(bytes),
            Err(_) => 0,
        }
    }

    fn entry(&self, n: u64) -> [u32; 8] {
        get_words(self.guest.ram, RING + 32 * n)
    }

    fn written_back(&self) -> u32 {
        get_words::<1>(self.guest.ram, WPTR)[0]
    }
}

#[test]
fn an_entry_has_every_field() {
    let h = Handler::new();
    h.guest.device.soc.pasids.bind(8, Some(0x8003));
    h.raise(0x77);
    let e = h.entry(0);
    assert_eq!(e[0], 0x14 | (181 << 8) | (5 << 16) | (8 << 24));
    assert_ne!(e[1], 0, "time");
    assert_eq!(e[3], 0x8003 | (1 << 16));
    assert_eq!(e[4..], [0x77, 2, 3, 4]);
    assert_eq!(h.written_back(), 32);
    assert_eq!(h.guest.read(Block::Osssys, "IH_RB_WPTR"), 32);
    assert_eq!(h.messages(), 1);
    // `vega20_ih_toggle_ring_interrupts` sets RB_GPU_TS_ENABLE.
    h.guest.write(Block::Osssys, "IH_RB_CNTL", CNTL & !TIME);
    h.raise(0x78);
    assert_eq!(h.entry(1)[1..3], [0, 0], "no time");
    assert_eq!(h.guest.findings(), Vec::<String>::new());
}

#[test]
fn one_message_until_the_read_pointer_moves() {
    let h = Handler::new();
    h.raise(1);
    h.raise(2);
    assert_eq!(h.messages(), 1);
    // The driver has seen only the first entry: the second needs a message of its own.
    h.guest.write(Block::Osssys, "IH_RB_RPTR", 32);
    assert_eq!(h.messages(), 1);
    h.guest.write(Block::Osssys, "IH_RB_RPTR", 64);
    assert_eq!(h.messages(), 0);
    h.raise(3);
    assert_eq!(h.messages(), 1);
    // Without rearming every entry has its message.
    h.guest.write(Block::Osssys, "IH_RB_CNTL", CNTL & !REARM);
    h.raise(4);
    h.raise(5);
    assert_eq!(h.messages(), 2);
    h.guest
        .write(Block::Osssys, "IH_RB_CNTL", CNTL & !ENABLE_INTR);
    h.raise(6);
    assert_eq!((h.messages(), h.entry(5)[4]), (0, 6));
    assert_eq!(h.guest.findings(), Vec::<String>::new());
}

#[test]
fn the_ring_wraps() {
    let h = Handler::new();
    for n in 0..20 {
        h.raise(n);
        let wptr = h.written_back();
        assert_eq!(wptr, (n + 1) * 32 % SIZE);
        assert_eq!(h.entry(u64::from(n % 8))[4], n);
        h.guest.write(Block::Osssys, "IH_RB_RPTR", wptr);
    }
    assert_eq!(h.guest.findings(), Vec::<String>::new());
}

#[test]
fn an_overflow_is_told_and_cleared() {
    let h = Handler::new();
    for n in 0..7 {
        h.raise(n);
        assert_eq!(h.written_back() & 1, 0, "entry {n}");
    }
    // The eighth fills the ring: the write pointer is at the read pointer again.
    h.raise(7);
    assert_eq!(h.written_back(), 1);
    assert_eq!(h.guest.read(Block::Osssys, "IH_RB_WPTR"), 1);
    h.raise(8);
    assert_eq!(h.entry(0)[4], 8, "the oldest is overwritten");
    assert_eq!(h.written_back(), 32 | 1);
    // Linux: read from the last entry not overwritten, clear by a change from 0 to 1.
    h.guest.write(Block::Osssys, "IH_RB_RPTR", 64);
    h.guest
        .write(Block::Osssys, "IH_RB_CNTL", CNTL | OVERFLOW_CLEAR);
    assert_eq!(h.guest.read(Block::Osssys, "IH_RB_WPTR"), 32);
    h.guest.write(Block::Osssys, "IH_RB_CNTL", CNTL);
    assert_eq!(h.guest.findings(), Vec::<String>::new());
    // With overflow disabled, what does not fit is lost.
    h.guest
        .write(Block::Osssys, "IH_RB_CNTL", CNTL & !OVERFLOW_ENABLE);
    h.raise(9);
    assert_eq!(h.written_back(), 32 | 1, "not written");
    assert_eq!(h.guest.read(Block::Osssys, "IH_RB_WPTR"), 32);
}

/// `vega20_ih_toggle_ring_interrupts`: the overflow that another driver has left is cleared when the ring is turned on.
#[test]
fn an_overflow_stays_until_the_ring_is_on() {
    let guest = Guest::new(&["at power-on: used"]);
    let set = |name, value| guest.write(Block::Osssys, name, value);
    let wptr = || guest.read(Block::Osssys, "IH_RB_WPTR");
    assert_eq!(wptr(), 0x341);
    assert_eq!(guest.read(Block::Osssys, "IH_RB_BASE_HI"), 1);
    set("IH_RB_RPTR", 0);
    set("IH_RB_WPTR", 0);
    assert_eq!(wptr(), 1);
    set("IH_RB_CNTL", (CNTL & !ENABLE) | OVERFLOW_CLEAR);
    assert_eq!(wptr(), 1, "it is off");
    set("IH_RB_CNTL", CNTL | OVERFLOW_CLEAR);
    assert_eq!(wptr(), 1, "no change of the bit");
    for cntl in [CNTL, CNTL | OVERFLOW_CLEAR, CNTL] {
        set("IH_RB_CNTL", cntl);
    }
    assert_eq!(wptr(), 0);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

/// `vega20_ih_toggle_ring_interrupts` sets both pointers to 0 when it turns a ring off.
#[test]
fn a_ring_is_empty_when_it_is_turned_on() {
    for (name, value) in [("IH_RB_WPTR", 32), ("IH_RB_RPTR", 64)] {
        let h = Handler::new();
        let set = |name, value| h.guest.write(Block::Osssys, name, value);
        set("IH_RB_CNTL", CNTL & !ENABLE);
        set(name, value);
        set("IH_RB_CNTL", CNTL);
        h.guest.expect_violation("between which nothing was stored");
    }
}

#[test]
fn the_read_pointer_comes_by_doorbell() {
    let h = Handler::new();
    let index = 0x1a0 << 1;
    h.guest.open_doorbells();
    h.guest
        .write(Block::Osssys, "IH_DOORBELL_RPTR", index | (1 << 28));
    h.raise(1);
    h.raise(2);
    assert_eq!(h.messages(), 1);
    let bar = h.guest.device.soc.doorbells.file();
    // Not routed: the doorbell goes elsewhere.
    put(bar, u64::from(index) * 4, 32);
    h.guest.device.soc.interrupts.poll();
    h.guest
        .expect_violation("doorbell 0x340 of the IH ring is not routed");
    assert_eq!(h.guest.read(Block::Osssys, "IH_RB_RPTR"), 0);
    // As nbio_v7_9_ih_doorbell_range does: range of 8 words, port 3 enabled.
    h.guest
        .write_indirect(Block::Nbio, "DOORBELL0_CTRL_ENTRY_0", index | (8 << 10));
    h.guest
        .write_indirect(Block::Nbio, "S2A_DOORBELL_ENTRY_3_CTRL", 1 | (8 << 17));
    put(bar, u64::from(index) * 4, 64);
    h.guest.device.soc.interrupts.poll();
    assert_eq!(h.guest.read(Block::Osssys, "IH_RB_RPTR"), 64);
    h.raise(3);
    assert_eq!(h.messages(), 1);
    put(bar, u64::from(index) * 4, 65);
    h.guest.device.soc.interrupts.poll();
    h.guest.expect_violation("IH read pointer 0x41");
    // Three entries were written.
    put(bar, u64::from(index) * 4, 96);
    h.guest.device.soc.interrupts.poll();
    assert_eq!(h.guest.findings().len(), 2);
    put(bar, u64::from(index) * 4, 128);
    h.guest.device.soc.interrupts.poll();
    h.guest
        .expect_violation("IH read pointer 0x80 is beyond the write pointer 0x60");
    assert_eq!(h.guest.findings().len(), 3);
}

#[test]
fn a_doorbell_of_an_earlier_driver_is_forgotten() {
    let h = Handler::new();
    let soc = &h.guest.device.soc;
    let (index, bar) = (0x1a0 << 1, soc.doorbells.file());
    let connect = |h: &Handler| {
        h.guest.open_doorbells();
        h.guest
            .write_indirect(Block::Nbio, "DOORBELL0_CTRL_ENTRY_0", index | (8 << 10));
        h.guest
            .write_indirect(Block::Nbio, "S2A_DOORBELL_ENTRY_3_CTRL", 1 | (8 << 17));
        // The pointers go back while the ring is off, as `vega20_ih_toggle_ring_interrupts` has it.
        h.guest.write(Block::Osssys, "IH_RB_CNTL", CNTL & !ENABLE);
        h.guest.write(Block::Osssys, "IH_RB_RPTR", 0);
        h.guest.write(Block::Osssys, "IH_RB_WPTR", 0);
        h.guest.write(Block::Osssys, "IH_RB_CNTL", CNTL);
        h.guest
            .write(Block::Osssys, "IH_DOORBELL_RPTR", index | (1 << 28));
    };
    for leave_enabled in [true, false, true] {
        connect(&h);
        h.raise(1);
        h.raise(2);
        assert_eq!(h.messages(), 1);
        put(bar, u64::from(index) * 4, 64);
        soc.interrupts.poll();
        assert_eq!(
            h.guest.read(Block::Osssys, "IH_RB_RPTR"),
            64,
            "the same value as last time"
        );
        h.raise(3);
        assert_eq!(h.messages(), 1);
        if !leave_enabled {
            h.guest
                .write(Block::Nbio, "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN", 0);
            assert_eq!(h.guest.read(Block::Osssys, "IH_RB_RPTR"), 64);
        }
    }
    assert_eq!(h.guest.findings(), Vec::<String>::new());
}

#[test]
fn a_message_waits_for_its_vector() {
    let h = Handler::new();
    h.guest.device.soc.interrupts.set_msi(None);
    h.raise(1);
    assert_eq!(h.messages(), 0);
    h.guest
        .device
        .soc
        .interrupts
        .set_msi(Some(h.msi.try_clone().unwrap()));
    assert_eq!(h.messages(), 1);
    // Reconnected with the message still unanswered: it is not sent twice.
    h.guest
        .device
        .soc
        .interrupts
        .set_msi(Some(h.msi.try_clone().unwrap()));
    assert_eq!(h.messages(), 0);
}

#[test]
fn the_ring_can_lie_in_the_kernels_address_space() {
    let h = Handler::new();
    let memory = &h.guest.device.soc.memory;
    rkfd_emulator_testkit::kernel_context(memory, Hub::Mm(0), 0x20_0000, 512);
    // GART pages 1 and 2: ring and write pointer. Valid, system, snooped, readable, writeable.
    put(memory.vram, 0x20_0008, (RAM + RING) | 0x67);
    put(memory.vram, 0x20_0010, (RAM + WPTR) | 0x67);
    h.guest.write(Block::Osssys, "IH_RB_CNTL", 0);
    h.guest.write(Block::Osssys, "IH_RB_BASE", 0x1000 >> 8);
    h.guest.write(Block::Osssys, "IH_RB_BASE_HI", 0);
    h.guest.write(Block::Osssys, "IH_RB_WPTR_ADDR_LO", 0x2000);
    h.guest.write(Block::Osssys, "IH_RB_WPTR_ADDR_HI", 0);
    h.guest
        .write(Block::Osssys, "IH_RB_CNTL", CNTL & !(7 << 28) | (4 << 28));
    h.raise(0x55);
    assert_eq!(
        (h.entry(0)[4], h.written_back(), h.messages()),
        (0x55, 32, 1)
    );
    assert_eq!(h.guest.findings(), Vec::<String>::new());
    // A ring that GART does not map is the driver's bug.
    h.guest.write(Block::Osssys, "IH_RB_BASE", 0x7000 >> 8);
    h.raise(0x56);
    h.guest
        .expect_violation("IH ring or write pointer: Mm hub VMID 0");
}

#[test]
fn a_wrong_set_up_is_refused() {
    let h = Handler::new();
    for (name, value) in [
        ("IH_RB_CNTL", CNTL | (1 << 23)),
        ("IH_RB_CNTL", CNTL & !(0x1f << 1)),
        ("IH_RB_BASE_HI", 0x100),
        ("IH_RB_WPTR_ADDR_LO", 2),
        ("IH_VMID_8_LUT", 0x1_0000),
        ("IH_STATUS", 0),
    ] {
        let before = h.guest.findings().len();
        h.guest.write(Block::Osssys, name, value);
        assert_eq!(h.guest.findings().len(), before + 1, "{name} = {value:#x}");
    }
    // Ring 1 has no message of its own; its write-back, which it hasn't either, Linux sets as well.
    let before = h.guest.findings().len();
    let ring_1 = CNTL & !(ENABLE_INTR | REARM);
    h.guest.write(Block::Osssys, "IH_RB_CNTL_RING1", ring_1);
    assert_eq!(h.guest.findings().len(), before);
    h.guest.write(Block::Osssys, "IH_RB_CNTL_RING1", CNTL);
    assert_eq!(h.guest.findings().len(), before + 1);
    // A bus address needs IH_CHICKEN; a disabled ring takes nothing, and that is no violation.
    let h = Handler::new();
    h.guest.write(Block::Osssys, "IH_CHICKEN", 0);
    h.raise(1);
    h.guest
        .expect_violation("memory space 1 without IH_CHICKEN");
    let h = Handler::new();
    h.guest.write(Block::Osssys, "IH_RB_CNTL", CNTL & !ENABLE);
    h.raise(1);
    assert_eq!((h.messages(), h.entry(0)), (0, [0; 8]));
    assert_eq!(h.guest.findings(), Vec::<String>::new());
}

#[test]
fn a_vm_fault_interrupts_if_its_context_says_so() {
    let h = Handler::new();
    let fault = VmFault {
        hub: Hub::Gfx(0),
        vmid: 8,
        va: 0xabc_1234_5678,
        access: Access::Read,
        reason: FaultReason::Invalid(0),
    };
    let hub = h.guest.device.soc.memory.hub(Hub::Gfx(0));
    rkfd_emulator_testkit::hub_set_up(&mut hub.registers());
    h.guest.write(Block::Gc, "VM_CONTEXT8_CNTL", FAULT_DEFAULTS);
    h.guest.device.soc.vm_fault(&fault);
    assert_eq!(h.messages(), 0);
    h.guest.device.soc.pasids.bind(8, Some(0x8004));
    // VALID_PROTECTION_FAULT_ENABLE_INTERRUPT.
    let control = FAULT_DEFAULTS | (1 << 15);
    h.guest.write(Block::Gc, "VM_CONTEXT8_CNTL", control);
    h.guest.device.soc.vm_fault(&fault);
    let e = h.entry(0);
    assert_eq!(
        (e[0] & 0xff, (e[0] >> 8) & 0xff, (e[0] >> 24) & 0xf),
        (0x1b, 0, 8)
    );
    // Linux takes the ring id's bits for valid, read and write.
    assert_eq!((e[0] >> 16) & 0x38, 0x08 | 0x10);
    assert_eq!(e[3] & 0xffff, 0x8004);
    assert_eq!(
        (u64::from(e[4]) << 12) | (u64::from(e[5] & 0xf) << 44),
        fault.va & !0xfff
    );
    assert_eq!(e[5] >> 4, 0x4, "read");
    assert_eq!(h.messages(), 1);
    assert_eq!(h.guest.findings(), Vec::<String>::new());
}

#[test]
fn a_ring_that_the_processors_cache_is_written_with_snooping() {
    let h = Handler::new();
    h.guest.write(Block::Osssys, "IH_RB_CNTL", CNTL & !SNOOP);
    h.raise(1);
    h.guest.expect_violation("IH_RB_CNTL.MC_SNOOP is 0");
    let before = h.guest.device.soc.report.violations();
    h.guest.device.soc.memory.bus.set_cached(false);
    h.raise(2);
    assert_eq!(h.guest.device.soc.report.violations(), before);
}

/// `nbio_v7_9_ih_control`: the bridge lets a ring in cached memory snoop.
#[test]
fn the_bridge_lets_interrupts_snoop() {
    let h = Handler::new();
    let nbio = |name, value| h.guest.write_indirect(Block::Nbio, name, value);
    nbio("BIF_BX0_INTERRUPT_CNTL2", 0x1234);
    // IH_REQ_NONSNOOP_EN.
    nbio("BIF_BX0_INTERRUPT_CNTL", 1 << 3);
    h.raise(1);
    h.guest
        .expect_violation("INTERRUPT_CNTL.IH_REQ_NONSNOOP_EN is 1");
    let before = h.guest.device.soc.report.violations();
    nbio("BIF_BX0_INTERRUPT_CNTL", 0);
    h.raise(2);
    assert_eq!(h.guest.device.soc.report.violations(), before);
    // Another driver may have left it.
    let guest = Guest::new(&["at power-on: used"]);
    let left = guest.read_indirect(Block::Nbio, "BIF_BX0_INTERRUPT_CNTL");
    assert_eq!(left, 1 << 3);
}
