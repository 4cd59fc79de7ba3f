// SPDX-License-Identifier: GPL-2.0

//! What stands behind a GEM object: memory that files of the DRM device have handles to, and that goes out
//! as DMA-bufs. Memory that a process made by KFD becomes one when it is exported.

use super::{
    place,
    MovableHandle,
    UserHandle, //
};
use crate::{
    counts::{
        Count,
        Counts,
        Thing, //
    },
    glue::{
        drm::{
            self,
            Gem,
            ObjectOps, //
        },
        owned_pages::OwnedPages,
        transfer::Transfer,
        vma::{
            Area,
            Fault,
            VmOps, //
        }, //
    },
    gpu::Gpu,
    mmap::{
        Mapping,
        Offsets,
        VmFile, //
    },
    process::Memory,
    types::PageRange,
    uapi::gem as abi, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        ArcBorrow,
        Mutex, //
    },
    transmute::AsBytes, //
};

/// How GEM_CREATE asked for it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Created {
    pub(crate) alignment: u64,
    pub(crate) domains: u64,
    pub(crate) flags: u64,
}

impl Created {
    /// As of memory that was made by KFD.
    pub(super) fn of(memory: &Memory) -> Self {
        let domain = match memory.kind().vram() {
            true => abi::DOMAIN_VRAM,
            false => abi::DOMAIN_GTT,
        };
        Self {
            alignment: PageRange::PAGE,
            domains: domain.into(),
            flags: 0,
        }
    }
}

/// What programs note of a buffer for each other: how pixels lie, and words of their own.
#[derive(Clone, Copy, Default)]
pub(crate) struct Metadata {
    pub(crate) tiling: u64,
    pub(crate) flags: u64,
    /// Bytes of `data` that were set; the others are zero.
    pub(crate) size: u32,
    pub(crate) data: [[u32; 32]; 2],
}

impl Metadata {
    /// The words that were set, as bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        let bytes = AsBytes::as_bytes(self.data.as_flattened());
        bytes.get(..self.size as usize).unwrap_or(bytes)
    }
}

/// What can become of an object's memory.
pub(super) enum Kind {
    /// It stays where it is.
    Fixed,
    /// It may be moved.
    Movable(MovableHandle),
    /// It is a program's memory.
    User(UserHandle),
}

/// What stands behind a GEM object.
pub(crate) struct Object {
    /// Taken from programs before the memory goes: fields are dropped in order.
    mapping: Mapping,
    memory: Arc<Memory>,
    gpu: Arc<Gpu>,
    created: Created,
    /// Where it may lie now.
    domains: Atomic<u64>,
    metadata: Pin<KBox<Mutex<Metadata>>>,
    kind: Kind,
    _count: Count,
}

static OPS: ObjectOps = ObjectOps::new::<Object>();
static VM_OPS: VmOps = drm::object_vm_ops::<Object>();

impl Object {
    /// Makes memory an object of a GPU's DRM device.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV when the GPU went.
    pub(super) fn of_memory(
        offsets: &Arc<Offsets>,
        counts: &Arc<Counts>,
        memory: &Arc<Memory>,
        created: Created,
        kind: Kind,
    ) -> Result<Gem<Self>> {
        let mapping = Mapping::shared(offsets, memory.bo())?;
        if let Kind::Movable(movable) = &kind {
            movable.set_pages(mapping.pages());
        }
        let device = mapping.device()?;
        let size = usize::try_from(memory.bo().size())?;
        let object = Self {
            mapping,
            memory: memory.clone(),
            gpu: offsets.gpu().clone(),
            created,
            domains: Atomic::new(created.domains),
            metadata: KBox::pin_init(
                new_mutex!(Metadata::default(), "rkfd metadata"),
                GFP_KERNEL_ACCOUNT,
            )?,
            kind,
            _count: counts.count(Thing::Object),
        };
        Gem::new(&device, size, object)
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The pages, if it is a program's memory.
    pub(crate) fn user(&self) -> Option<&UserHandle> {
        match &self.kind {
            Kind::User(user) => Some(user),
            _ => None,
        }
    }

    /// What moves it, if it may be moved.
    pub(crate) fn movable(&self) -> Option<&MovableHandle> {
        match &self.kind {
            Kind::Movable(movable) => Some(movable),
            _ => None,
        }
    }

    /// What tells which files have handles to it.
    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Where files with a handle map it.
    pub(crate) fn offset(&self) -> u64 {
        self.mapping.offset()
    }

    /// How it was made, and where it may lie now. CREATE_CPU_ACCESS_REQUIRED says that a program touched it: who asks for it
    /// only hints at that (`amdgpu_bo_create`, `amdgpu_bo_fault_reserve_notify`).
    pub(crate) fn created(&self) -> Created {
        const TOUCHED: u64 = abi::CREATE_CPU_ACCESS_REQUIRED;
        Created {
            domains: self.domains.load(Relaxed),
            flags: match self.memory.bo().is_touched() {
                true => self.created.flags | TOUCHED,
                false => self.created.flags & !TOUCHED,
            },
            ..self.created
        }
    }

    /// It may lie in these domains from now on. What has its memory keeps it: as upstream, only work that is submitted
    /// moves memory, and there is none.
    pub(crate) fn set_domains(&self, domains: u64) {
        self.domains.store(domains, Relaxed);
    }

    pub(crate) fn metadata(&self) -> &Mutex<Metadata> {
        &self.metadata
    }

    /// What tells it from every other while it is there.
    pub(crate) fn key(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }
}

impl drm::Object for Object {
    type File = VmFile;

    fn ops() -> &'static ObjectOps {
        &OPS
    }

    fn vm_ops() -> &'static VmOps {
        &VM_OPS
    }

    fn opened(&self, file: ArcBorrow<'_, VmFile>) -> Result {
        // `amdgpu_gem_object_open`.
        if self.user().is_some_and(|user| !user.is_own()) {
            return Err(EPERM);
        }
        self.mapping.allow(&file)
    }

    fn closed(&self, file: ArcBorrow<'_, VmFile>) {
        // As upstream, what the file mapped of it to the GPU goes with its last handle.
        if self.mapping.disallow(&file) {
            place::forget(&file, self.key());
            let vm = file.space().lock().vm.clone();
            if let (Kind::Movable(movable), Some(vm)) = (&self.kind, vm) {
                movable.remove(&vm, || self.mapping.is_allowed(&file));
            }
        }
    }

    fn may_export(&self) -> Result {
        match self.memory.bo().is_user() {
            true => Err(EPERM),
            false => Ok(()),
        }
    }

    fn pages(&self) -> Result<&OwnedPages> {
        self.memory.bo().pages()
    }

    fn mmap(&self, area: &Area<'_>) -> Result {
        self.mapping.map(area)
    }

    fn fault(&self, fault: &Fault<'_>) -> Result {
        self.mapping.fault(fault)
    }

    fn access(&self, transfer: &Transfer<'_>) -> Result {
        self.mapping.access(transfer)
    }
}
