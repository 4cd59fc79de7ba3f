// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is given to a kernel.

use std::sync::Arc;

use crate::memory::{Address, Bo, Buffer, Element};

/// A kernel argument that was given.
#[derive(Clone, Debug)]
pub struct Argument(pub(super) Given);

#[derive(Clone, Debug)]
pub(super) enum Given {
    /// Bytes to copy.
    Value(Vec<u8>),
    /// The address of memory that lives as long as the dispatch.
    Buffer { address: u64, bo: Option<Arc<Bo>> },
    /// Bytes of LDS to add.
    DynamicLds(u32),
}

/// What can be given as a kernel argument: numbers and structures ([`Element`]), buffers and parts
/// of them, [`Bytes`], [`Address`], [`Lds`].
pub trait IntoArgument {
    /// The argument.
    fn into_argument(self) -> Argument;
}

/// A structure passed by value: its bytes, for types that are no [`Element`].
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

/// LDS that is allocated by the dispatch, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Lds(pub u32);

impl<T: Element> IntoArgument for T {
    fn into_argument(self) -> Argument {
        Argument(Given::Value(self.as_bytes().to_vec()))
    }
}

impl<T: Element> IntoArgument for &Buffer<T> {
    fn into_argument(self) -> Argument {
        Argument(Given::Buffer {
            address: self.address(),
            bo: Some(self.bo().clone()),
        })
    }
}

impl IntoArgument for Bytes<'_> {
    fn into_argument(self) -> Argument {
        Argument(Given::Value(self.0.to_vec()))
    }
}

impl IntoArgument for Address {
    fn into_argument(self) -> Argument {
        Argument(Given::Buffer {
            address: self.0,
            bo: None,
        })
    }
}

impl IntoArgument for Lds {
    fn into_argument(self) -> Argument {
        Argument(Given::DynamicLds(self.0))
    }
}

impl IntoArgument for Argument {
    fn into_argument(self) -> Argument {
        self
    }
}

impl Given {
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Value(bytes) => format!("a value of {} bytes", bytes.len()),
            Self::Buffer { .. } => "a buffer".into(),
            Self::DynamicLds(bytes) => format!("{bytes} bytes of LDS"),
        }
    }
}
