// SPDX-License-Identifier: MIT OR Apache-2.0

//! Parts of VRAM that firmware keeps for itself: it has marked each page of them, and complains where a mark has
//! changed.
//!
//! A driver can ask for them (`psp_update_fw_reservation`). The first ends where VRAM does, as Linux demands. Where
//! else firmware keeps something, and how much, is not public. The second lies where Linux' allocator (`drivers/gpu/buddy.c`,
//! from the end down, the smallest blocks first) comes when some hundred MiB are in use: behind what a driver takes before it
//! can ask, and early enough that programs of one that doesn't ask get there.

use crate::device::Services;
use std::ops::Range;

/// Bytes of either part.
pub(in crate::blocks) const SIZE: u64 = 2 << 20;
/// From the end of the second to the end of VRAM, where that is large: what Linux leaves to firmware and the VBIOS without
/// asking (280 MiB), and what it then takes itself.
const BEHIND: u64 = 384 << 20;
/// At the end of the first, the discovery binary, which has no marks.
const UNMARKED: u64 = 1 << 20;
const PAGE: u64 = 4096;
const MARK: u64 = 0x7265_7365_7276_6564;

/// The part at the end, and the other one; none in a VRAM that is too small for that.
pub(super) fn parts(vram: u64) -> Option<[Range<u64>; 2]> {
    let behind = BEHIND.min(vram / 8 / SIZE * SIZE);
    let end = vram - behind;
    (vram >= 16 * SIZE).then(|| [vram - SIZE..vram, end - SIZE..end])
}

/// Firmware marks what it keeps.
pub(super) fn mark(services: &(impl Services + ?Sized)) {
    let memory = services.memory();
    let all = parts(memory.vram.size());
    for at in all
        .iter()
        .flatten()
        .flat_map(|part| pages(part, memory.vram.size()))
    {
        if let Some(page) = memory.vram.part(at, 8) {
            memory.engine_stores(at, 8, || {
                let _ = page.write(0, &(MARK ^ at).to_le_bytes());
            });
        }
    }
    services.firmware().keep(all.is_some());
}

/// Firmware looks for its marks.
pub(in crate::blocks) fn check(services: &(impl Services + ?Sized)) {
    if !services.firmware().keeps() {
        return;
    }
    let vram = services.memory().vram;
    let all = parts(vram.size());
    let is_changed = |at: &u64| {
        let mut mark = [0; 8];
        let read = (vram.part(*at, 8)).is_some_and(|page| page.read(0, &mut mark));
        !read || u64::from_le_bytes(mark) != MARK ^ at
    };
    let changed = all
        .iter()
        .flatten()
        .find_map(|part| pages(part, vram.size()).find(is_changed));
    if let Some(at) = changed {
        services.report().violation(format_args!(
            "firmware: somebody has written to the part of VRAM that it keeps, at {at:#x}"
        ));
        // Once is enough.
        services.firmware().keep(false);
    }
}

/// Where the marked pages of a part begin.
fn pages(part: &Range<u64>, vram: u64) -> impl Iterator<Item = u64> {
    (part.start..part.end.min(vram - UNMARKED)).step_by(PAGE as usize)
}
