// SPDX-License-Identifier: MIT OR Apache-2.0

//! The work-groups of a dispatch and their waves, for who looks into the device, and for the registers that show
//! waves in their slots.
//!
//! Either sees waves between two instructions. Of a work-group that a worker runs at the moment the registers show
//! what its waves were when that turn began; who looks into the device has it stand still before.

use super::dispatch::Dispatch;
use super::group::Group;
use super::state::{state, Seen};
use crate::device::views::{GroupView, Groups, WaveView};
use crate::engines::cp::front::waves::{Occupant, WaveState};
use crate::memory::Hub;
use rkfd_isa::decode::code;
use rkfd_isa::wave::Wave;
use rkfd_isa::FaultKind;
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

impl Occupant for Dispatch {
    fn wave(&self, group: u32, wave: u32) -> Option<WaveState> {
        let (vmid, slot) = (self.vmid.load(Ordering::Acquire), self.slot());
        self.with_group(group, |seen, failure| match seen {
            Seen::Resting(group) => {
                let mut state = state(group, wave, slot, vmid)?;
                state.failed = failure.is_some_and(|fault| {
                    // An access that does not translate is the address space's affair.
                    let memory = matches!(fault.kind, FaultKind::Memory(_));
                    !memory && fault.workgroup == group.id() && fault.wave == wave
                });
                Some(state)
            }
            Seen::Running(states) => states.get(wave as usize).copied().flatten(),
        })
        .flatten()
    }

    fn code(&self, pc: u64) -> [u32; 2] {
        let vmid = self.vmid.load(Ordering::Acquire);
        let space = self.memory().space(Hub::Gfx(self.xcc()), vmid);
        [0, 4].map(|at| {
            let mut bytes = [0; 4];
            let is_there = space.peek(pc.wrapping_add(at), &mut bytes);
            if is_there {
                u32::from_le_bytes(bytes)
            } else {
                0
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
