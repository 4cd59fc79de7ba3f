// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a layout is described: a run of words and the named bits in it.
//!
//! A layout is declared as a table, one line per field: the 32-bit word it starts in, the bits
//! `[high:low]` counted from that word's bit 0 (up to 63 for a field of two words), and the name
//! of the same field in the C header the layout was read from. From the table come the typed
//! accessors and [`Layout::FIELDS`], which the ABI test walks.
//!
//! A field knows its layout and its width, so it can't be used with another layout, and takes only
//! values that fit it ([`super::value`]):
//!
//! ```
//! use rkfd_hw::pm4::commands::WriteData;
//!
//! let packet = WriteData::zeroed()
//!     .with(WriteData::ADDR_INCR, true)       // 1 bit: a bool
//!     .with(WriteData::ADDR, 0x1_0000_0000)   // 64 bits: a u64
//!     .having(WriteData::DST_SEL.is::<5>());  // 4 bits: a constant that fits
//! assert_eq!(packet.get(WriteData::DST_SEL), 5);
//! assert!(packet.try_with(WriteData::DST_SEL, 16).is_none());
//! ```
//!
//! ```compile_fail
//! use rkfd_hw::pm4::commands::{WaitRegMem, WriteData};
//! // A field of another layout.
//! let _ = WriteData::zeroed().get(WaitRegMem::FUNCTION);
//! ```
//!
//! ```compile_fail
//! use rkfd_hw::pm4::commands::WriteData;
//! // 16 has five bits, the field four.
//! let _ = WriteData::zeroed().having(WriteData::DST_SEL.is::<16>());
//! ```
//!
//! ```compile_fail
//! use rkfd_hw::pm4::commands::WriteData;
//! // A number that may have 32 bits, for a field of four.
//! let to: u32 = 2;
//! let _ = WriteData::zeroed().with(WriteData::DST_SEL, to);
//! ```

use core::marker::PhantomData;

pub use super::value::{Bits, Fit, Setting, Width};

/// A bit field of the layout or register `T`, `W` bits wide (1 to 64).
pub struct Field<T: ?Sized, const W: u32> {
    /// Number of the first bit, counted from the start of the layout.
    bit: u16,
    _of: PhantomData<fn(&T)>,
}

impl<T: ?Sized, const W: u32> Clone for Field<T, W> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized, const W: u32> Copy for Field<T, W> {}

impl<T: ?Sized, const W: u32> Field<T, W> {
    /// As many ones as the field has bits.
    const ONES: u64 = ones(W);

    /// The field from bit `lo` of word `word` on.
    pub const fn new(word: u16, lo: u8) -> Self {
        const { assert!(W >= 1 && W <= 64, "a field has 1 to 64 bits") };
        Self {
            bit: word.saturating_mul(32).saturating_add(lo as u16),
            _of: PhantomData,
        }
    }

    /// Number of the first bit, counted from the start of the layout.
    pub const fn bit(self) -> u16 {
        self.bit
    }

    /// Width in bits.
    pub const fn width(self) -> u8 {
        W as u8
    }

    /// The largest value the field holds.
    pub const fn max(self) -> u64 {
        Self::ONES
    }

    /// The field's 32-bit word.
    pub const fn word(self) -> usize {
        (self.bit / 32) as usize
    }

    /// The field's bits, in place, of what is a single word.
    pub const fn mask(self) -> u32 {
        (Self::ONES << (self.bit % 32)) as u32
    }

    /// The field with the value `V`, which is checked to fit when the program is compiled.
    pub const fn is<const V: u64>(self) -> Setting<T> {
        const { assert!(V <= u64::MAX >> (64 - W), "the value doesn't fit the field") };
        Setting::new(self.bit, W as u8, V)
    }

    /// The field with a value.
    pub fn to(self, value: Fit<W>) -> Setting<T>
    where
        Bits<W>: Width,
    {
        Setting::new(self.bit, W as u8, value.into())
    }

    /// The field with a value, if that fits.
    pub const fn try_to(self, value: u64) -> Option<Setting<T>> {
        if value > self.max() {
            return None;
        }
        Some(Setting::new(self.bit, W as u8, value))
    }

    /// Reads the field. Words beyond the end of `words` read as zero.
    pub fn get(self, words: &[u32]) -> u64 {
        read(self.bit, W as u8, words)
    }

    /// Writes the field. Words beyond the end of `words` are not written.
    pub fn put(self, words: &mut [u32], value: Fit<W>)
    where
        Bits<W>: Width,
    {
        write(self.bit, W as u8, words, value.into())
    }
}

/// So many ones, from 1 to 64.
pub(super) const fn ones(width: u32) -> u64 {
    u64::MAX.wrapping_shr(64u32.wrapping_sub(width))
}

/// Reads `width` bits from bit `bit` on.
pub(super) fn read(bit: u16, width: u8, words: &[u32]) -> u64 {
    let first = usize::from(bit / 32);
    let at = |i: usize| u128::from(words.get(first.wrapping_add(i)).copied().unwrap_or(0));
    let all = at(0) | (at(1) << 32) | (at(2) << 64);
    (all >> (bit % 32)) as u64 & ones(width.into())
}

/// Writes `width` bits from bit `bit` on: the field's value, which callers have checked to fit.
pub(super) fn write(bit: u16, width: u8, words: &mut [u32], value: u64) {
    let first = usize::from(bit / 32);
    let mask = u128::from(ones(width.into())) << (bit % 32);
    let bits = (u128::from(value) << (bit % 32)) & mask;
    for (word, at) in words.iter_mut().skip(first).zip([0, 32, 64]) {
        let keep = !((mask >> at) as u32);
        *word = (*word & keep) | (bits >> at) as u32;
    }
}

/// One line of a layout's table, for printing and for the ABI test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldInfo {
    /// The field's name here.
    pub name: &'static str,
    /// First bit, counted from the start of the layout.
    pub bit: u16,
    /// Width in bits.
    pub width: u8,
    /// The C member or members, lowest bits first, joined by `+`.
    pub c: &'static str,
}

impl FieldInfo {
    /// Reads the field that the line describes. Words beyond the end of `words` read as zero.
    pub fn get(&self, words: &[u32]) -> u64 {
        read(self.bit, self.width, words)
    }

    /// Sets the field's bits to zero.
    pub fn clear(&self, words: &mut [u32]) {
        write(self.bit, self.width, words, 0)
    }
}

/// A described layout.
pub trait Layout: Sized {
    /// Name of the type here.
    const NAME: &'static str;
    /// The C type that it must agree with.
    const C: &'static str;
    /// Size in 32-bit words.
    const WORDS: usize;
    /// The fields, in order of declaration.
    const FIELDS: &'static [FieldInfo];
}

/// A layout by name, size and fields: what the ABI test iterates over.
pub struct LayoutInfo {
    /// Name of the type here.
    pub name: &'static str,
    /// The C type that it must agree with.
    pub c: &'static str,
    /// Size in 32-bit words.
    pub words: usize,
    /// The fields.
    pub fields: &'static [FieldInfo],
}

impl LayoutInfo {
    /// The table of `T`.
    pub const fn of<T: Layout>() -> Self {
        Self {
            name: T::NAME,
            c: T::C,
            words: T::WORDS,
            fields: T::FIELDS,
        }
    }
}

/// Declares layouts: see the module's documentation. The file that uses it has
/// `use super::layout::*;`. Fields may stand in several blocks: those that all generations of a
/// layout have in common, and a generation's own.
macro_rules! layout {
    ($( $(#[$m:meta])* pub struct $name:ident : [u32; $n:literal] = $c:literal $( {
        $( $(#[$fm:meta])* $f:ident : $word:literal [ $hi:literal : $lo:literal ] = $fc:literal ; )*
    } )+ )*) => { $(
        $(#[$m])*
        #[repr(C)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub [u32; $n]);

        impl $name {
            $( $(
                #[doc = concat!("`", stringify!($f), "`:")]
                $(#[$fm])*
                pub const $f: Field<Self, { $hi - $lo + 1 }> = Field::new($word, $lo);
            )* )+
        }

        #[allow(dead_code)] // not in every expansion
        impl $name {
            /// All words zero.
            pub const fn zeroed() -> Self {
                Self([0; $n])
            }

            /// Reads the layout from the first words of `words`, or `None` when they are too few.
            pub fn read(words: &[u32]) -> Option<Self> {
                Some(Self(words.get(..$n)?.try_into().ok()?))
            }

            /// The value of a field.
            pub fn get<const W: u32>(&self, field: Field<Self, W>) -> u64 {
                field.get(&self.0)
            }

            /// A field of one bit is set.
            pub fn is_set(&self, field: Field<Self, 1>) -> bool {
                field.get(&self.0) == 1
            }

            /// A field has this value: `.has(X::FIELD.is::<5>())`.
            pub fn has(&self, setting: Setting<Self>) -> bool {
                setting.is_in(&self.0)
            }

            /// Sets a field.
            pub fn set<const W: u32>(&mut self, field: Field<Self, W>, value: Fit<W>)
            where
                Bits<W>: Width,
            {
                field.put(&mut self.0, value)
            }

            /// The layout with a field set: for building one in an expression.
            pub fn with<const W: u32>(mut self, field: Field<Self, W>, value: Fit<W>) -> Self
            where
                Bits<W>: Width,
            {
                self.set(field, value);
                self
            }

            /// The layout with a field set to a value, if that fits.
            pub fn try_with<const W: u32>(self, field: Field<Self, W>, value: u64) -> Option<Self> {
                Some(self.having(field.try_to(value)?))
            }

            /// The layout with a field that was given its value: `.having(X::FIELD.is::<5>())`.
            pub fn having(mut self, setting: Setting<Self>) -> Self {
                self.put(setting);
                self
            }

            /// Sets a field that was given its value: `.put(X::FIELD.is::<5>())`.
            pub fn put(&mut self, setting: Setting<Self>) {
                setting.store(&mut self.0)
            }

            /// The first word that has bits set which no field of the table covers.
            ///
            /// A strict reader refuses such a word: hardware reserves those bits.
            pub fn reserved_word(&self) -> Option<usize> {
                let mut rest = *self;
                for field in Self::FIELDS {
                    field.clear(&mut rest.0);
                }
                rest.0.iter().position(|&word| word != 0)
            }
        }

        impl Layout for $name {
            const NAME: &'static str = stringify!($name);
            const C: &'static str = $c;
            const WORDS: usize = $n;
            const FIELDS: &'static [FieldInfo] = &[ $( $( FieldInfo {
                name: stringify!($f),
                bit: Self::$f.bit(),
                width: Self::$f.width(),
                c: $fc,
            }, )* )+ ];
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}", Self::NAME)?;
                for field in Self::FIELDS {
                    let value = field.get(&self.0);
                    if value != 0 {
                        write!(f, " {}={:#x}", field.name, value)?;
                    }
                }
                Ok(())
            }
        }
    )* };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Bounded;

    layout! {
        /// Fields in every position: inside a word, over two words, at the end.
        pub struct Sample: [u32; 3] = "" {
            LOW: 0[3:0] = "";
            ACROSS: 0[35:28] = "";
        } {
            WIDE: 1[63:8] = "";
        }
    }

    #[test]
    fn a_field_touches_its_own_bits_only() {
        fn check<const W: u32>(field: Field<Sample, W>, words: [u32; 3]) {
            let all = Sample::zeroed().try_with(field, field.max());
            assert_eq!(all.map(|sample| sample.0), Some(words));
            let none = Sample([u32::MAX; 3]).try_with(field, 0);
            assert_eq!(none.map(|s| s.0), Some(words.map(|word: u32| !word)));
            assert_eq!(Sample(words).get(field), field.max());
        }
        check(Sample::LOW, [0xf, 0, 0]);
        check(Sample::ACROSS, [0xf000_0000, 0xf, 0]);
        check(Sample::WIDE, [0, 0xffff_ff00, 0xffff_ffff]);
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused() {
        let sample = Sample::zeroed().with(Sample::ACROSS, 0x5a);
        assert_eq!(sample.try_with(Sample::LOW, 16), None);
        assert_eq!(sample.try_with(Sample::ACROSS, 256), None);
        assert_eq!(sample.try_with(Sample::WIDE, 1 << 56), None);
        let low = Bounded::try_new(15).expect("15 has four bits");
        assert_eq!(sample.with(Sample::LOW, low).get(Sample::LOW), 15);
        let five = sample.having(Sample::LOW.is::<5>());
        assert_eq!((five.get(Sample::LOW), five.get(Sample::ACROSS)), (5, 0x5a));
    }

    #[test]
    fn bits_without_a_field_are_reserved() {
        let all = Sample::zeroed()
            .having(Sample::LOW.is::<15>())
            .with(Sample::ACROSS, 255)
            .having(Sample::WIDE.is::<0xff_ffff_ffff_ffff>());
        assert_eq!(all.reserved_word(), None);
        let mut stray = all;
        stray.0[1] |= 0x10;
        assert_eq!(stray.reserved_word(), Some(1));
    }

    #[test]
    fn a_layout_is_read_from_enough_words_only() {
        assert_eq!(Sample::read(&[1, 2]), None);
        assert_eq!(Sample::read(&[1, 2, 3, 4]).map(|s| s.0), Some([1, 2, 3]));
    }

    #[test]
    fn a_field_beyond_the_slice_reads_zero_and_writes_nothing() {
        let mut words = [7];
        assert_eq!(Sample::WIDE.get(&words), 0);
        Sample::WIDE.put(&mut words, Bounded::default());
        assert_eq!(words, [7]);
    }
}
