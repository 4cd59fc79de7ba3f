// SPDX-License-Identifier: GPL-2.0

//! The steps of bring-up that a reset of the whole device undoes, in the order in which they were made: in the same
//! order they are made again.

use super::clocks::Gates;
use crate::{
    firmware::AnySet,
    gfx::PipeInterrupts,
    glue::pci::Master,
    gmc::{
        self,
        FaultInterrupts, //
    },
    ih,
    nbio,
    sdma,
    smu, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A step, which is undone when it is dropped.
pub(super) trait Step: Send + Sync {
    /// Makes it again on a device that has lost everything, with its firmware at hand.
    ///
    /// # Errors
    ///
    /// As when it was made first.
    fn again(&self, files: &AnySet) -> Result;

    /// The device couldn't be reset, and reads no memory any more: whoever would answer through memory isn't to be asked
    /// when the step is undone.
    fn give_up(&self) {}
}

/// The steps so far.
pub(super) struct Steps(KVec<Arc<dyn Step>>);

impl Steps {
    /// None.
    pub(super) fn new() -> Self {
        Self(KVec::new())
    }

    /// A step was made.
    pub(super) fn made<T: Step + 'static>(&mut self, step: T) -> Result<Arc<T>> {
        let step = Arc::new(step, GFP_KERNEL)?;
        self.add(step.clone())?;
        Ok(step)
    }

    /// A step was made.
    pub(super) fn add<T: Step + 'static>(&mut self, step: Arc<T>) -> Result {
        self.0.push(step, GFP_KERNEL)?;
        Ok(())
    }

    /// Makes them again, on a device that has lost everything.
    ///
    /// # Errors
    ///
    /// Those of the first that fails.
    pub(super) fn again(&self, files: &AnySet) -> Result {
        self.0.iter().try_for_each(|step| step.again(files))
    }

    /// The device couldn't be reset, and reads no memory any more.
    pub(super) fn give_up(&self) {
        self.0.iter().for_each(|step| step.give_up());
    }
}

impl Drop for Steps {
    /// Whoever holds the last reference to a step undoes it: the last one first.
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

impl Step for Master {
    /// It comes with configuration space ([`Master::suspend`]).
    fn again(&self, _: &AnySet) -> Result {
        Ok(())
    }
}

impl Step for nbio::Enabled {
    fn again(&self, _: &AnySet) -> Result {
        self.renew();
        Ok(())
    }
}

impl Step for gmc::Enabled {
    fn again(&self, _: &AnySet) -> Result {
        self.renew()
    }
}

impl Step for ih::Handler {
    fn again(&self, _: &AnySet) -> Result {
        self.renew()
    }
}

impl Step for FaultInterrupts {
    fn again(&self, _: &AnySet) -> Result {
        self.renew();
        Ok(())
    }
}

impl Step for Gates {
    fn again(&self, _: &AnySet) -> Result {
        self.renew()
    }
}

impl Step for PipeInterrupts {
    fn again(&self, _: &AnySet) -> Result {
        self.renew();
        Ok(())
    }
}

impl Step for sdma::Enabled {
    fn again(&self, _: &AnySet) -> Result {
        self.renew()
    }
}

impl Step for smu::Enabled {
    fn again(&self, _: &AnySet) -> Result {
        self.renew()
    }
}
