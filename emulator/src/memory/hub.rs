// SPDX-License-Identifier: MIT OR Apache-2.0

//! A VM hub's registers, and its translation caches.
//!
//! The graphics hub (GC) and the multimedia hub (MMHUB) have the same registers by name, apart from
//! a prefix that newer ones have, at other addresses. Sources: Linux, `asic_reg/gc/gc_9_4_3_*.h`,
//! `asic_reg/mmhub/mmhub_1_8_0_*.h`, `gc_12_0_0_*.h`, `mmhub_4_1_0_*.h`, and for their use
//! `amdgpu/gfxhub_v1_2.c`, `amdgpu/mmhub_v1_8.c`, `gfxhub_v12_0.c`, `mmhub_v4_1_0.c`. The registers'
//! side effects are in [`crate::blocks::vmhub`]; here is what translation needs of them.

use super::generation::ContextFields;
use super::tlb::{Flush, Tlb};
use super::walk::{Context, FaultReason, Place, Translation};
use super::{Hub, Layout, Memory, Node};
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::Value;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

/// VMIDs of a hub.
pub const VMIDS: usize = 16;

/// The registers that translation uses, by their place in the hub.
#[derive(Clone, Default)]
pub struct Registers {
    /// `VM_CONTEXTn_CNTL`.
    pub cntl: [u32; VMIDS],
    /// `VM_CONTEXTn_PAGE_TABLE_BASE_ADDR_{LO32,HI32}`.
    pub base: [[u32; 2]; VMIDS],
    /// `VM_CONTEXTn_PAGE_TABLE_START_ADDR_{LO32,HI32}`, a page number.
    pub start: [[u32; 2]; VMIDS],
    /// `VM_CONTEXTn_PAGE_TABLE_END_ADDR_{LO32,HI32}`, the last page's number.
    pub end: [[u32; 2]; VMIDS],
    /// `MC_VM_FB_LOCATION_{BASE,TOP}` and `MC_VM_FB_OFFSET`, in units of 16 MiB.
    pub fb: [u32; 3],
    /// `MC_VM_AGP_{BASE,BOT,TOP}`, in units of 16 MiB.
    pub agp: [u32; 3],
    /// `MC_VM_SYSTEM_APERTURE_{LOW,HIGH}_ADDR`, in units of 256 KiB.
    pub system: [u32; 2],
    /// `MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_{LSB,MSB}`, a page number.
    pub aperture_default: [u32; 2],
    /// `VM_L2_CONTEXT1_IDENTITY_APERTURE_{LOW,HIGH}_ADDR_{LO32,HI32}`, page numbers.
    pub identity: [[u32; 2]; 2],
    /// `MC_VM_MX_L1_TLB_CNTL`.
    pub l1_cntl: u32,
    /// `VM_L2_CNTL`.
    pub l2_cntl: u32,
    /// `VM_L2_CNTL3` and `VM_L2_CNTL4`.
    pub l2_cntl3: [u32; 2],
    /// Both caches were invalidated (`VM_L2_CNTL2`) since they were turned on.
    pub caches_valid: bool,
    /// `VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_{LO32,HI32}`, a page number.
    pub fault_default: [u32; 2],
    /// `VM_L2_PROTECTION_FAULT_CNTL`.
    pub fault_cntl: u32,
    /// `VM_L2_PROTECTION_FAULT_STATUS`: zero while no fault is captured.
    pub fault_status: u32,
    /// `VM_L2_PROTECTION_FAULT_ADDR_{LO32,HI32}`, a page number.
    pub fault_address: [u32; 2],
}

/// An engine whose firmware reaches memory by VMID 0 of a hub, unasked.
pub trait Client: Send + Sync {
    /// Who does so now, and what it reaches.
    fn fetches(&self, hub: Hub) -> Option<String>;
}

/// A hub.
pub struct VmHub {
    hub: Hub,
    clients: Mutex<Vec<Weak<dyn Client>>>,
    registers: Mutex<Registers>,
    power_on: Registers,
    tlbs: [Tlb; VMIDS],
    fields: ContextFields,
    node: Node,
    vram_size: u64,
}

impl VmHub {
    /// A hub as the chip's firmware leaves it: it has placed the frame buffer, nothing else.
    pub fn new(hub: Hub, layout: &Layout) -> Self {
        let base = (layout.fb_base >> 24) as u32;
        let size = match layout.node {
            Node { count: 0, .. } => layout.vram_size.max(1),
            hive => u64::from(hive.count) * hive.segment,
        };
        let top = ((layout.fb_base + size - 1) >> 24) as u32;
        // That cache is the graphics core's: others' walks do not go through it.
        let lines = matches!(hub, Hub::Gfx(_)) && layout.generation.entries_in_data_cache;
        let power_on = Registers {
            fb: [base, top, (layout.fb_offset >> 24) as u32],
            l2_cntl3: layout.generation.l2_cntl3,
            ..Registers::default()
        };
        Self {
            hub,
            clients: Mutex::default(),
            registers: Mutex::new(power_on.clone()),
            power_on,
            tlbs: std::array::from_fn(|_| Tlb::new(lines)),
            fields: layout.generation.context,
            node: layout.node,
            vram_size: layout.vram_size,
        }
    }

    /// Which hub it is.
    pub fn hub(&self) -> Hub {
        self.hub
    }

    /// The registers, locked.
    pub fn registers(&self) -> MutexGuard<'_, Registers> {
        self.registers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Engines that are asked by [`VmHub::fetches`] from now on.
    pub fn add_client(&self, client: Weak<dyn Client>) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.push(client);
    }

    /// Who needs VMID 0 now, and for what.
    pub fn fetches(&self) -> Option<String> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = clients.iter().filter_map(Weak::upgrade);
        all.find_map(|client| client.fetches(self.hub))
    }

    /// Start-up state again.
    pub fn reset(&self) {
        *self.registers() = self.power_on.clone();
        self.invalidate(u16::MAX);
    }

    /// Another driver's page tables were here, of all contexts; none is enabled any more.
    pub fn leave_contexts(&self) {
        let mut r = self.registers();
        r.base = [[0x1234_5001, 1]; VMIDS];
        r.start = [[0x40, 0]; VMIDS];
        r.end = [[0x80, 0]; VMIDS];
        // Nothing was translated.
        r.identity = [[0, 0], [u32::MAX, 0xf]];
    }

    /// A VMID's context.
    pub fn context(&self, vmid: u8) -> Context {
        let n = usize::from(vmid & 0xf);
        let r = self.registers();
        let join = |[lo, hi]: [u32; 2]| u64::from(lo) | (u64::from(hi) << 32);
        let at = |of: &[[u32; 2]; VMIDS]| of.get(n).copied().map_or(0, join);
        let cntl = r.cntl.get(n).copied().unwrap_or(0);
        Context {
            enabled: self.fields.enable.get(cntl) != 0,
            depth: self.fields.depth.get(cntl) as u8,
            block_size: self.fields.block_size.get(cntl),
            base: at(&r.base),
            start: at(&r.start) & 0xf_ffff_ffff,
            end: at(&r.end) & 0xf_ffff_ffff,
            identity: (n != 0).then(|| r.identity.map(join)),
        }
    }

    /// Gives a VMID another page table and forgets its translations, as the scheduler's firmware
    /// does when it gives the VMID to a process (`MAP_PROCESS`). `base` is the packet's value:
    /// address and flags.
    pub fn bind(&self, vmid: u8, base: u64) {
        if let Some(slot) = self.registers().base.get_mut(usize::from(vmid & 0xf)) {
            *slot = [base as u32, (base >> 32) as u32];
        }
        self.invalidate(1 << (vmid & 0xf));
    }

    /// Flushes the translations of the VMIDs in a mask; `running` are those in which queues run.
    pub(super) fn flush(&self, vmids: u16, kind: Flush, running: u16) {
        for (n, tlb) in self.tlbs.iter().enumerate() {
            if vmids & (1 << n) != 0 {
                tlb.flush(kind, running & (1 << n) != 0);
            }
        }
    }

    /// No queue of the VMIDs in a mask runs any more.
    pub(super) fn settle(&self, vmids: u16) {
        let all = self.tlbs.iter().enumerate();
        all.filter(|(n, _)| vmids & (1 << n) != 0)
            .for_each(|(_, tlb)| tlb.settle());
    }

    /// Forgets the translations of the VMIDs in a mask.
    pub fn invalidate(&self, vmids: u16) {
        for (n, tlb) in self.tlbs.iter().enumerate() {
            if vmids & (1 << n) != 0 {
                tlb.invalidate();
            }
        }
    }

    /// A VMID's translation cache.
    pub fn tlb(&self, vmid: u8) -> &Tlb {
        let [first, ..] = &self.tlbs;
        self.tlbs.get(usize::from(vmid & 0xf)).unwrap_or(first)
    }

    /// Physical address of VRAM's first byte, as page tables name it.
    pub fn fb_offset(&self) -> u64 {
        let [_, _, offset] = self.registers().fb;
        (u64::from(offset) << 24) + self.node.offset()
    }

    /// The address at which the chip's own VRAM begins, as the kernel's address space has it.
    pub fn vram_start(&self) -> u64 {
        let [base, ..] = self.registers().fb;
        (u64::from(base) << 24) + self.node.offset()
    }

    /// The device's place in a hive.
    pub fn node(&self) -> Node {
        self.node
    }

    /// The direct translation of an address of VMID 0 in the system aperture, or `None` when its
    /// page table (GART) decides.
    ///
    /// # Errors
    /// The aperture has a hole there, or its mode is not the one that is modelled: advanced driver
    /// model, and access mode 3 (what is not in the aperture is translated).
    pub fn system_aperture(&self, va: u64) -> Result<Option<Translation>, FaultReason> {
        // The same fields in all generations.
        use gc::MC_VM_MX_L1_TLB_CNTL as L1;
        let r = self.registers();
        if Value::new(r.l1_cntl).get(L1::SYSTEM_ACCESS_MODE) != 3
            || Value::new(r.l1_cntl).get(L1::ENABLE_ADVANCED_DRIVER_MODEL) != 1
        {
            return Err(FaultReason::Mode);
        }
        let window = |low: u32, high: u32, shift: u32| {
            let (first, last) = (u64::from(low) << shift, (u64::from(high) + 1) << shift);
            (first < last && (first..last).contains(&va)).then_some((first, last - first))
        };
        let [low, high] = r.system;
        if window(low, high, 18).is_none() {
            return Ok(None);
        }
        let [base, top, _] = r.fb;
        if let Some((first, len)) = window(base, top, 24) {
            if self.node.count == 0 {
                return Ok(Some(Memory::direct(first, len, Place::Vram(0))));
            }
            // The others' memory is theirs.
            let own = first + self.node.offset();
            if !(own..own + self.vram_size).contains(&va) {
                return Err(FaultReason::NoMemory);
            }
            return Ok(Some(Memory::direct(own, self.vram_size, Place::Vram(0))));
        }
        let [bus, bottom, top] = r.agp;
        if let Some((first, len)) = window(bottom, top, 24) {
            return Ok(Some(Memory::direct(
                first,
                len,
                Place::Bus(u64::from(bus) << 24),
            )));
        }
        Err(FaultReason::NoMemory)
    }
}
