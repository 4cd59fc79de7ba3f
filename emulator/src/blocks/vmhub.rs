// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registers of a VM hub (GFXHUB 1.2 and 12.0, MMHUB 1.8 and 4.1): contexts, apertures,
//! invalidation, faults.
//!
//! Sources: Linux, `amdgpu/gfxhub_v1_2.c`, `amdgpu/mmhub_v1_8.c`, `amdgpu/gmc_v9_0.c`
//! (`gmc_v9_0_flush_gpu_tlb`, `gmc_v9_0_process_interrupt`), and those of gfx12. What translation
//! needs is kept in [`crate::memory::hub`]; [`crate::memory::generation`] has what differs between
//! generations. An invalidation is done when its request register is written.

mod setup;

pub use setup::still_on;

use super::store::Store;
use crate::device::interrupt::Interrupt;
use crate::device::Env;
use crate::device::{IpBlock, Refused};
use crate::memory::generation::ContextFields;
use crate::memory::hub::{Registers, VMIDS};
use crate::memory::tlb::Flush;
use crate::memory::{Access, FaultReason, Hub, Memory, VmFault};
use crate::trace::Value;
use rkfd_hw::ih;
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::Value as Contents;
use rkfd_hw::regs::{AnyField, RegInfo};
use rkfd_hw::value::Bounded;
use std::sync::{Arc, Mutex, PoisonError};

/// Invalidation engines of a hub.
const ENGINES: usize = 18;

/// An invalidation engine.
#[derive(Clone, Copy, Default)]
struct Engine {
    taken: bool,
    request: u32,
    done: u32,
    range: [u32; 2],
}

/// The range that covers everything: 37 bits of page number.
const WHOLE_RANGE: [u32; 2] = [0xffff_ffff, 0x1f];

/// Whether a register of GC belongs to its VM hub.
pub fn owns(memory: &Memory, reg: &RegInfo) -> bool {
    let generation = memory.generation();
    generation.name_in(Hub::Gfx(0), reg.reg.name).is_some()
}

/// The block of one hub.
pub struct VmHubBlock {
    env: Arc<dyn Env>,
    hub: Hub,
    store: Store,
    engines: Mutex<[Engine; ENGINES]>,
}

impl VmHubBlock {
    /// Start-up state.
    pub fn new(env: Arc<dyn Env>, hub: Hub) -> Self {
        let generation = env.memory().generation();
        let mut stored = generation.stored.to_vec();
        stored.extend(generation.snoop_override.0);
        let block = Self {
            store: Store::zeroed(&stored),
            env,
            hub,
            engines: Mutex::default(),
        };
        block.start();
        block
    }

    fn start(&self) {
        if self.env.start().used {
            self.env.memory().hub(self.hub).leave_contexts();
        }
    }

    /// A register's name without what this hub's generation puts in front of it.
    fn name(&self, reg: &RegInfo) -> &'static str {
        let name = reg.reg.name;
        let generation = self.env.memory().generation();
        generation.name_in(self.hub, name).unwrap_or(name)
    }

    /// The register of translation that a name means, if it is one.
    fn slot<'a>(&self, r: &'a mut Registers, name: &str) -> Option<&'a mut u32> {
        if let Some((vmid, what)) = numbered(name, "VM_CONTEXT") {
            let half = |of: &'a mut [[u32; 2]; VMIDS], high: usize| of.get_mut(vmid)?.get_mut(high);
            return match what {
                "CNTL" => r.cntl.get_mut(vmid),
                "PAGE_TABLE_BASE_ADDR_LO32" => half(&mut r.base, 0),
                "PAGE_TABLE_BASE_ADDR_HI32" => half(&mut r.base, 1),
                "PAGE_TABLE_START_ADDR_LO32" => half(&mut r.start, 0),
                "PAGE_TABLE_START_ADDR_HI32" => half(&mut r.start, 1),
                "PAGE_TABLE_END_ADDR_LO32" => half(&mut r.end, 0),
                "PAGE_TABLE_END_ADDR_HI32" => half(&mut r.end, 1),
                _ => None,
            };
        }
        let [fb_base, fb_top, fb_offset] = &mut r.fb;
        let [agp_base, agp_bot, agp_top] = &mut r.agp;
        let [low, high] = &mut r.system;
        let [[identity_low, identity_low_hi], [identity_high, identity_high_hi]] = &mut r.identity;
        let [aperture_default, aperture_default_hi] = &mut r.aperture_default;
        let [fault_default, fault_default_hi] = &mut r.fault_default;
        let [l2_cntl3, l2_cntl4] = &mut r.l2_cntl3;
        let [address_lo, address_hi] = &mut r.fault_address;
        if name == self.env.memory().generation().fault_status {
            return Some(&mut r.fault_status);
        }
        Some(match name {
            "MC_VM_FB_LOCATION_BASE" => fb_base,
            "MC_VM_FB_LOCATION_TOP" => fb_top,
            "MC_VM_FB_OFFSET" => fb_offset,
            "MC_VM_AGP_BASE" => agp_base,
            "MC_VM_AGP_BOT" => agp_bot,
            "MC_VM_AGP_TOP" => agp_top,
            "MC_VM_SYSTEM_APERTURE_LOW_ADDR" => low,
            "MC_VM_SYSTEM_APERTURE_HIGH_ADDR" => high,
            "MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB" => aperture_default,
            "MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_MSB" => aperture_default_hi,
            "VM_L2_CONTEXT1_IDENTITY_APERTURE_LOW_ADDR_LO32" => identity_low,
            "VM_L2_CONTEXT1_IDENTITY_APERTURE_LOW_ADDR_HI32" => identity_low_hi,
            "VM_L2_CONTEXT1_IDENTITY_APERTURE_HIGH_ADDR_LO32" => identity_high,
            "VM_L2_CONTEXT1_IDENTITY_APERTURE_HIGH_ADDR_HI32" => identity_high_hi,
            "MC_VM_MX_L1_TLB_CNTL" => &mut r.l1_cntl,
            "VM_L2_CNTL" => &mut r.l2_cntl,
            "VM_L2_CNTL3" => l2_cntl3,
            "VM_L2_CNTL4" => l2_cntl4,
            "VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32" => fault_default,
            "VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_HI32" => fault_default_hi,
            "VM_L2_PROTECTION_FAULT_CNTL" => &mut r.fault_cntl,
            "VM_L2_PROTECTION_FAULT_ADDR_LO32" => address_lo,
            "VM_L2_PROTECTION_FAULT_ADDR_HI32" => address_hi,
            _ => return None,
        })
    }

    fn read_engine(&self, n: usize, what: &str) -> Result<u32, Refused> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = engines.get_mut(n).ok_or(Refused::NotModelled)?;
        Ok(match what {
            // Reading takes the semaphore: one means that it was free.
            "SEM" => u32::from(!std::mem::replace(&mut engine.taken, true)),
            "REQ" => engine.request,
            "ACK" => engine.done,
            "ADDR_RANGE_LO32" => engine.range[0],
            "ADDR_RANGE_HI32" => engine.range[1],
            _ => return Err(Refused::NotModelled),
        })
    }

    fn write_engine(&self, n: usize, what: &str, value: u32) -> Result<(), Refused> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = engines.get_mut(n).ok_or(Refused::NotModelled)?;
        match what {
            "SEM" if value == 0 => engine.taken = false,
            "SEM" => return Err(Refused::Undefined("the semaphore is released by 0".into())),
            "ACK" => return Err(Refused::ReadOnly),
            "ADDR_RANGE_LO32" => engine.range[0] = value,
            "ADDR_RANGE_HI32" => engine.range[1] = value,
            "REQ" => {
                // A driver may ask before it has enabled anything that could be cached, and before it
                // has set the range: amdgpu does (`amdgpu_device_mem_scratch_init`), and is answered.
                if engine.range != WHOLE_RANGE && self.translates() {
                    return Err(Refused::Undefined(
                        "the engine's address range is not the whole one".into(),
                    ));
                }
                engine.request = value;
                engine.done = self.env.memory().generation().request.vmids.get(value);
                drop(engines);
                return self.invalidate(value);
            }
            _ => return Err(Refused::NotModelled),
        }
        Ok(())
    }

    /// Whether a context is enabled: only then there are translations to be kept.
    fn translates(&self) -> bool {
        let enable = self.env.memory().generation().context.enable;
        let registers = self.env.memory().hub(self.hub).registers();
        registers.cntl.iter().any(|&cntl| enable.get(cntl) != 0)
    }

    /// Carries out an invalidation request.
    fn invalidate(&self, request: u32) -> Result<(), Refused> {
        let req = &self.env.memory().generation().request;
        if request & !req.known != 0 || (req.flush_type)(request) >= 3 {
            return Err(Refused::Undefined("reserved bits or flush type".into()));
        }
        let vmids = req.vmids.get(request) as u16;
        // A translation leaves only when both caches that may keep it drop it.
        let whole = req.l1_ptes.get(request) != 0 && req.l2_ptes.get(request) != 0;
        let memory = self.env.memory();
        if whole {
            memory.flush(self.hub, vmids, Flush::of((req.flush_type)(request)));
        }
        if req.clear_fault.get(request) != 0 {
            clear_fault(&mut memory.hub(self.hub).registers());
        }
        let members = [
            ("vmids", Value::Hex(vmids.into())),
            ("whole", Value::Num(whole.into())),
        ];
        self.env.trace().event("tlb_invalidate", &members);
        Ok(())
    }

    fn write_context(&self, reg: &RegInfo, vmid: usize, value: u32) -> Result<(), Refused> {
        if value & !reg.known_bits() != 0 {
            return Err(Refused::Undefined("reserved bits".into()));
        }
        let block_size = self.env.memory().generation().context.block_size.get(value);
        if block_size > 9 && vmid != 0 {
            return Err(Refused::Undefined(
                "page table blocks above 2^18 pages".into(),
            ));
        }
        let memory = self.env.memory();
        let registers = memory.hub(self.hub).registers();
        let fields = &memory.generation().context;
        let before = registers.cntl.get(vmid).copied().unwrap_or(0);
        let (on, was_on) = (
            fields.enable.get(value) == 1,
            fields.enable.get(before) == 1,
        );
        if vmid == 0 && was_on && !on {
            drop(registers);
            if let Some(who) = memory.hub(self.hub).fetches() {
                self.env.report().violation(format_args!(
                    "VM_CONTEXT0_CNTL is turned off while {who} by it"
                ));
            }
            return Ok(());
        }
        if !on || was_on {
            return Ok(());
        }
        setup::ready(&registers, memory.generation(), vmid, value)
            .and_then(|()| self.snoops())
            .and_then(|()| self.is_ready())
            .map_err(|what| Refused::Undefined(format!("the context is enabled {what}")))
    }

    /// Whether registers that are storage have what Linux stores there.
    fn is_ready(&self) -> Result<(), String> {
        use gc::VM_L2_PROTECTION_FAULT_CNTL2 as Cntl2;
        let word = |name| self.store.get(name).unwrap_or(0);
        let cntl2 = Contents::<Cntl2>::new(word("VM_L2_PROTECTION_FAULT_CNTL2"));
        if !cntl2.is_set(Cntl2::ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY) {
            return Err("before entries of pages that are moved are read again \
                 (ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY)"
                .into());
        }
        let cntl5 = word("VM_L2_CNTL5");
        match self.env.memory().generation().l2_cntl5 {
            Some(wanted) if cntl5 != wanted => Err(format!("with {cntl5:#x} in VM_L2_CNTL5")),
            _ => Ok(()),
        }
    }

    /// Whether the clients of the multimedia hub that must snoop do.
    fn snoops(&self) -> Result<(), String> {
        let (registers, client) = self.env.memory().generation().snoop_override;
        let set = |name: &&str| self.store.get(name).is_some_and(|bits| bits & client != 0);
        match registers.iter().find(|name| !set(name)) {
            Some(name) if matches!(self.hub, Hub::Mm(_)) => {
                Err(format!("before {name} has SDMA's bit"))
            }
            _ => Ok(()),
        }
    }
}

/// The register of MMHUB that invalidates its private caches, and the bit that does (Linux,
/// `gmc_v12_0_flush_vm_hub`).
const PRIVATE_CACHES: &str = "VM_L2_BANK_SELECT_RESERVED_CID2";
const PRIVATE_INVALIDATION: u32 = 1 << 25;

impl IpBlock for VmHubBlock {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        let name = self.name(reg);
        if let Some((n, what)) = numbered(name, "VM_INVALIDATE_ENG") {
            return self.read_engine(n, what);
        }
        if let Some(slot) = self.slot(&mut self.env.memory().hub(self.hub).registers(), name) {
            return Ok(*slot);
        }
        let node = self.env.memory().hub(self.hub).node();
        match name {
            "MC_VM_XGMI_LFB_CNTL" => {
                Ok(u32::from(node.id) | (u32::from(node.count.saturating_sub(1)) << 4))
            }
            "MC_VM_XGMI_LFB_SIZE" => Ok((node.segment >> 24) as u32),
            // Idle; requests to invalidate are done at once.
            "VM_L2_STATUS" | "VM_L2_CNTL2" | "VM_CONTEXTS_DISABLE" => Ok(0),
            "VM_L2_PROTECTION_FAULT_STATUS_HI32" | PRIVATE_CACHES => Ok(0),
            _ => self.store.get(name).ok_or(Refused::NotModelled),
        }
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        let name = self.name(reg);
        if let Some((n, what)) = numbered(name, "VM_INVALIDATE_ENG") {
            return self.write_engine(n, what, value);
        }
        let hub = self.env.memory().hub(self.hub);
        match name {
            // Firmware has placed the frame buffer; the host's writes do not reach it.
            "MC_VM_FB_LOCATION_BASE" | "MC_VM_FB_LOCATION_TOP" | "MC_VM_FB_OFFSET" => {
                return Err(Refused::ReadOnly)
            }
            "MC_VM_XGMI_LFB_CNTL"
            | "MC_VM_XGMI_LFB_SIZE"
            | "VM_L2_PROTECTION_FAULT_STATUS"
            | "VM_L2_PROTECTION_FAULT_STATUS_LO32"
            | "VM_L2_PROTECTION_FAULT_STATUS_HI32"
            | "VM_L2_PROTECTION_FAULT_ADDR_LO32"
            | "VM_L2_PROTECTION_FAULT_ADDR_HI32"
            | "VM_L2_STATUS" => return Err(Refused::ReadOnly),
            "VM_L2_CNTL2" => {
                let all = gc::VM_L2_CNTL2::INVALIDATE_ALL_L1_TLBS.mask()
                    | gc::VM_L2_CNTL2::INVALIDATE_L2_CACHE.mask();
                if value & all == all {
                    hub.invalidate(u16::MAX);
                    let mut r = hub.registers();
                    r.caches_valid = setup::caches_on(&r);
                }
                return Ok(());
            }
            // Done at once: what they hold is not kept apart here.
            PRIVATE_CACHES if value & !PRIVATE_INVALIDATION == 0 => return Ok(()),
            "VM_CONTEXTS_DISABLE" if value != 0 => return Err(Refused::NotModelled),
            "VM_CONTEXTS_DISABLE" => return Ok(()),
            "VM_L2_PROTECTION_FAULT_CNTL" => {
                let clear = gc::VM_L2_PROTECTION_FAULT_CNTL::CLEAR_PROTECTION_FAULT_STATUS_ADDR;
                let mut registers = hub.registers();
                registers.fault_cntl = value & !clear.mask();
                if value & clear.mask() != 0 {
                    clear_fault(&mut registers);
                }
                return Ok(());
            }
            _ => {}
        }
        if let Some((vmid, "CNTL")) = numbered(name, "VM_CONTEXT") {
            self.write_context(reg, vmid, value)?;
        }
        let mut registers = hub.registers();
        if let Some(slot) = self.slot(&mut registers, name) {
            *slot = value;
            // What a cache holds when it is turned on is anything.
            registers.caches_valid &= setup::caches_on(&registers);
            return Ok(());
        }
        drop(registers);
        self.store.put(name, value)
    }

    fn reset(&self) {
        self.store.reset();
        *self.engines.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
        self.env.memory().hub(self.hub).reset();
        self.start();
    }
}

/// Splits `VM_CONTEXT3_CNTL` into 3 and `CNTL`.
fn numbered<'a>(name: &'a str, prefix: &str) -> Option<(usize, &'a str)> {
    let (number, what) = name.strip_prefix(prefix)?.split_once('_')?;
    Some((number.parse().ok()?, what))
}

fn clear_fault(registers: &mut Registers) {
    registers.fault_status = 0;
    registers.fault_address = [0; 2];
}

/// What a fault is in the terms of the hub's registers.
struct Kind {
    /// The context's bit that enables the interrupt.
    enable: AnyField<1>,
    /// The context's bit that sends the access to the default page, and the hub's.
    default: (AnyField<1>, u32),
    /// `WALKER_ERROR`.
    walker: u32,
    /// `PERMISSION_FAULTS`: valid, read, write, execute.
    permission: u32,
}

fn kind(cntl: &ContextFields, fault: &VmFault) -> Kind {
    // The same fields in all generations.
    use gc::VM_L2_PROTECTION_FAULT_CNTL as Hub;
    let read = Hub::READ_PROTECTION_FAULT_ENABLE_DEFAULT.mask();
    let write = Hub::WRITE_PROTECTION_FAULT_ENABLE_DEFAULT.mask();
    let execute = Hub::EXECUTE_PROTECTION_FAULT_ENABLE_DEFAULT.mask();
    let valid = Hub::VALID_PROTECTION_FAULT_ENABLE_DEFAULT.mask();
    let range = Hub::RANGE_PROTECTION_FAULT_ENABLE_DEFAULT.mask();
    let pde0 = Hub::PDE0_PROTECTION_FAULT_ENABLE_DEFAULT.mask();
    let of_access = match fault.access {
        Access::Read => (cntl.read_interrupt, (cntl.read_default, read), 1 << 1),
        Access::Write | Access::Atomic => {
            (cntl.write_interrupt, (cntl.write_default, write), 1 << 2)
        }
        Access::Execute => (
            cntl.execute_interrupt,
            (cntl.execute_default, execute),
            1 << 3,
        ),
    };
    let valid = (cntl.valid_interrupt, (cntl.valid_default, valid), 1);
    let range = (cntl.range_interrupt, (cntl.range_default, range), 1);
    let pde0 = (cntl.pde0_interrupt, (cntl.pde0_default, pde0), 1);
    let (walker, (enable, default, permission)) = match fault.reason {
        FaultReason::Disabled | FaultReason::Range | FaultReason::Mode => (1, range),
        FaultReason::Invalid(level) | FaultReason::Malformed(level) if level > 0 => {
            (1 + u32::from(level.min(3)), pde0)
        }
        FaultReason::Invalid(_) | FaultReason::Malformed(_) | FaultReason::NoMemory => (0, valid),
        FaultReason::Permission => (0, of_access),
    };
    Kind {
        enable,
        default,
        walker,
        permission: permission | of_access.2,
    }
}

/// Captures a fault in its hub's registers and raises the interrupt.
///
/// The first fault is kept until it is cleared; later ones only set MORE_FAULTS, unless the control
/// register lets them replace it. A fault of VMID 0 is a bug of the driver itself and recorded.
pub fn capture(env: &dyn Env, fault: &VmFault, cid: u32) {
    // The same fields in all generations.
    use gc::VM_L2_PROTECTION_FAULT_CNTL as Cntl;
    use gc::VM_L2_PROTECTION_FAULT_STATUS as Status;
    let page = fault.va >> 12;
    let generation = env.memory().generation();
    let kind = kind(&generation.context, fault);
    let write = matches!(fault.access, Access::Write | Access::Atomic);
    let (enabled, lost) = {
        let mut r = env.memory().hub(fault.hub).registers();
        let replace = Contents::new(r.fault_cntl)
            .get(Cntl::ALLOW_SUBSEQUENT_PROTECTION_FAULT_STATUS_ADDR_UPDATES)
            != 0;
        if r.fault_status != 0 && !replace {
            r.fault_status = Contents::new(r.fault_status)
                .with(Status::MORE_FAULTS, true)
                .bits();
        } else {
            let status = Contents::zeroed().with(
                Status::WALKER_ERROR,
                Bounded::low_bits_of(kind.walker.into()),
            );
            let status = status.with(
                Status::PERMISSION_FAULTS,
                Bounded::low_bits_of(kind.permission.into()),
            );
            let status = status.with(Status::CID, Bounded::low_bits_of(cid.into()));
            let status = status.with(Status::RW, write);
            let status = status.with(Status::ATOMIC, fault.access == Access::Atomic);
            r.fault_status = status
                .with(Status::VMID, Bounded::low_bits_of(fault.vmid.into()))
                .bits();
            r.fault_address = [page as u32, (page >> 32) as u32 & 0xf];
        }
        let cntl = r.cntl.get(usize::from(fault.vmid)).copied().unwrap_or(0);
        (
            kind.enable.get(cntl) != 0,
            setup::lost(&r, cntl, kind.default),
        )
    };
    if fault.vmid == 0 {
        env.report().violation(format_args!("{fault}"));
    } else if let Some(why) = lost {
        env.report()
            .violation(format_args!("{fault}: the access goes nowhere: {why}"));
    }
    let text = fault.to_string();
    env.trace().event(
        "vm_fault",
        &[
            ("fault", Value::Text(&text)),
            ("interrupt", Value::Num(enabled.into())),
        ],
    );
    if !enabled {
        return;
    }
    // The access's kind stands in the second data word (`AMDGPU_GMC9_FAULT_SOURCE_DATA_*`), the
    // fault's in the ring id (`kfd_int_process_v9.c`: 0x08 valid, 0x10 read, 0x20 write).
    let access = match fault.access {
        Access::Read => 0x40,
        Access::Write | Access::Atomic => 0x20,
        Access::Execute => 0x10,
    };
    env.interrupt(&Interrupt {
        client: generation.fault_client(fault.hub),
        source: ih::source::VM_FAULT,
        ring_id: (kind.permission as u8 & 0x7) << 3,
        vmid: fault.vmid,
        hub: fault.hub,
        data: [page as u32, (page >> 32) as u32 & 0xf | access, 0, 0],
    });
}
