// SPDX-License-Identifier: GPL-2.0

//! VRAM: which pages are in use, and access through BAR 0.
//!
//! The driver needs to reach the memory that it uses itself (page tables, MQDs), so only the part
//! behind BAR 0 is used, less what firmware keeps at the end. That memory it clears through BAR 0;
//! what programs get a copy engine clears ([`crate::sdma`]).
//!
//! Pages are given out by the kernel's buddy allocator (`drivers/gpu/buddy.c`), in blocks of powers of two that merge
//! again when they come back.

use crate::{
    counts::{
        Deed,
        Work, //
    },
    glue::{
        aperture::Aperture,
        transfer::Transfer,
        user as caller, //
    },
    hw::discovery,
    regs::Regs,
    types::{
        GpuVa,
        Layout,
        VramOffset, //
    }, //
};
use core::ops::Range;
use kernel::{
    alloc::flags::GFP_KERNEL_ACCOUNT,
    devres::Devres,
    gpu::buddy::{
        AllocatedBlocks,
        GpuBuddy,
        GpuBuddyAllocFlag,
        GpuBuddyAllocFlags,
        GpuBuddyAllocMode,
        GpuBuddyParams, //
    },
    new_mutex,
    prelude::*,
    ptr::Alignment,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Page of the GPU and of everything here.
pub(crate) const PAGE: u64 = 4096;

const ONE_PAGE: Alignment = Alignment::new::<4096>();

/// What an entry above the last table maps.
const LARGE: u64 = 2 << 20;
const LARGE_PAGE: Alignment = Alignment::new::<{ 2 << 20 }>();

/// What firmware keeps at the end of VRAM at least: what Linux leaves it on an MI308X without a VBIOS
/// (`amdgpu_ttm_init_fw_resv_region`).
const FIRMWARE_RESERVED: u64 = 280 << 20;

/// How large it is, in bytes.
pub(crate) struct Sizes {
    /// All of it.
    pub(crate) all: u64,
    /// What BAR 0 maps.
    pub(crate) visible: u64,
    /// What firmware keeps at the end, as the VBIOS states.
    pub(crate) kept: u64,
}

/// The memory of a GPU.
#[pin_data]
pub(crate) struct Vram {
    aperture: Devres<Aperture>,
    regs: Arc<Regs>,
    layout: Layout,
    /// Byte offset of the register of BAR 5 that flushes HDP.
    flush_at: u32,
    /// Physical address of BAR 0.
    phys: u64,
    /// Bytes in all.
    size: u64,
    /// Bytes that can be given out.
    usable: u64,
    buddy: GpuBuddy,
    /// What is never given back.
    #[pin]
    forever: Mutex<KVec<Blocks>>,
    /// What is left to firmware.
    #[pin]
    left: Mutex<KVec<(Range<u64>, Blocks)>>,
}

/// Blocks that were given out; given back when dropped.
type Blocks = Pin<KBox<AllocatedBlocks>>;

impl Vram {
    /// The VRAM behind BAR 0. HDP is flushed by the register at an offset of BAR 5.
    pub(crate) fn new(
        aperture: Devres<Aperture>,
        regs: &Arc<Regs>,
        layout: Layout,
        flush_at: u32,
        phys: u64,
        sizes: Sizes,
    ) -> Result<Arc<Self>> {
        let size = sizes.all;
        // A small VRAM is an emulated one, whose firmware is small too.
        let reserved = FIRMWARE_RESERVED
            .min(size / 16)
            .max(sizes.kept)
            .max(discovery::OFFSET_FROM_END);
        let usable = sizes.visible.min(size.saturating_sub(reserved));
        let usable = usable.saturating_sub(usable % PAGE);
        let buddy = GpuBuddy::new(GpuBuddyParams {
            base_offset: 0,
            size: usable,
            chunk_size: ONE_PAGE,
        })?;
        // Offset 0 is never given out, so that a zero address is always a mistake.
        let first = buddy.alloc_blocks(
            GpuBuddyAllocMode::Range(0..PAGE),
            PAGE,
            ONE_PAGE,
            GpuBuddyAllocFlags::default(),
        );
        let mut forever = KVec::new();
        forever.push(KBox::pin_init(first, GFP_KERNEL)?, GFP_KERNEL)?;
        let regs = regs.clone();
        Arc::pin_init(
            pin_init!(Self {
                aperture,
                regs,
                layout,
                flush_at,
                phys,
                size,
                usable,
                buddy,
                forever <- new_mutex!(forever, "rkfd VRAM"),
                left <- new_mutex!(KVec::new(), "rkfd VRAM of firmware"),
            }),
            GFP_KERNEL,
        )
    }

    /// Access to the bytes, if the device is there.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Aperture) -> Result<R>) -> Result<R> {
        self.aperture.try_access_with(f).ok_or(ENODEV)?
    }

    /// Makes what the CPU wrote to VRAM visible to the GPU. While the whole device is being reset there is nothing
    /// to be seen.
    pub(crate) fn flush_hdp(&self) {
        let _ = self.with(|bytes| {
            bytes.flush();
            Ok(())
        });
        if let Some(_here) = self.regs.here() {
            self.regs.write_word(self.flush_at / 4, 0);
            self.regs.settle();
        }
    }

    /// What is done to the device, counted.
    fn work(&self) -> &Work {
        self.regs.work()
    }

    /// Byte offset of the register of BAR 5 that flushes HDP: the first of a page that programs may map.
    pub(crate) fn flush_at(&self) -> u32 {
        self.flush_at
    }

    /// Where it lies for the GPU.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Physical address of a byte offset, for mapping it into a user program.
    pub(crate) fn phys(&self, offset: VramOffset) -> u64 {
        self.phys.wrapping_add(offset.get())
    }

    /// Bytes in all.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that can be given out in all.
    pub(crate) fn usable(&self) -> u64 {
        self.usable
    }

    /// Bytes free.
    pub(crate) fn free(&self) -> u64 {
        self.buddy.avail()
    }

    /// Takes `len` bytes in a row, whole pages, and returns where they begin. Large ranges start at a multiple of
    /// 2 MiB, so that one page table entry can map 512 pages.
    ///
    /// # Errors
    ///
    /// ENOMEM when there are none.
    fn take(&self, len: u64) -> Result<(u64, Blocks)> {
        let least = if len >= LARGE { LARGE_PAGE } else { ONE_PAGE };
        let flags = GpuBuddyAllocFlag::Contiguous;
        let blocks = self
            .buddy
            .alloc_blocks(GpuBuddyAllocMode::Simple, len, least, flags);
        // The allocator has other errors for what can't be had.
        let blocks = KBox::pin_init(blocks, GFP_KERNEL_ACCOUNT).map_err(|_| ENOMEM)?;
        // A size that is no power of two is several blocks, each behind the other.
        let start = blocks.iter().map(|block| block.offset()).min();
        Ok((start.ok_or(ENOMEM)?, blocks))
    }

    /// Takes pages that are never given back, for what lives as long as the device.
    pub(crate) fn alloc_forever(&self, len: u64) -> Result<VramOffset> {
        let len = len.checked_next_multiple_of(PAGE).ok_or(ENOMEM)?;
        let (start, blocks) = self.take(len)?;
        self.forever.lock().push(blocks, GFP_KERNEL)?;
        self.zero(start, len)?;
        Ok(VramOffset::new(start))
    }

    /// Leaves a part to firmware for good. Doing so again changes nothing.
    ///
    /// # Errors
    ///
    /// EBUSY when some of it was given out, ENOMEM.
    pub(crate) fn leave(&self, part: Range<u64>) -> Result {
        // Nothing behind that is given out.
        let end = part.end.min(self.usable);
        let end = end.saturating_add(PAGE.saturating_sub(1));
        let start = part.start.saturating_sub(part.start % PAGE);
        let part = start..end.saturating_sub(end % PAGE);
        if part.is_empty() {
            return Ok(());
        }
        let mut left = self.left.lock();
        if left.iter().any(|(before, _)| *before == part) {
            return Ok(());
        }
        let blocks = self.buddy.alloc_blocks(
            GpuBuddyAllocMode::Range(part.clone()),
            part.end.saturating_sub(part.start),
            ONE_PAGE,
            GpuBuddyAllocFlags::default(),
        );
        let blocks = KBox::pin_init(blocks, GFP_KERNEL);
        // The allocator has other errors for what can't be had.
        let blocks = blocks.map_err(|error| if error == ENOMEM { ENOMEM } else { EBUSY })?;
        left.push((part, blocks), GFP_KERNEL)?;
        Ok(())
    }

    /// Clears a range, a piece at a time: the device may go in between.
    pub(crate) fn zero(&self, start: u64, len: u64) -> Result {
        const PIECE: u64 = 1 << 20;
        self.work().add(Deed::ClearedBytes, len);
        let mut done = 0;
        while done < len {
            let piece = PIECE.min(len.saturating_sub(done));
            let at = start.checked_add(done).ok_or(EINVAL)?;
            self.with(|bytes| bytes.zero(at, piece))?;
            done = done.saturating_add(piece);
        }
        Ok(())
    }
}

/// Some pages of VRAM in a row; free again when dropped.
pub(crate) struct VramRange {
    vram: Arc<Vram>,
    start: u64,
    len: u64,
    _blocks: Blocks,
}

impl VramRange {
    /// Takes `len` bytes, rounded up to pages, cleared.
    pub(crate) fn new(vram: &Arc<Vram>, len: u64) -> Result<Self> {
        let range = Self::uncleared(vram, len)?;
        vram.zero(range.start, range.len)?;
        Ok(range)
    }

    /// Takes `len` bytes, rounded up to pages, with whatever is in them.
    fn uncleared(vram: &Arc<Vram>, len: u64) -> Result<Self> {
        let len = len.checked_next_multiple_of(PAGE).ok_or(ENOMEM)?;
        let (start, blocks) = vram.take(len)?;
        Ok(Self {
            vram: vram.clone(),
            start,
            len,
            _blocks: blocks,
        })
    }

    /// Byte offset in VRAM.
    pub(crate) fn start(&self) -> VramOffset {
        VramOffset::new(self.start)
    }

    /// Byte offset in VRAM of a byte of the range.
    ///
    /// # Errors
    ///
    /// EINVAL beyond the end.
    pub(crate) fn at(&self, byte: u64) -> Result<VramOffset> {
        self.check(byte, 1).map(VramOffset::new)
    }

    /// Address in address space 0.
    pub(crate) fn gpu_addr(&self) -> GpuVa {
        self.vram.layout.vram_addr(self.start())
    }

    /// Address in page table entries.
    pub(crate) fn pte_addr(&self) -> u64 {
        self.vram.layout.vram_pte(self.start())
    }

    /// Bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Loads a word at a byte offset in the range.
    pub(crate) fn read32(&self, at: u64) -> Result<u32> {
        let at = self.check(at, 4)?;
        self.vram.with(|bytes| bytes.read32(at))
    }

    /// Loads a 64-bit word at a byte offset in the range.
    pub(crate) fn read64(&self, at: u64) -> Result<u64> {
        let at = self.check(at, 8)?;
        self.vram.with(|bytes| bytes.read64(at))
    }

    /// Stores a 64-bit word.
    pub(crate) fn write64(&self, at: u64, value: u64) -> Result {
        let at = self.check(at, 8)?;
        self.vram.with(|bytes| bytes.write64(at, value))
    }

    /// Copies what a debugger reads or writes, at a byte offset in the range.
    pub(crate) fn transfer(&self, at: u64, transfer: &Transfer<'_>) -> Result {
        let at = self.check(at, transfer.len() as u64)?;
        self.vram.with(|bytes| bytes.transfer(at, transfer))
    }

    /// Stores words from byte offset `at` on.
    pub(crate) fn write_words(&self, at: u64, words: &[u32]) -> Result {
        let len = (words.len() as u64).checked_mul(4).ok_or(EINVAL)?;
        let at = self.check(at, len)?;
        self.vram.with(|bytes| {
            words
                .iter()
                .zip((at..).step_by(4))
                .try_for_each(|(&word, at)| bytes.write32(at, word))
        })
    }

    /// Stores 64-bit words: `count` of them from byte offset `at` on, the i-th being `value(i)`.
    pub(crate) fn fill64(&self, at: u64, count: u64, value: impl Fn(u64) -> u64) -> Result {
        let at = self.check(at, count.checked_mul(8).ok_or(EINVAL)?)?;
        self.vram.with(|bytes| {
            (0..count)
                .zip((at..).step_by(8))
                .try_for_each(|(i, at)| bytes.write64(at, value(i)))
        })
    }

    /// What is done to the device, counted.
    pub(crate) fn work(&self) -> &Work {
        self.vram.work()
    }

    fn check(&self, at: u64, len: u64) -> Result<u64> {
        match at.checked_add(len) {
            Some(end) if end <= self.len => self.start.checked_add(at).ok_or(EINVAL),
            _ => Err(EINVAL),
        }
    }
}

/// Pieces of VRAM with whatever their last owner left in them. Nobody but the driver may see them
/// before they are [`Cleared`].
pub(crate) struct Uncleared(KVVec<VramRange>);

impl Uncleared {
    /// Takes `len` bytes in as few pieces as there are.
    ///
    /// # Errors
    ///
    /// ENOMEM when there is not so much; EINTR when the caller is killed: small pieces may be very many.
    pub(crate) fn take(vram: &Arc<Vram>, len: u64) -> Result<Self> {
        let mut pieces = KVVec::new();
        let mut left = len.checked_next_multiple_of(PAGE).ok_or(EINVAL)?;
        if left > vram.free() {
            return Err(ENOMEM);
        }
        let mut want = left;
        while left > 0 {
            if caller::is_killed() {
                return Err(EINTR);
            }
            match VramRange::uncleared(vram, want.min(left)) {
                Ok(piece) => {
                    left = left.saturating_sub(piece.len);
                    pieces.push(piece, GFP_KERNEL_ACCOUNT)?;
                }
                Err(_) if want > PAGE => {
                    let half = want / 2;
                    // Behind a piece that ends within a large page no other could be mapped by large ones.
                    let unit = if half >= LARGE { LARGE } else { PAGE };
                    want = half.checked_next_multiple_of(unit).ok_or(EINVAL)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Self(pieces))
    }

    /// The pieces.
    pub(crate) fn pieces(&self) -> &[VramRange] {
        &self.0
    }

    /// For who has overwritten every byte of the pieces before anybody else sees them.
    pub(crate) fn into_overwritten(self) -> KVVec<VramRange> {
        self.0
    }

    /// For who has seen every byte of the pieces become zero.
    pub(crate) fn into_cleared(self) -> Cleared {
        Cleared(self.0)
    }
}

/// Pieces of VRAM that are zero: fit to be given out.
pub(crate) struct Cleared(KVVec<VramRange>);

impl Cleared {
    /// Pages that the driver has cleared, and what it wrote there since.
    pub(crate) fn whole(range: VramRange) -> Result<Self> {
        let mut pieces = KVVec::new();
        pieces.push(range, GFP_KERNEL_ACCOUNT)?;
        Ok(Self(pieces))
    }

    /// The pieces.
    pub(crate) fn into_pieces(self) -> KVVec<VramRange> {
        self.0
    }
}
