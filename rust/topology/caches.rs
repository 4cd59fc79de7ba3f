// SPDX-License-Identifier: GPL-2.0

//! A GPU's caches: `caches/N/properties`.
//!
//! One entry for each first-level cache of every group of compute units that share it, and one for
//! the second level. A cache names its first compute unit and has a bit for each that shares it.
//!
//! Source: Linux, `kfd_fill_cache_non_crat_info`; the kinds come from the discovery table.

use crate::{
    chip::ChipInfo,
    discovery::Cache as Kind,
    glue::kobject::{
        File,
        Show,
        Text, //
    }, //
};
use core::fmt::Write;
use kernel::prelude::*;

const TYPE_DATA: u32 = 1 << 0;
const TYPE_INSTRUCTION: u32 = 1 << 1;
const TYPE_CPU_OR_SIMD: u32 = 1 << 3;

/// A cache.
pub(super) struct Cache {
    kind: Kind,
    processor_id_low: u32,
    siblings: KVec<u32>,
}

static FILES: [File; 1] = [File::new(c"properties")];

impl Show for Cache {
    fn files() -> &'static [File] {
        &FILES
    }

    fn show(&self, _file: usize, out: &mut Text<'_>) -> Result {
        let holds = if self.kind.instructions {
            TYPE_INSTRUCTION
        } else {
            TYPE_DATA
        };
        let kind = holds | TYPE_CPU_OR_SIMD;
        for (name, value) in [
            ("processor_id_low", self.processor_id_low),
            ("level", self.kind.level),
            ("size", self.kind.size_kib),
            ("cache_line_size", self.kind.line),
            ("cache_lines_per_tag", 0),
            ("association", 0),
            ("latency", 0),
            ("type", kind),
        ] {
            out.property(name, value.into());
        }
        out.write_str("sibling_map ").map_err(|_| EINVAL)?;
        let mut separator = "";
        for word in &self.siblings {
            for bit in 0..32 {
                let _ = write!(out, "{separator}{}", word >> bit & 1);
                separator = ",";
            }
        }
        out.write_str("\n").map_err(|_| EINVAL)
    }
}

/// The caches of a chip whose first compute unit has the number `first`.
pub(super) fn of(chip: &ChipInfo, first: u32) -> Result<KVec<Cache>> {
    let mut caches = KVec::new();
    for kind in chip
        .caches
        .iter()
        .filter(|kind| kind.size_kib > 0 && kind.shared > 0)
    {
        if kind.level == 1 {
            first_level(chip, *kind, first, &mut caches)?;
        } else {
            caches.push(second_level(chip, *kind, first)?, GFP_KERNEL)?;
        }
    }
    Ok(caches)
}

fn low_bits(count: u32) -> u32 {
    !u32::MAX.checked_shl(count).unwrap_or(0)
}

/// The active compute units of every array, in the order of their numbers.
fn arrays(chip: &ChipInfo) -> impl Iterator<Item = u32> + '_ {
    let engines = chip.engines_per_xcc();
    (0..chip.num_xcc).flat_map(move |_| {
        (0..engines).flat_map(move |se| {
            (0..chip.shader_arrays_per_engine).map(move |sa| {
                let engine = chip.cu_bitmap.get(se as usize);
                engine
                    .and_then(|engine| engine.get(sa as usize))
                    .copied()
                    .unwrap_or(0)
            })
        })
    })
}

fn first_level(chip: &ChipInfo, kind: Kind, first: u32, caches: &mut KVec<Cache>) -> Result {
    let mut number = first;
    for active in arrays(chip) {
        let mut cu = 0;
        while cu < chip.cu_per_array {
            let group = active.checked_shr(cu).unwrap_or(0) & low_bits(kind.shared);
            if group != 0 {
                // Groups begin with their first active unit.
                let skipped = group.trailing_zeros();
                let siblings = KVec::from_elem(group >> skipped, 1, GFP_KERNEL)?;
                let processor_id_low = number.saturating_add(skipped);
                caches.push(
                    Cache {
                        kind,
                        processor_id_low,
                        siblings,
                    },
                    GFP_KERNEL,
                )?;
            }
            number = number.saturating_add(kind.shared.min(chip.cu_per_array.saturating_sub(cu)));
            cu = cu.saturating_add(kind.shared);
        }
    }
    Ok(())
}

fn second_level(chip: &ChipInfo, kind: Kind, first: u32) -> Result<Cache> {
    let mut siblings = KVec::new();
    let mut skipped = None;
    for active in arrays(chip) {
        let mask = active & low_bits(kind.shared);
        let shift = *skipped.get_or_insert(if mask == 0 { 0 } else { mask.trailing_zeros() });
        let first_array = siblings.is_empty();
        siblings.push(if first_array { mask >> shift } else { mask }, GFP_KERNEL)?;
    }
    let processor_id_low = first.saturating_add(skipped.unwrap_or(0));
    Ok(Cache {
        kind,
        processor_id_low,
        siblings,
    })
}
