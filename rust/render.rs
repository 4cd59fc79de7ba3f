// SPDX-License-Identifier: GPL-2.0

//! The render node, `/dev/dri/renderD128` and on: a GPU's second face.
//!
//! Its files name an address space for ACQUIRE_VM, and buffer objects are mapped on it at offsets
//! that the driver makes up. Each buffer object has a [`Mapping`]: an offset that is never used
//! again. When it is dropped the pages are first taken out of all mappings.
//!
//! It is a device of our own, not of the DRM core, and answers only what clients ask of it.
//!
//! Lock order: nodes -> nothing; a node's objects are a leaf that faults take.

use crate::{
    bo::{
        Bo,
        Caching, //
    },
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
        user,
        vma::{
            Area,
            CpuCaching,
            Fault,
            VmOps, //
        },
    },
    gpu::Gpu,
    uapi::{
        ioctl as ioc,
        render as abi, //
    },
};
use kernel::{
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    rbtree::RBTree,
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
    uaccess::{
        UserPtr,
        UserSlice, //
    },
};

/// The device.
pub(crate) struct Render;

static FOPS: Fops = Fops::new::<Render>();
static VM_OPS: VmOps = VmOps::new::<Render>();
// The name "drm" is the DRM core's.
static CLASS: Class = Class::new(c"rkfd-render", Folder::Dri);

/// Where offsets of DRM files start (`DRM_FILE_PAGE_OFFSET_START`).
const FIRST_OFFSET: u64 = 1 << 32;

/// What there is while the module is loaded.
struct Nodes {
    region: Arc<Region>,
    list: KVec<(Arc<RenderNode>, Node)>,
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

/// Buffer objects by their offset.
struct Objects {
    /// The device went: no page may be mapped any more.
    gone: bool,
    next: u64,
    by_offset: RBTree<u64, Object>,
}

struct Object {
    bo: Arc<Bo>,
    /// The file that may map it.
    owner: usize,
}

impl Objects {
    /// The object that an offset lies in, and how far.
    fn find(&self, offset: u64) -> Option<(&Object, u64)> {
        let (start, object) = match self.by_offset.cursor_lower_bound(&offset) {
            Some(cursor) if *cursor.current().0 == offset => (offset, self.by_offset.get(&offset)?),
            Some(cursor) => {
                let start = *cursor.peek_prev()?.0;
                (start, self.by_offset.get(&start)?)
            }
            None => {
                let start = *self.by_offset.cursor_back()?.current().0;
                (start, self.by_offset.get(&start)?)
            }
        };
        let within = offset.checked_sub(start)?;
        (within < object.bo.size()).then_some((object, within))
    }
}

impl RenderNode {
    /// Makes the node of a GPU.
    pub(crate) fn add(gpu: &Arc<Gpu>) -> Result {
        let mut guard = NODES.lock();
        let nodes = guard.as_mut().ok_or(ENODEV)?;
        let minor = (abi::FIRST_MINOR..=abi::LAST_MINOR)
            .find(|minor| nodes.list.iter().all(|(node, _)| node.minor != *minor))
            .ok_or(ENOSPC)?;
        let inode = AnonInode::new()?;
        let node = Arc::pin_init(
            pin_init!(RenderNode {
                gpu: gpu.clone(),
                minor,
                inode,
                objects <- new_mutex!(Objects {
                    gone: false,
                    next: FIRST_OFFSET,
                    by_offset: RBTree::new(),
                }, "rkfd render objects"),
            }),
            GFP_KERNEL,
        )?;
        nodes.list.reserve(1, GFP_KERNEL)?;
        let name = CString::try_from_fmt(fmt!("renderD{minor}"))?;
        let device = nodes.region.node(minor, &name, Some(gpu.device()))?;
        nodes.list.push((node, device), GFP_KERNEL)?;
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
                    .position(|(node, _)| node.gpu.id() == gpu.id())?;
                nodes.list.remove(index).ok()
            })
        };
        if let Some((node, device)) = removed {
            node.objects.lock().gone = true;
            node.inode.revoke_all();
            drop(device);
        }
    }

    /// The minor of a GPU's node.
    pub(crate) fn minor(gpu: &Gpu) -> Option<u32> {
        let guard = NODES.lock();
        let list = &guard.as_ref()?.list;
        list.iter()
            .find(|(node, _)| node.gpu.id() == gpu.id())
            .map(|(node, _)| node.minor)
    }

    fn by_minor(minor: u32) -> Option<Arc<RenderNode>> {
        let guard = NODES.lock();
        let list = &guard.as_ref()?.list;
        list.iter()
            .find(|(node, _)| node.minor == minor)
            .map(|(node, _)| node.clone())
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

/// A buffer object's place in a render node's offsets.
pub(crate) struct Mapping {
    node: Arc<RenderNode>,
    offset: u64,
    size: u64,
}

impl Mapping {
    /// Gives a buffer object an offset; only `file` can map it.
    pub(crate) fn new(file: &RenderFile, bo: &Arc<Bo>) -> Result<Self> {
        let node = file.node.clone();
        let size = bo.size();
        let object = Object {
            bo: bo.clone(),
            owner: file.key(),
        };
        let offset = {
            let mut objects = node.objects.lock();
            if objects.gone {
                return Err(ENODEV);
            }
            let offset = objects.next;
            // A page is left out between two, so that no mapping reaches into the next.
            let next = size
                .checked_add(PAGE_SIZE as u64)
                .and_then(|n| offset.checked_add(n));
            let next = next.filter(|next| *next < i64::MAX as u64).ok_or(ENOSPC)?;
            objects
                .by_offset
                .try_create_and_insert(offset, object, GFP_KERNEL)?;
            objects.next = next;
            offset
        };
        Ok(Self { node, offset, size })
    }

    /// For the program's mmap.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // From here on a fault finds nothing; then the pages that are mapped go.
        let object = self.node.objects.lock().by_offset.remove(&self.offset);
        self.node.inode.revoke(self.offset, self.size);
        drop(object);
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
        if ioc::ioc_type(cmd) != abi::TYPE {
            return Err(ENOTTY);
        }
        match ioc::ioc_number(cmd) {
            n if n == abi::VERSION.info.number => version(cmd, arg).map(|()| 0),
            // What the DRM core says of a number it has no entry for.
            _ => Err(EINVAL),
        }
    }

    fn mmap(file: ArcBorrow<'_, RenderFile>, area: &Area<'_>) -> Result {
        let objects = file.node.objects.lock();
        if objects.gone {
            return Err(ENODEV);
        }
        let object = objects.by_offset.get(&area.offset()).ok_or(EINVAL)?;
        if area.len() as u64 > object.bo.size() {
            return Err(EINVAL);
        }
        if object.owner != file.key() {
            return Err(EACCES);
        }
        let caching = match object.bo.caching() {
            Caching::Cached => CpuCaching::WriteBack,
            Caching::WriteCombine => CpuCaching::WriteCombine,
            Caching::Uncached => CpuCaching::Uncached,
        };
        area.map(caching, true)
    }

    fn fault(file: ArcBorrow<'_, RenderFile>, fault: &Fault<'_>) -> Result {
        let objects = file.node.objects.lock();
        if objects.gone {
            return Err(ENODEV);
        }
        let (object, within) = objects.find(fault.offset()).ok_or(EFAULT)?;
        if object.bo.placement().is_none() {
            // Doorbells and registers are mapped on /dev/kfd.
            return Err(EFAULT);
        }
        fault.insert(object.bo.pfn(within)?)
    }
}

/// DRM_IOCTL_VERSION: who we are, as amdgpu says it.
fn version(cmd: u32, arg: usize) -> Result {
    const SIZE: usize = core::mem::size_of::<abi::DrmVersion>();
    let user_size = ioc::ioc_size(cmd).min(SIZE);
    let address = UserPtr::from_addr(arg);
    let mut bytes = [0u8; SIZE];
    let user_bytes = bytes.get_mut(..user_size).ok_or(EINVAL)?;
    UserSlice::new(address, user_size)
        .reader()
        .read_slice(user_bytes)?;
    let mut v: abi::DrmVersion = user::read_abi(&bytes)?;
    v.version_major = 3;
    v.version_minor = 64;
    v.version_patchlevel = 0;
    copy_string(&mut v.name_len, v.name, b"amdgpu")?;
    copy_string(&mut v.date_len, v.date, b"0")?;
    copy_string(&mut v.desc_len, v.desc, b"AMD GPU")?;
    user::write_abi(&mut bytes, &v)?;
    let user_bytes = bytes.get(..user_size).ok_or(EINVAL)?;
    UserSlice::new(address, user_size)
        .writer()
        .write_slice(user_bytes)
}

/// As much of a string as there is room for, and its whole length.
fn copy_string(len: &mut u64, to: u64, s: &[u8]) -> Result {
    let room = core::mem::replace(len, s.len() as u64).min(s.len() as u64) as usize;
    if to == 0 || room == 0 {
        return Ok(());
    }
    let part = s.get(..room).ok_or(EINVAL)?;
    UserSlice::new(UserPtr::from_addr(to as usize), room)
        .writer()
        .write_slice(part)
}
