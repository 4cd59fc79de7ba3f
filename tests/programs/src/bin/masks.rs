// SPDX-License-Identifier: MIT OR Apache-2.0

//! Masks of compute units: work-groups run on all units of their queue's mask and on no others, as the waves' own
//! registers say; another queue's go on to have all units.
//!
//! `masks CODE-OBJECT`: the code object has the kernel `where_am_i(out)`, which writes HW_ID (gfx12: HW_ID1) and the XCC
//! of each work-group.

use std::collections::BTreeSet;
use std::process::ExitCode;

use rkfd::{Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::{check, code_object, report, Failure, PATIENCE};

/// Work-groups: several for each unit.
const GROUPS: u32 = 2048;

/// XCC, shader engine, array, number in the array of what a mask's bits choose.
type Unit = [u32; 4];

/// What masks mean on a GPU.
struct Shape {
    xccs: u32,
    engines: u32,
    arrays: u32,
    /// Bits of a unit.
    bits: u32,
    /// What the registers show.
    unit: fn(u32, u32) -> Unit,
}

impl Shape {
    /// The topology's counts are of all XCCs.
    fn of(gpu: &Gpu) -> Result<Self, Failure> {
        let node = gpu.node();
        let xccs = node.xccs().max(1);
        let arrays = node.property("simd_arrays_per_engine") as u32;
        let engines =
            node.required("array_count").map_err(Failure::new)? as u32 / arrays.max(1) / xccs;
        let wave64 = gpu.target().starts_with("gfx9");
        Ok(Self {
            xccs,
            engines,
            arrays,
            bits: if wave64 { 1 } else { 2 },
            unit: match wave64 {
                // `SQ_WAVE_HW_ID`: CU_ID in bits 11:8, SE_ID in 15:13.
                true => |id, xcc| [xcc & 15, (id >> 13) & 7, 0, (id >> 8) & 15],
                // `SQ_WAVE_HW_ID1`: WGP_ID in bits 13:10, SA_ID in 16, SE_ID in 20:18.
                false => |id, _| [0, (id >> 18) & 7, (id >> 16) & 1, (id >> 10) & 15],
            },
        })
    }

    /// The unit of a mask's bit, of those that there are: bits count an array's units that aren't fused off.
    fn unit_of(&self, bit: u32, whole: &BTreeSet<Unit>) -> Option<Unit> {
        let n = bit / self.bits;
        let (xcc, n) = (n % self.xccs, n / self.xccs);
        let (engine, n) = (n % self.engines, n / self.engines);
        let array = [xcc, engine, n % self.arrays];
        let mut its = whole.iter().filter(|unit| unit[..3] == array);
        its.nth((n / self.arrays) as usize).copied()
    }

    /// Where work-groups of a queue run.
    fn seen(&self, queue: &Queue, kernel: &Kernel) -> Result<BTreeSet<Unit>, Failure> {
        let out = queue.gpu().alloc::<u32>(2 * GROUPS as usize)?;
        let dispatch = queue.dispatch(kernel).blocks(GROUPS).block(64u32);
        dispatch.arg(&out).submit()?.wait_timeout(PATIENCE)?;
        let words = out.to_vec()?;
        let pairs = words.chunks_exact(2);
        Ok(pairs.map(|of| (self.unit)(of[0], of[1])).collect())
    }
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let shape = Shape::of(&gpu)?;
    let kernel = gpu.load(&code_object()?)?.kernel("where_am_i")?;
    let queue = gpu.queue(QueueOptions::default())?;
    let other = gpu.queue(QueueOptions::default())?;
    let units = gpu.node().compute_units();
    // Which they are is the chip's.
    let whole = shape.seen(&queue, &kernel)?;
    let found: BTreeSet<_> = (0..units).map(|bit| shape.unit_of(bit, &whole)).collect();
    check(
        "all units without a mask",
        found == whole.iter().copied().map(Some).collect(),
    )?;

    // The first of each XCC, the last of each, and some of both: bits of a pair together.
    let each = shape.xccs * shape.bits;
    let first: Vec<u32> = (0..each).collect();
    let last: Vec<u32> = (units - each..units).collect();
    let some: Vec<u32> = [&first[..], &last[..], &[36, 37, 14, 15]].concat();
    for bits in [first, last, some] {
        let mut mask = [0u32; 4];
        for bit in &bits {
            mask[*bit as usize / 32] |= 1 << (bit % 32);
        }
        queue.choose_compute_units(&mask)?;
        let seen = shape.seen(&queue, &kernel)?;
        let wanted = bits.iter().map(|bit| shape.unit_of(*bit, &whole));
        println!("{mask:x?}: {seen:?}");
        check(
            "the units of the mask and no others",
            wanted.collect::<BTreeSet<_>>() == seen.into_iter().map(Some).collect(),
        )?;
    }
    check(
        "another queue has all",
        shape.seen(&other, &kernel)? == whole,
    )?;
    queue.choose_compute_units(&[u32::MAX; 4])?;
    check("all units again", shape.seen(&queue, &kernel)? == whole)
}

fn main() -> ExitCode {
    report("masks", run)
}
