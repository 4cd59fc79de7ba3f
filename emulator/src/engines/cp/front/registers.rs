// SPDX-License-Identifier: MIT OR Apache-2.0

//! How the engine reaches its registers, which belong to the firmware that schedules its queues.

use super::counters::Counters;
use super::hqd::Image;
use super::slot::Slot;
use super::waves::WaveSlots;
use crate::blocks::store::Store;
use crate::device::Refused;
use rkfd_hw::regs::Value;
use rkfd_isa::Handler;
use std::sync::Arc;
use std::time::Duration;

/// A VMID's bank of registers.
#[derive(Clone, Copy, Default, Debug)]
pub struct Vmid {
    /// SH_MEM_BASES.
    pub sh_mem_bases: u32,
    /// SH_MEM_CONFIG.
    pub sh_mem_config: u32,
    /// SPI_GDBG_PER_VMID_CNTL.
    pub spi_gdbg: u32,
    /// TCP_WATCH0_CNTL to 3.
    pub watch: [u32; 4],
    /// SQ_SHADER_TBA and SQ_SHADER_TMA.
    pub handler: Handler,
}

/// TCP_WATCH0_ADDR to 3.
pub(crate) fn watched(stored: &Store) -> [u64; 4] {
    let word = |n, half| {
        let name = format!("TCP_WATCH{n}_ADDR_{half}");
        stored.get(&name).unwrap_or(0)
    };
    std::array::from_fn(|n| u64::from(word(n, 'L')) | (u64::from(word(n, 'H')) << 32))
}

/// GRBM_GFX_INDEX and SQ_IND_INDEX, which choose a wave's register.
pub(crate) fn chosen_wave(stored: &Store) -> [u32; 2] {
    ["GRBM_GFX_INDEX", "SQ_IND_INDEX"].map(|name| stored.get(name).unwrap_or(0))
}

/// That GRBM_GFX_INDEX lets a store reach all shader arrays, as whoever points it at one leaves it
/// (`gfx_v9_4_3_xcc_select_se_sh` and `gfx_v12_0_select_se_sh`, with 0xffffffff for each).
///
/// # Errors
/// It points at some of them: stores of the next who sets something up reach no others.
pub(crate) fn reaches_all(stored: &Store) -> Result<(), Refused> {
    use rkfd_hw::regs::gc_9_4_3::GRBM_GFX_INDEX as Index;
    let index = Value::<Index>::new(stored.get("GRBM_GFX_INDEX").unwrap_or(0));
    let all = [
        Index::SE_BROADCAST_WRITES,
        Index::SH_BROADCAST_WRITES,
        Index::INSTANCE_BROADCAST_WRITES,
    ];
    match all.into_iter().all(|field| index.is_set(field)) {
        true => Ok(()),
        false => Err(Refused::Undefined(format!(
            "GRBM_GFX_INDEX is left at {:#x}: stores reach only a part of the shader arrays",
            index.bits()
        ))),
    }
}

/// What the engine sees of its registers, which the transport's thread accesses at the same time.
pub(crate) trait Registers: Send + Sync {
    /// Changes an HQD's registers.
    fn change(&self, slot: Slot, change: &mut dyn FnMut(&mut Image));
    /// Changes the registers of a queue that leaves, unless the driver has cleared CP_HQD_ACTIVE
    /// and so made them its own.
    fn leave(&self, slot: Slot, change: &mut dyn FnMut(&mut Image));
    /// Whether the slot's micro engine is halted.
    fn is_halted(&self, slot: Slot) -> bool;
    /// Whether doorbells reach the slot's engine.
    fn doorbells_on(&self, slot: Slot) -> bool;
    /// How long waves may go on after a preemption was asked for; `None`: until they end.
    fn grace(&self) -> Option<Duration>;
    /// CPC_INT_CNTL of the slot's pipe.
    fn int_cntl(&self, slot: Slot) -> u32;
    /// A VMID's bank.
    fn vmid(&self, vmid: u8) -> Vmid;
    /// Sets a VMID's bank.
    fn set_vmid(&self, vmid: u8, bank: Vmid);
    /// TCP_WATCH0_ADDR to 3 of an XCC.
    fn watched(&self, xcc: u8) -> [u64; 4];
    /// The slots of waves.
    fn waves(&self) -> &Arc<WaveSlots>;
    /// The performance counters.
    fn counters(&self) -> &Arc<Counters>;
}
