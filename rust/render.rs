// SPDX-License-Identifier: GPL-2.0

//! The render node, `/dev/dri/renderD255` and down: a GPU's second face.
//!
//! Its files name an address space for ACQUIRE_VM, and buffer objects are mapped on it at offsets
//! that the driver makes up. Each buffer object has a [`Mapping`]: an offset that is never used
//! again. When it is dropped the pages are first taken out of all mappings.
//!
//! It is a device of our own, not of the DRM core, which stock kernels have as a module without
//! Rust's side, and answers what compute clients ask of it. libdrm knows a render node by the
//! folder `drm` of its PCI device, which is made here, too.
//!
//! Lock order: nodes -> nothing; a node's objects are a leaf that faults take.

use crate::{
    debugfs::{Count, RENDER_FILES},
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
        kobject::{
            Dir,
            Empty, //
        },
        vma::{
            Area,
            Fault,
            VmOps, //
        },
    },
    gpu::Gpu,
    uapi::drm as abi,
};
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{
        atomic::{
            AtomicFlag,
            Full, //
        },
        Arc,
        ArcBorrow,
        Mutex, //
    },
};

mod device_info;
mod info;
mod mapping;
mod request;
mod version;

pub(crate) use mapping::Mapping;
use mapping::Objects;

/// The device.
pub(crate) struct Render;

static FOPS: Fops = Fops::new::<Render>();
static VM_OPS: VmOps = VmOps::new::<Render>();
// The name "drm" is the DRM core's.
static CLASS: Class = Class::new(c"rkfd-render", Folder::Dri);

/// What there is while the module is loaded.
struct Nodes {
    region: Arc<Region>,
    list: KVec<Listed>,
}

/// A GPU's node, and what is seen of it. Removed in this order.
struct Listed {
    node: Arc<RenderNode>,
    /// `drm/renderD255` of the PCI device.
    _folder: Dir,
    _device: Node,
}

kernel::sync::global_lock! {
    // SAFETY: Initialised in `init`, which the module calls first.
    unsafe(uninit) static NODES: Mutex<Option<Nodes>> = None;
}

/// To be called once, by the module's init.
pub(crate) fn init() {
    // SAFETY: Called once.
    unsafe { NODES.init() };
}

/// The class and major of render nodes; removed when dropped.
pub(crate) struct RenderClass;

impl RenderClass {
    pub(crate) fn new() -> Result<Self> {
        let region = Arc::new(Region::new::<Render>(&CLASS, c"rkfd-render")?, GFP_KERNEL)?;
        *NODES.lock() = Some(Nodes {
            region,
            list: KVec::new(),
        });
        Ok(Self)
    }
}

impl Drop for RenderClass {
    fn drop(&mut self) {
        let nodes = NODES.lock().take();
        drop(nodes);
    }
}

/// The render node of a GPU. Open files keep it after the GPU went.
#[pin_data]
pub(crate) struct RenderNode {
    gpu: Arc<Gpu>,
    minor: u32,
    inode: Arc<AnonInode>,
    #[pin]
    objects: Mutex<Objects>,
}

impl RenderNode {
    /// Makes the node of a GPU.
    pub(crate) fn add(gpu: &Arc<Gpu>) -> Result {
        let mut guard = NODES.lock();
        let nodes = guard.as_mut().ok_or(ENODEV)?;
        // From the end, since the DRM core gives its own devices names from the start.
        let minor = (abi::FIRST_MINOR..=abi::LAST_MINOR)
            .rev()
            .find(|minor| nodes.list.iter().all(|l| l.node.minor != *minor))
            .ok_or(ENOSPC)?;
        let inode = AnonInode::new()?;
        let node = Arc::pin_init(
            pin_init!(RenderNode {
                gpu: gpu.clone(),
                minor,
                inode,
                objects <- new_mutex!(Objects::new(), "rkfd render objects"),
            }),
            GFP_KERNEL,
        )?;
        nodes.list.reserve(1, GFP_KERNEL)?;
        let name = CString::try_from_fmt(fmt!("renderD{minor}"))?;
        let device = nodes.region.node(minor, &name, Some(gpu.device()))?;
        let folder = Dir::of_device(gpu.device(), c"drm", Empty)?;
        folder.link(&device, &name)?;
        let listed = Listed {
            node,
            _folder: folder,
            _device: device,
        };
        nodes.list.push(listed, GFP_KERNEL)?;
        Ok(())
    }

    /// Removes the node of a GPU; its mappings are revoked.
    pub(crate) fn remove(gpu: &Gpu) {
        let removed = {
            let mut guard = NODES.lock();
            guard.as_mut().and_then(|nodes| {
                let index = nodes
                    .list
                    .iter()
                    .position(|l| l.node.gpu.id() == gpu.id())?;
                nodes.list.remove(index).ok()
            })
        };
        if let Some(listed) = removed {
            listed.node.objects.lock().close();
            listed.node.inode.revoke_all();
            drop(listed);
        }
    }

    /// The minor of a GPU's node.
    pub(crate) fn minor(gpu: &Gpu) -> Option<u32> {
        let guard = NODES.lock();
        let list = &guard.as_ref()?.list;
        list.iter()
            .find(|l| l.node.gpu.id() == gpu.id())
            .map(|l| l.node.minor)
    }

    fn by_minor(minor: u32) -> Option<Arc<RenderNode>> {
        let guard = NODES.lock();
        let list = &guard.as_ref()?.list;
        list.iter()
            .find(|l| l.node.minor == minor)
            .map(|l| l.node.clone())
    }
}

/// An open file.
pub(crate) struct RenderFile {
    node: Arc<RenderNode>,
    /// A process took its address space.
    claimed: AtomicFlag,
    _count: Count,
}

/// A file's address space being taken; given back when dropped.
pub(crate) struct Claim<'a>(Option<&'a RenderFile>);

impl Claim<'_> {
    /// It stays taken.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            file.claimed.store(false, kernel::sync::atomic::Release);
        }
    }
}

impl RenderFile {
    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.node.gpu
    }

    /// Takes the file's address space, which can be done once.
    ///
    /// # Errors
    ///
    /// EINVAL when a process has it or had it.
    pub(crate) fn claim(&self) -> Result<Claim<'_>> {
        if self.claimed.xchg(true, Full) {
            return Err(EINVAL);
        }
        Ok(Claim(Some(self)))
    }

    fn key(&self) -> usize {
        core::ptr::from_ref(self) as usize
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

    fn inode(minor: u32) -> Option<Arc<AnonInode>> {
        Some(RenderNode::by_minor(minor)?.inode.clone())
    }

    fn open(minor: u32) -> Result<Arc<RenderFile>> {
        let node = RenderNode::by_minor(minor).ok_or(ENODEV)?;
        node.gpu.alive()?;
        let file = RenderFile {
            node,
            claimed: AtomicFlag::new(false),
            _count: Count::new(&RENDER_FILES),
        };
        Ok(Arc::new(file, GFP_KERNEL)?)
    }

    fn ioctl(file: ArcBorrow<'_, RenderFile>, cmd: u32, arg: usize) -> Result<isize> {
        file.node.gpu.alive()?;
        request::request(&file.node.gpu, cmd, arg).map(|()| 0)
    }

    fn mmap(file: ArcBorrow<'_, RenderFile>, area: &Area<'_>) -> Result {
        file.node.objects.lock().map_of(&file, area)
    }

    fn fault(file: ArcBorrow<'_, RenderFile>, fault: &Fault<'_>) -> Result {
        file.node.objects.lock().fault(fault)
    }
}
