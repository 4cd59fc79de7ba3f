// SPDX-License-Identifier: MIT OR Apache-2.0

//! The discovery table, as the module reads it from the end of VRAM.

use crate::glue::aperture::Aperture;
use crate::module::discovery::Discovery;
use rkfd_hw::discovery::OFFSET_FROM_END;
use rkfd_hw::regs::Block;

/// Reads a table of any content. What is accepted has counts that a chip can have, and each block that it
/// names is one of the table's.
pub fn check_discovery(bytes: &[u8]) {
    let vram = Aperture(bytes);
    let Ok(discovery) = Discovery::read(&kernel::device::Device, &vram, OFFSET_FROM_END) else {
        return;
    };
    let gc = discovery.gc();
    assert!((1..=8).contains(&gc.shader_engines) && (32..=64).contains(&gc.wave_size));
    let compute_units = gc.shader_engines * gc.shader_arrays_per_engine * gc.cu_per_array;
    assert!((1..=1024).contains(&compute_units), "{gc:?}");
    for block in [Block::Gc, Block::Mmhub, Block::Sdma, Block::Osssys] {
        let id = block as u16;
        let instances: Vec<u8> = discovery.instances(id).collect();
        assert!(instances.is_sorted());
        assert!(instances.is_empty() || discovery.version(id).is_some());
        for instance in 0..=u8::MAX {
            for segment in [0, 1, 9, 10, u8::MAX] {
                let base = discovery.base(block, instance, segment);
                assert!(base.is_none() || instances.contains(&instance) && segment < 10);
            }
        }
    }
    let _ = discovery.versions();
}
