// SPDX-License-Identifier: GPL-2.0

//! What a chip is: a table by GC version, completed by what the device itself says.
//!
//! The GC version of the IP discovery table chooses the [`Family`]: the constants that no
//! register tells. Counts of shader engines, compute units and XCCs come from discovery and
//! from the harvest registers. From both come the sizes that user programs must allocate for
//! saving waves (`kfd_queue_ctx_save_restore_size` upstream).

use crate::{
    discovery::{Cache, Discovery},
    gmc,
    gpu::{nbio, Hw},
    hw::regs::{Bits, Block, Reg, Table},
    ih, mqd,
    regs::Regs,
    sched::Scheduler,
    sdma, vm,
};
use kernel::{device::Device, prelude::*, sync::Arc};

mod gfx1201;
mod gfx942;

pub(crate) use crate::types::IpVersion;

/// What differs in the graphics core.
pub(crate) struct Core {
    /// Which HQD's registers are seen.
    pub(crate) grbm_cntl: Reg,
    /// Which shader array's are: the register, its fields for engine and array, the value for
    /// one array with all its instances, and the value for all.
    pub(crate) grbm_index: Reg,
    pub(crate) grbm_engine: Bits,
    pub(crate) grbm_array: Bits,
    pub(crate) grbm_instances: u32,
    pub(crate) grbm_all: u32,
    /// Active compute units of the array that is seen.
    pub(crate) active_cus: fn(&Regs, u8) -> u32,
    pub(crate) gb_addr_config: Reg,
    pub(crate) clock_capture: Reg,
    pub(crate) clock_low: Reg,
    pub(crate) clock_high: Reg,
    /// Interrupts of a compute pipe, and which are wanted: end of pipe and bad opcodes.
    pub(crate) pipe_interrupts: (Reg, u32),
    /// Do the command processors run? Says what doesn't.
    pub(crate) check_firmware: fn(&Device, &Regs) -> Result,
    /// SPI_GDBG_PER_VMID_CNTL of processes without a debugger: trap temporaries are set up in each
    /// wave (`disable_debug_trap`, which is what `enable_debug_trap` returns, too).
    pub(crate) trap_setup: u32,
    /// Version of the compute firmware, or 0.
    pub(crate) mec_fw_version: fn(&Regs) -> u32,
}

/// What the render node tells of a generation.
pub(crate) struct Drm {
    /// One of amdgpu's `AMDGPU_FAMILY_`.
    pub(crate) family: u32,
    /// What the revision counts from.
    pub(crate) external_rev: u32,
    /// Kind of VRAM and bits of its bus, where the chip alone says so.
    pub(crate) vram_type: u32,
    pub(crate) vram_bit_width: u32,
    /// Active compute units are also told as those that are always on.
    pub(crate) always_on: bool,
}

/// Constants of a generation.
pub(crate) struct Family {
    /// `gfx_target_version` of the topology: 90402 is gfx942.
    pub(crate) gfx_target_version: u32,
    /// The name user programs know, such as "gfx942".
    pub(crate) name: &'static CStr,
    pub(crate) drm: Drm,
    /// Further capabilities of the topology that only some chips have.
    pub(crate) capabilities: u32,
    /// Makes the scheduler.
    pub(crate) scheduler: fn(&Arc<Hw>) -> Result<Arc<dyn Scheduler>>,
    /// Registers; the device must have each of their blocks.
    pub(crate) tables: &'static [&'static Table],
    pub(crate) core: &'static Core,
    pub(crate) nbio: &'static nbio::Hal,
    pub(crate) gmc: &'static gmc::Hal,
    pub(crate) ih: &'static ih::Hal,
    pub(crate) pte: &'static vm::Format,
    pub(crate) mqd: &'static dyn mqd::Hal,
    pub(crate) sdma: &'static sdma::Hal,
    /// SH_MEM_BASES and SH_MEM_CONFIG of processes: where local and scratch memory appear, in
    /// units of 2^48 bytes, and how memory is accessed.
    pub(crate) sh_mem_bases: u32,
    pub(crate) sh_mem_config: u32,
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
    /// First and last VMID that processes get.
    pub(crate) compute_vmids: (u32, u32),
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

/// A chip: its family, and what the device says about itself.
pub(crate) struct ChipInfo {
    pub(crate) family: &'static Family,
    /// GC version, such as 9.4.3.
    pub(crate) gc: IpVersion,
    pub(crate) sdma: IpVersion,
    pub(crate) sdma_counts: sdma::Counts,
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
    /// How much of the VRAM the CPU reaches through BAR 0.
    pub(crate) visible_vram_size: u64,
    pub(crate) rev_id: u32,
    /// Version of the compute firmware and of SDMA's, as topology reports them.
    pub(crate) mec_fw_version: u32,
    pub(crate) sdma_fw_version: u32,
    /// GB_ADDR_CONFIG.
    pub(crate) gb_addr_config: u32,
    pub(crate) cwsr: CwsrSizes,
}

impl ChipInfo {
    /// Reads what discovery and the harvest registers say (`gfx_v9_4_3_get_cu_info`).
    pub(crate) fn read(
        family: &'static Family,
        gc_version: IpVersion,
        regs: &Regs,
        vram_size: u64,
        visible_vram_size: u64,
    ) -> Result<Self> {
        let shape = *regs.discovery().gc();
        let (mut num_xcc, mut cu_count, mut cu_bitmap) = (0u32, 0u32, [[0u32; 4]; 8]);
        let mask = u32::MAX >> (32 - shape.cu_per_array.clamp(1, 32));
        for xcc in regs.instances(Block::Gc) {
            for (engine, arrays) in (0..)
                .zip(cu_bitmap.iter_mut())
                .take(shape.shader_engines as usize)
            {
                for (array, bitmap) in (0..)
                    .zip(arrays.iter_mut())
                    .take(shape.shader_arrays_per_engine as usize)
                {
                    let active = active_cus(family.core, regs, xcc, engine, array) & mask;
                    cu_count += active.count_ones();
                    if num_xcc == 0 {
                        *bitmap = active;
                    }
                }
            }
            regs.write_at(xcc, family.core.grbm_index, family.core.grbm_all);
            num_xcc += 1;
        }
        if num_xcc == 0 || cu_count == 0 {
            return Err(ENODEV);
        }
        let shader_engines = num_xcc.checked_mul(shape.shader_engines).ok_or(EOVERFLOW)?;
        Ok(Self {
            family,
            gc: gc_version,
            sdma: regs
                .discovery()
                .version(SDMA0_HW_ID)
                .unwrap_or(IpVersion::new(0, 0, 0)),
            sdma_counts: sdma::Counts::read(family, regs.discovery()),
            num_xcc,
            shader_engines,
            shader_arrays_per_engine: shape.shader_arrays_per_engine,
            cu_per_array: shape.cu_per_array,
            cu_count,
            cu_bitmap,
            wave_size: shape.wave_size,
            waves_per_simd: shape.waves_per_simd,
            max_scratch_slots_per_cu: shape.max_scratch_slots_per_cu,
            lds_kib: shape.lds_kib,
            caches: shape.caches,
            tccs: shape.tccs,
            vram_size,
            visible_vram_size,
            rev_id: family
                .nbio
                .revision
                .1
                .get(regs.read(family.nbio.revision.0)),
            mec_fw_version: (family.core.mec_fw_version)(regs),
            sdma_fw_version: 0,
            gb_addr_config: regs.read(family.core.gb_addr_config),
            cwsr: cwsr_sizes(family, cu_count / num_xcc, shader_engines)?,
        })
    }

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
        self.family.mec_pipes * self.family.mec_queues_per_pipe
    }
}

/// The family of a GC version, or `None` when the chip isn't supported.
pub(crate) fn family(gc: IpVersion) -> Option<&'static Family> {
    match (gc.major, gc.minor, gc.revision) {
        (9, 4, 3) => Some(&gfx942::FAMILY),
        (12, 0, 1) => Some(&gfx1201::FAMILY),
        _ => None,
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
    let per_cu = family.vgpr_bytes_per_cu
        + family.sgpr_bytes_per_cu
        + (family.lds_kib << 10)
        + family.hwreg_bytes_per_cu;
    let wg_data = align(cu_count.checked_mul(per_cu).ok_or(EOVERFLOW)?, PAGE)?;
    let ctl_stack_size = align(40 + waves * family.cntl_stack_bytes_per_wave + 8, PAGE)?;
    Ok(CwsrSizes {
        ctl_stack_size,
        cwsr_size: align(ctl_stack_size.checked_add(wg_data).ok_or(EOVERFLOW)?, PAGE)?,
        debug_memory_size: align(waves * 32, 64)?,
    })
}

/// Discovery's number for SDMA.
const SDMA0_HW_ID: u16 = 42;

/// The compute units of a shader array that are not fused off. Called at probe only, when nobody
/// else uses GRBM_GFX_INDEX.
fn active_cus(core: &Core, regs: &Regs, xcc: u8, engine: u32, array: u32) -> u32 {
    let index = core
        .grbm_array
        .set(core.grbm_engine.set(core.grbm_instances, engine), array);
    regs.write_at(xcc, core.grbm_index, index);
    (core.active_cus)(regs, xcc)
}

impl Discovery {
    /// GC version of the first graphics core.
    pub(crate) fn gc_version(&self) -> Option<IpVersion> {
        self.version(crate::hw::regs::Block::Gc as u16)
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
