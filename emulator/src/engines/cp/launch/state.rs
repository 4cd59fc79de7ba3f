// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the registers of a work-group's waves show.

use super::group::Group;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::front::waves::WaveState;
use rkfd_isa::decode::code;
use rkfd_isa::wave::{Barrier, State, Wave};
use rkfd_isa::Workgroup;

/// A work-group as others can see it.
pub(super) enum Seen<'a> {
    /// No worker runs it.
    Resting(&'a Group),
    /// What its waves were when a worker's turn on it began.
    Running(&'a [Option<WaveState>]),
}

/// What the registers of a work-group's waves show.
pub(super) fn states(group: &Group, slot: Slot, vmid: u8) -> Vec<Option<WaveState>> {
    let waves = 0..group.waves();
    waves.map(|n| state(group, n, slot, vmid)).collect()
}

/// What the registers of a wave show; `None` when it has ended.
pub(super) fn state(group: &Group, wave: u32, slot: Slot, vmid: u8) -> Option<WaveState> {
    match group {
        Group::Wave32(group) => state_of(group, wave, slot, vmid),
        Group::Wave64(group) => state_of(group, wave, slot, vmid),
    }
}

fn state_of<const L: usize>(
    group: &Workgroup<L>,
    wave: u32,
    slot: Slot,
    vmid: u8,
) -> Option<WaveState> {
    let all = group.waves();
    let wave = all.get(wave as usize).filter(|w| !w.state.has_ended())?;
    Some(WaveState {
        pc: wave.pc,
        exec: wave.exec() & Wave::<L>::FULL,
        vcc: wave.vcc() & Wave::<L>::FULL,
        scc: wave.scc,
        m0: wave.scalar(code::M0, 0),
        mode: wave.mode,
        exceptions: wave.trap.flags,
        arithmetic: wave.trap.user,
        trap_control: wave.trap.control,
        privileged: wave.trap.privileged,
        traps: wave.trap.handler.entry != 0,
        halted: wave.trap.halt || wave.state == State::Halted,
        failed: false,
        waits: wave.state == State::Barrier,
        arrived: wave.barrier == Barrier::Complete,
        lanes: L as u32,
        registers: wave.registers(),
        accumulation: wave.acc_base,
        lds: group.lds().len() as u32,
        waves: all.len() as u32,
        hqd: slot,
        vmid,
    })
}
