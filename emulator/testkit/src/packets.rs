// SPDX-License-Identifier: MIT OR Apache-2.0

//! What programs and drivers write into memory the same way on every chip: AQL packets, signals,
//! page tables of four plain levels.

use rkfd_hw::aql::{self, Header, KernelDispatch, Signal};
use rkfd_hw::pte;

pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A header with fences of the system.
pub fn header_of(kind: u8) -> u16 {
    let header = Header {
        packet_type: kind,
        barrier: false,
        acquire: aql::FENCE_SYSTEM,
        release: aql::FENCE_SYSTEM,
    };
    header.bits()
}

/// The same packet, begun only when all before it are complete.
pub fn in_order(packet: KernelDispatch) -> KernelDispatch {
    let header = packet.get(KernelDispatch::HEADER) as u16;
    packet.with(KernelDispatch::HEADER, header | (1 << 8))
}

/// A dispatch over `grid` work-items in workgroups of `group`, in one dimension.
pub fn dispatch(kernel: u64, kernarg: u64, grid: u32, group: u32, signal: u64) -> KernelDispatch {
    use KernelDispatch as K;
    K::zeroed()
        .with(K::HEADER, header_of(aql::TYPE_KERNEL_DISPATCH))
        .with(K::SETUP, 1)
        .with(K::WORKGROUP_SIZE_X, group as u16)
        .with(K::WORKGROUP_SIZE_Y, 1)
        .with(K::WORKGROUP_SIZE_Z, 1)
        .with(K::GRID_SIZE_X, grid)
        .with(K::GRID_SIZE_Y, 1)
        .with(K::GRID_SIZE_Z, 1)
        .with(K::KERNEL_OBJECT, kernel)
        .with(K::KERNARG_ADDRESS, kernarg)
        .with(K::COMPLETION_SIGNAL, signal)
}

/// A signal of value 1. With an event: its mailbox is the second half of its page, which begins at
/// `at`.
pub fn signal(at: u64, event: u32) -> Vec<u8> {
    let mut s = Signal::zeroed()
        .with(Signal::KIND, 1)
        .with(Signal::VALUE, 1);
    if event != 0 {
        s.set(Signal::EVENT_MAILBOX_PTR, at + 2048);
        s.set(Signal::EVENT_ID, event);
    }
    bytes(&s.0)
}

/// Memory that holds page tables.
pub trait Tables {
    fn load(&self, at: u64) -> u64;
    fn store(&self, at: u64, value: u64);
    /// A new page full of this entry; returns its address as page table entries have it.
    fn new_page(&self, entry: u64) -> u64;
    /// What stands in a directory where no table is (`amdgpu_vm_pt_clear`).
    const EMPTY: u64;
}

/// Writes the entry of a page, and tables on the way to it.
pub fn map_page<T: Tables>(memory: &T, root: u64, va: u64, entry: u64) {
    let mut table = root;
    for level in (1..4).rev() {
        let at = table + pte::index(va, level) as u64 * 8;
        if memory.load(at) & pte::VALID == 0 {
            let empty = match level {
                1 => pte::EXECUTABLE,
                _ => T::EMPTY,
            };
            memory.store(at, memory.new_page(empty) | pte::VALID);
        }
        table = memory.load(at) & pte::ADDRESS;
    }
    memory.store(table + pte::index(va, 0) as u64 * 8, entry);
}

/// ROCr's packet, with neither fence nor barrier bit, for commands that lie in memory.
pub fn pm4_ib(at: u64, words: usize, signal: u64) -> [u32; 16] {
    let mut packet = [0; 16];
    packet[0] = 1 << 16;
    packet[1] = 0xc002_3f00;
    packet[2] = at as u32;
    packet[3] = (at >> 32) as u32;
    packet[4] = words as u32 | (1 << 23);
    packet[5] = 10;
    packet[14] = signal as u32;
    packet[15] = (signal >> 32) as u32;
    packet
}
