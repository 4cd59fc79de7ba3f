// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a layout is described: a run of words and the named bits in it.
//!
//! A layout is declared as a table, one line per field: the 32-bit word it starts in, the bits
//! `[high:low]` counted from that word's bit 0 (up to 63 for a field of two words), and the name
//! of the same field in the C header the layout was read from. From the table come the typed
//! accessors and [`Layout::FIELDS`], which the ABI test walks.

use core::marker::PhantomData;

/// A bit field of the layout `T`: `width` bits from bit `bit` of the layout's first word.
pub struct Field<T: ?Sized> {
    /// Number of the first bit, counted from the start of the layout.
    pub bit: u16,
    /// Width in bits, 1 to 64.
    pub width: u8,
    _of: PhantomData<fn(&T)>,
}

impl<T: ?Sized> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for Field<T> {}

impl<T: ?Sized> Field<T> {
    /// The field in bits `[hi:lo]` counted from bit 0 of word `word`.
    pub const fn new(word: u16, hi: u8, lo: u8) -> Self {
        Self {
            bit: word * 32 + lo as u16,
            width: hi - lo + 1,
            _of: PhantomData,
        }
    }

    /// The field that a line of the table describes.
    pub const fn of(info: &FieldInfo) -> Self {
        Self {
            bit: info.bit,
            width: info.width,
            _of: PhantomData,
        }
    }

    /// The largest value the field holds.
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - self.width as u32)
    }

    /// The field's 32-bit word and its shift there.
    pub const fn word(self) -> usize {
        (self.bit / 32) as usize
    }

    /// Reads the field. Words beyond the end of `words` read as zero.
    pub fn get(self, words: &[u32]) -> u64 {
        let at = |i: usize| u128::from(words.get(self.word() + i).copied().unwrap_or(0));
        let all = at(0) | (at(1) << 32) | (at(2) << 64);
        (all >> (self.bit % 32)) as u64 & self.max()
    }

    /// Writes the field. Bits of `value` above the field's width are dropped, as hardware does;
    /// words beyond the end of `words` are not written.
    pub fn set(self, words: &mut [u32], value: u64) {
        let shift = self.bit % 32;
        let mask = u128::from(self.max()) << shift;
        let bits = (u128::from(value) << shift) & mask;
        for (i, word) in words.iter_mut().skip(self.word()).take(3).enumerate() {
            let keep = !((mask >> (32 * i)) as u32);
            *word = (*word & keep) | (bits >> (32 * i)) as u32;
        }
    }
}

/// One line of a layout's table, for printing and for the ABI test.
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
/// `use super::layout::*;`.
macro_rules! layout {
    ($( $(#[$m:meta])* pub struct $name:ident : [u32; $n:literal] = $c:literal {
        $( $(#[$fm:meta])* $f:ident : $word:literal [ $hi:literal : $lo:literal ] = $fc:literal ; )*
    } )*) => { $(
        $(#[$m])*
        #[repr(C)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub [u32; $n]);

        #[allow(missing_docs)]
        impl $name {
            $( $(#[$fm])* pub const $f: Field<Self> = Field::new($word, $hi, $lo); )*
        }

        #[allow(dead_code)]
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
            pub fn get(&self, field: Field<Self>) -> u64 {
                field.get(&self.0)
            }

            /// Sets a field.
            pub fn set(&mut self, field: Field<Self>, value: u64) {
                field.set(&mut self.0, value)
            }

            /// The layout with a field set: for building one in an expression.
            pub fn with(mut self, field: Field<Self>, value: u64) -> Self {
                self.set(field, value);
                self
            }

            /// The first word that has bits set which no field of the table covers.
            ///
            /// A strict reader refuses such a word: hardware reserves those bits.
            pub fn reserved_word(&self) -> Option<usize> {
                let mut rest = *self;
                $( rest.set(Self::$f, 0); )*
                rest.0.iter().position(|&word| word != 0)
            }
        }

        impl Layout for $name {
            const NAME: &'static str = stringify!($name);
            const C: &'static str = $c;
            const WORDS: usize = $n;
            const FIELDS: &'static [FieldInfo] = &[ $( FieldInfo {
                name: stringify!($f),
                bit: Self::$f.bit,
                width: Self::$f.width,
                c: $fc,
            }, )* ];
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}", Self::NAME)?;
                for field in Self::FIELDS {
                    let value = Field::<Self>::of(field).get(&self.0);
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

    layout! {
        /// Fields in every position: inside a word, over two words, at the end.
        pub struct Sample: [u32; 3] = "" {
            LOW: 0[3:0] = "";
            ACROSS: 0[35:28] = "";
            WIDE: 1[63:8] = "";
        }
    }

    #[test]
    fn a_field_touches_its_own_bits_only() {
        for (field, words) in [
            (Sample::LOW, [0xf, 0, 0]),
            (Sample::ACROSS, [0xf000_0000, 0xf, 0]),
            (Sample::WIDE, [0, 0xffff_ff00, 0xffff_ffff]),
        ] {
            assert_eq!(Sample::zeroed().with(field, u64::MAX).0, words);
            let mut full = Sample([u32::MAX; 3]);
            full.set(field, 0);
            assert_eq!(full.0, words.map(|word: u32| !word));
            assert_eq!(Sample(words).get(field), field.max());
        }
    }

    #[test]
    fn bits_without_a_field_are_reserved() {
        let all = Sample::zeroed()
            .with(Sample::LOW, 15)
            .with(Sample::ACROSS, 255)
            .with(Sample::WIDE, u64::MAX);
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
        Sample::WIDE.set(&mut words, u64::MAX);
        assert_eq!(words, [7]);
    }
}
