// SPDX-License-Identifier: GPL-2.0

//! NBIF 6.3.1, of gfx1201 (`nbif_v6_3_1.c`).

use crate::{
    doorbell::SDMA_FIRST,
    hw::{
        regs::{
            nbif_6_3_1::{
                self as nbio,
                BIF_BX0_INTERRUPT_CNTL as Interrupts,
                BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_CNTL as Ring,
                GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL as Port,
                GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL as Copy,
                RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN as Aperture,
                RCC_STRAP0_RCC_DEV0_EPF0_STRAP0 as Strap, //
                REGS_ROM_OFFSET_CTRL as RomOffset,
            },
            smuio_14_0_2 as smuio,
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

/// Words of doorbells that go to a copy engine (`sdma_doorbell_range`).
const SDMA_SIZE: u64 = 20;

/// The bus side.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&nbio::TABLE, &smuio::TABLE]
    }

    fn access(&self) -> Access {
        Access {
            memory_size: nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE.any(),
            // Those of the ROM's place lie behind BAR 5 (`nbif_v6_3_1_get_pcie_index_offset`).
            window: Some(Window {
                index: nbio::BIF_BX_PF0_RSMU_INDEX.any(),
                index_high: None,
                data: nbio::BIF_BX_PF0_RSMU_DATA.any(),
            }),
        }
    }

    fn revision(&self, regs: &Regs) -> u32 {
        regs.read(nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0)
            .get(Strap::STRAP_ATI_REV_ID_DEV0_F0)
    }

    /// The image begins at a multiple of 128 KiB (`nbif_v6_3_1_get_rom_offset`).
    fn rewind_rom(&self, regs: &Regs) -> bool {
        let offset = regs.read(nbio::REGS_ROM_OFFSET_CTRL);
        let start = offset.get(RomOffset::ROM_OFFSET) << 17;
        regs.write(smuio::ROM_INDEX, Value::new(start));
        true
    }

    fn next_rom_word(&self, regs: &Regs) -> u32 {
        regs.read(smuio::ROM_DATA).bits()
    }

    fn vram_vendor(&self, regs: &Regs) -> u32 {
        regs.read(nbio::BIF_BX0_BIOS_SCRATCH_4).bits() & 0xf
    }

    /// `nbif_v6_3_1_set_reg_remap`.
    fn hole(&self) -> u32 {
        0x7_f000
    }

    fn show_hdp_flush(&self, regs: &Regs, offset: u32) {
        let (memory, registers) = (Value::new(offset), Value::new(offset.wrapping_add(4)));
        regs.write(nbio::BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL, memory);
        regs.write(nbio::BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL, registers);
    }

    /// `nbif_v6_3_1_gc_doorbell_init`.
    fn let_doorbells_pass(&self, regs: &Regs, on: bool) {
        if on {
            let (graphics, compute) = (Value::new(0x3000_0007), Value::new(0x3000_000d));
            regs.write(nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_0_CTRL, graphics);
            regs.write(nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_3_CTRL, compute);
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

    /// `nbif_v6_3_1_sdma_doorbell_range`: both engines', with the first.
    fn route_sdma(&self, regs: &Regs, engines: u32) {
        if engines == 0 {
            return;
        }
        let route = Value::zeroed()
            .with(Copy::S2A_DOORBELL_PORT2_ENABLE, true)
            .having(Copy::S2A_DOORBELL_PORT2_AWID.is::<0xe>())
            .having(Copy::S2A_DOORBELL_PORT2_RANGE_OFFSET.is::<{ SDMA_FIRST as u64 * 2 }>())
            .having(Copy::S2A_DOORBELL_PORT2_RANGE_SIZE.is::<{ 2 * SDMA_SIZE }>())
            .having(Copy::S2A_DOORBELL_PORT2_AWADDR_31_28_VALUE.is::<3>());
        regs.write(nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL, route);
    }

    fn prepare_interrupts(&self, regs: &Regs, dummy: BusAddr) {
        let page = Value::new((dummy.get() >> 8) as u32);
        regs.write(nbio::BIF_BX0_INTERRUPT_CNTL2, page);
        regs.update(nbio::BIF_BX0_INTERRUPT_CNTL, |old| {
            old.with(Interrupts::IH_DUMMY_RD_OVERRIDE, false)
                .with(Interrupts::IH_REQ_NONSNOOP_EN, false)
        });
    }

    /// `nbif_v6_3_1_ih_doorbell_range`.
    fn route_interrupts(&self, regs: &Regs, doorbell: Bounded<10>) {
        let route = Value::zeroed()
            .with(Port::S2A_DOORBELL_PORT1_ENABLE, true)
            .with(Port::S2A_DOORBELL_PORT1_RANGE_OFFSET, doorbell)
            .having(Port::S2A_DOORBELL_PORT1_RANGE_SIZE.is::<2>());
        regs.write(nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL, route);
    }
}
