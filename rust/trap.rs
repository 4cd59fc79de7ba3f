// SPDX-License-Identifier: GPL-2.0

//! The trap handler of a process on a GPU: two pages of its address space, with the driver's code and the
//! memory in which that finds the program's handler.
//!
//! Waves enter the driver's handler (`chip/handlers`) for whatever traps. It saves them when the
//! hardware takes their queue off, and passes everything else to the handler that SET_TRAP_HANDLER has named
//! (`kfd_process_device_init_cwsr_dgpu`, `kfd_process_set_trap_handler`).

use crate::{
    bo::Bo,
    gpu::Gpu,
    limit::VramShare,
    types::{
        GpuVa,
        PageRange, //
    },
    vm::{
        MapFlags,
        Vm, //
    },
    vram::{
        Cleared,
        VramRange, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Where the pages are: below what upstream reserves at the end of the 48 bits
/// (`AMDGPU_VA_RESERVED_TRAP_START`: 64 KiB, 2 MiB and 2 MiB).
const START: GpuVa = GpuVa::new((1 << 48) - (2 << 20) - (2 << 20) - (64 << 10));
/// Bytes of the pages (`KFD_CWSR_TBA_TMA_SIZE`).
const SIZE: u64 = 2 * PageRange::PAGE;
/// Where the handler's memory is in them (`KFD_CWSR_TMA_OFFSET`); code is in front of it.
const MEMORY: u64 = PageRange::PAGE + 2048;
/// Words of 64 bits in the memory: the program's handler, that one's memory, and whether a debugger is attached.
const PROGRAM: usize = MEMORY as usize / 8;

/// The driver's trap handler in a process' address space. Dropping it takes it out.
pub(crate) struct TrapPages {
    vm: Arc<Vm>,
    at: PageRange,
    gpu: Arc<Gpu>,
    bo: Arc<Bo>,
    _share: VramShare,
}

impl TrapPages {
    /// Puts the handler into an address space, without one of the program's.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV when the device is gone.
    pub(crate) fn new(gpu: &Arc<Gpu>, vm: &Arc<Vm>) -> Result<Self> {
        let code = gpu.chip().family.trap_handler;
        let at = PageRange::new(START, SIZE)?;
        let vram = VramRange::new(&gpu.memory().vram, SIZE)?;
        vram.write_words(0, code)?;
        let bo = Bo::of_vram(gpu.memory(), Cleared::whole(vram)?)?;
        gpu.memory().vram.flush_hdp();
        let flags = MapFlags {
            executable: true,
            ..MapFlags::default()
        };
        vm.map(at, &bo, flags)?;
        Ok(Self {
            vm: vm.clone(),
            at,
            gpu: gpu.clone(),
            bo,
            _share: VramShare::new(gpu, SIZE),
        })
    }

    /// What SQ_SHADER_TBA names.
    pub(crate) fn code(&self) -> GpuVa {
        self.at.start()
    }

    /// What SQ_SHADER_TMA names.
    pub(crate) fn memory(&self) -> GpuVa {
        self.at.start().byte(MEMORY)
    }

    /// Sets the program's handler and that one's memory; 0 for none. Waves find it at their next trap.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone.
    pub(crate) fn set_program(&self, code: GpuVa, memory: GpuVa) -> Result {
        self.bo.write_u64(PROGRAM, code.get())?;
        self.bo.write_u64(PROGRAM + 1, memory.get())?;
        self.gpu.memory().vram.flush_hdp();
        Ok(())
    }
}

impl TrapPages {
    /// Tells the handlers whether a debugger is attached (`kfd_process_set_trap_debug_flag`).
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone.
    pub(crate) fn set_debugged(&self, on: bool) -> Result {
        self.bo.write_u64(PROGRAM + 2, on.into())?;
        self.gpu.memory().vram.flush_hdp();
        Ok(())
    }
}

impl Drop for TrapPages {
    fn drop(&mut self) {
        // What the hardware doesn't acknowledge is kept.
        let _ = self.vm.unmap(self.at).and_then(|unmapped| unmapped.flush());
    }
}
