// SPDX-License-Identifier: MIT OR Apache-2.0

//! SDMA packets taken apart and checked; nothing is executed.
//!
//! Both generations' packets become the same [`Packet`]: their tables name fields alike, so one
//! text reads both ([`parser`]).
//!
//! Sources: [`rkfd_hw::sdma`]; how Linux and ROCr count: `sdma_v4_4_2_emit_copy_buffer`,
//! `sdma_v7_0_emit_copy_buffer`, ROCr's `amd_blit_sdma.cpp`.

use rkfd_hw::sdma::{self, op, sub_op};

/// What generations' packets differ in.
#[derive(Clone, Copy)]
pub struct Dialect {
    /// COPY_LINEAR may carry compression (CPV): one more word.
    pub long_copies: bool,
    /// GCR_REQ exists.
    pub gcr: bool,
    /// Bytes by which SRBM_WRITE counts registers (7.0: "use Register WRITE command instead",
    /// `sdma_v7_0_ring_emit_wreg`).
    pub register_unit: u64,
}

/// Why a packet can't be executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bad(pub String);

/// An image of elements: where it starts and how far rows and slices are apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Image {
    /// Address of element (0, 0, 0).
    pub base: u64,
    /// First element of the box.
    pub at: [u64; 3],
    /// Elements from row to row.
    pub pitch: u64,
    /// Elements from slice to slice.
    pub slice: u64,
}

/// A packet without anything undefined in it. Counts are what they are, not one less.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the packets'")]
pub enum Packet {
    /// Skipped.
    Nop,
    /// Copies bytes, to one or two places.
    Copy {
        src: u64,
        dst: [Option<u64>; 2],
        bytes: u64,
    },
    /// Copies a box of elements.
    Rect {
        src: Image,
        dst: Image,
        /// Elements in a row, rows, slices.
        size: [u64; 3],
        /// Bytes of an element.
        element: u64,
    },
    /// Writes words.
    Write { dst: u64, data: Vec<u32> },
    /// Writes words of 64 bits that grow by a constant, with the same bits set in each.
    WriteIncremented {
        dst: u64,
        bits: u64,
        first: u64,
        step: u64,
        count: u64,
    },
    /// Fills with words.
    FillWords { dst: u64, word: u32, words: u64 },
    /// Fills with bytes.
    FillBytes { dst: u64, byte: u8, bytes: u64 },
    /// Writes a word when all before is done.
    Fence { addr: u64, data: u32 },
    /// Raises an interrupt.
    Trap { context: u32 },
    /// Waits for memory.
    Poll {
        addr: u64,
        func: u64,
        value: u32,
        mask: u32,
        /// How often it looks; `None` is for ever.
        tries: Option<u64>,
    },
    /// Waits for a register: not for processes. Addresses are in bytes.
    PollRegister {
        addr: u32,
        /// A register that gets the value before the first look, to flush HDP.
        write: Option<u32>,
        func: u64,
        value: u32,
        mask: u32,
        /// How often it looks; `None` is for ever.
        tries: Option<u64>,
    },
    /// Flushes HDP.
    HdpFlush,
    /// Skips words unless memory has a value.
    CondExe { addr: u64, value: u32, words: u64 },
    /// Changes memory.
    Atomic {
        op: u8,
        addr: u64,
        src: u64,
        cmp: u64,
    },
    /// Writes the clock.
    Timestamp { addr: u64 },
    /// Executes an indirect buffer.
    Indirect { base: u64, words: u64 },
    /// Writes a register: not for processes.
    SrbmWrite { register: u32, value: u32 },
    /// Writes back and invalidates caches, of which this device has none.
    Gcr,
}

/// The name of a packet by its first word.
pub fn name(header: u32) -> &'static str {
    sdma::name(header as u8).unwrap_or("unknown packet")
}

/// The size of a packet in words, from its first one; `None` if another word has the size.
///
/// # Errors
/// It is no packet that the engine knows.
pub fn size(dialect: Dialect, words: &[u32]) -> Result<Option<usize>, Bad> {
    let header = words.first().copied().unwrap_or(0);
    let (op, sub) = (header as u8, (header >> 8) as u8);
    // Sub-opcodes, from the least that exists to the greatest, are few: each is named.
    Ok(Some(match (op, sub) {
        (op::NOP, 0) => 1 + sdma::v4_4::Nop::COUNT.get(&[header]) as usize,
        (op::COPY, 0) if sdma::v4_4::CopyLinear::BROADCAST.get(&[header]) == 1 => 9,
        (op::COPY, 0) if dialect.long_copies => {
            7 + sdma::v7_0::CopyLinear::CPV.get(&[header]) as usize
        }
        (op::COPY, 0) => 7,
        (op::COPY, sub_op::COPY_RECT) => 13,
        (op::WRITE, 0) => match words.get(3) {
            Some(_) => 5 + sdma::v4_4::WriteLinear::COUNT.get(words) as usize,
            None => return Ok(None),
        },
        (op::PTEPDE, 0) => 10,
        (op::INDIRECT, 0) => 6,
        (op::FENCE, 0) => 4,
        (op::TRAP, 0) => 2,
        (op::POLL_REGMEM, 0) => 6,
        (op::COND_EXE, 0) => 5,
        (op::ATOMIC, 0) => 8,
        (op::CONST_FILL, 0) => 5,
        (op::TIMESTAMP, sub_op::TIMESTAMP_GET_GLOBAL) => 3,
        (op::SRBM_WRITE, 0) => 3,
        // The kernel's (`sdma_v7_0_ring_emit_mem_sync`), and processes'.
        (op::GCR_REQ, 0 | sub_op::USER_GCR) if dialect.gcr => 5,
        _ => {
            return Err(Bad(format!(
                "{} with opcode {op}.{sub} is not modelled or does not exist",
                name(header)
            )))
        }
    }))
}

/// Words before those that a packet's data takes, when [`size`] needs them.
pub const WRITE_HEAD: usize = 4;

/// Makes a module that reads one generation's packets.
macro_rules! parser {
    ($generation:ident, gcr: $gcr:expr, plain_fill: [$($fill:ident)*]) => {
        /// One generation's packets.
        pub mod $generation {
            use super::*;
            use rkfd_hw::sdma::$generation::*;

            /// Takes a whole packet apart, whose size is that of [`size`].
            ///
            /// # Errors
            /// What is undefined about it, or not modelled.
            pub fn parse(words: &[u32]) -> Result<Packet, Bad> {
                let header = words.first().copied().unwrap_or(0);
                let name = name(header);
                let bad = |what: &str| Err(Bad(format!("{name}: {what}")));
                /// Reads a layout; fields that follow must be zero.
                macro_rules! read {
                    ($t:ident $zero:expr) => {{
                        let Some(packet) = $t::read(words) else {
                            return bad("too few words");
                        };
                        if let Some(word) = packet.reserved_word() {
                            return Err(Bad(format!(
                                "{name}: reserved bits of word {word} are set"
                            )));
                        }
                        let zero: &[rkfd_hw::layout::Setting<$t>] = &$zero;
                        if !zero.iter().all(|&field| packet.has(field)) {
                            return bad("a byte swap, encryption or other mode is not modelled");
                        }
                        packet
                    }};
                }
                Ok(match header as u8 {
                    op::NOP => {
                        if Nop([header]).reserved_word().is_some() {
                            return bad("reserved bits are set");
                        }
                        Packet::Nop
                    }
                    op::COPY if (header >> 8) as u8 == sub_op::COPY_RECT => {
                        let p = read!(CopyRect [CopyRect::TMZ.is::<0>()]);
                        let element = p.get(CopyRect::ELEMENTSIZE);
                        type R = CopyRect;
                        let src = Image {
                            base: p.get(R::SRC_ADDR),
                            at: [p.get(R::SRC_X), p.get(R::SRC_Y), p.get(R::SRC_Z)],
                            pitch: p.get(R::SRC_PITCH) + 1,
                            slice: p.get(R::SRC_SLICE_PITCH) + 1,
                        };
                        let dst = Image {
                            base: p.get(R::DST_ADDR),
                            at: [p.get(R::DST_X), p.get(R::DST_Y), p.get(R::DST_Z)],
                            pitch: p.get(R::DST_PITCH) + 1,
                            slice: p.get(R::DST_SLICE_PITCH) + 1,
                        };
                        if element > 4 {
                            return bad("elements of more than 16 bytes");
                        }
                        if src.base % 4 != 0 || dst.base % 4 != 0 {
                            return bad("an image does not start at a word");
                        }
                        Packet::Rect {
                            src,
                            dst,
                            size: [
                                p.get(R::RECT_X) + 1,
                                p.get(R::RECT_Y) + 1,
                                p.get(R::RECT_Z) + 1,
                            ],
                            element: 1 << element,
                        }
                    }
                    op::COPY if CopyLinear::BROADCAST.get(words) == 1 => {
                        type B = CopyBroadcast;
                        let p = read!(CopyBroadcast [B::ENCRYPT.is::<0>(), B::TMZ.is::<0>(), B::SRC_SW.is::<0>(), B::DST1_SW.is::<0>(), B::DST2_SW.is::<0>()]);
                        Packet::Copy {
                            src: p.get(B::SRC_ADDR),
                            dst: [Some(p.get(B::DST1_ADDR)), Some(p.get(B::DST2_ADDR))],
                            bytes: p.get(B::COUNT) + 1,
                        }
                    }
                    op::COPY => {
                        type C = CopyLinear;
                        let p = read!(CopyLinear [C::ENCRYPT.is::<0>(), C::TMZ.is::<0>(), C::SRC_SW.is::<0>(), C::DST_SW.is::<0>()]);
                        // The next word is about compressed memory.
                        if words.get(7).is_some_and(|&word| word != 0) {
                            return bad("compressed memory is not modelled");
                        }
                        Packet::Copy {
                            src: p.get(C::SRC_ADDR),
                            dst: [Some(p.get(C::DST_ADDR)), None],
                            bytes: p.get(C::COUNT) + 1,
                        }
                    }
                    op::WRITE => {
                        type W = WriteLinear;
                        let p = read!(WriteLinear [W::ENCRYPT.is::<0>(), W::TMZ.is::<0>(), W::SW.is::<0>()]);
                        if p.get(W::DST_ADDR) % 4 != 0 {
                            return bad("the address is not a word's");
                        }
                        Packet::Write {
                            dst: p.get(W::DST_ADDR),
                            data: words.get(WRITE_HEAD..).unwrap_or_default().to_vec(),
                        }
                    }
                    op::CONST_FILL => {
                        type F = ConstantFill;
                        let p = read!(ConstantFill [$(F::$fill.is::<0>())*]);
                        let (dst, data) = (p.get(F::DST_ADDR), p.get(F::SRC_DATA) as u32);
                        match p.get(F::FILLSIZE) {
                            // The count is of bytes here, too; a started word is written whole.
                            sdma::FILL_WORDS if dst % 4 == 0 => Packet::FillWords {
                                dst,
                                word: data,
                                words: p.get(F::COUNT) / 4 + 1,
                            },
                            sdma::FILL_WORDS => return bad("the address is not a word's"),
                            // Linux clears memory so; whether all of the word or its low byte is
                            // the pattern is not public, so both must be the same.
                            0 if data == u32::from(data as u8) * 0x0101_0101 => Packet::FillBytes {
                                dst,
                                byte: data as u8,
                                bytes: p.get(F::COUNT) + 1,
                            },
                            0 => return bad("a fill of bytes with four different ones"),
                            other => {
                                return Err(Bad(format!("{name}: FILLSIZE {other} is not modelled")))
                            }
                        }
                    }
                    op::FENCE => {
                        let p = read!(Fence []);
                        if p.get(Fence::ADDR) % 4 != 0 {
                            return bad("the address is not a word's");
                        }
                        Packet::Fence {
                            addr: p.get(Fence::ADDR),
                            data: p.get(Fence::DATA) as u32,
                        }
                    }
                    op::PTEPDE => {
                        type W = WriteIncremented;
                        let p = read!(WriteIncremented []);
                        let wide = |low: u64, high: u64| low | (high << 32);
                        let dst = p.get(W::DST_ADDR);
                        if dst % 8 != 0 {
                            return bad("the address is not that of a word of 64 bits");
                        }
                        Packet::WriteIncremented {
                            dst,
                            bits: wide(p.get(W::MASK_DW0), p.get(W::MASK_DW1)),
                            first: wide(p.get(W::INIT_DW0), p.get(W::INIT_DW1)),
                            step: wide(p.get(W::INCR_DW0), p.get(W::INCR_DW1)),
                            count: p.get(W::COUNT) + 1,
                        }
                    }
                    op::TRAP => Packet::Trap {
                        context: read!(Trap []).get(Trap::INT_CONTEXT) as u32,
                    },
                    op::POLL_REGMEM if words == sdma::HDP_FLUSH => Packet::HdpFlush,
                    op::POLL_REGMEM => {
                        type P = PollRegmem;
                        let p = read!(PollRegmem []);
                        if p.get(P::FUNC) > sdma::func::GREATER {
                            return bad("FUNC 7 is not defined");
                        }
                        let retries = p.get(P::RETRY_COUNT);
                        let tries = (retries != sdma::RETRY_FOREVER).then_some(retries + 1);
                        let (func, addr) = (p.get(P::FUNC), p.get(P::ADDR));
                        let (value, mask) = (p.get(P::VALUE) as u32, p.get(P::MASK) as u32);
                        match (p.get(P::MEM_POLL), p.get(P::HDP_FLUSH)) {
                            _ if addr % 4 != 0 => return bad("the address is not a word's"),
                            (1, 0) => Packet::Poll {
                                addr,
                                func,
                                value,
                                mask,
                                tries,
                            },
                            (0, flush) => Packet::PollRegister {
                                addr: addr as u32,
                                write: (flush == 1).then_some((addr >> 32) as u32),
                                func,
                                value,
                                mask,
                                tries,
                            },
                            _ => return bad("an HDP flush that waits for memory is not modelled"),
                        }
                    }
                    op::COND_EXE => {
                        let p = read!(CondExe []);
                        if p.get(CondExe::ADDR) % 4 != 0 {
                            return bad("the address is not a word's");
                        }
                        Packet::CondExe {
                            addr: p.get(CondExe::ADDR),
                            value: p.get(CondExe::REFERENCE) as u32,
                            words: p.get(CondExe::EXEC_COUNT),
                        }
                    }
                    op::ATOMIC => {
                        type A = Atomic;
                        let p = read!(Atomic [A::LOOP.is::<0>(), A::TMZ.is::<0>(), A::LOOP_INTERVAL.is::<0>()]);
                        Packet::Atomic {
                            op: p.get(A::ATOMIC_OP) as u8,
                            addr: p.get(A::ADDR),
                            src: p.get(A::SRC_DATA),
                            cmp: p.get(A::CMP_DATA),
                        }
                    }
                    op::TIMESTAMP => Packet::Timestamp {
                        addr: read!(TimestampGlobal []).get(TimestampGlobal::WRITE_ADDR) << 3,
                    },
                    op::INDIRECT => {
                        type I = Indirect;
                        let p = read!(Indirect [I::VMID.is::<0>()]);
                        if p.get(I::IB_BASE) % 32 != 0 || p.get(I::IB_SIZE) == 0 {
                            return bad("a misaligned or empty buffer");
                        }
                        Packet::Indirect {
                            base: p.get(I::IB_BASE),
                            words: p.get(I::IB_SIZE),
                        }
                    }
                    op::SRBM_WRITE => {
                        let p = read!(SrbmWrite []);
                        Packet::SrbmWrite {
                            register: p.get(SrbmWrite::ADDR) as u32,
                            value: p.get(SrbmWrite::DATA) as u32,
                        }
                    }
                    op::GCR_REQ => $gcr(words)?,
                    _ => return bad("no such packet"),
                })
            }
        }
    };
}

parser!(v4_4, gcr: |_: &[u32]| Err(Bad("no GCR_REQ".into())), plain_fill: [SW]);
// COMPRESS makes no difference to what is read, which is all that memory without compression has.
parser!(v7_0, gcr: |words: &[u32]| {
    let packet = GcrReq::read(words).ok_or_else(|| Bad("GCR_REQ: too few words".into()))?;
    match packet.reserved_word() {
        None if packet.get(GcrReq::VMID) == 0 => Ok(Packet::Gcr),
        None => Err(Bad("GCR_REQ: a process names a VMID".into())),
        Some(word) => Err(Bad(format!("GCR_REQ: reserved bits of word {word} are set"))),
    }
}, plain_fill: []);
