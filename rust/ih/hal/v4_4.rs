// SPDX-License-Identifier: GPL-2.0

//! IH 4.4.2, of gfx942 (`vega20_ih.c`, `kfd_int_process_v9.c`).

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
        regs::{
            osssys_4_4_2::{
                self as oss,
                IH_CHICKEN as Chicken,
                IH_RB_CNTL as Cntl, //
            },
            Value, //
        }, //
    },
    regs::Regs,
    types::DoorbellWord, //
};

/// `SOC15_IH_CLIENTID_SE0SH` to `SE3SH` are consecutive.
const SHADER_ENGINES: u8 = 4;

/// Bus addresses.
static REGISTERS: Registers = registers!(oss, space: 1);

/// The interrupt handler.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn registers(&self) -> &'static Registers {
        &REGISTERS
    }

    /// `AMDGPU_DOORBELL_LAYOUT1_IH`.
    fn doorbell(&self) -> DoorbellWord {
        DoorbellWord::new(0x1a0 << 1)
    }

    fn bus_addresses(&self) -> bool {
        true
    }

    fn before(&self, regs: &Regs) {
        regs.update(oss::IH_CHICKEN, |old| {
            old.with(Chicken::MC_SPACE_GPA_ENABLE, true)
        });
    }

    /// The overflow flag is cleared by an edge when the ring is turned on.
    fn toggle(&self, regs: &Regs, cntl: u32, on: bool) -> u32 {
        let mut cntl = Value::new(cntl).with(Cntl::RB_GPU_TS_ENABLE, true);
        if on {
            for edge in [false, true] {
                cntl = cntl.with(Cntl::WPTR_OVERFLOW_CLEAR, edge);
                regs.write(oss::IH_RB_CNTL, cntl);
            }
            cntl = cntl.with(Cntl::WPTR_OVERFLOW_CLEAR, false);
        }
        cntl.bits()
    }

    fn topic(&self, client: u8, source: u8, data0: u32, data1: u32) -> Option<Topic> {
        let fault = matches!(client, client::UTCL2 | client::VMC | client::VMC1);
        let engines = client::SE0SH..client::SE0SH + SHADER_ENGINES;
        if fault && source == source::VM_FAULT {
            Some(Topic::Fault)
        } else if engines.contains(&client) && source == source::SQ_MESSAGE {
            Some(Topic::Shader(message(data0, data1)))
        } else if client::SDMA.contains(&client) && source == source::SDMA_TRAP {
            Some(Topic::CopyTrap)
        } else {
            (client == client::GRBM_CP).then_some(Topic::Processor)
        }
    }
}

fn message(data0: u32, data1: u32) -> Message {
    // `KFD_CONTEXT_ID_GET_SQ_INT_DATA`.
    let data = data0 & 0xfff | data0 >> 16 & 0xf000 | (data1 & 0xff) << 16;
    // `SQ_INTERRUPT_WORD_WAVE_CTXID`: ENCODING, PRIV.
    let by_handler = data0 >> 26 & 3 == ENCODING_WAVE && data0 >> 13 & 1 == 1;
    // `KFD_DEBUG_TRAP_CODE`.
    let exceptions = if by_handler {
        data >> DOORBELL_BITS & 0x1ff
    } else {
        0
    };
    Message { data, exceptions }
}
