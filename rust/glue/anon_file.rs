// SPDX-License-Identifier: GPL-2.0

//! Files without a name, that a program gets as a descriptor from an ioctl.
//!
//! The kernel crate of 7.3 has no way to make a file, nor to give a program a descriptor of one.

use super::{
    linux,
    table::Table, //
};
use kernel::{
    bindings,
    fs::File,
    prelude::*,
    sync::{
        poll::PollTable,
        Arc,
        ArcBorrow, //
    },
    types::ForeignOwnable,
    uaccess::{
        UserPtr,
        UserSlice,
        UserSliceReader,
        UserSliceWriter, //
    }, //
};

#[expect(
    improper_ctypes,
    reason = "bindgen's types of the VFS are passed by pointer only"
)]
extern "C" {
    /// Not in `bindings`: <linux/anon_inodes.h>.
    fn anon_inode_getfd(
        name: *const c_char,
        fops: *const bindings::file_operations,
        private: *mut c_void,
        flags: c_int,
    ) -> c_int;
}

/// What such a file does.
pub(crate) trait AnonFile: Send + Sync + Sized + 'static {
    /// The file operations: `static FOPS: Fops = Fops::new::<Self>();`.
    fn fops() -> &'static Fops;
    /// Reads what there is. EAGAIN when there is nothing.
    fn read(&self, to: UserSliceWriter) -> Result<usize>;
    /// Takes what is written.
    fn write(&self, from: UserSliceReader) -> Result<usize>;
    /// Registers the caller to be woken, and returns whether there is something to read.
    fn readable(&self, file: &File, table: &PollTable<'_>) -> bool;
    /// The last reference to the file went.
    fn closed(this: Arc<Self>);
}

/// File operations.
pub(crate) struct Fops(Table<bindings::file_operations>);

impl Fops {
    /// The table of a kind of file.
    pub(crate) const fn new<T: AnonFile>() -> Self {
        Self(Table(bindings::file_operations {
            owner: linux::this(),
            release: Some(release::<T>),
            read: Some(read::<T>),
            write: Some(write::<T>),
            poll: Some(poll::<T>),
            ..pin_init::zeroed()
        }))
    }
}

/// Makes a file and gives the caller a descriptor of it.
pub(crate) fn open<T: AnonFile>(name: &'static CStr, this: Arc<T>) -> Result<u32> {
    let private = this.into_foreign();
    // SAFETY: Name and table are statics; the file owns `private` from here on, unless it fails.
    let fd = unsafe {
        anon_inode_getfd(
            name.as_char_ptr(),
            T::fops().0.as_ptr(),
            private.cast(),
            bindings::O_RDWR as c_int,
        )
    };
    u32::try_from(fd).map_err(|_| {
        // SAFETY: There is no file, so nobody took it.
        drop(unsafe { <Arc<T> as ForeignOwnable>::from_foreign(private) });
        Error::from_errno(fd)
    })
}

/// # Safety
///
/// `file` is an open file of `T` that stays open for `'a`.
unsafe fn this<'a, T: AnonFile>(file: *mut bindings::file) -> ArcBorrow<'a, T> {
    // SAFETY: `open` stored the pointer of an `Arc`, which only `release` takes back.
    unsafe { <Arc<T> as ForeignOwnable>::borrow((*file).private_data) }
}

extern "C" fn release<T: AnonFile>(_: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: The last reference to the file went, so nobody borrows from it any more.
    T::closed(unsafe { <Arc<T> as ForeignOwnable>::from_foreign((*file).private_data) });
    0
}

fn count(result: Result<usize>) -> isize {
    match result {
        // CAST: At most the size that was asked for.
        Ok(bytes) => bytes as isize,
        Err(e) => e.to_errno() as isize,
    }
}

extern "C" fn read<T: AnonFile>(
    file: *mut bindings::file,
    to: *mut c_char,
    size: usize,
    _: *mut bindings::loff_t,
) -> isize {
    // SAFETY: The VFS holds the file during the call.
    let this = unsafe { this::<T>(file) };
    let to = UserSlice::new(UserPtr::from_addr(to as usize), size);
    count(this.read(to.writer()))
}

extern "C" fn write<T: AnonFile>(
    file: *mut bindings::file,
    from: *const c_char,
    size: usize,
    _: *mut bindings::loff_t,
) -> isize {
    // SAFETY: As above.
    let this = unsafe { this::<T>(file) };
    let from = UserSlice::new(UserPtr::from_addr(from as usize), size);
    count(this.write(from.reader()))
}

extern "C" fn poll<T: AnonFile>(
    file: *mut bindings::file,
    table: *mut bindings::poll_table,
) -> bindings::__poll_t {
    // SAFETY: As above; the table is valid for the call.
    let (this, file, table) = unsafe {
        (
            this::<T>(file),
            File::from_raw_file(file),
            PollTable::from_raw(table),
        )
    };
    if this.readable(file, &table) {
        (bindings::POLLIN | bindings::POLLRDNORM) as bindings::__poll_t
    } else {
        0
    }
}
