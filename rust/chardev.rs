// SPDX-License-Identifier: GPL-2.0

//! `/dev/kfd`: open, ioctl, mmap.
//!
//! A file points at the process that opened it. What is mapped is named by the offset: doorbells,
//! the page of remapped registers. Pages come by faults, which look under the process' doorbell
//! mutex whether the device is still there.

use crate::{
    glue::{
        anon_inode::{
            AnonInode,
            PseudoFs, //
        },
        chrdev::{
            self,
            CharDevice,
            Class,
            Fops,
            Node,
            Region, //
        },
        owner::{
            self,
            Owner, //
        },
        user,
        vma::{
            Area,
            CpuCaching,
            Fault,
            VmOps, //
        }, //
    },
    gpu::Gpu,
    ioctl,
    process::{
        Doorbells,
        Process,
        ProcessDevice,
        Processes, //
    },
    types::GpuId,
    uapi::mmap::{
        Kind,
        Offset,
        DOORBELL_SLICE, //
    }, //
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
    }, //
};

static FOPS: Fops = Fops::new::<Kfd>();
static VM_OPS: VmOps = chrdev::vm_ops::<Kfd>();
static CLASS: Class = Class::new(c"kfd");

/// The device: what an open needs.
pub(crate) struct Kfd {
    inode: Arc<AnonInode>,
    processes: Arc<Processes>,
}

/// An open file.
pub(crate) struct KfdFile {
    process: Arc<Process>,
}

/// Reports which driver has the class, and what can be done.
fn refuse(owner: &Owner) {
    match owner.module() {
        Some(name) => pr_err!(
            "class kfd belongs to the module {name}: 'rmmod {name}' and load this module again, or boot with 'modprobe.blacklist={name}' if {name} is in use\n"
        ),
        None => pr_err!(
            "class kfd belongs to another driver: unload it, and load this module again\n"
        ),
    }
}

/// The node; removed when dropped.
pub(crate) struct KfdNode {
    // Dropped in this order.
    node: Node,
    _region: Region<Kfd>,
    inode: Arc<AnonInode>,
}

impl KfdNode {
    /// Makes class and node.
    ///
    /// # Errors
    ///
    /// EBUSY, with a message that names it, when another driver has the class.
    pub(crate) fn new(fs: &Arc<PseudoFs>, processes: &Arc<Processes>) -> Result<Self> {
        if let Some(owner) = owner::of_class(c"kfd") {
            refuse(&owner);
            return Err(EBUSY);
        }
        let inode = fs.inode()?;
        let kfd = Kfd {
            inode: inode.clone(),
            processes: processes.clone(),
        };
        let region = Region::new(&CLASS, c"kfd", Arc::new(kfd, GFP_KERNEL)?)?;
        Ok(Self {
            node: region.node(0, c"kfd", None)?,
            _region: region,
            inode,
        })
    }

    /// The device's node, below which the topology is.
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Takes the pages of a GPU out of all mappings. Faults refuse them already.
    pub(crate) fn revoke(&self, gpu: &Gpu) {
        let at = |kind| {
            Offset {
                kind,
                gpu_id: gpu.id().get(),
                offset: 0,
            }
            .bits()
        };
        self.inode.revoke(at(Kind::Doorbell), DOORBELL_SLICE as u64);
        self.inode.revoke(at(Kind::Mmio), PAGE_SIZE as u64);
    }
}

impl KfdFile {
    /// The process' part of the GPU that an offset names.
    fn device(&self, offset: &Offset) -> Result<&Arc<ProcessDevice>> {
        let id = GpuId::from_user(offset.gpu_id.into()).ok_or(EINVAL)?;
        self.process.device(id)
    }

    /// The GPU that an offset names, if it is there (`kfd_device_by_id`).
    fn check_gpu(&self, offset: &Offset) -> Result {
        let id = GpuId::from_user(offset.gpu_id.into()).ok_or(ENODEV)?;
        let gpus = &self.process.shared().gpus;
        gpus.lookup(id).ok_or(ENODEV)?.alive()
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

    fn inode(&self, _minor: u32) -> Option<Arc<AnonInode>> {
        Some(self.inode.clone())
    }

    fn open(&self, minor: u32) -> Result<Arc<KfdFile>> {
        if minor != 0 {
            return Err(ENODEV);
        }
        if user::is_compat() {
            return Err(EPERM);
        }
        Ok(Arc::new(
            KfdFile {
                process: self.processes.find_or_create()?,
            },
            GFP_KERNEL_ACCOUNT,
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
                file.check_gpu(&offset)?;
                if area.len() != DOORBELL_SLICE {
                    return Err(EINVAL);
                }
                file.device(&offset)?.slice().map_err(|e| match e {
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
                file.check_gpu(&offset)?;
                if area.len() != PAGE_SIZE {
                    return Err(EINVAL);
                }
                file.device(&offset)?;
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
        let device = file.device(&offset)?;
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
                fault.insert(slice.pfn().checked_add(page).ok_or(EINVAL)?)
            }
            (Kind::Mmio, _) => {
                if offset.offset >= PAGE_SIZE as u64 {
                    return Err(EINVAL);
                }
                fault.insert((device.gpu.memory().flush_page() >> PAGE_SHIFT) as usize)
            }
            _ => Err(EINVAL),
        }
    }
}
