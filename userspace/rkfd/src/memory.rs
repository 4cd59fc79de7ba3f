// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory that CPU and GPU see at the same address.

mod bo;
mod buffer;
mod element;
mod pool;

pub(crate) use bo::{flags, Bo};
pub use buffer::Buffer;
pub use element::Element;
#[cfg(feature = "async")]
pub(crate) use pool::Watch;
pub(crate) use pool::{Piece, Pool};

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

/// A bare GPU address, for memory that this library did not make. The caller keeps the memory
/// behind it alive.
///
/// ```
/// let (gpu, _driver) = rkfd::fake::open();
/// let buffer = gpu.upload(&[1u32, 2, 3])?;
/// let second = rkfd::Address(buffer.address() + 4);
/// # let _ = second;
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Address(pub u64);
