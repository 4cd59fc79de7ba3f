// SPDX-License-Identifier: GPL-2.0

//! `/dev/kfd`: open, ioctl, mmap.
//!
//! A file points at the process that opened it. What is mapped is named by the offset: doorbells,
//! the page of remapped registers. Pages come by faults, which look under the process' doorbell
//! mutex whether the device is still there.

use crate::{
    bo::Bo,
    glue::{
        anon_inode::AnonInode,
        chrdev::{
            CharDevice,
            Class,
            Folder,
            Fops,
            Node,
            Region, //
        },
        user,
        vma::{
            Area,
            CpuCaching,
            Fault,
            VmOps, //
        },
    },
    gpu::{
        self,
        Gpu, //
    },
    ioctl,
    process::{
        self,
        Doorbells,
        Process,
        ProcessDevice, //
    },
    uapi::mmap::{
        Kind,
        Offset,
        DOORBELL_SLICE, //
    },
};
use kernel::{
    page::{
        PAGE_SHIFT,
        PAGE_SIZE, //
    },
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
};

/// The device.
pub(crate) struct Kfd;

static FOPS: Fops = Fops::new::<Kfd>();
static VM_OPS: VmOps = VmOps::new::<Kfd>();
static CLASS: Class = Class::new(c"kfd", Folder::Dev);

kernel::sync::global_lock! {
    // SAFETY: Initialised in `init`, which the module calls first.
    unsafe(uninit) static INODE: Mutex<Option<Arc<AnonInode>>> = None;
}

/// To be called once, by the module's init.
pub(crate) fn init() {
    // SAFETY: Called once.
    unsafe { INODE.init() };
}

/// An open file.
pub(crate) struct KfdFile {
    process: Arc<Process>,
}

/// The node; removed when dropped.
pub(crate) struct KfdNode {
    node: Node,
}

impl KfdNode {
    /// Makes class and node.
    pub(crate) fn new() -> Result<Self> {
        *INODE.lock() = Some(AnonInode::new()?);
        let region = Arc::new(Region::new::<Kfd>(&CLASS, c"kfd")?, GFP_KERNEL)?;
        Ok(Self {
            node: region.node(0, c"kfd", None)?,
        })
    }

    /// The device's node, below which the topology is.
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }
}

impl Drop for KfdNode {
    fn drop(&mut self) {
        // No file is open when the module goes, so nobody needs it any more.
        let inode = INODE.lock().take();
        drop(inode);
    }
}

/// Takes the pages of a GPU out of all mappings. Faults refuse them already.
pub(crate) fn revoke(gpu: &Gpu) {
    let inode = INODE.lock().clone();
    if let Some(inode) = inode {
        let at = |kind| {
            Offset {
                kind,
                gpu_id: gpu.id().get(),
                offset: 0,
            }
            .bits()
        };
        inode.revoke(at(Kind::Doorbell), DOORBELL_SLICE as u64);
        inode.revoke(at(Kind::Mmio), PAGE_SIZE as u64);
    }
}

impl KfdFile {
    fn device(&self, gpu_id: u16) -> Result<&Arc<ProcessDevice>> {
        self.process.device(gpu_id.into())
    }

    /// The GPU that an offset names, if it is there (`kfd_device_by_id`).
    fn check_gpu(offset: &Offset) -> Result {
        let gpu = gpu::lookup(offset.gpu_id.into()).ok_or(ENODEV)?;
        gpu.alive()
    }
}

impl CharDevice for Kfd {
    type File = KfdFile;

    fn fops() -> &'static Fops {
        &FOPS
    }

    fn vm_ops() -> &'static VmOps {
        &VM_OPS
    }

    fn inode(_minor: u32) -> Option<Arc<AnonInode>> {
        INODE.lock().clone()
    }

    fn open(minor: u32) -> Result<Arc<KfdFile>> {
        if minor != 0 {
            return Err(ENODEV);
        }
        if user::is_compat() {
            return Err(EPERM);
        }
        Ok(Arc::new(
            KfdFile {
                process: process::find_or_create()?,
            },
            GFP_KERNEL,
        )?)
    }

    fn ioctl(file: ArcBorrow<'_, KfdFile>, cmd: u32, arg: usize) -> Result<isize> {
        ioctl::ioctl(&file.process, cmd, arg)
    }

    fn mmap(file: ArcBorrow<'_, KfdFile>, area: &Area<'_>) -> Result {
        if !file.process.is_current() {
            return Err(EBADF);
        }
        let offset = Offset::parse(area.offset());
        match offset.kind {
            Kind::Doorbell => {
                KfdFile::check_gpu(&offset)?;
                if area.len() != DOORBELL_SLICE {
                    return Err(EINVAL);
                }
                file.device(offset.gpu_id)?.slice().map_err(|e| match e {
                    e if e == ENODEV => ENODEV,
                    _ => ENOMEM,
                })?;
                // The slice is mapped from its start, whatever doorbell the offset names.
                area.set_offset(
                    Offset {
                        offset: 0,
                        ..offset
                    }
                    .bits(),
                );
                area.map_own(CpuCaching::Uncached);
                Ok(())
            }
            Kind::Mmio => {
                KfdFile::check_gpu(&offset)?;
                if area.len() != PAGE_SIZE {
                    return Err(EINVAL);
                }
                file.device(offset.gpu_id)?;
                area.set_offset(
                    Offset {
                        offset: 0,
                        ..offset
                    }
                    .bits(),
                );
                area.map_own(CpuCaching::Uncached);
                Ok(())
            }
            // The signal page is a buffer object of the program's, mapped through the render node.
            Kind::Events | Kind::ReservedMem => Err(EINVAL),
        }
    }

    fn fault(file: ArcBorrow<'_, KfdFile>, fault: &Fault<'_>) -> Result {
        let offset = Offset::parse(fault.offset());
        let device = file.device(offset.gpu_id)?;
        let doorbells = device.doorbells.lock();
        if matches!(*doorbells, Doorbells::Gone) {
            return Err(ENODEV);
        }
        device.gpu.alive()?;
        match (offset.kind, &*doorbells) {
            (Kind::Doorbell, Doorbells::Slice(slice)) => {
                let page = (offset.offset >> PAGE_SHIFT) as usize;
                if page >= DOORBELL_SLICE >> PAGE_SHIFT {
                    return Err(EINVAL);
                }
                fault.insert(slice.pfn() + page)
            }
            (Kind::Mmio, _) => {
                let page = Bo::mmio_remap(&device.gpu)?;
                fault.insert(page.pfn(offset.offset)?)
            }
            _ => Err(EINVAL),
        }
    }
}
