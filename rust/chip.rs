// SPDX-License-Identifier: GPL-2.0

//! What a chip is: a table by GC version, completed by what the device itself reports.
//!
//! Data only. The GC version of the IP discovery table chooses the [`Family`]: the constants that no
//! register holds. What a block does otherwise is code, and stands in the block's `hal.rs`: one arm
//! for each version of that block ([`Versions`]). So a further chip is one file here, and one arm for
//! each of its blocks whose version is new.
//!
//! Counts of shader engines, compute units and XCCs come from discovery and from the harvest
//! registers ([`crate::gfx`] reads them). From both come the sizes that user programs must allocate
//! for saving waves (`kfd_queue_ctx_save_restore_size` upstream).

use crate::{
    discovery::Cache,
    hw::value::Bounded,
    types::{
        GcVersion,
        Versions, //
    }, //
};
use kernel::prelude::*;

mod gfx1201;
mod gfx942;
mod handlers;
#[cfg(rkfd_stub_chip)]
mod stub;

/// What the render node reports of a chip.
pub(crate) struct Drm {
    /// One of amdgpu's `AMDGPU_FAMILY_`.
    pub(crate) family: u32,
    /// What the revision counts from.
    pub(crate) external_rev: u32,
    /// Active compute units are also reported as those that are always on.
    pub(crate) always_on: bool,
}

/// The memory on a card.
#[derive(Clone, Copy)]
pub(crate) struct VramKind {
    /// One of amdgpu's `AMDGPU_VRAM_TYPE_`.
    pub(crate) kind: u32,
    /// Bits of its bus, 0 where nothing tells.
    pub(crate) bits: u32,
    /// Who made it, by AMD's numbers for them; 0 where nothing tells.
    pub(crate) vendor: u32,
}

/// Copy engines of a chip, and their queues.
pub(crate) struct SdmaShape {
    /// Engines for the bus, if there are as many; the others are for links.
    pub(crate) bus_engines: u32,
    /// Engines that can be used at most.
    pub(crate) max_engines: u32,
    pub(crate) queues_per_engine: u32,
    /// Engines of a die that has memory of its own, where there are several such dies.
    pub(crate) engines_per_die: u32,
    /// The first ones are not for user programs.
    pub(crate) reserved_queues: u32,
    /// What an engine's first doorbell is a multiple of.
    pub(crate) doorbell_align: u32,
}

impl SdmaShape {
    /// Mask of an engine's queues that user programs get.
    pub(crate) fn user_queues(&self) -> u32 {
        let below = |count: u32| !u32::MAX.checked_shl(count).unwrap_or(0);
        below(self.queues_per_engine) & !below(self.reserved_queues)
    }
}

/// The VMIDs that processes get.
pub(crate) struct Vmids {
    pub(crate) first: Bounded<4>,
    pub(crate) last: Bounded<4>,
}

impl Vmids {
    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Bounded<4>> {
        self.first.through(self.last)
    }

    /// A bit for each.
    pub(crate) fn mask(&self) -> u16 {
        self.iter().fold(0, |mask, vmid| mask | 1 << vmid.get())
    }
}

/// Constants of a chip and its kin.
pub(crate) struct Family {
    /// `gfx_target_version` of the topology: 90402 is gfx942.
    pub(crate) gfx_target_version: u32,
    /// The name user programs know, such as "gfx942".
    pub(crate) name: &'static CStr,
    pub(crate) drm: Drm,
    /// The memory of a card that has no VBIOS.
    pub(crate) vram: VramKind,
    /// Further capabilities of the topology that only some chips have.
    pub(crate) capabilities: u32,
    pub(crate) sdma: SdmaShape,
    /// SH_MEM_BASES and SH_MEM_CONFIG of processes: where local and scratch memory appear, in
    /// units of 2^48 bytes, and how memory is accessed.
    pub(crate) sh_mem_bases: u32,
    pub(crate) sh_mem_config: u32,
    /// SPI_GDBG_PER_VMID_CNTL of processes without a debugger: trap temporaries are set up in each
    /// wave (`disable_debug_trap`, which is what `enable_debug_trap` returns, too).
    pub(crate) trap_setup: u32,
    /// Code of the trap handler that processes get (`kfd_cwsr_init`).
    pub(crate) trap_handler: &'static [u32],
    /// Code of the cleaner shader; empty where the firmware has its own.
    pub(crate) cleaner: &'static [u32],
    /// The first version of the MEC's firmware that clears registers and LDS between processes.
    pub(crate) mec_that_cleans: u32,
    /// Whether its dies can be several partitions (`adev->xcp_mgr`).
    pub(crate) has_partitions: bool,
    /// Bits of a bus address.
    pub(crate) dma_bits: u32,
    /// SIMDs in a compute unit.
    pub(crate) simd_per_cu: u32,
    pub(crate) lds_kib: u32,
    /// Bytes of vector registers that a compute unit saves.
    pub(crate) vgpr_bytes_per_cu: u32,
    /// Bytes of scalar registers.
    pub(crate) sgpr_bytes_per_cu: u32,
    /// Bytes of other state.
    pub(crate) hwreg_bytes_per_cu: u32,
    /// Waves of a compute unit in the control stack, and the most of a shader engine.
    pub(crate) cwsr_waves_per_cu: u32,
    pub(crate) cwsr_waves_per_engine: u32,
    /// Bytes of the control stack for each wave.
    pub(crate) cntl_stack_bytes_per_wave: u32,
    /// Compute units that are only enabled together in a queue's mask.
    pub(crate) cus_per_mask: u32,
    pub(crate) eop_buffer_size: u32,
    /// Queues a process may have on the device.
    pub(crate) max_queues_per_process: u32,
    pub(crate) vmids: Vmids,
    /// Doorbells (64-bit indices) of other engines: set aside in every process' slice.
    pub(crate) non_cp_doorbells: (u32, u32),
    /// Hardware queues (HQDs): pipes of the first MEC, queues of a pipe.
    pub(crate) mec_pipes: u32,
    pub(crate) mec_queues_per_pipe: u32,
    /// Global wave sync resources (`gds.gws_size`), 0 if the firmware has none.
    pub(crate) gws: u32,
}

/// Sizes for saving waves, for one XCC (`kfd_queue_ctx_save_restore_size`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CwsrSizes {
    pub(crate) ctl_stack_size: u32,
    /// Control stack and saved state; what ioctl and topology call `cwsr_size`.
    pub(crate) cwsr_size: u32,
    pub(crate) debug_memory_size: u32,
}

/// How many copy engines and queues of them there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SdmaCounts {
    /// Engines for the bus and for links.
    pub(crate) bus: u32,
    pub(crate) links: u32,
    /// Queues of an engine that processes get.
    pub(crate) queues_per_engine: u32,
}

impl SdmaCounts {
    /// Of a device that lists so many engines (`kfd_get_num_sdma_engines`).
    pub(crate) fn new(shape: &SdmaShape, listed: u32) -> Self {
        let engines = listed.min(shape.max_engines);
        let bus = engines.min(shape.bus_engines);
        Self {
            bus,
            links: engines.saturating_sub(bus),
            queues_per_engine: shape
                .queues_per_engine
                .saturating_sub(shape.reserved_queues),
        }
    }

    /// Engines of both kinds.
    pub(crate) fn engines(&self) -> u32 {
        self.bus.saturating_add(self.links)
    }
}

/// A chip: its family, and what the device reports about itself.
pub(crate) struct ChipInfo {
    pub(crate) family: &'static Family,
    /// Of its blocks.
    pub(crate) versions: Versions,
    pub(crate) sdma_counts: SdmaCounts,
    /// Accelerator dies; each has its own command processor.
    pub(crate) num_xcc: u32,
    /// Shader engines in all XCCs together.
    pub(crate) shader_engines: u32,
    pub(crate) shader_arrays_per_engine: u32,
    pub(crate) cu_per_array: u32,
    /// Active compute units in all XCCs together.
    pub(crate) cu_count: u32,
    /// Bit mask of active compute units by shader engine and array, of XCC 0.
    pub(crate) cu_bitmap: [[u32; 4]; 8],
    pub(crate) wave_size: u32,
    pub(crate) waves_per_simd: u32,
    pub(crate) max_scratch_slots_per_cu: u32,
    pub(crate) lds_kib: u32,
    pub(crate) caches: [Cache; 5],
    /// L2 channels.
    pub(crate) tccs: u32,
    pub(crate) vram_size: u64,
    pub(crate) vram: VramKind,
    /// Dies with memory of their own.
    pub(crate) memory_dies: u32,
    /// How much of the VRAM the CPU reaches through BAR 0.
    pub(crate) visible_vram_size: u64,
    pub(crate) rev_id: u32,
    /// Version of the compute firmware and of SDMA's, as topology reports them; 0 is unknown.
    pub(crate) mec_fw_version: u32,
    pub(crate) sdma_fw_version: u32,
    /// GB_ADDR_CONFIG.
    pub(crate) gb_addr_config: u32,
    pub(crate) cwsr: CwsrSizes,
}

impl ChipInfo {
    /// SIMDs of all XCCs together.
    pub(crate) fn simd_count(&self) -> u32 {
        self.cu_count.saturating_mul(self.family.simd_per_cu)
    }

    /// Whether the first MEC has such a hardware queue.
    pub(crate) fn has_hqd(&self, pipe: u32, queue: u32) -> bool {
        pipe < self.family.mec_pipes && queue < self.family.mec_queues_per_pipe
    }

    /// Hardware queues that user queues can be on at a time (`get_cp_queues_num`).
    pub(crate) fn cp_queues(&self) -> u32 {
        self.family
            .mec_pipes
            .saturating_mul(self.family.mec_queues_per_pipe)
    }

    /// Shader engines of one XCC.
    pub(crate) fn engines_per_xcc(&self) -> u32 {
        self.shader_engines.checked_div(self.num_xcc).unwrap_or(0)
    }
}

/// The family of a GC version.
pub(crate) fn family(gc: GcVersion) -> &'static Family {
    match gc {
        GcVersion::V9_4_3 => &gfx942::FAMILY,
        GcVersion::V12_0_1 => &gfx1201::FAMILY,
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &stub::FAMILY,
    }
}

/// Sizes for saving waves of an XCC of `cu_count` compute units.
pub(crate) fn cwsr_sizes(family: &Family, cu_count: u32, engines: u32) -> Result<CwsrSizes> {
    const PAGE: u32 = 4096;
    let align = |v: u32, to: u32| v.checked_next_multiple_of(to).ok_or(EOVERFLOW);
    let waves = cu_count
        .checked_mul(family.cwsr_waves_per_cu)
        .ok_or(EOVERFLOW)?
        .min(engines.saturating_mul(family.cwsr_waves_per_engine));
    let per_cu = [
        family.vgpr_bytes_per_cu,
        family.sgpr_bytes_per_cu,
        family.lds_kib << 10,
        family.hwreg_bytes_per_cu,
    ];
    let per_cu = (per_cu.into_iter().try_fold(0, u32::checked_add)).ok_or(EOVERFLOW)?;
    let wg_data = align(cu_count.checked_mul(per_cu).ok_or(EOVERFLOW)?, PAGE)?;
    let stack = waves.checked_mul(family.cntl_stack_bytes_per_wave);
    let stack = stack.and_then(|bytes| bytes.checked_add(40 + 8));
    let ctl_stack_size = align(stack.ok_or(EOVERFLOW)?, PAGE)?;
    Ok(CwsrSizes {
        ctl_stack_size,
        cwsr_size: align(ctl_stack_size.checked_add(wg_data).ok_or(EOVERFLOW)?, PAGE)?,
        debug_memory_size: align(waves.checked_mul(32).ok_or(EOVERFLOW)?, 64)?,
    })
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
