// SPDX-License-Identifier: GPL-2.0

//! Registers: BAR 5, by IP block, instance and segment.
//!
//! A register of [`crate::hw::regs`] is a segment of its IP block plus an offset, both in words;
//! the discovery table has the places of each instance's segments. The first 512 KiB of the
//! register space are BAR 5 itself; what lies beyond, on chips that have such, is reached through
//! an index and a data register of NBIO, one access at a time, as `amdgpu_device_rreg` does.
//!
//! When the device is gone, loads give all ones, as PCI Express does for a device that was
//! pulled out, and stores go nowhere. So callers need no error path for each access; what waits
//! for a register has a timeout, and [`Regs::gone`] answers. The same holds for the graphics core alone
//! where that has no firmware ([`Regs::put_graphics_away`]).

use crate::{
    counts::{
        Deed,
        Work, //
    },
    discovery::Discovery,
    glue::linux::{
        DevresBar,
        ETIME, //
    },
    hw::regs::{
        AnyReg,
        Block,
        Reg,
        Register,
        Table,
        Value, //
    }, //
};
use kernel::{
    device,
    io::{
        poll::read_poll_timeout,
        Io, //
    },
    new_mutex,
    pci,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        Arc,
        Mutex, //
    },
    time::Delta, //
};

mod presence;

use presence::Presence;

/// BAR 5 by word index, before it is known which blocks there are.
pub(crate) struct Mmio {
    bar: DevresBar,
    bytes: usize,
    work: Work,
}

impl Mmio {
    /// Maps BAR 5.
    pub(crate) fn map(pdev: &pci::Device<device::Bound>) -> Result<Self> {
        let bar = pdev.iomap_region(5, c"rkfd registers")?;
        let bytes = usize::try_from(pdev.resource_len(5)?)?;
        Ok(Self {
            bar: bar.into_devres()?,
            bytes,
            work: Work::new(),
        })
    }

    /// Loads the word with that index.
    pub(crate) fn read(&self, word: u32) -> u32 {
        self.work.add(Deed::RegisterLoads, 1);
        self.bar
            .try_access_with(|bar| bar.try_read32((word as usize) << 2).unwrap_or(u32::MAX))
            .unwrap_or(u32::MAX)
    }

    /// Stores the word with that index.
    pub(crate) fn write(&self, word: u32, value: u32) {
        self.work.add(Deed::RegisterStores, 1);
        // A word outside can't be: callers compare with `bytes`. A missing device takes no stores.
        let _ = self
            .bar
            .try_access_with(|bar| bar.try_write32(value, (word as usize) << 2));
    }

    fn contains(&self, word: u32) -> bool {
        (word as usize) < self.bytes / 4
    }
}

/// What can be loaded and stored: a typed register, whose values are its own, or one without a type
/// in a table over registers of several types.
pub(crate) trait Target: Copy {
    /// What a load gives and a store takes.
    type Value;

    /// Block, segment and offset.
    fn place(self) -> (Block, u8, u32);
    /// The value of a word.
    fn value(word: u32) -> Self::Value;
    /// The word of a value.
    fn word(value: Self::Value) -> u32;
}

impl<R: Register> Target for Reg<R> {
    type Value = Value<R>;

    fn place(self) -> (Block, u8, u32) {
        self.any().place()
    }

    fn value(word: u32) -> Value<R> {
        Value::new(word)
    }

    fn word(value: Value<R>) -> u32 {
        value.bits()
    }
}

impl Target for AnyReg {
    type Value = u32;

    fn place(self) -> (Block, u8, u32) {
        (self.block, self.segment, self.offset)
    }

    fn value(word: u32) -> u32 {
        word
    }

    fn word(value: u32) -> u32 {
        value
    }
}

/// What accesses need of the chip's bus side.
pub(crate) struct Access {
    /// MiB of VRAM; never all ones.
    pub(crate) memory_size: AnyReg,
    /// The way to registers beyond BAR 5, where there are such.
    pub(crate) window: Option<Window>,
}

/// A register that takes the address of another, in two halves where the chip has more than 32 bits of them, and one that is
/// it then.
pub(crate) struct Window {
    pub(crate) index: AnyReg,
    pub(crate) index_high: Option<AnyReg>,
    pub(crate) data: AnyReg,
}

/// Tables of registers: those that a version of a block uses.
pub(crate) type Tables = &'static [&'static Table];

/// All registers.
#[pin_data]
pub(crate) struct Regs {
    mmio: Mmio,
    discovery: Discovery,
    access: Access,
    presence: Presence,
    /// The graphics core isn't there.
    no_graphics: Atomic<u32>,
    /// Held over the two steps of an indirect access.
    #[pin]
    indirect: Mutex<()>,
}

impl Regs {
    /// Checks that the device lists every block and segment that the tables in use name.
    pub(crate) fn new(
        dev: &device::Device,
        tables: impl Iterator<Item = &'static Table>,
        access: Access,
        mmio: Mmio,
        discovery: Discovery,
    ) -> Result<Arc<Self>> {
        let mut registers = tables.flat_map(|table| table.regs);
        let missing = registers.find(|info| {
            discovery
                .base(info.reg.block, 0, info.reg.segment)
                .is_none()
        });
        if let Some(info) = missing {
            dev_err!(
                dev,
                "the discovery table has no base address {} for block {:?} (register {})\n",
                info.reg.segment,
                info.reg.block,
                info.reg.name
            );
            return Err(ENODEV);
        }
        Arc::pin_init(
            pin_init!(Self {
                mmio,
                discovery,
                access,
                presence: Presence::new(),
                no_graphics: Atomic::new(0),
                indirect <- new_mutex!((), "rkfd indirect registers"),
            }),
            GFP_KERNEL,
        )
    }

    /// What is done to the device, counted.
    pub(crate) fn work(&self) -> &Work {
        &self.mmio.work
    }

    /// Stores a word by its index, for what no table names.
    pub(crate) fn write_word(&self, word: u32, value: u32) {
        self.mmio.write(word, value);
    }

    /// Loads a word by its index, for what no table names.
    pub(crate) fn read_word(&self, word: u32) -> u32 {
        self.load(word)
    }

    /// The device's IP blocks, by its discovery table.
    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The graphics core has no firmware, and on some chips must not be looked at until the run list controller has
    /// handed that out ([`Self::bring_graphics_back`]).
    pub(crate) fn put_graphics_away(&self) {
        self.no_graphics.store(1, Release);
    }

    /// The graphics core can be looked at again.
    pub(crate) fn bring_graphics_back(&self) {
        self.no_graphics.store(0, Release);
    }

    /// Whether the registers of a block are there.
    fn has<T: Target>(&self, reg: T) -> bool {
        reg.place().0 != Block::Gc || self.no_graphics.load(Acquire) == 0
    }

    /// The word index of a register of instance `instance` of its block.
    pub(crate) fn word<T: Target>(&self, reg: T, instance: u8) -> Option<u32> {
        let (block, segment, offset) = reg.place();
        self.discovery
            .base(block, instance, segment)?
            .checked_add(offset)
    }

    /// Loads a register of instance 0.
    pub(crate) fn read<T: Target>(&self, reg: T) -> T::Value {
        self.read_at(0, reg)
    }

    /// Stores a register of instance 0.
    pub(crate) fn write<T: Target>(&self, reg: T, value: T::Value) {
        self.write_at(0, reg, value)
    }

    /// Loads, changes and stores a register of instance 0.
    pub(crate) fn update<T: Target>(&self, reg: T, change: impl FnOnce(T::Value) -> T::Value) {
        self.update_at(0, reg, change)
    }

    /// Loads a register of an instance.
    pub(crate) fn read_at<T: Target>(&self, instance: u8, reg: T) -> T::Value {
        T::value(match self.word(reg, instance) {
            Some(word) if self.has(reg) => self.load(word),
            _ => u32::MAX,
        })
    }

    /// Stores a register of an instance.
    pub(crate) fn write_at<T: Target>(&self, instance: u8, reg: T, value: T::Value) {
        if let Some(word) = self.word(reg, instance).filter(|_| self.has(reg)) {
            self.store(word, T::word(value));
        }
    }

    /// Loads, changes and stores a register of an instance.
    pub(crate) fn update_at<T: Target>(
        &self,
        instance: u8,
        reg: T,
        change: impl FnOnce(T::Value) -> T::Value,
    ) {
        self.write_at(instance, reg, change(self.read_at(instance, reg)))
    }

    /// Stores a register of an instance of a block whose instances have the same base addresses, each on a base die of its
    /// own (`WREG32_SOC15_EXT`, `amdgpu_reg_smn_v1_0_get_base`).
    pub(crate) fn write_on_die(&self, die: u8, reg: AnyReg, value: u32) {
        /// The address is of another die than the first.
        const ELSEWHERE: u64 = 1 << 34;
        let Some(word) = self.word(reg, die) else {
            return;
        };
        match u64::from(die & 3) << 32 {
            0 => self.store(word, value),
            die => self.store_beyond(u64::from(word) << 2 | die | ELSEWHERE, value),
        }
    }

    fn load(&self, word: u32) -> u32 {
        if self.mmio.contains(word) {
            return self.mmio.read(word);
        }
        self.indirectly(u64::from(word) << 2, |data| self.mmio.read(data))
            .unwrap_or(u32::MAX)
    }

    fn store(&self, word: u32, value: u32) {
        if self.mmio.contains(word) {
            return self.mmio.write(word, value);
        }
        self.store_beyond(u64::from(word) << 2, value);
    }

    /// Stores a word by its address, which BAR 5 doesn't show.
    fn store_beyond(&self, bytes: u64, value: u32) {
        self.indirectly(bytes, |data| {
            self.mmio.write(data, value);
            // Waits until the store has arrived.
            self.mmio.read(data)
        });
    }

    /// Points the window of NBIO at an address and lets `f` use the window's data register.
    fn indirectly<R>(&self, bytes: u64, f: impl FnOnce(u32) -> R) -> Option<R> {
        let window = self.access.window.as_ref()?;
        let index = self.word(window.index, 0)?;
        let data = self.word(window.data, 0)?;
        let _lock = self.indirect.lock();
        let high = (bytes >> 32) as u32;
        let index_hi = match window.index_high {
            Some(index_high) if high != 0 => Some(self.word(index_high, 0)?),
            None if high != 0 => return None,
            _ => None,
        };
        self.mmio.write(index, bytes as u32);
        self.mmio.read(index);
        if let Some(index_hi) = index_hi {
            self.mmio.write(index_hi, high & 0xff);
            self.mmio.read(index_hi);
        }
        let result = f(data);
        if let Some(index_hi) = index_hi {
            self.mmio.write(index_hi, 0);
            self.mmio.read(index_hi);
        }
        Some(result)
    }

    /// Waits until a register of an instance satisfies `done`.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone, ETIME after `timeout`.
    pub(crate) fn wait_at<T: Target>(
        &self,
        instance: u8,
        reg: T,
        timeout: Delta,
        done: impl Fn(T::Value) -> bool,
    ) -> Result<T::Value> {
        self.word(reg, instance).ok_or(ENODEV)?;
        // All ones is a missing device, unless that says otherwise.
        let load = || match T::word(self.read_at(instance, reg)) {
            u32::MAX if self.gone() => Err(ENODEV),
            value => Ok(value),
        };
        read_poll_timeout(
            load,
            |&word| done(T::value(word)),
            Delta::from_micros(5),
            timeout,
        )
        .map(T::value)
        .map_err(|error| if error == ENODEV { ENODEV } else { ETIME })
    }

    /// The device was unbound or doesn't answer: its memory size, never all ones, reads so.
    pub(crate) fn gone(&self) -> bool {
        self.read(self.access.memory_size) == u32::MAX
    }

    /// Waits until earlier stores have arrived: a load overtakes none.
    pub(crate) fn settle(&self) {
        self.read(self.access.memory_size);
    }

    /// The instances of a block, in ascending order.
    pub(crate) fn instances(&self, block: Block) -> impl Iterator<Item = u8> + '_ {
        self.discovery.instances(block as u16)
    }
}
