// SPDX-License-Identifier: GPL-2.0

//! NBIO 7.9, of gfx942 (`nbio_v7_9.c`).

use crate::{
    doorbell::{
        SDMA_FIRST,
        SDMA_STRIDE, //
    },
    hw::{
        regs::{
            nbio_7_9_0::{
                self as nbio,
                BIF_BX0_INTERRUPT_CNTL as Interrupts,
                BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL as Ring,
                DOORBELL0_CTRL_ENTRY_0 as Range,
                RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN as Aperture,
                RCC_STRAP0_RCC_DEV0_EPF0_STRAP0 as Strap,
                S2A_DOORBELL_ENTRY_1_CTRL as Port,
                XCC_DOORBELL_FENCE as Fence, //
            },
            AnyReg,
            Block,
            Value, //
        },
        value::Bounded, //
    },
    regs::{
        Access,
        Regs,
        Tables,
        Window, //
    },
    types::BusAddr, //
};

/// Words of doorbells that go to the interrupt handler.
const IH_SIZE: u64 = 8;

/// Words of doorbells that go to a copy engine (`sdma_doorbell_range`).
const SDMA_SIZE: u64 = 20;

/// Copy engines of a base die.
const PER_DIE: u32 = 4;

/// Where doorbells of a copy engine leave the die: a port, and who is behind it. Linux has the fields of the first port for
/// all of them.
#[derive(Clone, Copy)]
struct Route {
    port: AnyReg,
    to: Value<Port>,
}

impl Route {
    /// To the engine with that number at the port, and that address.
    const fn new<const ID: u64, const ADDRESS: u64>(port: AnyReg) -> Self {
        let to = Value::zeroed()
            .having(Port::S2A_DOORBELL_PORT1_ENABLE.is::<1>())
            .having(Port::S2A_DOORBELL_PORT1_RANGE_SIZE.is::<SDMA_SIZE>())
            .having(Port::S2A_DOORBELL_PORT1_AWID.is::<ID>())
            .having(Port::S2A_DOORBELL_PORT1_RANGE_OFFSET.is::<ID>())
            .having(Port::S2A_DOORBELL_PORT1_AWADDR_31_28_VALUE.is::<ADDRESS>());
        Self { port, to }
    }
}

/// Those of each base die.
const SDMA_ROUTES: [Route; PER_DIE as usize] = [
    Route::new::<0xe, 1>(nbio::S2A_DOORBELL_ENTRY_1_CTRL.any()),
    Route::new::<8, 2>(nbio::S2A_DOORBELL_ENTRY_2_CTRL.any()),
    Route::new::<9, 8>(nbio::S2A_DOORBELL_ENTRY_5_CTRL.any()),
    Route::new::<0xa, 9>(nbio::S2A_DOORBELL_ENTRY_6_CTRL.any()),
];

/// The bus side.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&nbio::TABLE]
    }

    fn access(&self) -> Access {
        Access {
            memory_size: nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE.any(),
            window: Some(Window {
                index: nbio::BIF_BX0_PCIE_INDEX2.any(),
                index_high: Some(nbio::BIF_BX0_PCIE_INDEX2_HI.any()),
                data: nbio::BIF_BX0_PCIE_DATA2.any(),
            }),
        }
    }

    fn revision(&self, regs: &Regs) -> u32 {
        regs.read(nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0)
            .get(Strap::STRAP_ATI_REV_ID_DEV0_F0)
    }

    fn vram_vendor(&self, regs: &Regs) -> u32 {
        regs.read(nbio::BIF_BX0_BIOS_SCRATCH_4).bits() & 0xf
    }

    /// `nbio_v7_9_set_reg_remap`.
    fn hole(&self) -> u32 {
        0x1_a000
    }

    fn show_hdp_flush(&self, regs: &Regs, offset: u32) {
        let (memory, registers) = (Value::new(offset), Value::new(offset.wrapping_add(4)));
        regs.write(nbio::BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL, memory);
        regs.write(nbio::BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL, registers);
    }

    fn let_doorbells_pass(&self, regs: &Regs, on: bool) {
        if on {
            // `nbio_v7_9_init_registers`: the XCCs that aren't there get no doorbells.
            let xccs = regs.instances(Block::Gc).fold(0u32, |mask, xcc| {
                mask | 1u32.checked_shl(xcc.into()).unwrap_or(0)
            });
            regs.write(nbio::XCC_DOORBELL_FENCE, Value::new(0xff & !xccs));
            regs.write(nbio::BIFC_GFX_INT_MONITOR_MASK, Value::new(0x7ff));
            // On other dies it passes nothing on to the first one's.
            let fence = Value::<Fence>::zeroed().with(Fence::SHUB_SLV_MODE, true);
            for die in regs.instances(Block::Mmhub).filter(|&die| die > 0) {
                regs.write_on_die(die, nbio::XCC_DOORBELL_FENCE.any(), fence.bits());
            }
            regs.write(nbio::BIFC_DOORBELL_ACCESS_EN_PF, Value::new(0xf_ffff));
        }
        regs.update(nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN, |old| {
            old.with(Aperture::BIF_DOORBELL_APER_EN, on)
        });
    }

    fn let_gpu_ring(&self, regs: &Regs, doorbells: Option<u64>) {
        let mut ring = Value::zeroed();
        if let Some(at) = doorbells {
            let (low, high) = (Value::new(at as u32), Value::new((at >> 32) as u32));
            regs.write(nbio::BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_LOW, low);
            regs.write(nbio::BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_BASE_HIGH, high);
            ring = ring
                .with(Ring::DOORBELL_SELFRING_GPA_APER_EN, true)
                .with(Ring::DOORBELL_SELFRING_GPA_APER_MODE, true);
        }
        regs.write(nbio::BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL, ring);
    }

    /// `nbio_v7_9_sdma_doorbell_range`.
    fn route_sdma(&self, regs: &Regs, engines: u32) {
        let dies = (0u8..).flat_map(|die| SDMA_ROUTES.map(|route| (die, route)));
        for ((die, route), engine) in dies.zip(0..engines) {
            let range = Value::zeroed()
                .with(
                    Range::BIF_DOORBELL0_RANGE_OFFSET_ENTRY,
                    Bounded::low_bits_of(sdma_first(engine)),
                )
                .having(Range::BIF_DOORBELL0_RANGE_SIZE_ENTRY.is::<SDMA_SIZE>());
            // Ranges are all on the first die, one behind the other.
            let entry = nbio::DOORBELL0_CTRL_ENTRY_1.any().at(engine, 1);
            regs.write(entry, range.bits());
            regs.write_on_die(die, route.port, route.to.bits());
        }
    }

    fn prepare_interrupts(&self, regs: &Regs, dummy: BusAddr) {
        let page = Value::new((dummy.get() >> 8) as u32);
        regs.write(nbio::BIF_BX0_INTERRUPT_CNTL2, page);
        regs.update(nbio::BIF_BX0_INTERRUPT_CNTL, |old| {
            old.with(Interrupts::IH_DUMMY_RD_OVERRIDE, false)
                .with(Interrupts::IH_REQ_NONSNOOP_EN, false)
        });
    }

    /// `nbio_v7_9_ih_doorbell_range`.
    fn route_interrupts(&self, regs: &Regs, doorbell: Bounded<10>) {
        let range = Value::zeroed()
            .with(Range::BIF_DOORBELL0_RANGE_OFFSET_ENTRY, doorbell)
            .having(Range::BIF_DOORBELL0_RANGE_SIZE_ENTRY.is::<IH_SIZE>());
        regs.write(nbio::DOORBELL0_CTRL_ENTRY_0, range);
        let to = Value::<Port>::zeroed()
            .with(Port::S2A_DOORBELL_PORT1_ENABLE, true)
            .having(Port::S2A_DOORBELL_PORT1_RANGE_SIZE.is::<IH_SIZE>());
        regs.write(nbio::S2A_DOORBELL_ENTRY_3_CTRL.any(), to.bits());
    }
}

/// The first word of an engine's range.
const fn sdma_first(engine: u32) -> u64 {
    (SDMA_FIRST.saturating_add(engine.saturating_mul(SDMA_STRIDE)) as u64) << 1
}
