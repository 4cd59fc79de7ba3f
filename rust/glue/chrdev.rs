// SPDX-License-Identifier: GPL-2.0

//! Character devices: a class, a major, nodes, and the file operations behind them.
//!
//! The kernel crate of 7.3 has no character devices but misc devices, which have neither a class nor
//! a major of their own, and no faults of mappings.
//!
//! A device implements [`CharDevice`]; its tables are statics ([`Fops`], [`VmOps`]). A [`Region`] holds the device beside the
//! kernel's `cdev`, by which an open finds it: no static is needed. Every file holds an `Arc` of
//! the device's file type. All files of a node share one address space of their own, so that the
//! mappings of all openers can be revoked at once, whatever node they opened.

use super::{
    anon_inode::AnonInode,
    linux,
    table::Table,
    vma::{
        outcome,
        Area,
        Fault,
        VmOps, //
    }, //
};
use core::{
    cell::UnsafeCell,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    device::Device,
    error::{
        from_result,
        to_result, //
    },
    prelude::*,
    str::{
        as_char_ptr_in_const_context,
        CStr, //
    },
    sync::{
        Arc,
        ArcBorrow, //
    },
    types::ForeignOwnable, //
};

/// What a character device does. All calls come from the context of a user process.
pub(crate) trait CharDevice: Send + Sync + Sized + 'static {
    /// What an open file holds.
    type File: Send + Sync + 'static;

    /// The file operations: `static FOPS: Fops = Fops::new::<Self>();`.
    fn fops() -> &'static Fops;
    /// The operations of its mappings: `static VM_OPS: VmOps = chrdev::vm_ops::<Self>();`.
    fn vm_ops() -> &'static VmOps;
    /// The address space of all files of the node with this minor.
    fn inode(&self, minor: u32) -> Option<Arc<AnonInode>>;
    /// Opens the node with this minor.
    fn open(&self, minor: u32) -> Result<Arc<Self::File>>;
    /// An ioctl.
    fn ioctl(file: ArcBorrow<'_, Self::File>, cmd: u32, arg: usize) -> Result<isize>;
    /// Checks a new mapping and sets it up with [`Area::map`]. The mmap lock is held for writing.
    fn mmap(file: ArcBorrow<'_, Self::File>, area: &Area<'_>) -> Result;
    /// Inserts the page that was touched. The mmap lock or the area's lock is held for reading.
    fn fault(file: ArcBorrow<'_, Self::File>, fault: &Fault<'_>) -> Result;
}

/// File operations of a device.
pub(crate) struct Fops(Table<bindings::file_operations>);

impl Fops {
    /// The table of a device.
    pub(crate) const fn new<T: CharDevice>() -> Self {
        Self(Table(bindings::file_operations {
            owner: linux::this(),
            open: Some(open::<T>),
            release: Some(release::<T>),
            unlocked_ioctl: Some(ioctl::<T>),
            compat_ioctl: Some(ioctl::<T>),
            mmap: Some(mmap::<T>),
            llseek: Some(bindings::noop_llseek),
            ..pin_init::zeroed()
        }))
    }
}

/// # Safety
///
/// `file` is an open file of `T` that stays open for `'a`.
unsafe fn file_of<'a, T: CharDevice>(file: *mut bindings::file) -> ArcBorrow<'a, T::File> {
    // SAFETY: `open` stored the pointer of an `Arc`, which only `release` takes back.
    unsafe { <Arc<T::File> as ForeignOwnable>::borrow((*file).private_data) }
}

extern "C" fn open<T: CharDevice>(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    from_result(|| {
        // SAFETY: The VFS passes the inode of the node that is opened, which holds the `cdev` that
        // it was found by. Those with these operations are the first field of a `Numbers<T>`.
        let (minor, device) = unsafe {
            let numbers = (*inode).__bindgen_anon_5.i_cdev.cast::<Numbers<T>>();
            let minor = (*inode).i_rdev & ((1 << bindings::MINORBITS) - 1);
            (minor, &(*numbers).device)
        };
        let shared = device.inode(minor).ok_or(ENODEV)?;
        let opened = device.open(minor)?;
        // SAFETY: The file is being opened: nobody else sees it. The inode outlives it, because
        // the device holds it until its nodes are gone, which open files prevent.
        unsafe {
            (*file).f_mapping = shared.mapping();
            (*file).private_data = opened.into_foreign();
        }
        Ok(0)
    })
}

extern "C" fn release<T: CharDevice>(
    _inode: *mut bindings::inode,
    file: *mut bindings::file,
) -> c_int {
    // SAFETY: The last reference to the file went, so nobody borrows from it any more.
    drop(unsafe { <Arc<T::File> as ForeignOwnable>::from_foreign((*file).private_data) });
    0
}

extern "C" fn ioctl<T: CharDevice>(file: *mut bindings::file, cmd: c_uint, arg: c_ulong) -> c_long {
    // SAFETY: The VFS holds the file during the call.
    match T::ioctl(unsafe { file_of::<T>(file) }, cmd, arg) {
        Ok(value) => value,
        Err(e) => e.to_errno() as c_long,
    }
}

extern "C" fn mmap<T: CharDevice>(
    file: *mut bindings::file,
    vma: *mut bindings::vm_area_struct,
) -> c_int {
    from_result(|| {
        // SAFETY: The area is being set up by the caller, who holds the mmap lock for writing.
        let area = unsafe { Area::from_raw(vma, T::vm_ops()) };
        // SAFETY: The VFS holds the file during the call.
        T::mmap(unsafe { file_of::<T>(file) }, &area)?;
        Ok(0)
    })
}

/// The operations of a device's mappings.
pub(crate) const fn vm_ops<T: CharDevice>() -> VmOps {
    VmOps::of(fault::<T>)
}

/// The fault handler of a device's mappings.
extern "C" fn fault<T: CharDevice>(vmf: *mut bindings::vm_fault) -> bindings::vm_fault_t {
    // SAFETY: The memory manager passes a fault of an area that `mmap` set up; the area holds its
    // file, and is locked during the call.
    let (fault, file) = unsafe {
        let vma = (*vmf).__bindgen_anon_1.vma;
        (Fault::from_raw(vmf), file_of::<T>((*vma).vm_file))
    };
    outcome(&fault, T::fault(file, &fault))
}

/// A class, a static of the device: `static CLASS: Class = Class::new(c"kfd", ..)`.
pub(crate) struct Class(Table<bindings::class>);

impl Class {
    /// A class by this name. Its nodes are root's alone (0600) until udev's rules say otherwise, as
    /// that of Linux's amdkfd is.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self(Table(bindings::class {
            name: as_char_ptr_in_const_context(name),
            ..pin_init::zeroed()
        }))
    }
}

/// Nodes that a major is good for.
const MINORS: u32 = 256;

/// A class that is registered.
struct Registered(&'static Class);

impl Registered {
    fn new(class: &'static Class) -> Result<Arc<Self>> {
        // SAFETY: A static; it is unregistered before the module goes.
        to_result(unsafe { bindings::class_register(class.0.as_ptr()) })?;
        Ok(Arc::new(Self(class), GFP_KERNEL)?)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: Registered by `new`; every node holds this, so none is left.
        unsafe { bindings::class_unregister(self.0 .0.as_ptr()) };
    }
}

/// A range of device numbers, and the device that files of it are opened on.
#[repr(C)]
struct Numbers<T: CharDevice> {
    // First, so that a pointer to it is one to the whole.
    cdev: UnsafeCell<bindings::cdev>,
    device: Arc<T>,
}

/// A class, and a major number of its own for a device's nodes.
pub(crate) struct Region<T: CharDevice> {
    first: bindings::dev_t,
    numbers: NonNull<Numbers<T>>,
    class: Arc<Registered>,
}

// SAFETY: The `cdev` has its own locks; the device may be used by any thread.
unsafe impl<T: CharDevice> Send for Region<T> {}
// SAFETY: As above.
unsafe impl<T: CharDevice> Sync for Region<T> {}

impl<T: CharDevice> Region<T> {
    /// Registers the class and a major, whose files are opened on `device` from here on.
    ///
    /// # Errors
    ///
    /// EEXIST, with a call trace in the log, when there is a class by this name; ENOMEM, EBUSY.
    pub(crate) fn new(class: &'static Class, name: &'static CStr, device: Arc<T>) -> Result<Self> {
        let class = Registered::new(class)?;
        let mut first = 0;
        // SAFETY: The pointer for the number is valid; the name is a static.
        to_result(unsafe {
            bindings::alloc_chrdev_region(&mut first, 0, MINORS, name.as_char_ptr())
        })?;
        let numbers = Numbers {
            cdev: UnsafeCell::new(pin_init::zeroed()),
            device,
        };
        let numbers = KBox::new(numbers, GFP_KERNEL)
            .map(|numbers| NonNull::from(KBox::leak(numbers)))
            // SAFETY: Allocated above, and nobody uses the numbers yet.
            .inspect_err(|_| unsafe { bindings::unregister_chrdev_region(first, MINORS) })?;
        // From here on dropping it undoes all.
        let region = Self {
            first,
            numbers,
            class,
        };
        let cdev = region.cdev();
        // SAFETY: The `cdev` is zeroed and ours, and stays where it is until `drop`; operations
        // and module outlive it.
        to_result(unsafe {
            bindings::cdev_init(cdev, T::fops().0.as_ptr());
            (*cdev).owner = linux::this();
            bindings::cdev_add(cdev, first, MINORS)
        })?;
        Ok(region)
    }

    fn cdev(&self) -> *mut bindings::cdev {
        // SAFETY: The numbers live until `drop`.
        unsafe { (*self.numbers.as_ptr()).cdev.get() }
    }

    /// Makes the node of a minor, below `parent` in the device tree.
    pub(crate) fn node(&self, minor: u32, name: &CStr, parent: Option<&Device>) -> Result<Node> {
        let parent = parent.map_or(core::ptr::null_mut(), |p| {
            core::ptr::from_ref(p).cast_mut().cast::<bindings::device>()
        });
        let devt = self.first | minor;
        // SAFETY: The class is registered, `Device` is a transparent wrapper, the name is copied.
        let dev = unsafe {
            bindings::device_create(
                self.class.0 .0.as_ptr(),
                parent,
                devt,
                core::ptr::null_mut(),
                c"%s".as_char_ptr(),
                name.as_char_ptr(),
            )
        };
        // The device core returns an error as a pointer of the last page.
        let dev = kernel::error::from_err_ptr(dev)?;
        Ok(Node {
            class: self.class.clone(),
            devt,
            dev: NonNull::new(dev).ok_or(ENOMEM)?,
        })
    }
}

impl<T: CharDevice> Drop for Region<T> {
    fn drop(&mut self) {
        // SAFETY: Initialised by `new`, whether adding succeeded or not. Files, and opens under
        // way, hold a reference to the module; the module is only left without any, and so nobody
        // uses the numbers any more when they are freed.
        unsafe {
            bindings::cdev_del(self.cdev());
            bindings::unregister_chrdev_region(self.first, MINORS);
            drop(KBox::from_raw(self.numbers.as_ptr()));
        }
    }
}

/// A node; removed when dropped.
pub(crate) struct Node {
    class: Arc<Registered>,
    devt: bindings::dev_t,
    dev: NonNull<bindings::device>,
}

// SAFETY: A counted device of the driver core.
unsafe impl Send for Node {}
// SAFETY: As above.
unsafe impl Sync for Node {}

impl Node {
    /// The device's object in sysfs.
    pub(super) fn kobject(&self) -> *mut bindings::kobject {
        // SAFETY: The device lives until `drop`.
        unsafe { &raw mut (*self.dev.as_ptr()).kobj }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: `device_create` made it under this number.
        unsafe { bindings::device_destroy(self.class.0 .0.as_ptr(), self.devt) };
    }
}
