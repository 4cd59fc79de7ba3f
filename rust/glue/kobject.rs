// SPDX-License-Identifier: GPL-2.0

//! Folders and files in sysfs.
//!
//! The kernel crate of 7.3 has no kobjects, and sysfs only by way of configfs and debugfs.
//!
//! A [`Dir`] is a kobject with data; its files are rendered from the data when they are read. Those of a type are the
//! same in all its folders; a folder may have more of its own ([`Dir::subdir_with`]).
//! Dropping it removes it; its children must be dropped before it (declare them first).

use super::chrdev::Node;
use core::{
    fmt::Write,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    bindings,
    device::{
        Bound,
        Device, //
    },
    error::to_result,
    page::PAGE_SIZE,
    prelude::*,
    str::{
        as_char_ptr_in_const_context,
        CStr,
        CString, //
    }, //
};

/// A read-only file of a folder.
#[repr(transparent)]
pub(crate) struct File(bindings::attribute);

// SAFETY: Never written to after it was made; it points at a static string.
unsafe impl Sync for File {}

impl File {
    /// A file by this name.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        // Kernels with lock checks have more fields, others none but these.
        let mut file: bindings::attribute = pin_init::zeroed();
        file.name = as_char_ptr_in_const_context(name);
        file.mode = 0o444;
        Self(file)
    }
}

/// What a folder shows.
pub(crate) trait Show: Send + Sync + 'static {
    /// Its files: a static, one for each type.
    fn files() -> &'static [File];

    /// Writes the content of the file with this index. The folder's own files are numbered behind those of the type.
    fn show(&self, file: usize, out: &mut Text<'_>) -> Result;
}

/// A folder without files.
pub(crate) struct Empty;

impl Show for Empty {
    fn files() -> &'static [File] {
        &[]
    }
    fn show(&self, _file: usize, _out: &mut Text<'_>) -> Result {
        Err(EINVAL)
    }
}

/// The text of a file, at most a page; what doesn't fit is cut off.
pub(crate) struct Text<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        let room = self.buffer.get_mut(self.len..).ok_or(core::fmt::Error)?;
        let n = room.len().min(s.len());
        if let (Some(room), Some(bytes)) = (room.get_mut(..n), s.as_bytes().get(..n)) {
            room.copy_from_slice(bytes);
            self.len = self.len.saturating_add(n);
        }
        Ok(())
    }
}

impl<'a> Text<'a> {
    /// Empty, with this room.
    pub(super) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl Text<'_> {
    /// Adds bytes that are no text.
    ///
    /// # Errors
    ///
    /// EINVAL when there is no room for all of them.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result {
        let end = self.len.checked_add(bytes.len()).ok_or(EINVAL)?;
        let room = self.buffer.get_mut(self.len..end).ok_or(EINVAL)?;
        room.copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    /// A line `name value`.
    pub(crate) fn property(&mut self, name: &str, value: u64) {
        let _ = writeln!(self, "{name} {value}");
    }
}

/// A file of one folder: the kernel has pointers to both.
struct Own {
    attribute: bindings::attribute,
    _name: CString,
}

impl Own {
    fn new(name: CString) -> Self {
        let mut attribute: bindings::attribute = pin_init::zeroed();
        attribute.name = name.as_char_ptr();
        attribute.mode = 0o444;
        // It lies in allocated memory, where lockdep finds no key for it.
        #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
        attribute.set_ignore_lockdep(true);
        Self {
            attribute,
            _name: name,
        }
    }
}

#[repr(C)]
struct Inner<T: Show> {
    // First, so that a pointer to it is one to the whole.
    kobj: bindings::kobject,
    data: T,
    own: KVec<Own>,
}

impl<T: Show> Inner<T> {
    const OPS: bindings::sysfs_ops = bindings::sysfs_ops {
        show: Some(show::<T>),
        ..pin_init::zeroed()
    };
    const TYPE: bindings::kobj_type = bindings::kobj_type {
        release: Some(release::<T>),
        sysfs_ops: &Self::OPS,
        ..pin_init::zeroed()
    };
}

extern "C" fn release<T: Show>(kobj: *mut bindings::kobject) {
    // SAFETY: Made by `KBox::into_raw` in `new`; called when the last reference goes.
    drop(unsafe { KBox::from_raw(kobj.cast::<Inner<T>>()) });
}

extern "C" fn show<T: Show>(
    kobj: *mut bindings::kobject,
    attr: *mut bindings::attribute,
    buf: *mut c_char,
) -> isize {
    // SAFETY: sysfs holds the object during the call, and gives a page of room.
    let (inner, buffer) = unsafe {
        (
            &*kobj.cast::<Inner<T>>(),
            core::slice::from_raw_parts_mut(buf.cast::<u8>(), PAGE_SIZE),
        )
    };
    let files = T::files().iter().map(|file| &raw const file.0);
    let own = inner.own.iter().map(|own| &raw const own.attribute);
    let file = Iterator::chain(files, own).position(|at| ptr::eq(at, attr));
    let mut text = Text::new(buffer);
    match file
        .ok_or(EINVAL)
        .and_then(|file| inner.data.show(file, &mut text))
    {
        Ok(()) => text.len as isize,
        Err(e) => e.to_errno() as isize,
    }
}

/// A folder; removed when dropped.
pub(crate) struct Dir(NonNull<bindings::kobject>);

// SAFETY: A counted object of the driver core.
unsafe impl Send for Dir {}
// SAFETY: As above.
unsafe impl Sync for Dir {}

impl Dir {
    fn add<T: Show>(
        parent: *mut bindings::kobject,
        name: &CStr,
        data: T,
        files: KVec<CString>,
    ) -> Result<Self> {
        let mut own = KVec::with_capacity(files.len(), GFP_KERNEL)?;
        for file in files {
            own.push(Own::new(file), GFP_KERNEL)?;
        }
        let inner = KBox::new(
            Inner {
                kobj: pin_init::zeroed(),
                data,
                own,
            },
            GFP_KERNEL,
        )?;
        let kobj = NonNull::from(KBox::leak(inner)).cast::<bindings::kobject>();
        // SAFETY: Zeroed and ours; the type is a promoted constant; the parent is alive, as the
        // callers have it by reference, and is counted by the call. The name is copied.
        let ret = unsafe {
            bindings::kobject_init_and_add(
                kobj.as_ptr(),
                &Inner::<T>::TYPE,
                parent,
                c"%s".as_char_ptr(),
                name.as_char_ptr(),
            )
        };
        if let Err(e) = to_result(ret) {
            // SAFETY: Initialised even when adding failed; this frees it.
            unsafe { bindings::kobject_put(kobj.as_ptr()) };
            return Err(e);
        }
        let dir = Self(kobj);
        // SAFETY: Made above, and alive as long as `dir`, which has a reference; nobody changes `own`.
        let own = unsafe { &(*kobj.as_ptr().cast::<Inner<T>>()).own };
        let files = T::files().iter().map(|file| &raw const file.0);
        let own = own.iter().map(|own| &raw const own.attribute);
        for file in Iterator::chain(files, own) {
            // SAFETY: The object is added; the attribute is a static, or lives until the object's release, which comes
            // after its files were removed.
            to_result(unsafe { bindings::sysfs_create_file_ns(kobj.as_ptr(), file, ptr::null()) })?;
        }
        Ok(dir)
    }

    /// A folder in this one.
    pub(crate) fn subdir<T: Show>(&self, name: &CStr, data: T) -> Result<Self> {
        Self::add(self.0.as_ptr(), name, data, KVec::new())
    }

    /// A folder in this one, with files of its own.
    pub(crate) fn subdir_with<T: Show>(
        &self,
        name: &CStr,
        data: T,
        files: KVec<CString>,
    ) -> Result<Self> {
        Self::add(self.0.as_ptr(), name, data, files)
    }

    /// A folder of a device.
    ///
    /// # Errors
    ///
    /// ENOMEM; EEXIST when there is such a folder, without the warning that the kernel has for it.
    pub(crate) fn of_device<T: Show>(device: &Device<Bound>, name: &CStr, data: T) -> Result<Self> {
        let plain: &Device = device;
        let device = ptr::from_ref(plain).cast_mut().cast::<bindings::device>();
        // SAFETY: The device is there, as we have it by reference.
        let parent = unsafe { &raw mut (*device).kobj };
        // SAFETY: As above; the folder of a device is there as long as the device is bound.
        let existing = unsafe {
            bindings::kernfs_find_and_get_ns((*parent).sd, name.as_char_ptr(), ptr::null())
        };
        if !existing.is_null() {
            // SAFETY: The call above gave a reference.
            unsafe { bindings::kernfs_put(existing) };
            return Err(EEXIST);
        }
        Self::add(parent, name, data, KVec::new())
    }

    /// Another name, in this folder, for one in it. It goes with this folder.
    ///
    /// # Errors
    ///
    /// ENOMEM, EEXIST when there is such a name.
    pub(crate) fn link(&self, name: &CStr, to: &Self) -> Result {
        // SAFETY: Both objects were added, and are there as long as the references; the name is copied.
        to_result(unsafe {
            bindings::sysfs_create_link(self.0.as_ptr(), to.0.as_ptr(), name.as_char_ptr())
        })
    }

    /// A folder of a character device.
    pub(crate) fn of_node<T: Show>(node: &Node, name: &CStr, data: T) -> Result<Self> {
        Self::add(node.kobject(), name, data, KVec::new())
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // SAFETY: Added by `add`, which left us one reference. Removing the folder removes its
        // files and waits for their readers.
        unsafe {
            bindings::kobject_del(self.0.as_ptr());
            bindings::kobject_put(self.0.as_ptr());
        }
    }
}
