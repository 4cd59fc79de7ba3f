// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single instructions on a wave without a dispatch.

use super::*;
use rkfd_isa::decode::Inst;
use rkfd_isa::exec::{execute, Context, Next};
use rkfd_isa::memory::Tlb;
use rkfd_isa::wave::{Barrier, State, Wave};
use std::collections::BTreeSet;

/// A wave with every lane active, `registers` v registers, as many a registers behind them, and
/// MODE as compiled kernels have it.
pub fn blank<const L: usize>(registers: u16) -> Wave<L> {
    let mut wave = Wave {
        s: [0; 256],
        v: vec![[0; L]; 2 * registers as usize + Wave::<L>::STAGES],
        acc_base: registers,
        pc: BASE,
        scc: false,
        mode: 0x1f0,
        state: State::Running,
        barrier: Barrier::Idle,
        apertures: APERTURES,
        scratch: (BASE, 4096),
        index: 0,
        ticket: None,
        trap: Default::default(),
    };
    wave.set_pair(126, u64::MAX);
    wave
}

/// The words of one instruction.
pub fn words(bytes: &[u8]) -> [u32; 3] {
    std::array::from_fn(|n| {
        let word = bytes.get(4 * n..4 * n + 4).unwrap_or(&[0; 4]);
        u32::from_le_bytes([word[0], word[1], word[2], word[3]])
    })
}

/// Execute one instruction.
pub fn step<const L: usize>(
    target: &Target,
    wave: &mut Wave<L>,
    bytes: &[u8],
    memory: &mut Flat,
    lds: &mut [u8],
) -> Result<(), FaultKind> {
    let inst = target.decode(words(bytes)).expect("decodes");
    perform(&inst, wave, memory, lds).map(|_| ())
}

/// Execute a decoded instruction.
pub fn perform<const L: usize>(
    inst: &Inst,
    wave: &mut Wave<L>,
    memory: &mut Flat,
    lds: &mut [u8],
) -> Result<Next, FaultKind> {
    let mut tlb = Tlb::default();
    let mut context = Context {
        env: memory,
        caches: None,
        tlb: &mut tlb,
        lds,
        vmid: 0,
        others: Default::default(),
        watching: Default::default(),
    };
    execute(wave, inst, &mut context)
}

/// Check that each chip has met the mnemonics of `names`, and print how many it has met.
pub fn met(seen: [(&Target, BTreeSet<&str>); 3], names: &[&str]) {
    for (target, seen) in seen {
        println!("{}: {} mnemonics", target.name, seen.len());
        for name in names {
            assert!(seen.contains(name), "{}: {name} in {seen:?}", target.name);
        }
    }
}
