// SPDX-License-Identifier: MIT OR Apache-2.0

//! The metadata of a code object: what each kernel is called and which arguments it takes.
//!
//! Source: LLVM AMDGPUUsage, "Code Object V5 Metadata". It is a MessagePack map in the note
//! `NT_AMDGPU_METADATA`.

use rmpv::Value;

use crate::error::CodeError;

/// Deepest nesting that is followed.
const DEPTH: usize = 32;

/// What an argument is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgKind {
    /// Bytes copied into the argument block.
    Value,
    /// The address of memory.
    Buffer,
    /// The size in bytes of LDS that the dispatch adds.
    DynamicLds,
    /// Filled by the library: see the name, without its `hidden_`.
    Hidden(String),
    /// Anything else, such as an image.
    Other(String),
}

/// An argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    /// Its name in the source, which may be missing.
    pub name: String,
    /// Bytes from the start of the argument block.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// What it is.
    pub kind: ArgKind,
}

/// The metadata of a kernel. Sizes are in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelMetadata {
    /// The name in the source.
    pub name: String,
    /// The name of the kernel descriptor's symbol.
    pub symbol: String,
    /// The argument block.
    pub kernarg_size: u32,
    /// LDS of a work-group that is known at compile time.
    pub group_size: u32,
    /// Scratch of a work-item.
    pub private_size: u32,
    /// Most work-items of a work-group.
    pub max_flat_workgroup_size: u32,
    /// The only possible size of work-group, if there is one.
    pub required_workgroup_size: Option<[u32; 3]>,
    /// Work-items of a wave.
    pub wavefront_size: u32,
    /// The grid must be a multiple of the work-group.
    pub uniform_workgroups: bool,
    /// Scratch may be more than `private_size`.
    pub dynamic_stack: bool,
    /// Explicit arguments and hidden ones.
    pub args: Vec<Arg>,
}

/// The metadata.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) target: String,
    pub(crate) kernels: Vec<KernelMetadata>,
}

fn damaged(what: impl std::fmt::Display) -> CodeError {
    CodeError::Damaged(format!("metadata: {what}"))
}

/// A map of the metadata.
struct Map<'a>(&'a [(Value, Value)]);

impl<'a> Map<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        value.as_map().map(|entries| Self(entries))
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0
            .iter()
            .find(|(k, _)| k.as_str() == Some(key))
            .map(|(_, value)| value)
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.get(key)?.as_u64()?.try_into().ok()
    }

    fn flag(&self, key: &str) -> bool {
        match self.get(key) {
            Some(Value::Boolean(flag)) => *flag,
            Some(value) => value.as_u64().is_some_and(|number| number != 0),
            None => false,
        }
    }

    fn required<T>(&self, key: &str, value: Option<T>) -> Result<T, CodeError> {
        value.ok_or_else(|| damaged(format_args!("`{key}` is missing or of the wrong type")))
    }
}

fn arg(value: &Value) -> Result<Arg, CodeError> {
    let map = Map::of(value).ok_or_else(|| damaged("an argument is not a map"))?;
    let kind = map.required(".value_kind", map.text(".value_kind"))?;
    Ok(Arg {
        name: map.text(".name").unwrap_or_default().to_owned(),
        offset: map.required(".offset", map.number(".offset"))?,
        size: map.required(".size", map.number(".size"))?,
        kind: match (kind, kind.strip_prefix("hidden_")) {
            (_, Some(hidden)) => ArgKind::Hidden(hidden.to_owned()),
            ("by_value", _) => ArgKind::Value,
            ("global_buffer", _) => ArgKind::Buffer,
            ("dynamic_shared_pointer", _) => ArgKind::DynamicLds,
            (other, _) => ArgKind::Other(other.to_owned()),
        },
    })
}

fn kernel(value: &Value) -> Result<KernelMetadata, CodeError> {
    let map = Map::of(value).ok_or_else(|| damaged("a kernel is not a map"))?;
    let number = |key| map.required(key, map.number(key));
    let args = match map.get(".args") {
        None => Vec::new(),
        Some(args) => {
            let args = map.required(".args", args.as_array())?;
            args.iter().map(arg).collect::<Result<_, _>>()?
        }
    };
    let required_workgroup_size = match map.get(".reqd_workgroup_size").and_then(Value::as_array) {
        Some(sizes) => {
            let sizes: Vec<u32> = sizes
                .iter()
                .filter_map(|v| v.as_u64()?.try_into().ok())
                .collect();
            Some(map.required(".reqd_workgroup_size", sizes.try_into().ok())?)
        }
        None => None,
    };
    let kernel = KernelMetadata {
        name: map.required(".name", map.text(".name"))?.to_owned(),
        symbol: map.required(".symbol", map.text(".symbol"))?.to_owned(),
        kernarg_size: number(".kernarg_segment_size")?,
        group_size: number(".group_segment_fixed_size")?,
        private_size: number(".private_segment_fixed_size")?,
        max_flat_workgroup_size: number(".max_flat_workgroup_size")?,
        required_workgroup_size,
        wavefront_size: number(".wavefront_size")?,
        uniform_workgroups: map.flag(".uniform_work_group_size"),
        dynamic_stack: map.flag(".uses_dynamic_stack"),
        args,
    };
    for arg in &kernel.args {
        if arg
            .offset
            .checked_add(arg.size)
            .is_none_or(|end| end > kernel.kernarg_size)
        {
            return Err(damaged(format_args!(
                "an argument of `{}` lies outside",
                kernel.name
            )));
        }
    }
    Ok(kernel)
}

impl Metadata {
    /// Reads the note's contents.
    pub(crate) fn parse(mut note: &[u8]) -> Result<Self, CodeError> {
        let root = rmpv::decode::read_value_with_max_depth(&mut note, DEPTH).map_err(damaged)?;
        let map = Map::of(&root).ok_or_else(|| damaged("not a map"))?;
        let kernels = match map.get("amdhsa.kernels") {
            None => Vec::new(),
            Some(list) => {
                let list = map.required("amdhsa.kernels", list.as_array())?;
                list.iter().map(kernel).collect::<Result<_, _>>()?
            }
        };
        let target = map.text("amdhsa.target").unwrap_or_default().to_owned();
        Ok(Self { target, kernels })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, value).unwrap();
        bytes
    }

    fn map(entries: Vec<(&str, Value)>) -> Value {
        Value::Map(entries.into_iter().map(|(k, v)| (k.into(), v)).collect())
    }

    fn kernel_with(offset: u64) -> Value {
        let arg = map(vec![
            (".offset", offset.into()),
            (".size", 8.into()),
            (".value_kind", "global_buffer".into()),
        ]);
        let kernel = map(vec![
            (".name", "k".into()),
            (".symbol", "k.kd".into()),
            (".kernarg_segment_size", 16.into()),
            (".group_segment_fixed_size", 0.into()),
            (".private_segment_fixed_size", 0.into()),
            (".max_flat_workgroup_size", 256.into()),
            (".wavefront_size", 64.into()),
            (
                ".reqd_workgroup_size",
                Value::Array(vec![64.into(), 1.into(), 1.into()]),
            ),
            (".args", Value::Array(vec![arg])),
        ]);
        map(vec![("amdhsa.kernels", Value::Array(vec![kernel]))])
    }

    #[test]
    fn a_kernel_is_read() {
        let metadata = Metadata::parse(&encoded(&kernel_with(8))).unwrap();
        let kernel = &metadata.kernels[0];
        assert_eq!((kernel.name.as_str(), kernel.wavefront_size), ("k", 64));
        assert_eq!(kernel.required_workgroup_size, Some([64, 1, 1]));
        assert_eq!(kernel.args[0].kind, ArgKind::Buffer);
    }

    #[test]
    fn an_argument_outside_its_block_is_refused() {
        for offset in [9, u64::from(u32::MAX), u64::MAX] {
            assert!(Metadata::parse(&encoded(&kernel_with(offset))).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = Metadata::parse(&bytes);
        }

        #[test]
        fn damage_never_panics(at in 0usize..200, byte in any::<u8>()) {
            let mut bytes = encoded(&kernel_with(8));
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Metadata::parse(&bytes);
        }
    }
}
