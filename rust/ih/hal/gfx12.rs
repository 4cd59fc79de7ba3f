// SPDX-License-Identifier: GPL-2.0

//! What entries of GC 12.0 mean, and of the blocks beside it: as those of gfx11
//! (`kfd_int_process_v11.c`, `soc15_ih_clientid.h`).

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

/// The graphics core as a client (`SOC21_IH_CLIENTID_GFX`): shaders, SDMA, its hub.
const GFX: u8 = 0x0a;

/// Those who put entries into the ring.
pub(super) struct Clients;

impl super::Clients for Clients {
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
