// SPDX-License-Identifier: MIT OR Apache-2.0

//! What buffers hold.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// What an element of a buffer, or an argument passed by value, can be: any bytes are a value of
/// it, and it has no padding. Numbers and arrays of them are; structures become elements by
/// [`zerocopy`]'s derives, which refuse those that have padding.
///
/// ```
/// use rkfd::zerocopy::{FromBytes, Immutable, IntoBytes};
///
/// #[derive(Clone, Copy, PartialEq, Debug, FromBytes, IntoBytes, Immutable)]
/// #[zerocopy(crate = "rkfd::zerocopy")]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     mass: f32,
/// }
///
/// let (gpu, _driver) = rkfd::fake::open();
/// let one = Particle { position: [1.0, 2.0, 3.0], mass: 0.5 };
/// let particles = gpu.upload(&[one; 100])?;
/// assert_eq!(particles.get(99), Some(one));
/// # Ok::<(), rkfd::Error>(())
/// ```
///
/// A program that depends on `zerocopy` 0.8 itself does not need the second attribute. With that
/// crate's features, and those of `half`, further types are elements, such as vectors and 16-bit
/// floats.
pub trait Element: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + Copy + Send + Sync + 'static> Element for T {}
