// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers: one generated table per IP block and version.
//!
//! A register's place is a segment of its IP block plus an offset, both in 32-bit words; where
//! the segment lies is in the chip's discovery table ([`super::discovery`]), so no absolute
//! address stands here. Names keep the vendor's capitals: each register is a constant of type
//! [`Reg`], and a type of the same name, which its fields and its values belong to.
//!
//! ```
//! use rkfd_hw::regs::{gc_9_4_3 as gc, Value};
//! use gc::CP_HQD_PQ_CONTROL as Pq;
//!
//! let value = Value::<Pq>::zeroed()
//!     .with(Pq::PRIV_STATE, true)
//!     .having(Pq::QUEUE_SIZE.is::<9>());
//! assert_eq!((value.bits(), value.get(Pq::QUEUE_SIZE)), (0x4000_0009, 9));
//! assert_eq!(value.try_with(Pq::QUEUE_SIZE, 64), None);
//! ```
//!
//! A driver's `regs.update(gc::CP_HQD_PQ_CONTROL, |v| v.with(Pq::PRIV_STATE, true))` is a
//! read-modify-write in one call.
//!
//! ```compile_fail
//! use rkfd_hw::regs::{gc_9_4_3 as gc, Value};
//! // A field of another register.
//! let _ = Value::<gc::CP_HQD_PQ_CONTROL>::zeroed().with(gc::CP_HQD_ACTIVE::ACTIVE, true);
//! ```
//!
//! ```compile_fail
//! use rkfd_hw::regs::{gc_9_4_3 as gc, Value};
//! // 64 has seven bits, the field six.
//! let _ = Value::<gc::CP_HQD_PQ_CONTROL>::zeroed()
//!     .having(gc::CP_HQD_PQ_CONTROL::QUEUE_SIZE.is::<64>());
//! ```
//!
//! ```compile_fail
//! use rkfd_hw::regs::{gc_9_4_3 as gc, Value};
//! // A number that may have 32 bits, for a field of six.
//! let size: u32 = 9;
//! let _ = Value::<gc::CP_HQD_PQ_CONTROL>::zeroed()
//!     .with(gc::CP_HQD_PQ_CONTROL::QUEUE_SIZE, size);
//! ```
//!
//! ```compile_fail
//! use rkfd_hw::regs::{gc_9_4_3 as gc, Reg, Register, Value};
//! fn write<R: Register>(_: Reg<R>, _: Value<R>) {}
//! // Another register's value.
//! write(gc::CP_HQD_ACTIVE, Value::<gc::CP_HQD_VMID>::zeroed());
//! ```

#![expect(
    non_camel_case_types,
    non_upper_case_globals,
    reason = "registers and fields have the vendor's names"
)]

#[rustfmt::skip]
pub mod athub_1_8_0;
#[rustfmt::skip]
pub mod athub_4_1_0;
#[rustfmt::skip]
pub mod gc_12_0_0;
#[rustfmt::skip]
pub mod gc_9_4_3;
#[rustfmt::skip]
pub mod hdp_4_4_2;
#[rustfmt::skip]
pub mod hdp_7_0_0;
#[rustfmt::skip]
pub mod mmhub_1_8_0;
#[rustfmt::skip]
pub mod mmhub_4_1_0;
#[rustfmt::skip]
pub mod mp1_13_0_6;
#[rustfmt::skip]
pub mod mp1_14_0_2;
#[rustfmt::skip]
pub mod mp1_public;
#[rustfmt::skip]
pub mod mp1_public_14;
#[rustfmt::skip]
pub mod mp_13_0_6;
#[rustfmt::skip]
pub mod mp_14_0_2;
#[rustfmt::skip]
pub mod nbif_6_3_1;
#[rustfmt::skip]
pub mod nbio_7_9_0;
#[rustfmt::skip]
pub mod osssys_4_4_2;
#[rustfmt::skip]
pub mod osssys_7_0_0;
#[rustfmt::skip]
pub mod sdma_4_4_2;
#[rustfmt::skip]
pub mod smuio_13_0_3;
#[rustfmt::skip]
pub mod smuio_14_0_2;
#[rustfmt::skip]
pub mod sq_12_0_0;
#[rustfmt::skip]
pub mod sq_9_4_3;
#[rustfmt::skip]
pub mod thm_14_0_2;

mod register;

pub use register::{AnyField, AnyReg, Change, Reg, RegInfo, Register, Table, Value};

/// The IP blocks whose registers are described here, by their discovery hardware id.
///
/// Source: Linux, `include/soc15_hw_ip.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum Block {
    /// System management unit.
    Mp1 = 1,
    /// Thermal monitor.
    Thm = 3,
    /// System management I/O: what the package is.
    Smuio = 4,
    /// Graphics core.
    Gc = 11,
    /// Multimedia hub.
    Mmhub = 34,
    /// Address translation hub.
    Athub = 35,
    /// OS services: the interrupt handler.
    Osssys = 40,
    /// Host data path.
    Hdp = 41,
    /// An SDMA engine of gfx9; those of later chips are in the graphics core's range.
    Sdma = 42,
    /// North-bridge I/O.
    Nbio = 108,
    /// Security processor.
    Mp0 = 255,
}

macro_rules! regs {
    ($header:literal $block:ident $( $reg:ident $seg:literal $offset:literal { $( $f:ident $hi:literal $lo:literal ; )* } )*) => {
        $(
            #[doc = stringify!($reg)]
            pub enum $reg {}
            impl $reg {
                $(
                    #[doc = stringify!($f)]
                    pub const $f: super::super::layout::Field<Self, { $hi - $lo + 1 }> =
                        super::super::layout::Field::new(0, $lo);
                )*
            }
            impl Register for $reg {
                const INFO: RegInfo = RegInfo {
                    reg: AnyReg {
                        name: stringify!($reg),
                        block: Block::$block,
                        segment: $seg,
                        offset: $offset,
                    },
                    fields: &[ $( super::super::layout::FieldInfo {
                        name: stringify!($f),
                        bit: $lo,
                        width: $hi - $lo + 1,
                        c: "",
                    }, )* ],
                };
            }
            #[doc = stringify!($reg)]
            pub const $reg: Reg<$reg> = Reg::new();
        )*
        /// All registers of this table.
        pub const TABLE: Table = Table {
            header: $header,
            regs: &[ $( <$reg as Register>::INFO, )* ],
        };
    };
}
use regs;

/// Tables of registers that another register's index chooses: their offsets are that index, and they have no
/// segment. Linux's headers name them `ix` and not `reg`.
pub const INDEXED_TABLES: &[&Table] = &[&sq_12_0_0::TABLE, &sq_9_4_3::TABLE];

/// All tables that Linux has a header for, of registers that have an address.
pub const TABLES: &[&Table] = &[
    &athub_1_8_0::TABLE,
    &athub_4_1_0::TABLE,
    &gc_12_0_0::TABLE,
    &gc_9_4_3::TABLE,
    &hdp_4_4_2::TABLE,
    &hdp_7_0_0::TABLE,
    &mmhub_1_8_0::TABLE,
    &mmhub_4_1_0::TABLE,
    &mp1_13_0_6::TABLE,
    &mp1_14_0_2::TABLE,
    &mp_13_0_6::TABLE,
    &mp_14_0_2::TABLE,
    &nbif_6_3_1::TABLE,
    &nbio_7_9_0::TABLE,
    &osssys_4_4_2::TABLE,
    &osssys_7_0_0::TABLE,
    &sdma_4_4_2::TABLE,
    &smuio_13_0_3::TABLE,
    &smuio_14_0_2::TABLE,
    &thm_14_0_2::TABLE,
];
