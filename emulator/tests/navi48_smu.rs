// SPDX-License-Identifier: MIT OR Apache-2.0

//! Navi 48's management unit: features, levels of clocks, and what it measures, as `smu_v14_0_2_ppt.c` asks for them.
//! Numbers are Linux's, repeated here on purpose; offsets are bytes of `SmuMetrics_t`.

use rkfd_emulator::chip::navi48::CHIP;
use rkfd_emulator::device::Services as _;
use rkfd_emulator::memory::Hub;
use rkfd_emulator_testkit::{get_words, kernel_context, Guest};
use rkfd_hw::regs::Block;
use std::time::Duration;

const BASE: u64 = 0x80_0000_0000;
/// Where tables go.
const TABLE: u64 = 4 << 20;
/// Bits of FEATURE_DPM_GFXCLK, _DPM_UCLK, _DPM_FCLK, _DPM_SOCCLK, _THROTTLERS, _FAN_CONTROL.
const FEATURES: u32 = (1 << 1) | (1 << 3) | (1 << 4) | (1 << 5) | (1 << 23) | (1 << 29);

/// A message as `smu_msg_v1_send_msg` sends it: the answer and the value.
fn smu(guest: &Guest, message: u32, argument: u32) -> (u32, u32) {
    for (n, value) in [(90, 0), (82, argument), (66, message)] {
        guest.write(Block::Mp1, &format!("MP1_SMN_C2PMSG_{n}"), value);
    }
    let [answer, value] = [90, 82].map(|n| guest.read(Block::Mp1, &format!("MP1_SMN_C2PMSG_{n}")));
    (answer, value)
}

/// A device with firmware, and the driver's table where [`TABLE`] is.
fn set_up() -> Guest {
    let guest = Guest::of(&CHIP, &[]);
    kernel_context(guest.device.soc.memory(), Hub::Mm(0), 0x1000, 1);
    assert_eq!(smu(&guest, 0xe, ((BASE + TABLE) >> 32) as u32).0, 1);
    assert_eq!(smu(&guest, 0xf, (BASE + TABLE) as u32).0, 1);
    guest
}

/// TransferTableSmu2Dram, and so many words of the table.
fn table<const N: usize>(guest: &Guest, number: u32) -> [u32; N] {
    assert_eq!(smu(guest, 0x12, number).0, 1, "table {number}");
    get_words(guest.device.soc.memory.vram, TABLE)
}

fn metrics(guest: &Guest) -> [u32; 103] {
    table(guest, 5)
}

/// 16 bits of a table.
fn half(words: &[u32], at: usize) -> u32 {
    (words[at / 4] >> (8 * (at % 4))) & 0xffff
}

#[test]
fn features_run_that_the_driver_allows() {
    let guest = set_up();
    assert_eq!(smu(&guest, 3, 0), (1, 0x2e), "GetDriverIfVersion");
    // EnableAllSmuFeatures without SetAllowedFeaturesMask: none runs, and clocks have no levels.
    assert_eq!(smu(&guest, 6, 0).0, 1);
    assert_eq!(smu(&guest, 0xc, 0), (1, 0));
    assert_eq!(smu(&guest, 0x1f, 0xff).0, 0xff);
    assert_eq!(smu(&guest, 0x33, 0).0, 0xff, "GetPptLimit");
    for message in [4, 5] {
        assert_eq!(smu(&guest, message, u32::MAX).0, 1);
    }
    assert_eq!(smu(&guest, 0xc, 0), (1, FEATURES));
    assert_eq!(smu(&guest, 0xd, 0), (1, 0));
    assert_eq!(smu(&guest, 7, 0).0, 1, "DisableAllSmuFeatures");
    assert_eq!(smu(&guest, 0xc, 0), (1, 0));
    assert_eq!(guest.findings(), Vec::<String>::new());
}

/// `smu_v14_0_set_single_dpm_table`.
#[test]
fn clocks_have_levels() {
    let guest = set_up();
    for (message, argument) in [(4, u32::MAX), (5, u32::MAX), (6, 0)] {
        assert_eq!(smu(&guest, message, argument).0, 1);
    }
    // PPCLK_GFXCLK is fine-grained: bit 31 of how many there are.
    for (clock, count) in [(0, 0x8000_0002), (1, 4), (2, 4), (3, 4u32)] {
        assert_eq!(smu(&guest, 0x1f, (clock << 16) | 0xff), (1, count));
        let levels = (0..count & 0xff).map(|level| smu(&guest, 0x1f, (clock << 16) | level));
        let levels: Vec<_> = levels.collect();
        assert!(
            levels.windows(2).all(|two| two[0].1 < two[1].1),
            "{levels:?}"
        );
        assert_eq!(levels.first(), Some(&smu(&guest, 0x1d, clock << 16)));
        assert_eq!(levels.last(), Some(&smu(&guest, 0x1e, clock << 16)));
        assert_eq!(smu(&guest, 0x1f, (clock << 16) | (count & 0xff)).0, 0xff);
    }
    assert_eq!(smu(&guest, 0x1f, 11 << 16).0, 0xff, "no such clock");
    // TABLE_OVERDRIVE is empty, whatever was there.
    metrics(&guest);
    assert_eq!(table::<103>(&guest, 8), [0; 103]);
    // TABLE_COMBO_PPTABLE: a fan (FEATURE_FAN_CONTROL_BIT of FeaturesToRun), GameClockAc, sizes.
    let card = table::<1453>(&guest, 1);
    assert_eq!(half(&card, 0), 5812, "structuresize");
    assert_eq!((card[(1344 + 4) / 4] >> 29) & 1, 1);
    let game = half(&card, 1344 + 2606);
    assert!(game > 0 && game <= smu(&guest, 0x1e, 0).1);
    assert!(half(&card, 1344 + 3702) > 0, "FanMaximumRpm");
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn measurements_follow_the_load_and_limits() {
    let guest = set_up();
    for (message, argument) in [(4, u32::MAX), (5, u32::MAX), (6, 0)] {
        assert_eq!(smu(&guest, message, argument).0, 1);
    }
    let first = metrics(&guest);
    let activity = |words: &[u32]| (half(words, 124), half(words, 126));
    assert_eq!(activity(&first), (0, 0));
    // The clock's mean with deep sleep, and without; CurrClock[PPCLK_UCLK] is its least level.
    assert!(half(&first, 48) < half(&first, 46));
    assert_eq!(first[2], smu(&guest, 0x1d, 2 << 16).1);
    assert_eq!(((first[41] >> 16) & 0xff, first[41] >> 24), (4, 16), "link");
    // PublicSerialNumberLower and Upper, the last of 65 words.
    let serial = u64::from(first[63]) | (u64::from(first[64]) << 32);
    assert_eq!(serial, rkfd_emulator_testkit::SERIAL);
    // Edge, hot spot and memory.
    let degrees = [140, 142, 148].map(|at| half(&first, at));
    assert!(
        degrees[0] < degrees[1] && degrees[1] < degrees[2],
        "{degrees:?}"
    );
    let load = guest.device.soc.load.clone();
    let work = load.compute.work();
    std::thread::sleep(Duration::from_millis(50));
    let busy = metrics(&guest);
    let (compute, copies) = activity(&busy);
    assert!(compute > 50 && compute <= 100 && copies == 0);
    for at in [46, 48, 108, 136] {
        assert!(half(&busy, at) > half(&first, at), "offset {at}");
    }
    assert_eq!(busy[2], smu(&guest, 0x1e, 2 << 16).1);
    assert!(busy[104 / 4] > first[104 / 4], "MetricsCounter");
    // SetPptLimit: ThrottlingPercentage[THROTTLER_PPT0_BIT] says that it holds back.
    let held = |words: &[u32]| (words[(172 + 14) / 4] >> 16) & 0xff;
    assert_eq!(held(&busy), 0);
    let most = smu(&guest, 0x33, 0).1;
    assert_eq!(smu(&guest, 0x32, most + 1).0, 0xff);
    assert_eq!(smu(&guest, 0x32, 60).0, 1);
    assert_eq!(smu(&guest, 0x33, 0), (1, 60));
    // SetSoftMaxByFreq, of GFXCLK.
    assert_eq!(smu(&guest, 0x1a, 1000).0, 1);
    std::thread::sleep(Duration::from_millis(20));
    let limited = metrics(&guest);
    drop(work);
    assert!(half(&limited, 136) <= 60, "AverageSocketPower");
    assert!(held(&limited) > 0);
    assert!(half(&limited, 46) <= 1000);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn a_table_needs_a_place() {
    let guest = Guest::of(&CHIP, &[]);
    kernel_context(guest.device.soc.memory(), Hub::Mm(0), 0x1000, 1);
    assert_eq!(smu(&guest, 0x12, 5).0, 0xff);
    guest.expect_violation("TransferTableSmu2Dram: the driver's table is at 0x0");
}

/// `smu_v14_0_gfx_off_control`: AllowGfxOff and DisallowGfxOff. Who looks at a graphics core that is off gets nothing; work,
/// or a driver that wants it on, keeps it on.
#[test]
fn the_graphics_core_is_off_while_it_is_idle_if_a_driver_allows_it() {
    const STATUS: &str = "GRBM_STATUS";
    let idle = || std::thread::sleep(Duration::from_millis(40));
    let guest = set_up();
    // Without features there is none to switch it off.
    assert_eq!(smu(&guest, 0x28, 0).0, 1);
    idle();
    guest.read(Block::Gc, STATUS);
    for (message, argument) in [(4, u32::MAX), (5, u32::MAX), (6, 0), (0x28, 0)] {
        assert_eq!(smu(&guest, message, argument).0, 1);
    }
    let work = guest.device.soc.load().compute.work();
    idle();
    guest.read(Block::Gc, STATUS);
    assert_eq!(guest.findings(), Vec::<String>::new());
    drop(work);
    idle();
    assert_eq!(guest.read(Block::Gc, STATUS), 0);
    guest.expect_violation("read of GRBM_STATUS");
    guest.write(Block::Gc, "GRBM_GFX_INDEX", 0xe000_0000);
    guest.expect_violation("GRBM_GFX_INDEX = 0xe0000000: the graphics core may be switched off");
    // What isn't part of it is there.
    guest.read(Block::Mmhub, "MMMC_VM_FB_LOCATION_BASE");
    let before = guest.findings();
    assert_eq!(smu(&guest, 0x29, 0).0, 1);
    guest.read(Block::Gc, STATUS);
    assert_eq!(smu(&guest, 0x28, 0).0, 1);
    guest.device.reset();
    idle();
    guest.read(Block::Gc, STATUS);
    assert_eq!(guest.findings(), before);

    // As a driver has left it that allowed it.
    let guest = Guest::of(&CHIP, &["at power-on: used"]);
    idle();
    guest.read(Block::Gc, STATUS);
    guest.expect_violation("the graphics core may be switched off");
    assert_eq!(smu(&guest, 0x29, 0).0, 1);
    let before = guest.findings();
    guest.read(Block::Gc, STATUS);
    assert_eq!(guest.findings(), before);
}
