// SPDX-License-Identifier: GPL-2.0

//! An inode of the module's own, whose address space all files of a device share.
//!
//! The kernel crate of 7.3 has no pseudo file systems, nor the address space of a file.
//!
//! A file's mappings are found through its address space. That of the node in `/dev` isn't unique
//! (another mknod makes another), so a device with revocable mappings has an inode on a private
//! pseudo file system, as amdkfd has, and every open sets the file's `f_mapping` to it.

use kernel::{
    bindings,
    error::from_err_ptr,
    new_mutex,
    prelude::*,
    str::as_char_ptr_in_const_context,
    sync::{
        Arc,
        Mutex, //
    }, //
};

extern "C" {
    /// Not in `bindings`: <linux/pseudo_fs.h>.
    fn init_pseudo(fc: *mut bindings::fs_context, magic: c_ulong) -> *mut c_void;
}

/// "KFD", upstream's magic number of this file system.
const MAGIC: c_ulong = 0x4b46_4400;

extern "C" fn init_fs_context(fc: *mut bindings::fs_context) -> c_int {
    // SAFETY: Called by the VFS with a context that is being set up.
    if unsafe { init_pseudo(fc, MAGIC) }.is_null() {
        ENOMEM.to_errno()
    } else {
        0
    }
}

struct FsType(core::cell::UnsafeCell<bindings::file_system_type>);

// SAFETY: Only the VFS changes it, under its own locks.
unsafe impl Sync for FsType {}

// Without an owner: the mount is the module's own and must not keep it loaded. It is gone before the
// module, with the last inode.
static FS_TYPE: FsType = FsType(core::cell::UnsafeCell::new(bindings::file_system_type {
    name: as_char_ptr_in_const_context(c"rkfd"),
    init_fs_context: Some(init_fs_context),
    kill_sb: Some(bindings::kill_anon_super),
    ..pin_init::zeroed()
}));

/// The mount that `simple_pin_fs` keeps for us, and its count.
struct Mount {
    mnt: *mut bindings::vfsmount,
    count: c_int,
}

// SAFETY: Pointer to a counted mount, used under the mutex only.
unsafe impl Send for Mount {}

/// The pseudo file system, which is mounted while it has inodes.
#[pin_data]
pub(crate) struct PseudoFs {
    #[pin]
    mount: Mutex<Mount>,
}

impl PseudoFs {
    /// A file system without inodes.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let mount = Mount {
            mnt: core::ptr::null_mut(),
            count: 0,
        };
        Arc::pin_init(
            pin_init!(Self { mount <- new_mutex!(mount, "rkfd mount") }),
            GFP_KERNEL,
        )
    }

    /// Makes an inode.
    pub(crate) fn inode(self: &Arc<Self>) -> Result<Arc<AnonInode>> {
        let mut guard = self.mount.lock();
        let mount = &mut *guard;
        // SAFETY: The type is a static; mount and count are ours, under the mutex.
        kernel::error::to_result(unsafe {
            bindings::simple_pin_fs(FS_TYPE.0.get(), &mut mount.mnt, &mut mount.count)
        })?;
        // SAFETY: Pinned above, so the mount is valid.
        match from_err_ptr(unsafe { bindings::alloc_anon_inode((*mount.mnt).mnt_sb) }) {
            Ok(inode) => {
                drop(guard);
                let inode = AnonInode {
                    inode,
                    fs: self.clone(),
                };
                Ok(Arc::new(inode, GFP_KERNEL)?)
            }
            Err(e) => {
                // SAFETY: Pinned above.
                unsafe { bindings::simple_release_fs(&mut mount.mnt, &mut mount.count) };
                Err(e)
            }
        }
    }
}

/// An inode.
pub(crate) struct AnonInode {
    inode: *mut bindings::inode,
    fs: Arc<PseudoFs>,
}

// SAFETY: A counted inode; its address space has its own locks.
unsafe impl Send for AnonInode {}
// SAFETY: As above.
unsafe impl Sync for AnonInode {}

impl AnonInode {
    /// Its address space.
    pub(super) fn mapping(&self) -> *mut bindings::address_space {
        // SAFETY: The inode is counted by `self`.
        unsafe { (*self.inode).i_mapping }
    }

    /// Takes the pages out of every mapping of `len` bytes from `offset`; the next access faults.
    pub(crate) fn revoke(&self, offset: u64, len: u64) {
        // SAFETY: The address space lives as long as the inode. The offset is taken as unsigned.
        unsafe { bindings::unmap_mapping_range(self.mapping(), offset as i64, len as i64, 1) };
    }
}

impl Drop for AnonInode {
    fn drop(&mut self) {
        let mut guard = self.fs.mount.lock();
        let mount = &mut *guard;
        // SAFETY: `PseudoFs::inode` got both references.
        unsafe {
            bindings::iput(self.inode);
            bindings::simple_release_fs(&mut mount.mnt, &mut mount.count);
        }
    }
}
