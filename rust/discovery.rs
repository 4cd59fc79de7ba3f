// SPDX-License-Identifier: GPL-2.0

//! IP discovery: the device's own list of what it is made of.
//!
//! Firmware leaves a binary 64 KiB before the end of VRAM. Its IP table lists the IP blocks with
//! version and base addresses; its GC table counts shader engines and compute units; its harvest
//! table names what is fused off. None of it is trusted: the whole is copied once, offsets and
//! counts are checked against the copy's size, and checksums must hold. Only what is used later
//! is kept.

use crate::{
    glue::aperture::Aperture,
    hw::{
        discovery::{
            checksum,
            u16_at,
            u32_at,
            BinaryHeader,
            GcInfoV1_3,
            GcInfoV2_1,
            BINARY_SIGNATURE,
            GC_TABLE_ID,
            HARVEST_SIGNATURE,
            MAX_SIZE,
            OFFSET_FROM_END,
            TABLE_GC,
            TABLE_HARVEST,
            TABLE_IP, //
        },
        regs::Block, //
    },
    types::{
        BlockVersion,
        IpVersion,
        UnknownBlock,
        Versions, //
    }, //
};
use kernel::{
    device,
    prelude::*, //
};

mod ips;

pub(crate) use ips::Entry;

/// Base addresses of a block that are kept; blocks have at most this many segments.
const SEGMENTS: usize = 10;
/// More entries than any chip has: a bound for untrusted counts.
const MAX_IPS: usize = 512;
const MAX_INSTANCES: u8 = 16;

/// One instance of an IP block.
struct Ip {
    hw_id: u16,
    instance: u8,
    version: IpVersion,
    bases: [Option<u32>; SEGMENTS],
}

/// Counts of the graphics core, of one XCC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GcInfo {
    pub(crate) shader_engines: u32,
    pub(crate) shader_arrays_per_engine: u32,
    pub(crate) cu_per_array: u32,
    pub(crate) wave_size: u32,
    pub(crate) waves_per_simd: u32,
    pub(crate) max_scratch_slots_per_cu: u32,
    pub(crate) lds_kib: u32,
    pub(crate) tccs: u32,
    /// The caches, in the order in which the topology lists them.
    pub(crate) caches: [Cache; 5],
    /// Caches of an SQC: instructions and scalar data.
    pub(crate) sqc_inst_kib: u32,
    pub(crate) sqc_data_kib: u32,
    /// Render backends of a shader engine, and vector registers that a wave can have.
    pub(crate) render_backends: u32,
    pub(crate) vgprs: u32,
    /// As gfx11 and later count: SQCs of a WGP; vector cache, L1 of an array, and L2.
    pub(crate) sqc_per_wgp: u32,
    pub(crate) tcp_l1_kib: u32,
    pub(crate) gl1c_kib: u32,
    pub(crate) gl2c_kib: u32,
}

/// What a kind of cache is like. There is none of a kind whose size is 0.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Cache {
    pub(crate) level: u32,
    pub(crate) size_kib: u32,
    /// Bytes of a line, 0 when the table doesn't have it.
    pub(crate) line: u32,
    /// It holds instructions, else data.
    pub(crate) instructions: bool,
    /// Compute units that share one.
    pub(crate) shared: u32,
}

/// The discovery table, parsed.
pub(crate) struct Discovery {
    ips: KVec<Ip>,
    gc: GcInfo,
    /// As it was read, for people to look at.
    binary: KVVec<u8>,
}

/// Bytes of the harvest table: its header and 32 entries.
const HARVEST_SIZE: u16 = 8 + 32 * 4;

/// Why a table was refused, as text for the log.
type Reason = &'static str;

impl Discovery {
    /// Reads the table at the end of VRAM.
    pub(crate) fn read(dev: &device::Device, vram: &Aperture, vram_size: u64) -> Result<Self> {
        let at = vram_size.checked_sub(OFFSET_FROM_END).ok_or(ENODEV)?;
        let mut binary = KVVec::with_capacity(MAX_SIZE, GFP_KERNEL)?;
        for word in (at..vram_size).step_by(4).take(MAX_SIZE / 4) {
            binary.extend_from_slice(&vram.read32(word)?.to_le_bytes(), GFP_KERNEL)?;
        }
        let mut ips = KVec::new();
        match parse(&binary, &mut ips) {
            Ok(Ok(gc)) => {
                let size = check(&binary).map_or(0, <[u8]>::len);
                binary.truncate(size);
                Ok(Self { ips, gc, binary })
            }
            Ok(Err(reason)) => {
                dev_err!(
                    dev,
                    "the discovery table at VRAM offset {:#x} is unusable: {}\n",
                    at,
                    reason
                );
                Err(EINVAL)
            }
            Err(error) => Err(error),
        }
    }

    /// The whole binary, as firmware left it.
    pub(crate) fn binary(&self) -> &[u8] {
        &self.binary
    }

    /// Calls `f` with each block that is listed, die by die; those that are fused off are among them.
    ///
    /// # Errors
    ///
    /// What `f` returns.
    pub(crate) fn each(&self, f: impl FnMut(&Entry<'_>) -> Result) -> Result {
        // It was parsed once.
        ips::each(&self.binary, f)?.map_err(|_| EINVAL)
    }

    /// Whether a block that is listed is fused off, as far as that matters here.
    pub(crate) fn is_fused_off(&self, entry: &Entry<'_>) -> bool {
        let is_it = |ip: &Ip| ip.hw_id == entry.hw_id && ip.instance == entry.instance;
        entry.hw_id == Block::Gc as u16 && !self.ips.iter().any(is_it)
    }

    /// Counts of the graphics core.
    pub(crate) fn gc(&self) -> &GcInfo {
        &self.gc
    }

    /// Version of the first instance of a block.
    pub(crate) fn version(&self, hw_id: u16) -> Option<IpVersion> {
        self.ips
            .iter()
            .find(|ip| ip.hw_id == hw_id)
            .map(|ip| ip.version)
    }

    /// Versions of the blocks that the module has code for.
    ///
    /// # Errors
    ///
    /// The first block that the device lacks, or has in another version.
    pub(crate) fn versions(&self) -> Result<Versions, UnknownBlock> {
        Ok(Versions {
            gc: self.known()?,
            mmhub: self.known()?,
            osssys: self.known()?,
            nbio: self.known()?,
            sdma: self.known()?,
        })
    }

    /// The version of one kind of block.
    fn known<V: BlockVersion>(&self) -> Result<V, UnknownBlock> {
        let found = self.version(V::BLOCK as u16);
        found.and_then(V::of).ok_or(UnknownBlock {
            name: V::NAME,
            found,
        })
    }

    /// Base address of a segment of an instance, in words.
    pub(crate) fn base(&self, block: Block, instance: u8, segment: u8) -> Option<u32> {
        let ip = self
            .ips
            .iter()
            .find(|ip| ip.hw_id == block as u16 && ip.instance == instance)?;
        *ip.bases.get(usize::from(segment))?
    }

    /// The instances of a block.
    pub(crate) fn instances(&self, hw_id: u16) -> impl Iterator<Item = u8> + '_ {
        (0..MAX_INSTANCES).filter(move |&i| {
            self.ips
                .iter()
                .any(|ip| ip.hw_id == hw_id && ip.instance == i)
        })
    }
}

/// A table of the binary: checked to lie within it, and its checksum to hold.
fn table(binary: &[u8], index: usize) -> Result<Option<&[u8]>, Reason> {
    const CUT: Reason = "a table is cut short";
    // Version 2 of the header counts its tables before it lists them.
    let first = if u16_at(binary, 4) == Some(2) { 16 } else { 12 };
    let list = binary.get(first..).ok_or(CUT)?;
    let entry = list.chunks_exact(8).nth(index).ok_or(CUT)?;
    let offset = usize::from(u16_at(entry, 0).ok_or(CUT)?);
    let sum = u16_at(entry, 2).ok_or(CUT)?;
    if offset == 0 {
        return Ok(None);
    }
    let rest = binary.get(offset..).ok_or(CUT)?;
    // As Linux does: the size is the one in the table itself.
    let size = match index {
        TABLE_IP => u16_at(rest, 6),
        TABLE_GC => u16_at(rest, 8),
        _ => Some(HARVEST_SIZE),
    };
    let bytes = rest.get(..usize::from(size.ok_or(CUT)?)).ok_or(CUT)?;
    if checksum(bytes) != sum {
        return Err("a table has a wrong checksum");
    }
    Ok(Some(bytes))
}

/// Parses the binary. The outer error is ours, the inner one the device's.
fn parse(bytes: &[u8], ips: &mut KVec<Ip>) -> Result<Result<GcInfo, Reason>> {
    let binary = match check(bytes) {
        Ok(binary) => binary,
        Err(reason) => return Ok(Err(reason)),
    };
    match parse_ips(binary, ips)? {
        Ok(()) => {}
        Err(reason) => return Ok(Err(reason)),
    }
    Ok(harvest(binary, ips).and_then(|()| parse_gc(binary)))
}

/// The first words of a table; those that it lacks are zero.
fn words<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut words = [0; N];
    for (to, from) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *to = u32_at(from, 0).unwrap_or(0);
    }
    words
}

/// Signature, size and checksum; returns the binary cut to its size.
fn check(bytes: &[u8]) -> Result<&[u8], Reason> {
    let words: [u32; 15] = words(bytes);
    let header = BinaryHeader::read(&words).ok_or("header cut short")?;
    if header.get(BinaryHeader::SIGNATURE) != u64::from(BINARY_SIGNATURE) {
        return Err("wrong signature");
    }
    if header.get(BinaryHeader::VERSION_MAJOR) > 2 {
        return Err("unknown version of the binary");
    }
    let size = header.get(BinaryHeader::SIZE) as usize;
    let binary = bytes
        .get(..size)
        .ok_or("its size is larger than the space set aside for it")?;
    // The sum covers what follows the field that holds it.
    let summed = binary
        .get(10..)
        .ok_or("its size is smaller than its header")?;
    if u64::from(checksum(summed)) != header.get(BinaryHeader::CHECKSUM) {
        return Err("wrong checksum");
    }
    Ok(binary)
}

fn parse_ips(binary: &[u8], ips: &mut KVec<Ip>) -> Result<Result<(), Reason>> {
    let mut is_full = false;
    let parsed = ips::each(binary, |entry| {
        let twice = ips
            .iter()
            .any(|other| other.hw_id == entry.hw_id && other.instance == entry.instance);
        // Blocks that are not used here may repeat; the first of them counts.
        if entry.instance >= MAX_INSTANCES || twice {
            return Ok(());
        }
        if ips.len() >= MAX_IPS {
            is_full = true;
            return Ok(());
        }
        let mut bases = [None; SEGMENTS];
        for (to, base) in bases.iter_mut().zip(entry.bases()) {
            *to = Some(base);
        }
        let ip = Ip {
            hw_id: entry.hw_id,
            instance: entry.instance,
            version: entry.version,
            bases,
        };
        Ok(ips.push(ip, GFP_KERNEL)?)
    })?;
    Ok(match is_full {
        true => Err("the IP table has too many entries"),
        false => parsed,
    })
}

/// Takes out what is fused off. Only XCCs matter here.
fn harvest(binary: &[u8], ips: &mut KVec<Ip>) -> Result<(), Reason> {
    let Some(list) = table(binary, TABLE_HARVEST)? else {
        return Ok(());
    };
    if u32_at(list, 0) != Some(HARVEST_SIGNATURE) {
        return Err("wrong signature of the harvest table");
    }
    for entry in list.get(8..).unwrap_or_default().chunks(4) {
        let (Some(hw_id), Some(&instance)) = (u16_at(entry, 0), entry.get(2)) else {
            break;
        };
        if hw_id == 0 {
            break;
        }
        if hw_id == Block::Gc as u16 {
            ips.retain(|ip| ip.hw_id != hw_id || ip.instance != instance);
        }
    }
    Ok(())
}

/// The GC table: gfx9.4.3 has version 2, gfx11 and gfx12 have version 1.
fn parse_gc(binary: &[u8]) -> Result<GcInfo, Reason> {
    let bytes = table(binary, TABLE_GC)?.ok_or("no GC table")?;
    if u32_at(bytes, 0) != Some(GC_TABLE_ID) {
        return Err("wrong signature of the GC table");
    }
    let gc = match u16_at(bytes, 4) {
        Some(1) => parse_gc_v1(bytes),
        Some(2) => parse_gc_v2(bytes),
        _ => return Err("unknown version of the GC table"),
    }
    .ok_or("GC table cut short")?;
    let sane = (1..=8).contains(&gc.shader_engines)
        && (1..=4).contains(&gc.shader_arrays_per_engine)
        && (1..=32).contains(&gc.cu_per_array)
        && (32..=64).contains(&gc.wave_size);
    if sane {
        Ok(gc)
    } else {
        Err("the GC table has impossible counts")
    }
}

/// Source of the caches: Linux, `kfd_fill_gpu_cache_info_from_gfx_config`.
fn parse_gc_v1(bytes: &[u8]) -> Option<GcInfo> {
    use GcInfoV1_3 as Gc;
    // A table of an older minor version is shorter: what it lacks is zero.
    let words: [u32; 41] = words(bytes);
    let info = Gc::read(&words)?;
    let field = |field| info.get(field) as u32;
    // A WGP is two compute units, which share SQCs.
    let wgps = field(Gc::NUM_WGP0_PER_SA).checked_add(field(Gc::NUM_WGP1_PER_SA))?;
    let cu_per_array = wgps.checked_mul(2)?;
    let cache = |level, size, line, shared| Cache {
        level,
        size_kib: size,
        line,
        instructions: false,
        shared,
    };
    let (instructions, scalars) = (
        field(Gc::L1_INSTRUCTION_CACHE_SIZE_PER_SQC),
        field(Gc::L1_DATA_CACHE_SIZE_PER_SQC),
    );
    let per_sqc = field(Gc::NUM_SQC_PER_WGP).saturating_mul(2);
    let gl1c = field(Gc::GL1C_SIZE_PER_INSTANCE).saturating_mul(field(Gc::GL1C_PER_SA));
    let caches = [
        cache(
            1,
            field(Gc::TCP_L1_SIZE),
            field(Gc::TCP_CACHE_LINE_SIZE),
            field(Gc::NUM_TCP_PER_WPG) / 2,
        ),
        Cache {
            instructions: true,
            ..cache(
                1,
                instructions,
                field(Gc::INSTRUCTION_CACHE_LINE_SIZE),
                per_sqc,
            )
        },
        cache(1, scalars, field(Gc::SCALAR_DATA_CACHE_LINE_SIZE), per_sqc),
        cache(1, gl1c, 0, cu_per_array),
        cache(
            2,
            field(Gc::GL2C_PER_GPU),
            field(Gc::TCC_CACHE_LINE_SIZE),
            cu_per_array,
        ),
    ];
    Some(GcInfo {
        shader_engines: field(Gc::NUM_SE),
        shader_arrays_per_engine: field(Gc::NUM_SA_PER_SE),
        cu_per_array,
        wave_size: field(Gc::WAVE_SIZE),
        waves_per_simd: field(Gc::MAX_WAVES_PER_SIMD),
        max_scratch_slots_per_cu: field(Gc::MAX_SCRATCH_SLOTS_PER_CU),
        lds_kib: field(Gc::LDS_SIZE),
        tccs: field(Gc::NUM_GL2C),
        caches,
        sqc_inst_kib: instructions,
        sqc_data_kib: scalars,
        render_backends: field(Gc::NUM_RB_PER_SE),
        vgprs: field(Gc::NUM_GPRS),
        sqc_per_wgp: field(Gc::NUM_SQC_PER_WGP),
        tcp_l1_kib: field(Gc::TCP_L1_SIZE),
        gl1c_kib: gl1c,
        gl2c_kib: field(Gc::GL2C_PER_GPU),
    })
}

/// Source of the caches: Linux, `kfd_fill_gpu_cache_info_from_gfx_config_v2`; their lines are the
/// driver's knowledge.
fn parse_gc_v2(bytes: &[u8]) -> Option<GcInfo> {
    use GcInfoV2_1 as Gc;
    // As above.
    let words: [u32; 27] = words(bytes);
    let info = Gc::read(&words)?;
    let field = |field| info.get(field) as u32;
    let cache = |level, size, line, shared| Cache {
        level,
        size_kib: size,
        line,
        instructions: false,
        shared,
    };
    let (instructions, scalars) = (
        field(Gc::INSTRUCTION_CACHE_SIZE_PER_SQC),
        field(Gc::SCALAR_DATA_CACHE_SIZE_PER_SQC),
    );
    let per_sqc = field(Gc::NUM_CU_PER_SQC);
    let caches = [
        cache(1, field(Gc::TCP_SIZE_PER_CU), 128, 1),
        Cache {
            instructions: true,
            ..cache(1, instructions, 64, per_sqc)
        },
        cache(1, scalars, 64, per_sqc),
        cache(2, field(Gc::TCC_SIZE), 128, field(Gc::NUM_CU_PER_SH)),
        Cache::default(),
    ];
    Some(GcInfo {
        shader_engines: field(Gc::NUM_SE),
        shader_arrays_per_engine: field(Gc::NUM_SH_PER_SE),
        cu_per_array: field(Gc::NUM_CU_PER_SH),
        wave_size: field(Gc::WAVE_SIZE),
        waves_per_simd: field(Gc::MAX_WAVES_PER_SIMD),
        max_scratch_slots_per_cu: field(Gc::MAX_SCRATCH_SLOTS_PER_CU),
        lds_kib: field(Gc::LDS_SIZE),
        tccs: field(Gc::NUM_TCCS),
        caches,
        sqc_inst_kib: instructions,
        sqc_data_kib: scalars,
        render_backends: field(Gc::NUM_RB_PER_SE),
        vgprs: field(Gc::NUM_GPRS),
        sqc_per_wgp: 0,
        tcp_l1_kib: 0,
        gl1c_kib: 0,
        gl2c_kib: 0,
    })
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
