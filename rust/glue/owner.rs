// SPDX-License-Identifier: GPL-2.0

//! Which driver has a device class by some name.
//!
//! The driver core refuses a second class by a name with a call trace, and the kernel crate of 7.3 has
//! no way to ask before. Here sysfs is asked: is there a folder `/sys/class/NAME`, and if it has a device by
//! the same name, which module does that device's class belong to?

use kernel::{
    bindings,
    container_of,
    prelude::*,
    str::CStr, //
};

/// Bytes of a symbol with its module in the kernel's notation (`KSYM_SYMBOL_LEN`), rounded up.
const SYMBOL_LEN: usize = 1024;

/// A node of sysfs, counted.
struct SysfsNode(*mut bindings::kernfs_node);

impl SysfsNode {
    /// The root.
    fn root() -> Option<Self> {
        // SAFETY: `/sys/kernel` is made early at boot and never removed. It lies in the root, which
        // is never removed either.
        let root = unsafe { (*(*bindings::kernel_kobj).sd).__parent };
        if root.is_null() {
            return None;
        }
        // SAFETY: As above; it is counted for `drop`.
        unsafe { bindings::kernfs_get(root) };
        Some(Self(root))
    }

    /// What is in this folder by a name.
    fn find(&self, name: &CStr) -> Option<Self> {
        // SAFETY: The node is counted, the name is only read.
        let found = unsafe {
            bindings::kernfs_find_and_get_ns(self.0, name.as_char_ptr(), core::ptr::null())
        };
        (!found.is_null()).then_some(Self(found))
    }

    /// What a symbolic link points to.
    fn target(&self) -> Option<Self> {
        // SAFETY: The node is counted, and its kind never changes; a link counts its target.
        let target = unsafe {
            if u32::from((*self.0).flags) & bindings::kernfs_node_type_KERNFS_LINK == 0 {
                return None;
            }
            let target = (*self.0).__bindgen_anon_1.symlink.target_kn;
            bindings::kernfs_get(target);
            target
        };
        Some(Self(target))
    }

    /// The object that a folder belongs to. It may be gone.
    fn kobject(&self) -> *mut bindings::kobject {
        // SAFETY: The node is counted.
        unsafe { (*self.0).priv_.cast() }
    }
}

impl Drop for SysfsNode {
    fn drop(&mut self) {
        // SAFETY: Counted by who made it.
        unsafe { bindings::kernfs_put(self.0) };
    }
}

/// Who has a class.
pub(crate) struct Owner {
    symbol: [u8; SYMBOL_LEN],
    /// Where the module's name lies in it.
    module: (usize, usize),
}

impl Owner {
    /// The module, if it could be found.
    pub(crate) fn module(&self) -> Option<&str> {
        let name = self.symbol.get(self.module.0..self.module.1)?;
        core::str::from_utf8(name).ok().filter(|s| !s.is_empty())
    }
}

/// Who has the class by this name; `None` when nobody has.
pub(crate) fn of_class(name: &CStr) -> Option<Owner> {
    let class = SysfsNode::root()?.find(c"class")?.find(name)?;
    let mut owner = Owner {
        symbol: [0; SYMBOL_LEN],
        module: (0, 0),
    };
    let device = class.find(name).and_then(|link| link.target());
    if let Some(address) = device.and_then(|device| class_of(device.kobject())) {
        // SAFETY: Any address may be asked for, and the text fits into `KSYM_SYMBOL_LEN` bytes.
        unsafe { bindings::sprint_symbol(owner.symbol.as_mut_ptr().cast(), address) };
        // "kfd_class+0x0/0x60 [amdgpu]", where a build id may follow the name.
        let at = |byte| owner.symbol.iter().position(|b| *b == byte);
        if let (Some(open), Some(close)) = (at(b'['), at(b']')) {
            owner.module = (open.saturating_add(1), close);
        }
    }
    Some(owner)
}

/// The address of the class of a device that has this object.
fn class_of(kobject: *mut bindings::kobject) -> Option<usize> {
    let mut class = 0usize;
    // SAFETY: Folders that links of a class point to belong to devices; the pointers are only
    // computed with. The device may be gone by now, which is why it is read in a way that can't
    // fault; whatever is found there is only used as a number.
    let failed = unsafe {
        let device = container_of!(kobject, bindings::device, kobj);
        let field = &raw const (*device).class;
        bindings::copy_from_kernel_nofault(
            (&raw mut class).cast(),
            field.cast(),
            core::mem::size_of::<usize>(),
        )
    };
    (failed == 0 && class != 0).then_some(class)
}
