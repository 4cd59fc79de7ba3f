// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a structure of the ABI is described: the `structs!` and `constants!` tables.
//!
//! One line per field gives its name here, its type and, where it differs, the C member's name
//! (`= "name"`); `= ""` marks a field that C leaves as implicit padding. From the table come the
//! `#[repr(C)]` structure and the rows that the ABI test compares with the C compiler's.

/// One field of a structure.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// The field's name here.
    pub name: &'static str,
    /// The C member's name, empty when C has only padding there.
    pub c: &'static str,
    /// Offset in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

/// One structure.
#[derive(Clone, Copy, Debug)]
pub struct StructInfo {
    /// The type's name here.
    pub name: &'static str,
    /// The C type, with its `struct` keyword.
    pub c: &'static str,
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// The fields, in order.
    pub fields: &'static [FieldInfo],
}

/// One constant, widened to 64 bits.
#[derive(Clone, Copy, Debug)]
pub struct ConstInfo {
    /// The C macro or enumerator.
    pub c: &'static str,
    /// Its value.
    pub value: u64,
}

/// A structure of the ABI: integers only, no implicit padding.
pub trait Abi: Copy + 'static {
    /// Its table.
    const INFO: StructInfo;
}

/// Declares structures: see the module's documentation.
macro_rules! structs {
    ($( $(#[$m:meta])* pub struct $name:ident = $c:literal {
        $( $(#[$fm:meta])* $f:ident : $t:ty $(= $fc:literal)? , )*
    } )*) => {
        $(
            $(#[$m])*
            #[repr(C)]
            #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
            pub struct $name {
                $(
                    $(#[$fm])*
                    #[doc = concat!("`", structs!(@c $f $($fc)?), "` of `", $c, "`.")]
                    pub $f: $t,
                )*
            }

            // The sum of the fields is the size: there is no padding.
            const _: () = assert!(
                core::mem::size_of::<$name>() == 0 $( + core::mem::size_of::<$t>() )*
            );

            impl super::abi::Abi for $name {
                const INFO: super::abi::StructInfo = super::abi::StructInfo {
                    name: stringify!($name),
                    c: $c,
                    size: core::mem::size_of::<$name>(),
                    align: core::mem::align_of::<$name>(),
                    fields: &[ $( super::abi::FieldInfo {
                        name: stringify!($f),
                        c: structs!(@c $f $($fc)?),
                        offset: core::mem::offset_of!($name, $f),
                        size: core::mem::size_of::<$t>(),
                    }, )* ],
                };
            }
        )*

        /// The structures of this file.
        pub const STRUCTS: &[super::abi::StructInfo] =
            &[ $( <$name as super::abi::Abi>::INFO, )* ];
    };
    (@c $f:ident $fc:literal) => { $fc };
    (@c $f:ident) => { stringify!($f) };
}

/// Declares constants, one line each: name, type, value, C name.
macro_rules! constants {
    ($( $(#[$m:meta])* $name:ident : $t:ty = $v:expr , $c:literal ; )*) => {
        $(
            $(#[$m])*
            #[doc = concat!("`", $c, "`.")]
            pub const $name: $t = $v;
        )*

        /// The constants of this file.
        pub const CONSTANTS: &[super::abi::ConstInfo] =
            &[ $( super::abi::ConstInfo {
                c: $c,
                // Without the sign: the bits, as C compares them.
                value: match core::mem::size_of::<$t>() {
                    4 => $name as u32 as u64,
                    _ => $name as u64,
                },
            }, )* ];
    };
}
