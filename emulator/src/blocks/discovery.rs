// SPDX-License-Identifier: MIT OR Apache-2.0

//! The IP discovery binary that firmware leaves at the end of VRAM.
//!
//! Sources: Linux, `include/discovery.h`, `amdgpu/amdgpu_discovery.c`; layouts in
//! `rkfd_hw::discovery`. It holds the IP table (version 3: 32-bit base addresses), the graphics
//! core's counts ([`gc`]) and an empty harvest table.

pub mod gc;

use crate::device::facts::Ip;
use crate::device::Env;
use crate::rules::{Effect, Event, Kind, Rules};
use rkfd_hw::discovery::{
    checksum, BinaryHeader, DieHeader, Ip as IpEntry, IpHeader, BINARY_SIGNATURE,
    HARVEST_SIGNATURE, IP_SIGNATURE, OFFSET_FROM_END,
};
use rkfd_hw::layout::Layout;
use rkfd_hw::regs::Block;

/// Entries of the harvest table.
const HARVEST_ENTRIES: usize = 32;
/// The version of GC that no driver knows, for the rule.
const UNKNOWN_GC: (u8, u8, u8) = (99, 4, 3);

/// Puts the binary into VRAM.
pub fn install(env: &dyn Env, binary: &[u8]) {
    let vram = env.memory().vram;
    let at = vram.size().checked_sub(OFFSET_FROM_END);
    let done = at
        .and_then(|at| vram.part(at, binary.len()))
        .is_some_and(|part| part.write(0, binary));
    if !done {
        env.report().violation(format_args!(
            "VRAM of {:#x} bytes has no room for the discovery binary",
            vram.size()
        ));
    }
}

/// The binary of a chip with these IP blocks and this GC table.
pub fn build(ips: &[Ip], gc_table: &[u32], rules: &Rules) -> Vec<u8> {
    let effect = rules.ask(&Event::of(Kind::Probe));
    let header_size = BinaryHeader::WORDS * 4;
    let ip_table = ip_table(ips, effect, header_size);
    let gc_table = bytes(gc_table);
    let harvest = harvest_table();
    let ip_at = header_size;
    let gc_at = ip_at + ip_table.len();
    let harvest_at = gc_at + gc_table.len();
    let size = harvest_at + harvest.len();
    let signature = if effect == Some(Effect::BadSignature) {
        !BINARY_SIGNATURE
    } else {
        BINARY_SIGNATURE
    };
    let version = match effect {
        Some(Effect::FutureVersion) => 3,
        _ => 1,
    };
    let header = BinaryHeader::zeroed()
        .with(BinaryHeader::SIGNATURE, signature)
        .with(BinaryHeader::VERSION_MAJOR, version)
        .with(BinaryHeader::SIZE, size as u16)
        .with(BinaryHeader::IP_OFFSET, ip_at as u16)
        .with(BinaryHeader::IP_CHECKSUM, checksum(&ip_table))
        .with(BinaryHeader::IP_SIZE, ip_table.len() as u16)
        .with(BinaryHeader::GC_OFFSET, gc_at as u16)
        .with(BinaryHeader::GC_CHECKSUM, checksum(&gc_table))
        .with(BinaryHeader::GC_SIZE, gc_table.len() as u16)
        .with(BinaryHeader::HARVEST_OFFSET, harvest_at as u16)
        .with(BinaryHeader::HARVEST_CHECKSUM, checksum(&harvest))
        .with(BinaryHeader::HARVEST_SIZE, harvest.len() as u16);
    let rest = [ip_table, gc_table, harvest].concat();
    // The sum covers what follows the checksum: the header from its size on, and the tables.
    let from_size = bytes(&header.0);
    let sum = checksum(from_size.get(10..).unwrap_or_default()).wrapping_add(checksum(&rest));
    let sum = if effect == Some(Effect::BadChecksum) {
        !sum
    } else {
        sum
    };
    let header = header.with(BinaryHeader::CHECKSUM, sum);
    [bytes(&header.0), rest].concat()
}

fn ip_table(ips: &[Ip], effect: Option<Effect>, at: usize) -> Vec<u8> {
    let die_at = at + IpHeader::WORDS * 4;
    let count = match effect {
        Some(Effect::ImpossibleCounts) => u16::MAX,
        _ => ips.len() as u16,
    };
    let mut die = bytes(&DieHeader::zeroed().with(DieHeader::NUM_IPS, count).0);
    for ip in ips {
        let version = match effect == Some(Effect::UnknownCore) && ip.hw_id == Block::Gc as u16 {
            true => UNKNOWN_GC,
            false => ip.version,
        };
        die.extend(bytes(&entry(ip, version).0));
        die.extend(bytes(ip.bases));
    }
    let size = IpHeader::WORDS * 4 + die.len();
    let header = IpHeader::zeroed()
        .with(IpHeader::SIGNATURE, IP_SIGNATURE)
        .with(IpHeader::VERSION, 3)
        .with(IpHeader::SIZE, size as u16)
        .with(IpHeader::NUM_DIES, 1)
        .with(IpHeader::DIE0_OFFSET, die_at as u16);
    [bytes(&header.0), die].concat()
}

fn entry(ip: &Ip, (major, minor, revision): (u8, u8, u8)) -> IpEntry {
    IpEntry::zeroed()
        .with(IpEntry::HW_ID, ip.hw_id)
        .with(IpEntry::INSTANCE, ip.instance)
        .with(IpEntry::NUM_BASE_ADDRESS, ip.bases.len() as u8)
        .with(IpEntry::MAJOR, major)
        .with(IpEntry::MINOR, minor)
        .with(IpEntry::REVISION, revision)
}

/// No IP block is harvested: a table that ends at its first entry. (Fused-off compute units are
/// in `CC_GC_SHADER_ARRAY_CONFIG`.)
fn harvest_table() -> Vec<u8> {
    let mut table = bytes(&[HARVEST_SIGNATURE, 0]);
    table.resize(table.len() + HARVEST_ENTRIES * 4, 0);
    table
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
