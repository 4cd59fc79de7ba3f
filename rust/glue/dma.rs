// SPDX-License-Identifier: GPL-2.0

//! Streaming DMA mappings of pages and of device memory.
//!
//! The kernel crate of 7.3 has no mapping of single pages, only coherent allocations and scatterlists;
//! buffer objects want one bus address a page. A mapping lives in a `Devres`, so it is undone at the
//! latest when the device is unbound, while the pages themselves go with the buffer object.

use super::{
    linux,
    transfer::Transfer, //
};
use kernel::{
    bindings,
    device::{
        self,
        Bound, //
    },
    page::{
        Page,
        PAGE_SIZE, //
    },
    prelude::*,
    sync::aref::ARef, //
};

/// What `dma_map_*` return on failure.
const MAPPING_ERROR: u64 = !0;

/// Programs and the GPU work on the same page at once: a bounce buffer (SWIOTLB) would show each its own,
/// so that such a mapping has to fail. Programs may also lend one page as often as they like.
const COHERENT: usize = bindings::DMA_ATTR_REQUIRE_COHERENT as usize;

fn raw(dev: &device::Device) -> *mut bindings::device {
    // `device::Device` is `repr(transparent)` over `Opaque<device>`.
    core::ptr::from_ref(dev).cast_mut().cast()
}

/// Did a `dma_map_*` fail? The kernel's own test is an inline function, of which debug kernels want
/// to see that it is made.
fn failed(dev: &device::Device, bus: u64) -> bool {
    #[cfg(CONFIG_DMA_API_DEBUG)]
    // SAFETY: The device is valid; the function only looks the address up.
    unsafe {
        bindings::debug_dma_mapping_error(raw(dev), bus)
    };
    #[cfg(not(CONFIG_DMA_API_DEBUG))]
    let _ = dev;
    bus == MAPPING_ERROR
}

/// What a device does with pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeviceAccess {
    /// It reads them, and can't write them where an IOMMU stands between.
    Read,
    /// It reads and writes them.
    ReadWrite,
}

impl DeviceAccess {
    fn direction(self) -> bindings::dma_data_direction {
        match self {
            Self::Read => linux::TO_DEVICE,
            Self::ReadWrite => linux::BOTH_WAYS,
        }
    }
}

/// Bus addresses of a list of pages, in order.
pub(crate) struct PageMapping {
    dev: ARef<device::Device>,
    bus: KVVec<u64>,
    access: DeviceAccess,
}

impl PageMapping {
    /// Maps pages for the device. The caller keeps the pages until the mapping is dropped.
    pub(crate) fn new<'a>(
        dev: &device::Device<Bound>,
        pages: impl ExactSizeIterator<Item = &'a Page>,
        access: DeviceAccess,
    ) -> Result<Self> {
        let plain: &device::Device = dev;
        let mut this = Self {
            dev: plain.into(),
            bus: KVVec::with_capacity(pages.len(), GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?,
            access,
        };
        for page in pages {
            // SAFETY: The device is bound and the page is valid; `Drop` undoes the mapping.
            let bus = unsafe {
                bindings::dma_map_page_attrs(
                    raw(plain),
                    page.as_ptr(),
                    0,
                    PAGE_SIZE,
                    access.direction(),
                    COHERENT,
                )
            };
            if failed(plain, bus) {
                return Err(ENOMEM);
            }
            this.bus.push(bus, GFP_KERNEL_ACCOUNT)?;
        }
        Ok(this)
    }

    /// The bus addresses.
    pub(crate) fn bus(&self) -> &[u64] {
        &self.bus
    }
}

impl Drop for PageMapping {
    fn drop(&mut self) {
        for &bus in &self.bus {
            // SAFETY: `bus` was returned by `dma_map_page_attrs` with the same arguments.
            unsafe {
                bindings::dma_unmap_page_attrs(
                    raw(&self.dev),
                    bus,
                    PAGE_SIZE,
                    self.access.direction(),
                    COHERENT,
                )
            };
        }
    }
}

/// The bus address of memory of a device, such as its doorbells.
pub(crate) struct ResourceMapping {
    dev: ARef<device::Device>,
    bus: u64,
    len: usize,
}

impl ResourceMapping {
    /// Maps `len` bytes of device memory at a physical address.
    pub(crate) fn new(dev: &device::Device<Bound>, phys: u64, len: usize) -> Result<Self> {
        let plain: &device::Device = dev;
        // SAFETY: The device is bound; `phys` is not RAM by the caller's use of a BAR.
        let bus = unsafe { bindings::dma_map_resource(raw(plain), phys, len, linux::BOTH_WAYS, 0) };
        if failed(plain, bus) {
            return Err(ENOMEM);
        }
        Ok(Self {
            dev: plain.into(),
            bus,
            len,
        })
    }

    /// The bus address.
    pub(crate) fn bus(&self) -> u64 {
        self.bus
    }
}

impl Drop for ResourceMapping {
    fn drop(&mut self) {
        // SAFETY: `bus` was returned by `dma_map_resource` with the same arguments.
        unsafe {
            bindings::dma_unmap_resource(raw(&self.dev), self.bus, self.len, linux::BOTH_WAYS, 0)
        };
    }
}

/// The page frame number of a page.
pub(crate) fn pfn(page: &Page) -> usize {
    // SAFETY: The kernel sets it once, while booting.
    let map = unsafe { (&raw const bindings::vmemmap_base).read() };
    const SIZE: usize = core::mem::size_of::<bindings::page>();
    // With SPARSEMEM_VMEMMAP, x86_64's only memory model, `vmemmap` is one array of all pages.
    (page.as_ptr() as usize).wrapping_sub(map) / SIZE
}

/// Runs `f` on the address of `len` bytes of a page, `at` bytes from its start.
fn with_bytes<R>(page: &Page, at: usize, len: usize, f: impl FnOnce(*mut u8) -> R) -> Result<R> {
    if at.checked_add(len).is_none_or(|end| end > PAGE_SIZE) {
        return Err(EINVAL);
    }
    // SAFETY: The page is valid; the mapping is undone below, and `f` can't sleep with it since
    // it only loads or stores.
    let base = unsafe { bindings::kmap_local_page(page.as_ptr()) }.cast::<u8>();
    let result = f(base.wrapping_add(at));
    // SAFETY: `base` is the innermost local mapping.
    unsafe { bindings::kunmap_local(base.cast()) };
    Ok(result)
}

/// Runs `f` on the address of a 64-bit word of a page.
fn with_word<R>(page: &Page, index: usize, f: impl FnOnce(*mut u64) -> R) -> Result<R> {
    let at = index.checked_mul(8).ok_or(EINVAL)?;
    with_bytes(page, at, 8, |at| f(at.cast()))
}

/// Copies what a debugger reads or writes, from a byte of a page on. A device may work on it meanwhile.
pub(crate) fn transfer(page: &Page, at: usize, transfer: &Transfer<'_>) -> Result {
    with_bytes(page, at, transfer.len(), |at| {
        let (len, buf) = (transfer.len(), transfer.buf());
        let (to, from) = match transfer.is_write() {
            true => (at, buf),
            false => (buf, at),
        };
        // SAFETY: Both have as many bytes, and the buffer isn't a page that devices share. The copy is C's,
        // of which the compiler knows nothing: the device may load and store at any time.
        unsafe { bindings::memcpy(to.cast(), from.cast(), len) };
    })
}

/// Loads a 64-bit word of a page that a device may store to.
pub(crate) fn read_u64(page: &Page, index: usize) -> Result<u64> {
    with_word(page, index, |at| {
        // SAFETY: The address lies in the page and is aligned; the load is volatile, since the
        // device may store at any time.
        u64::from_le(unsafe { at.read_volatile() })
    })
}

/// Stores a 64-bit word of a page that a device may load.
pub(crate) fn write_u64(page: &Page, index: usize, value: u64) -> Result {
    with_word(page, index, |at| {
        // SAFETY: The address lies in the page and is aligned; the store is volatile, since the
        // device may load at any time.
        unsafe { at.write_volatile(value.to_le()) }
    })
}
