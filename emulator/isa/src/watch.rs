// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watched addresses: vector memory's accesses that raise an exception, as TCP_WATCH0 to 3 set them.
//!
//! From Linux's register headers (`TCP_WATCH0_CNTL`), `amdgpu_amdkfd_gc_9_4_3.c` and
//! `amdgpu_amdkfd_gfx_v12.c` (`set_address_watch`) and `kfd_ioctl.h`
//! (`kfd_dbg_trap_address_watch_mode`); that bits of an address outside of the mask's are always compared is
//! ROCdbgapi's reading.

use crate::fault::Access;

/// Address bits that no watch compares.
const WITHOUT: u64 = (1 << 7) - 1;
/// Bits of an address.
const ADDRESS: u64 = (1 << 48) - 1;

/// Which accesses a watch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// Loads.
    Read,
    /// Stores and atomics.
    NonRead,
    /// Atomics.
    Atomic,
    /// Every access.
    All,
}

/// A watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The address.
    pub address: u64,
    /// Its bits that are compared.
    pub compared: u64,
    /// For which accesses.
    pub mode: WatchMode,
}

impl Watch {
    /// From TCP_WATCH_ADDR_H and L as one address, and TCP_WATCH_CNTL with a mask of so many bits; `None` if it
    /// isn't valid.
    pub fn from_registers(address: u64, control: u32, mask_bits: u32) -> Option<Self> {
        let masked = ((1 << mask_bits) - 1) << 7;
        let compared = ((u64::from(control) << 7) & masked) | (ADDRESS & !masked & !WITHOUT);
        (control >> 31 != 0).then_some(Self {
            address,
            compared,
            mode: match (control >> 29) & 3 {
                0 => WatchMode::Read,
                1 => WatchMode::NonRead,
                2 => WatchMode::Atomic,
                _ => WatchMode::All,
            },
        })
    }

    /// Whether an access to so many bytes from an address on is one that is watched for.
    fn meets(&self, va: u64, bytes: usize, access: Access) -> bool {
        let meant = match self.mode {
            WatchMode::Read => access == Access::Read,
            WatchMode::NonRead => access != Access::Read,
            WatchMode::Atomic => access == Access::Atomic,
            WatchMode::All => true,
        };
        let last = va.wrapping_add(bytes as u64 - 1);
        let equal = |va: u64| (va ^ self.address) & self.compared == 0;
        meant && (equal(va) || equal(last))
    }
}

/// The watches of a process.
pub type Watches = [Option<Watch>; 4];

/// What an instruction has met of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watching {
    /// Those there are.
    pub watches: Watches,
    /// The instruction is one of vector memory, and there are some.
    pub on: bool,
    /// Bit n: watch n was met.
    pub met: u8,
}

impl Watching {
    /// Nothing met yet.
    pub fn new(watches: Watches) -> Self {
        Self {
            watches,
            ..Self::default()
        }
    }

    /// An instruction of vector memory begins.
    #[inline]
    pub fn begin(&mut self) {
        self.on = self.watches != Watches::default();
    }

    /// An access of it.
    #[cold]
    pub fn touch(&mut self, va: u64, bytes: usize, access: Access) {
        for (n, watch) in self.watches.iter().enumerate() {
            let met = watch.is_some_and(|watch| watch.meets(va, bytes, access));
            self.met |= u8::from(met) << n;
        }
    }
}
