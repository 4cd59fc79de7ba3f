// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory that CPU and GPU see at the same address.

use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::sync::Arc;

use rkfd_uapi::memory as uapi;

use crate::error::{Error, Result};
use crate::process::Link;
use crate::sys::map::{Mapping, PAGE};
use crate::trace::{self, Step};

/// The combinations of allocation flags that are used.
pub(crate) mod flags {
    use super::uapi::*;

    /// System memory that is always coherent: rings, signals, kernel arguments.
    pub(crate) const SHARED: u32 = ALLOC_GTT
        | ALLOC_WRITABLE
        | ALLOC_EXECUTABLE
        | ALLOC_NO_SUBSTITUTE
        | ALLOC_COHERENT
        | ALLOC_UNCACHED;
    /// System memory for data.
    pub(crate) const GTT: u32 = ALLOC_GTT | ALLOC_WRITABLE | ALLOC_NO_SUBSTITUTE | ALLOC_COHERENT;
    /// Device memory that the CPU can map.
    pub(crate) const VRAM: u32 = ALLOC_VRAM | ALLOC_WRITABLE | ALLOC_PUBLIC | ALLOC_NO_SUBSTITUTE;
    /// Device memory that only the GPU sees.
    pub(crate) const VRAM_PRIVATE: u32 = ALLOC_VRAM | ALLOC_WRITABLE | ALLOC_NO_SUBSTITUTE;
    /// May hold code.
    pub(crate) const EXECUTABLE: u32 = ALLOC_EXECUTABLE;
    /// The CPU maps objects with these.
    pub(super) const HOST: u32 = ALLOC_GTT | ALLOC_PUBLIC;
}

/// Where memory lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// Device memory when the CPU can map it, else system memory.
    #[default]
    Auto,
    /// Device memory that the CPU can map.
    Vram,
    /// System memory.
    Gtt,
}

/// A buffer object, mapped on the GPU. Dropping it unmaps and frees it.
#[derive(Debug)]
pub(crate) struct Bo {
    link: Arc<Link>,
    handle: u64,
    map: Option<Mapping>,
    size: usize,
}

impl Bo {
    /// Makes an object of exactly `size` bytes, rounded up to a page.
    pub(crate) fn new(link: &Arc<Link>, size: usize, flags: u32) -> Result<Self> {
        let rounded = size
            .checked_next_multiple_of(PAGE)
            .filter(|&size| size != 0);
        let size = rounded.ok_or(Error::Size {
            elements: size,
            size: 1,
        })?;
        // Large objects are aligned so that large pages can map them.
        let align = if size >= 2 << 20 { 2 << 20 } else { PAGE };
        let mut map = Mapping::reserve(size, align)?;
        let va = map.address();
        let (base, limit) = (link.apertures.gpuvm_base, link.apertures.gpuvm_limit);
        if va < base || va + (size as u64 - 1) > limit {
            return Err(Error::Map {
                what: "address range within the GPU's",
                size,
                errno: rustix::io::Errno::NOMEM,
            });
        }
        let kfd = &link.process.kfd;
        let (handle, offset) = kfd.alloc(link.gpu_id, va, size as u64, flags)?;
        let host = flags & self::flags::HOST != 0;
        let mapped = match host {
            true => map.place(link.render.as_fd(), offset),
            false => Ok(()),
        };
        // From here on the object is freed when something fails.
        let bo = Self {
            link: link.clone(),
            handle,
            map: Some(map),
            size,
        };
        mapped?;
        if host {
            trace::emit(&Step::Map {
                what: "buffer object",
                file: "render node",
                offset,
                address: va,
                size,
            });
        }
        kfd.map(handle, link.gpu_id)?;
        Ok(bo)
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    pub(crate) fn handle(&self) -> u64 {
        self.handle
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn address(&self) -> u64 {
        self.map.as_ref().map_or(0, Mapping::address)
    }

    /// The memory; an error when the CPU does not see it.
    pub(crate) fn host(&self) -> Result<&Mapping> {
        self.map
            .as_ref()
            .filter(|map| map.accessible())
            .ok_or(Error::NotHostVisible)
    }

    /// Sets all bytes to zero.
    pub(crate) fn clear(&self) -> Result<()> {
        let map = self.host()?;
        let zeros = [0; PAGE];
        for offset in (0..self.size).step_by(PAGE) {
            map.write(offset, &zeros).ok_or(Error::NotHostVisible)?;
        }
        Ok(())
    }
}

impl Drop for Bo {
    fn drop(&mut self) {
        let kfd = &self.link.process.kfd;
        // An object that was never mapped fails to unmap, which doesn't keep it from being freed.
        let _ = kfd.unmap(self.handle, self.link.gpu_id);
        if kfd.free(self.handle).is_err() {
            // The GPU may still reach these addresses: they are not used again.
            std::mem::forget(self.map.take());
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number: any bytes are a value, and it has no padding.
pub trait Number: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The number from its bytes in memory order.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Writes the number's bytes into a place of their length.
    fn to_bytes(self, bytes: &mut [u8]);
    /// Appends the number's bytes.
    fn append_to(self, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($t:ty),*) => { $(
        impl sealed::Sealed for $t {}
        impl Number for $t {
            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap_or_default())
            }
            fn to_bytes(self, bytes: &mut [u8]) {
                if bytes.len() == size_of::<$t>() {
                    bytes.copy_from_slice(&self.to_le_bytes());
                }
            }
            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )* };
}
numbers!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// An array of numbers that CPU and GPU see at the same address.
///
/// The GPU may write it while a dispatch runs, so the CPU reads and writes it by copies. Clones are
/// the same memory; it is freed with the last clone and the last dispatch that was given it.
#[derive(Debug)]
pub struct Buffer<T> {
    bo: Arc<Bo>,
    len: usize,
    _elements: PhantomData<fn() -> T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self {
            bo: self.bo.clone(),
            len: self.len,
            _elements: PhantomData,
        }
    }
}

/// Bytes copied at a time.
const CHUNK: usize = 1 << 16;

impl<T: Number> Buffer<T> {
    pub(crate) fn new(link: &Arc<Link>, len: usize, flags: u32) -> Result<Self> {
        let size = len.checked_mul(size_of::<T>()).filter(|&size| size != 0);
        let size = size.ok_or(Error::Size {
            elements: len,
            size: size_of::<T>(),
        })?;
        Ok(Self {
            bo: Arc::new(Bo::new(link, size, flags)?),
            len,
            _elements: PhantomData,
        })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements; never, as such a buffer can't be made.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address, the same on CPU and GPU.
    pub fn address(&self) -> u64 {
        self.bo.address()
    }

    pub(crate) fn bo(&self) -> &Arc<Bo> {
        &self.bo
    }

    /// Copies `from` into the buffer, which must be of that length.
    pub fn write(&self, from: &[T]) -> Result<()> {
        if from.len() != self.len {
            return Err(Error::Length {
                buffer: self.len,
                slice: from.len(),
            });
        }
        let map = self.bo.host()?;
        let mut bytes = Vec::with_capacity(CHUNK);
        for (i, chunk) in from.chunks(CHUNK / size_of::<T>()).enumerate() {
            bytes.clear();
            chunk.iter().for_each(|value| value.append_to(&mut bytes));
            map.write(i * CHUNK, &bytes).ok_or(Error::NotHostVisible)?;
        }
        Ok(())
    }

    /// Sets every element.
    pub fn fill(&self, value: T) -> Result<()> {
        self.fill_with(|_| value)
    }

    /// Sets every element to a function of its index.
    pub fn fill_with(&self, mut value: impl FnMut(usize) -> T) -> Result<()> {
        let map = self.bo.host()?;
        let (step, mut bytes) = (CHUNK / size_of::<T>(), Vec::with_capacity(CHUNK));
        for start in (0..self.len).step_by(step) {
            bytes.clear();
            (start..self.len.min(start + step)).for_each(|i| value(i).append_to(&mut bytes));
            map.write(start * size_of::<T>(), &bytes)
                .ok_or(Error::NotHostVisible)?;
        }
        Ok(())
    }

    /// Copies the elements from `start` into `to`.
    pub fn read_at(&self, start: usize, to: &mut [T]) -> Result<()> {
        let wrong = Error::Length {
            buffer: self.len.saturating_sub(start),
            slice: to.len(),
        };
        if start.checked_add(to.len()).is_none_or(|end| end > self.len) {
            return Err(wrong);
        }
        let map = self.bo.host()?;
        let mut bytes = vec![0; CHUNK.min(size_of_val(to))];
        for (i, chunk) in to.chunks_mut(CHUNK / size_of::<T>()).enumerate() {
            let Some(bytes) = bytes.get_mut(..size_of_val(chunk)) else {
                return Err(wrong);
            };
            let offset = start * size_of::<T>() + i * CHUNK;
            map.read(offset, bytes).ok_or(Error::NotHostVisible)?;
            for (value, bytes) in chunk.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
                *value = T::from_bytes(bytes);
            }
        }
        Ok(())
    }

    /// One element, or `None` past the end. Makes no system call.
    pub fn get(&self, index: usize) -> Option<T> {
        let mut bytes = [0; 8];
        let bytes = bytes
            .get_mut(..size_of::<T>())
            .filter(|_| index < self.len)?;
        self.bo.host().ok()?.read(index * size_of::<T>(), bytes)?;
        Some(T::from_bytes(bytes))
    }

    /// Sets one element; `None` past the end. Makes no system call.
    pub fn set(&self, index: usize, value: T) -> Option<()> {
        let mut bytes = [0; 8];
        let bytes = bytes
            .get_mut(..size_of::<T>())
            .filter(|_| index < self.len)?;
        value.to_bytes(bytes);
        self.bo.host().ok()?.write(index * size_of::<T>(), bytes)
    }

    /// All elements.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut all = vec![T::default(); self.len];
        self.read_at(0, &mut all)?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_those_that_rocm_uses() {
        assert_eq!(flags::SHARED, 0xd600_0002);
        assert_eq!(flags::VRAM, 0xb000_0001);
        assert_eq!(flags::VRAM | flags::EXECUTABLE, 0xf000_0001);
    }

    #[test]
    fn numbers_round_trip() {
        let mut bytes = Vec::new();
        1.5f32.append_to(&mut bytes);
        (-2i64).append_to(&mut bytes);
        assert_eq!(f32::from_bytes(&bytes[..4]), 1.5);
        assert_eq!(i64::from_bytes(&bytes[4..]), -2);
    }
}
