// SPDX-License-Identifier: MIT OR Apache-2.0

//! The work-groups of a dispatch and their waves, for who looks into the device.

use super::dispatch::Dispatch;
use super::group::Group;
use crate::device::views::{GroupView, Groups, WaveView};
use crate::memory::Hub;
use rkfd_isa::decode::code;
use rkfd_isa::wave::Wave;
use std::sync::atomic::Ordering;

/// Scalar registers that a program can name as such on either chip.
const SCALARS: usize = 106;

impl Groups for Dispatch {
    fn groups(&self) -> Vec<GroupView> {
        let vmid = self.vmid.load(Ordering::Acquire);
        self.with_groups(|group| {
            let (id, lds, lanes, waves) = match group {
                Group::Wave32(group) => (group.id(), group.lds(), 32, waves(group.waves())),
                Group::Wave64(group) => (group.id(), group.lds(), 64, waves(group.waves())),
            };
            GroupView {
                hub: Hub::Gfx(self.xcc()),
                vmid,
                id,
                target: self.target(),
                lanes,
                waves,
                lds: lds.to_vec(),
            }
        })
    }
}

/// What a wave is, between two instructions.
fn waves<const L: usize>(waves: &[Wave<L>]) -> Vec<WaveView> {
    let lanes = |registers: &[[u32; L]]| registers.iter().map(|v| v.to_vec()).collect();
    let view = |wave: &Wave<L>| {
        let registers = usize::from(wave.registers()).min(wave.v.len());
        // A chip without accumulation registers says that they begin at 0.
        let split = match wave.acc_base {
            0 => registers,
            first => usize::from(first).min(registers),
        };
        let (vectors, accumulation) = wave.v.split_at(split);
        WaveView {
            index: wave.index,
            pc: wave.pc,
            state: format!("{:?}", wave.state),
            privileged: wave.trap.privileged,
            exec: wave.exec(),
            vcc: wave.vcc(),
            scc: wave.scc,
            mode: wave.mode,
            m0: wave.scalar(code::M0, 0),
            scalars: wave.s.iter().take(SCALARS).copied().collect(),
            vectors: lanes(vectors),
            accumulation: lanes(accumulation.get(..registers - split).unwrap_or_default()),
        }
    };
    waves.iter().map(view).collect()
}
