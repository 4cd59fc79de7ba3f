// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whatever a guest writes into VRAM, the device takes no more of the host's memory than it may.

use rkfd_emulator::chip::budget;
use rkfd_emulator::memory::host::Mapping;
use rkfd_emulator_testkit::{Guest, VRAM};
use rkfd_hw::regs::Block;
use std::time::Duration;

const LIMIT: u64 = 32 << 20;

/// As a guest does through the BAR.
fn write(vram: Mapping, pages: std::ops::Range<u64>) {
    for page in pages {
        assert!(vram.part(page * 4096, 1).unwrap().write(0, &[1]));
    }
}

fn wait(done: impl Fn() -> bool) {
    while !done() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn below_the_limit_nothing_happens() {
    let guest = Guest::new(&[]);
    let vram = guest.device.soc.memory.vram;
    budget::watch(&guest.device, LIMIT).unwrap();
    write(vram, 0..LIMIT / 8192);
    assert!(vram.held() >= LIMIT / 2);
    // Memory that is given back counts no more.
    assert!(vram.give_back(0, LIMIT / 2));
    write(vram, LIMIT / 8192..LIMIT / 4096);
    std::thread::sleep(Duration::from_millis(50));
    assert!(!guest.device.is_off_the_bus());
    assert!(guest.findings().is_empty());
}

#[test]
fn past_the_limit_the_device_falls_off_the_bus_and_its_memory_is_given_back() {
    let guest = Guest::new(&[]);
    let vram = guest.device.soc.memory.vram;
    let size = || guest.read(Block::Nbio, "RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE");
    budget::watch(&guest.device, LIMIT).unwrap();
    assert_eq!(u64::from(size()), VRAM >> 20);
    for _ in 0..3 {
        write(vram, 0..2 * LIMIT / 4096);
        wait(|| vram.held() <= LIMIT);
        assert!(guest.device.is_off_the_bus());
        assert_eq!(size(), u32::MAX);
    }
    guest.expect_violation("more than 32 MiB of the host's memory (--host-memory)");
}
