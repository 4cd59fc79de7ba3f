// SPDX-License-Identifier: MIT OR Apache-2.0

//! All blocks of a device, and which one answers for a register.

use super::router::Place;
use super::soc::Soc;
use crate::blocks::{athub, hdp, nbio, osssys, psp, smuio, thm, vmhub};
use crate::device::firmware::Firmware;
use crate::device::{IpBlock, Refused};
use crate::engines::sdma::regs::Registers;
use crate::engines::sdma::{Engines, Sdma};
use rkfd_hw::regs::{Block, RegInfo};
use std::sync::Arc;

/// Registers of the graphics core that can be read before it has firmware: what says that it has, and one that
/// Linux changes early (`gfx_v12_0_update_spm_vmid`), to no effect.
const EARLY: [&str; 3] = ["CP_STAT", "RLC_RLCS_BOOTLOAD_STATUS", "RLC_SPM_MC_CNTL"];

/// A graphics core that isn't there yet: the unit that starts it (IMU) has no firmware.
struct Absent;

impl IpBlock for Absent {
    fn read(&self, _: &'static RegInfo) -> Result<u32, Refused> {
        Err(Refused::Undefined(
            "the graphics core isn't there before its firmware".into(),
        ))
    }

    fn write(&self, reg: &'static RegInfo, _: u32) -> Result<(), Refused> {
        self.read(reg).map(|_| ())
    }

    fn reset(&self) {}
}

/// All blocks of the device.
pub struct Blocks {
    /// North-bridge I/O.
    pub nbio: Arc<nbio::Nbio>,
    /// The same on other base dies than the first.
    further_nbios: Vec<nbio::Further>,
    psp: psp::Psp,
    hdp: hdp::Hdp,
    smu: Box<dyn IpBlock>,
    smuio: smuio::Smuio,
    thm: thm::Thm,
    athub: athub::Athub,
    osssys: osssys::Osssys,
    /// The multimedia hub of each base die.
    mmhubs: Vec<vmhub::VmHubBlock>,
    /// The graphics hub of each XCC, and the rest of its graphics core.
    gfxhubs: Vec<vmhub::VmHubBlock>,
    cores: Vec<Arc<dyn IpBlock>>,
    /// The registers of each SDMA engine.
    sdma: Vec<Registers>,
    engines: Sdma,
    soc: Arc<Soc>,
    /// Which registers are the SDMA engines'.
    copies: Arc<Engines>,
}

impl Blocks {
    /// The blocks in their start-up state.
    pub fn new(soc: &Arc<Soc>, cores: Vec<Arc<dyn IpBlock>>, sdma: &Arc<Engines>) -> Self {
        let nbio = Arc::new(nbio::Nbio::new(soc.clone(), soc.chip.nbio()));
        Self {
            further_nbios: nbio::Further::all(&nbio),
            nbio,
            psp: psp::Psp::new(
                soc.clone(),
                soc.chip.psp,
                (soc.chip.xccs(), soc.chip.dies()),
            ),
            hdp: hdp::Hdp::new(soc.clone(), soc.chip.hdp_flushes_by_itself),
            smu: (soc.chip.smu)(soc.clone(), sdma.clone(), soc.chip.xccs()),
            smuio: smuio::Smuio::new(soc.clone(), &soc.chip.rom()),
            thm: thm::Thm::default(),
            athub: athub::Athub::new(
                soc.clone(),
                (soc.chip.blocks.iter().flat_map(|block| block.table.regs))
                    .any(|reg| reg.reg.name == "ATHUB_MISC_CNTL"),
            ),
            osssys: osssys::Osssys::new(
                soc.clone(),
                soc.interrupts.clone(),
                (soc.chip.facts().start_up("IH_RING1_CLIENT_CFG_DATA")).unwrap_or(0),
                (soc.chip.blocks.iter().flat_map(|block| block.table.regs))
                    .any(|reg| reg.reg.name == "IH_MSI_STORM_CTRL"),
            ),
            mmhubs: (soc.memory.multimedia_hubs())
                .map(|hub| vmhub::VmHubBlock::new(soc.clone(), hub))
                .collect(),
            gfxhubs: (soc.memory.graphics_hubs())
                .map(|hub| vmhub::VmHubBlock::new(soc.clone(), hub))
                .collect(),
            cores,
            sdma: (0..soc.chip.sdma.engines)
                .map(|engine| Registers::new(sdma.clone(), engine))
                .collect(),
            engines: Sdma::new(sdma.clone()),
            soc: soc.clone(),
            copies: sdma.clone(),
        }
    }

    /// The block that answers for a register.
    pub fn get(&self, at: Place) -> Option<&dyn IpBlock> {
        fn one<T: IpBlock>(block: Option<&T>) -> Option<&dyn IpBlock> {
            block.map(|block| block as &dyn IpBlock)
        }
        let n = usize::from(at.instance);
        Some(match at.block {
            Block::Gc if self.is_absent() && !EARLY.contains(&at.reg.reg.name) => &Absent,
            Block::Gc if vmhub::owns(&self.soc.memory, at.reg) => return one(self.gfxhubs.get(n)),
            Block::Gc if self.copies.owns(at.reg) => return one(self.sdma.get(n)),
            Block::Gc => return self.cores.get(n).map(|core| &**core),
            Block::Sdma => return one(self.sdma.get(n)),
            Block::Mmhub => return one(self.mmhubs.get(n)),
            Block::Athub => &self.athub,
            Block::Osssys => &self.osssys,
            Block::Hdp => &self.hdp,
            Block::Smuio => &self.smuio,
            Block::Thm => &self.thm,
            Block::Nbio if n > 0 => return one(self.further_nbios.get(n - 1)),
            Block::Nbio => &*self.nbio,
            Block::Mp0 => &self.psp,
            Block::Mp1 => &*self.smu,
        })
    }

    /// Whether the graphics core has to be started by firmware that nobody has loaded.
    fn is_absent(&self) -> bool {
        self.soc.chip.psp.autoload.is_some() && !self.soc.firmware.has(Firmware::RlcStarted(0))
    }

    /// Start-up state. The command processor is first, then what it schedules: nothing works while
    /// the others change.
    pub fn reset(&self) {
        self.cores.iter().for_each(|core| core.reset());
        self.engines.reset();
        let hubs = self.gfxhubs.iter().chain(&self.mmhubs);
        hubs.for_each(IpBlock::reset);
        let all: [&dyn IpBlock; 8] = [
            &self.osssys,
            &self.athub,
            &self.hdp,
            &self.psp,
            &*self.smu,
            &self.smuio,
            &self.thm,
            &*self.nbio,
        ];
        for block in all {
            block.reset();
        }
    }
}
