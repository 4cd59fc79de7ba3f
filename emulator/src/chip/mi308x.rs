// SPDX-License-Identifier: MIT OR Apache-2.0

//! AMD Instinct MI308X: gfx942 on one or four compute dies (XCCs).
//!
//! An MI308X has 80 compute units, 20 on each of four XCCs, and four base dies (AIDs). It is here in two forms: whole,
//! all XCCs in one partition (SPX mode), and as one XCC on one base die, which is what a partition in CPX mode shows.
//! What is not public about this chip is taken from the chip most like it; comments mark these places.

use super::Chip;
use crate::blocks::discovery::gc;
use crate::blocks::nbio::Route;
use crate::blocks::psp::{self, Kind};
use crate::blocks::smu::Smu;
use crate::blocks::vbios::Memory;
use crate::device::facts::{GcShape, Ip, RegisterBlock};
use crate::engines::cpsch::Cp;
use crate::engines::sdma::generation::V4_4_2;
use crate::engines::sdma::{Shape, PER_DIE};
use crate::memory::generation::GFX9;
use rkfd_hw::psp::firmware;
use rkfd_hw::regs::{self, Block};
use rkfd_hw::vbios::memory as kinds;

/// Hardware ids of blocks without registers here (`include/soc15_hw_ip.h`).
mod hw_id {
    pub(super) const DF: u16 = 46;
}

/// An SDMA engine. The registers of 4.4.2 are all in the first segment. Aldebaran has those of its
/// engines at these places, its third's and fourth's in what it calls the second segment.
const fn sdma(instance: u8, bases: &'static [u32]) -> Ip {
    Ip {
        hw_id: Block::Sdma as u16,
        instance,
        version: (4, 4, 2),
        bases,
    }
}

/// How doorbells get to a client of a base die: number and address (`nbio_v7_9_sdma_doorbell_range`,
/// `nbio_v7_9_ih_doorbell_range`). Ranges are all on the first die, ports on the client's.
const fn route(range: &'static str, die: u8, port: &'static str, (id, address): (u8, u8)) -> Route {
    Route::RangeAndPort {
        range,
        port,
        die,
        id,
        address,
    }
}

/// The registers with the ranges of all copy engines.
const SDMA_RANGES: [&str; 16] = [
    "DOORBELL0_CTRL_ENTRY_1",
    "DOORBELL0_CTRL_ENTRY_2",
    "DOORBELL0_CTRL_ENTRY_3",
    "DOORBELL0_CTRL_ENTRY_4",
    "DOORBELL0_CTRL_ENTRY_5",
    "DOORBELL0_CTRL_ENTRY_6",
    "DOORBELL0_CTRL_ENTRY_7",
    "DOORBELL0_CTRL_ENTRY_8",
    "DOORBELL0_CTRL_ENTRY_9",
    "DOORBELL0_CTRL_ENTRY_10",
    "DOORBELL0_CTRL_ENTRY_11",
    "DOORBELL0_CTRL_ENTRY_12",
    "DOORBELL0_CTRL_ENTRY_13",
    "DOORBELL0_CTRL_ENTRY_14",
    "DOORBELL0_CTRL_ENTRY_15",
    "DOORBELL0_CTRL_ENTRY_16",
];
/// How doorbells get to all copy engines: those of a base die are behind the same ports on each.
const SDMA_ROUTES: [Route; 16] = {
    let mut all = [route("", 0, "", (0, 0)); 16];
    let mut n = 0;
    while n < all.len() {
        let (port, client) = match n % 4 {
            0 => ("S2A_DOORBELL_ENTRY_1_CTRL", (0xe, 1)),
            1 => ("S2A_DOORBELL_ENTRY_2_CTRL", (8, 2)),
            2 => ("S2A_DOORBELL_ENTRY_5_CTRL", (9, 8)),
            _ => ("S2A_DOORBELL_ENTRY_6_CTRL", (0xa, 9)),
        };
        all[n] = route(SDMA_RANGES[n], (n / 4) as u8, port, client);
        n += 1;
    }
    all
};

/// IP versions are those for which Linux has MI300 support (`amdgpu/amdgpu_discovery.c`).
///
/// Base addresses are Aldebaran's (`include/aldebaran_ip_offset.h`), the nearest chip whose bases
/// are public; GC's agree with `XCC_REG_RANGE_*` in `amdgpu/gfx_v9_4_3.c`. NBIO has segments beyond
/// Aldebaran's: 5 and 8 are the block addresses in `asic_reg/nbio/nbio_7_9_0_offset.h`
/// (0x1400000 and 0x10100000) in words.
///
/// An XCC's registers differ from the first one's in bits 31:16 of the word address alone
/// (`NORMALIZE_XCC_REG_OFFSET`, `amdgpu/gfx_v9_4_3.c`); how those are chosen is not public.
const XCC_BASES: [&[u32]; 4] = [
    &[0x2000, 0xa000, 0x0240_2c00],
    &[0x0100_2000, 0x0100_a000, 0x0340_2c00],
    &[0x0200_2000, 0x0200_a000, 0x0440_2c00],
    &[0x0300_2000, 0x0300_a000, 0x0540_2c00],
];

/// What a base die has of its own: four copy engines, a multimedia hub, and ports of doorbells. On the first they lie where
/// Aldebaran's do; where on the others, but for the north bridge's, is this model's own.
const fn on_die(die: u8) -> [Ip; ON_DIE] {
    const SDMA: [[&[u32]; 4]; 4] = [
        [&[0x1260], &[0x1860], &[0x1_e000], &[0x1_e400]],
        [
            &[0x1000_1260],
            &[0x1000_1860],
            &[0x1001_e000],
            &[0x1001_e400],
        ],
        [
            &[0x2000_1260],
            &[0x2000_1860],
            &[0x2001_e000],
            &[0x2001_e400],
        ],
        [
            &[0x3000_1260],
            &[0x3000_1860],
            &[0x3001_e000],
            &[0x3001_e400],
        ],
    ];
    // Not Aldebaran's 0x1a000: Linux takes what has 0xa000 to 0xffff in its low half for a register
    // of an XCC (`gfx_v9_4_3_normalize_xcc_reg_offset`). It has KIQ flush all hubs, whose packets have 18 bits for
    // a register.
    const MMHUB: [&[u32]; 4] = [
        &[0x1_4000, 0x0240_8800],
        &[0x2_4000, 0x1240_8800],
        &[0x2_8000, 0x2240_8800],
        &[0x3_4000, 0x3240_8800],
    ];
    let (n, first) = (die as usize, die * PER_DIE);
    [
        sdma(first, SDMA[n][0]),
        sdma(first + 1, SDMA[n][1]),
        sdma(first + 2, SDMA[n][2]),
        sdma(first + 3, SDMA[n][3]),
        Ip {
            hw_id: Block::Mmhub as u16,
            instance: die,
            version: (1, 8, 0),
            bases: MMHUB[n],
        },
        Ip {
            hw_id: Block::Nbio as u16,
            instance: die,
            version: (7, 9, 0),
            bases: &[
                0x0,
                0x14,
                0xd20,
                0x10400,
                0x0241_b000,
                0x0050_0000,
                0,
                0,
                0x0404_0000,
            ],
        },
    ]
}
const ON_DIE: usize = 6;

/// The blocks of a package with `XCCS` XCCs and `DIES` base dies, `ALL` in all.
const fn ips<const XCCS: usize, const DIES: usize, const ALL: usize>() -> [Ip; ALL] {
    let mut all = [OTHERS[0]; ALL];
    let mut n = 0;
    while n < XCCS {
        all[n] = Ip {
            hw_id: Block::Gc as u16,
            instance: n as u8,
            version: (9, 4, 3),
            bases: XCC_BASES[n],
        };
        n += 1;
    }
    while n < XCCS + DIES * ON_DIE {
        let at = n - XCCS;
        all[n] = on_die((at / ON_DIE) as u8)[at % ON_DIE];
        n += 1;
    }
    while n < ALL {
        all[n] = OTHERS[n - XCCS - DIES * ON_DIE];
        n += 1;
    }
    all
}

/// All blocks that are there once.
const OTHERS: [Ip; 7] = [
    Ip {
        hw_id: Block::Athub as u16,
        instance: 0,
        version: (1, 8, 0),
        bases: &[0xc20, 0x0240_8c00],
    },
    Ip {
        hw_id: Block::Osssys as u16,
        instance: 0,
        version: (4, 4, 2),
        bases: &[0x10a0, 0x0240_a000],
    },
    Ip {
        hw_id: Block::Hdp as u16,
        instance: 0,
        version: (4, 4, 2),
        bases: &[0xf20, 0x0240_a400],
    },
    Ip {
        hw_id: Block::Mp0 as u16,
        instance: 0,
        version: (13, 0, 6),
        bases: &[0x16000, 0x00dc_0000, 0x00e0_0000, 0x00e4_0000, 0x0243_fc00],
    },
    Ip {
        hw_id: Block::Mp1 as u16,
        instance: 0,
        version: (13, 0, 6),
        bases: &[0x16000, 0x00dc_0000, 0x00e0_0000, 0x00e4_0000, 0x0243_fc00],
    },
    Ip {
        hw_id: hw_id::DF,
        instance: 0,
        version: (4, 15, 0),
        bases: &[0x7000, 0x0240_b800, 0x07c0_0000],
    },
    Ip {
        hw_id: Block::Smuio as u16,
        instance: 0,
        version: (13, 0, 3),
        bases: &[0x16800, 0x16a00, 0x0240_1000, 0x0344_0000],
    },
];

/// What `psp_get_fw_type` makes of the files that MI300 has (`amdgpu/amdgpu_psp.c`), and the
/// security processor's own register list.
const PSP_FIRMWARE: &[(u32, Kind)] = &[
    (firmware::P2S_TABLE, Kind::Other),
    (firmware::SDMA0, Kind::Sdma(0)),
    (firmware::SDMA1, Kind::Sdma(1)),
    (firmware::SDMA2, Kind::Sdma(2)),
    (firmware::SDMA3, Kind::Sdma(3)),
    (firmware::MEC, Kind::Mec),
    (firmware::MEC_JUMP_TABLE, Kind::MecJumpTable),
    (firmware::RLC_LIST_GPM, Kind::Other),
    (firmware::RLC_LIST_SRM, Kind::Other),
    (firmware::RLC_LIST_CNTL, Kind::Other),
    (firmware::RLC, Kind::Rlc),
    (firmware::REG_LIST, Kind::Other),
];

/// The whole chip. Two XCCs share a base die, whose numbers in interrupts are multiples of 4
/// (`amdgpu/amdgpu_amdkfd_gc_9_4_3.c`: "1st is AID, 2nd and 3rd are XCDs").
pub const SPX: Chip = Chip {
    ips: &ips::<4, 4, { 4 + 4 * ON_DIE + 7 }>(),
    xcc_nodes: &[1, 2, 5, 6],
    sdma: Shape {
        engines: 16,
        generation: &V4_4_2,
    },
    sdma_routes: &SDMA_ROUTES,
    // Each base die's (`amdgpu_gmc_get_vram_info`: vram_width times the number of them).
    memory: Memory {
        channels: 32,
        ..CPX.memory
    },
    ..CPX
};

/// One XCC of it.
pub const CPX: Chip = Chip {
    name: "AMD Instinct MI308X",
    device_id: 0x74a2,
    revision: 0,
    class: 0x12_0000,
    subsystem_id: 0x74a2,
    rev_id: 1,
    vram_size: 192 << 30,
    // HBM3 with 8,192 bits. How these are told to be divided, and by whom it was made, isn't public.
    memory: Memory {
        kind: kinds::HBM3,
        channels: 128,
        channel_width: 6,
        vendor: 6,
    },
    doorbell_size: 2 << 20,
    mmio_size: 512 << 10,
    // `nbio_v7_9.c`.
    hdp_hole: 0x1_a000,
    // Where an MI300's driver log shows VRAM ("VRAM: ... 0x0000008000000000 - ...").
    fb_base: 0x80_0000_0000,
    fb_offset: 0,
    clock_hz: 100_000_000,
    ips: &ips::<1, 1, { 1 + ON_DIE + 7 }>(),
    blocks: &[
        RegisterBlock {
            block: Block::Gc,
            table: &regs::gc_9_4_3::TABLE,
        },
        RegisterBlock {
            block: Block::Mmhub,
            table: &regs::mmhub_1_8_0::TABLE,
        },
        RegisterBlock {
            block: Block::Athub,
            table: &regs::athub_1_8_0::TABLE,
        },
        RegisterBlock {
            block: Block::Osssys,
            table: &regs::osssys_4_4_2::TABLE,
        },
        RegisterBlock {
            block: Block::Sdma,
            table: &regs::sdma_4_4_2::TABLE,
        },
        RegisterBlock {
            block: Block::Hdp,
            table: &regs::hdp_4_4_2::TABLE,
        },
        RegisterBlock {
            block: Block::Nbio,
            table: &regs::nbio_7_9_0::TABLE,
        },
        RegisterBlock {
            block: Block::Mp0,
            table: &regs::mp_13_0_6::TABLE,
        },
        RegisterBlock {
            block: Block::Mp1,
            table: &regs::mp1_13_0_6::TABLE,
        },
        RegisterBlock {
            block: Block::Mp1,
            table: &regs::mp1_public::TABLE,
        },
        RegisterBlock {
            block: Block::Smuio,
            table: &regs::smuio_13_0_3::TABLE,
        },
    ],
    // Four engines of one array with ten compute units each, of which half are fused off: which
    // half is not public, and differs from board to board.
    gc: GcShape {
        engines: 4,
        arrays_per_engine: 1,
        cus_per_array: 10,
        inactive_cus: &[0x3e0, 0x01f, 0x155, 0x2aa],
        wave_size: 64,
        waves_per_simd: 8,
        simds_per_cu: 4,
        cache_channels: 16,
        lds_size: 64 << 10,
    },
    xcc_nodes: &[1],
    start_up: &[],
    hdp_flushes_by_itself: false,
    vm: &GFX9,
    // `nbio_v7_9_init_registers`.
    before_doorbells: |xccs| {
        let fence = 0xff & !((1u32 << xccs) - 1);
        vec![
            ("XCC_DOORBELL_FENCE", fence),
            ("BIFC_GFX_INT_MONITOR_MASK", 0x7ff),
        ]
    },
    // `nbio_v7_9_enable_doorbell_aperture`.
    graphics_routes: &[("BIFC_DOORBELL_ACCESS_EN_PF", 0xf_ffff)],
    // `nbio_v7_9_init_registers`: doorbells of the first die's XCCs go nowhere else.
    before_on_further: Some(("XCC_DOORBELL_FENCE", 1 << 16)),
    ih_route: route(
        "DOORBELL0_CTRL_ENTRY_0",
        0,
        "S2A_DOORBELL_ENTRY_3_CTRL",
        (0, 0),
    ),
    // A base die (AID) has four engines. In CPX mode with its four XCCs a partition gets 16 / 4
    // (`__aqua_vanjaram_get_xcp_ip_info`: num_sdma / num_xcp; KFD, `kfd_get_num_sdma_engines`: num_instances / num_nodes):
    // those of one base die.
    sdma: Shape {
        engines: PER_DIE,
        generation: &V4_4_2,
    },
    sdma_routes: SDMA_ROUTES.split_at(PER_DIE as usize).0,
    psp: psp::Takes {
        kinds: PSP_FIRMWARE,
        data: &[],
        overhead: 0x300,
        boot_time_tmr: true,
        tells_parts: None,
        autoload: None,
    },
    smu: |env, copies, xccs| Box::new(Smu::new(env, copies, xccs)),
    gc_table: gc::cdna3,
    scheduler: Cp::partition,
};
