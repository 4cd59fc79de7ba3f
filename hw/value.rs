// SPDX-License-Identifier: MIT OR Apache-2.0

//! Values of fields, which fit by construction.
//!
//! What a field of `W` bits takes follows from its width ([`Fit`]): a `bool` for one bit, `u8`,
//! `u16`, `u32` or `u64` where these have exactly its width, and a [`Bounded`] elsewhere. So no bit
//! is dropped silently, and nothing has to panic.

use super::layout::{ones, read, write};
use core::{marker::PhantomData, num::NonZero};

/// A number of at most `W` bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Bounded<const W: u32>(u64);

impl<const W: u32> Bounded<W> {
    /// The largest.
    pub const MAX: Self = Self(u64::MAX >> (64 - W));

    /// The number `V`, which is checked when the program is compiled.
    pub const fn new<const V: u64>() -> Self {
        const { assert!(V <= u64::MAX >> (64 - W), "the number has too many bits") };
        Self(V)
    }

    /// A number, if it has so few bits.
    pub const fn try_new(value: u64) -> Option<Self> {
        if value > Self::MAX.0 {
            return None;
        }
        Some(Self(value))
    }

    /// The low `W` bits of a number whose other bits belong elsewhere.
    pub const fn low_bits_of(value: u64) -> Self {
        Self(value & Self::MAX.0)
    }

    /// The numbers from this one to `last`, which is among them.
    pub fn through(self, last: Self) -> impl Iterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }

    /// The same number, where it may have more bits.
    pub const fn widened<const V: u32>(self) -> Bounded<V> {
        const { assert!(V >= W, "fewer bits could not hold it") };
        Bounded(self.0)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Bounded<5> {
    /// The logarithm of a number to base 2, rounded down.
    pub const fn log2_of(number: NonZero<u32>) -> Self {
        Self(number.ilog2() as u64) // Of a NonZero.
    }
}

impl Bounded<6> {
    /// The logarithm of a number to base 2, rounded down.
    pub const fn log2_of(number: NonZero<u64>) -> Self {
        Self(number.ilog2() as u64) // Of a NonZero.
    }
}

impl<const W: u32> From<Bounded<W>> for u64 {
    fn from(value: Bounded<W>) -> u64 {
        value.0
    }
}

impl<const W: u32> From<bool> for Bounded<W> {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

/// Numbers of a type fit fields of these widths.
macro_rules! fits {
    ($($int:ident: $($w:literal)*;)*) => {
        $($(
            impl From<$int> for Bounded<$w> {
                fn from(value: $int) -> Self {
                    Self(value.into())
                }
            }
        )*)*
    };
}
fits! {
    u8: 9 10 11 12 13 14 15 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 33 34 35 36 37 38 39 40
        41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63;
    u16: 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63;
    u32: 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62
        63;
}

/// Numbers of these widths fit a type.
macro_rules! fit_in {
    ($($int:ident: $($w:literal)*;)*) => {
        $($(
            impl From<Bounded<$w>> for $int {
                fn from(value: Bounded<$w>) -> Self {
                    // A number of at most that many bits.
                    value.0 as Self
                }
            }
        )*)*
    };
}
fit_in! {
    u8: 2 3 4 5 6 7;
    u16: 2 3 4 5 6 7 9 10 11 12 13 14 15;
    u32: 2 3 4 5 6 7 9 10 11 12 13 14 15 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31;
}

/// A width in bits.
pub enum Bits<const W: u32> {}

/// The widths that fields have: 1 to 64 bits.
pub trait Width {
    /// The type of values of exactly this width.
    type Value: Copy + Into<u64>;
}

/// The type of values of a field of `W` bits.
pub type Fit<const W: u32> = <Bits<W> as Width>::Value;

macro_rules! widths {
    ([$($b:literal)*] $($value:ident: $w:literal;)*) => {
        $(
            impl Width for Bits<$w> {
                type Value = $value;
            }
        )*
        $(
            impl Width for Bits<$b> {
                type Value = Bounded<$b>;
            }
        )*
    };
}
widths! {
    [2 3 4 5 6 7 9 10 11 12 13 14 15 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 33 34 35 36 37 38
     39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63]
    bool: 1;
    u8: 8;
    u16: 16;
    u32: 32;
    u64: 64;
}

/// A field of `T` and the value it gets: `X::FIELD.is::<5>()`, `X::FIELD.to(value)`.
pub struct Setting<T: ?Sized> {
    bit: u16,
    width: u8,
    value: u64,
    _of: PhantomData<fn(&T)>,
}

impl<T: ?Sized> Clone for Setting<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for Setting<T> {}

impl<T: ?Sized> Setting<T> {
    /// Only fields make settings, of values that fit.
    pub(super) const fn new(bit: u16, width: u8, value: u64) -> Self {
        Self {
            bit,
            width,
            value,
            _of: PhantomData,
        }
    }

    /// The words of a `T` have the value.
    pub(super) fn is_in(self, words: &[u32]) -> bool {
        read(self.bit, self.width, words) == self.value
    }

    /// Stores the value in the words of a `T`.
    pub(super) fn store(self, words: &mut [u32]) {
        write(self.bit, self.width, words, self.value)
    }

    /// The field's bits, and the value in its place: of what is a single word.
    pub(super) const fn in_word(self) -> (u32, u32) {
        let mask = ones(self.width as u32) << (self.bit % 32);
        (mask as u32, (self.value << (self.bit % 32)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_fit() {
        let all = (0..32).map(|bit| NonZero::new(1u32 << bit).expect("a bit is set"));
        for (bit, number) in all.enumerate() {
            assert_eq!(Bounded::<5>::log2_of(number).get(), bit as u64);
        }
        assert_eq!(Bounded::<5>::log2_of(NonZero::<u32>::MAX), Bounded::MAX);
        assert_eq!(Bounded::<6>::log2_of(NonZero::<u64>::MAX), Bounded::MAX);
        assert_eq!(
            Bounded::<6>::log2_of(NonZero::<u64>::MIN),
            Bounded::default()
        );
    }

    #[test]
    fn a_walk_ends_with_the_last() {
        let [three, five] = [Bounded::<4>::new::<3>(), Bounded::new::<5>()];
        assert!(three.through(five).map(Bounded::get).eq([3, 4, 5]));
        assert!(three.through(three).map(Bounded::get).eq([3]));
        assert_eq!(five.through(three).count(), 0);
        // The last number there is has none after it.
        assert_eq!(Bounded::<64>::MAX.through(Bounded::MAX).count(), 1);
    }
}
