// SPDX-License-Identifier: MIT OR Apache-2.0

//! The IP blocks: the registers of each, and what they do.
//!
//! A block lists the registers that it models, by name. Some are plain storage ([`store`]): the
//! hardware's behaviour that hangs on them is not visible to a driver of compute queues. A register
//! of the table that no block lists is refused as not modelled.

pub mod athub;
pub mod discovery;
pub mod hdp;
pub mod mp0;
pub mod nbio;
pub mod osssys;
pub mod store;
pub mod vmhub;

use crate::device::router::Place;
use crate::device::{IpBlock, Soc};
use crate::memory::Hub;
use crate::sdma::regs::Registers;
use crate::sdma::Sdma;
use rkfd_hw::regs::Block;
use std::sync::Arc;

/// All blocks of the device.
pub struct Blocks {
    /// North-bridge I/O.
    pub nbio: nbio::Nbio,
    mp0: mp0::Mp0,
    hdp: hdp::Hdp,
    athub: athub::Athub,
    osssys: osssys::Osssys,
    mmhub: vmhub::VmHubBlock,
    gfxhub: vmhub::VmHubBlock,
    scheduler: Arc<dyn IpBlock>,
    /// The registers of each SDMA engine.
    sdma: Vec<Registers>,
    engines: Sdma,
    soc: Arc<Soc>,
}

impl Blocks {
    /// The blocks in their start-up state.
    pub fn new(soc: &Arc<Soc>, scheduler: Arc<dyn IpBlock>) -> Self {
        Self {
            nbio: nbio::Nbio::new(soc.clone()),
            mp0: mp0::Mp0::new(soc),
            hdp: hdp::Hdp::new(),
            athub: athub::Athub::new(soc.clone()),
            osssys: osssys::Osssys::new(soc.clone()),
            mmhub: vmhub::VmHubBlock::new(soc.clone(), Hub::Mm),
            gfxhub: vmhub::VmHubBlock::new(soc.clone(), Hub::Gfx),
            scheduler,
            sdma: (0..soc.chip.sdma.engines)
                .map(|engine| Registers::new(soc.clone(), engine))
                .collect(),
            engines: Sdma::new(soc.clone()),
            soc: soc.clone(),
        }
    }

    /// The block that answers for a register.
    pub fn get(&self, at: Place) -> &dyn IpBlock {
        let sdma = || self.sdma.get(usize::from(at.instance));
        match at.block {
            Block::Gc if vmhub::owns(&self.soc, at.reg) => &self.gfxhub,
            Block::Gc if self.soc.sdma.owns(at.reg) => sdma().map_or(&*self.scheduler, |s| s),
            Block::Gc => &*self.scheduler,
            Block::Sdma => sdma().map_or(&*self.scheduler, |s| s),
            Block::Mmhub => &self.mmhub,
            Block::Athub => &self.athub,
            Block::Osssys => &self.osssys,
            Block::Hdp => &self.hdp,
            Block::Nbio => &self.nbio,
            Block::Mp0 => &self.mp0,
        }
    }

    /// Start-up state. The command processor is first, then what it schedules: nothing works while
    /// the others change.
    pub fn reset(&self) {
        self.scheduler.reset();
        self.engines.reset();
        let all: [&dyn IpBlock; 7] = [
            &self.gfxhub,
            &self.mmhub,
            &self.osssys,
            &self.athub,
            &self.hdp,
            &self.mp0,
            &self.nbio,
        ];
        for block in all {
            block.reset();
        }
    }
}
