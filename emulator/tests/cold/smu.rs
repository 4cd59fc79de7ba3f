// SPDX-License-Identifier: MIT OR Apache-2.0

//! The management unit: versions, resets, clocks, and what it measures.

use super::reset_mec;
use super::{
    boot, bytes, fill, gc, load_ip, make_ring, mm_read, mp0, sdma, set_up, submit, vram, BASE,
    BUFFER, COLD,
};
use rkfd_emulator::device::firmware::Firmware;
use rkfd_emulator::device::Services as _;
use rkfd_emulator::memory::Hub;
use rkfd_emulator_testkit::{get_words, kernel_context, Guest, VRAM};
use rkfd_hw::regs::Block;
use std::time::Duration;

/// A message as `__smu_msg_v1_send` sends it: the answer.
fn order(guest: &Guest, message: u32, argument: u32) -> u32 {
    for (number, value) in [(90, 0), (82, argument), (66, message)] {
        guest.write(Block::Mp1, &format!("MP1_SMN_C2PMSG_{number}"), value);
    }
    guest.read(Block::Mp1, "MP1_SMN_C2PMSG_90")
}

/// A message that has a value: the answer and the value.
fn smu(guest: &Guest, message: u32, argument: u32) -> (u32, u32) {
    let answer = order(guest, message, argument);
    (answer, guest.read(Block::Mp1, "MP1_SMN_C2PMSG_82"))
}

/// Numbers of `smu_v13_0_6_ppsmc.h`, addresses of `smu_v13_0_6_check_fw_status` and `psp_v13_0.c`.
#[test]
fn the_management_unit_answers_from_power_on() {
    let guest = Guest::new(COLD);
    let far = |at: u32| {
        guest.write(Block::Nbio, "BIF_BX0_PCIE_INDEX2", at);
        guest.read(Block::Nbio, "BIF_BX0_PCIE_DATA2")
    };
    assert_eq!(far(0x03b0_0000 | 0x301_0028) & 1, 1, "MP1_FIRMWARE_FLAGS");
    assert!(far(0x3b1_0090) >= 0x55_7300, "MP1_PUB_SCRATCH0");
    assert_eq!(guest.address(Block::Mp1, "MP1_SMN_C2PMSG_66"), 0x16282 * 4);
    assert_eq!(guest.read(Block::Mp1, "MP1_SMN_C2PMSG_90"), 1, "not busy");
    assert_eq!(smu(&guest, 1, 41), (1, 42), "TestMessage");
    assert_eq!(smu(&guest, 4, 0), (1, 0x0804_2024), "GetDriverIfVersion");
    assert_eq!(smu(&guest, 2, 0), (1, far(0x3b1_0090)), "GetSmuVersion");
    assert_eq!(smu(&guest, 5, 0).0, 1, "EnableAllSmuFeatures");
    assert_ne!(smu(&guest, 0xb, 0).1, 0, "GetEnabledSmuFeaturesLow");
    assert_eq!(smu(&guest, 6, 0).0, 1, "DisableAllSmuFeatures");
    assert_eq!(smu(&guest, 0xb, 0), (1, 0));
    // PPSMC_Result_UnknownCmd.
    assert_eq!(smu(&guest, 0x7, 0).0, 0xfe, "RequestI2cTransaction");
    assert_eq!(guest.findings(), Vec::<String>::new());
    guest.write(Block::Mp1, "MP1_SMN_C2PMSG_66", 1);
    guest.expect_violation("MP1_SMN_C2PMSG_66 = 0x1: the last answer was not cleared");
}

/// Waits for a chip that is reset: after half a second (`SMU13_MODE1_RESET_WAIT_TIME_IN_MS`)
/// `amdgpu_device_mode1_reset` looks for RCC_CONFIG_MEMSIZE that is not ffffffff.
fn wait_until_back(guest: &Guest) {
    std::thread::sleep(Duration::from_millis(500));
    for _ in 0..10_000 {
        if guest.device.read(0xde3 * 4) != u32::MAX {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the chip stays away");
}

/// `smu_v13_0_6_mode1_reset`: GfxDriverReset with SMU_RESET_MODE_1, and a flag in bit 16.
#[test]
fn a_reset_of_the_whole_chip_loses_all_but_the_flash() {
    for (rules, argument) in [(COLD, 1), (&[][..], 0x1_0001)] {
        let guest = set_up(rules);
        if rules == COLD {
            boot(&guest);
            make_ring(&guest);
            assert_eq!(submit(&guest, 1, 5, &[0, 0, 0]), 0);
            for (n, kind) in [4, 5, 8, 9].into_iter().enumerate() {
                assert_eq!(load_ip(&guest, 2 + n as u32, kind, 0x1800), 0);
            }
        }
        reset_mec(&guest);
        gc(&guest, "CP_MEC_CNTL", 0);
        sdma(&guest, "SDMA_F32_CNTL", 0);
        let scratch = guest.address(Block::Gc, "SCRATCH_REG0");
        guest.device.write(scratch, 0x1234_5678);
        // The chip goes when the answer was read, and takes what is read or written then with it.
        assert_eq!(order(&guest, 3, argument), 1);
        assert_eq!(guest.findings(), Vec::<String>::new());
        // Linux leaves it alone, and keeps all others from it.
        assert_eq!(guest.device.read(scratch), u32::MAX);
        guest.expect_violation("read of SCRATCH_REG0 while the whole chip is being reset");
        guest.device.write(scratch, 0x8765_4321);
        guest.expect_violation("write of SCRATCH_REG0 while the whole chip is being reset");
        assert_eq!(guest.device.read(0x16061 * 4), u32::MAX, "C2PMSG_33");
        guest.expect_violation("C2PMSG_33 while the whole chip is being reset");
        wait_until_back(&guest);
        // What Linux waits for: psp_v13_0_wait_for_bootloader. Nothing is left of the secure OS.
        assert_eq!(
            (mp0(&guest, 33), mp0(&guest, 35)),
            (0x8000_0000, 0x8000_0000)
        );
        assert_eq!((mp0(&guest, 81), mp0(&guest, 64)), (0, 0));
        assert_eq!(guest.device.read(scratch), 0);
        for firmware in [Firmware::Mec(0), Firmware::Rlc(0), Firmware::Sdma(0)] {
            assert!(!guest.device.soc.firmware().has(firmware), "{firmware:?}");
        }
        assert_eq!(guest.read_indirect(Block::Gc, "CP_MEC_CNTL"), 0x5000_0000);
        assert_eq!(guest.read(Block::Sdma, "SDMA_F32_CNTL"), 1);
        // Video memory is lost, but for the table that the boot firmware puts there.
        let [word] = get_words::<1>(vram(&guest), BUFFER);
        assert!(word != 0 && word != 0x5566_7788, "{word:#x}");
        assert_eq!(mm_read(&guest, VRAM - (64 << 10)), 0x2821_1407);
        assert_eq!(guest.findings().len(), 3);
        // It starts as from power-on, whatever it was before.
        guest.set_up_hdp(BASE);
        kernel_context(guest.device.soc.memory(), Hub::Mm(0), 0x1000, 1);
        fill(&guest, 0x36_0260);
        boot(&guest);
        assert_eq!(mp0(&guest, 81), 0x36_0260);
        assert_eq!(smu(&guest, 1, 41), (1, 42), "TestMessage");
        assert_eq!(guest.findings().len(), 3);
    }
}

#[test]
fn a_reset_comes_even_if_nobody_reads_the_answer() {
    let guest = Guest::new(COLD);
    for (name, value) in [
        ("MP1_SMN_C2PMSG_90", 0),
        ("MP1_SMN_C2PMSG_82", 1),
        ("MP1_SMN_C2PMSG_66", 3),
    ] {
        guest.write(Block::Mp1, name, value);
    }
    let gone = (0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        guest.device.read(0xde3 * 4) == u32::MAX
    });
    assert!(gone);
    guest.expect_violation("RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE while the whole chip");
    wait_until_back(&guest);
    // Resets of other kinds (SMU_RESET_MODE_2) are not modelled: PPSMC_Result_Failed.
    assert_eq!(smu(&guest, 3, 2).0, 0xff);
    assert_eq!(guest.findings().len(), 1);
}

#[test]
fn messages_misbehave_by_rules() {
    let guest = Guest::new(&[
        "on SMU message of message 1: fail 0xfc",
        "on SMU message of message 4: no answer",
        "on SMU message of message 5: drop",
        "on SMU message of message 6: garbage",
        "on SMU message of message 3: hang",
    ]);
    assert_eq!(smu(&guest, 1, 41), (0xfc, 41), "refused, and not done");
    assert_eq!(smu(&guest, 4, 0), (0, 0x0804_2024), "done, and not said");
    // `smu_msg_v1_send_msg` waits for the answer to the last message, and gives up without it.
    assert_eq!(smu(&guest, 5, 0).0, 0);
    guest.expect_violation("message 0x5 comes while message 0x4 is not answered");
    assert_eq!(smu(&guest, 0xb, 0), (1, 0), "features are off");
    guest.expect_violation("message 0xb comes while message 0x5 is not answered");
    assert_eq!(smu(&guest, 6, 0).0, !1);
    assert_eq!(smu(&guest, 3, 1).0, 0, "no reset");
    assert_eq!(smu(&guest, 2, 0).0, 0, "and nothing more");
    guest.expect_violation("message 0x2 comes while message 0x3 is not answered");
    guest.device.soc.memory.rules().remove(None);
    assert_eq!(smu(&guest, 1, 41), (1, 42));
    assert_eq!(guest.findings().len(), 3);
}

/// Where the table goes, and its words: offsets in bytes of `MetricsTableV0_t`.
const TABLE: u64 = 4 << 20;

fn table(guest: &Guest) -> Vec<u32> {
    bytes(guest, TABLE, &[0xff; 2304]);
    guest.device.soc.memory.flush_hdp();
    assert_eq!(smu(guest, 9, 0).0, 1, "GetMetricsTable");
    get_words::<568>(vram(guest), TABLE).to_vec()
}

/// `SMUQ10_ROUND`.
fn rounded(value: u32) -> u32 {
    (value >> 10) + u32::from(value & 0x3ff >= 0x200)
}

/// `smu_v13_0_6_setup_driver_pptable`, `smu_v13_0_6_set_default_dpm_table`.
#[test]
fn clocks_and_the_table_are_what_linux_reads() {
    let guest = set_up(&[]);
    assert_eq!(smu(&guest, 9, 0).0, 0xff);
    guest.expect_violation("GetMetricsTable: the driver's table is at 0x0");
    let before = guest.findings().len();
    assert_eq!(smu(&guest, 0xd, ((BASE + TABLE) >> 32) as u32).0, 1);
    assert_eq!(smu(&guest, 0xe, (BASE + TABLE) as u32).0, 1);
    assert_eq!(smu(&guest, 8, 0), (1, 0x11), "GetMetricsVersion");
    // Linux asks again while nothing was measured.
    let empty = table(&guest);
    assert_eq!((empty[0], empty[351]), (0, 0), "AccumulationCounter");
    let first = table(&guest);
    assert_ne!(first[0], 0, "AccumulationCounter");
    assert_eq!(first[567], u32::MAX, "no word behind the table");
    // PublicSerialNumber_AID[0], at 1404: the low half first.
    let serial = u64::from(first[351]) | (u64::from(first[352]) << 32);
    assert_eq!(serial, rkfd_emulator_testkit::SERIAL);
    // GetMinGfxDpmFreq, GetMaxGfxDpmFreq.
    let gfx = (smu(&guest, 0x32, 0).1, smu(&guest, 0x33, 0).1);
    assert_eq!(gfx, (rounded(first[256]), rounded(first[255])));
    assert!(gfx.0 < gfx.1);
    // FclkFrequencyTable, Uclk, Socclk, Vclk, Dclk, Lclk against GetDpmFreqByIndex.
    for (word, clock) in [
        (257, 4),
        (261, 3),
        (265, 2),
        (269, 0),
        (273, 1),
        (277, 5u32),
    ] {
        assert_eq!(
            smu(&guest, 0x17, (clock << 16) | 0xff),
            (1, 3),
            "the last level of clock {clock}"
        );
        let levels: Vec<_> = (0..4u32)
            .map(|level| smu(&guest, 0x17, (clock << 16) | level))
            .collect();
        let table: Vec<_> = (0..4).map(|n| (1, rounded(first[word + n]))).collect();
        assert_eq!(levels, table, "clock {clock}");
        assert!(table.windows(2).all(|pair| pair[0].1 < pair[1].1));
    }
    assert_eq!(smu(&guest, 0x17, 6 << 16).0, 0xff, "no such clock");
    assert_eq!(smu(&guest, 0x17, 4).0, 0xff, "no such level");
    // Limits: ReadThrottlerLimit of socket and HBM are below GetCTFLimit of AID, XCD and HBM.
    let limits = [1, 2].map(|kind| smu(&guest, 0x35, kind).1);
    let critical = [1, 3, 4].map(|kind| smu(&guest, 0x38, kind).1);
    assert!(limits.iter().max() < critical.iter().min());
    // SetPptLimit, in watts: SocketPowerLimit, and not beyond MaxSocketPowerLimit.
    let most = rounded(first[11]);
    assert_eq!(smu(&guest, 0x19, 0), (1, most), "GetPptLimit");
    assert_eq!(smu(&guest, 0x18, most + 1).0, 0xff);
    assert_eq!(smu(&guest, 0x18, 100).0, 1);
    assert_eq!(smu(&guest, 0x19, 0), (1, 100));
    std::thread::sleep(Duration::from_millis(2));
    let limited = table(&guest);
    assert_eq!(rounded(limited[10]), 100);
    assert!(rounded(limited[12]) <= 100, "SocketPower");
    // PptResidencyAcc: the limit is below what it takes without work.
    assert_eq!(first[338], 0);
    assert!(limited[338] > 0, "PptResidencyAcc");
    assert!(rounded(limited[326]) > 0, "MaxDramBandwidth, GB/s");
    assert_eq!(guest.findings().len(), before);
}

/// Power, temperature and activity move with what the device does.
#[test]
fn measurements_follow_the_load() {
    let guest = set_up(&[]);
    smu(&guest, 0xd, ((BASE + TABLE) >> 32) as u32);
    smu(&guest, 0xe, (BASE + TABLE) as u32);
    let idle = |words: &[u32]| (words[318], words[319], words[478]);
    assert_eq!(table(&guest)[0], 0, "nothing was measured yet");
    let first = table(&guest);
    assert_eq!(
        idle(&first),
        (0, 0, 0),
        "SocketGfxBusy, DramBandwidthUtilization, GfxBusy"
    );
    let load = guest.device.soc.load.clone();
    let work = (load.compute.work(), load.xccs[0].work());
    std::thread::sleep(Duration::from_millis(50));
    let busy = table(&guest);
    drop(work);
    // What was still worked in the time of this one is not in the next.
    std::thread::sleep(Duration::from_millis(2));
    table(&guest);
    assert!(
        rounded(busy[318]) > 50 && rounded(busy[318]) <= 100,
        "{}",
        busy[318]
    );
    assert!(busy[478] > 0 && busy[479] == 0, "of one XCC");
    assert!(busy[12] > first[12], "SocketPower");
    assert!(busy[343] > first[343], "GfxclkFrequency");
    assert!(busy[28] > first[28], "UclkFrequency");
    std::thread::sleep(Duration::from_millis(20));
    let after = table(&guest);
    assert!(
        after[1] > first[1],
        "it is warmer than at first: MaxSocketTemperature"
    );
    assert_eq!(idle(&after), (0, 0, 0));
    assert_eq!((after[12], after[343]), (first[12], first[343]));
    assert!(after[0] > busy[0] && after[15] > busy[15], "counters grow");
    assert_eq!(guest.findings(), Vec::<String>::new());
}
