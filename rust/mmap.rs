// SPDX-License-Identifier: GPL-2.0

//! Where programs map buffer objects: offsets in the files of a GPU's DRM device, and the faults of
//! those mappings.
//!
//! Each buffer object has a [`Mapping`]: an offset that is never used again. A fault looks an object
//! up under the mutex of [`Offsets`], which all programs share and which is held for the look only, and
//! inserts its page under the object's own. Whoever takes an object away removes it, waits for the
//! faults of this object that are under way, and takes its pages out of all mappings then: no page
//! stays mapped. A debugger's bytes ([`Transfer`]) are copied in the same way.
//!
//! A file of the device is a [`VmFile`]: it owns offsets, and names an address space for
//! ACQUIRE_VM. The device itself, and what its files answer, is in `render`.
//!
//! An object belongs to the file of the process that made it, or to all files that have a GEM handle.
//!
//! Lock order: a file's address space -> a VM, all objects. An object's mutex, which faults take, -> locks of memory management.
//! All objects -> the files that may map one, which is a leaf.

use crate::{
    bo::{
        Bo,
        Caching, //
    },
    glue::{
        drm::Device,
        transfer::Transfer,
        vma::{
            Area,
            CpuCaching,
            Fault, //
        }, //
    },
    gpu::Gpu, //
};
use kernel::{
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::{
        Arc,
        Mutex, //
    }, //
};

mod file;
mod memory;

pub(crate) use file::{
    Placed,
    Space,
    VmFile, //
};
pub(crate) use memory::{
    FileMemory,
    MemoryUse, //
};

/// Where offsets of DRM files start (`DRM_FILE_PAGE_OFFSET_START`).
const FIRST_OFFSET: u64 = 1 << 32;

/// The offsets of a GPU's DRM device, which its primary and its render node share.
#[pin_data]
pub(crate) struct Offsets {
    gpu: Arc<Gpu>,
    #[pin]
    objects: Mutex<Objects>,
}

impl Offsets {
    /// No object has an offset yet, and none can have one before [`open`](Self::open).
    pub(crate) fn new(gpu: &Arc<Gpu>) -> Result<Arc<Self>> {
        let gpu = gpu.clone();
        Arc::pin_init(
            pin_init!(Self {
                gpu,
                objects <- new_mutex!(Objects::new(), "rkfd mmap objects"),
            }),
            GFP_KERNEL,
        )
    }

    /// The GPU.
    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// From now on objects can be mapped, in files of this device.
    pub(crate) fn open(&self, device: Device) {
        let mut objects = self.objects.lock();
        objects.gone = false;
        objects.device = Some(device);
    }

    /// Takes every page from programs; from now on nothing can be mapped. It also lets the device go,
    /// which keeps these offsets by its driver's part.
    pub(crate) fn close(&self) {
        let device = {
            let mut objects = self.objects.lock();
            objects.gone = true;
            objects.device.clone()
        };
        if let Some(device) = &device {
            device.revoke_all();
        }
        // Only now: who takes an object away meanwhile has to find the device.
        let last = self.objects.lock().device.take();
        drop(last);
    }

    /// Inserts the page that was touched.
    fn fault(&self, fault: &Fault<'_>) -> Result {
        let (object, within) = self.find(fault.offset())?;
        object.fault(fault, within)
    }

    /// Copies what a debugger reads or writes.
    fn access(&self, transfer: &Transfer<'_>) -> Result {
        let (object, within) = self.find(transfer.offset())?;
        object.access(transfer, within)
    }

    /// The object that an offset lies in, and how far.
    ///
    /// # Errors
    ///
    /// ENODEV when the GPU went, EFAULT where no object is.
    fn find(&self, offset: u64) -> Result<(Arc<Object>, u64)> {
        let objects = self.objects.lock();
        if objects.gone {
            return Err(ENODEV);
        }
        let (object, within) = objects.find(offset).ok_or(EFAULT)?;
        Ok((object.clone(), within))
    }
}

/// Buffer objects by their offset.
struct Objects {
    /// The device isn't there yet, or went: no page may be mapped.
    gone: bool,
    /// Where mappings are found and revoked.
    device: Option<Device>,
    next: u64,
    by_offset: RBTree<u64, Arc<Object>>,
}

#[pin_data]
struct Object {
    bo: Arc<Bo>,
    /// The file that may map it, if one may.
    owner: Option<usize>,
    /// Files that have handles to it, and may map it, too; and how many each has.
    #[pin]
    allowed: Mutex<RBTree<usize, u32>>,
    /// Its pages may be mapped. Held while one is, and while a debugger's bytes are copied.
    #[pin]
    live: Mutex<bool>,
}

impl Object {
    /// Inserts the page that was touched, `within` the object.
    fn fault(&self, fault: &Fault<'_>, within: u64) -> Result {
        if self.bo.placement().is_none() {
            // Doorbells and registers are mapped on /dev/kfd.
            return Err(EFAULT);
        }
        let live = self.live.lock();
        if !*live {
            return Err(EFAULT);
        }
        self.bo.set_touched(true);
        self.bo.with_pfn(within, |pfn| fault.insert(pfn))
    }

    /// Copies what a debugger reads or writes, `within` the object.
    fn access(&self, transfer: &Transfer<'_>, within: u64) -> Result {
        let live = self.live.lock();
        if !*live {
            return Err(EFAULT);
        }
        self.bo.transfer(within, transfer)
    }
}

impl Objects {
    /// None yet.
    fn new() -> Self {
        Self {
            gone: true,
            device: None,
            next: FIRST_OFFSET,
            by_offset: RBTree::new(),
        }
    }

    /// Sets up a new mapping of a file.
    ///
    /// # Errors
    ///
    /// EINVAL when no object starts there or it is smaller, EACCES when it is another file's; those of
    /// [`map`](Self::map).
    fn map_of(&self, file: &VmFile, area: &Area<'_>) -> Result {
        let object = self.by_offset.get(&area.offset()).ok_or(EINVAL)?;
        if area.len() as u64 > object.bo.size() {
            return Err(EINVAL);
        }
        let key = file.key();
        if object.owner != Some(key) && object.allowed.lock().get(&key).is_none() {
            return Err(EACCES);
        }
        self.map(object, area)
    }

    /// Makes an area a mapping of an object.
    ///
    /// # Errors
    ///
    /// ENODEV when the GPU went, EPERM for the program's own memory.
    fn map(&self, object: &Object, area: &Area<'_>) -> Result {
        if self.gone {
            return Err(ENODEV);
        }
        if object.bo.is_user() {
            // The program has it mapped already (`amdgpu_gem_object_mmap`).
            return Err(EPERM);
        }
        let caching = match object.bo.caching() {
            Caching::Cached => CpuCaching::WriteBack,
            Caching::WriteCombine => CpuCaching::WriteCombine,
            Caching::Uncached => CpuCaching::Uncached,
        };
        area.map(caching)
    }

    /// The object that an offset lies in, and how far.
    fn find(&self, offset: u64) -> Option<(&Arc<Object>, u64)> {
        let (start, object) = match self.by_offset.cursor_lower_bound(&offset) {
            Some(cursor) if *cursor.current().0 == offset => (offset, self.by_offset.get(&offset)?),
            Some(cursor) => {
                let start = *cursor.peek_prev()?.0;
                (start, self.by_offset.get(&start)?)
            }
            None => {
                let start = *self.by_offset.cursor_back()?.current().0;
                (start, self.by_offset.get(&start)?)
            }
        };
        let within = offset.checked_sub(start)?;
        (within < object.bo.size()).then_some((object, within))
    }
}

/// A buffer object's place among the offsets.
pub(crate) struct Mapping {
    offsets: Arc<Offsets>,
    offset: u64,
    size: u64,
}

impl Mapping {
    /// Gives a buffer object an offset; only `file` can map it.
    pub(crate) fn new(file: &VmFile, bo: &Arc<Bo>) -> Result<Self> {
        Self::of(file.offsets(), bo, Some(file.key()))
    }

    /// Gives a buffer object an offset, for files that are [allowed](Self::allow) to map it, and for
    /// mappings of other files: [`map`](Self::map).
    pub(crate) fn shared(offsets: &Arc<Offsets>, bo: &Arc<Bo>) -> Result<Self> {
        Self::of(offsets, bo, None)
    }

    fn of(offsets: &Arc<Offsets>, bo: &Arc<Bo>, owner: Option<usize>) -> Result<Self> {
        let offsets = offsets.clone();
        let size = bo.size();
        let object = Arc::pin_init(
            pin_init!(Object {
                bo: bo.clone(),
                owner,
                allowed <- new_mutex!(RBTree::new(), "rkfd mmap allowed"),
                live <- new_mutex!(true, "rkfd mmap object"),
            }),
            GFP_KERNEL_ACCOUNT,
        )?;
        let reserved = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
        let offset = {
            let mut objects = offsets.objects.lock();
            if objects.gone {
                return Err(ENODEV);
            }
            let offset = objects.next;
            // A page is left out between two, so that no mapping reaches into the next.
            let next = size
                .checked_add(PAGE_SIZE as u64)
                .and_then(|n| offset.checked_add(n));
            let next = next.filter(|next| *next < i64::MAX as u64).ok_or(ENOSPC)?;
            objects.by_offset.insert(reserved.into_node(offset, object));
            objects.next = next;
            offset
        };
        Ok(Self {
            offsets,
            offset,
            size,
        })
    }

    /// Sets up a new mapping of a file whose address space is [`device`](Self::device)'s. The area's
    /// offset is one in the object, and lies in it.
    pub(crate) fn map(&self, area: &Area<'_>) -> Result {
        let objects = self.offsets.objects.lock();
        let object = objects.by_offset.get(&self.offset).ok_or(EINVAL)?;
        let end = area.offset().checked_add(area.len() as u64);
        if end.is_none_or(|end| end > object.bo.size()) {
            return Err(EINVAL);
        }
        area.set_offset(self.offset.checked_add(area.offset()).ok_or(EINVAL)?);
        objects.map(object, area)
    }

    /// Inserts the page that was touched in such a mapping.
    pub(crate) fn fault(&self, fault: &Fault<'_>) -> Result {
        self.offsets.fault(fault)
    }

    /// Copies what a debugger reads or writes of such a mapping.
    pub(crate) fn access(&self, transfer: &Transfer<'_>) -> Result {
        self.offsets.access(transfer)
    }

    /// Where mappings are found and revoked.
    ///
    /// # Errors
    ///
    /// ENODEV when the GPU went.
    pub(crate) fn device(&self) -> Result<Device> {
        self.offsets.objects.lock().device.clone().ok_or(ENODEV)
    }

    fn object(&self) -> Result<Arc<Object>> {
        let objects = self.offsets.objects.lock();
        Ok(objects.by_offset.get(&self.offset).ok_or(EINVAL)?.clone())
    }

    /// Where programs have it mapped.
    pub(crate) fn pages(&self) -> MappedPages {
        MappedPages {
            offsets: self.offsets.clone(),
            offset: self.offset,
            size: self.size,
        }
    }

    /// A file may map it once more often.
    pub(crate) fn allow(&self, file: &VmFile) -> Result {
        let object = self.object()?;
        let reserved = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
        let mut allowed = object.allowed.lock();
        match allowed.get_mut(&file.key()) {
            Some(count) => *count = count.checked_add(1).ok_or(ENOSPC)?,
            None => {
                allowed.insert(reserved.into_node(file.key(), 1));
            }
        }
        Ok(())
    }

    /// A file may map it once less often. Whether that was the last time.
    pub(crate) fn disallow(&self, file: &VmFile) -> bool {
        let Ok(object) = self.object() else {
            return true;
        };
        let mut allowed = object.allowed.lock();
        match allowed.get_mut(&file.key()) {
            Some(count) if *count > 1 => {
                *count = count.saturating_sub(1);
                false
            }
            _ => {
                allowed.remove(&file.key());
                true
            }
        }
    }

    /// Whether a file may map it.
    pub(crate) fn is_allowed(&self, file: &VmFile) -> bool {
        let Ok(object) = self.object() else {
            return false;
        };
        let allowed = object.allowed.lock();
        allowed.get(&file.key()).is_some()
    }

    /// For the program's mmap.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

/// The pages that programs have of a buffer object.
pub(crate) struct MappedPages {
    offsets: Arc<Offsets>,
    offset: u64,
    size: u64,
}

impl MappedPages {
    /// Takes them from programs, which find others when they touch them again.
    pub(crate) fn revoke(&self) {
        let device = self.offsets.objects.lock().device.clone();
        // Without a device all pages were taken already.
        if let Some(device) = device {
            device.revoke(self.offset, self.size);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // From here on a fault finds nothing, and none is under way; then the pages that are mapped go.
        let (removed, device) = {
            let mut objects = self.offsets.objects.lock();
            let removed = objects.by_offset.remove_node(&self.offset);
            (removed, objects.device.clone())
        };
        if let Some(node) = removed {
            *node.to_key_value().1.live.lock() = false;
        }
        // Without a device all pages were taken already.
        if let Some(device) = device {
            device.revoke(self.offset, self.size);
        }
    }
}
