// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a debugger has chosen for a VMID's waves: how they begin, and which addresses are watched.
//!
//! SPI_GDBG_PER_VMID_CNTL is the chips' own register; a scheduler sets it and TCP_WATCH0_CNTL to 3 with the
//! process, and the driver TCP_WATCH0_ADDR to 3, which all processes share.
//!
//! Sources: Linux, `amdgpu/amdgpu_amdkfd_gc_9_4_3.c`, `amdgpu/amdgpu_amdkfd_gfx_v12.c`; the launch modes are
//! `enum kfd_dbg_trap_wave_launch_mode` of `kfd_ioctl.h`, of which AMD's ROCdbgapi (`os_driver.h`,
//! `os_wave_launch_mode_t`) says what they do.

use super::registers::{Registers, Vmid};
// The same bits on all chips.
use rkfd_hw::regs::gc_9_4_3::SPI_GDBG_PER_VMID_CNTL as Control;
use rkfd_hw::regs::Value;
use rkfd_isa::{Launch, Watch, Watches};
use std::sync::Arc;

/// LAUNCH_MODE: waves begin as ever, halted, or by single instructions.
const NORMAL: u32 = 0;
const HALT: u32 = 1;
const DEBUG: u32 = 3;

/// How waves of a VMID begin, and what of it is not modelled.
pub(crate) fn launch(bank: &Vmid) -> (Launch, Option<&'static str>) {
    let control = Value::<Control>::new(bank.spi_gdbg);
    let (exceptions, mode) = (
        control.get(Control::EXCP_EN),
        control.get(Control::LAUNCH_MODE),
    );
    let missing = if control.is_set(Control::TRAP_ON_END) {
        Some("a trap at the end of each wave")
    } else if control.is_set(Control::STALL_VMID) {
        Some("a process whose waves are stalled")
    } else if ![NORMAL, HALT, DEBUG].contains(&mode) {
        Some("waves that aren't to begin at all")
    } else {
        None
    };
    let launch = Launch {
        exceptions,
        replaces: control.is_set(Control::EXCP_REPLACE),
        halted: mode == HALT,
        trapped: control.is_set(Control::TRAP_ON_START),
        stepped: mode == DEBUG,
    };
    (launch, missing)
}

/// A queue's way to what its debugger has chosen.
#[derive(Clone)]
pub(crate) struct Debugged {
    pub regs: Arc<dyn Registers>,
    /// Bits of TCP_WATCH_CNTL.MASK.
    pub mask_bits: u32,
}

impl Debugged {
    /// How waves of a VMID begin now.
    pub fn launch(&self, vmid: u8) -> Launch {
        launch(&self.regs.vmid(vmid)).0
    }

    /// The addresses that are watched now for a VMID on an XCC.
    pub fn watches(&self, vmid: u8, xcc: u8) -> Watches {
        let controls = self.regs.vmid(vmid).watch;
        if controls == [0; 4] {
            return Watches::default();
        }
        let addresses = self.regs.watched(xcc);
        std::array::from_fn(|n| Watch::from_registers(addresses[n], controls[n], self.mask_bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of `enum kfd_dbg_trap_wave_launch_mode` (`kfd_ioctl.h`), where Linux' drivers write them
    /// (`kgd_gfx_v9_4_3_set_wave_launch_mode`): a field of two bits from bit 1 on.
    #[test]
    fn waves_begin_as_their_debugger_wants() {
        let of = |mode: u32| {
            launch(&Vmid {
                spi_gdbg: mode << 1,
                ..Vmid::default()
            })
        };
        assert_eq!(of(0), (Launch::default(), None));
        let halted = Launch {
            halted: true,
            ..Launch::default()
        };
        assert_eq!(of(1), (halted, None));
        let stepped = Launch {
            stepped: true,
            ..Launch::default()
        };
        assert_eq!(of(3), (stepped, None));
        assert!(of(2).1.is_some(), "what Linux has no name for");
        // EXCP_EN from bit 4 on, EXCP_REPLACE at bit 13.
        let exceptions = Launch {
            exceptions: 0x81,
            replaces: true,
            ..Launch::default()
        };
        let control = Vmid {
            spi_gdbg: (0x81 << 4) | (1 << 13),
            ..Vmid::default()
        };
        assert_eq!(launch(&control), (exceptions, None));
    }
}
