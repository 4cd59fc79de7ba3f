// SPDX-License-Identifier: MIT OR Apache-2.0

//! The block of kernel arguments: what the caller gave, and what the ABI adds ("hidden").
//!
//! Source: LLVM AMDGPUUsage, "Code Object V5 Metadata", value kinds of `.args`.

use super::argument::{Argument, Given};
use super::geometry::Geometry;
use crate::code::{ArgKind, KernelMetadata};
use crate::error::DispatchError;

/// What the hidden arguments are made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) geometry: Geometry,
    pub(super) lds_aperture: u64,
    pub(super) scratch_aperture: u64,
    pub(super) queue: u64,
    pub(super) dynamic_lds: u32,
}

/// Packs the argument block of a kernel.
pub(super) fn pack(
    kernel: &KernelMetadata,
    given: &[Argument],
    context: &Context,
) -> Result<Vec<u8>, DispatchError> {
    let explicit = || {
        kernel
            .args
            .iter()
            .filter(|arg| !matches!(arg.kind, ArgKind::Hidden(_)))
    };
    if explicit().count() != given.len() {
        return Err(DispatchError::ArgumentCount {
            expected: expected(kernel),
            given: given.len(),
        });
    }
    let mut block = vec![0; kernel.kernarg_size as usize];
    let mut store = |offset: u32, size: u32, bytes: &[u8]| {
        let place = block
            .get_mut(offset as usize..)
            .and_then(|b| b.get_mut(..size as usize));
        // The parser checked that every argument lies in the block.
        if let Some(place) = place {
            let len = bytes.len().min(place.len());
            if let (Some(to), Some(from)) = (place.get_mut(..len), bytes.get(..len)) {
                to.copy_from_slice(from);
            }
        }
    };

    for (index, (arg, Argument(value))) in explicit().zip(given).enumerate() {
        let wrong = |expected: String| DispatchError::ArgumentType {
            index,
            expected: match arg.name.is_empty() {
                true => expected,
                false => format!("`{}`, {expected}", arg.name),
            },
            given: value.describe(),
        };
        match (&arg.kind, value) {
            (ArgKind::Value, Given::Value(bytes)) if bytes.len() == arg.size as usize => {
                store(arg.offset, arg.size, bytes);
            }
            // A pointer inside a structure, or one the compiler made a plain value of.
            (ArgKind::Value, Given::Buffer { bo: None, address }) if arg.size == 8 => {
                store(arg.offset, arg.size, &address.to_le_bytes());
            }
            (ArgKind::Value, _) => return Err(wrong(format!("a value of {} bytes", arg.size))),
            (ArgKind::Buffer, Given::Buffer { address, .. }) => {
                store(arg.offset, arg.size, &address.to_le_bytes());
            }
            (ArgKind::Buffer, _) => return Err(wrong("a buffer".into())),
            // The pointer's value is the offset in LDS, which the caller's LDS starts at.
            (ArgKind::DynamicLds, Given::DynamicLds(_)) => {
                store(arg.offset, arg.size, &kernel.group_size.to_le_bytes());
            }
            (ArgKind::DynamicLds, _) => return Err(wrong("an amount of LDS".into())),
            (ArgKind::Other(kind), _) => {
                return Err(DispatchError::ArgumentKind {
                    index,
                    kind: kind.clone(),
                })
            }
            (ArgKind::Hidden(_), _) => {}
        }
    }
    for arg in &kernel.args {
        if let ArgKind::Hidden(name) = &arg.kind {
            store(arg.offset, arg.size, &hidden(name, context).to_le_bytes());
        }
    }
    Ok(block)
}

/// What a kernel takes, in order: the name, if the compiler kept it, and the kind.
pub(super) fn expected(kernel: &KernelMetadata) -> Vec<String> {
    let explicit = kernel.args.iter();
    let described = explicit.filter_map(|arg| {
        let kind = match &arg.kind {
            ArgKind::Hidden(_) => return None,
            ArgKind::Value => format!("a value of {} bytes", arg.size),
            ArgKind::Buffer => "a buffer".into(),
            ArgKind::DynamicLds => "an amount of LDS".into(),
            ArgKind::Other(kind) => kind.clone(),
        };
        Some(match arg.name.is_empty() {
            true => kind,
            false => format!("`{}`, {kind}", arg.name),
        })
    });
    described.collect()
}

/// The value of a hidden argument; 0 for those this library has nothing for, such as the buffer
/// for host calls.
fn hidden(name: &str, context: &Context) -> u64 {
    let Geometry { grid, block, dims } = context.geometry;
    let axis = |name: &str| match name.as_bytes().last() {
        Some(b'x') => 0,
        Some(b'y') => 1,
        _ => 2,
    };
    let of = |values: [u32; 3]| values.get(axis(name)).copied().unwrap_or(0).max(1);
    match name {
        // Whole work-groups only.
        "block_count_x" | "block_count_y" | "block_count_z" => u64::from(of(grid) / of(block)),
        "group_size_x" | "group_size_y" | "group_size_z" => u64::from(of(block)),
        "remainder_x" | "remainder_y" | "remainder_z" => u64::from(of(grid) % of(block)),
        "grid_dims" => dims.into(),
        "dynamic_lds_size" => context.dynamic_lds.into(),
        "private_base" => context.scratch_aperture >> 32,
        "shared_base" => context.lds_aperture >> 32,
        "queue_ptr" => context.queue,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Arg;
    use crate::dispatch::argument::{IntoArgument, Lds};
    use crate::memory::Address;

    /// A kernel of a pointer and a 4-byte value with code object v5's implicit block, at the
    /// offsets that AMDGPUUsage's table of implicit arguments gives.
    fn kernel() -> KernelMetadata {
        let arg = |offset, size, kind| Arg {
            name: String::new(),
            offset,
            size,
            kind,
        };
        let mut args = vec![arg(0, 8, ArgKind::Buffer), arg(8, 4, ArgKind::Value)];
        let hidden = [
            (0, 4, "block_count_x"),
            (4, 4, "block_count_y"),
            (8, 4, "block_count_z"),
            (12, 2, "group_size_x"),
            (14, 2, "group_size_y"),
            (16, 2, "group_size_z"),
            (18, 2, "remainder_x"),
            (20, 2, "remainder_y"),
            (22, 2, "remainder_z"),
            (40, 8, "global_offset_x"),
            (64, 2, "grid_dims"),
            (120, 4, "dynamic_lds_size"),
            (192, 4, "private_base"),
            (196, 4, "shared_base"),
            (200, 8, "queue_ptr"),
        ];
        for (offset, size, name) in hidden {
            args.push(arg(16 + offset, size, ArgKind::Hidden(name.into())));
        }
        KernelMetadata {
            name: "k".into(),
            symbol: "k.kd".into(),
            kernarg_size: 16 + 256,
            group_size: 0x80,
            private_size: 0,
            max_flat_workgroup_size: 1024,
            required_workgroup_size: None,
            wavefront_size: 64,
            uniform_workgroups: false,
            dynamic_stack: false,
            args,
        }
    }

    fn context() -> Context {
        Context {
            geometry: Geometry {
                grid: [1000, 6, 1],
                block: [256, 4, 1],
                dims: 2,
            },
            lds_aperture: 1 << 48,
            scratch_aperture: 2 << 48,
            queue: 0x7000_1234_5000,
            dynamic_lds: 512,
        }
    }

    #[test]
    fn explicit_and_hidden_arguments_lie_where_the_abi_says() {
        let given = [
            Address(0x1122_3344_5566).into_argument(),
            1.5f32.into_argument(),
        ];
        let block = pack(&kernel(), &given, &context()).unwrap();
        let u16_at = |at: usize| u16::from_le_bytes(block[at..at + 2].try_into().unwrap());
        let u32_at = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().unwrap());
        assert_eq!(block.len(), 272);
        assert_eq!(u64_at(0), 0x1122_3344_5566);
        assert_eq!(f32::from_bits(u32_at(8)), 1.5);
        assert_eq!((u32_at(16), u32_at(20), u32_at(24)), (3, 1, 1));
        assert_eq!((u16_at(28), u16_at(30), u16_at(32)), (256, 4, 1));
        assert_eq!((u16_at(34), u16_at(36), u16_at(38)), (232, 2, 0));
        assert_eq!(u64_at(16 + 40), 0);
        assert_eq!(u16_at(16 + 64), 2);
        assert_eq!(u32_at(16 + 120), 512);
        assert_eq!((u32_at(16 + 192), u32_at(16 + 196)), (0x20000, 0x10000));
        assert_eq!(u64_at(16 + 200), 0x7000_1234_5000);
    }

    #[test]
    fn wrong_arguments_are_named() {
        let buffer = || Address(1).into_argument();
        let error = pack(&kernel(), &[buffer()], &context()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "takes 2 arguments, 1 given; it takes: a buffer, a value of 4 bytes"
        );
        let error = pack(&kernel(), &[1u32.into_argument(), buffer()], &context()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "argument 0 is a buffer, a value of 4 bytes given"
        );
        let error = pack(&kernel(), &[buffer(), 1u64.into_argument()], &context()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "argument 1 is a value of 4 bytes, a value of 8 bytes given"
        );
        let error = pack(&kernel(), &[buffer(), buffer()], &context()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "argument 1 is a value of 4 bytes, a buffer given"
        );
    }

    #[test]
    fn dynamic_lds_starts_after_the_static_part() {
        let mut kernel = kernel();
        kernel.args[1].kind = ArgKind::DynamicLds;
        let given = [Address(0).into_argument(), Lds(512).into_argument()];
        let block = pack(&kernel, &given, &context()).unwrap();
        assert_eq!(block[8..12], 0x80u32.to_le_bytes());
    }
}
