// SPDX-License-Identifier: MIT OR Apache-2.0

//! VRAM that is given away while a process can still reach it.

use super::{map, put_entry, read, PTB, R, V, VA, VMID, W, X};
use rkfd_emulator::memory::tlb::{Flush, Reach, Tlb};
use rkfd_emulator::memory::walk::{Place, Rights, Translation};
use rkfd_emulator::memory::Hub;
use rkfd_emulator_testkit::{kernel_context, memory};

/// Linux, `amdgpu_vm_tlb_flush` and `kfd_ioctl_unmap_memory_from_gpu`: the TLB is flushed before VRAM is given away.
#[test]
fn vram_that_a_running_process_reaches_by_the_tlb_is_not_given_away() {
    let (memory, _, report) = memory(&[]);
    let hub = memory.hub(Hub::Gfx(0));
    kernel_context(&memory, Hub::Gfx(0), 0x30_0000, 16);
    map(&memory, 0x80_0000 | V | R | W);
    let clear = |at: u64| {
        memory
            .space(Hub::Gfx(0), 0)
            .takes(hub.vram_start() + at, 0x2000)
    };
    let unmap = || put_entry(&memory, PTB + 9 * 8, X);
    read(&memory, VA).unwrap();
    memory.set_users(1 << VMID);
    // What a process has is the kernel's to write, too.
    clear(0x80_0000);
    unmap();
    // Other pages, and a process that doesn't run.
    clear(0x80_1000);
    clear(0x7f_e000);
    memory.set_users(!(1 << VMID));
    clear(0x80_0000);
    assert_eq!(report.findings(), []);
    memory.set_users(1 << VMID);
    clear(0x7f_f000);
    let text = format!("Gfx hub VMID 8: VRAM at 0x800000 is written for the kernel while the TLB has it for {VA:#x}");
    let found = report.findings();
    assert!(
        matches!(&found[..], [one] if one.text.starts_with(&text)),
        "{found:?}"
    );
    // What the data cache has brings it back.
    let flush = |kind| memory.flush(Hub::Gfx(0), 1 << VMID, kind);
    flush(Flush::Light);
    clear(0x80_0000);
    assert_eq!(report.violations(), 2);
    flush(Flush::Heavy);
    flush(Flush::Heavy);
    clear(0x80_0000);
    // It is elsewhere now.
    put_entry(&memory, PTB + 9 * 8, 0x80_1000 | V | R | W);
    read(&memory, VA).unwrap();
    clear(0x80_0000);
    put_entry(&memory, PTB + 9 * 8, 0x90_0000 | V | R | W);
    assert_eq!(report.violations(), 2);
    clear(0x80_0000);
    assert_eq!(report.violations(), 3);
}

/// Linux, `kfd_flush_tlb_after_unmap` and `amdgpu_tlb_fence_work`: what takes pages away flushes heavily, type 2.
#[test]
fn only_a_heavy_flush_waits_for_accesses() {
    let (memory, _, report) = memory(&[]);
    let hub = memory.hub(Hub::Gfx(0));
    kernel_context(&memory, Hub::Gfx(0), 0x30_0000, 16);
    let flush = |kind| memory.flush(Hub::Gfx(0), 1 << VMID, kind);
    let clear = || {
        let at = hub.vram_start() + 0x80_0000;
        memory.space(Hub::Gfx(0), 0).takes(at, 0x1000);
        report.violations()
    };
    // The data cache has nothing more for the second flush, whose kind decides.
    for (last, waits) in [(Flush::Light, false), (Flush::Heavy, true)] {
        let before = clear();
        memory.set_users(1 << VMID);
        map(&memory, 0x80_0000 | V | R | W);
        read(&memory, VA).unwrap();
        put_entry(&memory, PTB + 9 * 8, X);
        flush(Flush::Heavy);
        flush(last);
        assert_eq!(clear() == before, waits, "{last:?}");
        // Another flush that doesn't wait changes nothing; the end of its queues, or a heavy one, does.
        flush(Flush::Light);
        assert_eq!(clear() == before, waits);
        memory.set_users(0);
        memory.set_users(1 << VMID);
        let settled = clear();
        assert_eq!(clear(), settled);
    }
    let found = report.findings();
    let text =
        "VRAM at 0x800000 is written for the kernel while accesses that a flush didn't wait for";
    assert!(found.iter().all(|one| one.text.contains(text)), "{found:?}");
}

/// Where the data cache keeps no page table entries, as on Navi 48.
#[test]
fn what_a_light_flush_drops_is_still_under_way() {
    let tlb = Tlb::new(false);
    let found = Translation {
        start: VA,
        len: 0x1000,
        place: Place::Vram(0x80_0000),
        rights: Rights::ALL,
        held_back: false,
    };
    let kept = |kind, runs| {
        tlb.put(found, tlb.epoch());
        tlb.flush(kind, runs);
        assert!(tlb.is_empty());
        tlb.of_vram(0x80_0800, 8)
    };
    assert_eq!(kept(Flush::Light, false), []);
    assert_eq!(kept(Flush::Light, true), [(found, Reach::UnderWay)]);
    assert_eq!(kept(Flush::Heavy, true), []);
}
