// SPDX-License-Identifier: MIT OR Apache-2.0

//! Offsets at which the parts of `/dev/kfd` are mapped.
//!
//! | bits | meaning |
//! |---|---|
//! | 63:62 | kind |
//! | 61:46 | GPU id |
//! | 45:0 | byte offset within the part |
//!
//! A user program gives the offset in bytes to `mmap`; the kernel sees it in pages.

const KIND_SHIFT: u32 = 62;
const GPU_ID_SHIFT: u32 = 46;
const GPU_ID_MASK: u64 = 0xffff << GPU_ID_SHIFT;
const OFFSET_MASK: u64 = (1 << GPU_ID_SHIFT) - 1;

/// Bytes of a process' slice of a GPU's doorbells: 1,024 doorbells of 64 bits. A mapping covers
/// the whole slice.
pub const DOORBELL_SLICE: usize = 8192;

/// What is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// The page of remapped registers, for flushing the host data path.
    Mmio = 0,
    /// Memory that the driver reserves for saved waves; APUs only.
    ReservedMem = 1,
    /// The signal page; refused by current kernels, where the user program supplies it.
    Events = 2,
    /// The process' doorbells on a GPU.
    Doorbell = 3,
}

/// An offset taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offset {
    /// What is mapped.
    pub kind: Kind,
    /// The GPU: only 16 bits of its id fit.
    pub gpu_id: u16,
    /// Bytes within the part, below 2^46.
    pub offset: u64,
}

impl Offset {
    /// Takes an offset in bytes apart. Every value means something.
    pub const fn parse(bytes: u64) -> Self {
        Self {
            kind: match bytes >> KIND_SHIFT {
                0 => Kind::Mmio,
                1 => Kind::ReservedMem,
                2 => Kind::Events,
                _ => Kind::Doorbell,
            },
            gpu_id: ((bytes & GPU_ID_MASK) >> GPU_ID_SHIFT) as u16,
            offset: bytes & OFFSET_MASK,
        }
    }

    /// The offset in bytes. Bits of `offset` from 46 on are dropped.
    pub const fn bits(self) -> u64 {
        ((self.kind as u64) << KIND_SHIFT)
            | ((self.gpu_id as u64) << GPU_ID_SHIFT)
            | self.offset & OFFSET_MASK
    }
}

/// The offset in bytes of a doorbell: what CREATE_QUEUE returns.
pub const fn doorbell(gpu_id: u32, byte_in_slice: u64) -> u64 {
    Offset {
        kind: Kind::Doorbell,
        gpu_id: gpu_id as u16,
        offset: byte_in_slice,
    }
    .bits()
}

/// Splits a doorbell's offset into the offset to map the slice at and the byte within the slice.
pub const fn doorbell_slice(offset: u64) -> (u64, usize) {
    const WITHIN: u64 = DOORBELL_SLICE as u64 - 1;
    (offset & !WITHIN, (offset & WITHIN) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_round_trip() {
        for bits in [
            0,
            1 << 62,
            2 << 62,
            3 << 62,
            u64::MAX,
            0xc123_4567_89ab_cdef,
        ] {
            assert_eq!(Offset::parse(bits).bits(), bits);
        }
        let offset = doorbell(0xabcd, 0x18);
        assert_eq!(offset, (3 << 62) | (0xabcd << 46) | 0x18);
        assert_eq!(doorbell_slice(offset), ((3 << 62) | (0xabcd << 46), 0x18));
    }
}
