// SPDX-License-Identifier: GPL-2.0

//! Mappings of device pages into user programs, revocable: every page comes by a fault.
//!
//! The kernel crate of 7.3 has areas that are set up (`VmaNew`), but no faults, caching or operations of
//! them.
//!
//! `mmap` only marks the area. A page is inserted when it is touched, by the device's fault
//! handler, which looks under a lock whether it may. Whoever takes a page away first makes the
//! handler refuse it, then takes it out of all page tables ([`super::anon_inode`]): then no page
//! table holds it, and none will.

use super::table::Table;
use core::{
    cell::Cell,
    marker::PhantomData, //
};
use kernel::{
    bindings,
    mm::virt::VmaNew,
    page::{
        PAGE_SHIFT,
        PAGE_SIZE, //
    },
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// Operations of a device's mappings.
pub(crate) struct VmOps(Table<bindings::vm_operations_struct>);

type FaultFn = unsafe extern "C" fn(*mut bindings::vm_fault) -> bindings::vm_fault_t;
type CountFn = unsafe extern "C" fn(*mut bindings::vm_area_struct);
type AccessFn = unsafe extern "C" fn(
    *mut bindings::vm_area_struct,
    c_ulong,
    *mut c_void,
    c_int,
    c_int,
) -> c_int;

impl VmOps {
    /// Of mappings that debuggers don't reach.
    pub(super) const fn of(fault: FaultFn) -> Self {
        Self(Table(bindings::vm_operations_struct {
            fault: Some(fault),
            ..pin_init::zeroed()
        }))
    }

    /// Debuggers read and write what is mapped by `access`.
    pub(super) const fn accessed(self, access: AccessFn) -> Self {
        Self(Table(bindings::vm_operations_struct {
            access: Some(access),
            ..self.0 .0
        }))
    }

    /// Each mapping holds what `open` counts and `close` gives back.
    pub(super) const fn counted(self, open: CountFn, close: CountFn) -> Self {
        Self(Table(bindings::vm_operations_struct {
            open: Some(open),
            close: Some(close),
            ..self.0 .0
        }))
    }
}

/// How the CPU's caches treat the pages of a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CpuCaching {
    /// Like ordinary memory.
    WriteBack,
    /// Stores are gathered.
    WriteCombine,
    /// Every access goes out as it is.
    Uncached,
}

/// An area that is being mapped.
pub(crate) struct Area<'a> {
    vma: &'a VmaNew,
    ops: &'static VmOps,
}

impl<'a> Area<'a> {
    /// # Safety
    ///
    /// `vma` is being set up, with the mmap lock held for writing, and stays so for `'a`.
    pub(super) unsafe fn from_raw(vma: *mut bindings::vm_area_struct, ops: &'static VmOps) -> Self {
        // SAFETY: As the caller promises.
        let vma = unsafe { VmaNew::from_raw(vma) };
        Self { vma, ops }
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.vma.end().saturating_sub(self.vma.start())
    }

    /// The file offset in bytes.
    pub(crate) fn offset(&self) -> u64 {
        // SAFETY: The area is ours while it is set up.
        (unsafe { (*self.vma.as_ptr()).vm_pgoff } as u64) << PAGE_SHIFT
    }

    /// Sets the file offset in bytes: where the area is found by who takes its pages away.
    pub(crate) fn set_offset(&self, offset: u64) {
        // SAFETY: The area is ours while it is set up.
        unsafe { (*self.vma.as_ptr()).vm_pgoff = (offset >> PAGE_SHIFT) as usize };
    }

    /// Whether stores would go to a private copy.
    fn is_cow(&self) -> bool {
        let flags = self.vma.flags();
        flags & bindings::VM_SHARED == 0 && flags & bindings::VM_MAYWRITE != 0
    }

    /// Makes this a mapping of a buffer object, whose pages come by faults. A forked child has it
    /// too.
    ///
    /// # Errors
    ///
    /// EINVAL for a private writable mapping: a copy of a device's page is no use. One without any
    /// access is made, as debuggers use it, and never becomes writable (`amdgpu_gem_object_mmap`).
    pub(crate) fn map(&self, caching: CpuCaching) -> Result {
        if self.is_cow() {
            if self.vma.readable() || self.vma.executable() {
                return Err(EINVAL);
            }
            self.vma.try_clear_maywrite()?;
        }
        self.set(caching, bindings::VM_PFNMAP);
        Ok(())
    }

    /// Makes this a mapping of a process' own pages of the device, which come by faults. A forked
    /// child doesn't have it. What is stored to a private mapping stays in a copy (`kfd_mmap`).
    pub(crate) fn map_own(&self, caching: CpuCaching) {
        self.vma.set_dontcopy();
        let private = self.is_cow();
        // Only where pages may be mixed with copies can faults insert what can be copied.
        self.set(
            caching,
            if private {
                bindings::VM_MIXEDMAP
            } else {
                bindings::VM_PFNMAP
            },
        );
    }

    fn set(&self, caching: CpuCaching, kind: bindings::vm_flags_t) {
        self.vma.set_io();
        self.vma.set_dontexpand();
        self.vma.set_dontdump();
        let vma = self.vma.as_ptr();
        // SAFETY: The area is ours while it is set up: its flags, protection and operations may be
        // set. The table is a static of the module, which the area's file keeps loaded.
        unsafe {
            (*vma).__bindgen_anon_2.vm_flags |= kind | bindings::VM_NORESERVE;
            let prot = (*vma).vm_page_prot;
            (*vma).vm_page_prot = match caching {
                CpuCaching::WriteBack => prot,
                CpuCaching::WriteCombine => bindings::pgprot_writecombine(prot),
                CpuCaching::Uncached => bindings::pgprot_t {
                    pgprot: prot.pgprot
                        | bindings::cachemode2protval(
                            bindings::page_cache_mode__PAGE_CACHE_MODE_UC_MINUS,
                        ),
                },
            };
            (*vma).vm_ops = self.ops.0.as_ptr();
        }
    }
}

/// A page that a program touched.
pub(crate) struct Fault<'a> {
    vmf: *mut bindings::vm_fault,
    outcome: Cell<bindings::vm_fault_t>,
    _area: PhantomData<&'a ()>,
}

impl Fault<'_> {
    /// # Safety
    ///
    /// `vmf` describes a fault of an area set up by [`Area::map`] and is valid for the lifetime.
    pub(super) unsafe fn from_raw(vmf: *mut bindings::vm_fault) -> Self {
        Self {
            vmf,
            outcome: Cell::new(bindings::vm_fault_reason_VM_FAULT_SIGBUS),
            _area: PhantomData,
        }
    }

    /// The file offset of the page, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        // SAFETY: The fault is valid.
        (unsafe { (*self.vmf).__bindgen_anon_1.pgoff } as u64) << PAGE_SHIFT
    }

    /// Puts a page frame there.
    pub(crate) fn insert(&self, pfn: usize) -> Result {
        // SAFETY: The area is locked during a fault, and the address lies in it. It is a PFN map
        // that isn't copy-on-write, or one that mixes pages and copies, see `Area`.
        let outcome = unsafe {
            let address = (*self.vmf).__bindgen_anon_1.address & !(PAGE_SIZE - 1);
            let vma = (*self.vmf).__bindgen_anon_1.vma;
            let flags = (*vma).__bindgen_anon_2.vm_flags;
            if flags & bindings::VM_MIXEDMAP != 0 {
                bindings::vmf_insert_mixed(vma, address, pfn)
            } else {
                bindings::vmf_insert_pfn(vma, address, pfn)
            }
        };
        self.outcome.set(outcome);
        Ok(())
    }
}

/// What to return to the memory manager for a fault that was handled with this result.
pub(super) fn outcome(fault: &Fault<'_>, result: Result) -> bindings::vm_fault_t {
    match result {
        Ok(()) => fault.outcome.get(),
        // The page is on its way: whoever touched it does so again.
        Err(e) if e == EBUSY => {
            fsleep(Delta::from_millis(1));
            bindings::vm_fault_reason_VM_FAULT_NOPAGE
        }
        Err(e) if e == ENOMEM => bindings::vm_fault_reason_VM_FAULT_OOM,
        Err(_) => bindings::vm_fault_reason_VM_FAULT_SIGBUS,
    }
}
