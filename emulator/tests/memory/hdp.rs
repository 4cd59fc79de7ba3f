// SPDX-License-Identifier: MIT OR Apache-2.0

//! The host data path: what the host stores to VRAM, and when the GPU sees it.

use super::{map, mark, put, read, PTB, R, V, VA, VMID, W, X};
use rkfd_emulator::memory::{FaultReason, Hub};
use rkfd_emulator_testkit::{kernel_context, memory};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{hint, thread};

/// Where VMID 0 has VRAM.
const FB: u64 = 0x80_0000_0000;

#[test]
fn the_host_s_stores_to_page_tables_are_unseen_until_hdp_is_flushed() {
    let (memory, _ram, report) = memory(&[]);
    map(&memory, 0x80_0000 | V | R | W);
    mark(memory.vram, 0x80_1000);
    assert!(read(&memory, VA).is_ok());
    put(memory.vram, PTB + 10 * 8, 0x80_1000 | V | R);
    assert_eq!(read(&memory, VA + 0x1000), Err(FaultReason::Invalid(0)));
    let findings = report.findings();
    let [finding] = findings.as_slice() else {
        panic!("one finding, not {findings:?}");
    };
    let text = finding.to_string();
    assert!(
        text.starts_with("fault: ")
            && text.contains("VRAM at 0x103050 was written by the host and not flushed from HDP"),
        "{text}"
    );
    memory.flush_hdp();
    assert_eq!(read(&memory, VA + 0x1000), Ok(0xfeed_0000_0080_1000));
    // An entry that is taken away stays valid until then, too, whatever is done to the TLB.
    put(memory.vram, PTB + 10 * 8, X);
    memory.hub(Hub::Gfx(0)).invalidate(1 << VMID);
    assert_eq!(read(&memory, VA + 0x1000), Ok(0xfeed_0000_0080_1000));
    memory.flush_hdp();
    memory.hub(Hub::Gfx(0)).invalidate(1 << VMID);
    assert_eq!(read(&memory, VA + 0x1000), Err(FaultReason::Invalid(0)));
    assert_eq!(report.findings().len(), 1);
}

#[test]
fn an_engine_reads_what_the_host_stored_before_hdp_was_flushed() {
    let (memory, _ram, report) = memory(&[]);
    kernel_context(&memory, Hub::Gfx(0), 0x20_0000, 512);
    let space = memory.space(Hub::Gfx(0), 0);
    let fb = 0x80_0000_0000u64;
    let mqd = |word: u64| fb + 0x30_0000 + word * 8;
    let words = || {
        let mut words = [0; 8];
        space.read_words(mqd(0), &mut words).unwrap();
        [words[0], words[2]]
    };
    put(memory.vram, 0x30_0000, 1);
    put(memory.vram, 0x30_0008, 2);
    assert_eq!(words(), [1, 2]);
    put(memory.vram, 0x30_0008, 3);
    // A word alone may be polled: it is the old one, and nothing is wrong with that.
    assert_eq!(space.load_u64(mqd(1)), Ok(2));
    assert_eq!(space.load_u32(mqd(1)), Ok(2));
    assert_eq!(report.findings(), []);
    assert_eq!(words(), [1, 2]);
    let text = report.findings()[0].to_string();
    assert!(
        text.starts_with("violation: ")
            && text.contains("VRAM at 0x300008 was written by the host and not flushed from HDP"),
        "{text}"
    );
    // What an engine stores it sees at once, and no more than that.
    space.store_u32(mqd(0), 7).unwrap();
    space.write(mqd(2), &[9; 8]).unwrap();
    assert_eq!(space.update_u64(mqd(0), |old| old + 1), Ok(7));
    assert_eq!(space.load_u64(mqd(0)), Ok(8));
    assert_eq!(space.load_u64(mqd(2)), Ok(0x0909_0909_0909_0909));
    assert_eq!(space.load_u64(mqd(1)), Ok(2));
    memory.flush_hdp();
    assert_eq!(words(), [8, 3]);
    assert_eq!(report.findings().len(), 1);
}

#[test]
fn pages_that_compete_for_room_are_forgotten_and_never_mixed_up() {
    let (memory, _ram, report) = memory(&[]);
    kernel_context(&memory, Hub::Gfx(0), 0x20_0000, 512);
    let space = memory.space(Hub::Gfx(0), 0);
    // Half a MiB apart, as many as memory has: more than any group of pages keeps.
    let pages: Vec<u64> = (4..32).map(|n| n << 19).collect();
    for round in 0..3 {
        for &at in &pages {
            put(memory.vram, at, at + round);
            memory.flush_hdp();
            assert_eq!(space.load_u64(FB + at), Ok(at + round));
        }
    }
    // The last one is held back, the first one has been forgotten: it is read as it is now.
    let (first, last) = (pages[0], pages[pages.len() - 1]);
    put(memory.vram, last, 7);
    put(memory.vram, first, 7);
    assert_eq!(space.load_u64(FB + last), Ok(last + 2));
    assert_eq!(space.load_u64(FB + first), Ok(7));
    assert_eq!(report.findings(), []);
}

#[test]
fn what_engines_store_is_never_called_unflushed() {
    let (memory, _ram, report) = memory(&[]);
    kernel_context(&memory, Hub::Gfx(0), 0x20_0000, 512);
    let over = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let space = memory.space(Hub::Gfx(0), 0);
            while !over.load(Ordering::Relaxed) {
                let read = reads.fetch_add(1, Ordering::Relaxed);
                space.read_words(FB + 0x30_0000, &mut [0; 4]).unwrap();
                // Now and then nothing is held back.
                if read % 8 == 0 {
                    memory.flush_hdp();
                }
            }
        });
        for n in 0..500 {
            memory.engine_stores(0x30_0000, 8, || {
                put(memory.vram, 0x30_0000, n);
                // The store takes until the reader has come here, if the host lets it come so soon.
                let before = reads.load(Ordering::Relaxed);
                let late = Instant::now() + Duration::from_millis(1);
                while reads.load(Ordering::Relaxed) < before + 2 && Instant::now() < late {
                    hint::spin_loop();
                }
            });
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(report.findings(), []);
}
