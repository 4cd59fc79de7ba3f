// SPDX-License-Identifier: MIT OR Apache-2.0

//! The shape of a dispatch: work-items of the grid and of a work-group.

use crate::code::KernelMetadata;
use crate::error::DispatchError;

/// A size in one to three dimensions.
///
/// ```
/// use rkfd::Size;
///
/// assert_eq!(Size::from(256).xyz(), [256, 1, 1]);
/// assert_eq!(Size::from((64, 32)).dims(), 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Size {
    xyz: [u32; 3],
    dims: u8,
}

impl Size {
    /// The size in x, y and z; dimensions that were not given are 1.
    pub const fn xyz(self) -> [u32; 3] {
        self.xyz
    }

    /// How many dimensions were given.
    pub const fn dims(self) -> u8 {
        self.dims
    }
}

impl From<u32> for Size {
    fn from(x: u32) -> Self {
        Self {
            xyz: [x, 1, 1],
            dims: 1,
        }
    }
}

impl From<(u32, u32)> for Size {
    fn from((x, y): (u32, u32)) -> Self {
        Self {
            xyz: [x, y, 1],
            dims: 2,
        }
    }
}

impl From<(u32, u32, u32)> for Size {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self {
            xyz: [x, y, z],
            dims: 3,
        }
    }
}

/// A dispatch's shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Geometry {
    /// Work-items of the grid.
    pub(super) grid: [u32; 3],
    /// Work-items of a work-group.
    pub(super) block: [u32; 3],
    pub(super) dims: u8,
}

/// The size of the grid, by what was given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grid {
    None,
    Items(Size),
    Blocks(Size),
}

/// Checks a shape against what the kernel can do.
pub(super) fn geometry(
    kernel: &KernelMetadata,
    grid: Grid,
    block: Size,
) -> Result<Geometry, DispatchError> {
    let b = block.xyz;
    let max = kernel.max_flat_workgroup_size.clamp(1, 1024);
    let product = b
        .iter()
        .try_fold(1u32, |product, &n| product.checked_mul(n));
    if product.is_none_or(|product| product == 0 || product > max) {
        return Err(DispatchError::WorkGroup { size: b, max });
    }
    if let Some(required) = kernel
        .required_workgroup_size
        .filter(|&required| required != b)
    {
        return Err(DispatchError::RequiredWorkGroup { required, given: b });
    }
    let (g, dims) = match grid {
        Grid::None => return Err(DispatchError::EmptyGrid),
        Grid::Items(size) => (size.xyz, size.dims),
        Grid::Blocks(size) => {
            let overflow = DispatchError::GridOverflow {
                blocks: size.xyz,
                block: b,
            };
            let mut items = [0; 3];
            for (item, (n, b)) in items.iter_mut().zip(size.xyz.into_iter().zip(b)) {
                *item = n.checked_mul(b).ok_or_else(|| overflow.clone())?;
            }
            (items, size.dims)
        }
    };
    if g.contains(&0) {
        return Err(DispatchError::EmptyGrid);
    }
    if kernel.uniform_workgroups && g.iter().zip(b).any(|(g, b)| g % b != 0) {
        return Err(DispatchError::PartialWorkGroup { grid: g, block: b });
    }
    Ok(Geometry {
        grid: g,
        block: b,
        dims: dims.max(block.dims),
    })
}
