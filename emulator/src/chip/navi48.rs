// SPDX-License-Identifier: MIT OR Apache-2.0

//! AMD Radeon RX 9070 XT: Navi 48, gfx1201, scheduled by MES v12.
//!
//! What is not public about this chip is taken from the chip most like it; comments mark these places.

use super::Chip;
use crate::blocks::discovery::gc;
use crate::blocks::nbio::Route;
use crate::blocks::psp::{self, Kind};
use crate::blocks::smu14::Smu;
use crate::blocks::vbios::Memory;
use crate::device::facts::{GcShape, Ip, RegisterBlock};
use crate::device::firmware::Firmware;
use crate::engines::mes::Mes;
use crate::engines::sdma::generation::V7_0;
use crate::engines::sdma::Shape;
use crate::memory::generation::GFX12;
use rkfd_hw::psp::firmware as part;
use rkfd_hw::regs::gc_12_0_0::GB_ADDR_CONFIG as ADDR;
use rkfd_hw::regs::Value;
use rkfd_hw::regs::{self, Block};
use rkfd_hw::vbios::memory as kinds;

/// Hardware ids of blocks without registers here (`include/soc15_hw_ip.h`).
mod hw_id {
    pub(super) const SDMA0: u16 = 42;
    pub(super) const SDMA1: u16 = 43;
}

/// The bases of a block of GC: SDMA lies in its range, too.
const GC: &[u32] = &[0x1260, 0xa000, 0x1c000, 0x0240_2c00];
/// The bases of the security processor.
const MP: &[u32] = &[0x16000, 0x00dc_0000, 0x00e0_0000, 0x00e4_0000, 0x0243_fc00];
/// Those of the management unit. Its second is not Sienna Cichlid's, whose registers are others: by this one
/// the mailboxes are where gfx942 has them.
const MP1: &[u32] = &[0x16000, 0x16200, 0x00e0_0000, 0x00e4_0000, 0x0243_fc00];

/// An IP block, the first of its kind.
const fn ip(hw_id: u16, version: (u8, u8, u8), bases: &'static [u32]) -> Ip {
    Ip {
        hw_id,
        instance: 0,
        version,
        bases,
    }
}

/// IP versions are those for which Linux has gfx1201 support (`amdgpu/amdgpu_discovery.c`).
///
/// Base addresses are those of Sienna Cichlid (`include/sienna_cichlid_ip_offset.h`), the newest
/// Navi whose bases are public. They agree with what Linux reads before it knows the table:
/// `RCC_CONFIG_MEMSIZE` at word 0xde3, `MP0_SMN_C2PMSG_33` at word 0x16061.
const IPS: &[Ip] = &[
    ip(Block::Gc as u16, (12, 0, 1), GC),
    ip(hw_id::SDMA0, (7, 0, 1), GC),
    ip(hw_id::SDMA1, (7, 0, 1), GC),
    ip(Block::Mmhub as u16, (4, 1, 0), &[0x1a000, 0x0240_8800]),
    ip(Block::Athub as u16, (4, 1, 0), &[0xc00, 0x0240_8c00]),
    ip(Block::Osssys as u16, (7, 0, 0), &[0x10a0, 0x0240_a000]),
    ip(Block::Hdp as u16, (7, 0, 0), &[0xf20, 0x0240_a400]),
    ip(
        Block::Nbio as u16,
        (6, 3, 1),
        &[0x0, 0x14, 0xd20, 0x10400, 0x0241_b000, 0x0404_0000],
    ),
    ip(Block::Mp0 as u16, (14, 0, 3), MP),
    ip(Block::Mp1 as u16, (14, 0, 3), MP1),
    ip(Block::Thm as u16, (14, 0, 2), &[0x16600, 0x0240_0c00]),
    ip(
        Block::Smuio as u16,
        (14, 0, 2),
        &[0x16800, 0x16a00, 0x0044_0000, 0x0240_1000],
    ),
];

/// What `psp_get_fw_type` makes of the files that gfx1201 has (`amdgpu/amdgpu_psp.c`).
const PSP_FIRMWARE: &[(u32, Kind)] = &[
    (part::SMU, Kind::Smu),
    (part::SDMA, Kind::Part),
    (part::RS64_PFP, Kind::Part),
    (part::RS64_ME, Kind::Part),
    (part::RS64_MEC, Kind::Part),
    (part::RS64_PFP_DATA, Kind::Part),
    (part::RS64_ME_DATA, Kind::Part),
    (part::RS64_MEC_DATA0, Kind::Part),
    (part::RS64_MEC_DATA1, Kind::Part),
    (part::MES, Kind::Part),
    (part::MES_DATA, Kind::Part),
    (part::MES_KERNEL, Kind::Part),
    (part::MES_KERNEL_DATA, Kind::Part),
    (part::IMU_CODE, Kind::Part),
    (part::IMU_DATA, Kind::Part),
    (part::RLC_LIST_CNTL, Kind::Part),
    (part::RLC_LIST_GPM, Kind::Part),
    (part::RLC_LIST_SRM, Kind::Part),
    (part::RLC_CODE, Kind::Part),
    (part::RLC_DATA, Kind::Part),
    (part::RLC, Kind::Part),
    (part::REG_LIST, Kind::Other),
];

/// All that Linux always sends of it: lists of registers, and code and data of the run list controller's
/// second core, it sends where a file has some.
const NEEDED: &[u32] = &[
    part::SDMA,
    part::RS64_PFP,
    part::RS64_ME,
    part::RS64_MEC,
    part::RS64_PFP_DATA,
    part::RS64_ME_DATA,
    part::RS64_MEC_DATA0,
    part::RS64_MEC_DATA1,
    part::MES,
    part::MES_DATA,
    part::MES_KERNEL,
    part::MES_KERNEL_DATA,
    part::IMU_CODE,
    part::IMU_DATA,
    part::RLC,
];

/// 16 pipes, 4 shader engines of 4 render backends with 4 packers each; the chip's own value is not
/// public.
const GB_ADDR_CONFIG: u32 = Value::zeroed().having(ADDR::NUM_PIPES.is::<4>()).bits()
    | Value::zeroed().having(ADDR::NUM_PKRS.is::<3>()).bits()
    | Value::zeroed()
        .having(ADDR::NUM_SHADER_ENGINES.is::<2>())
        .bits()
    | Value::zeroed().having(ADDR::NUM_RB_PER_SE.is::<2>()).bits();

/// The chip with less of it: one work-group processor of each engine is fused off, which differs from board to board.
/// libdrm's `amdgpu.ids` has its revision.
pub const XL: Chip = Chip {
    name: "AMD Radeon RX 9070",
    revision: 0xc3,
    gc: GcShape {
        inactive_cus: &[0x00c0, 0x0300, 0x000c, 0x3000],
        ..CHIP.gc
    },
    ..CHIP
};

/// The chip.
pub const CHIP: Chip = Chip {
    name: "AMD Radeon RX 9070 XT",
    device_id: 0x7550,
    revision: 0xc0,
    class: 0x03_0000,
    subsystem_id: 0x0e0d,
    rev_id: 1,
    vram_size: 16 << 30,
    // GDDR6 with 256 bits, in channels of 16.
    memory: Memory {
        kind: kinds::GDDR6,
        channels: 16,
        channel_width: 4,
        vendor: 1,
    },
    doorbell_size: 2 << 20,
    mmio_size: 512 << 10,
    // `nbif_v6_3_1.c`.
    hdp_hole: 0x7_f000,
    // Where the log of an RX 9070's driver shows VRAM ("VRAM: ... 0x0000008000000000 - ...").
    fb_base: 0x80_0000_0000,
    fb_offset: 0,
    clock_hz: 100_000_000,
    ips: IPS,
    blocks: &[
        RegisterBlock {
            block: Block::Gc,
            table: &regs::gc_12_0_0::TABLE,
        },
        RegisterBlock {
            block: Block::Mmhub,
            table: &regs::mmhub_4_1_0::TABLE,
        },
        RegisterBlock {
            block: Block::Athub,
            table: &regs::athub_4_1_0::TABLE,
        },
        RegisterBlock {
            block: Block::Osssys,
            table: &regs::osssys_7_0_0::TABLE,
        },
        RegisterBlock {
            block: Block::Hdp,
            table: &regs::hdp_7_0_0::TABLE,
        },
        RegisterBlock {
            block: Block::Nbio,
            table: &regs::nbif_6_3_1::TABLE,
        },
        RegisterBlock {
            block: Block::Mp0,
            table: &regs::mp_14_0_2::TABLE,
        },
        RegisterBlock {
            block: Block::Mp1,
            table: &regs::mp1_14_0_2::TABLE,
        },
        RegisterBlock {
            block: Block::Mp1,
            table: &regs::mp1_public_14::TABLE,
        },
        RegisterBlock {
            block: Block::Smuio,
            table: &regs::smuio_14_0_2::TABLE,
        },
        RegisterBlock {
            block: Block::Thm,
            table: &regs::thm_14_0_2::TABLE,
        },
    ],
    // Four engines of two arrays with four work-group processors each: 64 compute units.
    xcc_nodes: &[0],
    gc: GcShape {
        engines: 4,
        arrays_per_engine: 2,
        cus_per_array: 8,
        inactive_cus: &[],
        wave_size: 32,
        waves_per_simd: 16,
        simds_per_cu: 2,
        cache_channels: 32,
        lds_size: 64 << 10,
    },
    start_up: &[
        ("GB_ADDR_CONFIG", GB_ADDR_CONFIG),
        // Client 0xa, source 0 and no other: what Linux's driver sets and leaves
        // (`ih_v7_0_irq_init`).
        ("IH_RING1_CLIENT_CFG_DATA", 0x1_000a),
    ],
    hdp_flushes_by_itself: true,
    vm: &GFX12,
    before_doorbells: |_| Vec::new(),
    // `nbif_v6_3_1_gc_doorbell_init`.
    graphics_routes: &[
        ("GDC_S2A0_S2A_DOORBELL_ENTRY_0_CTRL", 0x3000_0007),
        ("GDC_S2A0_S2A_DOORBELL_ENTRY_3_CTRL", 0x3000_000d),
    ],
    // `nbif_v6_3_1_ih_doorbell_range`.
    before_on_further: None,
    ih_route: Route::Port {
        port: "GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL",
        id: 0,
        address: 0,
    },
    sdma: Shape {
        engines: 2,
        generation: &V7_0,
    },
    // One port for both engines (`nbif_v6_3_1_sdma_doorbell_range`).
    sdma_routes: &[Route::Port {
        port: "GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL",
        id: 0xe,
        address: 3,
    }; 2],
    psp: psp::Takes {
        kinds: PSP_FIRMWARE,
        data: &[
            part::RS64_PFP_DATA,
            part::RS64_ME_DATA,
            part::RS64_MEC_DATA0,
            part::RS64_MEC_DATA1,
            part::MES_DATA,
            part::MES_KERNEL_DATA,
        ],
        overhead: 0x200,
        boot_time_tmr: true,
        tells_parts: Some(0x003a_0e14),
        autoload: Some(psp::Autoload {
            needs: NEEDED,
            gives: &[
                Firmware::Rlc(0),
                Firmware::RlcStarted(0),
                Firmware::Mec(0),
                Firmware::Sdma(0),
                Firmware::Sdma(1),
            ],
        }),
    },
    smu: |env, _, _| Box::new(Smu::new(env)),
    gc_table: gc::rdna4,
    scheduler: |env, facts, sdma| vec![Mes::new(env, facts, sdma)],
};
