// SPDX-License-Identifier: MIT OR Apache-2.0

//! `hw/` against Linux's and HSA's headers: sizes, fields, registers, opcodes, page table bits.

use rkfd_abi_test::{report, Probe};
use rkfd_hw::layout::LayoutInfo;

mod aql;
mod discovery;
mod firmware;
mod packets;
mod psp;
mod registers;
mod sdma;
mod smu;
mod vbios;

const AMD: &str = "drivers/gpu/drm/amd";

/// Compares `layouts` with their C types, field by field; returns the number of fields compared.
fn compare(mut probe: Probe, layouts: &[&[LayoutInfo]]) -> usize {
    let layouts: Vec<&LayoutInfo> = layouts.iter().copied().flatten().collect();
    let mut expected = Vec::new();
    for layout in &layouts {
        probe.value(&format!("sizeof({})", layout.c));
        expected.push((
            format!("size of {}", layout.name),
            layout.words as u64 * 4,
            None,
        ));
        for field in layout.fields {
            let parts: Vec<&str> = field.c.split('+').collect();
            let width = u64::from(field.width) / parts.len() as u64;
            for (i, part) in parts.iter().enumerate() {
                probe.place(layout.c, part);
                let bit = u64::from(field.bit) + i as u64 * width;
                expected.push((format!("{}.{}", layout.name, field.name), bit, Some(width)));
            }
        }
    }
    let answers = probe.run();
    let mut wrong = Vec::new();
    for ((name, bit, width), answer) in expected.iter().zip(&answers) {
        if answer.bit != *bit || width.is_some_and(|w| w != answer.width) {
            wrong.push(format!(
                "{name}: here {bit} width {width:?}, in C {answer:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let fields: usize = layouts.iter().map(|l| l.fields.len()).sum();
    assert!(fields > 0, "no field was compared");
    report(&format!(
        "{} layouts, {fields} fields compared",
        layouts.len()
    ));
    fields
}
