// SPDX-License-Identifier: MIT OR Apache-2.0

//! The IP discovery binary that firmware leaves at the end of VRAM.
//!
//! Sources: Linux, `include/discovery.h`, `amdgpu/amdgpu_discovery.c`; layouts in
//! `rkfd_hw::discovery`. It holds the IP table (version 3: 32-bit base addresses), the graphics
//! core's counts ([`gc`]) and an empty harvest table.

pub mod gc;

use crate::device::facts::Ip;
use crate::device::Env;
use crate::rules::{Damage, Effect, Event, Kind, Rules};
use rkfd_hw::discovery::{
    checksum, BinaryHeader, DieHeader, Ip as IpEntry, IpHeader, BINARY_SIGNATURE,
    HARVEST_SIGNATURE, IP_SIGNATURE, OFFSET_FROM_END,
};
use rkfd_hw::layout::Layout;
use rkfd_hw::regs::Block;

/// So often does a damaged table list a block, for so many dies, which is as many as there is room for. Linux sets 10 KiB
/// aside for the binary (`DISCOVERY_TMR_SIZE`).
const MANY: usize = 140;
const DIES: u16 = 16;
/// Where the table of blocks has the place of the first die's (`ip_discovery_header.die_info[0].die_offset`), and after that
/// the next one's number.
const DIE0: usize = 16;
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
    let damage = match rules.ask(&Event::of(Kind::Probe)) {
        Some(Effect::Damaged(damage)) => Some(damage),
        _ => None,
    };
    let has = |wanted| damage == Some(wanted);
    let header_size = BinaryHeader::WORDS * 4;
    let ip_table = ip_table(ips, damage, header_size);
    let mut gc_table = bytes(gc_table);
    if has(Damage::CoreSignature) {
        spoil(&mut gc_table);
    }
    let mut harvest = harvest_table();
    if has(Damage::HarvestSignature) {
        spoil(&mut harvest);
    }
    let ip_at = header_size;
    let gc_at = ip_at + ip_table.len();
    let harvest_at = gc_at + gc_table.len();
    let size = harvest_at + harvest.len();
    let signature = match has(Damage::Signature) {
        true => !BINARY_SIGNATURE,
        false => BINARY_SIGNATURE,
    };
    let version = match has(Damage::FutureVersion) {
        true => 3,
        false => 1,
    };
    let ip_sum = match has(Damage::BlocksChecksum) {
        true => !checksum(&ip_table),
        false => checksum(&ip_table),
    };
    let harvest_offset = match has(Damage::NoHarvest) {
        true => 0,
        false => harvest_at as u16,
    };
    let header = BinaryHeader::zeroed()
        .with(BinaryHeader::SIGNATURE, signature)
        .with(BinaryHeader::VERSION_MAJOR, version)
        .with(BinaryHeader::SIZE, size as u16)
        .with(BinaryHeader::IP_OFFSET, ip_at as u16)
        .with(BinaryHeader::IP_CHECKSUM, ip_sum)
        .with(BinaryHeader::IP_SIZE, ip_table.len() as u16)
        .with(BinaryHeader::GC_OFFSET, gc_at as u16)
        .with(BinaryHeader::GC_CHECKSUM, checksum(&gc_table))
        .with(BinaryHeader::GC_SIZE, gc_table.len() as u16)
        .with(BinaryHeader::HARVEST_OFFSET, harvest_offset)
        .with(BinaryHeader::HARVEST_CHECKSUM, checksum(&harvest))
        .with(BinaryHeader::HARVEST_SIZE, harvest.len() as u16);
    let rest = [ip_table, gc_table, harvest].concat();
    // The sum covers what follows the checksum: the header from its size on, and the tables.
    let from_size = bytes(&header.0);
    let sum = checksum(from_size.get(10..).unwrap_or_default()).wrapping_add(checksum(&rest));
    let sum = match has(Damage::Checksum) {
        true => !sum,
        false => sum,
    };
    let header = header.with(BinaryHeader::CHECKSUM, sum);
    [bytes(&header.0), rest].concat()
}

/// Makes a table's signature wrong.
fn spoil(table: &mut [u8]) {
    if let Some(first) = table.first_mut() {
        *first = !*first;
    }
}

fn ip_table(ips: &[Ip], damage: Option<Damage>, at: usize) -> Vec<u8> {
    let die_at = at + IpHeader::WORDS * 4;
    let more = match damage {
        Some(Damage::RepeatedBlock) => 1,
        Some(Damage::TooManyBlocks) => MANY,
        _ => 0,
    };
    let dies = match damage {
        Some(Damage::NoDies) => 0,
        Some(Damage::TooManyBlocks) => DIES,
        _ => 1,
    };
    let repeated = ips.last().into_iter().cycle().take(more);
    let count = match damage {
        Some(Damage::ImpossibleCounts) => u16::MAX,
        _ => (ips.len() + more) as u16,
    };
    let mut die = bytes(&DieHeader::zeroed().with(DieHeader::NUM_IPS, count).0);
    for ip in ips.iter().chain(repeated) {
        let version = match damage == Some(Damage::UnknownCore) && ip.hw_id == Block::Gc as u16 {
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
        .with(IpHeader::NUM_DIES, dies)
        .with(IpHeader::DIE0_OFFSET, die_at as u16);
    let mut table = [bytes(&header.0), die].concat();
    // Further dies have the first one's blocks.
    for further in 1..usize::from(dies) {
        table.copy_within(DIE0..DIE0 + 4, DIE0 + further * 4);
    }
    if damage == Some(Damage::BlocksSignature) {
        spoil(&mut table);
    }
    table
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
