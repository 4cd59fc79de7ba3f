// SPDX-License-Identifier: GPL-2.0

//! The render node, `/dev/dri/renderD255` and down: a GPU's second face.
//!
//! Its files name an address space for ACQUIRE_VM, and buffer objects are mapped on it at offsets
//! that the driver makes up: see `mmap`.
//!
//! It is a device of our own, not of the DRM core, which stock kernels have as a module without
//! Rust's side, and answers what compute clients ask of it. libdrm knows a render node by the
//! folder `drm` of its PCI device, which is made here, too.
//!
//! Lock order: the mutex of [`Minors`] is a leaf; that of the nodes is above the device core's.

use crate::{
    counts::{
        Counts,
        Thing, //
    },
    glue::{
        anon_inode::{
            AnonInode,
            PseudoFs, //
        },
        chrdev::{
            self,
            CharDevice,
            Class,
            Folder,
            Fops,
            Node,
            Region, //
        },
        kobject::{
            Dir,
            Empty, //
        },
        vma::{
            Area,
            Fault,
            VmOps, //
        }, //
    },
    gpu::Gpu,
    limit::SystemMemory,
    mmap::{
        Offsets,
        VmFile, //
    },
    uapi::drm as abi, //
};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{
        Arc,
        ArcBorrow,
        Mutex, //
    }, //
};

mod device_info;
mod info;
mod request;
mod version;

static FOPS: Fops = Fops::new::<Render>();
static VM_OPS: VmOps = chrdev::vm_ops::<Render>();
// The name "drm" is the DRM core's.
static CLASS: Class = Class::new(c"rkfd-render", Folder::Dri);

/// The device: what opening a render node needs.
#[pin_data]
pub(crate) struct Render {
    counts: Arc<Counts>,
    memory: Arc<SystemMemory>,
    #[pin]
    minors: Mutex<KVec<Minor>>,
}

/// A render node that can be opened.
struct Minor {
    minor: u32,
    offsets: Arc<Offsets>,
}

/// An open file.
pub(crate) struct RenderFile {
    vm: Arc<VmFile>,
    memory: Arc<SystemMemory>,
}

impl RenderFile {
    /// What it is for processes.
    pub(crate) fn vm(&self) -> &Arc<VmFile> {
        &self.vm
    }
}

impl Render {
    fn by_minor(&self, minor: u32) -> Option<Arc<Offsets>> {
        let minors = self.minors.lock();
        let found = minors.iter().find(|m| m.minor == minor)?;
        Some(found.offsets.clone())
    }
}

/// The render nodes of the module.
#[pin_data]
pub(crate) struct RenderNodes {
    // Dropped in this order: nodes before the numbers that they have.
    #[pin]
    list: Mutex<KVec<Listed>>,
    region: Region<Render>,
    device: Arc<Render>,
    fs: Arc<PseudoFs>,
}

/// What is seen of a GPU's node. Removed in this order.
struct Listed {
    gpu: Arc<Gpu>,
    minor: u32,
    /// `drm/renderD255` of the PCI device.
    _folder: Dir,
    _device: Node,
}

impl RenderNodes {
    /// Registers their class and major.
    pub(crate) fn new(
        fs: &Arc<PseudoFs>,
        counts: &Arc<Counts>,
        memory: &Arc<SystemMemory>,
    ) -> Result<impl PinInit<Self>> {
        let device = Arc::pin_init(
            pin_init!(Render {
                counts: counts.clone(),
                memory: memory.clone(),
                minors <- new_mutex!(KVec::new(), "rkfd render minors"),
            }),
            GFP_KERNEL,
        )?;
        let region = Region::new(&CLASS, c"rkfd-render", device.clone())?;
        let fs = fs.clone();
        Ok(pin_init!(Self {
            list <- new_mutex!(KVec::new(), "rkfd render nodes"),
            region,
            device,
            fs,
        }))
    }

    /// Makes the node of a GPU, and returns its minor.
    pub(crate) fn add(&self, gpu: &Arc<Gpu>) -> Result<u32> {
        let mut list = self.list.lock();
        // From the end, since the DRM core gives its own devices names from the start.
        let minor = (abi::FIRST_MINOR..=abi::LAST_MINOR)
            .rev()
            .find(|minor| list.iter().all(|listed| listed.minor != *minor))
            .ok_or(ENOSPC)?;
        let offsets = Offsets::new(gpu, &self.fs)?;
        list.reserve(1, GFP_KERNEL)?;
        let name = CString::try_from_fmt(fmt!("renderD{minor}"))?;
        self.device
            .minors
            .lock()
            .push(Minor { minor, offsets }, GFP_KERNEL)?;
        match self.show(gpu, minor, &name) {
            Ok(listed) => {
                list.push(listed, GFP_KERNEL)?;
                Ok(minor)
            }
            Err(e) => {
                self.close(minor);
                Err(e)
            }
        }
    }

    fn show(&self, gpu: &Arc<Gpu>, minor: u32, name: &CStr) -> Result<Listed> {
        let device = self.region.node(minor, name, Some(gpu.device()))?;
        let folder = Dir::of_device(gpu.device(), c"drm", Empty)?;
        folder.link(&device, name)?;
        gpu.set_node(device.number());
        Ok(Listed {
            gpu: gpu.clone(),
            minor,
            _folder: folder,
            _device: device,
        })
    }

    /// Removes the node of a GPU; its mappings are revoked.
    pub(crate) fn remove(&self, gpu: &Gpu) {
        let removed = {
            let mut list = self.list.lock();
            let index = list.iter().position(|listed| listed.gpu.id() == gpu.id());
            index.and_then(|index| list.remove(index).ok())
        };
        if let Some(listed) = removed {
            self.close(listed.minor);
            drop(listed);
        }
    }

    /// From now on nothing of a node can be opened or mapped.
    fn close(&self, minor: u32) {
        let closed = {
            let mut minors = self.device.minors.lock();
            let index = minors.iter().position(|m| m.minor == minor);
            index.and_then(|index| minors.remove(index).ok())
        };
        if let Some(closed) = closed {
            closed.offsets.close();
        }
    }
}

impl CharDevice for Render {
    type File = RenderFile;

    fn fops() -> &'static Fops {
        &FOPS
    }

    fn vm_ops() -> &'static VmOps {
        &VM_OPS
    }

    fn inode(&self, minor: u32) -> Option<Arc<AnonInode>> {
        Some(self.by_minor(minor)?.inode().clone())
    }

    fn open(&self, minor: u32) -> Result<Arc<RenderFile>> {
        let offsets = self.by_minor(minor).ok_or(ENODEV)?;
        offsets.gpu().alive()?;
        let file = RenderFile {
            vm: VmFile::new(offsets, self.counts.count(Thing::RenderFile))?,
            memory: self.memory.clone(),
        };
        Ok(Arc::new(file, GFP_KERNEL_ACCOUNT)?)
    }

    fn ioctl(file: ArcBorrow<'_, RenderFile>, cmd: u32, arg: usize) -> Result<isize> {
        let gpu = file.vm.gpu();
        gpu.alive()?;
        request::request(gpu, &file.memory, cmd, arg).map(|()| 0)
    }

    fn mmap(file: ArcBorrow<'_, RenderFile>, area: &Area<'_>) -> Result {
        file.vm.map(area)
    }

    fn fault(file: ArcBorrow<'_, RenderFile>, fault: &Fault<'_>) -> Result {
        file.vm.fault(fault)
    }
}
