// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs written by hand, as a workgroup of some waves.

use super::*;

/// Bytes of data that a program finds at s[0:1].
pub const DATA: usize = 1 << 16;

/// A program, and what it runs with: s[0:1] is the address of the data, whose dwords count up from 0, v0 the
/// work item, and there are 4 KiB of LDS.
pub struct Hand<'a> {
    /// The chip: waves of 64 lanes on gfx942 and of 32 on gfx1201.
    pub target: &'static Target,
    /// What the compute unit looks for.
    pub checks: Checks,
    /// Waves.
    pub waves: u16,
    /// The program, without s_endpgm.
    pub text: &'a str,
}

/// How a program ended, and the data.
pub struct Ran {
    pub outcome: Outcome,
    pub data: Vec<u32>,
    /// The addresses of its instructions.
    pub addresses: Vec<u64>,
}

impl Hand<'_> {
    /// Runs it.
    pub fn run(&self) -> Ran {
        match self.target.name {
            "gfx942" => self.run_lanes::<64>(),
            _ => self.run_lanes::<32>(),
        }
    }

    fn run_lanes<const L: usize>(&self) -> Ran
    where
        Workgroup<L>: Run,
    {
        let mut memory = Flat::new(1 << 20);
        let mut cu = ComputeUnit::with_checks(self.target, self.checks);
        let code = assemble_each(self.target, L, &format!("{}\ns_endpgm", self.text));
        let at = memory.alloc(4096 + code.len() * 12);
        memory.write(at, &descriptor(L));
        let mut addresses = Vec::new();
        let mut next = at + 256;
        for bytes in &code {
            memory.write(next, bytes);
            addresses.push(next);
            next += bytes.len() as u64;
        }
        let data = memory.alloc(DATA);
        let numbers = (0..DATA as u32 / 4).flat_map(u32::to_le_bytes);
        memory.write(data, &numbers.collect::<Vec<_>>());
        let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
        let items = self.waves * L as u16;
        let dispatch = Dispatch {
            workgroup_size: [items, 1, 1],
            grid_size: [items.into(), 1, 1],
            group_segment_size: 4096,
            kernarg_address: data,
            apertures: APERTURES,
            ..Dispatch::default()
        };
        let scratch = Scratch::default();
        let launched = Workgroup::<L>::launch(&mut cu, &kernel, &dispatch, [0; 3], scratch, &[]);
        let outcome = launched.expect("launch").run(&mut cu, &mut memory, 1 << 20);
        Ran {
            outcome,
            data: memory.words(data, DATA / 4),
            addresses,
        }
    }
}

/// A descriptor with 2 user SGPRs and registers enough.
fn descriptor(lanes: usize) -> [u8; 64] {
    if lanes == 32 {
        return descriptor_gfx1201(lanes, 256);
    }
    let mut kd = [0; 64];
    let mut put = |at: usize, v: u32| kd[at..at + 4].copy_from_slice(&v.to_le_bytes());
    put(16, 256);
    // a0 is the 33rd of 64 registers.
    put(44, 7);
    put(48, 7 | (0xf0 << 12) | (1 << 21) | (1 << 23));
    put(52, 2 << 1);
    put(56, 8);
    kd
}
