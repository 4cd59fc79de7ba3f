// SPDX-License-Identifier: GPL-2.0

//! What entries of GC 9.4.3 mean, and of the blocks beside it (`kfd_int_process_v9.c`,
//! `soc15_ih_clientid.h`).

use super::{
    Message,
    Topic,
    DOORBELL_BITS,
    ENCODING_WAVE, //
};
use crate::hw::ih::{
    client,
    source, //
};

/// `SOC15_IH_CLIENTID_SE0SH` to `SE3SH` are consecutive.
const SHADER_ENGINES: u8 = 4;

/// Those who put entries into the ring.
pub(super) struct Clients;

impl super::Clients for Clients {
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
