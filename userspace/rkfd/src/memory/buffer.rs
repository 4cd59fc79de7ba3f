// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arrays in memory that CPU and GPU share.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use zerocopy::IntoBytes;

use super::{Bo, Element};
use crate::driver::Link;
use crate::error::{Error, Result};

/// An array that CPU and GPU see at the same address, or a part of one.
///
/// The GPU may write it while a dispatch runs, so the CPU never refers to its elements: it reads
/// and writes them by copies. Each naturally aligned word of 8, 4, 2 or 1 bytes is copied whole;
/// elements that are larger, or copies of several, may be seen half written.
///
/// Clones are the same memory, and so are the parts that [`slice`](Self::slice) gives; the memory is
/// freed with the last of them and the last dispatch that was given one.
///
/// ```
/// let (gpu, _driver) = rkfd::fake::open();
/// let all = gpu.upload(&[0u32, 10, 20, 30, 40])?;
/// let middle = all.slice(1..4)?;
/// middle.set(0, 11);
/// assert_eq!(middle.to_vec()?, [11, 20, 30]);
/// assert_eq!(all.to_vec()?, [0, 11, 20, 30, 40]);
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Debug)]
pub struct Buffer<T> {
    bo: Arc<Bo>,
    /// Bytes from the start of the object.
    offset: usize,
    len: usize,
    _elements: PhantomData<fn() -> T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        self.part(0, self.len)
    }
}

impl<T> Buffer<T> {
    /// The part of `len` elements from `start` on, which must lie within.
    fn part(&self, start: usize, len: usize) -> Self {
        Self {
            bo: self.bo.clone(),
            offset: self.offset + start * size_of::<T>(),
            len,
            _elements: PhantomData,
        }
    }
}

/// Bytes filled at a time.
const CHUNK: usize = 1 << 16;

impl<T: Element> Buffer<T> {
    pub(crate) fn new(link: &Arc<Link>, len: usize, flags: u32) -> Result<Self> {
        let size = len.checked_mul(size_of::<T>()).filter(|&size| size != 0);
        let size = size.ok_or(Error::Size {
            elements: len,
            size: size_of::<T>(),
        })?;
        Ok(Self {
            bo: Arc::new(Bo::new(link, size, flags)?),
            offset: 0,
            len,
            _elements: PhantomData,
        })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements: only parts can be empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The address, the same on CPU and GPU.
    pub fn address(&self) -> u64 {
        self.bo.address() + self.offset as u64
    }

    pub(crate) fn bo(&self) -> &Arc<Bo> {
        &self.bo
    }

    /// A part of it: the same memory, not a copy.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] when the range does not lie within.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let start = match range.start_bound() {
            Bound::Included(&start) => Some(start),
            Bound::Excluded(&before) => before.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.checked_add(1),
            Bound::Excluded(&end) => Some(end),
            Bound::Unbounded => Some(self.len),
        };
        match (start, end) {
            (Some(start), Some(end)) if start <= end && end <= self.len => {
                Ok(self.part(start, end - start))
            }
            _ => Err(Error::Range { len: self.len }),
        }
    }

    /// Copies `from` into the buffer.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when the lengths differ, [`Error::NotHostVisible`] for memory that only
    /// the GPU sees.
    pub fn write(&self, from: &[T]) -> Result<()> {
        if from.len() != self.len {
            return Err(Error::Length {
                buffer: self.len,
                slice: from.len(),
            });
        }
        let map = self.bo.host()?;
        map.write(self.offset, from.as_bytes())
            .ok_or(Error::NotHostVisible)
    }

    /// Sets every element.
    ///
    /// # Errors
    ///
    /// [`Error::NotHostVisible`] for memory that only the GPU sees.
    pub fn fill(&self, value: T) -> Result<()> {
        self.fill_with(|_| value)
    }

    /// Sets every element to a function of its index.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill).
    pub fn fill_with(&self, value: impl FnMut(usize) -> T) -> Result<()> {
        let map = self.bo.host()?;
        let step = (CHUNK / size_of::<T>()).max(1);
        let mut values = (0..self.len).map(value);
        let mut offset = self.offset;
        let mut chunk = Vec::with_capacity(step.min(self.len));
        loop {
            chunk.clear();
            chunk.extend(values.by_ref().take(step));
            if chunk.is_empty() {
                return Ok(());
            }
            let bytes = chunk.as_bytes();
            map.write(offset, bytes).ok_or(Error::NotHostVisible)?;
            offset += bytes.len();
        }
    }

    /// Copies the elements from `start` on into `to`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when there are fewer, [`Error::NotHostVisible`] for memory that only the
    /// GPU sees.
    pub fn read_at(&self, start: usize, to: &mut [T]) -> Result<()> {
        if start.checked_add(to.len()).is_none_or(|end| end > self.len) {
            return Err(Error::Length {
                buffer: self.len.saturating_sub(start),
                slice: to.len(),
            });
        }
        let map = self.bo.host()?;
        map.read(self.offset + start * size_of::<T>(), to.as_mut_bytes())
            .ok_or(Error::NotHostVisible)
    }

    /// One element, or `None` past the end. Makes no system call.
    pub fn get(&self, index: usize) -> Option<T> {
        let mut value = T::new_zeroed();
        let offset = self.offset_of(index)?;
        self.bo.host().ok()?.read(offset, value.as_mut_bytes())?;
        Some(value)
    }

    /// Sets one element; `None` past the end. Makes no system call.
    pub fn set(&self, index: usize, value: T) -> Option<()> {
        let offset = self.offset_of(index)?;
        self.bo.host().ok()?.write(offset, value.as_bytes())
    }

    fn offset_of(&self, index: usize) -> Option<usize> {
        (index < self.len).then(|| self.offset + index * size_of::<T>())
    }

    /// Copies all elements out.
    ///
    /// # Errors
    ///
    /// [`Error::NotHostVisible`] for memory that only the GPU sees.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut all = vec![T::new_zeroed(); self.len];
        self.read_at(0, &mut all)?;
        Ok(all)
    }
}
