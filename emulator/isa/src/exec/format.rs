// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats of a buffer's elements: their components, and how those become registers and back.
//!
//! Names and numbers of the formats are LLVM's (SIDefines.h and AMDGPUAsmUtils.cpp, MTBUFFormat);
//! they list the components from the highest bits down. Normalised values are those of Direct3D's
//! and Vulkan's rules. What the manuals do not settle is refused: an integer, or a scaled value,
//! that its component cannot hold.

use super::exact::{Exact, Format as Binary, Special};
use super::float::{from_f16, to_f16, Round};
use crate::fault::FaultKind;

/// What a component's bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// From 0 to 1.
    Unorm,
    /// From -1 to 1; the lowest code is -1 too.
    Snorm,
    /// An integer that is a float in registers.
    Uscaled,
    /// The same with a sign.
    Sscaled,
    /// An integer.
    Uint,
    /// The same with a sign.
    Sint,
    /// A float: of 32 bits, 16, or without a sign of 11 or 10.
    Float,
}
use Number::*;

/// An element's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of each component, X first, which is lowest.
    pub widths: &'static [u8],
    /// Of all components.
    pub number: Number,
}

/// Data formats by gfx9's number.
const DATA: [&[u8]; 15] = [
    &[],
    &[8],
    &[16],
    &[8, 8],
    &[32],
    &[16, 16],
    &[11, 11, 10],
    &[10, 11, 11],
    &[2, 10, 10, 10],
    &[10, 10, 10, 2],
    &[8, 8, 8, 8],
    &[32, 32],
    &[16, 16, 16, 16],
    &[32, 32, 32],
    &[32, 32, 32, 32],
];
/// Numeric formats by gfx9's number.
const NUMBERS: [Option<Number>; 8] = [
    Some(Unorm),
    Some(Snorm),
    Some(Uscaled),
    Some(Sscaled),
    Some(Uint),
    Some(Sint),
    None,
    Some(Float),
];

impl Format {
    /// gfx9's two fields. 0 is the data format of an unbound buffer; not all pairs are formats.
    pub fn split(data: u32, number: u32) -> Option<Self> {
        let widths = *DATA
            .get(data as usize)
            .filter(|widths| !widths.is_empty())?;
        let number = NUMBERS[number as usize & 7]?;
        let exists = match number {
            Float => widths.iter().all(|n| matches!(n, 10 | 11 | 16 | 32)),
            Uint | Sint => true,
            _ => !widths.contains(&32),
        };
        // Floats of 10 bits come only together with those of 11.
        let exists = exists && (number != Float || !widths.contains(&10) || widths.contains(&11));
        exists.then_some(Self { widths, number })
    }

    /// gfx11's and gfx12's single number: the formats that exist, in order.
    pub fn unified(number: u32) -> Option<Self> {
        let mut left = number.checked_sub(1)?;
        for data in 1..DATA.len() as u32 {
            for number in 0..NUMBERS.len() as u32 {
                let Some(format) = Self::split(data, number).filter(Self::is_unified) else {
                    continue;
                };
                match left.checked_sub(1) {
                    Some(less) => left = less,
                    None => return Some(format),
                }
            }
        }
        None
    }

    /// Of those with components of several sizes gfx11 dropped what nothing used.
    fn is_unified(&self) -> bool {
        match self.widths {
            [10 | 11, 11, _] => self.number == Float,
            [2, ..] => !matches!(self.number, Uscaled | Sscaled),
            _ => true,
        }
    }

    /// Bytes of an element.
    pub fn bytes(&self) -> u64 {
        self.widths.iter().map(|n| u64::from(*n)).sum::<u64>() / 8
    }

    /// An integer in registers, not a float.
    pub fn is_integer(&self) -> bool {
        matches!(self.number, Uint | Sint)
    }

    /// A component's bits of an element.
    pub fn part(&self, element: u128, component: usize) -> u32 {
        let at: u8 = self.widths[..component].iter().sum();
        let ones = (1u128 << self.widths[component]) - 1;
        ((element >> at) & ones) as u32
    }

    /// An element with a component's bits set that were zero.
    pub fn with_part(&self, element: u128, component: usize, part: u32) -> u128 {
        let at: u8 = self.widths[..component].iter().sum();
        element | (u128::from(part) << at)
    }

    /// What a component of `width` bits stands for; an integer too is exact as a double.
    fn value(&self, part: u32, width: u8) -> f64 {
        let signed = f64::from(((part << (32 - width)) as i32) >> (32 - width));
        match self.number {
            Unorm => f64::from(part) / ones(width),
            Snorm => (signed / ones(width - 1)).max(-1.0),
            Uscaled | Uint => part.into(),
            Sscaled | Sint => signed,
            Float => match width {
                32 => f32::from_bits(part).into(),
                16 => from_f16(part as u16).into(),
                _ => short(width).value(part.into()),
            },
        }
    }

    /// A component as a register of 32 bits.
    pub fn load(&self, part: u32, width: u8) -> u32 {
        match self.number {
            Uint => part,
            Sint => self.value(part, width) as i32 as u32,
            Float if width == 32 => part,
            _ => (self.value(part, width) as f32).to_bits(),
        }
    }

    /// A component as half a register. Single precision is truncated, all else rounds to nearest
    /// even (RDNA4 ISA, section 9.3.1).
    pub fn load_half(&self, part: u32, width: u8) -> Result<u16, FaultKind> {
        Ok(match self.number {
            Uint | Sint if width == 32 => {
                return Err(FaultKind::Unsupported("an integer of 32 bits as half one"))
            }
            Uint => part as u16,
            Sint => self.value(part, width) as i16 as u16,
            Float if width == 16 => part as u16,
            Float if width == 32 => truncated(self.value(part, width), &Binary::F16) as u16,
            _ => to_f16(self.value(part, width)),
        })
    }

    /// A register of 32 bits as a component.
    pub fn store(&self, register: u32, width: u8) -> Result<u32, FaultKind> {
        match self.number {
            Float if width == 32 => Ok(register),
            Uint => self.code(register.into(), width),
            Sint => self.code((register as i32).into(), width),
            _ => self.code(f32::from_bits(register).into(), width),
        }
    }

    /// Half a register as a component.
    pub fn store_half(&self, register: u16, width: u8) -> Result<u32, FaultKind> {
        match self.number {
            Float if width == 16 => Ok(register.into()),
            Uint => self.code(register.into(), width),
            Sint => self.code((register as i16).into(), width),
            _ => self.code(from_f16(register).into(), width),
        }
    }

    /// The bits of a component for a value.
    fn code(&self, value: f64, width: u8) -> Result<u32, FaultKind> {
        // A NaN becomes zero.
        let normalised = |one: f64, lowest: f64| {
            let value = if value.is_nan() { 0.0 } else { value };
            (value.clamp(lowest, 1.0) * one).round_ties_even()
        };
        let code = match self.number {
            Unorm => normalised(ones(width), 0.0),
            Snorm => normalised(ones(width - 1), -1.0),
            Float => {
                return Ok(match width {
                    32 => (value as f32).to_bits(),
                    16 => truncated(value, &Binary::F16) as u32,
                    // No sign: what is below zero is zero.
                    _ if value < 0.0 => 0,
                    _ => truncated(value.abs(), &short(width)) as u32,
                });
            }
            Uscaled | Uint | Sscaled | Sint => {
                let (lowest, highest) = match self.number {
                    Uscaled | Uint => (0.0, ones(width)),
                    _ => (-ones(width - 1) - 1.0, ones(width - 1)),
                };
                if !(lowest..=highest).contains(&value) || value.fract() != 0.0 {
                    return Err(FaultKind::Unsupported("a value beyond its buffer's format"));
                }
                value
            }
        };
        Ok(code as i64 as u32 & (u32::MAX >> (32 - width)))
    }
}

/// 2^width - 1.
fn ones(width: u8) -> f64 {
    2f64.powi(width.into()) - 1.0
}

/// Floats of 10 and 11 bits: half precision's exponent, and no sign.
fn short(width: u8) -> Binary {
    Binary {
        exponent: 5,
        fraction: u32::from(width) - 5,
        bias: 15,
        special: Special::Ieee,
    }
}

fn truncated(value: f64, format: &Binary) -> u64 {
    Exact::of(value).round(format, Round::Zero)
}
