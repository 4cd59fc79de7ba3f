// SPDX-License-Identifier: GPL-2.0

//! Files of a device: in its own folder, in a folder in that, and in one of the kernel's hwmon class.
//!
//! The kernel crate of 7.3 has neither. Of hwmon's ways to register a device this is the one that takes groups of
//! files: the other one has no frequencies, which is why amdgpu registers this way, too.
//!
//! Lifetimes: sysfs calls with a pointer to the attribute, which lies in one allocation with what it shows. That
//! lives until the folder and the files are removed, which waits for their readers.

use super::kobject::Text;
use core::ptr;
use kernel::{
    bindings,
    device::{
        Bound,
        Device, //
    },
    error::{
        from_err_ptr,
        to_result, //
    },
    page::PAGE_SIZE,
    prelude::*,
    str::CStr, //
};

#[cfg(CONFIG_HWMON)]
extern "C" {
    // linux/hwmon.h, which the kernel crate's bindings don't have: pointers to a `struct device`, and to a list of
    // pointers to `struct attribute_group`.
    fn hwmon_device_register_with_groups(
        dev: *mut c_void,
        name: *const c_char,
        drvdata: *mut c_void,
        groups: *mut c_void,
    ) -> *mut c_void;
    fn hwmon_device_unregister(dev: *mut c_void);
}

/// A kernel without hwmon has none of its files.
#[cfg(not(CONFIG_HWMON))]
unsafe fn hwmon_device_register_with_groups(
    _dev: *mut c_void,
    _name: *const c_char,
    _drvdata: *mut c_void,
    _groups: *mut c_void,
) -> *mut c_void {
    ptr::null_mut()
}

#[cfg(not(CONFIG_HWMON))]
unsafe fn hwmon_device_unregister(_dev: *mut c_void) {}

/// What files show.
pub(crate) trait Values: Send + Sync + 'static {
    /// Writes the content of the file of a number.
    ///
    /// # Errors
    ///
    /// What reading the file returns.
    fn show(&self, file: usize, out: &mut Text<'_>) -> Result;
}

/// A file.
#[repr(C)]
struct File<T: Values> {
    // First, so that a pointer to it is one to the whole.
    attribute: bindings::device_attribute,
    owner: *const T,
    index: usize,
}

extern "C" fn show<T: Values>(
    _dev: *mut bindings::device,
    attribute: *mut bindings::device_attribute,
    buf: *mut c_char,
) -> isize {
    // SAFETY: The attribute is the first member of a `File<T>`, whose owner lives until the file was removed; sysfs
    // gives a page of room.
    let (file, owner, buffer) = unsafe {
        let file = &*attribute.cast::<File<T>>();
        let buffer = core::slice::from_raw_parts_mut(buf.cast::<u8>(), PAGE_SIZE);
        (file, &*file.owner, buffer)
    };
    let mut text = Text::new(buffer);
    match owner.show(file.index, &mut text) {
        Ok(()) => text.len() as isize,
        Err(error) => error.to_errno() as isize,
    }
}

/// Files in a row, and the group that names them.
struct Group<T: Values> {
    group: bindings::attribute_group,
    _names: KVec<*mut bindings::attribute>,
    _files: KVec<File<T>>,
}

impl<T: Values> Group<T> {
    /// Files that lie in a folder of their own where that has a name.
    fn new(
        folder: Option<&'static CStr>,
        names: &[(usize, &'static CStr)],
        owner: *const T,
    ) -> Result<KBox<Self>> {
        let mut files = KVec::with_capacity(names.len(), GFP_KERNEL)?;
        for &(index, name) in names {
            let mut attribute: bindings::device_attribute = pin_init::zeroed();
            attribute.attr.name = name.as_char_ptr();
            attribute.attr.mode = 0o444;
            // It lies in allocated memory, where lockdep finds no key for it.
            #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
            attribute.attr.set_ignore_lockdep(true);
            attribute.__bindgen_anon_1.show = Some(show::<T>);
            let file = File {
                attribute,
                owner,
                index,
            };
            files.push(file, GFP_KERNEL)?;
        }
        let mut names = KVec::with_capacity(files.len().saturating_add(1), GFP_KERNEL)?;
        for file in files.iter_mut() {
            names.push(&raw mut file.attribute.attr, GFP_KERNEL)?;
        }
        names.push(ptr::null_mut(), GFP_KERNEL)?;
        let mut group: bindings::attribute_group = pin_init::zeroed();
        group.__bindgen_anon_2.attrs = names.as_mut_ptr();
        group.name = folder.map_or(ptr::null(), CStr::as_char_ptr);
        Ok(KBox::new(
            Self {
                group,
                _names: names,
                _files: files,
            },
            GFP_KERNEL,
        )?)
    }
}

/// A device's own files, or a folder of it; removed when dropped, which must be before the device is unbound.
pub(crate) struct Folder<T: Values> {
    device: *mut bindings::device,
    // What the kernel has pointers to, as long as the files are there.
    group: KBox<Group<T>>,
    _values: KBox<T>,
}

// SAFETY: The pointer is to an object of the driver core, and to what the boxes own.
unsafe impl<T: Values> Send for Folder<T> {}
// SAFETY: As above; nothing is changed through a shared reference.
unsafe impl<T: Values> Sync for Folder<T> {}

impl<T: Values> Folder<T> {
    /// Files by these numbers and names in the device's own folder, or in one in it that has a name.
    ///
    /// # Errors
    ///
    /// ENOMEM, EEXIST when there is such a file.
    pub(crate) fn new(
        device: &Device<Bound>,
        name: Option<&'static CStr>,
        files: &[(usize, &'static CStr)],
        values: T,
    ) -> Result<Self> {
        let values = KBox::new(values, GFP_KERNEL)?;
        let group = Group::new(name, files, &raw const *values)?;
        let plain: &Device = device;
        let device = ptr::from_ref(plain).cast_mut().cast::<bindings::device>();
        // SAFETY: The device is bound; the group and what it names live until it is removed.
        to_result(unsafe { bindings::sysfs_create_group(&raw mut (*device).kobj, &group.group) })?;
        Ok(Self {
            device,
            group,
            _values: values,
        })
    }
}

impl<T: Values> Drop for Folder<T> {
    fn drop(&mut self) {
        // SAFETY: It was made by `new`, and the device is still there. The call waits for readers.
        unsafe { bindings::sysfs_remove_group(&raw mut (*self.device).kobj, &self.group.group) };
    }
}

/// The files of a device in its own folder and in one of hwmon; removed when dropped, which must be before the device is
/// unbound.
pub(crate) struct Files<T: Values> {
    device: *mut bindings::device,
    hwmon: *mut c_void,
    // What the kernel has pointers to, as long as the files are there.
    own: KBox<Group<T>>,
    _sensors: KBox<Group<T>>,
    _list: KBox<[*const bindings::attribute_group; 2]>,
    _values: KBox<T>,
}

// SAFETY: The pointers are to objects of the driver core, and to what the boxes own.
unsafe impl<T: Values> Send for Files<T> {}
// SAFETY: As above; nothing is changed through a shared reference.
unsafe impl<T: Values> Sync for Files<T> {}

impl<T: Values> Files<T> {
    /// Files by these numbers and names in a folder of hwmon that has a name, and in the device's own.
    ///
    /// # Errors
    ///
    /// ENOMEM, EEXIST when there is such a file.
    pub(crate) fn new(
        device: &Device<Bound>,
        name: &'static CStr,
        sensors: &[(usize, &'static CStr)],
        own: &[(usize, &'static CStr)],
        values: T,
    ) -> Result<Self> {
        let values = KBox::new(values, GFP_KERNEL)?;
        let owner: *const T = &raw const *values;
        let own = Group::new(None, own, owner)?;
        let sensors = Group::new(None, sensors, owner)?;
        let mut list = KBox::new([&raw const sensors.group, ptr::null()], GFP_KERNEL)?;
        let plain: &Device = device;
        let device = ptr::from_ref(plain).cast_mut().cast::<bindings::device>();
        // SAFETY: The device is bound; the group and what it names live until it is removed.
        to_result(unsafe { bindings::sysfs_create_group(&raw mut (*device).kobj, &own.group) })?;
        // SAFETY: As above; the name is a static, and the list ends with a null pointer.
        let hwmon = from_err_ptr(unsafe {
            hwmon_device_register_with_groups(
                device.cast(),
                name.as_char_ptr(),
                ptr::null_mut(),
                list.as_mut_ptr().cast(),
            )
        });
        let hwmon = hwmon.inspect_err(|_| {
            // SAFETY: The group was created above.
            unsafe { bindings::sysfs_remove_group(&raw mut (*device).kobj, &own.group) };
        })?;
        Ok(Self {
            device,
            hwmon,
            own,
            _sensors: sensors,
            _list: list,
            _values: values,
        })
    }
}

impl<T: Values> Drop for Files<T> {
    fn drop(&mut self) {
        // SAFETY: Both were made by `new`, and the device is still there. Both calls wait for readers.
        unsafe {
            hwmon_device_unregister(self.hwmon);
            bindings::sysfs_remove_group(&raw mut (*self.device).kobj, &self.own.group);
        }
    }
}
