// SPDX-License-Identifier: MIT OR Apache-2.0

//! What must be set up in a hub before a context of it is enabled, and before an access faults.
//!
//! Sources: Linux, `gart_enable` of `amdgpu/gfxhub_v1_2.c`, `mmhub_v1_8.c`, `gfxhub_v12_0.c` and
//! `mmhub_v4_1_0.c`, in whose order a driver finds each of these done. The fields used here are the
//! same in all of them.

use crate::memory::generation::Generation;
use crate::memory::hub::Registers;
use crate::memory::Memory;
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::{AnyField, Value};

/// The first translation cache that is off, as the registers call it.
fn cache_off(r: &Registers) -> Option<&'static str> {
    let l1 = Value::new(r.l1_cntl).get(gc::MC_VM_MX_L1_TLB_CNTL::ENABLE_L1_TLB);
    let l2 = Value::new(r.l2_cntl).get(gc::VM_L2_CNTL::ENABLE_L2_CACHE);
    match (l1, l2) {
        (0, _) => Some("MC_VM_MX_L1_TLB_CNTL.ENABLE_L1_TLB"),
        (_, 0) => Some("VM_L2_CNTL.ENABLE_L2_CACHE"),
        _ => None,
    }
}

/// How many contexts of all hubs are enabled, and how many caches of each level are on.
pub fn still_on(memory: &Memory) -> [u64; 3] {
    let enable = memory.generation().context.enable;
    memory.hubs().fold([0; 3], |[contexts, l1, l2], hub| {
        let r = memory.hub(hub).registers();
        let enabled = r.cntl.iter().filter(|&&cntl| enable.get(cntl) != 0);
        let first = Value::new(r.l1_cntl).get(gc::MC_VM_MX_L1_TLB_CNTL::ENABLE_L1_TLB);
        let second = Value::new(r.l2_cntl).get(gc::VM_L2_CNTL::ENABLE_L2_CACHE);
        [
            contexts + enabled.count() as u64,
            l1 + u64::from(first),
            l2 + u64::from(second),
        ]
    })
}

/// Whether both translation caches are on.
pub(super) fn caches_on(r: &Registers) -> bool {
    cache_off(r).is_none()
}

/// Whether a context may be enabled, `cntl` being what its control register gets.
///
/// # Errors
/// The end of a sentence that says what is missing.
pub(super) fn ready(
    r: &Registers,
    generation: &Generation,
    vmid: usize,
    cntl: u32,
) -> Result<(), String> {
    use gc::VM_L2_CNTL3 as Cntl3;
    use gc::VM_L2_CNTL4 as Cntl4;
    if let Some(off) = cache_off(r) {
        return Err(format!("while {off} is 0"));
    }
    if !r.caches_valid {
        return Err("before the caches that were turned on are invalidated".into());
    }
    let [cntl3, cntl4] = r.l2_cntl3;
    let [_, start] = generation.l2_cntl3;
    let physical =
        Cntl4::VMC_TAP_PDE_REQUEST_PHYSICAL.mask() | Cntl4::VMC_TAP_PTE_REQUEST_PHYSICAL.mask();
    if cntl4 != start & !physical {
        return Err(format!("with {cntl4:#x} in VM_L2_CNTL4"));
    }
    for (what, [low, high]) in [("aperture", r.aperture_default), ("fault", r.fault_default)] {
        if low == 0 && high == 0 {
            return Err(format!("before the {what} default address is set"));
        }
    }
    if vmid == 0 {
        return Ok(());
    }
    // Linux chooses these two by whether entries translate further.
    let further = generation.context.block_size.get(cntl) != 0;
    let wanted = if further { (12, 9) } else { (9, 6) };
    let cntl3 = Value::new(cntl3);
    let got = (
        u64::from(cntl3.get(Cntl3::BANK_SELECT)),
        u64::from(cntl3.get(Cntl3::L2_CACHE_BIGK_FRAGMENT_SIZE)),
    );
    if got != wanted {
        return Err(format!("with banks and fragments {got:?} in VM_L2_CNTL3"));
    }
    let [low, high] = r
        .identity
        .map(|[low, high]| u64::from(low) | (u64::from(high) << 32));
    if low <= high {
        return Err(format!(
            "with an identity aperture from page {low:#x} to {high:#x}"
        ));
    }
    Ok(())
}

/// Why a faulting access of a process does not go to the default page; then who made it stops.
pub(super) fn lost(r: &Registers, cntl: u32, default: (AnyField<1>, u32)) -> Option<&'static str> {
    use gc::VM_L2_PROTECTION_FAULT_CNTL as Cntl;
    let (of_context, of_hub) = default;
    let crash = Cntl::CRASH_ON_NO_RETRY_FAULT.mask() | Cntl::CRASH_ON_RETRY_FAULT.mask();
    if of_context.get(cntl) == 0 {
        return Some("the context's ..._FAULT_ENABLE_DEFAULT is not set");
    }
    if r.fault_cntl & of_hub == 0 {
        return Some("the hub's ..._FAULT_ENABLE_DEFAULT is not set");
    }
    if r.fault_cntl & crash != 0 {
        return Some("the hub stops at faults");
    }
    (r.fault_default == [0; 2]).then_some("the default address is 0")
}
