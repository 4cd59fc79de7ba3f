// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that a process dispatches: they end, read what isn't mapped, trap, never end, or are no instructions at all.
//! Some packets are none, too.
//! Some have a signal that wakes whoever waits for an event.

use crate::pool::Pool;
use crate::process::Process;
use rkfd_bare::rng::Rng;
use rkfd_uapi::event::SIGNAL_PAGE_SIZE;

/// Where things lie in the page of a kit's pointers, in bytes: `amd_signal_t`, the kernel's descriptor
/// (`llvm::amdhsa::kernel_descriptor_t`), and its instructions.
const SIGNAL: usize = 512;
const DESCRIPTOR: usize = 1024;
const CODE: usize = 2048;
/// Where the descriptor names its instructions, relative to itself.
const ENTRY: usize = DESCRIPTOR + 16;
/// Packets of a ring of one page, 64 bytes each.
const PACKETS: usize = 64;
/// A dispatch that waits for those before it, with both fences for the system.
const HEADER: u64 = 0x1502;
/// Slots of the page in which signals name their events.
const EVENTS: u64 = SIGNAL_PAGE_SIZE as u64 / 8;

/// Instructions, by generation: gfx942, then gfx1201.
struct Code {
    /// `s_endpgm`.
    end: [u32; 2],
    /// `flat_load_dword v0, v[0:1]` (`flat_load_b32`): the addresses are small numbers.
    load: [&'static [u32]; 2],
    /// `s_branch` to itself.
    spin: [u32; 2],
    /// `s_trap 2`.
    trap: [u32; 2],
}

const CODES: Code = Code {
    end: [0xbf81_0000, 0xbfb0_0000],
    load: [&[0xdc50_0000, 0], &[0xec05_007c, 0, 0]],
    spin: [0xbf82_ffff, 0xbfa0_ffff],
    trap: [0xbf92_0002, 0xbf90_0002],
};

/// Some kernel's words, the last of which ends it.
fn code(process: &Process, rng: &mut Rng) -> Vec<u32> {
    let chip = usize::from(!process.node.gfx942());
    let mut words = match rng.below(16) {
        0..=7 => Vec::new(),
        8 => vec![CODES.trap[chip]],
        9..=12 => CODES.load[chip].to_vec(),
        13 | 14 => vec![CODES.spin[chip]],
        _ => vec![rng.bits() as u32, rng.bits() as u32],
    };
    words.push(CODES.end[chip]);
    words
}

/// Writes a kernel and a ring of packets that dispatch it to the buffers of a kit.
pub fn write(process: &Process, pool: &Pool, kit: usize, rng: &mut Rng) {
    // The kits' mappings come first, four of each.
    let (ring, page) = (pool.maps.get(kit * 4), pool.maps.get(kit * 4 + 1));
    let (Some(ring), Some(page), Some(kit)) = (ring, page, process.kits.get(kit)) else {
        return;
    };
    if !ring.writable || !page.writable {
        return;
    }
    let mut words = code(process, rng);
    words.resize(words.len().next_multiple_of(2), CODES.end[0]);
    for (at, pair) in (CODE..).step_by(8).zip(words.chunks_exact(2)) {
        page.map
            .write(at, u64::from(pair[0]) | (u64::from(pair[1]) << 32));
    }
    page.map.write(ENTRY, (CODE - DESCRIPTOR) as u64);
    let event = pool.events.any(rng).map_or(rng.below(EVENTS), u64::from);
    let mailbox = process.signals.wrapping_add(event % EVENTS * 8);
    // Its kind is that of a user's; the value is what the packet counts down.
    for (n, word) in [1, 1, mailbox, event].into_iter().enumerate() {
        page.map.write(SIGNAL + n * 8, word);
    }
    let signal = match rng.chance(3, 4) {
        true => kit.pointers.va + SIGNAL as u64,
        false => 0,
    };
    let threads = rng.pick(&[1, 64, 256]);
    let header = match rng.chance(1, 8) {
        true => HEADER & !0xff | rng.below(8),
        false => HEADER,
    };
    let size = rng.pick(&[64, 64, 64, 64, 64, 64, 0, 0xffff]);
    let packet = [
        header | (1 << 16) | (size << 32) | (1 << 48),
        1 | (threads << 32),
        1 | (1 << 32),
        0,
        kit.pointers.va + DESCRIPTOR as u64,
        0,
        0,
        signal,
    ];
    for at in 0..PACKETS {
        for (n, word) in packet.into_iter().enumerate() {
            ring.map.write(at * 64 + n * 8, word);
        }
    }
}
