// SPDX-License-Identifier: GPL-2.0

//! What differs between graphics cores.

use super::waves::{
    Simd,
    Wave, //
};
use crate::{
    firmware::Starts,
    hw::{
        regs::{
            AnyField,
            AnyReg, //
        },
        value::Bounded, //
    },
    regs::{
        Regs,
        Tables, //
    },
    types::GcVersion, //
};
use kernel::{
    device::Device,
    prelude::*,
    str::CStr, //
};

mod v12_0;
mod v9_4_3;

/// How many addresses a GPU can watch (`num_of_watch_points`).
pub(crate) const WATCHES: usize = 4;

/// GRBM_GFX_CNTL: chooses which HQD's or which address space's registers are seen.
pub(crate) struct Grbm {
    pub(super) me: AnyField<2>,
    pub(super) pipe: AnyField<2>,
    pub(super) queue: AnyField<3>,
    pub(super) vmid: AnyField<4>,
}

/// What debuggers choose: SPI_GDBG_PER_VMID_CNTL and TCP_WATCH.
pub(crate) struct Debug {
    pub(super) trap: AnyField<1>,
    pub(super) exceptions: AnyField<9>,
    pub(super) replace: AnyField<1>,
    pub(super) start: AnyField<1>,
    pub(super) end: AnyField<1>,
    pub(super) mode: AnyField<2>,
    /// The upper and the lower half of each watched address.
    pub(super) watched: [[AnyReg; 2]; WATCHES],
    /// Bits of the mask, from bit 0 on.
    pub(super) watch_mask: u32,
    pub(super) watch_mode: AnyField<2>,
    pub(super) watch_valid: AnyField<1>,
}

/// The registers that all graphics cores have, each at its own place.
pub(crate) struct Registers {
    pub(super) grbm: Grbm,
    /// The layout of addresses in memory.
    pub(super) addresses: AnyReg,
    /// Makes the two after it show the clock.
    pub(super) capture_clock: AnyReg,
    pub(super) clock_low: AnyReg,
    pub(super) clock_high: AnyReg,
    /// Whether the run list controller runs.
    pub(super) rlc_runs: AnyField<1>,
    /// Asks the run list controller for something, and for what: 1, for its safe mode.
    pub(super) safe_command: AnyField<1>,
    pub(super) safe_message: AnyField<4>,
    /// The first of the selected HQD's registers, which are in the order of an MQD's words.
    pub(super) first_of_hqd: AnyReg,
    /// Whether a queue is on the selected HQD, and the word of its doorbell on the BAR.
    pub(super) active: AnyField<1>,
    pub(super) doorbell: AnyField<26>,
    /// Which queues of the first compute micro engine are on hardware queues, a bit for each; and how many waves of
    /// the selected pipe's first queue are on the selected shader engine. The other queues' follow.
    pub(super) slotted: AnyReg,
    pub(super) waves: AnyReg,
    /// The bits of the latter that count.
    pub(super) waves_mask: u32,
    /// How waves of an address space begin, and which addresses are watched.
    pub(super) debug: Debug,
    /// Interrupts of the selected compute pipe: end of pipe and bad opcodes.
    pub(super) end_of_pipe: AnyField<1>,
    pub(super) bad_opcode: AnyField<1>,
}

/// The registers in the module `$gc`.
macro_rules! registers {
    ($gc:ident) => {
        $crate::gfx::hal::Registers {
            grbm: $crate::gfx::hal::Grbm {
                me: $gc::GRBM_GFX_CNTL.field($gc::GRBM_GFX_CNTL::MEID),
                pipe: $gc::GRBM_GFX_CNTL.field($gc::GRBM_GFX_CNTL::PIPEID),
                queue: $gc::GRBM_GFX_CNTL.field($gc::GRBM_GFX_CNTL::QUEUEID),
                vmid: $gc::GRBM_GFX_CNTL.field($gc::GRBM_GFX_CNTL::VMID),
            },
            addresses: $gc::GB_ADDR_CONFIG.any(),
            capture_clock: $gc::RLC_CAPTURE_GPU_CLOCK_COUNT.any(),
            clock_low: $gc::RLC_GPU_CLOCK_COUNT_LSB.any(),
            clock_high: $gc::RLC_GPU_CLOCK_COUNT_MSB.any(),
            rlc_runs: $gc::RLC_CNTL.field($gc::RLC_CNTL::RLC_ENABLE_F32),
            safe_command: $gc::RLC_SAFE_MODE.field($gc::RLC_SAFE_MODE::CMD),
            safe_message: $gc::RLC_SAFE_MODE.field($gc::RLC_SAFE_MODE::MESSAGE),
            first_of_hqd: $gc::CP_MQD_BASE_ADDR.any(),
            active: $gc::CP_HQD_ACTIVE.field($gc::CP_HQD_ACTIVE::ACTIVE),
            doorbell: $gc::CP_HQD_PQ_DOORBELL_CONTROL
                .field($gc::CP_HQD_PQ_DOORBELL_CONTROL::DOORBELL_OFFSET),
            slotted: $gc::SPI_CSQ_WF_ACTIVE_STATUS.any(),
            waves: $gc::SPI_CSQ_WF_ACTIVE_COUNT_0.any(),
            waves_mask: $gc::SPI_CSQ_WF_ACTIVE_COUNT_0::COUNT.mask(),
            debug: $crate::gfx::hal::Debug {
                trap: $gc::SPI_GDBG_PER_VMID_CNTL.field($gc::SPI_GDBG_PER_VMID_CNTL::TRAP_EN),
                exceptions: $gc::SPI_GDBG_PER_VMID_CNTL.field($gc::SPI_GDBG_PER_VMID_CNTL::EXCP_EN),
                replace: $gc::SPI_GDBG_PER_VMID_CNTL
                    .field($gc::SPI_GDBG_PER_VMID_CNTL::EXCP_REPLACE),
                start: $gc::SPI_GDBG_PER_VMID_CNTL
                    .field($gc::SPI_GDBG_PER_VMID_CNTL::TRAP_ON_START),
                end: $gc::SPI_GDBG_PER_VMID_CNTL.field($gc::SPI_GDBG_PER_VMID_CNTL::TRAP_ON_END),
                mode: $gc::SPI_GDBG_PER_VMID_CNTL.field($gc::SPI_GDBG_PER_VMID_CNTL::LAUNCH_MODE),
                watched: [
                    [$gc::TCP_WATCH0_ADDR_H.any(), $gc::TCP_WATCH0_ADDR_L.any()],
                    [$gc::TCP_WATCH1_ADDR_H.any(), $gc::TCP_WATCH1_ADDR_L.any()],
                    [$gc::TCP_WATCH2_ADDR_H.any(), $gc::TCP_WATCH2_ADDR_L.any()],
                    [$gc::TCP_WATCH3_ADDR_H.any(), $gc::TCP_WATCH3_ADDR_L.any()],
                ],
                watch_mask: $gc::TCP_WATCH0_CNTL::MASK.mask(),
                watch_mode: $gc::TCP_WATCH0_CNTL.field($gc::TCP_WATCH0_CNTL::MODE),
                watch_valid: $gc::TCP_WATCH0_CNTL.field($gc::TCP_WATCH0_CNTL::VALID),
            },
            end_of_pipe: $gc::CPC_INT_CNTL.field($gc::CPC_INT_CNTL::TIME_STAMP_INT_ENABLE),
            bad_opcode: $gc::CPC_INT_CNTL.field($gc::CPC_INT_CNTL::OPCODE_ERROR_INT_ENABLE),
        }
    };
}
use registers;

/// Names of the files with a graphics core's firmware, by who hands it out.
pub(crate) enum Files {
    /// The security processor.
    Direct {
        /// Of the run list controller.
        rlc: &'static CStr,
        /// Of the compute micro engines.
        mec: &'static CStr,
    },
    /// The run list controller.
    Autoload {
        /// Of the graphics pipe's prefetch parser and of its micro engine.
        pfp: &'static CStr,
        /// As above.
        me: &'static CStr,
        /// Of the compute micro engine.
        mec: &'static CStr,
        /// Of the scheduler.
        mes: &'static CStr,
        /// Of the unit that starts the graphics core.
        imu: &'static CStr,
        /// Of the run list controller.
        rlc: &'static CStr,
    },
}

/// The graphics core of a version.
pub(crate) trait Hal: Sync {
    /// The tables of the registers that it uses.
    fn tables(&self) -> Tables;

    /// Checks that the command processors have firmware; logs what doesn't.
    ///
    /// # Errors
    ///
    /// ENODEV when one doesn't.
    fn check_firmware(&self, _dev: &Device, _regs: &Regs) -> Result {
        Ok(())
    }

    /// Checks that the device is set up in a way that is supported; logs what isn't.
    ///
    /// # Errors
    ///
    /// ENODEV when it isn't.
    fn check_mode(&self, _dev: &Device, _regs: &Regs) -> Result {
        Ok(())
    }

    /// Whether a command processor is halted that the driver can start.
    fn is_halted(&self, _regs: &Regs) -> bool {
        false
    }

    /// The files with which the driver starts it; `None` when it can't.
    fn files(&self) -> Option<Files> {
        None
    }

    /// Starts firmware that the security processor has loaded, which is there until
    /// [`Hal::halt_firmware`]. Programs begin where the files say, if they do. Where registers are a pipe's own,
    /// GRBM_GFX_CNTL points somewhere else meanwhile.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone, ETIME when the firmware doesn't start; logged.
    fn start_firmware(&self, dev: &Device, regs: &Regs, starts: Option<&Starts>) -> Result;

    /// Halts the engines whose code the driver had loaded.
    fn halt_firmware(&self, _regs: &Regs) {}

    /// The registers that all have.
    fn registers(&self) -> &'static Registers;

    /// Points GRBM_GFX_INDEX at a shader array of an XCC, until [`Hal::see_all_arrays`].
    fn see_array(&self, regs: &Regs, xcc: u8, engine: Bounded<4>, array: Bounded<2>);

    /// The compute units of a shader array that are not fused off. Points GRBM_GFX_INDEX at the
    /// array until [`Hal::see_all_arrays`].
    fn active_cus(&self, regs: &Regs, xcc: u8, engine: Bounded<4>, array: Bounded<2>) -> u32;

    /// Sets what has other values after a reset of the graphics core than the chip should run with.
    fn set_golden(&self, _regs: &Regs) {}

    /// Gates the clocks of what is idle, or has them run. The run list controller does it, so its firmware runs.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone.
    fn gate_clocks(&self, regs: &Regs, on: bool) -> Result;

    /// Sets whether XNACK is chained, by the version of the compute micro engine's firmware; 0 stands for firmware that
    /// another driver has loaded, with which it stays as that driver set it. Returns whether it is chained, which
    /// SET_RESOURCES has to say as well.
    fn chain_xnack(&self, _regs: &Regs, _version: u32) -> bool {
        false
    }

    /// The layout of addresses in memory, GB_ADDR_CONFIG: what the register holds, if the driver doesn't
    /// set it (`gfx_v12_0.c`, `get_gb_addr_config`).
    fn addresses(&self, regs: &Regs) -> u32 {
        regs.read(self.registers().addresses)
    }

    /// Points GRBM_GFX_INDEX at all arrays of an XCC, as usual.
    fn see_all_arrays(&self, regs: &Regs, xcc: u8);

    /// Points GRBM_GFX_INDEX at a SIMD until [`Hal::see_all_arrays`].
    fn see_simd(&self, regs: &Regs, simd: &Simd);

    /// The wave in a slot of the SIMD that GRBM_GFX_INDEX points at, if one is there.
    fn wave(&self, regs: &Regs, simd: &Simd, slot: Bounded<4>) -> Option<Wave>;

    /// Halts the micro engines, resets the command processor and all shaders, and lets the engine that
    /// executes queues run again. The firmware stays loaded.
    fn soft_reset(&self, regs: &Regs);
}

/// The one of a version (`amdgpu_discovery_set_gc_ip_blocks`).
pub(crate) fn hal(gc: GcVersion) -> &'static dyn Hal {
    match gc {
        GcVersion::V9_4_3 => &v9_4_3::Hal,
        GcVersion::V12_0_1 => &v12_0::Hal,
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &v12_0::Hal,
    }
}
