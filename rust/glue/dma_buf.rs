// SPDX-License-Identifier: GPL-2.0

//! DMA-bufs: memory behind a file descriptor, which drivers and programs hand each other.
//!
//! The kernel crate of 7.3 has no DMA-bufs but those of GEM objects.
//!
//! An [`Exporter`] is what stands behind a DMA-buf of ours; the DMA-buf holds it until the last
//! reference to its file goes. Its mappings are found in the exporter's address space
//! ([`AnonInode`]), so that they can be revoked with all others of the device.
//!
//! An [`Attachment`] is a device's access to a DMA-buf of somebody else. It doesn't follow moves:
//! such an importer makes an exporter that could move its memory pin it.

use super::{
    anon_inode::AnonInode,
    table::Table,
    vma::{
        outcome,
        Area,
        Fault,
        VmOps, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    bindings,
    device::{
        Bound,
        Device, //
    },
    error::{
        from_err_ptr,
        from_result,
        to_result, //
    },
    module::this_module,
    page::{
        Page,
        PAGE_SIZE, //
    },
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    types::ForeignOwnable, //
};

/// What stands behind a DMA-buf of ours.
pub(crate) trait Exporter: Send + Sync + Sized + 'static {
    /// Its operations: `static OPS: Ops = Ops::new::<Self>();`.
    fn ops() -> &'static Ops;
    /// Those of its mappings: `static VM_OPS: VmOps = dma_buf::vm_ops::<Self>();`.
    fn vm_ops() -> &'static VmOps;
    /// The pages, for a device to reach them by DMA.
    ///
    /// # Errors
    ///
    /// EINVAL for memory that isn't the system's: other devices have no way to it.
    fn pages(&self) -> Result<&[Page]>;
    /// Sets a new mapping up with [`Area::map`]. It lies within the DMA-buf.
    fn mmap(&self, area: &Area<'_>) -> Result;
    /// Inserts the page that was touched.
    fn fault(&self, fault: &Fault<'_>) -> Result;
}

/// Operations of a kind of exporter.
pub(crate) struct Ops(Table<bindings::dma_buf_ops>);

impl Ops {
    /// The table.
    pub(crate) const fn new<T: Exporter>() -> Self {
        Self(Table(bindings::dma_buf_ops {
            map_dma_buf: Some(map::<T>),
            unmap_dma_buf: Some(unmap),
            release: Some(release::<T>),
            mmap: Some(mmap::<T>),
            ..pin_init::zeroed()
        }))
    }
}

/// The table of an exporter's mappings.
pub(crate) const fn vm_ops<T: Exporter>() -> VmOps {
    VmOps::of(fault::<T>)
}

/// A counted reference to a DMA-buf.
pub(crate) struct DmaBuf(NonNull<bindings::dma_buf>);

// SAFETY: DMA-bufs are counted files with locks of their own.
unsafe impl Send for DmaBuf {}
// SAFETY: As above.
unsafe impl Sync for DmaBuf {}

impl DmaBuf {
    /// Makes a DMA-buf of `size` bytes; writable mappings of it only with `writable`. Those found
    /// under `inode` are revoked there.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn export<T: Exporter>(
        exporter: Arc<T>,
        size: usize,
        writable: bool,
        inode: &AnonInode,
    ) -> Result<Self> {
        let private = exporter.into_foreign();
        let info = bindings::dma_buf_export_info {
            exp_name: c"rkfd".as_char_ptr(),
            owner: this_module::<crate::LocalModule>().as_ptr(),
            ops: T::ops().0.as_ptr(),
            size,
            flags: if writable {
                bindings::O_RDWR as c_int
            } else {
                0
            },
            priv_: private.cast(),
            ..Default::default()
        };
        // SAFETY: The table is a static; `private` is the DMA-buf's from here on, unless it fails.
        let result = from_err_ptr(unsafe { bindings::dma_buf_export(&info) });
        let dmabuf = result.inspect_err(|_| {
            // SAFETY: There is no DMA-buf that could have taken it.
            drop(unsafe { <Arc<T> as ForeignOwnable>::from_foreign(private) });
        })?;
        // SAFETY: Nobody else knows the DMA-buf and its file. The exporter keeps the inode, and
        // goes after every mapping of the file.
        unsafe { (*(*dmabuf).file).f_mapping = inode.mapping() };
        Ok(Self(NonNull::new(dmabuf).ok_or(ENOMEM)?))
    }

    /// The DMA-buf behind a descriptor of the caller's.
    ///
    /// # Errors
    ///
    /// EBADF when there is none, EINVAL when it is of something else.
    pub(crate) fn get(fd: u32) -> Result<Self> {
        // SAFETY: Any number may be asked for.
        // CAST: Descriptors beyond are negative, and there are none.
        let dmabuf = from_err_ptr(unsafe { bindings::dma_buf_get(fd as c_int) })?;
        Ok(Self(NonNull::new(dmabuf).ok_or(EINVAL)?))
    }

    /// Gives the caller a descriptor.
    ///
    /// # Errors
    ///
    /// EMFILE and the like when the caller can't have one more.
    pub(crate) fn fd(self, flags: u32) -> Result<u32> {
        // SAFETY: The reference is the descriptor's from here on, unless it fails.
        let fd = unsafe { bindings::dma_buf_fd(self.0.as_ptr(), flags as c_int) };
        let fd = u32::try_from(fd).map_err(|_| Error::from_errno(fd))?;
        core::mem::forget(self);
        Ok(fd)
    }

    /// Bytes.
    pub(crate) fn size(&self) -> usize {
        // SAFETY: Counted; the size never changes.
        unsafe { (*self.0.as_ptr()).size }
    }

    /// What stands behind it, if that is a `T`.
    pub(crate) fn exporter<T: Exporter>(&self) -> Option<ArcBorrow<'_, T>> {
        // SAFETY: Counted; the operations never change.
        let ops = unsafe { (*self.0.as_ptr()).ops };
        // SAFETY: A DMA-buf with these operations holds what `export` put there, until `release`,
        // which our reference keeps away.
        core::ptr::eq(ops, T::ops().0.as_ptr()).then(|| unsafe { exporter(self.0.as_ptr()) })
    }
}

impl Clone for DmaBuf {
    fn clone(&self) -> Self {
        // SAFETY: Counted, so the file is valid.
        unsafe { bindings::get_file((*self.0.as_ptr()).file) };
        Self(self.0)
    }
}

impl Drop for DmaBuf {
    fn drop(&mut self) {
        // SAFETY: The reference is ours.
        unsafe { bindings::dma_buf_put(self.0.as_ptr()) };
    }
}

/// # Safety
///
/// `dmabuf` was made by [`DmaBuf::export`] from a `T` and isn't released for `'a`.
unsafe fn exporter<'a, T: Exporter>(dmabuf: *mut bindings::dma_buf) -> ArcBorrow<'a, T> {
    // SAFETY: `export` stored the pointer of an `Arc`, which only `release` takes back.
    unsafe { <Arc<T> as ForeignOwnable>::borrow((*dmabuf).priv_) }
}

extern "C" fn release<T: Exporter>(dmabuf: *mut bindings::dma_buf) {
    // SAFETY: The last reference went, and mappings and attachments each held one.
    drop(unsafe { <Arc<T> as ForeignOwnable>::from_foreign((*dmabuf).priv_) });
}

extern "C" fn mmap<T: Exporter>(
    dmabuf: *mut bindings::dma_buf,
    vma: *mut bindings::vm_area_struct,
) -> c_int {
    from_result(|| {
        // SAFETY: The area is being set up by the caller, who holds the mmap lock for writing, and
        // holds the DMA-buf's file.
        let (area, this) = unsafe { (Area::from_raw(vma, T::vm_ops()), exporter::<T>(dmabuf)) };
        this.mmap(&area)?;
        Ok(0)
    })
}

extern "C" fn fault<T: Exporter>(vmf: *mut bindings::vm_fault) -> bindings::vm_fault_t {
    // SAFETY: The memory manager passes a fault of an area that `mmap` set up; the area holds its
    // file, which is a DMA-buf's, and is locked during the call.
    let (fault, this) = unsafe {
        let vma = (*vmf).__bindgen_anon_1.vma;
        let dmabuf = (*(*vma).vm_file).private_data.cast();
        (Fault::from_raw(vmf), exporter::<T>(dmabuf))
    };
    outcome(&fault, this.fault(&fault))
}

/// Flags of a DMA mapping whose user asks for every write-back of caches.
const SKIP_SYNC: c_ulong = bindings::DMA_ATTR_SKIP_CPU_SYNC as c_ulong;

/// Pages as a table of DMA addresses of a device.
fn table(
    pages: &[Page],
    dev: *mut bindings::device,
    direction: bindings::dma_data_direction,
) -> Result<*mut bindings::sg_table> {
    let mut raw = KVVec::with_capacity(pages.len(), GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?;
    for page in pages {
        raw.push(page.as_ptr(), GFP_KERNEL_ACCOUNT)?;
    }
    let count = u32::try_from(raw.len())?;
    let mut table = KBox::new(bindings::sg_table::default(), GFP_KERNEL_ACCOUNT)?;
    // SAFETY: There are `count` pointers to pages; the table is ours.
    to_result(unsafe {
        bindings::sg_alloc_table_from_pages_segment(
            &mut *table,
            raw.as_mut_ptr(),
            count,
            0,
            pages.len() * PAGE_SIZE,
            u32::MAX,
            bindings::GFP_KERNEL,
        )
    })?;
    // SAFETY: The device is that of an attachment and outlives it; the table lists pages.
    let mapped = unsafe { bindings::dma_map_sgtable(dev, &mut *table, direction, SKIP_SYNC) };
    if mapped != 0 {
        // SAFETY: Allocated above.
        unsafe { bindings::sg_free_table(&mut *table) };
        return Err(EBUSY);
    }
    Ok(KBox::into_raw(table))
}

extern "C" fn map<T: Exporter>(
    attach: *mut bindings::dma_buf_attachment,
    direction: bindings::dma_data_direction,
) -> *mut bindings::sg_table {
    // SAFETY: The attachment is valid and holds its DMA-buf.
    let (this, dev) = unsafe { (exporter::<T>((*attach).dmabuf), (*attach).dev) };
    match this.pages().and_then(|pages| table(pages, dev, direction)) {
        Ok(table) => table,
        // As `ERR_PTR`.
        Err(e) => e.to_errno() as isize as *mut bindings::sg_table,
    }
}

extern "C" fn unmap(
    attach: *mut bindings::dma_buf_attachment,
    table: *mut bindings::sg_table,
    direction: bindings::dma_data_direction,
) {
    // SAFETY: The table is one that `map` made for this attachment and direction.
    unsafe {
        bindings::dma_unmap_sgtable((*attach).dev, table, direction, SKIP_SYNC);
        bindings::sg_free_table(table);
        drop(KBox::from_raw(table));
    }
}

/// A device's access to a DMA-buf.
pub(crate) struct Attachment {
    buf: DmaBuf,
    attach: NonNull<bindings::dma_buf_attachment>,
    table: *mut bindings::sg_table,
    /// Of each page, in order.
    bus: KVVec<u64>,
}

// SAFETY: Attachments may be used and undone from any thread.
unsafe impl Send for Attachment {}
// SAFETY: As above.
unsafe impl Sync for Attachment {}

const BOTH_WAYS: bindings::dma_data_direction = bindings::dma_data_direction::DMA_BIDIRECTIONAL;

impl Attachment {
    /// Attaches a device for reading and writing.
    ///
    /// # Errors
    ///
    /// The exporter's error; EINVAL when the memory isn't whole pages.
    pub(crate) fn new(buf: DmaBuf, dev: &Device<Bound>) -> Result<Self> {
        let dev = core::ptr::from_ref(dev)
            .cast_mut()
            .cast::<bindings::device>();
        // SAFETY: The DMA-buf is counted; the device is bound, and the caller undoes this before
        // it isn't any more.
        let attach = from_err_ptr(unsafe { bindings::dma_buf_attach(buf.0.as_ptr(), dev) })?;
        // SAFETY: Attached above.
        let table = unsafe { bindings::dma_buf_map_attachment_unlocked(attach, BOTH_WAYS) };
        let table = from_err_ptr(table).inspect_err(|_| {
            // SAFETY: Attached above, and not mapped.
            unsafe { bindings::dma_buf_detach(buf.0.as_ptr(), attach) }
        })?;
        // From here on `drop` undoes it.
        let mut this = Self {
            attach: NonNull::new(attach).ok_or(ENOMEM)?,
            table,
            bus: KVVec::new(),
            buf,
        };
        this.read_table()?;
        Ok(this)
    }

    fn read_table(&mut self) -> Result {
        const PAGE: u64 = PAGE_SIZE as u64;
        let pages = self.buf.size() / PAGE_SIZE;
        self.bus.reserve(pages, GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?;
        // SAFETY: The table is valid until it is unmapped.
        let (mut entry, entries) = unsafe { ((*self.table).sgl, (*self.table).nents) };
        for _ in 0..entries {
            if entry.is_null() {
                return Err(EINVAL);
            }
            // SAFETY: One of the mapped entries.
            let (mut at, len) = unsafe {
                (
                    bindings::sg_dma_address(entry),
                    u64::from(bindings::sg_dma_len(entry)),
                )
            };
            if at % PAGE != 0 || len % PAGE != 0 {
                return Err(EINVAL);
            }
            for _ in 0..(len / PAGE) {
                if self.bus.len() < pages {
                    self.bus.push(at, GFP_KERNEL_ACCOUNT)?;
                }
                at = at.wrapping_add(PAGE);
            }
            // SAFETY: As above.
            entry = unsafe { bindings::sg_next(entry) };
        }
        if self.bus.len() < pages {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// The bus address of each page, in order.
    pub(crate) fn bus(&self) -> &[u64] {
        &self.bus
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let attach = self.attach.as_ptr();
        // SAFETY: Attached and mapped by `new`.
        unsafe {
            bindings::dma_buf_unmap_attachment_unlocked(attach, self.table, BOTH_WAYS);
            bindings::dma_buf_detach(self.buf.0.as_ptr(), attach);
        }
    }
}
