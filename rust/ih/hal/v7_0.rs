// SPDX-License-Identifier: GPL-2.0

//! IH 7.0, of gfx1201 (`ih_v7_0.c`, `kfd_int_process_v11.c`).

use super::{
    registers,
    Message,
    Registers,
    Topic,
    DOORBELL_BITS,
    ENCODING_WAVE, //
};
use crate::{
    hw::{
        ih::{
            client,
            source, //
        },
        regs::osssys_7_0_0::{
            self as oss,
            IH_INT_FLOOD_CNTL as Flood,
            IH_MSI_STORM_CTRL as Storm,
            IH_STORM_CLIENT_LIST_CNTL as Clients, //
        }, //
    },
    regs::Regs,
    types::DoorbellWord, //
};

/// The graphics core as a client (`SOC21_IH_CLIENTID_GFX`): shaders, SDMA, its hub.
const GFX: u8 = 0x0a;

/// Address space 0.
static REGISTERS: Registers = registers!(oss, space: 4);

/// The interrupt handler.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn registers(&self) -> &'static Registers {
        &REGISTERS
    }

    /// `AMDGPU_NAVI10_DOORBELL_IH`.
    fn doorbell(&self) -> DoorbellWord {
        DoorbellWord::new(0x178 << 1)
    }

    /// PSP's boot loader doesn't let this block use any (`ih_v7_0_sw_init`).
    fn bus_addresses(&self) -> bool {
        false
    }

    fn after(&self, regs: &Regs) {
        regs.update(oss::IH_STORM_CLIENT_LIST_CNTL, |old| {
            old.with(Clients::CLIENT18_IS_STORM_CLIENT, true)
        });
        regs.update(oss::IH_INT_FLOOD_CNTL, |old| {
            old.with(Flood::FLOOD_CNTL_ENABLE, true)
        });
        regs.update(oss::IH_MSI_STORM_CTRL, |old| {
            old.having(Storm::DELAY.is::<3>())
        });
    }

    fn topic(&self, client: u8, source: u8, data0: u32, data1: u32) -> Option<Topic> {
        let processor = matches!(client, client::GRBM_CP | GFX);
        if client == client::VMC || client == GFX && source == source::VM_FAULT {
            Some(Topic::Fault)
        } else if processor && source == source::SQ_MESSAGE {
            Some(Topic::Shader(message(data0, data1)))
        } else if processor && source == source::GFX12_SDMA_TRAP {
            Some(Topic::CopyTrap)
        } else {
            processor.then_some(Topic::Processor)
        }
    }
}

fn message(data0: u32, data1: u32) -> Message {
    let data = data0 & 0xff_ffff;
    // `SQ_INTERRUPT_WORD_WAVE_CTXID0` and `1`: ENCODING, PRIV.
    let by_handler = data1 >> 6 & 3 == ENCODING_WAVE && data0 >> 26 & 1 == 1;
    // `KFD_CTXID0_TRAP_CODE`.
    let exceptions = if by_handler { data >> DOORBELL_BITS } else { 0 };
    Message { data, exceptions }
}
