// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wave's registers and how operands are read from them.

use crate::decode::{code, Inst};
use crate::dispatch::{Apertures, Handler};
pub use crate::kernel::mode;
use crate::target::Scalars;
use std::num::NonZeroU32;

/// What a wave is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Ready to run.
    Running,
    /// Waits for its workgroup at s_barrier or s_barrier_wait.
    Barrier,
    /// Reached s_endpgm.
    Done,
    /// Stopped by s_sethalt or s_sendmsghalt. Only a debugger could resume it, and there is none.
    Halted,
    /// Reached s_endpgm_saved in its trap handler: what it was lies in memory.
    Saved,
}

impl State {
    /// Whether it executes nothing any more, and others wait for it no longer.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Saved)
    }
}

/// How far a wave is with its workgroup's barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Barrier {
    /// Nothing to do with it.
    #[default]
    Idle,
    /// Has arrived; others have not.
    Signalled,
    /// All have arrived, and it has not waited yet.
    Complete,
    /// It came back from memory, where only the number of those that have arrived is kept.
    Restored,
}

/// A wave's state for traps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trap {
    /// The handler that it enters.
    pub handler: Handler,
    /// The number of its queue's doorbell.
    pub doorbell: u32,
    /// PRIV: it is in the handler.
    pub privileged: bool,
    /// HALT, which holds it as soon as it has left the handler.
    pub halt: bool,
    /// TRAPSTS, or gfx12's EXCP_FLAG_PRIV.
    pub flags: u32,
    /// gfx12's EXCP_FLAG_USER.
    pub user: u32,
    /// gfx12's TRAP_CTRL.
    pub control: u32,
    /// What the hardware answers when the handler is ready to save a wave that is to be saved.
    pub place: Option<u64>,
    /// It has answered by EXEC, which it does once.
    pub answered: bool,
    /// How far it is with the barrier that trap handlers have for themselves.
    pub barrier: Barrier,
    /// Arrivals at the workgroup's barrier that the handler brought back from memory.
    pub arrivals: u32,
    /// It was saved, and its handler is loading it.
    pub loading: bool,
}

impl Trap {
    /// Whether stores of vector memory get lost: on gfx9 after an address that did not translate, as long as nothing is
    /// replayed (Linux, `cwsr_trap_handler_gfx9.asm`: "If STATUS.ALLOW_REPLAY=0 and TRAPSTS.XNACK_ERROR=1 then TCP stores
    /// will fail"). Nothing ever is here. Where gfx9 has XNACK_ERROR, gfx12's EXCP_FLAG_PRIV has no bit.
    pub(crate) fn stores_fail(&self) -> bool {
        self.flags & (1 << 28) != 0
    }
}

/// One wave of `L` lanes.
pub struct Wave<const L: usize> {
    /// Scalar registers by operand code: gfx9's s0-s101, FLAT_SCRATCH and XNACK_MASK or gfx12's
    /// s0-s105, then VCC, TTMP, M0 and EXEC. Those above are written as NULL and never read.
    pub s: Scalars,
    /// Vector registers, then accumulation registers from `acc_base`, then `STAGES` of nobody's.
    pub v: Vec<[u32; L]>,
    /// First accumulation register.
    pub acc_base: u16,
    /// Address of the next instruction.
    pub pc: u64,
    /// Scalar condition code.
    pub scc: bool,
    /// MODE.
    pub mode: u32,
    /// What it is doing.
    pub state: State,
    /// How far it is with the barrier.
    pub barrier: Barrier,
    /// Flat apertures.
    pub apertures: Apertures,
    /// Base of the wave's scratch, and its bytes (all lanes).
    pub scratch: (u64, u64),
    /// Wave number in its workgroup.
    pub index: u32,
    /// Its place in the line of the global semaphore or barrier that it waits at.
    pub ticket: Option<NonZeroU32>,
    /// What it has for traps.
    pub trap: Trap,
}

/// A vector of 64 bits, as the registers have it.
pub struct Halves<'a, const L: usize> {
    /// Bits 31:0 of each lane.
    pub low: &'a [u32; L],
    /// Bits 63:32.
    pub high: &'a [u32; L],
}

impl<const L: usize> Halves<'_, L> {
    /// One lane's.
    #[inline]
    pub fn lane(&self, l: usize) -> u64 {
        u64::from(self.low[l]) | (u64::from(self.high[l]) << 32)
    }
}

/// What a 32-bit literal or constant means where 64 bits are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wide {
    /// Zero-extended (B64, U64).
    Unsigned,
    /// Sign-extended (I64).
    Signed,
    /// The upper half of a double.
    Float,
}

/// Inline constants 240-248 as f32 bits: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi).
const F32: [u32; 9] = [
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc000_0000,
    0x4080_0000,
    0xc080_0000,
    0x3e22_f983,
];
const F16: [u16; 9] = [
    0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118,
];
const F64: [u64; 9] = [
    0x3fe0_0000_0000_0000,
    0xbfe0_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x4000_0000_0000_0000,
    0xc000_0000_0000_0000,
    0x4010_0000_0000_0000,
    0xc010_0000_0000_0000,
    0x3fc4_5f30_6dc9_c882,
];

/// Bit `n` of 32. A table, since not every host shifts lanes by different amounts.
const BITS: [u32; 32] = {
    let (mut bits, mut n) = ([0; 32], 0);
    while n < 32 {
        bits[n] = 1 << n;
        n += 1;
    }
    bits
};

/// A mask, to ask lane by lane.
#[inline]
pub fn lane_bits(mask: u64) -> impl Fn(usize) -> bool {
    let halves = [mask as u32, (mask >> 32) as u32];
    move |l| halves[l / 32] & BITS[l % 32] != 0
}

/// Lanes for which `f` is true.
#[inline]
pub fn gather<const L: usize>(f: impl Fn(usize) -> bool) -> u64 {
    // Bytes first, which compilers make of vectors.
    pack(&std::array::from_fn::<u8, L, _>(|l| f(l).into()))
}

/// A mask of flags that are 0 or 1. A function of its own, and one byte after the other: compilers
/// that see more take flags out of their vectors one by one, or wait for vectors of flags that
/// were written in pieces.
#[inline(never)]
fn pack<const L: usize>(flags: &[u8; L]) -> u64 {
    let mask = flags.chunks_exact(8).fold(0u64, |mask, flags| {
        let mut eight = [0; 8];
        eight.copy_from_slice(flags);
        // Each flag lands in the highest byte, at its lane's bit.
        let bits = u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080);
        (mask >> 8) | (bits & (0xff << 56))
    });
    mask >> (64 - L)
}

/// Change the lanes of `mask`.
#[inline]
fn merge<const L: usize>(to: &mut [u32; L], mask: u64, value: &[u32; L]) {
    // No branches and both sides read: the compiler makes vectors of it.
    for half in 0..L / 32 {
        let bits = (mask >> (32 * half)) as u32;
        for (n, bit) in BITS.iter().enumerate() {
            let l = 32 * half + n;
            let keep = if bits & bit == 0 { u32::MAX } else { 0 };
            to[l] = (to[l] & keep) | (value[l] & !keep);
        }
    }
}

impl<const L: usize> Wave<L> {
    /// EXEC.
    #[inline]
    pub fn exec(&self) -> u64 {
        self.lane_mask(code::EXEC)
    }

    /// Every lane of a wave.
    pub const FULL: u64 = if L == 64 { u64::MAX } else { (1 << L) - 1 };

    /// VCC.
    #[inline]
    pub fn vcc(&self) -> u64 {
        self.lane_mask(code::VCC)
    }

    /// A mask with a bit for each lane: one register for 32 lanes, two for 64.
    #[inline]
    pub fn lane_mask(&self, at: u16) -> u64 {
        if L <= 32 {
            u64::from(self.s[at as u8 as usize])
        } else {
            self.pair(at)
        }
    }

    /// Set a mask with a bit for each lane.
    #[inline]
    pub fn set_mask(&mut self, at: u16, mask: u64) {
        if L <= 32 {
            self.set(at, mask as u32);
        } else {
            self.set_pair(at, mask);
        }
    }

    /// A mask operand.
    #[inline]
    pub fn mask(&self, operand: u16) -> u64 {
        if L <= 32 {
            u64::from(self.scalar(operand, 0))
        } else {
            self.scalar64(operand, 0, Wide::Unsigned)
        }
    }

    /// A 64-bit scalar register pair.
    #[inline]
    pub fn pair(&self, at: u16) -> u64 {
        let at = usize::from(at as u8);
        match self.s.get(at..at + 2) {
            Some([low, high]) => u64::from(*low) | (u64::from(*high) << 32),
            _ => 0,
        }
    }

    /// Set a scalar register.
    #[inline]
    pub fn set(&mut self, at: u16, value: u32) {
        self.s[at as u8 as usize] = value;
    }

    /// Set a scalar register pair. As one write, for which a host's next read of both need not wait.
    #[inline]
    pub fn set_pair(&mut self, at: u16, value: u64) {
        let at = usize::from(at as u8);
        if let Some(pair) = self.s.get_mut(at..at + 2) {
            pair.copy_from_slice(&[value as u32, (value >> 32) as u32]);
        }
    }

    /// The same for pairs that are known, such as EXEC: a compiler that knows them, too, writes the
    /// halves one after the other.
    #[inline(never)]
    pub fn set_known_pair(&mut self, at: u16, value: u64) {
        self.set_pair(at, value);
    }

    /// A scalar operand of 32 bits.
    #[inline]
    pub fn scalar(&self, operand: u16, literal: u32) -> u32 {
        if operand < 128 {
            self.s[operand as usize]
        } else {
            self.constant(operand, literal)
        }
    }

    // Apart, so that each operation has only the way to the registers in it.
    #[inline(never)]
    fn constant(&self, operand: u16, literal: u32) -> u32 {
        match operand {
            128..=192 => u32::from(operand - 128),
            193..=208 => (192 - i32::from(operand)) as u32,
            240..=248 => F32[(operand - 240) as usize],
            255 => literal,
            _ => self.wide_special(operand) as u32,
        }
    }

    /// A scalar operand of 64 bits.
    #[inline]
    pub fn scalar64(&self, operand: u16, literal: u32, wide: Wide) -> u64 {
        if operand < 128 {
            self.pair(operand)
        } else {
            self.constant64(operand, literal, wide)
        }
    }

    #[inline(never)]
    fn constant64(&self, operand: u16, literal: u32, wide: Wide) -> u64 {
        match operand {
            128..=192 => u64::from(operand - 128),
            193..=208 => (192 - i64::from(operand)) as u64,
            240..=248 => F64[(operand - 240) as usize],
            255 => match wide {
                Wide::Unsigned => u64::from(literal),
                Wide::Signed => literal as i32 as i64 as u64,
                Wide::Float => u64::from(literal) << 32,
            },
            _ => self.wide_special(operand),
        }
    }

    /// A scalar operand of 16 bits: only the floating constants differ from 32 bits.
    #[inline]
    pub fn scalar16(&self, operand: u16, literal: u32) -> u32 {
        match operand {
            240..=248 => u32::from(F16[(operand - 240) as usize]),
            _ => self.scalar(operand, literal),
        }
    }

    fn wide_special(&self, operand: u16) -> u64 {
        match operand {
            // src_shared_base, _limit, src_private_base, _limit.
            235 => self.apertures.shared,
            236 => self.apertures.shared | 0xffff_ffff,
            237 => self.apertures.private,
            238 => self.apertures.private | 0xffff_ffff,
            // src_vccz, src_execz, src_scc.
            251 => u64::from(self.vcc() & Self::FULL == 0),
            252 => u64::from(self.exec() & Self::FULL == 0),
            253 => u64::from(self.scc),
            _ => 0,
        }
    }

    /// Registers at the end of `v` that no program can name.
    pub const STAGES: usize = 4;

    /// Whether it waits at a global semaphore or barrier. In its trap handler it does something else.
    pub fn stands_in_line(&self) -> bool {
        self.ticket.is_some() && !self.trap.privileged
    }

    /// The registers that the program was given.
    #[inline]
    pub fn registers(&self) -> u16 {
        (self.v.len() - Self::STAGES) as u16
    }

    /// Operand code of a register that no program can name.
    #[inline]
    pub fn stage(&self, n: u16) -> u16 {
        code::AGPR + (self.registers() - self.acc_base) + n
    }

    /// Index in `v` of a vector or accumulation register.
    #[inline]
    pub fn slot(&self, operand: u16) -> usize {
        if operand >= code::AGPR {
            (self.acc_base + (operand - code::AGPR)) as usize
        } else {
            (operand & 0xff) as usize
        }
    }

    /// A vector source of 32 bits: a register, or a scalar for all lanes, which `splat` keeps.
    #[inline]
    pub fn lanes<'a>(
        &'a self,
        i: &Inst,
        n: usize,
        splat: &'a mut Option<[u32; L]>,
    ) -> &'a [u32; L] {
        let operand = i.src[n];
        if (code::VGPR..code::NONE).contains(&operand) {
            &self.v[self.slot(operand)]
        } else {
            splat.insert([self.scalar(operand, i.imm); L])
        }
    }

    /// A vector source of 64 bits as lower and upper halves, which `splat` keeps of a scalar.
    #[inline]
    pub fn halves<'a>(
        &'a self,
        i: &Inst,
        n: usize,
        wide: Wide,
        splat: &'a mut Option<[[u32; L]; 2]>,
    ) -> Halves<'a, L> {
        let operand = i.src[n];
        if (code::VGPR..code::NONE).contains(&operand) {
            return Halves {
                low: &self.v[self.slot(operand)],
                high: &self.v[self.slot(operand + 1)],
            };
        }
        let value = self.scalar64(operand, i.imm, wide);
        let [low, high] = splat.insert([[value as u32; L], [(value >> 32) as u32; L]]);
        Halves { low, high }
    }

    /// A vector source of 16 bits, in the lower half of each lane.
    #[inline]
    pub fn lanes16(&self, i: &Inst, n: usize) -> [u32; L] {
        let operand = i.src[n];
        if (code::VGPR..code::NONE).contains(&operand) {
            self.v[self.slot(operand)]
        } else {
            [self.scalar16(operand, i.imm); L]
        }
    }

    /// A vector source of 64 bits.
    #[inline]
    pub fn lanes64(&self, i: &Inst, n: usize, wide: Wide) -> [u64; L] {
        let mut splat = None;
        let a = self.halves(i, n, wide, &mut splat);
        std::array::from_fn(|l| a.lane(l))
    }

    /// The value of a source that is the same for all lanes.
    #[inline]
    pub fn uniform(&self, i: &Inst, n: usize) -> Option<u32> {
        let operand = i.src[n];
        let scalar = !(code::VGPR..code::NONE).contains(&operand);
        scalar.then(|| self.scalar(operand, i.imm))
    }

    /// The same of 64 bits, zero-extended.
    #[inline]
    pub fn uniform64(&self, i: &Inst, n: usize) -> Option<u64> {
        let operand = i.src[n];
        let scalar = !(code::VGPR..code::NONE).contains(&operand);
        scalar.then(|| self.scalar64(operand, i.imm, Wide::Unsigned))
    }

    /// Write the active lanes of a vector register.
    #[inline]
    pub fn put(&mut self, operand: u16, value: &[u32; L]) {
        let exec = self.exec();
        let at = self.slot(operand);
        let to = &mut self.v[at];
        if exec & Self::FULL == Self::FULL {
            *to = *value;
        } else {
            merge(to, exec, value);
        }
    }

    /// Write the active lanes of a vector register pair.
    #[inline]
    pub fn put64(&mut self, operand: u16, value: &[u64; L]) {
        self.put(operand, &std::array::from_fn(|l| value[l] as u32));
        self.put(
            operand + 1,
            &std::array::from_fn(|l| (value[l] >> 32) as u32),
        );
    }

    /// Write a lane mask: active lanes from `mask`, inactive ones zero.
    #[inline]
    pub fn put_mask(&mut self, at: u16, mask: u64) {
        self.set_mask(at, mask & self.exec());
    }
}
