// SPDX-License-Identifier: GPL-2.0

//! An open file of a render node, as processes know it.

use super::{
    FileMemory,
    Offsets, //
};
use crate::{
    context::Contexts,
    counts::{
        Count,
        Counts,
        Thing, //
    },
    glue::{
        transfer::Transfer,
        vma::{
            Area,
            Fault, //
        }, //
    },
    gpu::Gpu,
    types::{
        GpuVa,
        PageRange,
        Pasid, //
    },
    vm::Vm, //
};
use kernel::{
    new_mutex,
    prelude::*,
    rbtree::RBTree,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            AtomicFlag,
            Full,
            Relaxed,
            Release, //
        },
        Arc,
        Mutex, //
    }, //
};

/// An object that the file's own requests mapped to the GPU.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) at: PageRange,
    /// What tells the object from others.
    pub(crate) object: usize,
    /// Where the mapping begins in the object.
    pub(crate) offset: u64,
    /// As GEM_VA had them.
    pub(crate) flags: u32,
}

/// The file's address space on the GPU, and what its own requests mapped there. What a process maps by
/// /dev/kfd is the process'.
pub(crate) struct Space {
    /// There once something is mapped or a process takes it (ACQUIRE_VM), and then until the file is closed.
    pub(crate) vm: Option<Arc<Vm>>,
    pub(crate) placed: RBTree<GpuVa, Placed>,
}

/// An open file.
#[pin_data]
pub(crate) struct VmFile {
    offsets: Arc<Offsets>,
    /// A process took its address space.
    claimed: AtomicFlag,
    #[pin]
    space: Mutex<Space>,
    #[pin]
    contexts: Contexts,
    /// What a process mapped in its address space by /dev/kfd.
    memory: Arc<FileMemory>,
    /// The number of its address space, 0 before it has one.
    pasid: Atomic<u32>,
    _count: Count,
}

/// A file's address space being taken; given back when dropped.
pub(crate) struct Claim<'a>(Option<&'a VmFile>);

impl Claim<'_> {
    /// The address space, with what the file's requests have mapped in it.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV.
    pub(crate) fn vm(&self) -> Result<Arc<Vm>> {
        let file = self.0.ok_or(EINVAL)?;
        file.vm_now(&mut file.space.lock(), true)
    }

    /// It stays taken.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            // What was made for the process alone goes.
            let unused = {
                let mut space = file.space.lock();
                match space.placed.iter().next() {
                    Some(_) => None,
                    None => space.vm.take(),
                }
            };
            drop(unused);
            file.claimed.store(false, Release);
        }
    }
}

impl VmFile {
    /// A file that was just opened.
    pub(crate) fn new(offsets: &Arc<Offsets>, counts: &Arc<Counts>) -> Result<Arc<Self>> {
        let memory = FileMemory::new()?;
        let (offsets, count) = (offsets.clone(), counts.count(Thing::RenderFile));
        let space = Space {
            vm: None,
            placed: RBTree::new(),
        };
        Arc::pin_init(
            pin_init!(Self {
                offsets,
                claimed: AtomicFlag::new(false),
                space <- new_mutex!(space, "rkfd file's address space"),
                contexts <- Contexts::new(counts),
                memory,
                pasid: Atomic::new(0),
                _count: count,
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// The file's address space.
    pub(crate) fn space(&self) -> &Mutex<Space> {
        &self.space
    }

    /// The file's address space, which is made when it is first needed.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV.
    pub(crate) fn vm(&self, space: &mut Space) -> Result<Arc<Vm>> {
        // One that a process has stays as it is.
        self.vm_now(space, !self.claimed.load(Acquire))
    }

    /// The same; with `renew`, a new one instead of one that a reset took.
    fn vm_now(&self, space: &mut Space, renew: bool) -> Result<Arc<Vm>> {
        if let Some(vm) = &space.vm {
            if !renew || !vm.is_lost() {
                return Ok(vm.clone());
            }
        }
        let vm = self.gpu().new_vm()?;
        // What was mapped in one before is lost with its tables.
        *space = Space {
            vm: Some(vm.clone()),
            placed: RBTree::new(),
        };
        Ok(vm)
    }

    /// Its contexts.
    pub(crate) fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// What a process mapped in its address space by /dev/kfd.
    pub(crate) fn memory(&self) -> &Arc<FileMemory> {
        &self.memory
    }

    /// Its address space has this number from now on.
    pub(crate) fn set_pasid(&self, pasid: Pasid) {
        self.pasid.store(pasid.get().into(), Relaxed);
    }

    /// The number of its address space, 0 before it has one.
    pub(crate) fn pasid(&self) -> u32 {
        self.pasid.load(Relaxed)
    }

    /// The GPU.
    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        self.offsets.gpu()
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

    /// Sets up a new mapping of the file.
    ///
    /// # Errors
    ///
    /// EINVAL when no object starts there or it is smaller, EACCES when it is another file's,
    /// ENODEV when the GPU went.
    pub(crate) fn map(&self, area: &Area<'_>) -> Result {
        self.offsets.objects.lock().map_of(self, area)
    }

    /// Inserts the page that was touched in such a mapping.
    pub(crate) fn fault(&self, fault: &Fault<'_>) -> Result {
        self.offsets.fault(fault)
    }

    /// Copies what a debugger reads or writes of such a mapping.
    pub(crate) fn access(&self, transfer: &Transfer<'_>) -> Result {
        self.offsets.access(transfer)
    }

    /// Where objects of its device are mapped.
    pub(crate) fn offsets(&self) -> &Arc<Offsets> {
        &self.offsets
    }

    /// A key that no other file has.
    pub(super) fn key(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }
}
