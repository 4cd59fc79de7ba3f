// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a workgroup begins: which registers are set, and what of a dispatch can't be launched.

use super::{schedule, Workgroup, LDS_SIZE};
use crate::cu::ComputeUnit;
use crate::decode::code;
use crate::dispatch::Dispatch;
use crate::kernel::Kernel;
use crate::target::Start;
use crate::wave::{Barrier, State, Trap, Wave};
use std::fmt;

/// Scratch memory of one workgroup's waves, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scratch {
    /// GPU address of the first wave's.
    pub base: u64,
    /// Bytes of each wave (all lanes).
    pub wave_size: u64,
}

/// Why a workgroup cannot be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchError {
    /// A workgroup dimension is 0 or there are more than 1,024 work items.
    WorkgroupSize,
    /// A grid dimension is 0, or the workgroup is outside of the grid.
    Grid,
    /// The packet gives less LDS than the code needs, or more than 64 KiB.
    GroupSegment,
    /// The packet gives less scratch than the code needs, or there is not that much.
    PrivateSegment,
    /// More than 512 vector registers, accumulation registers that begin past the end, or registers
    /// of another number of lanes than the workgroup's.
    Registers,
    /// User SGPRs beyond the 16 that hardware has, or a preload that was not provided.
    UserSgprs,
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WorkgroupSize => "workgroup size: a dimension is 0, or more than 1024 work items",
            Self::Grid => "grid size: a dimension is 0, or the workgroup lies outside",
            Self::GroupSegment => "group segment: less than the kernel needs, or more than 64 KiB",
            Self::PrivateSegment => "private segment: less than the kernel needs, or than there is",
            Self::Registers => {
                "vector registers: more than 512, ACCUM_OFFSET beyond them, or another wave size"
            }
            Self::UserSgprs => "user SGPRs: kernel arguments to preload were not provided",
        })
    }
}

impl std::error::Error for LaunchError {}
impl<const L: usize> Workgroup<L> {
    /// Set up workgroup `id` of a dispatch as hardware does: registers and LDS that nothing sets have what waves before
    /// left there. `preloaded` are the kernel argument
    /// dwords that the descriptor asks for in SGPRs, as read from memory.
    pub fn launch(
        cu: &mut ComputeUnit,
        kernel: &Kernel,
        d: &Dispatch,
        id: [u32; 3],
        scratch: Scratch,
        preloaded: &[u32],
    ) -> Result<Self, LaunchError> {
        let size = d.workgroup_size.map(u32::from);
        let items = u64::from(size[0]) * u64::from(size[1]) * u64::from(size[2]);
        if items == 0 || items > 1024 {
            return Err(LaunchError::WorkgroupSize);
        }
        // Work items of this workgroup: fewer at the grid's edges.
        let mut extent = [0u32; 3];
        for n in 0..3 {
            let start = u64::from(id[n]) * u64::from(size[n]);
            if start >= u64::from(d.grid_size[n]) {
                return Err(LaunchError::Grid);
            }
            extent[n] = (u64::from(d.grid_size[n]) - start).min(u64::from(size[n])) as u32;
        }
        if d.group_segment_size < kernel.group_segment_fixed_size || d.group_segment_size > LDS_SIZE
        {
            return Err(LaunchError::GroupSegment);
        }
        let lanes = L as u64;
        // A wave's share comes in whole units, whose size differs between generations.
        let needed = u64::from(d.private_segment_size) * lanes;
        let too_small = d.private_segment_size < kernel.private_segment_fixed_size;
        if too_small || (d.private_segment_size > 0 && scratch.wave_size < needed) {
            return Err(LaunchError::PrivateSegment);
        }
        if kernel.vgprs > 512 || kernel.accum_offset > 256 || kernel.lanes as usize != L {
            return Err(LaunchError::Registers);
        }
        if (preloaded.len() as u64) < u64::from(kernel.preload.0) {
            return Err(LaunchError::UserSgprs);
        }

        let all = u64::from(extent[0]) * u64::from(extent[1]) * u64::from(extent[2]);
        let count = all.div_ceil(lanes) as u32;
        let mut waves = Vec::with_capacity(count as usize);
        let mut item = [0; 3];
        for index in 0..count {
            let mut wave = Wave {
                s: cu.leftovers.scalars(),
                v: cu
                    .leftovers
                    .vectors(kernel.vgprs.max(1) as usize + Wave::<L>::STAGES),
                acc_base: kernel.accum_offset.min(kernel.vgprs.max(1)),
                pc: kernel.entry,
                scc: false,
                mode: kernel.mode,
                state: State::Running,
                barrier: Barrier::Idle,
                apertures: d.apertures,
                scratch: (
                    scratch
                        .base
                        .wrapping_add(u64::from(index) * scratch.wave_size),
                    scratch.wave_size,
                ),
                index,
                ticket: None,
                trap: Trap {
                    handler: d.handler,
                    doorbell: d.doorbell,
                    ..Trap::default()
                },
            };
            user_scalars(&mut wave, kernel, d, preloaded);
            let start = Start {
                kernel,
                dispatch: d,
                id,
                wave: index,
                waves: count,
                scratch: wave.scratch.0,
            };
            (cu.target().start)(&mut wave.s, &start);
            wave.begin(&cu.target().traps, kernel.exceptions, &d.launch);
            let first = u64::from(index) * lanes;
            let active = (all - first).min(lanes);
            let lanes = &mut wave.v[0][..active as usize];
            number(lanes, &mut item, extent, kernel.work_item_id);
            wave.set_pair(
                code::EXEC,
                if active >= 64 {
                    u64::MAX
                } else {
                    (1 << active) - 1
                },
            );
            waves.push(wave);
        }
        cu.waves += u64::from(count);
        cu.workgroups += 1;
        let granule = cu.target().lds_granule;
        let lds = d.group_segment_size.next_multiple_of(granule);
        let lds = cu.leftovers.lds(lds as usize);
        Ok(Self {
            id,
            vmid: d.vmid,
            lds,
            waves,
            turn: 0,
            pending: Vec::new(),
            races: None,
            in_order: kernel.in_order,
            memory_races: None,
            schedule: schedule(cu, id, d.dispatch_id),
            caches: None,
            inherits: true,
        })
    }
}

/// Packed work item ids, from `item` on, x first, then y; `dimensions` beside x were asked for, others are zero.
fn number(lanes: &mut [u32], item: &mut [u32; 3], extent: [u32; 3], dimensions: u32) {
    let mut left = lanes;
    while !left.is_empty() {
        let [x, y, z] = *item;
        let row = (extent[0].saturating_sub(x)).max(1) as usize;
        let (row, rest) = left.split_at_mut(row.min(left.len()));
        let y = if dimensions >= 1 { y } else { 0 };
        let z = if dimensions >= 2 { z } else { 0 };
        let first = x | (y << 10) | (z << 20);
        for (lane, n) in row.iter_mut().zip(0..) {
            *lane = first + n;
        }
        let count = row.len() as u32;
        left = rest;
        item[0] += count;
        if item[0] >= extent[0] {
            (item[0], item[1]) = (0, item[1] + 1);
        }
        if item[1] >= extent[1] {
            (item[1], item[2]) = (0, item[2] + 1);
        }
    }
}

/// User SGPRs in the descriptor's order.
fn user_scalars<const L: usize>(
    wave: &mut Wave<L>,
    kernel: &Kernel,
    d: &Dispatch,
    preloaded: &[u32],
) {
    let mut at = 0;
    let mut pair = |wave: &mut Wave<L>, wanted: bool, value: u64| {
        if wanted {
            wave.set_pair(at, value);
            at += 2;
        }
    };
    pair(wave, kernel.user.dispatch_ptr, d.packet_address);
    pair(wave, kernel.user.queue_ptr, d.queue_address);
    pair(wave, kernel.user.kernarg_segment_ptr, d.kernarg_address);
    pair(wave, kernel.user.dispatch_id, d.dispatch_id);
    if kernel.user.private_segment_size {
        wave.set(at, d.private_segment_size);
        at += 1;
    }
    for &value in preloaded.iter().take(kernel.preload.0 as usize) {
        wave.set(at, value);
        at += 1;
    }
}
