// SPDX-License-Identifier: GPL-2.0

//! Resetting the GPU when its scheduler doesn't answer.
//!
//! The scheduler lets no firmware take commands any more, every process on the GPU gets a hardware
//! exception, the GPU is reset, what was kept for want of an acknowledgement is freed, and the
//! firmware starts anew. As upstream, processes that used the GPU keep their memory and their queues never
//! run again; new ones start afresh.
//!
//! There are two ways. The engines' soft reset comes first: VRAM, page tables and the interrupt ring stay as they
//! are. If an engine goes on in spite of it, or a hub doesn't acknowledge that nothing has an old translation any
//! more, the whole device is reset ([`whole`]). Linux begins with that one.
//!
//! Sources: `kgd2kfd_pre_reset`, `kgd2kfd_post_reset`, `gfx_v9_4_3_soft_reset`.
//!
//! Called from a work item of its own that holds no lock: the scheduler's is taken while the firmware is
//! halted, and again while it starts. Every wait has a limit.

use super::{
    steps::Steps,
    Gpu,
    Upcalls, //
};
use crate::{
    gfx::PipeInterrupts,
    glue::pci::Master,
    gmc::Tlb,
    kept::Kept,
    sdma,
    smu::Smu,
    types::Hang, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

mod whole;

pub(crate) use whole::reset_device;
pub(super) use whole::Whole;

/// A way to stop all that runs on a GPU. `hal.rs` has those of each version.
pub(super) trait Method: Sync {
    /// How the log calls it.
    fn name(&self) -> &'static str;

    /// Resets the engines. Afterwards none of them touches memory, and they can be used again.
    ///
    /// # Errors
    ///
    /// ETIME when an engine goes on, ENODEV, and others of what is used for it.
    fn reset(&self, engines: &Engines) -> Result;
}

/// The command processor with all shaders, and the copy engines, by their own registers.
pub(super) struct Soft;

impl Method for Soft {
    fn name(&self) -> &'static str {
        "soft reset"
    }

    fn reset(&self, engines: &Engines) -> Result {
        engines.gpu.gfx.soft_reset();
        engines.gpu.dev.check_there()?;
        engines.gpu.hubs.restore_graphics();
        engines.sdma.reset()
    }
}

/// What a reset is made with.
pub(super) struct Engines {
    /// The ways to reset them, in the order in which they are tried.
    pub(super) methods: &'static [&'static dyn Method],
    pub(super) gpu: Arc<Gpu>,
    pub(super) user: Arc<dyn Upcalls>,
    pub(super) smu: Arc<Smu>,
    pub(super) master: Arc<Master>,
    /// What is made again after the whole device was reset.
    pub(super) steps: Steps,
    pub(super) sdma: Arc<sdma::Enabled>,
    pub(super) pipe_interrupts: Arc<PipeInterrupts>,
    pub(super) tlb: Arc<Tlb>,
    pub(super) kept: Arc<Kept>,
}

impl Engines {
    /// Resets the GPU if its scheduler is stuck, or if it is `deaf`: a hub doesn't acknowledge flushes. If that
    /// fails, it stays so. Returns whether the GPU can be used.
    pub(super) fn recover(&self, deaf: bool) -> bool {
        let (gpu, user) = (&self.gpu, &self.user);
        if deaf {
            dev_err!(
                gpu.device(),
                "a flush of TLBs isn't acknowledged; nothing may run any more\n"
            );
            gpu.scheduler().give_up();
        }
        if !gpu.scheduler().halt() {
            // An earlier run has seen to it.
            return true;
        }
        let resetting = gpu.dev.resetting();
        gpu.dev.note_reset();
        let number = gpu.dev.next_generation();
        user.gpu_reset(gpu, number, false);
        user.gpu_hang(gpu, Hang::Gpu);
        let result = self.start_again();
        drop(resetting);
        match result {
            Ok(()) => {
                dev_info!(
                    gpu.device(),
                    "the GPU works again; programs that used it have lost their queues\n"
                );
                user.gpu_reset(gpu, number, true);
                true
            }
            Err(Some(ENODEV)) => false,
            Err(_) => {
                dev_err!(
                    gpu.device(),
                    "the GPU can't be reset; it is of no use until the module is loaded again\n"
                );
                false
            }
        }
    }

    /// Stops everything and starts anew by the first method that works.
    ///
    /// # Errors
    ///
    /// That of the last method; `None` when there is no method.
    fn start_again(&self) -> Result<(), Option<Error>> {
        let mut result = Err(None);
        for method in self.methods {
            dev_err!(
                self.gpu.device(),
                "{}: resetting the GPU ({})\n",
                self.gpu.scheduler().hang_name(),
                method.name()
            );
            let tried = method
                .reset(self)
                .and_then(|()| self.prove())
                .and_then(|()| {
                    self.kept.release();
                    self.gpu.scheduler().restart()
                });
            result = tried.map_err(Some);
            match tried {
                Ok(()) => break,
                Err(error) => dev_err!(
                    self.gpu.device(),
                    "the {} doesn't help ({:?})\n",
                    method.name(),
                    error
                ),
            }
        }
        result
    }

    /// No engine has an old translation any more once all address spaces were flushed.
    fn prove(&self) -> Result {
        self.pipe_interrupts.renew();
        (0..16).try_for_each(|vmid| self.tlb.flush_vmid(vmid))
    }
}
