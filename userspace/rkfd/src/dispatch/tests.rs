// SPDX-License-Identifier: MIT OR Apache-2.0

use aql::FENCE_SYSTEM;

use super::*;

fn kernel() -> KernelMetadata {
    KernelMetadata {
        name: "k".into(),
        symbol: "k.kd".into(),
        kernarg_size: 0,
        group_size: 0,
        private_size: 0,
        max_flat_workgroup_size: 512,
        required_workgroup_size: None,
        wavefront_size: 64,
        uniform_workgroups: true,
        dynamic_stack: false,
        args: Vec::new(),
    }
}

#[test]
fn grids_count_work_items_or_work_groups() {
    let items = geometry(&kernel(), Grid::Items((1 << 20).into()), 256.into()).unwrap();
    let blocks = geometry(&kernel(), Grid::Blocks(4096.into()), 256.into()).unwrap();
    assert_eq!(items, blocks);
    assert_eq!(
        (items.grid, items.block, items.dims),
        ([1 << 20, 1, 1], [256, 1, 1], 1)
    );
    let flat = geometry(&kernel(), Grid::Items((64, 64).into()), (16, 16).into()).unwrap();
    assert_eq!(flat.dims, 2);
}

#[test]
fn impossible_shapes_are_refused() {
    let items = |n: u32| Grid::Items(n.into());
    let kernel = kernel();
    let error = |grid, block: Size| geometry(&kernel, grid, block).unwrap_err();
    assert_eq!(error(Grid::None, 256.into()), DispatchError::EmptyGrid);
    assert_eq!(error(items(0), 256.into()), DispatchError::EmptyGrid);
    for block in [(0, 1, 1), (513, 1, 1), (32, 32, 1), (u32::MAX, u32::MAX, 1)] {
        assert!(matches!(
            error(items(64), block.into()),
            DispatchError::WorkGroup { max: 512, .. }
        ));
    }
    assert!(matches!(
        error(items(1000), 256.into()),
        DispatchError::PartialWorkGroup { .. }
    ));
    let many = Grid::Blocks((1 << 24).into());
    assert!(matches!(
        error(many, 256.into()),
        DispatchError::GridOverflow { .. }
    ));

    let required = KernelMetadata {
        required_workgroup_size: Some([64, 1, 1]),
        ..kernel.clone()
    };
    assert!(geometry(&required, items(64), 64.into()).is_ok());
    let error = geometry(&required, items(128), 128.into()).unwrap_err();
    assert!(matches!(error, DispatchError::RequiredWorkGroup { .. }));

    let partial = KernelMetadata {
        uniform_workgroups: false,
        ..kernel
    };
    assert!(geometry(&partial, items(1000), 256.into()).is_ok());
}

#[test]
fn the_packet_of_the_measured_case() {
    let header = Header {
        packet_type: aql::TYPE_KERNEL_DISPATCH,
        barrier: true,
        acquire: FENCE_SYSTEM,
        release: FENCE_SYSTEM,
    };
    let shape = Geometry {
        grid: [1 << 20, 1, 1],
        block: [256, 1, 1],
        dims: 1,
    };
    let words = packet(
        header,
        &shape,
        (96, 0),
        0x7f00_0000_0840,
        0x7f00_0010_0000,
        0x7f00_0020_0040,
    )
    .0;
    // Type 2, barrier in bit 8, acquire 2 in bits 10:9, release 2 in bits 12:11; 1 dimension.
    assert_eq!(words[0], 0x0001_1502);
    assert_eq!(words[1], 0x0001_0100);
    assert_eq!(words[2..6], [1, 1 << 20, 1, 1]);
    assert_eq!(words[6..8], [96, 0]);
    assert_eq!(words[8..12], [0x0000_0840, 0x7f00, 0x0010_0000, 0x7f00]);
    assert_eq!(words[12..16], [0, 0, 0x0020_0040, 0x7f00]);
}
