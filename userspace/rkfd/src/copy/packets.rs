// SPDX-License-Identifier: MIT OR Apache-2.0

//! The packets of a copy, for both generations of SDMA.

use rkfd_hw::sdma::{atomic, op, sub_op, v4_4, v7_0, FILL_WORDS, HDP_FLUSH, MAX_BYTES};
use rkfd_hw::value::{Bounded, Setting};

use crate::signal::Completion;

/// What differs between generations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Generation {
    /// Bytes that a packet copies or fills at most, a multiple of 4.
    most: u64,
    /// The graphics caches lie between the engine and memory: they are written back and
    /// invalidated around a copy, and fences bypass them.
    caches: bool,
}

/// SDMA 4. The packets' headers document 22 bits of a count, as ROCr uses them.
const SDMA4: Generation = Generation {
    most: 0x3f_ffe0,
    caches: false,
};
/// SDMA 7.
const SDMA7: Generation = Generation {
    most: MAX_BYTES,
    caches: true,
};

/// MTYPE of a fence that no cache keeps (`SDMA_PKT_FENCE_HEADER_MTYPE(0x3)` in `sdma_v7_0.c`).
const UNCACHED: u64 = 3;
/// GCR_CONTROL: GL2_WB, GLK_WB; and with invalidation GL2_INV, GL1_INV, GLV_INV, GLK_INV (`sdma_v6_0_0_pkt_open.h`).
const WRITE_BACK: Setting<v7_0::GcrReq> =
    v7_0::GcrReq::GCR_CONTROL.is::<{ (1 << 15) | (1 << 6) }>();
const INVALIDATE: Setting<v7_0::GcrReq> = v7_0::GcrReq::GCR_CONTROL
    .is::<{ (1 << 15) | (1 << 6) | (1 << 14) | (1 << 9) | (1 << 8) | (1 << 7) }>();

impl Generation {
    /// The generation of a GPU, by its `gfx_target_version`.
    pub(crate) fn of(version: u32) -> Self {
        match version < 100_000 {
            true => SDMA4,
            false => SDMA7,
        }
    }

    /// What goes before a copy: what the CPU wrote is visible.
    pub(crate) fn before(self) -> Vec<u32> {
        let mut words = HDP_FLUSH.to_vec();
        if self.caches {
            words.extend(gcr(INVALIDATE));
        }
        words
    }

    /// What goes behind a copy: it is visible, and whoever waits is woken.
    pub(crate) fn after(self, c: &Completion) -> Vec<u32> {
        let mut words = Vec::new();
        if self.caches {
            words.extend(gcr(WRITE_BACK));
        }
        let decrement = v4_4::Atomic::zeroed()
            .with(v4_4::Atomic::OP, op::ATOMIC)
            .with(
                v4_4::Atomic::ATOMIC_OP,
                Bounded::new::<{ (atomic::ADD | atomic::WIDE) as u64 }>(),
            )
            .with(v4_4::Atomic::ADDR, c.value)
            .with(v4_4::Atomic::SRC_DATA, u64::MAX);
        words.extend(decrement.0);
        if c.mailbox != 0 {
            let fence = v7_0::Fence::zeroed()
                .with(v7_0::Fence::OP, op::FENCE)
                .having(if self.caches {
                    v7_0::Fence::MTYPE.is::<UNCACHED>()
                } else {
                    v7_0::Fence::MTYPE.is::<0>()
                })
                .with(v7_0::Fence::ADDR, c.mailbox)
                .with(v7_0::Fence::DATA, c.event);
            let trap = v4_4::Trap::zeroed().with(v4_4::Trap::OP, op::TRAP).with(
                v4_4::Trap::INT_CONTEXT,
                Bounded::low_bits_of(c.event.into()),
            );
            words.extend(fence.0);
            words.extend(trap.0);
        }
        words
    }

    /// A copy, in as many packets as it takes.
    pub(crate) fn copy(self, to: u64, from: u64, bytes: u64) -> Vec<Vec<u32>> {
        self.pieces(bytes)
            .map(|(at, n)| {
                let packet = v4_4::CopyLinear::zeroed()
                    .with(v4_4::CopyLinear::OP, op::COPY)
                    .with(v4_4::CopyLinear::COUNT, Bounded::low_bits_of(n - 1))
                    .with(v4_4::CopyLinear::SRC_ADDR, from.wrapping_add(at))
                    .with(v4_4::CopyLinear::DST_ADDR, to.wrapping_add(at));
                packet.0.to_vec()
            })
            .collect()
    }

    /// A fill with words, in as many packets as it takes.
    pub(crate) fn fill(self, to: u64, word: u32, bytes: u64) -> Vec<Vec<u32>> {
        self.pieces(bytes)
            .map(|(at, n)| {
                let packet = v4_4::ConstantFill::zeroed()
                    .with(v4_4::ConstantFill::OP, op::CONST_FILL)
                    .having(v4_4::ConstantFill::FILLSIZE.is::<FILL_WORDS>())
                    .with(v4_4::ConstantFill::DST_ADDR, to.wrapping_add(at))
                    .with(v4_4::ConstantFill::SRC_DATA, word)
                    // Up to the start of the last word.
                    .with(v4_4::ConstantFill::COUNT, Bounded::low_bits_of(n - 4));
                packet.0.to_vec()
            })
            .collect()
    }

    fn pieces(self, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
        let most = self.most;
        (0..bytes.div_ceil(most)).map(move |n| (n * most, (bytes - n * most).min(most)))
    }
}

fn gcr(control: Setting<v7_0::GcrReq>) -> [u32; 5] {
    use v7_0::GcrReq as G;
    G::zeroed()
        .with(G::OP, op::GCR_REQ)
        .with(G::SUB_OP, sub_op::USER_GCR)
        .having(control)
        .0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as `amd_blit_sdma.cpp` builds them.
    #[test]
    fn the_packets_are_rocm_s() {
        let end = Completion {
            value: 0x7f00_0000_1008,
            mailbox: 0x7f00_0000_2010,
            event: 42,
        };
        let signal = [0x5e00_000a, 0x1008, 0x7f00, u32::MAX, u32::MAX, 0, 0, 0];
        let flush = [8, 0, 0x8000_0000, 0, 0, 0];
        assert_eq!(SDMA4.before(), flush);
        let woken = [5, 0x2010, 0x7f00, 42, 6, 42];
        assert_eq!(SDMA4.after(&end), [&signal[..], &woken].concat());
        let gcr = |control: u32| [0x111, 0, control << 16, 0, 0];
        assert_eq!(SDMA7.before(), [&flush[..], &gcr(0xc3c0)].concat());
        let woken = [5 | (3 << 16), 0x2010, 0x7f00, 42, 6, 42];
        let parts = [&gcr(0x8040)[..], &signal, &woken];
        assert_eq!(SDMA7.after(&end), parts.concat());
    }

    #[test]
    fn long_ones_are_several() {
        let (to, from) = (0x1_0000_0001, 0x2_0000_0002);
        let copies = SDMA4.copy(to, from, 0x3f_ffe0 + 5);
        let first = [1, 0x3f_ffdf, 0, 2, 2, 1, 1];
        assert_eq!(
            copies,
            [first.to_vec(), vec![1, 4, 0, 0x3f_ffe2, 2, 0x3f_ffe1, 1]]
        );
        assert_eq!(SDMA7.copy(to, from, 1 << 26).len(), 1);
        let fills = SDMA4.fill(0x1_0000_0000, 7, 0x3f_ffe0 + 8);
        let header = 11 | (2 << 30);
        let last = [header, 0x3f_ffe0, 1, 7, 4];
        assert_eq!(fills, [vec![header, 0, 1, 7, 0x3f_ffdc], last.to_vec()]);
        assert_eq!(Generation::of(90_402), SDMA4);
        assert_eq!(Generation::of(120_001), SDMA7);
    }
}
