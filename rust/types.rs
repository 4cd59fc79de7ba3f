// SPDX-License-Identifier: GPL-2.0

//! Types that travel between rooms: addresses, numbers, facts and reports, without any logic.
//!
//! Every room may name these; they name no room, not even `glue`. A raw integer becomes one of
//! them where it enters the module (an ioctl's argument, a register, an interrupt entry) and is a
//! raw integer again only where it leaves it (a packet, a page table entry, an answer to a
//! program).

mod addr;
mod alloc_flags;
mod block_version;
mod buffer_id;
mod doorbell;
mod event_id;
mod gpu_id;
mod hqd_slot;
mod ip_version;
mod layout;
mod page_range;
mod pasid;
mod pci_info;
mod queue_id;
mod queue_spec;
mod report;
mod ring;
mod sdma_place;

pub(crate) use addr::{
    BusAddr,
    GpuVa,
    PageTableBase,
    VramOffset, //
};
pub(crate) use alloc_flags::AllocFlags;
pub(crate) use block_version::{
    BlockVersion,
    GcVersion,
    MmhubVersion,
    NbioVersion,
    OsssysVersion,
    SdmaVersion,
    UnknownBlock,
    Versions, //
};
pub(crate) use buffer_id::BufferId;
pub(crate) use doorbell::{
    DoorbellIndex,
    DoorbellWord, //
};
pub(crate) use event_id::EventId;
pub(crate) use gpu_id::GpuId;
pub(crate) use hqd_slot::HqdSlot;
pub(crate) use ip_version::IpVersion;
pub(crate) use layout::Layout;
pub(crate) use page_range::PageRange;
pub(crate) use pasid::Pasid;
pub(crate) use pci_info::{
    PciInfo,
    PciLink, //
};
pub(crate) use queue_id::QueueId;
pub(crate) use queue_spec::{
    Buffer,
    Format,
    QueueSpec,
    SaveArea, //
};
pub(crate) use report::{
    Hang,
    HubStatus,
    QueueError,
    VmFault, //
};
pub(crate) use ring::{
    Percentage,
    Priority,
    RingParams,
    RingSize, //
};
pub(crate) use sdma_place::SdmaPlace;
