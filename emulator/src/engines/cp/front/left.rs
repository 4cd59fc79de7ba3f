// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the registers of an HQD hold when another driver's queue was there.
//!
//! They are those that Linux writes before it activates a queue, in full or a field of it, whatever they held
//! (`gfx_v9_4_3_xcc_kiq_init_register`, `mes_v12_0_queue_init_register`).

use super::hqd::Image;
use rkfd_hw::regs::gc_9_4_3::CP_HQD_PERSISTENT_STATE as state;
use Image as Mqd;

/// Writes such a queue's registers: addresses of memory that is gone, pointers into its ring, its VMID, the size of its
/// image. It is not active.
pub fn leave_queue(image: &mut Image) {
    let addresses = [
        Mqd::CP_MQD_BASE_ADDR,
        Mqd::CP_HQD_PQ_BASE,
        Mqd::CP_HQD_PQ_RPTR_REPORT_ADDR,
        Mqd::CP_HQD_PQ_WPTR_POLL_ADDR,
        Mqd::CP_HQD_EOP_BASE_ADDR,
        Mqd::CP_HQD_PQ_WPTR,
    ];
    for (address, value) in addresses
        .into_iter()
        .zip((0x1_2340_0000_u64..).step_by(0x10_0000))
    {
        image.set(address, value);
    }
    image.set(Mqd::CP_HQD_PQ_RPTR, 0x340);
    image.set(Mqd::CP_HQD_VMID, 9);
    image.set(
        Mqd::CP_MQD_CONTROL,
        image.get(Mqd::CP_MQD_CONTROL) as u32 | 9,
    );
    // The size of another chip's image.
    let word = image.get(Mqd::CP_HQD_PERSISTENT_STATE) as u32;
    let size = state::PRELOAD_SIZE.mask();
    image.set(
        Mqd::CP_HQD_PERSISTENT_STATE,
        (word & !size) | (0x47 << state::PRELOAD_SIZE.bit()),
    );
}
