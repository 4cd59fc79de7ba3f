// SPDX-License-Identifier: MIT OR Apache-2.0

//! What halts the micro engines, and what resets them or the whole command processor.

use super::{undefined, Order, Regs, STORED};
use crate::device::Refused;
use crate::engines::cp::front::generation::GFX9_4_3;
use crate::engines::cp::front::registers::reaches_all;
use crate::engines::cp::front::slot::Slot;
use rkfd_hw::regs::gc_9_4_3 as gc;

/// `CP_MEC_CNTL` of micro engines that are halted, as they are from power-on.
pub(super) const HALTED: u32 =
    gc::CP_MEC_CNTL::MEC_ME1_HALT.mask() | gc::CP_MEC_CNTL::MEC_ME2_HALT.mask();

/// What they need before they run a program from its beginning (`gfx_v9_4_3_xcc_cp_compute_enable`).
const FRESH: u32 = {
    use gc::CP_MEC_CNTL as mec;
    HALTED
        | mec::MEC_INVALIDATE_ICACHE.mask()
        | mec::MEC_ME1_PIPE0_RESET.mask()
        | mec::MEC_ME1_PIPE1_RESET.mask()
        | mec::MEC_ME1_PIPE2_RESET.mask()
        | mec::MEC_ME1_PIPE3_RESET.mask()
        | mec::MEC_ME2_PIPE0_RESET.mask()
        | mec::MEC_ME2_PIPE1_RESET.mask()
};

impl Regs {
    /// What a store to GRBM_SOFT_RESET puts into reset: whether that is the command processor with all
    /// shaders, or nothing more than before.
    ///
    /// # Errors
    /// Other blocks, and the command processor without the waves that it launched, are not modelled.
    pub fn resets(&self, value: u32) -> Result<bool, Refused> {
        use gc::GRBM_SOFT_RESET as reset;
        let both = reset::SOFT_RESET_CP.mask() | reset::SOFT_RESET_GFX.mask();
        let parts = [
            reset::SOFT_RESET_CPF,
            reset::SOFT_RESET_CPC,
            reset::SOFT_RESET_CPG,
        ];
        let known = parts.iter().fold(both, |bits, part| bits | part.mask());
        if value & !known != 0 || value != 0 && value & both != both {
            return undefined("only a reset of CP with GFX is modelled");
        }
        if value & both != 0 && self.soft_reset == 0 && !self.are_all_halted() {
            // "Disable MEC parsing/prefetching".
            return undefined("the command processor is reset while its micro engines run");
        }
        if value & both != 0 && self.soft_reset == 0 && !self.mec_settling.is_done() {
            return undefined("the command processor is reset before a halt has taken effect");
        }
        Ok(value & both != 0 && self.soft_reset == 0)
    }

    /// The command processor and the shaders are held in reset: registers of the command processor have
    /// their start-up values but for what the security processor set, and what others own stays.
    pub fn soft_reset(&mut self, value: u32) {
        let new = Self::new(&self.facts, self.xcc, false);
        for (name, start) in STORED.iter().filter(|(name, _)| is_reset(name)) {
            let start = self.facts.start_up(name).unwrap_or(*start);
            // It is one of the stored ones.
            let _ = self.stored.put(name, start);
        }
        self.hqd = new.hqd;
        self.int_cntl = new.int_cntl;
        self.vmid = new.vmid;
        self.orders.clear();
        self.soft_reset = value;
        self.reset_settling.begin();
    }

    pub(super) fn write_mec_cntl(&mut self, value: u32) -> Result<(), Refused> {
        use gc::CP_MEC_CNTL as mec;
        if value & (mec::MEC_ME1_STEP.mask() | mec::MEC_ME2_STEP.mask()) != 0 {
            return undefined("single stepping is not modelled");
        }
        let xcc = self.xcc;
        for slot in GFX9_4_3.slots.all().map(|slot| slot.on(xcc)) {
            // Pipe resets: bits 16 to 19 for MEC1, 20 and 21 for MEC2.
            let bit = u32::from(mec::MEC_ME1_PIPE0_RESET.bit()) + (slot.me() - 1) * 4 + slot.pipe();
            if (value >> bit) & 1 == 1 && self.is_active(slot) {
                self.orders.push(Order::Drop(slot));
                self.set_active(slot, false);
            }
        }
        let fresh = value & FRESH == FRESH;
        if self.is_mec_stale && value & HALTED == 0 {
            return undefined(
                "the micro engines start without a reset of their pipes and an invalidation of their instruction cache",
            );
        }
        if self.mec_cntl & HALTED == 0 && value & HALTED != 0 {
            reaches_all(&self.stored)?;
        }
        if value & HALTED == 0 && !self.mec_settling.is_done() {
            return undefined("the micro engines start before their reset has taken effect");
        }
        if fresh {
            self.is_mec_stale = false;
            self.mec_settling.begin();
        }
        self.mec_cntl = value;
        Ok(())
    }

    /// Whether both micro engines are halted.
    pub(in super::super) fn are_all_halted(&self) -> bool {
        self.mec_cntl & HALTED == HALTED
    }

    /// Whether the micro engine of a slot is halted.
    pub fn is_halted(&self, slot: Slot) -> bool {
        use gc::CP_MEC_CNTL as mec;
        let halt = if slot.me() == 1 {
            mec::MEC_ME1_HALT
        } else {
            mec::MEC_ME2_HALT
        };
        self.mec_cntl & halt.mask() != 0
    }
}

/// Whether a stored register loses its value with the command processor.
fn is_reset(name: &str) -> bool {
    let by_others = ["CP_HYP_XCP_CTL", "CP_PSP_XCP_CTL"];
    let shaders = ["TCP_", "SQ_"];
    name.starts_with("CP_") && !by_others.contains(&name)
        || shaders.iter().any(|block| name.starts_with(block))
}
