// SPDX-License-Identifier: GPL-2.0

//! Types that travel between rooms: addresses, numbers and reports, without any logic.
//!
//! Every room may name these; they name no room, not even `glue`. A raw integer becomes one of
//! them where it enters the module (an ioctl's argument, a register, an interrupt entry) and is a
//! raw integer again only where it leaves it (a packet, a page table entry, an answer to a
//! program).

mod addr;
mod doorbell;
mod event_id;
mod gpu_id;
mod ip_version;
mod pasid;
mod queue_id;

#[allow(unused_imports, reason = "the rooms adopt them one by one")]
pub(crate) use addr::{
    BusAddr,
    GpuVa,
    VramOffset, //
};
#[allow(unused_imports, reason = "the rooms adopt them one by one")]
pub(crate) use doorbell::{
    DoorbellIndex,
    DoorbellWord, //
};
pub(crate) use event_id::EventId;
pub(crate) use gpu_id::GpuId;
pub(crate) use ip_version::IpVersion;
pub(crate) use pasid::Pasid;
#[allow(unused_imports, reason = "the rooms adopt them one by one")]
pub(crate) use queue_id::QueueId;
