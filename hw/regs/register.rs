// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a register and its value are: see [`super`].

use super::super::layout::{Field, FieldInfo, Fit};
use super::super::value::{Bits, Setting, Width};
use super::Block;
use core::fmt;
use core::marker::PhantomData;

/// The type of a register: it has no values of its own, [`Value`] has.
pub trait Register: 'static {
    /// Where the register lies, and its fields.
    const INFO: RegInfo;
}

/// A register with its fields: one line of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegInfo {
    /// The register.
    pub reg: AnyReg,
    /// Its fields.
    pub fields: &'static [FieldInfo],
}

impl RegInfo {
    /// The bits that fields cover.
    pub fn known_bits(&self) -> u32 {
        self.fields.iter().fold(0, |mask, field| {
            mask | mask_of(field.bit as u8, field.width)
        })
    }
}

/// A table: the registers of an IP block of one version.
pub struct Table {
    /// The header it was read from: `asic_reg/{header}_offset.h` and `_sh_mask.h`.
    pub header: &'static str,
    /// The registers, by segment and offset.
    pub regs: &'static [RegInfo],
}

/// The bits of a field, in place.
const fn mask_of(lo: u8, width: u8) -> u32 {
    u32::MAX.wrapping_shr(32u32.wrapping_sub(width as u32)) << lo
}

/// A register: where it lies in its IP block.
pub struct Reg<R: ?Sized> {
    /// Words from the register that the type names: of one in an array.
    words: u32,
    _of: PhantomData<fn(&R)>,
}

impl<R: ?Sized> Clone for Reg<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: ?Sized> Copy for Reg<R> {}

impl<R: Register> Reg<R> {
    /// The register that the type names.
    pub const fn new() -> Self {
        Self {
            words: 0,
            _of: PhantomData,
        }
    }

    /// The register `index * stride` words further on, of an array of registers that are alike.
    pub const fn at(self, index: u32, stride: u32) -> Self {
        Self {
            words: self.words.wrapping_add(index.wrapping_mul(stride)),
            _of: PhantomData,
        }
    }

    /// The register without its type.
    pub const fn any(self) -> AnyReg {
        let mut reg = R::INFO.reg;
        reg.offset = reg.offset.wrapping_add(self.words);
        reg
    }

    /// A field of the register, together with it: for tables over registers of several types.
    pub const fn field<const W: u32>(self, field: Field<R, W>) -> AnyField<W> {
        AnyField {
            reg: self.any(),
            lo: field.bit() as u8,
        }
    }

    /// Fields of the register with their values, together with it.
    pub const fn change(self, settings: &[Setting<R>]) -> Change {
        let (mut mask, mut bits, mut left) = (0, 0, settings);
        while let [setting, rest @ ..] = left {
            let (m, b) = setting.in_word();
            (mask, bits) = (mask | m, bits & !m | b);
            left = rest;
        }
        Change {
            reg: self.any(),
            mask,
            bits,
        }
    }
}

impl<R: Register> Default for Reg<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Register> From<Reg<R>> for AnyReg {
    fn from(reg: Reg<R>) -> Self {
        reg.any()
    }
}

impl<R: Register> fmt::Debug for Reg<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any().fmt(f)
    }
}

/// The value of a register.
pub struct Value<R: ?Sized> {
    bits: u32,
    _of: PhantomData<fn(&R)>,
}

impl<R: ?Sized> Clone for Value<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: ?Sized> Copy for Value<R> {}

impl<R: ?Sized> PartialEq for Value<R> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}
impl<R: ?Sized> Eq for Value<R> {}

impl<R: ?Sized> Value<R> {
    /// All bits zero.
    pub const fn zeroed() -> Self {
        Self::new(0)
    }

    /// All bits at once.
    pub const fn new(bits: u32) -> Self {
        Self {
            bits,
            _of: PhantomData,
        }
    }

    /// All bits at once.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// The value of a field.
    pub const fn get<const W: u32>(self, field: Field<R, W>) -> u32 {
        (self.bits & mask_of(field.bit() as u8, field.width())) >> field.bit()
    }

    /// A field of one bit is set.
    pub const fn is_set(self, field: Field<R, 1>) -> bool {
        self.get(field) == 1
    }

    /// A field has this value: `.has(X::FIELD.is::<5>())`.
    pub const fn has(self, setting: Setting<R>) -> bool {
        let (mask, bits) = setting.in_word();
        self.bits & mask == bits
    }

    /// The value with a field set.
    pub fn with<const W: u32>(self, field: Field<R, W>, value: Fit<W>) -> Self
    where
        Bits<W>: Width,
    {
        self.having(field.to(value))
    }

    /// The value with a field set to a number, if that fits.
    pub const fn try_with<const W: u32>(self, field: Field<R, W>, value: u64) -> Option<Self> {
        match field.try_to(value) {
            Some(setting) => Some(self.having(setting)),
            None => None,
        }
    }

    /// The value with a field that was given its value: `.having(X::FIELD.is::<5>())`.
    pub const fn having(self, setting: Setting<R>) -> Self {
        let (mask, bits) = setting.in_word();
        Self::new(self.bits & !mask | bits)
    }
}

impl<R: ?Sized> From<u32> for Value<R> {
    fn from(bits: u32) -> Self {
        Self::new(bits)
    }
}

impl<R: Register> fmt::Debug for Value<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:#x}", R::INFO.reg.name, self.bits)?;
        for field in R::INFO.fields {
            let value = field.get(&[self.bits]);
            if value != 0 {
                write!(f, " {}={:#x}", field.name, value)?;
            }
        }
        Ok(())
    }
}

/// A register without its type: for tables over registers of several types, and for whole words.
/// Only a [`Reg`] makes one, and the generated tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AnyReg {
    /// The vendor's name.
    pub name: &'static str,
    /// The IP block.
    pub block: Block,
    /// Index into the block's base addresses.
    pub segment: u8,
    /// Offset from that base, in 32-bit words.
    pub offset: u32,
}

impl AnyReg {
    /// The register `index * stride` words further on, of an array of registers that are alike.
    pub const fn at(self, index: u32, stride: u32) -> Self {
        Self {
            offset: self.offset.wrapping_add(index.wrapping_mul(stride)),
            ..self
        }
    }
}

/// A field of `W` bits and its register, without the register's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnyField<const W: u32> {
    reg: AnyReg,
    lo: u8,
}

impl<const W: u32> AnyField<W> {
    /// The register.
    pub const fn reg(self) -> AnyReg {
        self.reg
    }

    /// The same field of the register `index * stride` words further on.
    pub const fn at(self, index: u32, stride: u32) -> Self {
        Self {
            reg: self.reg.at(index, stride),
            ..self
        }
    }

    /// The field's bits, in place.
    pub const fn mask(self) -> u32 {
        mask_of(self.lo, W as u8)
    }

    /// The field's value in the value `bits` of the register.
    pub const fn get(self, bits: u32) -> u32 {
        (bits & self.mask()) >> self.lo
    }

    /// The value `bits` of the register with the field set.
    pub fn set(self, bits: u32, value: Fit<W>) -> u32
    where
        Bits<W>: Width,
    {
        bits & !self.mask() | ((value.into() as u32) << self.lo)
    }
}

/// Some fields of a register with their values, without the register's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    reg: AnyReg,
    mask: u32,
    bits: u32,
}

impl Change {
    /// The register.
    pub const fn reg(self) -> AnyReg {
        self.reg
    }

    /// The same change to the register `index * stride` words further on.
    pub const fn at(self, index: u32, stride: u32) -> Self {
        Self {
            reg: self.reg.at(index, stride),
            ..self
        }
    }

    /// The value `bits` of the register with the change.
    pub const fn apply(self, bits: u32) -> u32 {
        bits & !self.mask | self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::super::gc_9_4_3::{self as gc, CP_HQD_PQ_CONTROL as Pq};
    use super::super::TABLES;
    use super::*;

    #[test]
    fn a_field_changes_its_own_bits_only() {
        let ones = Value::<Pq>::new(u32::MAX);
        let value = ones.having(Pq::QUEUE_SIZE.is::<0>());
        assert_eq!(value.bits(), !0x3f);
        assert_eq!(value.get(Pq::QUEUE_SIZE), 0);
        assert_eq!(value.with(Pq::PRIV_STATE, false).bits(), !0x4000_003f);
        assert!(value.is_set(Pq::PRIV_STATE));
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused() {
        let zero = Value::<Pq>::zeroed();
        assert_eq!(zero.try_with(Pq::QUEUE_SIZE, 64), None);
        let most = zero.try_with(Pq::QUEUE_SIZE, 63);
        assert_eq!(most.map(Value::bits), Some(63));
    }

    #[test]
    fn a_change_is_what_its_settings_are_in_order() {
        const CHANGE: Change = gc::CP_HQD_PQ_CONTROL.change(&[
            Pq::QUEUE_SIZE.is::<5>(),
            Pq::PRIV_STATE.is::<1>(),
            Pq::QUEUE_SIZE.is::<2>(),
        ]);
        assert_eq!(CHANGE.apply(0x8000_003f), 0xc000_0002);
        assert_eq!(CHANGE.reg(), gc::CP_HQD_PQ_CONTROL.any());
    }

    #[test]
    fn a_field_of_a_table_is_the_register_s_own() {
        const SIZE: AnyField<6> = gc::CP_HQD_PQ_CONTROL.field(Pq::QUEUE_SIZE);
        let value = SIZE.set(u32::MAX, Fit::<6>::new::<4>());
        assert_eq!((value, SIZE.get(value)), (!0x3b, 4));
        assert_eq!(SIZE.at(2, 3).reg().offset, SIZE.reg().offset + 6);
    }

    #[test]
    fn fields_of_a_register_do_not_overlap_their_end() {
        for info in TABLES.iter().flat_map(|table| table.regs) {
            for field in info.fields {
                let end = field.bit + u16::from(field.width);
                assert!(end <= 32, "{}.{}", info.reg.name, field.name);
            }
            assert!(info.fields.is_empty() == (info.known_bits() == 0));
        }
    }
}
