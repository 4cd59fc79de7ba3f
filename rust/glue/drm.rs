// SPDX-License-Identifier: GPL-2.0

//! Devices of the kernel's DRM core: `/dev/dri/card0`, `/dev/dri/renderD128` and on.
//!
//! The kernel crate of 7.3 has DRM only where the core is built in; stock kernels have it as a module,
//! `drm.ko`, which is loaded before ours. `bindings` has its types and functions either way, since they
//! come from headers that don't depend on the configuration.
//!
//! A driver implements [`Driver`]; its tables are statics: operations of files ([`Fops`]), requests
//! ([`Requests`]), and what names both to the core ([`Table`]). Files have handles to GEM objects
//! ([`Gem`]), which go out and come in as DMA-bufs. A [`Device`] is counted; one that programs
//! can open is [`Registered`]. Files and whoever revokes mappings hold the device, and it outlives the
//! hardware: after unplugging, every call answers ENODEV.

use super::{
    dma_buf::DmaBuf,
    transfer::Transfer,
    vma::{
        Area,
        Fault,
        VmOps, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    }, //
};

mod device;
mod driver;
mod fdinfo;
mod file;
mod gem;
mod prime;
mod request;
mod syncobj;

pub(crate) use device::{
    Device,
    Registered, //
};
pub(crate) use driver::{
    Identity,
    Table, //
};
pub(crate) use fdinfo::{
    MemoryStats,
    Printer, //
};
pub(crate) use file::{
    borrow,
    vm_ops,
    Fops,
    Opened, //
};
pub(crate) use gem::{
    object_vm_ops,
    Gem,
    Object,
    Ops as ObjectOps, //
};
pub(crate) use request::{
    Access,
    Request,
    Requests, //
};

/// What a DRM device does. All calls come from the context of a user process.
pub(crate) trait Driver: Send + Sync + Sized + 'static {
    /// What an open file holds.
    type File: Send + Sync + 'static;
    /// What stands behind its GEM objects.
    type Object: Object<File = Self::File>;

    /// Its table: `static TABLE: Table = Table::new::<Self>(..);`.
    fn table() -> &'static Table;
    /// The operations of its files: `static FOPS: Fops = Fops::new::<Self>();`.
    fn fops() -> &'static Fops;
    /// The operations of its mappings: `static VM_OPS: VmOps = drm::vm_ops::<Self>();`.
    fn vm_ops() -> &'static VmOps;
    /// Opens a file of any of its nodes.
    fn open(&self) -> Result<Arc<Self::File>>;
    /// Makes an object of somebody else's DMA-buf.
    fn import(&self, buf: DmaBuf) -> Result<Gem<Self::Object>>;
    /// Tells of a file what it has. It must not wait for anybody.
    fn show(file: Opened<'_, Self>, printer: &Printer<'_>);
    /// Checks a new mapping and sets it up with [`Area::map`]. The mmap lock is held for writing.
    fn mmap(file: ArcBorrow<'_, Self::File>, area: &Area<'_>) -> Result;
    /// Inserts the page that was touched. The mmap lock or the area's lock is held for reading.
    fn fault(file: ArcBorrow<'_, Self::File>, fault: &Fault<'_>) -> Result;
    /// Copies what a debugger reads or writes of a mapping. The mmap lock is held for reading, by any process.
    fn access(file: ArcBorrow<'_, Self::File>, transfer: &Transfer<'_>) -> Result;
}
