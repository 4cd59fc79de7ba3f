// SPDX-License-Identifier: MIT OR Apache-2.0

//! SET_HW_RSRC: what the scheduler has, and how it works.
//!
//! Source: Linux, `amdgpu/mes_v12_0.c` (`mes_v12_0_set_hw_resources`).

use super::failure::{api, code, memory, not_modelled, Failure};
use super::firmware::Firmware;
use super::slot::Pipe;
use crate::engines::cp::front::generation::GFX12;
use crate::engines::cp::mec::line::Turns;
use rkfd_hw::mes::v12::SetHwResources;
use rkfd_hw::regs::gc_12_0_0::SPI_GDBG_PER_VMID_CNTL as Debug;
use rkfd_hw::regs::{Block, Value};

/// From this revision on a timer lets copy queues take turns.
const SDMA_TIMER: u32 = 0x8b;

impl Firmware {
    pub(super) fn set_resources(&mut self, pipe: Pipe, p: &SetHwResources) -> Result<(), Failure> {
        use SetHwResources as R;
        for (block, first) in [
            (Block::Gc, R::GC_BASE_0),
            (Block::Mmhub, R::MMHUB_BASE_0),
            (Block::Osssys, R::OSSSYS_BASE_0),
        ] {
            let given = p.0.iter().skip(first.word());
            let bases = self.shared.facts.bases(block);
            if bases.iter().zip(given).any(|(base, given)| base != given) {
                return api(
                    code::VALUE,
                    format!("the bases of {block:?} are not the chip's"),
                );
            }
        }
        for (name, field) in [
            ("g_sch_ctx_gpu_mc_ptr", R::G_SCH_CTX_GPU_MC_PTR),
            (
                "query_status_fence_gpu_mc_ptr",
                R::QUERY_STATUS_FENCE_GPU_MC_PTR,
            ),
        ] {
            memory(name, self.space().load_u64(p.get(field)))?;
        }
        for (name, field) in [
            ("legacy_sch_mode", R::LEGACY_SCH_MODE),
            (
                "disable_add_queue_wptr_mc_addr",
                R::DISABLE_ADD_QUEUE_WPTR_MC_ADDR,
            ),
            (
                "use_rs64mem_for_proc_gang_ctx",
                R::USE_RS64MEM_FOR_PROC_GANG_CTX,
            ),
            (
                "use_add_queue_unmap_flag_addr",
                R::USE_ADD_QUEUE_UNMAP_FLAG_ADDR,
            ),
            ("enable_mes_fence_int", R::ENABLE_MES_FENCE_INT),
        ] {
            if p.get(field) != 0 {
                return not_modelled(name);
            }
        }
        // How MES works without them is not modelled: it resets queues by itself, keeps a log of its own, has queues
        // of one VMID with those of graphics, waits for interrupts of queues that go, and gives processes of a level
        // no quantum.
        for (name, field) in [
            ("disable_reset", R::DISABLE_RESET),
            ("disable_mes_log", R::DISABLE_MES_LOG),
            ("use_different_vmid_compute", R::USE_DIFFERENT_VMID_COMPUTE),
            ("enable_reg_active_poll", R::ENABLE_REG_ACTIVE_POLL),
            (
                "enable_level_process_quantum_check",
                R::ENABLE_LEVEL_PROCESS_QUANTUM_CHECK,
            ),
        ] {
            if p.get(field) == 0 {
                return not_modelled(&format!("{name} 0"));
            }
        }
        if p.get(R::UNMAPPED_DOORBELL_HANDLING) > 2 {
            return api(code::VALUE, "unmapped_doorbell_handling has no mode 3");
        }
        let vmids = p.get(R::VMID_MASK_GFXHUB) | p.get(R::VMID_MASK_MMHUB);
        let masks: Vec<u32> =
            p.0.iter()
                .copied()
                .skip(R::COMPUTE_HQD_MASK_0.word())
                .take(8)
                .collect();
        let absent = masks.iter().enumerate().any(|(pipe, mask)| {
            let there = pipe < GFX12.slots.pipes[0] as usize;
            mask & !(if there {
                (1 << GFX12.slots.queues) - 1
            } else {
                0
            }) != 0
        });
        if absent {
            return api(
                code::VALUE,
                "compute_hqd_mask names HQDs that the chip lacks",
            );
        }
        if vmids & 1 == 1 || vmids >> 16 != 0 {
            return api(
                code::VALUE,
                "a VMID mask has the kernel's VMID 0, or one beyond 15",
            );
        }
        if pipe == Pipe::Scheduler
            && (p.get(R::VMID_MASK_GFXHUB) == 0
                || p.get(R::VMID_MASK_MMHUB) == 0
                || masks.iter().all(|mask| *mask == 0))
        {
            return api(code::VALUE, "nothing is left to the scheduler");
        }
        // Firmware of earlier revisions is given none (`mes_v12_0_set_hw_resources`). How copy queues would take turns without
        // it later is not modelled.
        let revision = self.shared.regs().revision;
        if p.get(R::OVERSUBSCRIPTION_TIMER) == 0 && revision >= SDMA_TIMER {
            return not_modelled("oversubscription_timer 0");
        }
        if pipe == Pipe::Scheduler {
            if !self.members.queues.is_empty() {
                return api(code::ORDER, "queues are mapped");
            }
            // `gfx_v12_0_init_compute_vmid`.
            let traps = |vmid: &u8| {
                let control = self.shared.regs().vmid(*vmid).spi_gdbg;
                Value::<Debug>::new(control).is_set(Debug::TRAP_EN)
            };
            let mut given = (0..16u8).filter(|vmid| (p.get(R::VMID_MASK_GFXHUB) >> vmid) & 1 == 1);
            if let Some(vmid) = given.find(|vmid| !traps(vmid)) {
                return api(
                    code::ORDER,
                    format!("SPI_GDBG_PER_VMID_CNTL of VMID {vmid} lacks TRAP_EN"),
                );
            }
            self.give_out(p, &masks);
        }
        self.begin_log(pipe, p)?;
        if let Some(set) = self.control.resources.get_mut(pipe.index()) {
            *set = true;
        }
        Ok(())
    }

    /// What the scheduler has from now on.
    fn give_out(&mut self, p: &SetHwResources, compute: &[u32]) {
        use SetHwResources as R;
        // Slots are numbered as if pipes had eight queues.
        let slots = compute.iter().take(4).enumerate();
        let slots = slots.fold(0, |all, (pipe, mask)| {
            all | (u64::from(*mask) << (pipe * 8))
        });
        self.mec.slots.allow(slots);
        let vmids = p.get(R::VMID_MASK_GFXHUB);
        self.mec.vmids.allow(vmids);
        let concurrent = match p.get(R::LIMIT_SINGLE_PROCESS) {
            0 => vmids.count_ones() as usize,
            _ => 1,
        };
        self.mec.turns = Turns::new(Vec::new(), concurrent, true);
        self.mec.turns.cleans = p.is_set(R::LIMIT_SINGLE_PROCESS);
        let masks = R::COMPUTE_HQD_MASK_0.word()..R::AGGREGATED_DOORBELLS_0.word();
        let masks = p.0.get(masks).unwrap_or_default();
        self.control.hqds = masks.iter().map(|mask| mask.count_ones()).sum();
        self.control.sdma_hqds =
            [R::SDMA_HQD_MASK_0, R::SDMA_HQD_MASK_1].map(|mask| p.get(mask) as u32);
        self.control.unmapped = p.get(R::UNMAPPED_DOORBELL_HANDLING);
        self.control.hears = self.control.unmapped != 0;
        let first = R::AGGREGATED_DOORBELLS_0.word();
        for (to, from) in self
            .control
            .aggregated
            .iter_mut()
            .zip(p.0.iter().skip(first))
        {
            *to = *from;
        }
    }
}
