// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shape and types of a matrix operation, from its name; what it does is in `exec`.

/// Type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the manuals'")]
pub enum Element {
    F64,
    F32,
    /// Single precision with only the ten highest fraction bits.
    Xf32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    I32,
    I8,
    I4,
}

impl Element {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "f64" => Self::F64,
            "f32" => Self::F32,
            "xf32" => Self::Xf32,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "fp8" => Self::Fp8,
            "bf8" => Self::Bf8,
            "i32" => Self::I32,
            "i8" | "iu8" => Self::I8,
            "iu4" => Self::I4,
            _ => return None,
        })
    }

    pub(crate) const fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Xf32 | Self::I32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::Fp8 | Self::Bf8 | Self::I8 => 8,
            Self::I4 => 4,
        }
    }

    pub(crate) const fn is_integer(self) -> bool {
        matches!(self, Self::I32 | Self::I8 | Self::I4)
    }
}

/// Shape and types of a matrix operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    pub(crate) rows: u8,
    pub(crate) columns: u8,
    pub(crate) inner: u8,
    pub(crate) blocks: u8,
    pub(crate) a: Element,
    pub(crate) b: Element,
    pub(crate) d: Element,
    /// Two of every four elements of A are there.
    pub sparse: bool,
    /// gfx12's layouts.
    pub(crate) wave: bool,
}

impl Matrix {
    /// From a mnemonic without its `v_`: `mfma_f32_32x32x4_2b_f16`, `wmma_i32_16x16x16_iu8`.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('_').peekable();
        let (wave, sparse) = match parts.next()? {
            "mfma" => (false, false),
            "smfmac" => (false, true),
            "wmma" => (true, false),
            "swmmac" => (true, true),
            _ => return None,
        };
        let d = Element::parse(parts.next()?)?;
        let mut sizes = parts.next()?.split('x').map(|n| n.parse().ok());
        let mut size = || sizes.next().flatten();
        let (rows, columns, inner) = (size()?, size()?, size()?);
        let blocks = match parts.peek()?.strip_suffix('b').map(str::parse) {
            Some(Ok(blocks)) => {
                parts.next();
                blocks
            }
            _ => 1,
        };
        let a = Element::parse(parts.next()?)?;
        let b = match parts.next() {
            Some(name) => Element::parse(name)?,
            None => a,
        };
        Some(Self {
            rows,
            columns,
            inner,
            blocks,
            a,
            b,
            d,
            sparse,
            wave,
        })
    }
}
